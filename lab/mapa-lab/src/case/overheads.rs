//! What probes and the manager cost.

use mapa_core::lowest_id;
use mapa_front::Error;
use mapa_sched::BuiltIn;
use mapa_sim::{Fixed, Simulation};

use super::machine::Machine;
use super::setting::{Ratio, Setting, System};
use super::trials::{BALANCED, CASE};
use crate::claim::{Claim, number};
use crate::plan::Plan;
use crate::report::Section;
use crate::timed::Timed;

/// The number of runs over the same jobs, of which the fastest counts.
const RUNS: usize = 5;

/// What cannot be had before a process talks to the manager.
pub(super) fn section() -> Section {
    let claims = [
        Claim::new("A probe takes 100 us", "on the order of 100 us", &[])
            .not_had("to be measured with the runtime that processes link, which is not built yet"),
        Claim::new(
            "The manager takes 100 ms",
            "on the order of 100 ms",
            &[],
        )
        .not_had("as a process of its own: to be measured with the runtime; its decisions alone are in the timed section"),
    ];
    Section::new("overheads", "What probes and the manager cost").claims(claims)
}

/// Microseconds of the manager for a task: its share of all decisions of a batch.
fn micros(manager: &str, setting: &Setting, seed: u64) -> Result<f64, Error> {
    let batch = setting.batch(seed)?;
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let mut scheduler =
            BuiltIn::named(manager, Box::new(lowest_id())).map_err(Error::malformed)?;
        let mut timed = Timed::new(&mut *scheduler);
        let outcome = Simulation::new(&batch, Machine::of(setting)?.fleet)
            .run(&mut timed, &Fixed)
            .map_err(Error::malformed)?;
        let all = outcome.runs.len() as f64;
        best = best.min(timed.took.as_secs_f64() * 1e6 / all);
    }
    Ok(best)
}

/// The decisions of the manager in wall-clock time.
pub(super) fn timed(plan: &Plan) -> Result<Section, Error> {
    let mut section = Section::new("decisions", "What decisions cost");
    section.timed = true;
    let mut rows = Vec::new();
    for system in System::ALL {
        let setting = Setting::s1(system, Ratio(1, 4));
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
    Ok(section
        .text(
            "Microseconds for all decisions about a job while a batch is replayed: its start, its task, its end. The mean of a run, for the fastest of five. Times of one machine on one \
             day have no verdict. How the cost grows with instances is shown by the benchmark `case`.",
        )
        .table(["batch", CASE, BALANCED], rows))
}
