//! Programs that are started, stopped and handed over.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::LeverError;
use super::group::{CgroupPath, Controller};
use crate::kernel::{Cpus, ProcessId};

/// A program to be run. Its id is its mark: at most one process runs under an id, and whoever starts it
/// again finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// The mark: the program has it in its environment as `MAPA_LAUNCH`. Letters, digits, `-`, `_`, `.`.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What is added to the environment, such as `CUDA_VISIBLE_DEVICES`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it runs; where the caller runs, if `None`.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The groups that it is in before its first instruction.
    #[serde(default)]
    pub groups: Vec<(Controller, CgroupPath)>,
    /// The CPUs on which it may run, from its first instruction on.
    #[serde(default)]
    pub cpus: Option<Cpus>,
    /// How it is known that it is ready.
    #[serde(default)]
    pub ready: ReadinessProbe,
    /// How long that may take, seconds.
    #[serde(default = "half_a_minute")]
    pub ready_s: u64,
    /// How long it may take to end after `SIGTERM` before it is killed, seconds.
    #[serde(default = "ten")]
    pub stop_s: u64,
}

fn half_a_minute() -> u64 {
    30
}

fn ten() -> u64 {
    10
}

impl ProgramSpec {
    /// A program without an environment, groups or CPUs of its own, which is ready once it runs.
    pub fn new(
        id: impl Into<String>,
        command: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            id: id.into(),
            command: command.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            folder: None,
            groups: Vec::new(),
            cpus: None,
            ready: ReadinessProbe::Runs,
            ready_s: half_a_minute(),
            stop_s: ten(),
        }
    }
}

/// How it is known that a program is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReadinessProbe {
    /// It runs.
    #[default]
    Runs,
    /// It takes connections at this address.
    Tcp {
        /// Its address and port.
        address: SocketAddr,
    },
    /// It answers this URL with a status of 200 to 299. `http` only.
    Http {
        /// The URL, which begins with `http://`.
        url: String,
    },
    /// This file exists.
    File {
        /// A path that the program makes when it serves.
        path: PathBuf,
    },
}

/// A file that says which instance requests go to. It is replaced in one step, so a reader sees the old
/// text or the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteFile {
    /// The path of the file that a proxy or a client reads.
    pub file: PathBuf,
    /// What it says once the new instance serves.
    pub text: String,
}

/// Programs. [`SystemPrograms`](crate::levers::SystemPrograms) starts processes,
/// [`SimulatedMachine`](crate::levers::SimulatedMachine) simulates them.
pub trait Programs: Send {
    /// The process that runs under an id.
    ///
    /// # Errors
    /// The processes of the machine cannot be listed.
    fn running(&self, id: &str) -> Result<Option<ProcessId>, LeverError>;

    /// Starts a program, unless it runs. It is in its groups and on its CPUs before its first instruction.
    ///
    /// # Errors
    /// There is no such program, or it cannot be put where it should be; then it has not begun.
    fn start(&mut self, launch: &ProgramSpec) -> Result<ProcessId, LeverError>;

    /// Whether a program that was started is ready.
    ///
    /// # Errors
    /// [Failed](LeverError::Failed): it has ended.
    fn is_ready(&self, launch: &ProgramSpec) -> Result<bool, LeverError>;

    /// Waits a little, between two questions whether a program is ready.
    fn pause(&mut self);

    /// Ends the program, with all that it started: first by `SIGTERM`, after its time by `SIGKILL`.
    ///
    /// # Errors
    /// It cannot be ended.
    fn stop(&mut self, launch: &ProgramSpec) -> Result<(), LeverError>;

    /// What a route's file says; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    fn route(&self, file: &std::path::Path) -> Result<Option<String>, LeverError>;

    /// Replaces a route's file in one step, or removes it.
    ///
    /// # Errors
    /// It cannot be written.
    fn set_route(&mut self, file: &std::path::Path, text: Option<&str>) -> Result<(), LeverError>;
}
