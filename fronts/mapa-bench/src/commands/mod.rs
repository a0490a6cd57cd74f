//! The commands, one file or folder each.

mod allocate;
mod batch;
mod compare;
mod contention;
mod defrag;
mod find_matches;
mod fit;
mod machines;
mod measured;
mod mig;
mod packed;
mod pattern;
mod profile;
mod read_files;
#[cfg(feature = "experiments")]
mod reproduce;
mod score;
mod sensitivity;
mod shell;
mod simulate;
mod slo;
mod sweep;
mod topo;
#[cfg(feature = "experiments")]
mod train;
mod tune;
#[cfg(feature = "experiments")]
mod workers;

pub(crate) use allocate::allocate;
pub(crate) use compare::compare;
pub(crate) use contention::contention;
pub(crate) use defrag::defrag;
pub(crate) use find_matches::find_matches;
pub(crate) use fit::fit;
pub(crate) use machines::machines;
pub(crate) use measured::measured;
pub(crate) use mig::mig;
pub(crate) use pattern::pattern;
pub(crate) use profile::profile;
pub(crate) use read_files::read_files;
#[cfg(feature = "experiments")]
pub(crate) use reproduce::reproduce;
pub(crate) use score::score;
pub(crate) use sensitivity::sensitivity;
pub(crate) use shell::{completions, man};
pub(crate) use simulate::simulate;
pub(crate) use slo::slo;
pub(crate) use sweep::sweep;
pub(crate) use topo::topo;
#[cfg(feature = "experiments")]
pub(crate) use train::train;
pub(crate) use tune::tune;
#[cfg(feature = "experiments")]
pub(crate) use workers::workers;
