//! `simulate` under a controller of latencies: tenants that serve requests, and those beside them.

use std::collections::BTreeSet;

use crate::answer::{SimulatedTenant, SimulatedTenants, TenantAction, TenantRun};
use mapa_core::Settings as Words;
use mapa_front::FileKind;
use mapa_front::text::table;
use mapa_system_slo::replay::ReplaySettings;
use mapa_system_slo::{EnabledLevers, Settings, TenantSetup};
use mapa_system_slo_log::{Controller, LogLine, write_log};
use mapa_system_slo_sim::{
    Acted, FileTenants, LiveControl, NoController, Noise, PaperControl, ReplayControl,
    RunConditions, RunTotals, ServingTenant, is_tenants, read_tenants, run,
};

use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::args::SimulateArgs;
use mapa_cli::files;

/// What follows the name of the scheduler.
struct SchedulerWords {
    levers: EnabledLevers,
    warm: bool,
    seed: u64,
    is_noisy: bool,
}

const EXPECTED: &str =
    "levers=all|guards|placement|mig|none, warm=on|off, seed=N, counters=exact|noisy";

fn said(words: &str) -> Result<SchedulerWords, Failure> {
    let keys = ["levers", "warm", "seed", "counters"];
    let bad =
        |error: mapa_core::Error| Failure::malformed(format_args!("scheduler `{words}`: {error}"));
    let settings = Words::read(words.split(',').skip(1), EXPECTED, |key| {
        keys.iter().copied().find(|candidate| *candidate == key)
    })
    .map_err(bad)?;
    let mut own = SchedulerWords {
        levers: EnabledLevers::ALL,
        warm: false,
        seed: 1,
        is_noisy: false,
    };
    if let Some(levers) = settings.get("levers") {
        own.levers = levers
            .read("all, guards, placement, mig or none", |value| match value {
                "all" => Some(EnabledLevers::ALL),
                "guards" => Some(EnabledLevers::GUARDS),
                "placement" => Some(EnabledLevers::PLACEMENT),
                "mig" => Some(EnabledLevers::MIG),
                "none" => Some(EnabledLevers::NONE),
                _ => None,
            })
            .map_err(bad)?;
    }
    if let Some(warm) = settings.get("warm") {
        let switch = |value: &str| match value {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        };
        own.warm = warm.read("on or off", switch).map_err(bad)?;
    }
    if let Some(seed) = settings.get("seed") {
        own.seed = seed.whole().map_err(bad)?;
    }
    if let Some(counters) = settings.get("counters") {
        let switch = |value: &str| match value {
            "noisy" => Some(true),
            "exact" => Some(false),
            _ => None,
        };
        own.is_noisy = counters.read("exact or noisy", switch).map_err(bad)?;
    }
    Ok(own)
}

pub(super) fn simulate(args: &SimulateArgs, output: &mut Output) -> Result<(), Failure> {
    let said = said(args.scheduler.words())?;
    let unused = [
        (args.machine.is_some(), "--machine"),
        (!args.servers.is_empty(), "--servers"),
        (args.policy.is_some(), "--policy"),
        (args.output.is_some(), "--output"),
        (args.series.is_some(), "--series"),
        (args.save_jobs.is_some(), "--save-jobs"),
        (args.svg.is_some(), "--svg"),
    ];
    if let Some((_, name)) = unused.iter().find(|row| row.0) {
        return Err(Failure::malformed(format_args!(
            "{name} is not for the scheduler `{}`: expected --jobs FILE, --log and --plot alone; its machine is two hosts of four PCIe switches",
            args.scheduler.name()
        )));
    }
    if said.is_noisy && args.scheduler.name() != "slo-replay" {
        return Err(Failure::malformed(
            "counters=noisy is for slo-replay: expected counters=exact",
        ));
    }
    if said.is_noisy && args.log.is_some() {
        return Err(Failure::malformed(
            "--log is for counters=exact, from which a decision can be made again: expected no --log",
        ));
    }
    let Some(file) = &args.workload.jobs else {
        return Err(Failure::malformed(
            "this scheduler needs tenants: expected --jobs FILE",
        ));
    };
    let text = files::text(file, FileKind::Jobs)?;
    if !is_tenants(&text) {
        return Err(Failure::malformed(format_args!(
            "{file}: expected a job file of tenants, with the columns tenant, does, start_s and end_s (systems/slo/docs/controllers.md)"
        )));
    }
    let tenants =
        read_tenants(&text).map_err(|error| Failure::malformed(format_args!("{file}: {error}")))?;
    let mut answer = SimulatedTenants {
        scheduler: args.scheduler.words().to_owned(),
        seed: said.seed,
        tenants: Vec::new(),
        written: Vec::new(),
    };
    let parts: BTreeSet<String> = tenants
        .serving
        .iter()
        .map(|own| files::part(&own.name))
        .collect();
    if parts.len() < tenants.serving.len() && (args.log.is_some() || args.plot.is_some()) {
        return Err(Failure::malformed(format_args!(
            "{file}: two tenants would have files of one name: expected names that differ in letters and digits"
        )));
    }
    for (at, serving) in tenants.serving.iter().enumerate() {
        let seed = said.seed.wrapping_add(at as u64);
        let done = one(args, &said, &tenants, serving, seed)?;
        let named = |path: &std::path::Path| match tenants.serving.len() {
            1 => path.to_owned(),
            _ => path.with_file_name(format!(
                "{}-{}",
                files::part(&serving.name),
                path.file_name()
                    .map_or_else(String::new, |text| text.to_string_lossy().into_owned())
            )),
        };
        if let (Some(path), Some((by, lines))) = (&args.log, &done.log) {
            let path = named(path);
            let text = write_log(by, lines).map_err(Failure::malformed)?;
            files::write(&path, text)?;
            answer.written.push(path.display().to_string());
        }
        if let Some(folder) = &args.plot {
            files::make_folder(folder)?;
            let (scenario, totals) = (&serving.scenario, &done.controlled);
            for (name, svg) in
                super::plots::tenant(&serving.name, scenario, totals, &done.uncontrolled)
            {
                let path = folder.join(format!("{}-{name}", files::part(&serving.name)));
                files::write(&path, svg)?;
                answer.written.push(path.display().to_string());
            }
        }
        answer.tenants.push(told(serving, &done));
    }
    if output.json {
        return output.object(&answer);
    }
    print(&answer, output)
}

/// A tenant's runs.
struct TenantRuns {
    controlled: RunTotals,
    uncontrolled: RunTotals,
    log: Option<(Controller, Vec<LogLine>)>,
}

fn one(
    args: &SimulateArgs,
    said: &SchedulerWords,
    tenants: &FileTenants,
    own: &ServingTenant,
    seed: u64,
) -> Result<TenantRuns, Failure> {
    let trace = tenants.trace(own, seed).map_err(Failure::malformed)?;
    let start = TenantSetup::at(own.place);
    let conditions = RunConditions {
        start,
        keep: true,
        ..RunConditions::default()
    };
    let settings = own
        .scenario
        .settings(said.levers)
        .map_err(Failure::malformed)?;
    let settings = Settings {
        warm_handover: said.warm,
        ..settings
    };
    let simulated = |control: &mut dyn mapa_system_slo_sim::Control| {
        run(&own.scenario, &trace, seed, conditions, control).map_err(Failure::malformed)
    };
    let uncontrolled = simulated(&mut NoController)?;
    let keeps = args.log.is_some();
    let (controlled, log) = if args.scheduler.name() == "slo" {
        let control = PaperControl::new(settings, start);
        let mut control = if keeps {
            control.logging(&own.name)
        } else {
            control
        };
        let totals = simulated(&mut control)?;
        let (settings, log) = control.into_log();
        let lines = log
            .into_iter()
            .map(|record| LogLine::Decision(Box::new(record)));
        (totals, (Controller::Slo(settings), lines.collect()))
    } else {
        let settings = ReplaySettings::new(settings).map_err(Failure::malformed)?;
        if said.is_noisy {
            let mut control = LiveControl::new(settings.clone(), start, Noise::USUAL, seed);
            (
                simulated(&mut control)?,
                (Controller::SloReplay(settings), Vec::new()),
            )
        } else {
            let control = ReplayControl::new(settings, start);
            let mut control = if keeps {
                control.logging(&own.name)
            } else {
                control
            };
            let totals = simulated(&mut control)?;
            let (settings, log) = control.into_log();
            let lines = log
                .into_iter()
                .map(|record| LogLine::ReplayDecision(Box::new(record)));
            (totals, (Controller::SloReplay(settings), lines.collect()))
        }
    };
    Ok(TenantRuns {
        controlled,
        uncontrolled,
        log: keeps.then_some(log),
    })
}

fn told(own: &ServingTenant, done: &TenantRuns) -> SimulatedTenant {
    let actions = done
        .controlled
        .actions
        .iter()
        .map(|(at, what)| TenantAction {
            at_s: at / 1e3,
            what: Acted::ALL
                .iter()
                .find(|row| row.1 == *what)
                .map_or("", |row| row.0)
                .to_owned(),
        });
    SimulatedTenant {
        tenant: own.name.clone(),
        promise_ms: own.scenario.promise_ms,
        controlled: numbers(&done.controlled),
        uncontrolled: numbers(&done.uncontrolled),
        actions: actions.collect(),
    }
}

fn numbers(own: &RunTotals) -> TenantRun {
    let percentile = |percent: f64| Some(own.percentile(percent)).filter(|value| value.is_finite());
    TenantRun {
        requests: own.offered,
        fail_percent: own.fail_percent(),
        miss_percent: own.miss_percent(),
        p95_ms: percentile(95.0),
        p99_ms: percentile(99.0),
        p999_ms: percentile(99.9),
        relaunches_per_hour: own.relaunches_per_hour(),
        throttled_percent: 100.0 * own.throttled_seconds / own.seconds,
        slices: own.slices(),
    }
}

fn print(answer: &SimulatedTenants, output: &mut Output) -> Result<(), Failure> {
    output.line(format_args!(
        "scheduler  {}; requests of seed {}",
        answer.scheduler, answer.seed
    ))?;
    output.line("machine    two hosts of four PCIe switches; slices of 2, 3 and 4")?;
    for file in &answer.written {
        output.line(format_args!("written    {file}"))?;
    }
    output.line("")?;
    let header = [
        "tenant",
        "controller",
        "requests",
        "failed, %",
        "late, %",
        "p95, ms",
        "p99, ms",
        "p99.9, ms",
        "relaunches/h",
        "throttled, %",
        "slices",
    ];
    let mut rows = table(header, 2..header.len());
    for tenant in &answer.tenants {
        for (name, run) in [
            ("none", &tenant.uncontrolled),
            (answer.scheduler.as_str(), &tenant.controlled),
        ] {
            let ms = |value: Option<f64>| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
            };
            rows.add_row([
                tenant.tenant.clone(),
                name.to_owned(),
                run.requests.to_string(),
                format!("{:.2}", run.fail_percent),
                format!("{:.2}", run.miss_percent),
                ms(run.p95_ms),
                ms(run.p99_ms),
                ms(run.p999_ms),
                format!("{:.2}", run.relaunches_per_hour),
                format!("{:.1}", run.throttled_percent),
                format!("{:.2}", run.slices),
            ]);
        }
    }
    output.line(rows)?;
    for tenant in &answer.tenants {
        output.line("")?;
        output.line(format_args!(
            "{}, promised {} ms:",
            tenant.tenant, tenant.promise_ms
        ))?;
        if tenant.actions.is_empty() {
            output.line("  nothing was done")?;
        }
        for action in tenant.actions.iter().take(SHOWN) {
            output.line(format_args!("  {:>8.0} s  {}", action.at_s, action.what))?;
        }
        if tenant.actions.len() > SHOWN {
            output.line(format_args!("  and {} more", tenant.actions.len() - SHOWN))?;
        }
    }
    Ok(())
}

/// The most actions that the text names.
const SHOWN: usize = 12;
