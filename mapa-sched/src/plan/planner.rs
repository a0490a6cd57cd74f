//! Lists of waiting jobs, lane by lane: insertion, and a search by random moves.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use super::decode::{AtOnce, Decoder, ExpectedRun};
use super::draws::Draws;
use super::entry::PlanEntry;
use super::physics::{Goal, Physics};
use crate::job::JobId;

/// A lane: what runs there, and the jobs that are to run there next.
#[derive(Clone, Debug)]
struct PlannerLane<S, J> {
    state: S,
    /// The weights of the jobs that run, by ticket.
    running: Vec<f64>,
    list: Vec<PlanEntry<J>>,
    /// How many jobs at the front of the list stay there: nothing is inserted before them, and no
    /// move touches them.
    fixed: usize,
    /// What the lane costs as it stands; `None` if that is not known.
    cost: Option<f64>,
    /// Whether its list may start other jobs now than when it was last asked.
    is_changed: bool,
}

/// A place to insert a job: its lane, its place in the list, its gene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InsertPosition {
    lane: usize,
    place: usize,
    gene: u8,
}

/// How often a search makes each kind of move, by odds, and how.
#[derive(Clone, Copy, Debug)]
pub struct Moves {
    /// To a place of a list of another lane.
    pub lane: u8,
    /// To another place of the same list.
    pub place: u8,
    /// A swap of two jobs.
    pub swap: u8,
    /// Another gene for a job that stays in its place.
    pub gene: u8,
    /// Every second job that moves within a list, but to its first place, moves by at most this many
    /// places.
    pub near: Option<usize>,
    /// Whether every third job that moves gets another gene, too.
    pub regenes: bool,
}

type JobPlaces = HashMap<JobId, (usize, usize), BuildHasherDefault<DefaultHasher>>;

/// The plan of all lanes.
#[derive(Clone, Debug)]
pub struct Planner<P: Physics, G> {
    physics: P,
    goal: G,
    lanes: Vec<PlannerLane<P::State, P::Job>>,
    /// Every job that is in a list, so that one can be drawn.
    jobs: Vec<JobId>,
    /// The lane of each of them, and its position in `jobs`.
    places: JobPlaces,
    changed: Vec<usize>,
    decoder: Decoder<P::State>,
    draws: Draws,
}

impl<P, G> Planner<P, G>
where
    P: Physics,
    P::Job: Clone,
    G: Goal<P::State>,
{
    /// A plan without lanes; its search draws from the stream of this seed.
    pub fn new(physics: P, goal: G, seed: u64) -> Self {
        Self {
            physics,
            goal,
            lanes: Vec::new(),
            jobs: Vec::new(),
            places: JobPlaces::default(),
            changed: Vec::new(),
            decoder: Decoder::default(),
            draws: Draws::new(seed),
        }
    }

    /// What jobs need, and how fast they run beside whom.
    pub fn physics(&self) -> &P {
        &self.physics
    }

    /// The same, to be changed.
    pub fn physics_mut(&mut self) -> &mut P {
        &mut self.physics
    }

    /// Sets the goal. If it is another one, what lanes cost is known no more.
    pub fn set_goal(&mut self, goal: G)
    where
        G: PartialEq,
    {
        if self.goal != goal {
            self.goal = goal;
            for lane in &mut self.lanes {
                lane.cost = None;
            }
        }
    }

    /// What a lane would cost with this list; `None` if that is more than `limit`.
    pub fn price(&mut self, lane: usize, list: &[PlanEntry<P::Job>], limit: f64) -> Option<f64> {
        let own = &self.lanes[lane];
        let now = (&own.state, own.running.as_slice());
        self.decoder
            .cost(&self.physics, &self.goal, now, list, limit)
    }

    /// Puts the jobs of a lane's list in another order, or gives them other genes. The list must have
    /// the same jobs.
    pub fn arrange(&mut self, lane: usize, list: Vec<PlanEntry<P::Job>>) {
        debug_assert_eq!(list.len(), self.lanes[lane].list.len());
        self.lanes[lane].list = list;
        self.lanes[lane].cost = None;
        self.touch(lane);
    }

    /// How many moments have been simulated so far.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.decoder.steps
    }

    /// The random draws of this planner.
    pub fn draws(&mut self) -> &mut Draws {
        &mut self.draws
    }

    /// How many jobs are in lists.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether no job waits in any lane.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a lane in this state.
    pub fn add_lane(&mut self, state: P::State) {
        self.lanes.push(PlannerLane {
            state,
            running: Vec::new(),
            list: Vec::new(),
            fixed: 0,
            cost: None,
            is_changed: false,
        });
    }

    /// Removes all lanes, and returns the jobs of their lists, lane by lane.
    pub fn clear(&mut self) -> Vec<PlanEntry<P::Job>> {
        self.jobs.clear();
        self.places.clear();
        self.changed.clear();
        let lanes = self.lanes.drain(..);
        lanes.flat_map(|lane| lane.list).collect()
    }

    /// What runs on a lane has changed, or time has gone on: its state, and the weights of the jobs
    /// that run there, by ticket.
    pub fn set(&mut self, lane: usize, state: P::State, running: &[f64]) {
        let own = &mut self.lanes[lane];
        own.state = state;
        own.running.clear();
        own.running.extend_from_slice(running);
        own.cost = None;
    }

    /// Notes that a lane may start other jobs.
    pub fn touch(&mut self, lane: usize) {
        if !self.lanes[lane].is_changed {
            self.lanes[lane].is_changed = true;
            self.changed.push(lane);
        }
    }

    /// The lanes that may start other jobs than when this was last asked, ascending.
    pub fn take_changed(&mut self) -> Vec<usize> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        for &lane in &changed {
            self.lanes[lane].is_changed = false;
        }
        changed
    }

    /// The state of a lane.
    pub fn state(&self, lane: usize) -> &P::State {
        &self.lanes[lane].state
    }

    /// The list of a lane.
    pub fn list(&self, lane: usize) -> &[PlanEntry<P::Job>] {
        &self.lanes[lane].list
    }

    /// The lane in whose list a job is.
    pub fn lane_of(&self, job: JobId) -> Option<usize> {
        self.places.get(&job).map(|&(lane, _)| lane)
    }

    /// Weighs the waiting jobs of a lane anew.
    pub fn weigh(&mut self, lane: usize, weight: impl Fn(&PlanEntry<P::Job>) -> f64) {
        let lane = &mut self.lanes[lane];
        for entry in &mut lane.list {
            let weight = weight(entry);
            if weight != entry.weight {
                entry.weight = weight;
                lane.cost = None;
            }
        }
    }

    /// Gives the waiting jobs of a lane other genes, where `gene` says so.
    pub fn regenes(&mut self, lane: usize, gene: impl Fn(&P, &P::State, &PlanEntry<P::Job>) -> u8) {
        let lane = &mut self.lanes[lane];
        for entry in &mut lane.list {
            let gene = gene(&self.physics, &lane.state, entry);
            if gene != entry.gene {
                entry.gene = gene;
                lane.cost = None;
            }
        }
    }

    /// What a lane costs, as it stands.
    fn cost(&mut self, lane: usize) -> f64 {
        if let Some(cost) = self.lanes[lane].cost {
            return cost;
        }
        let cost = self.decode(lane, f64::INFINITY).unwrap_or(f64::INFINITY);
        self.lanes[lane].cost = Some(cost);
        cost
    }

    /// What a lane costs.
    #[cfg(any(test, feature = "testing"))]
    pub fn total(&mut self, lane: usize) -> f64 {
        self.cost(lane)
    }

    fn decode(&mut self, lane: usize, limit: f64) -> Option<f64> {
        let own = &self.lanes[lane];
        let now = (&own.state, own.running.as_slice());
        self.decoder
            .cost(&self.physics, &self.goal, now, &own.list, limit)
    }

    /// What a lane's list does now.
    pub fn at_once(&mut self, lane: usize) -> AtOnce {
        let own = &self.lanes[lane];
        let now = (&own.state, own.running.len());
        self.decoder.at_once(&self.physics, now, &own.list)
    }

    /// When the jobs of a lane's list are expected to start and to end.
    pub fn expected(&self, lane: usize) -> Vec<Option<ExpectedRun>> {
        let own = &self.lanes[lane];
        let now = (&own.state, own.running.as_slice());
        Decoder::default().expected(&self.physics, &self.goal, now, &own.list)
    }

    /// Removes a job from its list.
    pub fn remove(&mut self, job: JobId) -> Option<PlanEntry<P::Job>> {
        let (lane, at) = self.places.remove(&job)?;
        self.jobs.swap_remove(at);
        // The last job has taken the place of the one that was removed.
        if let Some(moved) = self.jobs.get(at)
            && let Some(place) = self.places.get_mut(moved)
        {
            place.1 = at;
        }
        let own = &mut self.lanes[lane];
        own.cost = None;
        let place = own.list.iter().position(|entry| entry.id == job)?;
        let entry = own.list.remove(place);
        own.fixed -= usize::from(place < own.fixed);
        self.touch(lane);
        Some(entry)
    }

    /// Puts a job into the list of a lane, at the place or at the end.
    pub fn put(&mut self, lane: usize, place: usize, entry: PlanEntry<P::Job>) {
        self.places.insert(entry.id, (lane, self.jobs.len()));
        self.jobs.push(entry.id);
        let own = &mut self.lanes[lane];
        own.cost = None;
        own.list.insert(place.min(own.list.len()), entry);
        self.touch(lane);
    }

    /// Puts a job behind those of its list that stay at the front, and lets it stay there, too, with
    /// this gene.
    pub fn fix(&mut self, job: JobId, gene: u8) {
        let Some((lane, place)) = self.find(job) else {
            return;
        };
        let own = &mut self.lanes[lane];
        if place < own.fixed {
            return;
        }
        let entry = own.list.remove(place);
        own.list.insert(own.fixed, PlanEntry { gene, ..entry });
        own.fixed += 1;
        own.cost = None;
        self.touch(lane);
    }

    /// Whether a job stays at the front of its list.
    pub fn is_fixed(&self, job: JobId) -> bool {
        self.find(job)
            .is_some_and(|(lane, place)| place < self.lanes[lane].fixed)
    }

    /// How many jobs at the front of a lane's list stay there.
    pub fn fixed(&self, lane: usize) -> usize {
        self.lanes[lane].fixed
    }

    /// Puts a job where it adds the least cost, of these lanes, at most `places` places in each list,
    /// and the genes that `genes` gives for a list of a length. Of equal ones the first is taken.
    /// Returns whether there was a lane.
    pub fn insert(
        &mut self,
        entry: PlanEntry<P::Job>,
        lanes: &[usize],
        places: usize,
        genes: impl Fn(&P, &P::Job, usize) -> Vec<u8>,
    ) -> bool {
        let mut best: Option<(f64, InsertPosition)> = None;
        for &lane in lanes {
            let before = self.cost(lane);
            let len = self.lanes[lane].list.len();
            let fixed = self.lanes[lane].fixed;
            let genes = genes(&self.physics, &entry.job, len);
            for place in spread(len - fixed, places).map(|place| fixed + place) {
                self.lanes[lane].list.insert(place, entry.clone());
                for &gene in &genes {
                    self.lanes[lane].list[place].gene = gene;
                    // A seat that costs more than the best one so far is given up in the middle of
                    // its simulation.
                    let limit = best.map_or(f64::INFINITY, |(least, _)| before + least);
                    let added = self.decode(lane, limit).map(|cost| cost - before);
                    let is_less = |least: f64| added.is_some_and(|added| added < least);
                    if best.is_none_or(|(least, _)| is_less(least)) {
                        // A lane on which a job never starts costs infinity before and after, which
                        // adds NaN. Such a seat is the last choice, but better than none.
                        let added = added.filter(|added| !added.is_nan());
                        let seat = InsertPosition { lane, place, gene };
                        best = Some((added.unwrap_or(f64::INFINITY), seat));
                    }
                }
                self.lanes[lane].list.remove(place);
            }
        }
        let Some((_, InsertPosition { lane, place, gene })) = best else {
            return false;
        };
        self.put(lane, place, PlanEntry { gene, ..entry });
        true
    }

    /// Tries random moves of waiting jobs: to another lane (`lane` draws one), within a list, a swap
    /// of two jobs, or another gene (`gene` draws one, and is told the present one). A move is kept unless the lanes that it
    /// touches cost more.
    pub fn search(
        &mut self,
        (moves, kinds): (usize, &Moves),
        mut prepare: impl FnMut(&mut Self, usize),
        lane: impl Fn(&mut Draws, &P::Job) -> usize,
        gene: impl Fn(&mut Draws, &P::Job, u8) -> u8,
    ) {
        for _ in 0..moves {
            if self.jobs.is_empty() {
                return;
            }
            let odds = [kinds.lane, kinds.place, kinds.swap, kinds.gene].map(usize::from);
            // The number that was drawn is counted down by the odds until it falls into a kind.
            let mut drawn = self.draws.below(odds.iter().sum());
            let kind = odds.iter().position(|&odd| match drawn.checked_sub(odd) {
                Some(rest) => {
                    drawn = rest;
                    false
                }
                None => true,
            });
            let id = self.jobs[self.draws.below(self.jobs.len())];
            let Some((from, place)) = self.find_movable(id) else {
                continue;
            };
            prepare(self, from);
            match kind {
                Some(0) => {
                    let to = lane(&mut self.draws, &self.lanes[from].list[place].job);
                    prepare(self, to);
                    let job = &self.lanes[from].list[place].job;
                    if self.physics.holds(&self.lanes[to].state, job) {
                        self.shift((from, place), to, (kinds, &gene));
                    }
                }
                Some(1) => self.shift((from, place), from, (kinds, &gene)),
                Some(2) => {
                    let other = self.jobs[self.draws.below(self.jobs.len())];
                    if let Some((to, there)) = self.find_movable(other).filter(|_| other != id) {
                        prepare(self, to);
                        if self.can_swap((from, place), (to, there)) {
                            self.swap((from, place), (to, there));
                        }
                    }
                }
                _ => {
                    let entry = &self.lanes[from].list[place];
                    let drawn = gene(&mut self.draws, &entry.job, entry.gene);
                    self.regene((from, place), drawn);
                }
            }
        }
    }

    fn find(&self, id: JobId) -> Option<(usize, usize)> {
        let &(lane, _) = self.places.get(&id)?;
        let mut list = self.lanes[lane].list.iter();
        Some((lane, list.position(|entry| entry.id == id)?))
    }

    /// Where a job is that does not stay at the front.
    fn find_movable(&self, id: JobId) -> Option<(usize, usize)> {
        self.find(id)
            .filter(|&(lane, place)| place >= self.lanes[lane].fixed)
    }

    /// Moves a job to a random place of a list, to the first with odds of one third.
    fn shift(
        &mut self,
        (from, place): (usize, usize),
        to: usize,
        (kinds, gene): (&Moves, &impl Fn(&mut Draws, &P::Job, u8) -> u8),
    ) {
        let before = self.cost(from) + if to == from { 0.0 } else { self.cost(to) };
        let mut entry = self.lanes[from].list.remove(place);
        let old = entry.gene;
        let (len, first) = (self.lanes[to].list.len(), self.lanes[to].fixed);
        let there = if self.draws.one_in(3) {
            first
        } else if let Some(near) = kinds.near.filter(|_| from == to && self.draws.one_in(2)) {
            let low = place.saturating_sub(near).max(first);
            low + self.draws.below((place + near).min(len) + 1 - low)
        } else {
            first + self.draws.below(len + 1 - first)
        };
        if kinds.regenes && self.draws.one_in(3) {
            entry.gene = gene(&mut self.draws, &entry.job, old);
        }
        let id = entry.id;
        self.lanes[to].list.insert(there, entry);
        if !self.keep(from, to, before) {
            // The move has made things worse. `keep` has left the costs of both lanes as they were.
            let mut entry = self.lanes[to].list.remove(there);
            entry.gene = old;
            self.lanes[from].list.insert(place, entry);
        } else if let Some(pair) = self.places.get_mut(&id) {
            pair.0 = to;
        }
    }

    /// Whether each of two lanes holds the job of the other.
    fn can_swap(&self, (a, at): (usize, usize), (b, there): (usize, usize)) -> bool {
        let (first, second) = (&self.lanes[a], &self.lanes[b]);
        let holds = |state, entry: &PlanEntry<P::Job>| self.physics.holds(state, &entry.job);
        a == b || holds(&first.state, &second.list[there]) && holds(&second.state, &first.list[at])
    }

    /// Lets two jobs change their places. Each keeps its gene.
    fn swap(&mut self, (a, at): (usize, usize), (b, there): (usize, usize)) {
        let before = self.cost(a) + if a == b { 0.0 } else { self.cost(b) };
        self.exchange((a, at), (b, there));
        if !self.keep(a, b, before) {
            self.exchange((a, at), (b, there));
            return;
        }
        for (lane, place) in [(a, at), (b, there)] {
            let id = self.lanes[lane].list[place].id;
            if let Some(pair) = self.places.get_mut(&id) {
                pair.0 = lane;
            }
        }
    }

    fn exchange(&mut self, (a, at): (usize, usize), (b, there): (usize, usize)) {
        if a == b {
            self.lanes[a].list.swap(at, there);
            return;
        }
        let (low, high) = self.lanes.split_at_mut(a.max(b));
        let (first, second) = (&mut low[a.min(b)].list, &mut high[0].list);
        let (in_first, in_second) = if a < b { (at, there) } else { (there, at) };
        std::mem::swap(&mut first[in_first], &mut second[in_second]);
    }

    /// Gives a job another gene.
    fn regene(&mut self, (lane, place): (usize, usize), gene: u8) {
        let old = std::mem::replace(&mut self.lanes[lane].list[place].gene, gene);
        if old == gene {
            return;
        }
        self.lanes[lane].list[place].gene = old;
        // The cost with the old gene is mostly known. With the new gene in place, the lane would be
        // simulated once more for it.
        let before = self.cost(lane);
        self.lanes[lane].list[place].gene = gene;
        if !self.keep(lane, lane, before) {
            self.lanes[lane].list[place].gene = old;
        }
    }

    /// Whether two changed lanes cost no more than before. Then their new costs are noted; their old
    /// ones still hold otherwise.
    fn keep(&mut self, a: usize, b: usize, before: f64) -> bool {
        let Some(first) = self.decode(a, before) else {
            return false;
        };
        let second = if a == b {
            None
        } else {
            // Only the sum must not grow. The second lane may cost what the first one has left of
            // it.
            match self.decode(b, before - first) {
                Some(second) => Some(second),
                None => return false,
            }
        };
        self.lanes[a].cost = Some(first);
        self.touch(a);
        if let Some(second) = second {
            self.lanes[b].cost = Some(second);
            self.touch(b);
        }
        true
    }
}

/// At most `most` places of a list to insert at, spread evenly; the first and the last are among
/// them.
fn spread(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = (len + 1).min(most.max(2));
    (0..count).map(move |at| {
        // An empty list has one place, and no distance to divide by.
        if count <= 1 {
            0
        } else {
            (at * len + (count - 1) / 2) / (count - 1)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn places_to_insert_at_are_distinct_ascending_and_hold_both_ends() {
        for len in 0..200 {
            for most in [2, 3, 12, 50] {
                let all: Vec<usize> = spread(len, most).collect();
                assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{len} {most}");
                assert_eq!((all[0], all[all.len() - 1]), (0, len));
                assert_eq!(all.len(), (len + 1).min(most));
            }
        }
    }
}
