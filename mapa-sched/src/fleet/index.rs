//! Where a request is best placed, without a visit to every machine.
//!
//! Servers of one kind with the same devices free are in one state, and a policy that [promises](Policy::of_free_set) to see nothing
//! else says the same of all of them. So it is asked once for each state in which any machine has been, and the states are kept
//! in its order for each request that was asked about. 1,250 servers of eight devices are in at most 256 states, usually in a
//! tenth of that. What is kept are places in that order: the decision itself is made anew on the machine that has come out best.
//!
//! Machines of which more is to be known (devices that are cut up or shared) are visited one by one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use mapa_core::{Allocator, MachineId, Policy, PolicyId, Request};

use super::question::Question;
use super::states::States;
use super::{Answer, better};

/// The most answers that are kept; requests that were not asked about for longest go first.
const MOST_ANSWERS: usize = 1 << 20;

/// The most questions that are kept, few or many answers as they have: a policy that is made anew each time asks new ones.
const MOST_QUESTIONS: usize = 1 << 10;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// None before anything was asked.
    states: Option<States>,
    /// By policy and a hash of the request; of two requests with one hash the later stays.
    questions: HashMap<(PolicyId, u64), Question, BuildHasherDefault<DefaultHasher>>,
    /// How often anything was asked.
    asked: u64,
}

impl Index {
    /// Takes note that a machine has changed. O(log machines); nothing before the first question.
    pub(super) fn put(&mut self, machine: &Allocator) {
        self.states.iter_mut().for_each(|states| states.put(machine));
    }

    /// As [`best_of`](super::best_of) over the machines that are not `taken`, by a policy that keeps the promise; none if there is
    /// none.
    pub(super) fn best(
        &mut self,
        machines: &[Allocator],
        (id, policy): (PolicyId, &impl Policy),
        request: &Request,
        taken: &[MachineId],
    ) -> Option<Answer> {
        // States in which no machine is any more are forgotten now and then, all at once.
        if self.states.as_ref().is_some_and(|states| states.len() > 2 * machines.len() + 1024) {
            (self.states, self.questions) = Default::default();
        }
        let states = self.states.get_or_insert_with(|| States::of(machines));
        self.asked += 1;
        let key = (id, hash(request));
        let known = self.questions.get(&key).is_some_and(|known| known.request == *request);
        if !known {
            if self.questions.len() >= MOST_QUESTIONS || self.questions.len() * states.len() > MOST_ANSWERS {
                let mut asked: Vec<u64> = self.questions.values().map(|question| question.asked).collect();
                asked.sort_unstable();
                let median = asked[asked.len() / 2];
                self.questions.retain(|_, question| question.asked > median);
            }
            self.questions.insert(key, Question::new(request));
        }
        let question = self.questions.get_mut(&key)?;
        question.asked = self.asked;
        let best = question.best(states, machines, policy, taken);
        let others =
            states.others().iter().map(|&machine| MachineId(machine)).filter(|machine| !taken.contains(machine));
        let others = others.filter_map(|id| Some((id, policy.decide(request, &machines.get(id.0 as usize)?.view()))));
        others.chain(best).min_by(better)
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let states = self.states.as_ref().map_or(0, States::bytes);
        states + self.questions.values().map(Question::bytes).sum::<usize>()
    }
}

/// Equal for equal requests, and rarely for others.
fn hash(request: &Request) -> u64 {
    let mut hash = 0u64;
    let mut add = |number: u64| hash = (hash.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let Request { pattern, bandwidth_sensitive, must_include, avoid, only, .. } = request;
    add((pattern.len() as u64) << 1 | u64::from(*bandwidth_sensitive));
    pattern.edges().iter().for_each(|edge| add(edge.traffic.to_bits() ^ u64::from(edge.a) << 16 ^ u64::from(edge.b)));
    for set in [Some(must_include), Some(avoid), only.as_ref()].into_iter().flatten() {
        set.iter().for_each(|device| add(device.0.into()));
    }
    hash
}
