//! The best machine for a request, without a visit to every machine.
//!
//! Servers of one kind with the same free devices are in one state. A policy that
//! [promises](Policy::of_free_set) to see nothing else has the same answer for all of them. So the
//! policy decides once for each state. For each request the index keeps the states in the policy's
//! order. 1,250 servers of eight devices are in at most 256 states, usually in a tenth of that. The
//! index keeps only the order: the decision itself is made anew on the best machine.
//!
//! Machines with partitioned or shared devices are visited one by one, as their free set does not
//! describe them fully.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use mapa_core::{Allocator, MachineId, Policy, PolicyId, Request};

use super::answer::{MachineAnswer, better};
use super::hash::hash_of;
use super::ranked_states::RankedStates;
use super::states::States;

/// The largest number of answers that are kept. The requests unused for longest are dropped first.
const MOST_ANSWERS: usize = 1 << 20;

/// The largest number of questions that are kept. A question is a policy and a request. The limit
/// is needed because a policy that is made anew for each decision has new questions each time.
const MOST_QUESTIONS: usize = 1 << 10;

/// The index of a fleet, as the [module](self) describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// None before the first question.
    states: Option<States>,
    /// By policy and a hash of the request. Of two requests with the same hash, the later one is
    /// kept.
    questions: HashMap<(PolicyId, u64), RankedStates, BuildHasherDefault<DefaultHasher>>,
    /// How many times a best machine was looked up: the clock for dropping old questions.
    asked: u64,
}

impl Index {
    /// Notes that a machine has changed.
    ///
    /// # Complexity
    /// O(log m) for m machines; O(1) before the first question.
    pub(super) fn put(&mut self, machine: &Allocator) {
        self.states
            .iter_mut()
            .for_each(|states| states.put(machine));
    }

    /// The best answer over the machines that are not `taken`, as
    /// [`best_of`](super::answer::best_of). The policy must keep the promise of
    /// [`Policy::of_free_set`]. `None` if there is no such machine.
    pub(super) fn best(
        &mut self,
        machines: &[Allocator],
        (id, policy): (PolicyId, &impl Policy),
        request: &Request,
        taken: &[MachineId],
    ) -> Option<MachineAnswer> {
        // States that no machine is in any more pile up. Once they are most, all is forgotten and
        // learnt again, which is simpler than to take single states out of every question.
        if self
            .states
            .as_ref()
            .is_some_and(|states| states.len() > 2 * machines.len() + 1024)
        {
            (self.states, self.questions) = Default::default();
        }
        let states = self.states.get_or_insert_with(|| States::of(machines));
        self.asked += 1;
        let key = (id, hash_of(request));
        // The hash is not trusted: two requests may share it.
        let known = self
            .questions
            .get(&key)
            .is_some_and(|known| known.request == *request);
        if !known {
            if self.questions.len() >= MOST_QUESTIONS
                || self.questions.len() * states.len() > MOST_ANSWERS
            {
                // Room is made for many questions at once: the older half goes.
                let mut asked: Vec<u64> = self
                    .questions
                    .values()
                    .map(|question| question.asked)
                    .collect();
                asked.sort_unstable();
                let median = asked[asked.len() / 2];
                self.questions.retain(|_, question| question.asked > median);
            }
            self.questions.insert(key, RankedStates::new(request));
        }
        let question = self.questions.get_mut(&key)?;
        question.asked = self.asked;
        let best = question.best(states, machines, policy, taken);
        let others = states
            .others()
            .iter()
            .map(|&machine| MachineId(machine))
            .filter(|machine| !taken.contains(machine));
        let others = others.filter_map(|id| {
            Some((
                id,
                policy.decide(request, &machines.get(id.0 as usize)?.view()),
            ))
        });
        others.chain(best).min_by(better)
    }

    /// About how many bytes this takes.
    pub(super) fn bytes(&self) -> usize {
        let states = self.states.as_ref().map_or(0, States::bytes);
        states
            + self
                .questions
                .values()
                .map(RankedStates::bytes)
                .sum::<usize>()
    }
}
