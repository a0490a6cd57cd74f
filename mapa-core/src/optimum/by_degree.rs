//! Branch and bound over partial sets, where the bandwidth of direct links decides first.
//!
//! No ring leaves a device over more than its direct links inside the set. So a set reaches a bandwidth
//! only if every device of it has enough such links, and if that is more than the host carries, the set is
//! connected by them. The search grows sets along direct links. A device that cannot have enough any more is
//! out; one without which another has too little is in; and so on until nothing changes. On an idle torus
//! that alone proves that no set has more than two rings.

use smallvec::SmallVec;

use super::by_loss::Losses;
use super::criterion::settle;
use crate::score::DegreeBound;

/// Direct links between the devices of a search.
pub(super) struct DirectLinks {
    /// By position, the devices that direct links join it to, and their bandwidth, GB/s.
    near: Vec<Vec<(usize, f64)>>,
}

/// The devices that a search adds, and those that every set has: the latter follow.
pub(super) struct Grown<'s> {
    pub(super) links: &'s DirectLinks,
    pub(super) losses: &'s Losses,
    /// How many of the first devices may be added; the rest are in every set.
    open: usize,
    /// How many devices a set has.
    size: usize,
    state: Vec<Place>,
    trail: Vec<usize>,
    /// The devices that are in, in the order in which they came.
    inside: Vec<usize>,
    /// How many may still be added.
    left: usize,
    /// The loss that each device adds.
    adds: Vec<f64>,
    loss: f64,
    /// `adds` and `loss` as they were before each device came in: subtracting what was added would not always
    /// give the same number again.
    before: Vec<f64>,
    queued: Vec<bool>,
}

/// Where a device is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Open,
    In,
    Out,
}

/// A value that a set must reach, by the bound of a criterion.
#[derive(Clone, Copy)]
pub(super) struct DegreeGoal {
    pub(super) bound: DegreeBound,
    /// The value, GB/s.
    pub(super) value: f64,
    /// Whether it must be exceeded.
    pub(super) more: bool,
}

impl DegreeGoal {
    fn is_met(&self, all: f64, widest: f64) -> bool {
        let most = self.bound.at_most(all, widest);
        // As keys are settled, so is what they are compared with.
        let most = settle(most);
        if self.more {
            most > self.value
        } else {
            most >= self.value
        }
    }
}

/// The user of a growth: it says which sets are of use, and takes them.
pub(super) trait Grower {
    /// The goals that every device of a set must reach now.
    fn goals(&self) -> &[DegreeGoal];

    /// Whether sets that lose at least `loss` are of no use.
    fn cuts(&mut self, losses: &Losses, loss: f64) -> bool;

    /// Takes a set, by the positions of the devices that were added.
    fn take(&mut self, losses: &Losses, chosen: &[usize]);

    /// Counts steps. Returns false to end the search.
    fn goes_on(&mut self, steps: u64) -> bool;
}

impl DirectLinks {
    /// The links between `n` devices. O(n²).
    pub(super) fn new(n: usize, gbps: impl Fn(usize, usize) -> f64) -> Self {
        let near = |a: usize| {
            let all = (0..n).filter(|&b| b != a).map(|b| (b, gbps(a, b)));
            all.filter(|(_, gbps)| *gbps > 0.0).collect()
        };
        Self {
            near: (0..n).map(near).collect(),
        }
    }
}

impl<'s> Grown<'s> {
    /// No device added yet, of `losses.ids`; `must` more follow them in `links`, which every set has.
    pub(super) fn new(
        links: &'s DirectLinks,
        losses: &'s Losses,
        must: usize,
        need: usize,
    ) -> Self {
        let open = losses.ids.len();
        let mut state = vec![Place::Open; open];
        state.resize(open + must, Place::In);
        Self {
            links,
            losses,
            open,
            size: need + must,
            queued: vec![false; state.len()],
            state,
            trail: Vec::new(),
            inside: (open..open + must).collect(),
            left: open,
            adds: losses.alone().to_vec(),
            loss: losses.of_must(),
            before: Vec::new(),
        }
    }

    /// Grows all sets that reach the goals of `grower`. Returns false if it ended the search.
    pub(super) fn grow_all(&mut self, grower: &mut impl Grower) -> bool {
        let must = self.inside.clone();
        if !must.is_empty() {
            let near = self.with_near(&must);
            return !self.settle(near, grower) || self.grow(grower);
        }
        for first in 0..self.open {
            if self.open - first < self.size {
                break;
            }
            if self.state[first] != Place::Open {
                continue;
            }
            let before = self.trail.len();
            self.put(first, Place::In);
            let near = self.with_near(&[first]);
            if self.settle(near, grower) && !self.grow(grower) {
                return false;
            }
            self.undo(before);
            self.put(first, Place::Out);
            let near = self.with_near(&[first]);
            if !self.settle(near, grower) {
                break;
            }
        }
        true
    }

    /// Devices and those near them.
    fn with_near(&self, devices: &[usize]) -> Vec<usize> {
        let near = devices
            .iter()
            .flat_map(|&at| self.links.near[at].iter().map(|(near, _)| *near));
        devices.iter().copied().chain(near).collect()
    }

    fn put(&mut self, at: usize, place: Place) {
        self.state[at] = place;
        self.trail.push(at);
        self.left -= 1;
        if place == Place::In {
            self.inside.push(at);
            self.before.extend_from_slice(&self.adds);
            self.before.push(self.loss);
            self.loss += self.adds[at];
            let row = self.losses.links_of(at);
            self.adds
                .iter_mut()
                .zip(row)
                .for_each(|(adds, link)| *adds -= link);
        }
    }

    fn undo(&mut self, to: usize) {
        while self.trail.len() > to {
            let Some(at) = self.trail.pop() else { break };
            if self.state[at] == Place::In {
                self.inside.pop();
                let start = self.before.len() - self.open - 1;
                self.adds
                    .copy_from_slice(&self.before[start..start + self.open]);
                self.loss = self.before[start + self.open];
                self.before.truncate(start);
            }
            self.state[at] = Place::Open;
            self.left += 1;
        }
    }

    /// The direct links of a device to those that are in, and to the best `more` of those that may come,
    /// without `but`: all, and the widest, GB/s.
    fn around(&self, at: usize, but: Option<usize>, more: usize) -> (f64, f64) {
        let (mut all, mut widest) = (0.0, 0.0f64);
        let mut open: SmallVec<[f64; 16]> = SmallVec::new();
        for &(near, gbps) in &self.links.near[at] {
            match self.state[near] {
                _ if but == Some(near) => {}
                Place::In => {
                    all += gbps;
                    widest = widest.max(gbps);
                }
                Place::Open => open.push(gbps),
                Place::Out => {}
            }
        }
        if open.len() > more {
            open.sort_unstable_by(|a, b| b.total_cmp(a));
            open.truncate(more);
        }
        for gbps in open {
            all += gbps;
            widest = widest.max(gbps);
        }
        (all, widest)
    }

    fn reaches(&self, at: usize, but: Option<usize>, more: usize, grower: &impl Grower) -> bool {
        let (all, widest) = self.around(at, but, more);
        grower.goals().iter().all(|goal| goal.is_met(all, widest))
    }

    /// Puts out the devices that cannot reach a goal, and in those without which another cannot, beginning
    /// with the devices in `queue`. Returns false if no set is left.
    fn settle(&mut self, mut queue: Vec<usize>, grower: &impl Grower) -> bool {
        queue.retain(|&at| !std::mem::replace(&mut self.queued[at], true));
        let mut is_left = true;
        while let Some(at) = queue.pop() {
            self.queued[at] = false;
            if !is_left || self.state[at] == Place::Out {
                continue;
            }
            if self.inside.len() > self.size || self.inside.len() + self.left < self.size {
                is_left = false;
                continue;
            }
            let more = self.size - self.inside.len();
            if self.state[at] == Place::Open {
                if more == 0 || !self.reaches(at, None, more - 1, grower) {
                    self.put(at, Place::Out);
                    self.queue_near(at, &mut queue);
                }
                continue;
            }
            if !self.reaches(at, None, more, grower) {
                is_left = false;
                continue;
            }
            if self.reaches(at, None, 0, grower) {
                continue;
            }
            let links = self.links;
            for &(near, _) in &links.near[at] {
                let more = self.size - self.inside.len();
                if self.state[near] == Place::Open && !self.reaches(at, Some(near), more, grower) {
                    if more == 0 {
                        is_left = false;
                        break;
                    }
                    self.put(near, Place::In);
                    self.queue_near(near, &mut queue);
                    if !std::mem::replace(&mut self.queued[near], true) {
                        queue.push(near);
                    }
                }
            }
        }
        is_left && self.inside.len() <= self.size && self.inside.len() + self.left >= self.size
    }

    fn queue_near(&mut self, at: usize, queue: &mut Vec<usize>) {
        for &(near, _) in &self.links.near[at] {
            if self.state[near] != Place::Out && !std::mem::replace(&mut self.queued[near], true) {
                queue.push(near);
            }
        }
    }

    /// A lower bound on the loss of every set that can still grow.
    fn at_least(&self) -> f64 {
        let open = self.size - self.inside.len();
        let devices = (0..self.open).filter(|&at| self.state[at] == Place::Open);
        self.losses.at_least(devices, &self.adds, open, self.loss)
    }

    /// Grows the sets with those that are in.
    fn grow(&mut self, grower: &mut impl Grower) -> bool {
        if !grower.goes_on(1 + self.open as u64 / 2) {
            return false;
        }
        let more = self.size - self.inside.len();
        if more == 0 {
            let chosen: Vec<usize> = self
                .inside
                .iter()
                .copied()
                .filter(|&at| at < self.open)
                .collect();
            if !grower.cuts(self.losses, self.loss) {
                grower.take(self.losses, &chosen);
            }
            return true;
        }
        let is_lost = self
            .inside
            .iter()
            .any(|&at| !self.reaches(at, None, more, grower));
        if is_lost || grower.cuts(self.losses, self.at_least()) {
            return true;
        }
        let is_open = |at: &usize| self.state[*at] == Place::Open;
        let open_near = |at: usize| {
            self.links.near[at]
                .iter()
                .map(|(near, _)| *near)
                .filter(is_open)
        };
        // The device that needs more and has the fewest to take from; else any that is near.
        let needy = self
            .inside
            .iter()
            .copied()
            .filter(|&at| !self.reaches(at, None, 0, grower));
        let mut next: Vec<usize> = match needy.min_by_key(|&at| open_near(at).count()) {
            Some(needy) => open_near(needy).collect(),
            None => self.inside.iter().flat_map(|&at| open_near(at)).collect(),
        };
        next.sort_unstable();
        next.dedup();
        next.sort_by(|&a, &b| self.adds[a].total_cmp(&self.adds[b]));
        let start = self.trail.len();
        let mut goes_on = true;
        for at in next {
            if self.state[at] != Place::Open {
                continue;
            }
            let before = self.trail.len();
            self.put(at, Place::In);
            let queue = if self.inside.len() == self.size {
                self.inside.clone()
            } else {
                self.with_near(&[at])
            };
            goes_on = !self.settle(queue, grower) || self.grow(grower);
            self.undo(before);
            if !goes_on {
                break;
            }
            self.put(at, Place::Out);
            let inside = self.inside.len();
            let near = self.with_near(&[at]);
            if !self.settle(near, grower) {
                break;
            }
            // All sets that are left have the devices that this put in, so the choice is another.
            if self.inside.len() > inside {
                goes_on = self.grow(grower);
                break;
            }
        }
        self.undo(start);
        goes_on
    }
}
