//! The walk for what does not go by pairs of ranks: whether ranks can be on one device together, and twins, of which a
//! rank takes the lower one as long as nobody has it. Both depend on all ranks placed before.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::bits::{Bits, and, and_not, bits, has, only, or, pop_lowest};
use super::engine::{Alone, Ground, Tables, Walk};
use super::meter::Meter;
use super::plan::{Matcher, Step};
use super::search::{Search, ShareTest};
use crate::pattern::Demand;
use crate::topology::DeviceId;

pub(super) struct Careful<'a, const W: usize> {
    steps: Cow<'a, [Step]>,
    tables: Tables<W>,
    /// By step.
    frames: Vec<Frame<W>>,
    /// By vertex of the machine, itself and what cannot exist beside it.
    excluded: Vec<Bits<W>>,
    /// By rank, whether it may be where others are; empty if none may.
    shares: Vec<bool>,
    together: Option<ShareTest<'a>>,
    /// By device, the next lower one that only its id tells apart from it; empty if that is all the same.
    twin_below: Vec<Option<u32>>,
    has_twin_below: Bits<W>,
    /// By rank.
    placement: Vec<DeviceId>,
    depth: usize,
    /// Whether `depth` was just entered from above.
    entered: bool,
    done: bool,
}

/// What a step has to choose from.
struct Frame<const W: usize> {
    domain: Bits<W>,
    /// Candidates not tried yet.
    open: Bits<W>,
    taken: Taken<W>,
}

/// What ranks placed before leave to others.
#[derive(Clone, Copy)]
struct Taken<const W: usize> {
    /// Not for a rank that wants its device alone.
    alone: Bits<W>,
    /// Not for a rank that shares either.
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
        let (steps, tables) = Tables::new(&matcher.program, search, &live, Alone::SomeShare);
        let frame = |step: &Step| {
            let taken = Taken { alone: [0; W], shared: [0; W] };
            Frame { domain: domains[step.vertex], open: [0; W], taken }
        };
        let ids = || 0..search.len() as u32;
        let below = |id: u32| search.twins.and_then(|twins| twins.get(&DeviceId(id))).map(|twin| twin.0);
        let shares = search.sharing.map(|_| matcher.demands.iter().map(Demand::is_shared).collect());
        Self {
            frames: steps.iter().map(frame).collect(),
            placement: vec![DeviceId(0); steps.len()],
            done: steps.is_empty(),
            steps,
            tables,
            excluded: ids().map(|id| search.excluded(id)).collect(),
            shares: shares.unwrap_or_default(),
            together: search.sharing,
            has_twin_below: search.twins.map_or([0; W], |twins| {
                let set = twins.keys().copied().collect::<crate::DeviceSet>();
                bits(set.words())
            }),
            twin_below: ids().map(below).collect(),
            depth: 0,
            entered: true,
        }
    }

    fn advance(&mut self, device: u32) {
        let rank = self.steps[self.depth].vertex;
        self.placement[rank] = DeviceId(device);
        let mut taken = self.frames[self.depth].taken;
        let excluded = &self.excluded[device as usize];
        taken.alone = or(&taken.alone, excluded);
        taken.shared = or(&taken.shared, &if self.shares(rank) { and_not(excluded, &only(device)) } else { *excluded });
        self.depth += 1;
        self.frames[self.depth].taken = taken;
        self.entered = true;
    }

    fn retreat(&mut self) {
        self.entered = false;
        if self.depth == 0 {
            self.done = true;
            return;
        }
        self.depth -= 1;
    }

    fn shares(&self, rank: usize) -> bool {
        self.shares.get(rank).copied().unwrap_or(false)
    }

    fn candidates(&self, depth: usize) -> Bits<W> {
        let step = &self.steps[depth];
        let Frame { domain, taken, .. } = &self.frames[depth];
        let mut set = and_not(domain, if self.shares(step.vertex) { &taken.shared } else { &taken.alone });
        if let Some(before) = depth.checked_sub(1) {
            let before = self.placement[self.steps[before].vertex];
            set = and(&set, self.tables.row(step.previous, before.0));
        }
        for test in &step.tests {
            set = and(&set, self.tables.row(test.table, self.placement[test.vertex].0));
        }
        if self.shares(step.vertex) { self.with_others(depth, set) } else { self.lowest_of_twins(depth, set) }
    }

    /// Without the devices of which a lower twin is still to be had.
    fn lowest_of_twins(&self, depth: usize, mut set: Bits<W>) -> Bits<W> {
        let Frame { domain, taken, .. } = &self.frames[depth];
        let mut twins = and(&set, &self.has_twin_below);
        while let Some(device) = pop_lowest(&mut twins) {
            let open = |below: u32| has(domain, below) && !has(&taken.alone, below);
            if self.twin_below[device as usize].is_some_and(open) {
                set = and_not(&set, &only(device));
            }
        }
        set
    }

    /// Without the devices on which the step's rank cannot be with those that are there.
    fn with_others(&self, depth: usize, mut set: Bits<W>) -> Bits<W> {
        let Frame { taken, .. } = &self.frames[depth];
        let mut together = and(&set, &and_not(&taken.alone, &taken.shared));
        while let Some(device) = pop_lowest(&mut together) {
            let device = DeviceId(device);
            let placed = self.steps[..depth].iter().map(|step| step.vertex);
            let here = placed.filter(|&rank| self.placement[rank] == device).chain([self.steps[depth].vertex]);
            let here: SmallVec<[usize; 8]> = here.collect();
            if !self.together.is_some_and(|together| together(device, &here)) {
                set = and_not(&set, &only(device.0));
            }
        }
        set
    }
}

impl<const W: usize> Walk<W> for Careful<'_, W> {
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
