//! Reasons to doubt the numbers of a simulation.

use mapa_core::{Sensitivity, Want};
use mapa_sched::Fleet;
use mapa_sched::slices::PowerTable;
use mapa_sim::Workload;

use super::run::{PolicyRun, Simulated};
use crate::text::counted;

impl PolicyRun {
    /// Reasons to doubt the numbers.
    pub fn remarks(&self, what: Simulated<'_>) -> Vec<String> {
        let mut remarks = Vec::new();
        let beyond = self.summary.count("out_of_domain").unwrap_or_default();
        if beyond > 0 {
            let jobs = counted(beyond, "job");
            remarks.push(format!(
                "{jobs} of more than 5 devices or on other kinds of links: MAPA's Eq. 2 was not fitted to these"
            ));
        }
        let silent = what.workload.jobs.iter().filter(|submission| {
            let request = &submission.job.request;
            submission.devices() > 1
                && request.sensitivity == Sensitivity::Unknown
                && request.is_sensitive()
        });
        match silent.count() {
            0 => {}
            1 => remarks.push(
                "1 job does not say whether its speed depends on links: it counts as sensitive (column `sensitive`)"
                    .to_owned(),
            ),
            jobs => remarks.push(format!(
                "{jobs} jobs do not say whether their speed depends on links: they count as sensitive (column `sensitive`)"
            )),
        }
        if self.cut > 0 {
            let decisions = counted(self.cut, "decision");
            remarks.push(format!(
                "{decisions} reached the limit of the search: better placements may exist"
            ));
        }
        if what.waits_in_vain {
            remarks.push(format!(
                "the scheduler delays jobs to avoid PCIe contention, which {} ignores: expected --execution \
                 pcie-equal-share or pcie-max-min",
                what.execution
            ));
        }
        if what.ignores_sizes {
            remarks.push(format!(
                "the scheduler plans by run times by size of instance, which {} ignores: expected --execution by-size",
                what.execution
            ));
        }
        let is_known = |name| self.summary.number(name).is_some();
        if is_known("late_share") && !is_known("energy_wh") {
            let known = PowerTable::ALL.iter().map(|table| table.product);
            remarks.push(format!(
                "energy is not known: a device has no table of power; those of {} have one",
                known.collect::<Vec<_>>().join(", ")
            ));
        }
        let waiting = self.outcome.waiting.iter();
        let whole = waiting
            .filter(|&&at| wants_whole_devices(what.workload, at))
            .count();
        if whole > 0 && is_partitioned(what.fleet) {
            let want = if whole == 1 { "wants" } else { "want" };
            remarks.push(format!(
                "{whole} of the waiting jobs {want} whole devices, and some devices are partitioned: a column `slice` \
                 requests instances"
            ));
        }
        let has_tasks = |&&at: &&usize| {
            let submission = what.workload.jobs.get(at);
            submission.is_some_and(|submission| !submission.tasks.is_empty())
        };
        let blocked = self.outcome.waiting.iter().filter(has_tasks).count();
        if blocked > 0 && !what.places_tasks {
            let have = if blocked == 1 { "has" } else { "have" };
            let expected = match what.task_schedulers {
                [] => String::new(),
                names => format!(": expected one of {}", names.join(", ")),
            };
            remarks.push(format!(
                "{blocked} of the waiting jobs {have} tasks, for which {} finds no place{expected}",
                what.scheduler
            ));
        }
        // The words of a scheduler hold its settings as they were given, so nothing has to be parsed here.
        if blocked > 0 && what.places_tasks && what.scheduler.contains("growers=any") {
            let jobs = counted(blocked, "job");
            remarks.push(format!(
                "{jobs} with tasks never ended: processes that hold memory and ask for more can wait for each other for \
                 ever; growers=one avoids it"
            ));
        }
        if is_overload(self, what.workload) {
            remarks.push("the load exceeds the machine's capacity: waits keep growing".to_owned());
        }
        remarks
    }
}

fn wants_whole_devices(workload: &Workload, job: usize) -> bool {
    let demands = workload
        .jobs
        .get(job)
        .map_or(&[][..], |job| job.job.request.pattern.demands());
    demands.iter().any(|demand| demand.want == Want::Whole)
}

/// Whether any device is partitioned at the start.
fn is_partitioned(fleet: &Fleet) -> bool {
    fleet.views().any(|view| {
        view.graph()
            .wholes()
            .iter()
            .any(|whole| !view.layout_of(whole).is_whole())
    })
}

/// Whether the load exceeds the capacity: the time from the last arrival to the last start is
/// longer than the time in which jobs arrive.
fn is_overload(run: &PolicyRun, workload: &Workload) -> bool {
    let arrivals = workload.jobs.iter().map(|job| job.job.arrived);
    let (Some(first), Some(last)) = (arrivals.clone().min(), arrivals.max()) else {
        return false;
    };
    let span = last - first;
    let started = run.rows.iter().map(|row| row.started).max();
    let started = started.unwrap_or_default();
    // Jobs that all arrive at once have to wait on any machine, so they show no overload.
    !span.is_zero() && started > last && started - last > span
}
