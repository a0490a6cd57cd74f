//! What a task does, site by site.

use crate::flow::Site;
use std::collections::{BTreeMap, BTreeSet};

/// Most allocations that one task may have.
pub const MAX_SLOTS: usize = 128;

/// What an instruction does to the task's memory or to the device's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Memory of this slot is allocated, if the call succeeds.
    Allocate(usize),
    /// Memory of one of these slots is freed. With more than one it is not known which.
    Free(Vec<usize>),
    /// All memory of the process is freed.
    FreeAll,
    /// Work is queued that goes on after the call: on this stream.
    Queue(usize),
    /// The call returns after the work queued on this stream; on every stream if none is named.
    Wait(Option<usize>),
}

/// A task: its operations and their effects.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// Every operation.
    pub sites: BTreeSet<Site>,
    /// What they do, in order.
    pub effects: BTreeMap<Site, Vec<Effect>>,
    /// Edges that are taken only if the allocation of a slot has failed.
    pub failed: BTreeMap<(usize, usize), Vec<usize>>,
}

impl Task {
    /// Adds an operation.
    pub fn add(&mut self, site: Site, effects: impl IntoIterator<Item = Effect>) {
        self.sites.insert(site);
        self.effects.entry(site).or_default().extend(effects);
    }

    /// Takes over everything of `other`. Slots and streams keep their numbers, so the two must not
    /// use one number for two things.
    pub fn join(&mut self, other: Task) {
        self.sites.extend(other.sites);
        for (site, effects) in other.effects {
            let mine = self.effects.entry(site).or_default();
            for effect in effects {
                if !mine.contains(&effect) {
                    mine.push(effect);
                }
            }
        }
        for (edge, slots) in other.failed {
            self.failed.entry(edge).or_default().extend(slots);
        }
    }

    /// Blocks with an operation.
    #[must_use]
    pub fn blocks(&self) -> BTreeSet<usize> {
        self.sites.iter().map(|s| s.block).collect()
    }
}
