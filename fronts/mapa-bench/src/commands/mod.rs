//! The commands, one file or folder each.

mod allocate;
mod batch;
mod compare;
mod defrag;
mod find_matches;
#[cfg(feature = "fit")]
mod fit;
mod machines;
#[cfg(feature = "fit")]
mod measured;
mod mig;
mod packed;
mod pattern;
mod read_files;
#[cfg(feature = "experiments")]
mod reproduce;
mod score;
mod sensitivity;
mod shell;
mod simulate;
mod sweep;
mod topo;

pub(crate) use allocate::allocate;
pub(crate) use compare::compare;
pub(crate) use defrag::defrag;
pub(crate) use find_matches::find_matches;
#[cfg(feature = "fit")]
pub(crate) use fit::fit;
pub(crate) use machines::machines;
#[cfg(feature = "fit")]
pub(crate) use measured::measured;
pub(crate) use mig::mig;
pub(crate) use pattern::pattern;
pub(crate) use read_files::read_files;
#[cfg(feature = "experiments")]
pub(crate) use reproduce::reproduce;
pub(crate) use score::score;
pub(crate) use sensitivity::sensitivity;
pub(crate) use shell::{completions, man};
pub(crate) use simulate::simulate;
pub(crate) use sweep::sweep;
pub(crate) use topo::topo;
