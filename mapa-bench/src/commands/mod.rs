//! One command, one file.

mod allocate;
mod batch;
mod compare;
mod find_matches;
mod fit;
mod machines;
mod mig;
mod packed;
mod pattern;
mod read_files;
mod reproduce;
mod score;
mod sensitivity;
mod simulate;
mod sweep;
mod topo;

pub(crate) use allocate::allocate;
pub(crate) use compare::compare;
pub(crate) use find_matches::find_matches;
pub(crate) use fit::fit;
pub(crate) use machines::machines;
pub(crate) use mig::mig;
pub(crate) use pattern::pattern;
pub(crate) use read_files::read_files;
pub(crate) use reproduce::reproduce;
pub(crate) use score::score;
pub(crate) use sensitivity::sensitivity;
pub(crate) use simulate::{PolicyRun, simulate};
pub(crate) use sweep::sweep;
pub(crate) use topo::topo;
