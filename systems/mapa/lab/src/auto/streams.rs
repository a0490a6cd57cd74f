//! Streams of jobs under the default policy, told nothing, and under others that are told more.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::{
    BuiltIn, HardwareGraph, Objective, Policy, Sensitivity, effective_gbps, ring_packing_gbps,
};
use mapa_front::Error;
use mapa_lab::claim::{Claim, Verdict, bounds, mean_pm, number};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;
use mapa_lab::report::{Section, three_decimals, value};
use mapa_sched::{Fifo, Fleet, Job};
use mapa_sim::{
    Arrivals, ByBandwidth, Generator, Interval, Outcome, Run, Simulation, Workload, mean_interval,
};
use mapa_topologies::named;
use serde_json::Value;

const MACHINES: [&str; 3] = ["dgx-1v", "torus-2d", "cube-mesh-16"];

/// A model of bandwidth, by its name.
type NamedModel = (&'static str, fn() -> Objective<'static>);

/// The models that run times follow.
const MODELS: [NamedModel; 2] = [
    ("ring packing", ring_packing_gbps),
    ("Eq. 2", effective_gbps),
];

/// Whether all jobs arrive at the beginning, or by a Poisson process of this load.
const COMING: [(&str, Option<f64>); 2] = [("all at once", None), ("Poisson, load 0.7", Some(0.7))];

/// A policy, the model by which it chooses, and whether the jobs say that their network is
/// sensitive.
#[derive(Clone, Copy)]
struct StreamChooser {
    label: &'static str,
    policy: &'static str,
    /// Whether it chooses by the model that run times follow; if not, by its own.
    by_run_times: bool,
    told: bool,
}

impl StreamChooser {
    const fn new(label: &'static str, policy: &'static str) -> Self {
        Self {
            label,
            policy,
            by_run_times: true,
            told: false,
        }
    }

    const fn told(self) -> Self {
        Self { told: true, ..self }
    }

    const fn by_its_own(self) -> Self {
        Self {
            by_run_times: false,
            ..self
        }
    }

    fn policy(self, model: fn() -> Objective<'static>) -> Result<Box<dyn Policy>, Error> {
        let row = BuiltIn::ALL
            .iter()
            .find(|built_in| built_in.name == self.policy);
        let model = self.by_run_times.then(model);
        row.and_then(|built_in| built_in.policy_with(model, None))
            .ok_or_else(|| Error::malformed(format_args!("no policy `{}`", self.policy)))
    }
}

const AUTO: StreamChooser = StreamChooser::new("auto, told nothing", "auto");
const PRESERVE: StreamChooser = StreamChooser::new("preserve, told all", "preserve").told();
const UNTOLD: StreamChooser = StreamChooser::new("preserve, told nothing", "preserve");

const CHOOSERS: [StreamChooser; 8] = [
    PRESERVE,
    AUTO,
    StreamChooser::new("auto, told all", "auto").told(),
    UNTOLD,
    StreamChooser::new("max-bandwidth", "max-bandwidth"),
    StreamChooser::new("foresight, told all", "foresight").told(),
    StreamChooser::new("auto by its own model, told nothing", "auto").by_its_own(),
    StreamChooser::new("preserve by Eq. 2, told all", "preserve")
        .told()
        .by_its_own(),
];

const ASSUMES: &[usize] = &[1, 2, 3, 4];

/// A machine, a model of run times and a way to arrive.
struct StreamSetting {
    machine: &'static str,
    graph: Arc<HardwareGraph>,
    model: NamedModel,
    execution: ByBandwidth,
    coming: (&'static str, Option<f64>),
}

impl StreamSetting {
    /// The key in `results.json`.
    fn id(&self) -> String {
        format!("{}, {}, {}", self.machine, self.model.0, self.coming.0)
    }
}

/// The outcome of a job file under a chooser.
#[derive(Clone, Copy)]
struct StreamTrial {
    /// Mean ring packing of the jobs of two devices and more whose network is sensitive, GB/s.
    gbps: f64,
    /// Seconds until the last job ends.
    makespan: f64,
    /// Mean seconds from arrival to end.
    completion: f64,
}

type StreamNumber = fn(&StreamTrial) -> f64;

impl StreamTrial {
    const MEASURES: [(&'static str, StreamNumber); 3] = [
        ("mean_gbps", |trial| trial.gbps),
        ("makespan_s", |trial| trial.makespan),
        ("completion_s", |trial| trial.completion),
    ];
}

/// A setting, and the trial of each file under each chooser.
pub(super) struct StreamTrials {
    setting: StreamSetting,
    of: Vec<Vec<StreamTrial>>,
}

impl StreamTrials {
    fn of(&self, chooser: StreamChooser) -> &[StreamTrial] {
        let at = CHOOSERS
            .iter()
            .position(|candidate| candidate.label == chooser.label);
        at.and_then(|at| self.of.get(at)).map_or(&[], Vec::as_slice)
    }

    /// The difference from another chooser's number, percent of it, per file.
    fn percent(&self, chooser: StreamChooser, over: StreamChooser, of: StreamNumber) -> Interval {
        let pairs = self.of(chooser).iter().zip(self.of(over));
        let more: Vec<f64> = pairs
            .map(|(trial, base)| 100.0 * (of(trial) / of(base) - 1.0))
            .collect();
        mean_interval(&more)
    }
}

/// Runs all settings.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<Vec<StreamTrials>, Error> {
    let mut settings = Vec::new();
    for machine in MACHINES {
        let graph = named(machine).and_then(|machine| machine.graph());
        let graph = Arc::new(graph.map_err(Error::malformed)?);
        for model in MODELS {
            settings.extend(COMING.map(|coming| StreamSetting {
                machine,
                graph: graph.clone(),
                model,
                execution: ByBandwidth::new((model.1)()),
                coming,
            }));
        }
    }
    let done = on_files(plan, bar, settings.len(), |at, seed| {
        bar.doing(&settings[at].id());
        file(&settings[at], seed)
    })?;
    let both = settings.into_iter().zip(done);
    Ok(both
        .map(|(setting, of)| StreamTrials { setting, of })
        .collect())
}

/// Runs one job file under all choosers.
fn file(setting: &StreamSetting, seed: u64) -> Result<Vec<StreamTrial>, Error> {
    let mut generator = Generator::mapa_six();
    generator.arrivals = match setting.coming.1 {
        None => Arrivals::AtOnce,
        Some(load) => Arrivals::Load {
            load,
            devices: setting.graph.len(),
        },
    };
    let told = generator.generate(seed).map_err(Error::malformed)?;
    let mut untold = told.clone();
    for job in &mut untold.jobs {
        job.job.request.sensitivity = Sensitivity::Unknown;
        // The gain of a job by links is the same if its request does not state it. Those of the paper's networks are known by
        // name; the others are insensitive.
        let [_, other] = Job::LINK_RATIOS;
        job.job.link_ratio = Some(other);
    }
    let mut unannotated = untold.clone();
    for job in &mut unannotated.jobs {
        job.job.request.sensitivity = Sensitivity::Insensitive;
    }
    let fleet = Fleet::new([setting.graph.clone()]);
    let mut trials = Vec::new();
    for chooser in CHOOSERS {
        let jobs = match chooser {
            _ if chooser.told => &told,
            StreamChooser {
                policy: "preserve", ..
            } => &unannotated,
            _ => &untold,
        };
        let policy = chooser.policy(setting.model.1)?;
        let outcome = Simulation::new(jobs, fleet.clone())
            .run(&mut Fifo::new(policy), &setting.execution)
            .map_err(Error::malformed)?;
        trials.push(trial(&told, &fleet, &outcome)?);
    }
    Ok(trials)
}

fn trial(told: &Workload, fleet: &Fleet, outcome: &Outcome) -> Result<StreamTrial, Error> {
    if outcome.runs.len() != told.jobs.len() {
        return Err(Error::malformed("a job of a stream has not finished"));
    }
    let judge = ByBandwidth::new(ring_packing_gbps());
    let mut gbps = Vec::new();
    for run in &outcome.runs {
        let job = &told.jobs[run.index];
        let counts = job.job.request.sensitivity.is_sensitive() && job.devices() > 1;
        if let Some(stay) = run.stays.last().filter(|_| counts) {
            gbps.push(judge.gbps(job, &stay.at, fleet));
        }
    }
    let ends = outcome.runs.iter().map(Run::ended);
    let took = |run: &Run| (run.ended() - run.arrived).as_secs_f64();
    Ok(StreamTrial {
        gbps: gbps.iter().sum::<f64>() / gbps.len() as f64,
        makespan: ends.max().unwrap_or_default().0 as f64 / 1e9,
        completion: outcome.runs.iter().map(took).sum::<f64>() / outcome.runs.len() as f64,
    })
}

/// The claims of a setting.
fn claims(trials: &StreamTrials) -> Vec<Claim> {
    let id = trials.setting.id();
    let claim = |what: &str, claimed: &str, value: Interval, rule, verdict| {
        let sign = if value.mean > 0.0 { "+" } else { "" };
        let ours = format!("{sign}{} %", number(value.mean));
        Claim::new(format!("{id}: {what}"), claimed, ASSUMES).found(
            ours,
            Some(value),
            rule,
            verdict,
        )
    };
    let cost = trials.percent(AUTO, PRESERVE, |trial| trial.makespan);
    let gain = trials.percent(AUTO, PRESERVE, |trial| trial.gbps);
    let saved = trials.percent(AUTO, UNTOLD, |trial| trial.completion);
    vec![
        claim(
            "makespan of auto, told nothing, over that of preserve, told all",
            "+1 % or less",
            cost,
            "mean of the differences, at most",
            Verdict::at_most(cost, 1.0),
        ),
        claim(
            "bandwidth of sensitive jobs under auto, told nothing, over that under preserve, told all",
            "0 % or more",
            gain,
            "mean of the differences, at least",
            Verdict::at_least(gain, 0.0),
        ),
        claim(
            "mean completion time under auto over that under preserve, both told nothing",
            "below 0 %",
            saved,
            "mean of the differences, below",
            Verdict::below(saved, 0.0),
        ),
    ]
}

/// One section for each way to arrive.
pub(super) fn sections(all: &[StreamTrials]) -> Vec<Section> {
    let ids = ["at-once", "load-0.7"];
    let sections = ids.into_iter().zip(COMING).map(|(id, coming)| {
        let own = all.iter().filter(|trials| trials.setting.coming == coming);
        let section = Section::new(id, format!("Streams of jobs, {}", coming.0))
            .claims(own.clone().flat_map(claims))
            .text(
                "Policies choose by the model that run times follow, unless the row says otherwise. First row: preserve's own values for jobs that say whether they are sensitive, means over files. Other rows: differences from the \
                 first row, percent of it per file, means ± half the 95 % interval.",
            );
        own.fold(section, table)
    });
    sections.collect()
}

fn table(mut section: Section, trials: &StreamTrials) -> Section {
    let mut rows = Vec::new();
    let mut numbers = BTreeMap::new();
    for chooser in CHOOSERS {
        let mut row = vec![chooser.label.to_owned()];
        let mut measures = BTreeMap::new();
        for (key, of) in StreamTrial::MEASURES {
            let (value, cell) = if chooser.label == PRESERVE.label {
                let values: Vec<f64> = trials.of(chooser).iter().map(of).collect();
                let value = mean_interval(&values);
                (value, number(value.mean))
            } else {
                let value = trials.percent(chooser, PRESERVE, of);
                let sign = if value.mean >= 0.005 { "+" } else { "" };
                (value, format!("{sign}{}", mean_pm(value)))
            };
            row.push(cell);
            measures.insert(key, bounds(value));
        }
        rows.push(row);
        numbers.insert(chooser.label, measures);
    }
    section.insert(trials.setting.id(), numbers);
    section
        .text(format!(
            "### {}, run times by {}",
            trials.setting.machine, trials.setting.model.0
        ))
        .table(
            [
                "",
                "bandwidth of sensitive jobs, GB/s",
                "makespan, s",
                "mean completion, s",
            ],
            rows,
        )
}

/// The numbers on each file.
pub(super) fn per_file(all: &[StreamTrials]) -> Value {
    let mut settings = BTreeMap::new();
    for trials in all {
        let mut choosers = BTreeMap::new();
        for chooser in [PRESERVE, AUTO, UNTOLD] {
            let numbers: BTreeMap<_, Vec<f64>> = StreamTrial::MEASURES
                .into_iter()
                .map(|(key, of)| {
                    let files = trials.of(chooser).iter();
                    (key, files.map(|file| three_decimals(of(file))).collect())
                })
                .collect();
            choosers.insert(chooser.label, numbers);
        }
        settings.insert(trials.setting.id(), choosers);
    }
    value(settings)
}
