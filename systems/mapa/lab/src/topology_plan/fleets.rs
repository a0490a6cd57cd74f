//! Machines of more than sixteen devices, and several machines.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::HardwareGraph;
use mapa_front::Error;
use mapa_sched::{Fleet, ListOrder};
use mapa_sim::{Arrivals, Generator, Simulation, mean_interval};
use mapa_system_mapa::PlanGoal;

use super::run::{FileNumbers, numbers};
use super::schedulers::{AGED, ComparedScheduler, EASY, PHI, PLAN, PlanDifference};
use super::setting::{PlanArrivals, ToldRunTimes};
use crate::foresight::{Judge, by_bandwidth, graph};
use mapa_lab::claim::mean_pm;
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;

/// Machines, how many of each, and how many jobs.
const FLEETS: [(&str, usize, usize); 5] = [
    ("gb200-nvl72", 1, 600),
    ("dgx-1v", 4, 600),
    ("dgx-1v", 16, 1200),
    ("cube-mesh-16", 4, 600),
    ("cube-mesh-16", 8, 1200),
];
/// The most job files.
const FILES: usize = 10;
const COMING: [PlanArrivals; 2] = [PlanArrivals::AtOnce, PlanArrivals::Load(0.9)];

fn listed() -> [ComparedScheduler; 4] {
    let order = ListOrder::Shortest;
    [
        ComparedScheduler::Easy(None),
        ComparedScheduler::list(order, Some(1.2)),
        ComparedScheduler::aged(order),
        ComparedScheduler::Plan(PlanDifference::of(PlanGoal::Completion)),
    ]
}

const NAMES: [&str; 4] = [EASY, PHI, AGED, PLAN];

/// Runs all fleets by Eq. 2.
// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let plan = Plan {
        files: plan.files.min(FILES),
        ..plan.clone()
    };
    let judge = Judge::Eq2;
    let mut settings = Vec::new();
    for (machine, count, jobs) in FLEETS {
        let graph: Arc<HardwareGraph> = graph(machine)?;
        for coming in COMING {
            settings.push((machine, count, jobs, coming, graph.clone()));
        }
    }
    let execution = by_bandwidth(judge, 1.0);
    let done = on_files(&plan, bar, settings.len(), |at, seed| {
        let (machine, count, jobs, coming, graph) = &settings[at];
        bar.doing(&format!("{count} x {machine}"));
        let mut drawn = Generator::mapa_six();
        drawn.jobs = *jobs;
        drawn.arrivals = match coming {
            PlanArrivals::Load(load) => Arrivals::Load {
                load: *load,
                devices: graph.wholes().len() * count,
            },
            _ => Arrivals::AtOnce,
        };
        let jobs = drawn.generate(seed).map_err(Error::malformed)?;
        let run = |listed: ComparedScheduler| {
            let fleet = Fleet::new(vec![graph.clone(); *count]);
            let mut scheduler = listed.scheduler(judge, ToldRunTimes::Exact);
            let outcome = Simulation::new(&jobs, fleet)
                .run(&mut *scheduler, &execution)
                .map_err(Error::malformed)?;
            Ok(numbers(&outcome, |job| job.work.as_secs_f64(), &jobs))
        };
        listed().into_iter().map(run).collect()
    })?;
    let mut section = Section::new("fleets", "Larger machines, and several");
    let mut rows = Vec::new();
    for ((machine, count, jobs, coming, _), values) in settings.iter().zip(&done) {
        let id = format!("{count} x {machine}, {}", coming.name());
        for (name, files) in NAMES.iter().zip(values) {
            let mean = |of: fn(&FileNumbers) -> f64| {
                files.iter().map(of).sum::<f64>() / files.len() as f64
            };
            let own = FileNumbers::MEASURES.map(|(key, of)| (key, mean(of)));
            section.insert(format!("{id}, {name}"), BTreeMap::from(own));
        }
        let completion = |at: usize| values[at].iter().map(|numbers| numbers.completion);
        let more = |at: usize, than: usize| {
            let each = completion(at).zip(completion(than));
            let each: Vec<f64> = each
                .map(|(value, than)| 100.0 * (value / than - 1.0))
                .collect();
            mean_pm(mean_interval(&each))
        };
        let longest = |at: usize| {
            values[at]
                .iter()
                .map(|numbers| numbers.longest)
                .sum::<f64>()
                / values[at].len() as f64
        };
        rows.push(vec![
            id,
            jobs.to_string(),
            format!("{:.1}", completion(0).sum::<f64>() / values[0].len() as f64),
            more(1, 0),
            more(2, 0),
            more(3, 0),
            more(3, 1),
            [0, 1, 2, 3]
                .map(|at| format!("{:.0}", longest(at)))
                .join(", "),
        ]);
    }
    let text = format!(
        "Eq. 2, the first {} job files. {EASY}: mean completion in seconds; others in percent above it; the last but one column is the plan above {PHI}. Behind NVSwitch (gb200-nvl72: 72 \
         devices) all sets are alike and the plan counts devices; a fleet has a list for each machine. Longest waits, seconds, in the order of the columns.",
        plan.files
    );
    let header = [
        "",
        "jobs",
        EASY,
        PHI,
        AGED,
        PLAN,
        "plan to the list",
        "longest waits",
    ];
    Ok(section.text(text).table(header, rows))
}
