//! How long decisions take, in wall-clock time.

use mapa_lab::progress::Progress;
use mapa_lab::timed::Timed;
use mapa_sched::Fleet;

use super::setting::{
    ArrivalPattern, CHOOSERS, ForesightChooser, ForesightSetting, Judge, MACHINES, RunTimeModel,
    graph,
};
use super::trials::simulate;
use mapa_front::Error;
use mapa_lab::claim::{Claim, number};
use mapa_lab::plan::Plan;
use mapa_lab::report::Section;

/// The number of runs over the same jobs, of which the fastest counts. From the second run on, the
/// tables are built.
const RUNS: usize = 5;

/// Measures the decisions for a job, in microseconds: those that let it wait, and the one that
/// starts it, with booking. The mean of a run, for the fastest of [`RUNS`] runs.
fn micros(chooser: &ForesightChooser, setting: &ForesightSetting, seed: u64) -> Result<f64, Error> {
    let graph = graph(setting.machine)?;
    let jobs = setting
        .jobs(graph.len())
        .generate(seed)
        .map_err(Error::malformed)?;
    let execution = setting.runs.execution(setting.judge);
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let mut scheduler = chooser.scheduler(chooser.policy(setting.judge), setting);
        let mut timed = Timed::new(&mut scheduler);
        let outcome = simulate(&jobs, Fleet::new([graph.clone()]), &mut timed, &*execution)?;
        best = best.min(timed.took.as_secs_f64() * 1e6 / outcome.runs.len() as f64);
    }
    Ok(best)
}

pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let mut section = Section::new("cost", "What decisions cost");
    section.timed = true;
    let seed = plan.seeds().next().unwrap_or_default();
    let mut rows = Vec::new();
    for machine in MACHINES {
        for judge in Judge::ALL {
            let setting = ForesightSetting {
                machine,
                judge,
                coming: ArrivalPattern::AtOnce,
                runs: RunTimeModel::ByBandwidth(1.0),
            };
            let place = setting.place();
            bar.doing(&format!("decisions on {place}"));
            let mut cells = vec![place.clone()];
            for chooser in &CHOOSERS {
                let took = micros(chooser, &setting, seed)?;
                cells.push(number(took));
                section.insert(format!("{place}, {}", chooser.name), took);
                if chooser.name == super::setting::FORESIGHT {
                    let limit = if machine == "dgx-1v" { 10.0 } else { 50.0 };
                    let claim = Claim::new(
                        format!("{place}: the decisions for a job"),
                        format!("{limit} microseconds or less"),
                        &[6],
                    );
                    let ours = format!("{} microseconds", number(took));
                    section.claims.push(claim.timed(ours));
                }
            }
            rows.push(cells);
        }
    }
    Ok(section
        .text(
            "Microseconds for the decisions about a job while 300 jobs are replayed: those that let it wait, and the one that starts it, with \
             booking. The mean of a run, for the fastest of five runs. Times of one machine on one day have no verdict.",
        )
        .table([""].into_iter().chain(CHOOSERS.map(|chooser| chooser.name)), rows))
}
