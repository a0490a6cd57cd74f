//! What probes and the manager cost.

use mapa_core::lowest_id;
use mapa_front::Error;
use mapa_sched::NamedScheduler;
use mapa_sim::{Fixed, Simulation};
use mapa_system_case::SCHEDULERS;

use super::machine::PartitionedGpus;
use super::probe::{ProbeWaits, measure};
use super::setting::{BatchSetting, CaseSystem, JobRatio};
use super::trials::{BALANCED, CASE};
use mapa_lab::claim::{Claim, number};
use mapa_lab::plan::Plan;
use mapa_lab::report::Section;
use mapa_lab::timed::Timed;

/// The number of runs over the same jobs, of which the fastest counts.
const RUNS: usize = 5;

/// What cannot be had before a process talks to the manager.
pub(super) fn section() -> Section {
    let claims = [
        Claim::new("A probe takes 100 us", "on the order of 100 us", &[])
            .not_had("a time: in the timed section, from a real manager and a real process"),
        Claim::new("The manager takes 100 ms", "on the order of 100 ms", &[])
            .not_had("a time: in the timed section, from a real manager, and its decisions alone"),
    ];
    Section::new("overheads", "What probes and the manager cost").claims(claims)
}

/// Microseconds of the manager for a task: its share of all decisions of a batch.
fn micros(manager: &str, setting: &BatchSetting, seed: u64) -> Result<f64, Error> {
    let batch = setting.batch(seed)?;
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let mut scheduler = NamedScheduler::among(&SCHEDULERS, manager, Box::new(lowest_id()))
            .map_err(Error::malformed)?;
        let mut timed = Timed::new(&mut *scheduler);
        let outcome = Simulation::new(&batch, PartitionedGpus::of(setting)?.fleet)
            .run(&mut timed, &Fixed)
            .map_err(Error::malformed)?;
        let all = outcome.runs.len() as f64;
        best = best.min(timed.took.as_secs_f64() * 1e6 / all);
    }
    Ok(best)
}

/// What a process waits for, beside what the paper says.
fn of_processes(waits: Option<&ProbeWaits>) -> [Claim; 2] {
    let claims = [
        Claim::new(
            "A probe of a real process: begin or end",
            "on the order of 100 us",
            &[],
        ),
        Claim::new(
            "The manager, of a real process: from its arrival until it may ask",
            "on the order of 100 ms",
            &[],
        ),
    ];
    let Some(waits) = waits else {
        let why = "no mapa-case beside this program: expected `cargo build --release -p mapa-system-case-manager`";
        return claims.map(|claim| claim.not_had(why));
    };
    let [probe, manager] = claims;
    let [median, tail] = waits.probe.map(number);
    let probe = probe.timed(format!("median {median} us, 99 % below {tail} us"));
    let [median, longest] = waits.manager.map(number);
    let manager = manager.timed(format!("median {median} us, longest {longest} us"));
    [probe, manager]
}

/// The decisions of the manager in wall-clock time.
pub(super) fn timed(plan: &Plan) -> Result<Section, Error> {
    let mut section = Section::new("decisions", "What decisions cost");
    section.timed = true;
    let mut rows = Vec::new();
    for system in CaseSystem::ALL {
        let setting = BatchSetting::s1(system, JobRatio(1, 4));
        let mut row = vec![setting.name()];
        for manager in [CASE, BALANCED] {
            let took = micros(manager, &setting, plan.seed)?;
            section.insert(format!("{}, {manager}", setting.name()), took);
            row.push(number(took));
            let claim = Claim::new(
                format!("{}, {manager}: all decisions about a job", setting.name()),
                "on the order of 100 ms",
                &[1, 2, 3],
            );
            section
                .claims
                .push(claim.timed(format!("{} microseconds", number(took))));
        }
        rows.push(row);
    }
    let waits = measure().map_err(|error| Error::at("mapa-case manager", error))?;
    section.claims.extend(of_processes(waits.as_ref()));
    if let Some(waits) = &waits {
        section.insert("probe", waits.probe.to_vec());
        section.insert("manager", waits.manager.to_vec());
    }
    Ok(section
        .text(
            "Microseconds for all decisions about a job while a batch is replayed: its start, its task, its end. The mean of a run, for the fastest of five. Times of one machine on one \
             day have no verdict. How the cost grows with instances is shown by the benchmark `case`.",
        )
        .table(["batch", CASE, BALANCED], rows))
}
