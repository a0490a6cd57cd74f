//! Under every scheduler, on any few machines and for any history of arrivals, ends, cordons and failed actions: no job is lost
//! or runs twice, no device is given twice or while it is cordoned, and a fleet that is restored goes on identically. The
//! simulator has the schedule of the one that looks at every job at every moment.

use std::sync::Arc;

use mapa_core::testing::requests;
use mapa_core::{HardwareGraph, lowest_id};
use mapa_sched::testing::{
    any_machines, check_cordons, check_snapshot, check_unknown_jobs, cordon_events,
    snapshot_events, whole_machines,
};
use mapa_sched::{Fleet, JobId, LinkModel, NamedScheduler};
use mapa_sim::testing::{replay, workloads};
use mapa_sim::{Fixed, Simulation, Submission, Workload};
use proptest::strategy::Strategy;

use crate::input::Choices;
use crate::systems::schedulers;

/// The most events or jobs of a history.
const MOST: usize = 16;

/// One input.
pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let all = schedulers();
    let row = all[choices.below(all.len())];
    match choices.below(4) {
        0 => {
            let graphs = choices.drawn(&any_machines());
            let events = each(&mut choices, &cordon_events());
            check_cordons(row, &graphs, &events);
        }
        1 => {
            let graphs = choices.drawn(&any_machines());
            let (cut, network) = (choices.below(MOST), choices.below(2) == 1);
            let events = each(&mut choices, &snapshot_events());
            check_snapshot(
                row,
                &graphs,
                &events,
                cut,
                network.then_some(25.0),
                |snapshot| {
                    let text = serde_json::to_string(snapshot).expect("plain data");
                    serde_json::from_str(&text).expect("what is written can be read")
                },
            );
        }
        2 => {
            let graphs = choices.drawn(&whole_machines());
            let events = [(); 4].map(|()| (choices.below(40) as u64, choices.below(2) == 1));
            let mut jobs = Vec::new();
            while !choices.is_empty() && jobs.len() < MOST {
                let arrives = choices.below(30) as u64;
                jobs.push((arrives, 1 + choices.below(5), 1 + choices.below(12) as u64));
            }
            check_unknown_jobs(row, &graphs, &jobs, &events);
        }
        _ => {
            let graphs = choices.drawn(&whole_machines());
            simulate(row, &graphs, &jobs(&mut choices));
        }
    }
}

/// Histories drawn one event at a time: of each that is drawn, the first event.
fn each<T>(choices: &mut Choices<'_>, histories: &impl Strategy<Value = Vec<T>>) -> Vec<T> {
    let mut events = Vec::new();
    while !choices.is_empty() && events.len() < MOST {
        events.extend(choices.drawn(histories).into_iter().take(1));
    }
    events
}

fn jobs(choices: &mut Choices<'_>) -> Workload {
    let one = workloads(1..=1, requests(5, 1..=3));
    let mut jobs: Vec<Submission> = Vec::new();
    while !choices.is_empty() && jobs.len() < MOST {
        jobs.extend(choices.drawn(&one).jobs);
    }
    for (id, submission) in (0..).zip(&mut jobs) {
        submission.job.id = JobId(id);
    }
    Workload::new("drawn", jobs)
}

fn simulate(row: &NamedScheduler, graphs: &[Arc<HardwareGraph>], workload: &Workload) {
    let scheduler = || {
        let made = row.scheduler(row.name, Box::new(lowest_id()), LinkModel::Usual);
        made.expect("it needs no settings")
    };
    let fleet = Fleet::new(graphs.to_vec());
    let fast = Simulation::new(workload, fleet.clone()).run(&mut *scheduler(), &Fixed);
    let slow = replay(workload, fleet, &mut *scheduler(), &Fixed);
    match (fast, slow) {
        (Ok(fast), Ok(slow)) => {
            assert_eq!(fast, slow, "{}", row.name);
            let seen = fast.runs.len() + fast.rejected.len() + fast.waiting.len();
            assert_eq!(seen, workload.jobs.len(), "{}: each job once", row.name);
        }
        (fast, slow) => panic!("{}: {fast:?}, {slow:?}", row.name),
    }
}
