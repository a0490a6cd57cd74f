//! The table of measures: every quantity that is computed from a simulation, one row each.
//!
//! A row of [`MEASURES`] says what a number is called, in which unit it is, what it is computed
//! from, how the numbers of several jobs become one, and whether more of it is better. The columns
//! of [`Row::table`], the numbers of a [`Summary`](super::Summary) and of its groups, and with them
//! the JSON of `simulate` and the columns of a sweep are made from this table. To add a measure,
//! add a row at its end.

use mapa_sched::Time;

use super::measure::{Better, Jobs, Measure, MeasureScope, Pool, Pooled, Unit};
use super::rows::Row;

/// Bandwidth below which a job's rings cross the host, GB/s. One PCIe path of the paper's machines
/// carries 12 GB/s; the rest is slack for Eq. 2.
const SLOW_GBPS: f64 = 12.5;

/// Seconds since the beginning.
fn seconds(at: Time) -> Option<f64> {
    Some((at - Time::ZERO).as_secs_f64())
}

/// 1 if a job has at most this share of its ideal bandwidth, else 0; `None` if it has no ideal.
fn is_at_most(row: &Row, most: f64) -> Option<f64> {
    row.share_of_ideal().map(|share| f64::from(share <= most))
}

/// The fields that most columns of jobs have in common. A summary has no numbers of them.
const FACT: Measure = Measure {
    name: "",
    unit: Unit::None,
    of: MeasureScope::Flag(|_| false),
    in_rows: true,
    pooled: &[],
    better: Better::Neither,
    meaning: "",
};

/// The fields that all measures of a run have in common. They are not columns of the table of jobs.
const OF_RUN: Measure = Measure {
    in_rows: false,
    ..FACT
};

const fn pool(jobs: Jobs, by: Pool, place: u8) -> Pooled {
    Pooled { jobs, by, place }
}

/// Every measure. The columns of rows are in this order. A summary has first the numbers of the
/// simulation above all measures of jobs, in this order, then the pooled numbers, by their
/// [places](Pooled::place), then the numbers of the simulation below measures of jobs.
pub const MEASURES: &[Measure] = &[
    // Of the whole simulation.
    Measure {
        name: "finished",
        unit: Unit::Count,
        of: MeasureScope::RunCount(|run| run.rows.len()),
        better: Better::More,
        meaning: "jobs that finished",
        ..OF_RUN
    },
    Measure {
        name: "rejected",
        unit: Unit::Count,
        of: MeasureScope::RunCount(|run| run.outcome.rejected.len()),
        better: Better::Less,
        meaning: "jobs that were rejected",
        ..OF_RUN
    },
    Measure {
        name: "waiting",
        unit: Unit::Count,
        of: MeasureScope::RunCount(|run| run.outcome.waiting.len()),
        better: Better::Less,
        meaning: "jobs that had arrived and not finished when nothing more could happen",
        ..OF_RUN
    },
    Measure {
        name: "out_of_domain",
        unit: Unit::Count,
        of: MeasureScope::RunCount(|run| {
            let beyond = run
                .rows
                .iter()
                .filter(|row| row.devices > 1 && !row.scores.in_domain);
            beyond.count()
        }),
        better: Better::Less,
        meaning: "jobs of several devices that finished on placements outside the domain of Eq. 2: \
                  their effective bandwidths are no predictions",
        ..OF_RUN
    },
    Measure {
        name: "makespan_s",
        unit: Unit::Seconds,
        of: MeasureScope::RunNumber(|run| run.makespan().as_secs_f64()),
        better: Better::Less,
        meaning: "from the first arrival of a job that finished to the last end",
        ..OF_RUN
    },
    Measure {
        name: "jobs_per_hour",
        unit: Unit::JobsPerHour,
        of: MeasureScope::RunNumber(|run| {
            let hours = run.makespan().as_secs_f64() / 3600.0;
            run.rows.len() as f64 / hours
        }),
        better: Better::More,
        meaning: "jobs that finished over the makespan",
        ..OF_RUN
    },
    Measure {
        name: "utilisation",
        unit: Unit::Share,
        of: MeasureScope::RunNumber(|run| run.utilisation()),
        better: Better::Neither,
        meaning: "device-seconds that jobs held, over whole devices x makespan",
        ..OF_RUN
    },
    // Of each job: what it is, and when it ran.
    Measure {
        name: "index",
        unit: Unit::None,
        of: MeasureScope::Integer(|row| row.index as u64),
        meaning: "the job's place in the workload",
        ..FACT
    },
    Measure {
        name: "job",
        unit: Unit::None,
        of: MeasureScope::Integer(|row| row.job.0),
        meaning: "the job's number",
        ..FACT
    },
    Measure {
        name: "task",
        unit: Unit::None,
        of: MeasureScope::Text(|row, _| row.task.to_string()),
        meaning: "what it runs",
        ..FACT
    },
    Measure {
        name: "devices",
        unit: Unit::Count,
        of: MeasureScope::Integer(|row| row.devices as u64),
        meaning: "how many devices it has",
        ..FACT
    },
    Measure {
        name: "sensitive",
        unit: Unit::None,
        of: MeasureScope::Flag(|row| row.sensitive),
        meaning: "whether its speed depends on its links",
        ..FACT
    },
    Measure {
        name: "arrived_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| seconds(row.arrived)),
        meaning: "when it arrived",
        ..FACT
    },
    Measure {
        name: "started_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| seconds(row.started)),
        meaning: "when it started",
        ..FACT
    },
    Measure {
        name: "ended_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| seconds(row.ended)),
        meaning: "when it ended",
        ..FACT
    },
    Measure {
        name: "work_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| Some(row.work.as_secs_f64())),
        meaning: "how long it would run at full speed",
        ..FACT
    },
    Measure {
        name: "ran_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| Some(row.ran.as_secs_f64())),
        in_rows: true,
        pooled: &[],
        better: Better::Less,
        meaning: "how long it ran",
    },
    Measure {
        name: "wait_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| Some(row.waited().as_secs_f64())),
        in_rows: true,
        pooled: &[pool(Jobs::All, Pool::Spread, 2)],
        better: Better::Less,
        meaning: "from its arrival to its start",
    },
    Measure {
        name: "completion_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| Some(row.completion().as_secs_f64())),
        in_rows: true,
        pooled: &[pool(Jobs::All, Pool::Spread, 1)],
        better: Better::Less,
        meaning: "from its arrival to its end",
    },
    Measure {
        name: "slowdown",
        unit: Unit::Times,
        of: MeasureScope::Number(Row::slowdown),
        in_rows: true,
        pooled: &[pool(Jobs::All, Pool::Spread, 3)],
        better: Better::Less,
        meaning: "completion over work",
    },
    Measure {
        name: "bounded_slowdown",
        unit: Unit::Times,
        of: MeasureScope::Number(|row| Some(row.bounded_slowdown())),
        in_rows: true,
        pooled: &[pool(Jobs::All, Pool::Spread, 4)],
        better: Better::Less,
        meaning: "completion over work, where work counts as at least ten seconds; never below 1",
    },
    Measure {
        name: "execution_slowdown",
        unit: Unit::Times,
        of: MeasureScope::Number(Row::execution_slowdown),
        in_rows: true,
        pooled: &[pool(Jobs::All, Pool::Mean, 5)],
        better: Better::Less,
        meaning: "how long it ran over its work: what its links cost",
    },
    // Of each job: where it ended, and what that is worth.
    Measure {
        name: "machine",
        unit: Unit::None,
        of: MeasureScope::Integer(|row| u64::from(row.at.machine.0)),
        meaning: "the number of its machine; of its first one, for a job on several",
        ..FACT
    },
    Measure {
        name: "placement",
        unit: Unit::None,
        of: MeasureScope::Text(Row::device_names),
        meaning: "the names of its devices in rank order",
        ..FACT
    },
    Measure {
        name: "links_double",
        unit: Unit::Count,
        of: MeasureScope::Integer(|row| u64::from(row.scores.links.xyz().0)),
        meaning: "how many edges of its pattern lie on bonds of two or more direct links",
        ..FACT
    },
    Measure {
        name: "links_single",
        unit: Unit::Count,
        of: MeasureScope::Integer(|row| u64::from(row.scores.links.xyz().1)),
        meaning: "how many edges of its pattern lie on single direct links",
        ..FACT
    },
    Measure {
        name: "links_pcie",
        unit: Unit::Count,
        of: MeasureScope::Integer(|row| u64::from(row.scores.links.xyz().2)),
        meaning: "how many edges of its pattern lie on other paths",
        ..FACT
    },
    Measure {
        name: "aggregate_gbps",
        unit: Unit::GbPerSecond,
        of: MeasureScope::Number(|row| Some(row.scores.aggregate_gbps)),
        in_rows: true,
        pooled: &[],
        better: Better::More,
        meaning: "aggregated bandwidth, Eq. 1",
    },
    Measure {
        name: "ideal_aggregate_gbps",
        unit: Unit::GbPerSecond,
        of: MeasureScope::Number(|row| row.scores.ideal_aggregate_gbps),
        meaning: "the highest aggregated bandwidth that its pattern could have on the idle machine",
        ..FACT
    },
    Measure {
        name: "share_of_ideal",
        unit: Unit::Share,
        of: MeasureScope::Number(Row::share_of_ideal),
        in_rows: true,
        pooled: &[pool(Jobs::Several, Pool::Quartiles, 9)],
        better: Better::More,
        meaning: "aggregated over ideal bandwidth, as in Fig. 4; of jobs of two or more devices",
    },
    Measure {
        name: "effective_gbps",
        unit: Unit::GbPerSecond,
        of: MeasureScope::Number(|row| Some(row.scores.effective_gbps)),
        in_rows: true,
        pooled: &[
            pool(Jobs::SensitiveSeveral, Pool::Quartiles, 6),
            pool(Jobs::Sensitive, Pool::Quartiles, 7),
        ],
        better: Better::More,
        meaning: "effective bandwidth as Eq. 2 predicts it; 12.335 for one device",
    },
    Measure {
        name: "in_domain",
        unit: Unit::None,
        of: MeasureScope::Flag(|row| row.scores.in_domain),
        meaning: "whether Eq. 2 was fitted to placements of this kind",
        ..FACT
    },
    Measure {
        name: "ring_packing_gbps",
        unit: Unit::GbPerSecond,
        of: MeasureScope::Number(|row| row.scores.ring_packing_gbps),
        in_rows: true,
        pooled: &[pool(Jobs::SensitiveSeveral, Pool::Quartiles, 8)],
        better: Better::More,
        meaning: "what rings carry at once; of jobs of two or more devices",
    },
    // Of each job, in summaries alone.
    Measure {
        name: "below_12_5_gbps_share",
        unit: Unit::Share,
        of: MeasureScope::Number(|row| Some(f64::from(row.scores.effective_gbps < SLOW_GBPS))),
        in_rows: false,
        pooled: &[pool(Jobs::SensitiveSeveral, Pool::Share, 10)],
        better: Better::Less,
        meaning: "the share of jobs whose effective bandwidth is below 12.5 GB/s, that of a path \
                  through the host",
    },
    Measure {
        name: "at_most_80_of_ideal_share",
        unit: Unit::Share,
        of: MeasureScope::Number(|row| is_at_most(row, 0.8)),
        in_rows: false,
        pooled: &[pool(Jobs::Several, Pool::Share, 11)],
        better: Better::Less,
        meaning: "the share of jobs of two or more devices with at most 0.8 of their ideal \
                  bandwidth",
    },
    Measure {
        name: "at_most_55_of_ideal_share",
        unit: Unit::Share,
        of: MeasureScope::Number(|row| is_at_most(row, 0.55)),
        in_rows: false,
        pooled: &[pool(Jobs::Several, Pool::Share, 11)],
        better: Better::Less,
        meaning: "the share of jobs of two or more devices with at most 0.55 of their ideal \
                  bandwidth",
    },
    // Of jobs with deadlines, and of the power that devices draw.
    Measure {
        name: "deadline_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| row.deadline.and_then(seconds)),
        meaning: "when it should have ended",
        ..FACT
    },
    Measure {
        name: "tardiness_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| row.tardiness().map(|late| late.as_secs_f64())),
        in_rows: true,
        pooled: &[pool(Jobs::All, Pool::Spread, 13)],
        better: Better::Less,
        meaning: "by how much it ended after its deadline, 0 if in time; of jobs with a deadline",
    },
    Measure {
        name: "late_share",
        unit: Unit::Share,
        of: MeasureScope::Number(|row| row.tardiness().map(|late| f64::from(!late.is_zero()))),
        in_rows: false,
        pooled: &[pool(Jobs::All, Pool::Share, 12)],
        better: Better::Less,
        meaning: "the share of jobs with a deadline that ended after it; of those that finished",
    },
    Measure {
        name: "energy_wh",
        unit: Unit::WattHours,
        of: MeasureScope::RunNumber(|run| run.watt_hours().unwrap_or(f64::NAN)),
        better: Better::Less,
        meaning: "what all devices drew over the makespan, idle ones too, by their busy compute \
                  slices; not known where a device has no table of power",
        ..OF_RUN
    },
];
