//! A row of a trace of any kind.

use std::time::Duration;

use mapa_sched::Time;
use mapa_table::{Row, Sheet, optional_text, text};
use serde::Deserialize;

use crate::error::Error;
use crate::workload::cells::{Devices, Milli, Seconds};

/// A log as it was read: its jobs with their numbers and rows, and notes on what was left out.
pub(super) struct TraceLog<'s> {
    pub(super) jobs: Vec<(u64, Row<'s>, LoggedJob)>,
    pub(super) notes: Vec<String>,
}

impl<'s> TraceLog<'s> {
    /// Reads comma-separated values: each row is a job.
    pub(super) fn read(sheet: &'s Sheet<'_>) -> Result<Self, Error> {
        let rows = (0..).zip(sheet.rows());
        let jobs = rows.map(|(number, row)| Ok((number, row, LoggedJob::read(&row)?)));
        Ok(Self {
            jobs: jobs.collect::<Result<_, Error>>()?,
            notes: Vec::new(),
        })
    }
}

/// What a log says of a job.
pub(super) struct LoggedJob {
    pub(super) devices: usize,
    pub(super) submitted: Time,
    pub(super) ran: Duration,
    /// The limit of its run time, if the log has one.
    pub(super) limit: Option<Duration>,
    /// Whether it shares a device.
    pub(super) is_shared: bool,
    pub(super) is_service: bool,
    /// How it was when the log ended.
    pub(super) end: LoggedEnd,
}

/// How a job was when the log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoggedEnd {
    /// It had ended as it should, or the log does not say.
    Good,
    /// It had ended otherwise.
    Failed,
    /// It had not ended.
    NotYet,
}

/// The columns of a job in a log of comma-separated values. Only Alibaba's logs have the last
/// three. The column that names what a job runs is not here, as its name differs between kinds of
/// logs.
#[derive(Deserialize)]
struct LogColumns {
    #[serde(with = "text")]
    gpus: Devices,
    #[serde(with = "text")]
    submit_s: Seconds,
    #[serde(with = "text")]
    duration_s: Seconds,
    #[serde(default, with = "optional_text")]
    gpu_milli: Option<Milli>,
    #[serde(default)]
    qos: Option<String>,
    #[serde(default)]
    phase: Option<String>,
}

impl LoggedJob {
    /// Reads a row of comma-separated values.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Error> {
        let columns: LogColumns = row.read()?;
        Ok(Self {
            devices: columns.gpus.0,
            submitted: Time(columns.submit_s.0),
            ran: Duration::from_nanos(columns.duration_s.0),
            limit: None,
            is_shared: columns.gpu_milli.is_some_and(|milli| milli.0 < 1000),
            is_service: columns.qos.as_deref() == Some("LS"),
            end: match columns.phase.as_deref() {
                Some("Running" | "Pending") => LoggedEnd::NotYet,
                Some("Failed") => LoggedEnd::Failed,
                _ => LoggedEnd::Good,
            },
        })
    }
}
