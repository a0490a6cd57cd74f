//! The walk for the two conditions that depend on more than pairs of ranks. First, ranks that share
//! a device must fit on it together. Second, of *twins* (devices that differ only in their ids) a
//! rank takes the lowest that is still free. Both depend on all ranks placed before, so candidates
//! are computed again at each step.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::bits::{Bits, and, and_not, bits, has, only, or, pop_lowest};
use super::engine::{Alone, Ground, LeafWalk, RelationTables};
use super::meter::Meter;
use super::plan::{MatchStep, Matcher};
use super::search::{Search, ShareTest};
use crate::pattern::Demand;
use crate::topology::DeviceId;

/// The state of one such search.
pub(super) struct Careful<'a, const W: usize> {
    steps: Cow<'a, [MatchStep]>,
    tables: RelationTables<W>,
    /// A frame for each step.
    frames: Vec<CarefulFrame<W>>,
    /// For each vertex of the machine: the vertex itself, and all vertices that cannot exist beside
    /// it.
    excluded: Vec<Bits<W>>,
    /// By rank, whether it may share a device; empty if none may.
    shares: Vec<bool>,
    together: Option<ShareTest<'a>>,
    /// By device, the next lower twin; none if the device has none, or if the search has no twins.
    twin_below: Vec<Option<u32>>,
    has_twin_below: Bits<W>,
    /// The device of each rank.
    placement: Vec<DeviceId>,
    depth: usize,
    /// Whether the walk has just advanced to `depth`, so that its candidates must be computed.
    entered: bool,
    done: bool,
}

/// The choices of a step.
struct CarefulFrame<const W: usize> {
    domain: Bits<W>,
    /// The candidates not tried yet.
    open: Bits<W>,
    taken: TakenDevices<W>,
}

/// The devices that earlier ranks make unavailable to later ones.
#[derive(Clone, Copy)]
struct TakenDevices<const W: usize> {
    /// Unavailable to a rank that needs a device of its own.
    alone: Bits<W>,
    /// Unavailable to every rank, even to one that shares.
    shared: Bits<W>,
}

impl<'a, const W: usize> Careful<'a, W> {
    pub(super) fn new(search: &Search<'a>) -> Self
    where
        Search<'a>: Ground<W>,
    {
        let matcher: &'a Matcher = search.matcher;
        let domains = search.domains();
        let live = domains.iter().fold([0; W], |all, domain| or(&all, domain));
        let (steps, tables) =
            RelationTables::new(&matcher.program, search, &live, Alone::SomeShare);
        let frames = (steps.iter())
            .map(|step| CarefulFrame {
                domain: domains[step.vertex],
                open: [0; W],
                taken: TakenDevices {
                    alone: [0; W],
                    shared: [0; W],
                },
            })
            .collect();
        let ids = || 0..search.len() as u32;
        let twin_below = ids()
            .map(|id| Some(search.twins?.get(&DeviceId(id))?.0))
            .collect();
        let shares = search
            .sharing
            .map(|_| matcher.demands.iter().map(Demand::is_shared).collect());
        Self {
            frames,
            placement: vec![DeviceId(0); steps.len()],
            done: steps.is_empty(),
            steps,
            tables,
            excluded: ids().map(|id| search.excluded(id)).collect(),
            shares: shares.unwrap_or_default(),
            together: search.sharing,
            has_twin_below: search
                .twins
                .map_or([0; W], |twins| bits(&twins.keys().copied().collect())),
            twin_below,
            depth: 0,
            entered: true,
        }
    }

    /// Places the present step on a device and goes on to the next step.
    fn advance(&mut self, device: u32) {
        let rank = self.steps[self.depth].vertex;
        self.placement[rank] = DeviceId(device);
        let mut taken = self.frames[self.depth].taken;
        let excluded = &self.excluded[device as usize];
        // A rank that shares leaves its own device to others that share.
        taken.alone = or(&taken.alone, excluded);
        taken.shared = or(
            &taken.shared,
            &if self.shares(rank) {
                and_not(excluded, &only(device))
            } else {
                *excluded
            },
        );
        self.depth += 1;
        self.frames[self.depth].taken = taken;
        self.entered = true;
    }

    /// Goes back to the previous step. At the first step, ends the walk.
    fn retreat(&mut self) {
        self.entered = false;
        if self.depth == 0 {
            self.done = true;
            return;
        }
        self.depth -= 1;
    }

    /// Whether a rank may share a device.
    fn shares(&self, rank: usize) -> bool {
        self.shares.get(rank).copied().unwrap_or(false)
    }

    /// The candidates of a step: the devices of its domain that are not taken and that the tables
    /// of earlier ranks allow.
    fn candidates(&self, depth: usize) -> Bits<W> {
        let step = &self.steps[depth];
        let CarefulFrame { domain, taken, .. } = &self.frames[depth];
        let mut set = and_not(
            domain,
            if self.shares(step.vertex) {
                &taken.shared
            } else {
                &taken.alone
            },
        );
        if let Some(before) = depth.checked_sub(1) {
            let before = self.placement[self.steps[before].vertex];
            set = and(&set, self.tables.row(step.previous, before.0));
        }
        for test in &step.tests {
            set = and(
                &set,
                self.tables.row(test.table, self.placement[test.vertex].0),
            );
        }
        if self.shares(step.vertex) {
            self.with_others(depth, set)
        } else {
            self.lowest_of_twins(depth, set)
        }
    }

    /// The set without the devices for which a lower twin is still free.
    fn lowest_of_twins(&self, depth: usize, mut set: Bits<W>) -> Bits<W> {
        let CarefulFrame { domain, taken, .. } = &self.frames[depth];
        // Swapping two free twins changes nothing but ids, so the lower one represents both.
        let mut twins = and(&set, &self.has_twin_below);
        while let Some(device) = pop_lowest(&mut twins) {
            let below = self.twin_below[device as usize];
            if below.is_some_and(|below| has(domain, below) && !has(&taken.alone, below)) {
                set = and_not(&set, &only(device));
            }
        }
        set
    }

    /// The set without the devices on which the step's rank does not fit together with the ranks
    /// placed there.
    fn with_others(&self, depth: usize, mut set: Bits<W>) -> Bits<W> {
        let CarefulFrame { taken, .. } = &self.frames[depth];
        // Only devices that already have a sharing rank need the test. They are unavailable to
        // ranks that need a device of their own, but not to ranks that share.
        let mut together = and(&set, &and_not(&taken.alone, &taken.shared));
        while let Some(device) = pop_lowest(&mut together) {
            let device = DeviceId(device);
            let placed = self.steps[..depth].iter().map(|step| step.vertex);
            let here = placed
                .filter(|&rank| self.placement[rank] == device)
                .chain([self.steps[depth].vertex]);
            let here: SmallVec<[usize; 8]> = here.collect();
            if !self
                .together
                .is_some_and(|together| together(device, &here))
            {
                set = and_not(&set, &only(device.0));
            }
        }
        set
    }
}

impl<const W: usize> LeafWalk<W> for Careful<'_, W> {
    fn next_leaf(&mut self, meter: &mut Meter<'_>) -> Option<Bits<W>> {
        let last = self.steps.len().saturating_sub(1);
        while !self.done {
            if self.depth == last {
                let leaf = self.candidates(last);
                self.retreat();
                if leaf != [0; W] {
                    return Some(leaf);
                }
            } else {
                if self.entered {
                    self.frames[self.depth].open = self.candidates(self.depth);
                    self.entered = false;
                }
                match pop_lowest(&mut self.frames[self.depth].open) {
                    Some(device) if meter.node() => self.advance(device),
                    Some(_) => self.done = true,
                    None => self.retreat(),
                }
            }
        }
        None
    }

    fn leaf_rank(&self) -> usize {
        self.steps.last().map_or(0, |step| step.vertex)
    }

    fn placement(&mut self) -> &mut [DeviceId] {
        &mut self.placement
    }
}
