//! The answer of `simulate`, as text and as JSON.

use mapa_core::{View, Want};
use mapa_sched::Fleet;
use mapa_sim::{Group, GroupSize, Rejected, Summary, Table, Workload};
use serde_json::{Map, Value, json};

use super::jobs;
use crate::failure::Failure;
use crate::names::NAMES;
use crate::output::Output;
use mapa_front::answer::Refusal;
use mapa_front::simulation::PolicyRun;
use mapa_front::text::{gbps, seconds, table};

/// The most rejected jobs that the text names.
const NAMED: usize = 5;

/// A workload, and its simulation under each policy.
pub(super) struct Answer {
    pub(super) machine: String,
    /// The words of `--servers`; none for a single machine.
    pub(super) servers: Vec<String>,
    pub(super) scheduler: String,
    pub(super) execution: String,
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
            count(self.workload.jobs.len(), "job"),
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
            let devices = count(devices, "device");
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
            let waiting = count(outcome.waiting.len(), "job");
            output.line(format_args!(
                "waiting    {policy}: {waiting} never started or never ended"
            ))?;
        }
        self.remarks(run)
            .iter()
            .try_for_each(|remark| output.line(format_args!("note       {policy}: {remark}")))
    }

    /// Reasons to doubt the numbers of a run.
    fn remarks(&self, run: &PolicyRun) -> Vec<String> {
        let mut remarks = Vec::new();
        let beyond = run.summary.count("out_of_domain").unwrap_or_default();
        if beyond > 0 {
            let jobs = count(beyond, "job");
            remarks.push(format!(
                "{jobs} of more than 5 devices or on other kinds of links: MAPA's Eq. 2 was not fitted to these"
            ));
        }
        if run.cut > 0 {
            let decisions = count(run.cut, "decision");
            remarks.push(format!(
                "{decisions} reached the limit of the search: better placements may exist"
            ));
        }
        let holds_back = NAMES
            .scheduler_row(&self.scheduler)
            .is_some_and(|own| own.for_shared_pcie);
        let heeds_pcie = NAMES
            .execution_row(&self.execution)
            .is_ok_and(|own| own.shared_pcie);
        if holds_back && !heeds_pcie {
            remarks.push(format!(
                "the scheduler delays jobs to avoid PCIe contention, which {} ignores: expected --execution \
                 pcie-equal-share or pcie-max-min",
                self.execution
            ));
        }
        let whole = run
            .outcome
            .waiting
            .iter()
            .filter(|&&at| self.wants_whole_devices(at))
            .count();
        if whole > 0 && self.is_partitioned() {
            let want = if whole == 1 { "wants" } else { "want" };
            remarks.push(format!(
                "{whole} of the waiting jobs {want} whole devices, and some devices are partitioned: a column `slice` \
                 requests instances"
            ));
        }
        if self.is_overload(run) {
            remarks.push("the load exceeds the machine's capacity: waits keep growing".to_owned());
        }
        remarks
    }

    fn wants_whole_devices(&self, job: usize) -> bool {
        let demands = self
            .workload
            .jobs
            .get(job)
            .map_or(&[][..], |own| own.job.request.pattern.demands());
        demands.iter().any(|demand| demand.want == Want::Whole)
    }

    /// Whether any device is partitioned at the start.
    fn is_partitioned(&self) -> bool {
        self.fleet.views().any(|view: View<'_>| {
            view.graph()
                .wholes()
                .iter()
                .any(|whole| !view.layout_of(whole).is_whole())
        })
    }

    /// Whether the load exceeds the capacity: the time from the last arrival to the last start is
    /// longer than the time in which jobs arrive.
    fn is_overload(&self, run: &PolicyRun) -> bool {
        let arrivals = self.workload.jobs.iter().map(|own| own.job.arrived);
        let (Some(first), Some(last)) = (arrivals.clone().min(), arrivals.max()) else {
            return false;
        };
        let span = last - first;
        let started = run
            .rows
            .iter()
            .map(|row| row.started)
            .max()
            .unwrap_or_default();
        !span.is_zero() && started > last && started - last > span
    }

    pub(super) fn json(&self) -> Result<Value, Failure> {
        let policies: Vec<Value> = self
            .runs
            .iter()
            .map(|run| self.run_json(run))
            .collect::<Result<_, _>>()?;
        Ok(json!({
            "machine": self.machine,
            "servers": (!self.servers.is_empty()).then_some(json!({
                "words": self.servers, "count": self.fleet.machines().len(), "network_gbps": self.fleet.network_gbps(),
            })),
            "workload": {
                "source": self.workload.source, "jobs": self.workload.jobs.len(), "notes": self.workload.notes,
            },
            "scheduler": self.scheduler,
            "execution": self.execution,
            "policies": policies,
            "written": self.written,
        }))
    }

    fn run_json(&self, run: &PolicyRun) -> Result<Value, Failure> {
        let PolicyRun {
            policy,
            outcome,
            summary,
            over_time,
            cut,
            ..
        } = run;
        let mut object = first(summary.table());
        let rate = of(summary, "jobs_per_hour");
        let first = self
            .runs
            .first()
            .map(|run| of(&run.summary, "jobs_per_hour"));
        object.insert("policy".to_owned(), json!(policy));
        object.insert(
            "relative_throughput".to_owned(),
            json!(first.map(|first| rate / first)),
        );
        object.insert(
            "mean_fragmentation".to_owned(),
            json!(over_time.mean_fragmentation()),
        );
        object.insert(
            "max_fragmentation".to_owned(),
            json!(over_time.max_fragmentation()),
        );
        object.insert("groups".to_owned(), summary.groups_table().to_json());
        object.insert(
            "jobs".to_owned(),
            jobs::table(run, &self.workload, &self.fleet)?.to_json(),
        );
        object.insert("search_limit_reached".to_owned(), json!(cut));
        object.insert("remarks".to_owned(), json!(self.remarks(run)));
        object.insert("series".to_owned(), over_time.table().to_json());
        let rejected = |own: &Rejected| {
            let mut object = json!(Refusal::from(&own.why));
            object["index"] = json!(own.index);
            object["job"] = json!(own.job.0);
            object
        };
        object.insert(
            "rejections".to_owned(),
            outcome.rejected.iter().map(rejected).collect(),
        );
        let number = |index: &usize| self.workload.jobs.get(*index).map(|own| own.job.id.0);
        object.insert(
            "never_ended".to_owned(),
            json!(outcome.waiting.iter().map(number).collect::<Vec<_>>()),
        );
        Ok(Value::Object(object))
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

/// The first row of a table, which has one.
fn first(table: Table) -> Map<String, Value> {
    match table.to_json() {
        Value::Array(rows) => match rows.into_iter().next() {
            Some(Value::Object(row)) => row,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}

/// A count with its noun in the singular or plural.
fn count(n: usize, what: &str) -> String {
    if n == 1 {
        format!("1 {what}")
    } else {
        format!("{n} {what}s")
    }
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
