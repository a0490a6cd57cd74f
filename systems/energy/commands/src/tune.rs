//! `tune`: search prices for the plan by prices, and layouts, that suit given days.

mod args;

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use crate::answer::tune::{HeldOut, Tune};
use mapa_front::FileKind;
use mapa_front::text::table;
use mapa_sim::read_jobs;
use mapa_system_energy::{
    EnergyPlan, Fit, LargestFirst, Power, PriceFile, Rule, SliceJob, SlicedGpus, Tuned,
    TunedMachine,
};
use mapa_system_energy_sim::{
    Draw, PriceCandidate, Totals, TuneDay, TuneObjective, TuneSettings, Tuning, Yardstick, seen_on,
    wrong_run_times,
};
use rayon::prelude::*;

use args::DrawName;
pub(crate) use args::TuneArgs;
use mapa_cli::Failure;
use mapa_cli::files::{self, rewrite};
use mapa_cli::{Output, SystemCommand, progress, time_limit};

/// GPUs draw what the published code has for an A100: no other table is known.
const POWER: Power = Power::A100;

/// Run times that are wrong need prices that allow for it: what a search for them starts from, if
/// its start has none.
const DOUBT: f64 = 0.15;
const OVERDUE: f64 = 0.1;

/// What a search is asked.
struct TuneRequest {
    days: Vec<TuneDay>,
    held_out: Vec<TuneDay>,
    /// Where the days are from, in words.
    source: String,
    objective: TuneObjective,
    settings: TuneSettings,
    start: PriceCandidate,
}

impl SystemCommand for TuneArgs {
    const NAME: &'static str = "tune";
    const ABOUT: &'static str = "Search prices for the plan by prices (scheduler energy-plan), and layouts, that suit your jobs";

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
        tune(self, output)
    }
}

fn tune(args: &TuneArgs, output: &mut Output) -> Result<(), Failure> {
    let asked = asked(args)?;
    let machine = asked
        .start
        .machine
        .machine(POWER)
        .map_err(Failure::malformed)?;
    let yardstick = Yardstick::of(&asked.days, &machine).map_err(Failure::malformed)?;
    let tuning = search(args, &asked, &yardstick, output)?;
    let Some(best) = tuning.best() else {
        return Err(Failure::malformed("tune: no round was run"));
    };
    let file = price_file(args, &asked, &best.candidate)?;
    let machine = file.machine.machine(POWER).map_err(Failure::malformed)?;
    let start = asked
        .start
        .score(&asked.days, &asked.objective, &yardstick, POWER);
    let mut answer = Tune {
        start_score: start.map_err(Failure::malformed)?,
        score: best.score,
        history: tuning.history().to_vec(),
        held_out: held_out(&asked, &file, &machine)?,
        ..Tune::of(&file, machine.gpu_count())
    };
    if let Some(into) = &args.into {
        let text = file.write().map_err(Failure::malformed)?;
        rewrite(into, text)?;
        // A search that is done needs no state. That it is gone already is no error.
        let _ = std::fs::remove_file(part(into));
        answer.file = Some(into.display().to_string());
    }
    if output.json {
        return output.object(&answer);
    }
    print(&answer, output)
}

fn asked(args: &TuneArgs) -> Result<TuneRequest, Failure> {
    let (days, held_out, source) = days(args)?;
    let from = start(&args.from)?;
    let machine = match (args.repartitioned, &args.layouts) {
        (Some(gpus), _) => TunedMachine::Repartitioned {
            gpus,
            creation_minutes: args.creation / 60.0,
        },
        (None, Some(layouts)) => TunedMachine::Layouts(layouts.clone()),
        (None, None) => from.machine,
    };
    let mut prices = from.prices;
    if args.sigma > 0.0 && prices.doubt == 0.0 && prices.overdue == 0.0 {
        (prices.doubt, prices.overdue) = (DOUBT, OVERDUE);
    }
    let &[late, tardiness, energy] = args.weights.as_slice() else {
        return Err(Failure::malformed(
            "--weights: expected LATE,TARDINESS,ENERGY, such as 1,1,3",
        ));
    };
    let objective = TuneObjective {
        late,
        tardiness,
        energy,
        ..TuneObjective::default()
    };
    Ok(TuneRequest {
        days,
        held_out,
        source,
        objective: objective.checked().map_err(Failure::malformed)?,
        settings: TuneSettings {
            rounds: args.rounds,
            layouts: args.search_layouts,
            seed: args.seed,
            ..TuneSettings::default()
        },
        start: PriceCandidate { prices, machine },
    })
}

/// The prices of a name, or of a file.
fn start(from: &str) -> Result<PriceFile, Failure> {
    if PriceFile::names().any(|name| name == from) {
        return PriceFile::named(from).map_err(Failure::malformed);
    }
    if !Path::new(from).exists() {
        // The message lists the names.
        return PriceFile::named(from).map_err(|error| Failure::at("--from", error));
    }
    PriceFile::read(&files::text(from, FileKind::Table)?).map_err(|error| Failure::at(from, error))
}

/// The days of the search, those held out, and where they are from.
fn days(args: &TuneArgs) -> Result<(Vec<TuneDay>, Vec<TuneDay>, String), Failure> {
    if !args.jobs.is_empty() {
        let of = |names: &[String]| -> Result<Vec<TuneDay>, Failure> {
            let each = (1..).zip(names);
            each.map(|(seed, name)| day_of_file(name, args.sigma, seed))
                .collect()
        };
        let source = format!("job files {}", args.jobs.join(", "));
        return Ok((of(&args.jobs)?, of(&args.held_out)?, source));
    }
    let plain = match args.draw {
        Some(DrawName::Tight) => Draw::tight(),
        Some(DrawName::Relaxed) | None => Draw::default(),
    };
    let drawn = |at: u64| -> Result<TuneDay, Failure> {
        let rates = args.rate.len().max(1);
        let per_minute = args.rate.get(at as usize % rates).copied();
        let draw = Draw {
            per_minute: per_minute.unwrap_or(plain.per_minute),
            ..plain
        };
        let seed = args.first_day.wrapping_add(at);
        let told = draw.jobs(seed).map_err(Failure::malformed)?;
        day(told, args.sigma, seed)
    };
    let source = format!(
        "{} days of {:?} jobs a minute at the published rates by the hour; deadlines of {} to {} run times on a \
         whole GPU",
        args.days, args.rate, plain.slack[0], plain.slack[1]
    );
    let all = args.days + args.held_out_days;
    let mut days: Vec<TuneDay> = (0..all).map(drawn).collect::<Result<_, _>>()?;
    let held_out = days.split_off(args.days as usize);
    Ok((days, held_out, source))
}

fn day(told: Vec<SliceJob>, sigma: f64, seed: u64) -> Result<TuneDay, Failure> {
    let jobs = wrong_run_times(&told, sigma, seed).map_err(Failure::malformed)?;
    Ok(TuneDay { jobs, told })
}

/// The day of a job file.
fn day_of_file(name: &str, sigma: f64, seed: u64) -> Result<TuneDay, Failure> {
    let workload =
        read_jobs(&files::text(name, FileKind::Jobs)?).map_err(|error| Failure::at(name, error))?;
    let mut told = Vec::new();
    for submission in &workload.jobs {
        let id = submission.job.id;
        let at = |what: String| Failure::at(name, format_args!("job {id}: {what}"));
        match SliceJob::of(&submission.job) {
            Ok(Some(job)) => told.push(job),
            Ok(None) => {
                let what = "not for one slice of any size with a known run time: expected slice any, gpus 1, and estimate_s \
                            by size of slice such as 1g.1m=50 2g.2m=25";
                return Err(at(what.to_owned()));
            }
            Err(error) => return Err(at(error.to_string())),
        }
    }
    day(told, sigma, seed)
}

/// Runs the search, or goes on with one.
fn search(
    args: &TuneArgs,
    asked: &TuneRequest,
    yardstick: &Yardstick,
    output: &Output,
) -> Result<Tuning, Failure> {
    let state = args.into.as_deref().map(part);
    let head = format!(
        "# A search of mapa-bench tune that is under way: {:016x}\n",
        hash(asked)
    );
    let mut tuning =
        Tuning::new(asked.start.clone(), asked.settings).map_err(Failure::malformed)?;
    if let Some(state) = state.as_deref().filter(|path| path.exists()) {
        let name = state.display().to_string();
        if !args.resume {
            let what = "a search is under way: expected --resume, or no such file";
            return Err(Failure::at(name, what));
        }
        let text = files::text(&name, FileKind::Table)?;
        let rest = text.strip_prefix(&head).ok_or_else(|| {
            let what = "a search with other options or days: expected the same, or no such file";
            Failure::at(&name, what)
        })?;
        tuning = Tuning::read(rest).map_err(|error| Failure::at(&name, error))?;
    }
    let threads = args.threads.or(std::thread::available_parallelism().ok());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(1, std::num::NonZeroUsize::get))
        .build()
        .map_err(Failure::malformed)?;
    let bar = progress(0, "candidates", "{spinner} {pos} candidates, {msg}", output)?;
    while !tuning.is_done() {
        let best = tuning.best().map_or(String::new(), |judged| {
            format!(", best {:.4}", judged.score)
        });
        bar.say(&format!("{}{best}", tuning.doing()));
        let candidates = tuning.candidates();
        let scores = pool.install(|| {
            let each = candidates.par_iter().map(|candidate| {
                let score = candidate.score(&asked.days, &asked.objective, yardstick, POWER);
                bar.step();
                score
            });
            each.collect::<Result<Vec<f64>, _>>()
        });
        tuning
            .advance(&scores.map_err(Failure::malformed)?)
            .map_err(Failure::malformed)?;
        if let Some(state) = &state {
            let text = tuning.write().map_err(Failure::malformed)?;
            rewrite(state, format!("{head}{text}"))?;
            let kept = state.display();
            time_limit::keeps(format_args!("{kept} is kept: --resume goes on"));
        }
    }
    bar.clear();
    Ok(tuning)
}

/// The file that keeps a search that is under way.
fn part(into: &Path) -> PathBuf {
    let mut name = into.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// What a search depends on, as a number.
fn hash(asked: &TuneRequest) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    let mut add = |number: f64| hash.write(&number.to_bits().to_le_bytes());
    for day in &asked.days {
        for job in day.jobs.iter().chain(&day.told) {
            let each = [job.arrives(), job.deadline()];
            each.into_iter().chain(job.minutes()).for_each(&mut add);
        }
    }
    let words = format!(
        "{:?} {:?} {:?}",
        asked.objective, asked.settings, asked.start
    );
    hash.write(words.as_bytes());
    hash.finish()
}

/// The prices that were found, with what they were tuned for.
fn price_file(
    args: &TuneArgs,
    asked: &TuneRequest,
    best: &PriceCandidate,
) -> Result<PriceFile, Failure> {
    let machine = best.machine.machine(POWER).map_err(Failure::malformed)?;
    let plan = EnergyPlan::new(best.prices).map_err(Failure::malformed)?;
    let seen = seen_on(&asked.days, &machine, &plan).map_err(Failure::malformed)?;
    let name = args.into.as_deref().and_then(Path::file_stem);
    let TuneObjective {
        late,
        tardiness,
        energy,
        ..
    } = asked.objective;
    let is_drawn = args.jobs.is_empty();
    let last = args.first_day.wrapping_add(args.days.saturating_sub(1));
    Ok(PriceFile {
        name: name.map_or("tuned".to_owned(), |text| {
            text.to_string_lossy().into_owned()
        }),
        what: format!("Prices for {}.", asked.source),
        source: "mapa-bench tune".to_owned(),
        prices: best.prices,
        machine: best.machine.clone(),
        tuned: Tuned {
            jobs: asked.source.clone(),
            load: seen.load,
            slack: seen.slack,
            waiting: seen.waiting,
            sigma: args.sigma,
            arithmetic: "double".to_owned(),
            seed: args.seed,
            days: is_drawn.then_some([args.first_day, last]),
            objective: [late, tardiness, energy],
        },
    })
}

/// What rules make of the days that the search did not see.
fn held_out(
    asked: &TuneRequest,
    file: &PriceFile,
    machine: &SlicedGpus,
) -> Result<Vec<HeldOut>, Failure> {
    if asked.held_out.is_empty() {
        return Ok(Vec::new());
    }
    let before = asked
        .start
        .machine
        .machine(POWER)
        .map_err(Failure::malformed)?;
    let plan = |prices| EnergyPlan::new(prices).map_err(Failure::malformed);
    let under = |machine: &SlicedGpus, rule: &dyn Fn() -> Box<dyn Rule>| {
        let days = asked.held_out.iter();
        let totals = days.map(|day| day.under(machine, &mut *rule()));
        totals
            .collect::<Result<Vec<Totals>, _>>()
            .map_err(Failure::malformed)
    };
    let (start, found) = (plan(asked.start.prices)?, plan(file.prices)?);
    let largest = under(&before, &|| Box::new(LargestFirst))?;
    let rows = [
        ("fit-fullest", under(&before, &|| Box::new(Fit::fullest()))?),
        ("start", under(&before, &|| Box::new(start.clone()))?),
        ("tuned", under(machine, &|| Box::new(found.clone()))?),
    ];
    let first = HeldOut::of("largest-first", &largest, &largest);
    let rest = rows
        .iter()
        .map(|(rule, totals)| HeldOut::of(rule, totals, &largest));
    Ok(std::iter::once(first).chain(rest).collect())
}

fn print(answer: &Tune, output: &mut Output) -> Result<(), Failure> {
    output.line(format_args!(
        "score     {:.4}, from {:.4} at the start; less is better",
        answer.score, answer.start_score
    ))?;
    match &answer.layouts {
        Some(layouts) => output.line(format_args!("layouts   {layouts}"))?,
        None => output.line(format_args!("gpus      {}, repartitioned", answer.gpus))?,
    }
    output.line(format_args!(
        "tuned for load {:.2} to {:.2}, slack {:.2} to {:.2}, {:.1} jobs waiting for a GPU at most",
        answer.load[0], answer.load[1], answer.slack[0], answer.slack[1], answer.waiting
    ))?;
    if !answer.held_out.is_empty() {
        output.line("")?;
        let header = [
            "rule",
            "late %",
            "tardiness, min",
            "energy, W min",
            "late above",
        ];
        let mut rows = table(header, [1, 2, 3, 4]);
        let number = |value: Option<f64>, places: usize| {
            value
                .map(|value| format!("{value:.places$}"))
                .unwrap_or_default()
        };
        for held_out in &answer.held_out {
            let above = held_out.late_above_largest.map(|interval| {
                format!(
                    "{:+.1} ({:+.1} to {:+.1})",
                    interval.mean, interval.low, interval.high
                )
            });
            rows.add_row([
                held_out.rule.clone(),
                number(held_out.late_percent, 1),
                number(held_out.tardiness_minutes, 3),
                number(held_out.energy_watt_minutes, 0),
                above.unwrap_or_default(),
            ]);
        }
        output.line(rows)?;
    }
    if let Some(file) = &answer.file {
        output.line("")?;
        output.line(format_args!("written   {file}"))?;
    }
    Ok(())
}
