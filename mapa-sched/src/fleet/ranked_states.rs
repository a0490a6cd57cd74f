//! The answers of a policy to one request, in every state.

use std::collections::BTreeSet;
use std::sync::Arc;

use mapa_core::{Allocator, Decision, MachineId, Policy, Refusal, Request};

use super::states::States;
use super::tournament::Tournament;

/// The states in the order in which a policy prefers them for a request: first decisions by
/// [`Decision::order`], then refusals by how soon the request may fit (their *hope*). Of equal
/// states, the one with the lowest machine is first.
///
/// Decisions that are equal by that order form a tier, and so do refusals of equal hope. Each tier
/// has a label, and labels rise from the best tier to the worst. The number of a state in the
/// tournament is the label of its tier, then its lowest machine. So the least number names the best
/// machine. A new tier takes a label between those of its neighbours, so the numbers of other
/// states stay as they are. The policy decides once for each state.
#[derive(Clone, Debug)]
pub(super) struct RankedStates {
    pub(super) request: Request,
    /// When the question was last used, by the index's count of look-ups.
    pub(super) asked: u64,
    /// The tier of each state; none before it is known.
    tier_of: Vec<Option<u32>>,
    /// The answer for each state, where it was needed.
    said: Vec<Option<Arc<PolicyAnswer>>>,
    /// The label of each tier. The first four tiers are those of refusals, by hope.
    labels: Vec<u32>,
    /// One decision of each tier after those four.
    tiers: Vec<Decision>,
    /// The tiers of decisions, best first.
    ranks: Vec<u32>,
    tournament: Tournament,
    /// The position up to which the log of states was read.
    read: u64,
}

type PolicyAnswer = Result<Decision, Refusal>;

/// The first label of refusals, which use four. Labels of decisions are below.
const REFUSED: u32 = u32::MAX - 8;

/// The number of tiers of refusals.
const HOPES: usize = 4;

/// About how many bytes a decision takes.
const DECISION: usize = size_of::<Decision>() + 128;

impl RankedStates {
    /// A question without any answers yet.
    pub(super) fn new(request: &Request) -> Self {
        Self {
            request: request.clone(),
            asked: 0,
            tier_of: Vec::new(),
            said: Vec::new(),
            labels: (REFUSED..REFUSED + HOPES as u32).rev().collect(),
            tiers: Vec::new(),
            ranks: Vec::new(),
            tournament: Tournament::new(),
            read: 0,
        }
    }

    /// The answer on the best machine that has a state and is not among `taken`. None if there is
    /// no such machine.
    ///
    /// # Complexity
    /// For s states: O(log s) for each change since the question was last asked, and a decision for
    /// each new state. O(s log s) if the log no longer reaches back that far.
    pub(super) fn best(
        &mut self,
        states: &States,
        machines: &[Allocator],
        policy: &impl Policy,
        taken: &[MachineId],
    ) -> Option<(MachineId, Result<Decision, Refusal>)> {
        let made = self.catch_up(states, machines, policy);
        // In the states of taken machines another machine may be the lowest for this once: it takes
        // the place of the taken one in the tournament, and is put back after the tournament was
        // read.
        // Each state once: thousands of taken machines may be in one.
        let taken: BTreeSet<u32> = taken.iter().map(|machine| machine.0).collect();
        let not_whole = taken.iter().filter_map(|&machine| states.state_of(machine));
        let not_whole: BTreeSet<usize> = not_whole.collect();
        for &state in &not_whole {
            let first = states
                .machines(state)
                .iter()
                .find(|machine| !taken.contains(machine));
            self.enter(state, first.copied());
        }
        // The lower half of a number is the machine.
        let best = self.tournament.least().map(|number| number as u32);
        for &state in &not_whole {
            self.enter(state, states.machines(state).first().copied());
        }
        let machine = best?;
        let view = machines.get(machine as usize)?.view();
        let said = self.said.get_mut(states.state_of(machine)?)?;
        let answer = match said.as_deref() {
            Some(Ok(known)) => Ok(known.restated(&view)?),
            Some(Err(refusal)) => Err(refusal.clone()),
            None => {
                // `catch_up` may have made this very decision, which need not be made again.
                let made = made
                    .into_iter()
                    .find(|made| made.stamp().machine.0 == machine);
                let made = made.map_or_else(|| policy.decide(&self.request, &view), Ok);
                // A decision whose search was cut short is not kept: it is made anew each time, so
                // that statistics count every such search.
                let is_complete = made.as_ref().is_ok_and(|made| made.search().complete());
                *said = is_complete.then(|| Arc::new(made.clone()));
                made
            }
        };
        Some((MachineId(machine), answer))
    }

    /// Reads the log of states. Returns the decisions that were made for new states.
    fn catch_up(
        &mut self,
        states: &States,
        machines: &[Allocator],
        policy: &impl Policy,
    ) -> Vec<Decision> {
        let mut made = Vec::new();
        self.tier_of.resize(states.len(), None);
        self.said.resize(states.len(), None);
        // After a long time the log does not reach back far enough: then every state may have
        // changed.
        let all: Vec<usize>;
        let changed = match states.since(self.read) {
            Some(changed) => changed,
            None => {
                all = (0..states.len()).collect();
                &all
            }
        };
        for &state in changed {
            let first = states.machines(state).first().copied();
            if let (None, Some(machine)) = (
                self.tier_of[state],
                first.and_then(|first| machines.get(first as usize)),
            ) {
                self.tier_of[state] = Some(match policy.decide(&self.request, &machine.view()) {
                    Ok(decision) => {
                        let tier = self.tier_of(&decision);
                        made.push(decision);
                        tier
                    }
                    Err(refusal) => {
                        let tier = refusal.hope().min(HOPES as u8 - 1);
                        self.said[state] = Some(Arc::new(Err(refusal)));
                        tier.into()
                    }
                });
            }
            self.enter(state, first);
        }
        self.read = states.now();
        made
    }

    /// Enters a state with its lowest machine into the tournament.
    fn enter(&mut self, state: usize, first: Option<u32>) {
        let label = self.tier_of[state].map(|tier| self.labels[tier as usize]);
        let number = label
            .zip(first)
            .map(|(label, first)| u64::from(label) << 32 | u64::from(first));
        self.tournament.set(state, number);
    }

    /// The tier of a decision: a new one if no tier equals it.
    ///
    /// # Complexity
    /// O(log t) for t tiers. A new tier costs O(t), and O(s log s) for s states if no label is left
    /// between its neighbours.
    fn tier_of(&mut self, decision: &Decision) -> u32 {
        let found = self
            .ranks
            .binary_search_by(|&tier| self.tiers[tier as usize - HOPES].order(decision));
        let at = match found {
            Ok(at) => return self.ranks[at],
            Err(at) => at,
        };
        let label = |rank: usize| self.labels[self.ranks[rank] as usize];
        let above = at.checked_sub(1).map_or(0, |rank| label(rank) + 1);
        let below = if at < self.ranks.len() {
            label(at)
        } else {
            REFUSED
        };
        let tier = self.labels.len() as u32;
        self.labels.push(above + (below - above) / 2);
        self.tiers.push(decision.clone());
        self.ranks.insert(at, tier);
        // No label was left between the neighbours. The new tier is in `ranks` by now, so it gets
        // its label with the others.
        if above == below {
            self.label_anew();
        }
        tier
    }

    /// Gives all tiers of decisions new labels, at equal distances, and enters every state again.
    fn label_anew(&mut self) {
        let distance = REFUSED / (self.ranks.len() as u32 + 1);
        for (label, &tier) in (1..).map(|rank| rank * distance).zip(&self.ranks) {
            self.labels[tier as usize] = label;
        }
        for state in 0..self.tier_of.len() {
            if let Some(number) = self.tournament.get(state) {
                self.enter(state, Some(number as u32));
            }
        }
    }

    /// About how many bytes this takes, without what decisions hold elsewhere.
    pub(super) fn bytes(&self) -> usize {
        let decisions = self.tiers.len() + self.said.iter().flatten().count();
        let states = self.tier_of.len()
            * (size_of::<Option<u32>>() + size_of::<Option<Arc<PolicyAnswer>>>());
        size_of::<Self>() + states + decisions * DECISION + self.tournament.bytes()
    }
}
