//! A row of a trace of any kind.

use mapa_table::{Row, optional_text, text};
use serde::Deserialize;

use crate::error::Error;
use crate::workload::cells::{Devices, Milli, Seconds};

/// The columns of a job in a log. Only Alibaba's logs have the last three. The column that names
/// what a job runs is not here, as its name differs between kinds of logs.
#[derive(Deserialize)]
pub(super) struct Logged {
    #[serde(with = "text")]
    pub(super) gpus: Devices,
    #[serde(with = "text")]
    pub(super) submit_s: Seconds,
    #[serde(with = "text")]
    pub(super) duration_s: Seconds,
    #[serde(default, with = "optional_text")]
    gpu_milli: Option<Milli>,
    #[serde(default)]
    pub(super) qos: Option<String>,
    #[serde(default)]
    pub(super) phase: Option<String>,
}

impl Logged {
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Error> {
        Ok(row.read()?)
    }

    /// Whether the job shares a device.
    pub(super) fn is_shared(&self) -> bool {
        self.gpu_milli.is_some_and(|milli| milli.0 < 1000)
    }
}
