//! Jobs with deadlines on MIG instances: search for prices, training of nets, and schedulers that read files.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `mapa_cli` prints"
)]

pub mod answer;
mod names;
mod train;
mod tune;

use mapa_cli::CommandRow;

pub use names::add as add_names;

/// `train`: a net that picks MIG slices for jobs with deadlines.
pub const TRAIN: CommandRow = CommandRow::of::<train::TrainArgs>();
/// `tune`: prices and layouts, searched for jobs with deadlines.
pub const TUNE: CommandRow = CommandRow::of::<tune::TuneArgs>();

/// The JSON Schemas of the answers.
#[cfg(feature = "schema")]
pub const ANSWERS: &[mapa_front::AnswerSchema] = &[
    mapa_front::AnswerSchema::of::<answer::train::Training>("train"),
    mapa_front::AnswerSchema::of::<answer::tune::Tune>("tune"),
];
