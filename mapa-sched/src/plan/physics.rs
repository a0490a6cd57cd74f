//! What differs between the things that are planned.

/// The number by which a lane knows a job: running jobs come first, then the waiting ones by their
/// places in the list.
pub type LaneTicket = u32;

/// A set of classes of jobs, one bit each.
pub type Classes = u128;

/// What a lane admits at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneOpening {
    /// The classes of which a job can start.
    pub starts: Classes,
    /// The classes of which a waiting job lets nobody behind it start.
    pub bars: Classes,
}

/// What may start where, and how fast it runs beside whom. Times are seconds.
pub trait Physics {
    /// What a lane must know of a job.
    type Job;
    /// What runs on a lane, and what is free there. Cloned once a decode, so `clone_from` should
    /// reuse memory.
    type State: Clone;

    /// Whether a job could ever run on the lane: now, or after a change of it.
    fn holds(&self, state: &Self::State, job: &Self::Job) -> bool;

    /// The class of a job with a gene, below 128. Jobs of one class can start at the same moments.
    fn class(&self, job: &Self::Job, gene: u8) -> u8;

    /// What the lane admits now.
    fn open(&self, state: &Self::State) -> LaneOpening;

    /// Starts a job whose class, with this gene, is open.
    fn start(&self, state: &mut Self::State, job: &Self::Job, gene: u8, ticket: LaneTicket);

    /// Lets time go on to the next moment at which something changes, adds the tickets of the jobs
    /// that end then, and returns how many seconds have passed. `None` if nothing will ever change.
    fn next(&self, state: &mut Self::State, ended: &mut Vec<LaneTicket>) -> Option<f64>;

    /// Changes an idle lane so that waiting jobs fit which do not fit now; they come in the order of
    /// the list. Returns whether it changed anything.
    fn remake(
        &self,
        _state: &mut Self::State,
        _waiting: &mut dyn Iterator<Item = &Self::Job>,
    ) -> bool {
        false
    }
}

/// What a schedule costs, as an integral over time.
pub trait Goal<S> {
    /// The cost of a second in which jobs of this weight, together, are not done, and some of them
    /// wait or none.
    fn rate(&self, weight: f64, waits: bool, state: &S) -> f64;
}

/// The sum of the completion times of all jobs, each times its weight.
#[derive(Clone, Copy, Debug, Default)]
pub struct WeightedFlow;

impl<S> Goal<S> for WeightedFlow {
    fn rate(&self, weight: f64, _: bool, _: &S) -> f64 {
        weight
    }
}
