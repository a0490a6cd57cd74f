//! The answer of `simulate`, as text and as JSON.

use mapa_front::answer::simulate::{PolicyRun, Simulate, Simulated};
use mapa_front::{ExecutionSpec, SchedulerSpec};
use mapa_sched::Fleet;
use mapa_sim::{Group, GroupSize, Rejected, Summary, Workload};

use crate::failure::Failure;
use crate::names::NAMES;
use crate::output::Output;
use mapa_front::text::{counted, gbps, seconds, table};

/// The most rejected jobs that the text names.
const NAMED: usize = 5;

/// A workload, and its simulation under each policy.
pub(super) struct Answer {
    pub(super) machine: String,
    /// The words of `--servers`; none for a single machine.
    pub(super) servers: Vec<String>,
    pub(super) scheduler: SchedulerSpec,
    pub(super) execution: ExecutionSpec,
    pub(super) fleet: Fleet,
    pub(super) workload: Workload,
    pub(super) runs: Vec<PolicyRun>,
    pub(super) written: Vec<String>,
}

impl Answer {
    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format_args!("machine    {}", self.machine))?;
        output.line(format_args!(
            "workload   {}: {}",
            counted(self.workload.jobs.len(), "job"),
            self.workload.source
        ))?;
        output.line(format_args!(
            "scheduler  {}; run times: {}",
            self.scheduler, self.execution
        ))?;
        for note in &self.workload.notes {
            output.line(format_args!("note       {note}"))?;
        }
        output.line("")?;
        output.line(self.times())?;
        let linked = self
            .runs
            .iter()
            .any(|run| run.summary.group(Some(true), GroupSize::Several).is_some());
        if linked {
            output.line("")?;
            output.line(self.bandwidths())?;
        }
        LEGEND
            .iter()
            .chain(BANDWIDTHS.iter().filter(|_| linked))
            .try_for_each(|line| output.line(line))?;
        self.runs
            .iter()
            .try_for_each(|run| self.left(run, output))?;
        self.written
            .iter()
            .try_for_each(|file| output.line(format_args!("written    {file}")))
    }

    fn times(&self) -> comfy_table::Table {
        let header = [
            "policy",
            "finished",
            "makespan, s",
            "jobs/h",
            "relative",
            "completion, s",
            "mean wait, s",
            "p95 wait, s",
            "slowdown",
            "utilisation",
            "fragmentation",
        ];
        let mut rows = table(header, 1..header.len());
        let first = self
            .runs
            .first()
            .map_or(f64::NAN, |run| of(&run.summary, "jobs_per_hour"));
        for PolicyRun {
            policy,
            summary,
            over_time,
            ..
        } in &self.runs
        {
            rows.add_row([
                policy.clone(),
                summary.count("finished").unwrap_or_default().to_string(),
                seconds(of(summary, "makespan_s")),
                rate(of(summary, "jobs_per_hour")),
                number(of(summary, "jobs_per_hour") / first, 3),
                number(of(summary, "completion_mean_s"), 1),
                number(of(summary, "wait_mean_s"), 1),
                number(of(summary, "wait_p95_s"), 1),
                number(of(summary, "execution_slowdown_mean"), 3),
                number(of(summary, "utilisation"), 3),
                over_time
                    .mean_fragmentation()
                    .map_or("-".to_owned(), |mean| number(mean, 3)),
            ]);
        }
        rows
    }

    fn bandwidths(&self) -> comfy_table::Table {
        let header = [
            "effective bandwidth, GB/s",
            "jobs",
            "min",
            "p25",
            "p50",
            "p75",
            "max",
            "below 12.5",
            "median of rings",
            "median of ideal",
        ];
        let mut rows = table(header, 1..header.len());
        for PolicyRun {
            policy, summary, ..
        } in &self.runs
        {
            let Some(group) = summary.group(Some(true), GroupSize::Several) else {
                rows.add_row([policy.as_str(), "0"]);
                continue;
            };
            let mut cells = vec![policy.clone(), group.jobs.to_string()];
            cells.extend(BANDWIDTH_CELLS.map(|(name, text)| cell(group, name, text)));
            rows.add_row(cells);
        }
        rows
    }

    /// Prints the jobs that did not finish and why, and remarks.
    fn left(&self, run: &PolicyRun, output: &mut Output) -> Result<(), Failure> {
        let PolicyRun {
            policy, outcome, ..
        } = run;
        for Rejected {
            index, job, why, ..
        } in outcome.rejected.iter().take(NAMED)
        {
            let devices = self
                .workload
                .jobs
                .get(*index)
                .map_or(0, |job| job.devices());
            let devices = counted(devices, "device");
            output.line(format_args!(
                "rejected   {policy}: job {job}, {devices}: {why}"
            ))?;
        }
        if let Some(more) = outcome
            .rejected
            .len()
            .checked_sub(NAMED)
            .filter(|&more| more > 0)
        {
            output.line(format_args!("rejected   {policy}: {more} more"))?;
        }
        if !outcome.waiting.is_empty() {
            let waiting = counted(outcome.waiting.len(), "job");
            output.line(format_args!(
                "waiting    {policy}: {waiting} never started or never ended"
            ))?;
        }
        run.remarks(self.simulated())
            .iter()
            .try_for_each(|remark| output.line(format_args!("note       {policy}: {remark}")))
    }

    pub(super) fn json(&self) -> Result<Simulate, Failure> {
        Simulate::new(self.simulated(), &self.runs, &self.written).map_err(Failure::malformed)
    }

    /// Whether the scheduler keeps jobs waiting because PCIe is shared, and run times do not depend
    /// on that.
    fn waits_in_vain(&self) -> bool {
        let waits = NAMES
            .schedulers
            .get(self.scheduler.name())
            .is_some_and(|own| own.for_shared_pcie);
        let heeds = NAMES
            .execution_row(&self.execution)
            .is_ok_and(|own| own.shared_pcie);
        waits && !heeds
    }

    /// What was simulated.
    pub(super) fn simulated(&self) -> Simulated<'_> {
        Simulated {
            machine: &self.machine,
            servers: &self.servers,
            scheduler: self.scheduler.words(),
            execution: self.execution.words(),
            fleet: &self.fleet,
            workload: &self.workload,
            waits_in_vain: self.waits_in_vain(),
        }
    }
}

const LEGEND: [&str; 3] = [
    "Relative: jobs per hour, if the first policy has 1. Completion: mean of wait plus execution time. Slowdown: mean of execution",
    "time over execution time at full speed.",
    "Fragmentation: bandwidth lost by the best ring of 2 to 5 free devices, compared with the idle machine; mean over time.",
];

/// The legend of the second table.
const BANDWIDTHS: [&str; 3] = [
    "The second table is of sensitive jobs of two or more devices: bandwidth predicted by Eq. 2, and the share of jobs below 12.5 GB/s.",
    "Rings: bandwidth of a packing of rings, GB/s. Ideal: sum of link bandwidths over the maximum on the idle machine. In JSON and",
    "sweeps, share_of_ideal covers all jobs of two or more devices, sensitive or not, as in Fig. 4.",
];

/// A number of a summary; NaN if it has none.
fn of(summary: &Summary, name: &str) -> f64 {
    summary.number(name).unwrap_or(f64::NAN)
}

/// How a number is written.
type Written = fn(f64) -> String;

/// The cells of the second table behind the number of jobs: measures of a group, and how each is
/// written.
const BANDWIDTH_CELLS: [(&str, Written); 8] = [
    ("effective_min_gbps", gbps),
    ("effective_p25_gbps", gbps),
    ("effective_p50_gbps", gbps),
    ("effective_p75_gbps", gbps),
    ("effective_max_gbps", gbps),
    ("below_12_5_gbps_share", percent),
    ("ring_packing_p50_gbps", gbps),
    ("share_of_ideal_p50", percent),
];

/// A number of a group; `-` if it has none.
fn cell(group: &Group, name: &str, text: Written) -> String {
    group.number(name).map_or_else(|| "-".to_owned(), text)
}

/// Jobs per hour, with three decimals below 10: on some machines jobs take hours.
fn rate(value: f64) -> String {
    number(value, if value < 10.0 { 3 } else { 1 })
}

fn number(value: f64, decimals: usize) -> String {
    if value.is_finite() {
        format!("{value:.decimals$}")
    } else {
        "-".to_owned()
    }
}

fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1} %", 100.0 * share)
    } else {
        "-".to_owned()
    }
}
