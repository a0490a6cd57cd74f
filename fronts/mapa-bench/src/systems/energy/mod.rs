//! Jobs with deadlines on MIG instances: search for prices, training of nets, and schedulers that read files.

mod names;
#[cfg(feature = "experiments")]
mod train;
mod tune;

use mapa_cli::CommandRow;

pub(crate) use names::add as add_names;

#[cfg(feature = "experiments")]
pub(crate) const TRAIN: CommandRow = CommandRow::of::<train::TrainArgs>();
pub(crate) const TUNE: CommandRow = CommandRow::of::<tune::TuneArgs>();
