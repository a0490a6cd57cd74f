//! The answer of `simulate`, as text and as JSON.

use mapa_core::{Reason, Refusal};
use mapa_front::answer::Streamed;
use mapa_front::answer::simulate::PolicyRun;
use mapa_front::commands::SimulateOutcome;
use mapa_sim::{Group, GroupSize, Rejected, Summary};

use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::text::{counted, duration, gbps, table};

/// The most rejected jobs that the text names.
const NAMED: usize = 5;

/// A workload, its simulation under each policy, and the files that were written.
pub(super) struct SimulateAnswer<'a> {
    pub(super) outcome: SimulateOutcome<'a>,
    pub(super) written: Vec<String>,
}

impl SimulateAnswer<'_> {
    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format_args!("machine    {}", self.outcome.machine))?;
        output.line(format_args!(
            "workload   {}: {}",
            counted(self.outcome.workload.jobs.len(), "job"),
            self.outcome.workload.source
        ))?;
        output.line(format_args!(
            "scheduler  {}; run times: {}",
            self.outcome.request.scheduler, self.outcome.request.execution
        ))?;
        for note in &self.outcome.workload.notes {
            output.line(format_args!("note       {note}"))?;
        }
        self.left(output)?;
        self.written
            .iter()
            .try_for_each(|file| output.line(format_args!("written    {file}")))?;
        output.line("")?;
        LEGEND
            .iter()
            .chain(DEADLINES.iter().filter(|_| self.has_deadlines()))
            .chain(BANDWIDTHS.iter().filter(|_| self.linked()))
            .try_for_each(|line| output.line(line))?;
        output.line("")?;
        output.line(self.table())
    }

    /// Whether there are bandwidths to show: sensitive jobs of two or more devices.
    fn linked(&self) -> bool {
        let of = |run: &PolicyRun| run.summary.group(Some(true), GroupSize::Several).is_some();
        self.outcome.runs.iter().any(of)
    }

    /// Whether any job that finished had a deadline.
    fn has_deadlines(&self) -> bool {
        let mut runs = self.outcome.runs.iter();
        runs.any(|run| run.summary.number("late_share").is_some())
    }

    fn table(&self) -> comfy_table::Table {
        let times = [
            "policy",
            "finished",
            "makespan",
            "jobs/h",
            "relative",
            "completion",
            "wait",
            "p95 wait",
            "slowdown",
            "utilisation",
            "fragmentation",
        ];
        // The header leaves out the same columns as the rows below.
        let deadlines = DEADLINE_CELLS.iter().filter(|_| self.has_deadlines());
        let shown = BANDWIDTH_CELLS.iter().filter(|_| self.linked());
        let header = times
            .into_iter()
            .chain(deadlines.map(|(_, head, _)| *head))
            .chain(shown.map(|(_, head, _)| *head));
        let columns = header.clone().count();
        let mut rows = table(header, 1..columns);
        let first = self
            .outcome
            .runs
            .first()
            // Where the first policy has no throughput, the quotients are NaN, which `number` shows as a dash.
            .map_or(f64::NAN, |run| of(&run.summary, "jobs_per_hour"));
        for PolicyRun {
            policy,
            summary,
            over_time,
            ..
        } in &self.outcome.runs
        {
            let mut cells = vec![
                policy.clone(),
                summary.count("finished").unwrap_or_default().to_string(),
                duration(of(summary, "makespan_s")),
                rate(of(summary, "jobs_per_hour")),
                number(of(summary, "jobs_per_hour") / first, 3),
                duration(of(summary, "completion_mean_s")),
                duration(of(summary, "wait_mean_s")),
                duration(of(summary, "wait_p95_s")),
                number(of(summary, "execution_slowdown_mean"), 3),
                number(of(summary, "utilisation"), 3),
                over_time
                    .mean_fragmentation()
                    .map_or("-".to_owned(), |mean| number(mean, 3)),
            ];
            if self.has_deadlines() {
                let deadlines = DEADLINE_CELLS.map(|(name, _, text)| match summary.number(name) {
                    Some(value) => text(value),
                    None => "-".to_owned(),
                });
                cells.extend(deadlines);
            }
            if self.linked() {
                let group = summary.group(Some(true), GroupSize::Several);
                cells.extend(BANDWIDTH_CELLS.map(|(name, _, text)| cell(group, name, text)));
            }
            rows.add_row(cells);
        }
        rows
    }

    /// Prints the jobs that did not finish and why, and remarks: each kind once, with the policies
    /// that it is true of.
    fn left(&self, output: &mut Output) -> Result<(), Failure> {
        let mut said: Vec<(String, Vec<&str>)> = Vec::new();
        let simulated = self.outcome.simulated();
        for run in &self.outcome.runs {
            let waiting = match run.outcome.waiting.len() {
                0 => None,
                jobs => Some((
                    "waiting",
                    format!("{} never started or never ended", counted(jobs, "job")),
                )),
            };
            let remarks = run.remarks(simulated);
            let remarks = remarks.iter().map(|remark| ("note", remark.to_string()));
            let rejected = rejected(&run.outcome.rejected).into_iter();
            let rejections = rejected.map(|what| ("rejected", what));
            for (kind, what) in rejections.chain(waiting).chain(remarks) {
                // The first `%` stands for the policies, which are known only after all runs. Later ones belong
                // to the text.
                let text = format!("{kind:<11}%: {what}");
                match said.iter_mut().find(|(candidate, _)| *candidate == text) {
                    Some((_, policies)) => policies.push(&run.policy),
                    None => said.push((text, vec![&run.policy])),
                }
            }
        }
        for (text, policies) in said {
            let who = match policies.len() {
                n if n > 1 && n == self.outcome.runs.len() => "all policies".to_owned(),
                _ => policies.join(", "),
            };
            output.line(text.replacen('%', &who, 1))?;
        }
        Ok(())
    }

    pub(super) fn json(&self) -> Result<Streamed<'_>, Failure> {
        Ok(self.outcome.streamed(&self.written)?)
    }
}

/// Each kind of rejection, once: how many jobs, the numbers of the first, and why.
fn rejected(jobs: &[Rejected]) -> Vec<String> {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for Rejected { job, why, .. } in jobs {
        // Without the numbers of the job: jobs of one kind are told together.
        let why = match why {
            Refusal::Infeasible(Reason::TooFewDevices { allowed, .. }) => format!(
                "more devices are wanted than the {allowed} that the request and the machine allow"
            ),
            Refusal::Infeasible(Reason::NothingFits { .. }) => {
                "nothing on the machine has the kind, size and memory that a rank wants".to_owned()
            }
            other => other.to_string(),
        };
        match kinds.iter_mut().find(|(candidate, _)| *candidate == why) {
            Some((_, jobs)) => jobs.push(job.to_string()),
            None => kinds.push((why, vec![job.to_string()])),
        }
    }
    let told = kinds.into_iter().map(|(why, jobs)| {
        let first = jobs.get(..NAMED).unwrap_or(&jobs).join(", ");
        let more = if jobs.len() > NAMED { ", .." } else { "" };
        format!("{} ({first}{more}): {why}", counted(jobs.len(), "job"))
    });
    told.collect()
}

const LEGEND: [&str; 3] = [
    "Relative: jobs per hour, if the first policy has 1. Completion: wait plus execution time, mean. Slowdown: execution time over",
    "that at full speed, mean. Fragmentation: bandwidth lost by the best ring of 2 to 5 free devices, compared with the idle machine;",
    "mean over time.",
];

/// The legend of the columns on deadlines.
const DEADLINES: [&str; 2] = [
    "Late: the share of jobs with a deadline that ended after it. Tardiness: by how much, mean, jobs in time included. Energy: what all",
    "devices drew over the makespan by their busy compute slices, as far as tables of power are known.",
];

/// The columns on deadlines: a number of a summary, its heading, and how it is written.
const DEADLINE_CELLS: [(&str, &str, WrittenNumber); 3] = [
    ("late_share", "late", percent),
    ("tardiness_mean_s", "tardiness", duration),
    ("energy_wh", "energy, kWh", kilowatt_hours),
];

/// The legend of the columns on bandwidth.
const BANDWIDTHS: [&str; 2] = [
    "The last columns are of sensitive jobs of two or more devices. Rings: quartiles of the bandwidth of a packing of rings, GB/s, and the",
    "share of jobs below 12.5 by Eq. 2. Ideal: the median of summed link bandwidth (Eq. 1) over its maximum on the idle machine.",
];

/// A number of a summary; NaN if it has none.
fn of(summary: &Summary, name: &str) -> f64 {
    summary.number(name).unwrap_or(f64::NAN)
}

/// How a number is written.
type WrittenNumber = fn(f64) -> String;

/// The columns on bandwidth: a measure of a group, its heading, and how it is written.
const BANDWIDTH_CELLS: [(&str, &str, WrittenNumber); 5] = [
    ("ring_packing_p25_gbps", "rings p25", gbps),
    ("ring_packing_p50_gbps", "p50", gbps),
    ("ring_packing_p75_gbps", "p75", gbps),
    ("below_12_5_gbps_share", "Eq. 2 below 12.5", percent),
    ("share_of_ideal_p50", "ideal p50", percent),
];

/// A number of a group; `-` if it has none.
fn cell(group: Option<&Group>, name: &str, text: WrittenNumber) -> String {
    let value = group.and_then(|group| group.number(name));
    value.map_or_else(|| "-".to_owned(), text)
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

fn kilowatt_hours(watt_hours: f64) -> String {
    number(watt_hours / 1000.0, 3)
}

fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1} %", 100.0 * share)
    } else {
        "-".to_owned()
    }
}
