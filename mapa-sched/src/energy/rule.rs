//! Rules: which job starts where.

use super::state::State;

/// A job to start: its position in the queue, and its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The position in [`State::queue`].
    pub waiting: usize,
    /// The number of the slice.
    pub slice: usize,
}

/// A rule that starts jobs. It is asked after every event, and again after every start, until it
/// starts none.
pub trait Rule {
    /// Its name.
    fn name(&self) -> &str;

    /// The next job to start; `None` to let time go on. At least one job must start while the queue
    /// is not empty and all slices are free, or nothing ever happens again.
    fn choose(&mut self, state: &State) -> Option<Start>;
}

impl<R: Rule + ?Sized> Rule for Box<R> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        (**self).choose(state)
    }
}
