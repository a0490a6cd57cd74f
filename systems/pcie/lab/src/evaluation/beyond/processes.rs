//! The same schedulers over real processes behind token buckets.

use mapa_front::Error;
use mapa_sched::Scheduler;
use mapa_sim::mean_interval;
use serde::Serialize;

use super::super::jobs::draw;
use super::super::machine::PcieFleet;
use super::super::setting::{FIXED, PcieArrivals, PcieSetting};
use super::cases::{AWARE, FIRST, OURS, arrivals};
use super::setting::{BeyondScheduler, PLAN};
use crate::workers::{Settings, replay};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::plan::Plan;
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;

/// Wall-clock seconds for a second of the model.
const PACE: f64 = 0.02;
/// The number of job files that processes run.
const FILES: usize = 5;

#[derive(Serialize)]
struct ProcessRun {
    jct_seconds: f64,
    per_file: Vec<f64>,
}

/// The mean completion time of a file's processes, seconds of the model.
fn completion(setting: &PcieSetting, planner: BeyondScheduler, seed: u64) -> Result<f64, Error> {
    let machines = PcieFleet::of(setting)?;
    let jobs = draw(setting, seed);
    let settings = Settings {
        pace: PACE,
        ..Settings::default()
    };
    let mut scheduler: Box<dyn Scheduler> = planner.scheduler(setting);
    let ran = replay(&jobs, machines.fleet.clone(), &mut *scheduler, &settings)?;
    let times = ran.runs.iter();
    let sum: f64 = times
        .map(|run| (run.ended() - run.arrived).as_secs_f64())
        .sum();
    Ok(sum / ran.runs.len() as f64)
}

pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let seeds: Vec<u64> = plan.seeds().take(FILES).collect();
    let mut section = Section::new("beyond-processes", "A plan for each port: real processes");
    section.timed = true;
    let mut rows = Vec::new();
    for coming in [PcieArrivals::Load(0.6), PcieArrivals::Burst] {
        let setting = PcieSetting { coming, ..FIXED };
        let name = format!("{}, {} %", arrivals(coming), setting.share);
        let planners = [
            (FIRST, BeyondScheduler::First),
            (AWARE, BeyondScheduler::Aware),
            (OURS, BeyondScheduler::Plan(PLAN)),
        ];
        let mut all = Vec::new();
        for (scheduler, planner) in planners {
            bar.doing(&format!("processes: {name}, {scheduler}"));
            let each = seeds
                .iter()
                .map(|&seed| completion(&setting, planner, seed));
            let per_file = each.collect::<Result<Vec<f64>, Error>>()?;
            let mean = mean_interval(&per_file);
            section.insert(
                format!("{name}, {scheduler}"),
                ProcessRun {
                    jct_seconds: mean.mean,
                    per_file: per_file.clone(),
                },
            );
            rows.push(vec![name.clone(), scheduler.to_owned(), mean_pm(mean)]);
            all.push(per_file);
        }
        let [_, aware, ours] = all.as_slice() else {
            continue;
        };
        let reductions: Vec<f64> = aware
            .iter()
            .zip(ours)
            .map(|(aware, ours)| 100.0 * (1.0 - ours / aware))
            .collect();
        let value = mean_interval(&reductions);
        let what = format!("{name}: processes end sooner under pcie-plan than under pcie-aware");
        section = section.claims([Claim::new(what, "none: MAPA's own", &[2, 7]).found(
            format!("{} %", mean_pm(value)),
            Some(value),
            "above 0",
            Verdict::above(value, 0.0),
        )]);
    }
    Ok(section
        .text(format!(
            "One process for each job, one token bucket for each port, as above; the first {} files at 60 %. Schedulers predict by Eq. 2, the \
             buckets share max-min fairly. Mean seconds from arrival to end, of the model.",
            seeds.len()
        ))
        .table(["arrivals, PCIe-bound", "scheduler", "seconds"], rows))
}
