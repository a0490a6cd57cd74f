//! One command, one file.

mod allocate;
mod batch;
mod compare;
mod find_matches;
mod machines;
mod mig;
mod read_files;
mod topo;

pub(crate) use allocate::allocate;
pub(crate) use compare::compare;
pub(crate) use find_matches::find_matches;
pub(crate) use machines::machines;
pub(crate) use mig::mig;
pub(crate) use read_files::read_files;
pub(crate) use topo::topo;
