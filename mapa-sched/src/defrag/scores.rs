//! Scores of sets of devices for patterns.

use std::cell::RefCell;
use std::collections::HashMap;

use mapa_core::{
    Allocator, Candidate, DeviceId, DeviceSet, HardwareGraph, Lease, Objective, Pattern, Placement,
    Policy, Request, Rules, criteria::max,
};

use super::plan::Target;

/// A set of devices of one machine: bit i stands for device i.
pub(super) type DeviceMask = u64;

pub(super) fn mask(set: &DeviceSet) -> DeviceMask {
    set.word(0)
}

pub(super) fn set(mask: DeviceMask) -> DeviceSet {
    (0..u64::BITS)
        .filter(|bit| mask >> bit & 1 == 1)
        .map(DeviceId)
        .collect()
}

pub(super) struct MachineScores<'a> {
    machines: &'a [Allocator],
    objective: &'a Objective<'a>,
    best: Rules<'a>,
    /// Known scores by the fingerprint of the machine's graph, the pattern and the devices. Equal
    /// machines share their scores.
    known: RefCell<HashMap<(u64, usize, DeviceMask), Option<f64>>>,
    patterns: RefCell<Vec<Pattern>>,
}

impl<'a> MachineScores<'a> {
    pub(super) fn new(objective: &'a Objective<'a>, machines: &'a [Allocator]) -> Self {
        let best = Rules::new("the best rank order").prefer(max(objective.clone()));
        Self {
            machines,
            objective,
            best,
            known: RefCell::default(),
            patterns: RefCell::default(),
        }
    }

    fn graph(&self, machine: usize) -> &'a HardwareGraph {
        self.machines[machine].graph()
    }

    fn on_free(&self, machine: usize, pattern: &Pattern, free: &DeviceSet) -> Option<Target> {
        let graph = self.graph(machine);
        let decision = self
            .best
            .decide(&Request::new(pattern.clone()), &graph.with_free(free))
            .ok()?;
        Some(Target {
            machine: self.machines[machine].id(),
            placement: decision.placement().clone(),
            score: decision.best().score(self.objective.name())?,
        })
    }

    /// The best placement of a pattern on the free whole devices, or on those of the idle machine.
    pub(super) fn best_on(&self, machine: usize, pattern: &Pattern, idle: bool) -> Option<Target> {
        let wholes = self.graph(machine).wholes();
        let free = if idle {
            wholes
        } else {
            &wholes & self.machines[machine].view().free()
        };
        self.on_free(machine, pattern, &free)
    }

    /// The best placement of a pattern on some of these devices.
    pub(super) fn best_of(
        &self,
        machine: usize,
        pattern: usize,
        free: DeviceMask,
    ) -> Option<Target> {
        self.on_free(machine, &self.patterns.borrow()[pattern], &set(free))
    }

    /// The score of a pattern that uses all of these devices; `None` if the pattern does not fit on
    /// them.
    pub(super) fn of(&self, machine: usize, pattern: usize, devices: DeviceMask) -> Option<f64> {
        let key = (self.graph(machine).fingerprint(), pattern, devices);
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let score = self
            .best_of(machine, pattern, devices)
            .map(|target| target.score);
        self.known.borrow_mut().insert(key, score);
        score
    }

    /// The number of a pattern. Equal patterns have one number, and so share their scores.
    pub(super) fn pattern(&self, pattern: &Pattern) -> usize {
        let mut patterns = self.patterns.borrow_mut();
        patterns
            .iter()
            .position(|known| known == pattern)
            .unwrap_or_else(|| {
                patterns.push(pattern.clone());
                patterns.len() - 1
            })
    }

    /// The present placement of a job, with its score.
    pub(super) fn of_lease(&self, machine: usize, lease: &Lease) -> Target {
        let (allocator, placement) = (&self.machines[machine], lease.placement.clone());
        let candidate = Candidate {
            view: allocator.view(),
            pattern: &lease.pattern,
            placement: &placement,
        };
        let score = self.objective.score(&candidate);
        Target {
            machine: allocator.id(),
            placement,
            score,
        }
    }

    pub(super) fn placement(
        &self,
        machine: usize,
        pattern: usize,
        devices: DeviceMask,
    ) -> Option<Placement> {
        Some(self.best_of(machine, pattern, devices)?.placement)
    }
}
