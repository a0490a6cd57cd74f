//! What a policy says of one request in every state.

use std::sync::Arc;

use mapa_core::{Allocator, Decision, MachineId, Policy, Refusal, Request};

use super::states::States;
use super::tournament::Tournament;

/// The states in the order in which a policy prefers them for a request: decisions by [`Decision::order`], then refusals by
/// their hope, and of equals the one with the lowest machine.
///
/// Decisions that are equal by that order are of one tier, refusals of equal hope too, and tiers have labels that rise with it. The
/// number of a state in the tournament is its label and its lowest machine. Each state is asked of once.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) request: Request,
    /// When it was last asked.
    pub(super) asked: u64,
    /// By state, its tier; none before it is known.
    tier_of: Vec<Option<u32>>,
    /// By state, what was said, where it was asked for.
    said: Vec<Option<Arc<Said>>>,
    /// By tier, its label: the first four are those of refusals, by hope.
    labels: Vec<u32>,
    /// By tier but for those, one of its decisions.
    tiers: Vec<Decision>,
    /// The tiers of decisions, best first.
    ranks: Vec<u32>,
    tournament: Tournament,
    /// How far it has read the log of states.
    read: u64,
}

type Said = Result<Decision, Refusal>;

/// Labels of decisions are below, those of refusals are this one and the next three.
const REFUSED: u32 = u32::MAX - 8;

/// How many tiers are of refusals.
const HOPES: usize = 4;

/// Bytes of a decision, about.
const DECISION: usize = size_of::<Decision>() + 128;

impl Question {
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

    /// The answer of the best machine that is in a state and not among `taken`; none if there is no such machine. O(log states)
    /// for each change since it was last asked, and a decision for each state that is new; O(states) if that is long ago.
    pub(super) fn best(
        &mut self,
        states: &States,
        machines: &[Allocator],
        policy: &impl Policy,
        taken: &[MachineId],
    ) -> Option<(MachineId, Result<Decision, Refusal>)> {
        let made = self.catch_up(states, machines, policy);
        let not_whole = || taken.iter().filter_map(|machine| states.state_of(machine.0));
        for state in not_whole() {
            let first = states.machines(state).iter().find(|&&machine| !taken.contains(&MachineId(machine)));
            self.enter(state, first.copied());
        }
        let best = self.tournament.least().map(|number| number as u32);
        for state in not_whole() {
            self.enter(state, states.machines(state).first().copied());
        }
        let machine = best?;
        let view = machines.get(machine as usize)?.view();
        let said = self.said.get_mut(states.state_of(machine)?)?;
        let answer = match said.as_deref() {
            Some(Ok(known)) => Ok(known.restated(&view)?),
            Some(Err(refusal)) => Err(refusal.clone()),
            None => {
                let made = made.into_iter().find(|made| made.stamp().machine.0 == machine);
                let made = made.map_or_else(|| policy.decide(&self.request, &view), Ok);
                // One whose search was cut short is made anew each time, for whoever counts these.
                let is_complete = made.as_ref().is_ok_and(|made| made.search().complete());
                *said = is_complete.then(|| Arc::new(made.clone()));
                made
            }
        };
        Some((MachineId(machine), answer))
    }

    /// Takes note of what has changed; the decisions that were made for that.
    fn catch_up(&mut self, states: &States, machines: &[Allocator], policy: &impl Policy) -> Vec<Decision> {
        let mut made = Vec::new();
        self.tier_of.resize(states.len(), None);
        self.said.resize(states.len(), None);
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
            if let (None, Some(machine)) = (self.tier_of[state], first.and_then(|first| machines.get(first as usize))) {
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

    /// Enters a state with its first machine into the tournament.
    fn enter(&mut self, state: usize, first: Option<u32>) {
        let label = self.tier_of[state].map(|tier| self.labels[tier as usize]);
        let number = label.zip(first).map(|(label, first)| u64::from(label) << 32 | u64::from(first));
        self.tournament.set(state, number);
    }

    /// The tier of a decision, a new one if it is equal to none. O(log tiers); a new one costs O(tiers), and O(states) where no
    /// label is left between its neighbours.
    fn tier_of(&mut self, decision: &Decision) -> u32 {
        let found = self.ranks.binary_search_by(|&tier| self.tiers[tier as usize - HOPES].order(decision));
        let at = match found {
            Ok(at) => return self.ranks[at],
            Err(at) => at,
        };
        let label = |rank: usize| self.labels[self.ranks[rank] as usize];
        let above = at.checked_sub(1).map_or(0, |rank| label(rank) + 1);
        let below = if at < self.ranks.len() { label(at) } else { REFUSED };
        let tier = self.labels.len() as u32;
        self.labels.push(above + (below - above) / 2);
        self.tiers.push(decision.clone());
        self.ranks.insert(at, tier);
        if above == below {
            self.label_anew();
        }
        tier
    }

    /// Labels at equal distances.
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

    /// Bytes that it takes, about: without what decisions hold elsewhere.
    pub(super) fn bytes(&self) -> usize {
        let decisions = self.tiers.len() + self.said.iter().flatten().count();
        let states = self.tier_of.len() * (size_of::<Option<u32>>() + size_of::<Option<Arc<Said>>>());
        size_of::<Self>() + states + decisions * DECISION + self.tournament.bytes()
    }
}
