//! Decoding: what a list comes to.

use super::entry::PlanEntry;
use super::physics::{Goal, LaneOpening, LaneTicket, Physics};

/// The number of bits of [`Classes`](super::Classes).
const CLASSES: usize = 128;

fn class_of<P: Physics>(physics: &P, entry: &PlanEntry<P::Job>) -> usize {
    // Below 128 by the contract of `Physics`. The remainder keeps an implementation that breaks it
    // from indexing out of bounds.
    usize::from(physics.class(&entry.job, entry.gene)) % CLASSES
}

/// What a list does at this very moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtOnce {
    /// The places in the list of the jobs that start, in the order of their starts.
    pub starts: Vec<usize>,
    /// Whether the lane is changed so that waiting jobs fit.
    pub remakes: bool,
}

/// When a waiting job is expected to start and to end, seconds from now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedRun {
    pub starts: f64,
    pub ends: f64,
}

/// Simulates lanes. It keeps its memory, so that a decode allocates nothing.
///
/// The places of a class that wait are a chain, in the order of the list. Whoever starts is the first of
/// its class, so a start moves one head of one chain, and the job that starts next is the least of at
/// most 128 heads.
#[derive(Clone, Debug)]
pub(crate) struct Decoder<S> {
    state: Option<S>,
    /// The first place of each class that waits, if the class is in use.
    heads: [u32; CLASSES],
    /// The next place of the same class.
    next: Vec<u32>,
    /// The classes of which a job waits.
    used: u128,
    ended: Vec<LaneTicket>,
    /// How many starts and ends have been simulated.
    pub steps: u64,
}

/// Stands for no place, at the end of a chain. Greater than every place, so it never is the least
/// head.
const NONE: u32 = u32::MAX;

impl<S> Default for Decoder<S> {
    fn default() -> Self {
        Self {
            state: None,
            heads: [NONE; CLASSES],
            next: Vec::new(),
            used: 0,
            ended: Vec::new(),
            steps: 0,
        }
    }
}

impl<S: Clone> Decoder<S> {
    /// Sorts the places of the list by class.
    fn load<P: Physics<State = S>>(&mut self, physics: &P, state: &S, list: &[PlanEntry<P::Job>]) {
        match &mut self.state {
            // Reuses the memory of the last decode: a search decodes one or two lists for every
            // move.
            Some(own) => own.clone_from(state),
            none => *none = Some(state.clone()),
        }
        self.used = 0;
        self.next.clear();
        self.next.resize(list.len(), NONE);
        // From the end, so that each chain comes out in the order of the list.
        for (place, entry) in list.iter().enumerate().rev() {
            let class = class_of(physics, entry);
            if self.used >> class & 1 == 1 {
                self.next[place] = self.heads[class];
            }
            self.heads[class] = place as u32;
            self.used |= 1 << class;
        }
    }

    /// The first place of any of these classes that waits, and its class.
    fn first(&self, classes: u128) -> Option<(usize, usize)> {
        let mut classes = classes & self.used;
        let mut best = (NONE, 0);
        while classes != 0 {
            let class = classes.trailing_zeros() as usize;
            classes &= classes - 1;
            if self.heads[class] < best.0 {
                best = (self.heads[class], class);
            }
        }
        (best.0 != NONE).then_some((best.0 as usize, best.1))
    }

    /// The place of the job that starts next, if one can; it does not wait any more.
    fn take(&mut self, open: LaneOpening) -> Option<usize> {
        let (place, class) = self.first(open.starts)?;
        let bar = self.first(open.bars);
        // A waiting job in front of this one bars all jobs behind it.
        if bar.is_some_and(|(bar, _)| bar < place) {
            return None;
        }
        self.heads[class] = self.next[place];
        if self.heads[class] == NONE {
            self.used &= !(1 << class);
        }
        Some(place)
    }

    /// Whether a place of the list, with a job of this class, waits still.
    fn waits(&self, place: usize, class: usize) -> bool {
        self.used >> class & 1 == 1 && place >= self.heads[class] as usize
    }

    /// The cost of a list on a lane in this state, or `None` if it is more than `limit`. `running`
    /// has the weights of the jobs that run. Jobs that never start cost infinitely much.
    ///
    /// # Complexity
    /// O((n + r) (c + p)) for n jobs in the list, r that run, c classes in the list, and p for what
    /// the physics does at a start or end.
    pub(crate) fn cost<P: Physics<State = S>>(
        &mut self,
        physics: &P,
        goal: &impl Goal<S>,
        (state, running): (&S, &[f64]),
        list: &[PlanEntry<P::Job>],
        limit: f64,
    ) -> Option<f64> {
        self.run(physics, goal, (state, running), list, limit, |_, _, _| {})
    }

    /// When each job of the list is expected to start and to end; `None` for one that never does.
    pub(crate) fn expected<P: Physics<State = S>>(
        &mut self,
        physics: &P,
        goal: &impl Goal<S>,
        (state, running): (&S, &[f64]),
        list: &[PlanEntry<P::Job>],
    ) -> Vec<Option<ExpectedRun>> {
        let mut starts = vec![None; list.len()];
        let mut all = vec![None; list.len()];
        self.run(
            physics,
            goal,
            (state, running),
            list,
            f64::INFINITY,
            |place, at, is_end| match (is_end, starts[place]) {
                (true, Some(starts)) => all[place] = Some(ExpectedRun { starts, ends: at }),
                _ => starts[place] = Some(at),
            },
        );
        all
    }

    /// Simulates a list, and calls `note` with the place of each job of it that starts or ends, the
    /// moment, and whether it is an end.
    fn run<P: Physics<State = S>>(
        &mut self,
        physics: &P,
        goal: &impl Goal<S>,
        (state, running): (&S, &[f64]),
        list: &[PlanEntry<P::Job>],
        limit: f64,
        mut note: impl FnMut(usize, f64, bool),
    ) -> Option<f64> {
        self.load(physics, state, list);
        let mut state = self.state.take()?;
        let mut weight: f64 = running.iter().sum();
        weight += list.iter().map(|entry| entry.weight).sum::<f64>();
        let (mut cost, mut at) = (0.0, 0.0);
        let (mut waiting, mut open_jobs) = (list.len(), running.len() + list.len());
        while open_jobs > 0 && cost <= limit {
            self.steps += 1;
            if waiting > 0 {
                let open = physics.open(&state);
                // Jobs start before time goes on, as a scheduler would start them.
                if let Some(place) = self.take(open) {
                    let ticket = (running.len() + place) as LaneTicket;
                    let entry = &list[place];
                    physics.start(&mut state, &entry.job, entry.gene, ticket);
                    waiting -= 1;
                    note(place, at, false);
                    continue;
                }
                let mut left = list
                    .iter()
                    .enumerate()
                    .filter(|(place, entry)| self.waits(*place, class_of(physics, entry)))
                    .map(|(_, entry)| &entry.job);
                // Nothing can start. If the lane is idle, another layout of it may help.
                if physics.remake(&mut state, &mut left) {
                    continue;
                }
            }
            // Taken before the state goes on: it is the rate of the time that passes until then.
            let rate = goal.rate(weight, waiting > 0, &state);
            self.ended.clear();
            let Some(passed) = physics.next(&mut state, &mut self.ended) else {
                // Jobs are left, and nothing will change: they never start.
                cost = f64::INFINITY;
                break;
            };
            at += passed;
            cost += rate * passed;
            for &ticket in &self.ended {
                let ticket = ticket as usize;
                open_jobs -= 1;
                match ticket.checked_sub(running.len()) {
                    None => weight -= running[ticket],
                    Some(place) => {
                        weight -= list[place].weight;
                        note(place, at, true);
                    }
                }
            }
        }
        self.state = Some(state);
        (cost <= limit).then_some(cost)
    }

    /// What a list does now, before any time passes.
    pub(crate) fn at_once<P: Physics<State = S>>(
        &mut self,
        physics: &P,
        (state, running): (&S, usize),
        list: &[PlanEntry<P::Job>],
    ) -> AtOnce {
        self.load(physics, state, list);
        let mut all = AtOnce::default();
        let Some(mut state) = self.state.take() else {
            return all;
        };
        while all.starts.len() < list.len() {
            if let Some(place) = self.take(physics.open(&state)) {
                let ticket = (running + place) as LaneTicket;
                let entry = &list[place];
                physics.start(&mut state, &entry.job, entry.gene, ticket);
                all.starts.push(place);
                continue;
            }
            let mut left = list
                .iter()
                .enumerate()
                .filter(|(place, entry)| self.waits(*place, class_of(physics, entry)))
                .map(|(_, entry)| &entry.job);
            // Only if nothing starts: a job that starts would be on the lane that changes.
            all.remakes = all.starts.is_empty() && physics.remake(&mut state, &mut left);
            break;
        }
        // Kept for its memory, not for what it says.
        self.state = Some(state);
        all
    }
}
