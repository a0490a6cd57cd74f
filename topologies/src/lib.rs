#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod catalogue;
mod error;
mod graph_file;
mod machine;
mod machine_file;
pub mod mig;
mod nvidia_smi_topo;

pub use catalogue::{Entry, catalogue, named};
pub use error::Error;
pub use graph_file::{read_graph, write_graph};
pub use machine::{Labels, Machine, Warning};

/// The kinds of description that [`read`] recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// MAPA's own machine file.
    MachineFile,
    /// What `nvidia-smi topo -m` prints.
    NvidiaSmiTopo,
}

/// Reads a machine from a description of either kind, as [`recognise`] tells them apart.
///
/// # Errors
/// Text that is not UTF-8, or is malformed: the message names the line and what was expected there.
pub fn read(bytes: &[u8]) -> Result<Machine, Error> {
    let text = error::utf8(bytes)?;
    match recognise(text) {
        Kind::MachineFile => Machine::from_toml(text),
        Kind::NvidiaSmiTopo => Machine::from_nvidia_smi_topo(text),
    }
}

/// Which kind of description a text is: a machine file has a line that begins with `format =`.
#[must_use]
pub fn recognise(text: &str) -> Kind {
    let setting =
        |line: &str| line.trim_start().strip_prefix("format").is_some_and(|rest| rest.trim_start().starts_with('='));
    if text.lines().any(setting) { Kind::MachineFile } else { Kind::NvidiaSmiTopo }
}

/// The README's first example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct WorkspaceReadme;

/// The example in docs/mig.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/mig.md")]
pub struct MigPage;
