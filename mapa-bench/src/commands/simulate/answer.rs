//! What a simulation comes to, as text and as JSON.

use mapa_core::{View, Want};
use mapa_sched::BuiltIn;
use mapa_sim::{GroupSize, Quartiles, Rejected, Table};
use serde_json::{Map, Value, json};

use super::{Answer, PolicyRun, jobs, seconds};
use crate::answer::refusal;
use crate::failure::Failure;
use crate::output::{Output, gbps, table};

/// Of the jobs that were told no, those that the text names.
const NAMED: usize = 5;

impl Answer {
    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format_args!("machine    {}", self.machine))?;
        output.line(format_args!("workload   {}: {}", count(self.workload.jobs.len(), "job"), self.workload.source))?;
        output.line(format_args!("scheduler  {}; run times: {}", self.scheduler, self.execution))?;
        for note in &self.workload.notes {
            output.line(format_args!("note       {note}"))?;
        }
        output.line("")?;
        output.line(self.times())?;
        let linked = self.runs.iter().any(|run| run.summary.group(Some(true), GroupSize::Several).is_some());
        if linked {
            output.line("")?;
            output.line(self.bandwidths())?;
        }
        LEGEND.iter().chain(BANDWIDTHS.iter().filter(|_| linked)).try_for_each(|line| output.line(line))?;
        self.runs.iter().try_for_each(|run| self.left(run, output))?;
        self.written.iter().try_for_each(|file| output.line(format_args!("written    {file}")))
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
        let first = self.runs.first().map_or(f64::NAN, |run| run.summary.jobs_per_hour);
        for PolicyRun { policy, summary, over_time, .. } in &self.runs {
            rows.add_row([
                policy.clone(),
                summary.finished.to_string(),
                seconds(summary.makespan),
                rate(summary.jobs_per_hour),
                number(summary.jobs_per_hour / first, 3),
                number(summary.completion_s.mean, 1),
                number(summary.wait_s.mean, 1),
                number(summary.wait_s.p95, 1),
                number(summary.execution_slowdown, 3),
                number(summary.utilisation, 3),
                over_time.mean_fragmentation().map_or("-".to_owned(), |mean| number(mean, 3)),
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
        for PolicyRun { policy, summary, .. } in &self.runs {
            let Some(group) = summary.group(Some(true), GroupSize::Several) else {
                rows.add_row([policy.as_str(), "0"]);
                continue;
            };
            let median =
                |of: Option<Quartiles>, text: fn(f64) -> String| of.map_or("-".to_owned(), |own| text(own.p50));
            let mut cells = vec![policy.clone(), group.jobs.to_string()];
            let values = group.effective.map(|own| [own.min, own.p25, own.p50, own.p75, own.max].map(gbps));
            cells.extend(values.unwrap_or_else(|| std::array::from_fn(|_| "-".to_owned())));
            cells.push(percent(group.below_12_5));
            cells.push(median(group.ring_packing, gbps));
            cells.push(median(group.share_of_ideal, percent));
            rows.add_row(cells);
        }
        rows
    }

    /// The jobs that did not finish, and why.
    fn left(&self, run: &PolicyRun, output: &mut Output) -> Result<(), Failure> {
        let PolicyRun { policy, outcome, .. } = run;
        for Rejected { index, job, why, .. } in outcome.rejected.iter().take(NAMED) {
            let devices = self.workload.jobs.get(*index).map_or(0, |job| job.devices());
            let devices = count(devices, "device");
            output.line(format_args!("rejected   {policy}: job {job}, {devices}: {why}"))?;
        }
        if let Some(more) = outcome.rejected.len().checked_sub(NAMED).filter(|&more| more > 0) {
            output.line(format_args!("rejected   {policy}: {more} more"))?;
        }
        if !outcome.waiting.is_empty() {
            let waiting = count(outcome.waiting.len(), "job");
            output.line(format_args!("waiting    {policy}: {waiting} never started or never ended"))?;
        }
        self.remarks(run).iter().try_for_each(|remark| output.line(format_args!("note       {policy}: {remark}")))
    }

    /// What should be known before a run's numbers are believed.
    fn remarks(&self, run: &PolicyRun) -> Vec<String> {
        let mut remarks = Vec::new();
        if run.summary.out_of_domain > 0 {
            let jobs = count(run.summary.out_of_domain, "job");
            remarks.push(format!(
                "{jobs} of more than 5 devices or on links of other kinds: MAPA's Eq. 2 was not fitted to such"
            ));
        }
        if run.cut > 0 {
            let decisions = count(run.cut, "decision");
            remarks.push(format!("{decisions} reached the search's limit: better placements may have been there"));
        }
        let holds_back = BuiltIn::find(&self.scheduler).is_some_and(|own| own.name == "pcie-aware");
        if holds_back && !self.execution.starts_with("pcie-") {
            remarks.push(format!(
                "jobs are held back for copies that slow nobody down by {}: expected --execution pcie-equal-share or pcie-max-min",
                self.execution
            ));
        }
        let whole = run.outcome.waiting.iter().filter(|&&at| self.wants_whole_devices(at)).count();
        if whole > 0 && self.is_cut_up() {
            let want = if whole == 1 { "wants" } else { "want" };
            remarks.push(format!(
                "{whole} of the waiting jobs {want} whole devices, and some are cut up: a column `slice` asks for instances"
            ));
        }
        if self.is_overload(run) {
            remarks.push("more was asked for than the machine can do: jobs wait ever longer".to_owned());
        }
        remarks
    }

    fn wants_whole_devices(&self, job: usize) -> bool {
        let demands = self.workload.jobs.get(job).map_or(&[][..], |own| own.job.request.pattern.demands());
        demands.iter().any(|demand| demand.want == Want::Whole)
    }

    /// Whether any device was at the beginning.
    fn is_cut_up(&self) -> bool {
        let is = |view: View<'_>| view.graph().wholes().iter().any(|whole| !view.layout_of(whole).is_whole());
        self.fleet.views().any(is)
    }

    /// Whether the last job to start did so later after the last arrival than that was after the first.
    fn is_overload(&self, run: &PolicyRun) -> bool {
        let arrivals = || self.workload.jobs.iter().map(|own| own.job.arrived);
        let (Some(first), Some(last)) = (arrivals().min(), arrivals().max()) else { return false };
        let span = last - first;
        let started = run.rows.iter().map(|row| row.started).max().unwrap_or_default();
        !span.is_zero() && started > last && started - last > span
    }

    pub(super) fn json(&self) -> Result<Value, Failure> {
        let policies: Vec<Value> = self.runs.iter().map(|run| self.run_json(run)).collect::<Result<_, _>>()?;
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
        let PolicyRun { policy, outcome, summary, over_time, cut, .. } = run;
        let mut object = first(summary.table());
        let first = self.runs.first().map(|run| run.summary.jobs_per_hour);
        object.insert("policy".to_owned(), json!(policy));
        object.insert("relative_throughput".to_owned(), json!(first.map(|first| summary.jobs_per_hour / first)));
        object.insert("mean_fragmentation".to_owned(), json!(over_time.mean_fragmentation()));
        object.insert("max_fragmentation".to_owned(), json!(over_time.max_fragmentation()));
        object.insert("groups".to_owned(), summary.groups_table().to_json());
        object.insert("jobs".to_owned(), jobs::table(run, &self.workload, &self.fleet)?.to_json());
        object.insert("search_limit_reached".to_owned(), json!(cut));
        object.insert("remarks".to_owned(), json!(self.remarks(run)));
        object.insert("series".to_owned(), over_time.table().to_json());
        let rejected = |own: &Rejected| {
            let mut object = refusal(&own.why);
            object["index"] = json!(own.index);
            object["job"] = json!(own.job.0);
            object
        };
        object.insert("rejections".to_owned(), outcome.rejected.iter().map(rejected).collect());
        let number = |index: &usize| self.workload.jobs.get(*index).map(|own| own.job.id.0);
        object.insert("never_ended".to_owned(), json!(outcome.waiting.iter().map(number).collect::<Vec<_>>()));
        Ok(Value::Object(object))
    }
}

const LEGEND: [&str; 3] = [
    "Relative: jobs per hour, that of the first policy being 1. Completion: wait and execution, mean. Slowdown: time of execution over",
    "the time at full speed, mean.",
    "Fragmentation: of the best ring of 2 to 5 free devices, the bandwidth that is lacking to that on the idle machine; mean over time.",
];

/// Of the second table.
const BANDWIDTHS: [&str; 3] = [
    "The second table is of sensitive jobs of two or more devices: bandwidths as Eq. 2 predicts them, and the share below 12.5 GB/s.",
    "Rings: what rings carry at once on the devices, GB/s. Ideal: links added up, over the most that the idle machine has; the",
    "numbers share_of_ideal of JSON and sweeps are of all jobs of two or more devices, sensitive or not, as Fig. 4 is.",
];

/// The row of a table of one.
fn first(table: Table) -> Map<String, Value> {
    match table.to_json() {
        Value::Array(rows) => match rows.into_iter().next() {
            Some(Value::Object(row)) => row,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}

/// So many of something, in words.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Jobs per hour: three digits at least, of machines whose jobs take hours too.
fn rate(value: f64) -> String {
    number(value, if value < 10.0 { 3 } else { 1 })
}

fn number(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "-".to_owned() }
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", 100.0 * share) } else { "-".to_owned() }
}
