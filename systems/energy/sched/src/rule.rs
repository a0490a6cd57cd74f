//! Rules: which job starts where.

use super::machine::SlicedGpus;
use super::state::{Start, State};
use crate::error::Error;

/// A rule that starts jobs. It is asked after every event, and again after every start, until it
/// starts none.
pub trait Rule {
    /// Its name.
    fn name(&self) -> &str;

    /// The next job to start; `None` to let time go on. At least one job must start while the queue
    /// is not empty and all slices are free, or nothing ever happens again.
    fn choose(&mut self, state: &State) -> Option<Start>;

    /// Whether it can choose on this machine.
    ///
    /// # Errors
    /// A rule that was made for other machines says for which.
    fn suits(&self, _: &SlicedGpus) -> Result<(), Error> {
        Ok(())
    }
}

impl<R: Rule + ?Sized> Rule for Box<R> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        (**self).choose(state)
    }

    fn suits(&self, machine: &SlicedGpus) -> Result<(), Error> {
        (**self).suits(machine)
    }
}
