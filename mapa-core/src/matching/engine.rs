//! The backtracking engine, on machine words.
//!
//! A cursor walks the tree of partial placements with an explicit stack and stops at each *leaf level*: all ranks placed
//! but the last, whose devices come as one bit set. A visitor, an iterator and a counter are then thin loops over it.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::plan::{Matcher, Step};
use super::search::{Meter, Search, ShareTest};
use crate::pattern::Demand;
use crate::topology::{DeviceId, LinkClass};

/// A device set of fixed width.
pub(super) type Bits<const W: usize> = [u64; W];

pub(super) struct Cursor<'a, const W: usize> {
    steps: &'a [Step],
    rows: Rows<W>,
    /// By step.
    frames: Vec<Frame<W>>,
    /// By vertex, what cannot exist beside it; empty if everything can.
    overlaps: Vec<Bits<W>>,
    /// By rank, whether it may be where others are; empty if none may.
    shares: Vec<bool>,
    together: Option<ShareTest<'a>>,
    /// By device, the next lower one that only its id tells apart from it; empty if that is all the same.
    twin_below: Vec<Option<u32>>,
    has_twin_below: Bits<W>,
    /// By vertex.
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

impl<'a, const W: usize> Cursor<'a, W> {
    pub(super) fn new(search: &Search<'a>) -> Self {
        let matcher: &'a Matcher = search.matcher;
        let n = matcher.steps.len();
        let all: Bits<W> = bits(search.graph.everything().words());
        let within = search.within.map_or(all, |set| and(&all, &bits(set.words())));
        let only_wholes = search.graph.has_only_wholes();
        let mut known: Option<(Demand, Bits<W>)> = None;
        let mut wanted = |demand: Demand| {
            if only_wholes && demand == Demand::whole() {
                return all;
            }
            let fresh = || (demand, bits(search.graph.candidates(&demand).words()));
            let (_, set) = *known.insert(known.filter(|(other, _)| *other == demand).unwrap_or_else(fresh));
            set
        };
        let mut frame = |step: &Step| {
            let own = search.domains.and_then(|domains| domains.get(step.vertex));
            let own = own.map_or_else(|| wanted(matcher.demands[step.vertex]), |set| bits(set.words()));
            let taken = Taken { alone: [0; W], shared: [0; W] };
            Frame { domain: and(&within, &own), open: [0; W], taken }
        };
        let overlaps = |id: u32| bits(search.graph.overlap(DeviceId(id)).words());
        let ids = if search.graph.can_be_cut() { 0..search.graph.len() as u32 } else { 0..0 };
        let none = BTreeMap::new();
        let twins = search.twins.unwrap_or(&none);
        let ids_of_all = || (0..search.graph.len() as u32).map(DeviceId);
        let below = |id: DeviceId| twins.get(&id).map(|twin| twin.0);
        let shares = search.sharing.map(|_| matcher.demands.iter().map(Demand::is_shared).collect());
        Self {
            steps: &matcher.steps,
            rows: Rows::new(search),
            frames: matcher.steps.iter().map(&mut frame).collect(),
            overlaps: ids.map(overlaps).collect(),
            shares: shares.unwrap_or_default(),
            together: search.sharing,
            has_twin_below: twins.keys().fold([0; W], |mut set, id| {
                put(&mut set, id.0);
                set
            }),
            twin_below: if twins.is_empty() { Vec::new() } else { ids_of_all().map(below).collect() },
            placement: vec![DeviceId(0); n],
            depth: 0,
            entered: true,
            done: n == 0,
        }
    }

    /// The next leaf level with any match, as the bit set of the last rank's devices.
    pub(super) fn next_leaf(&mut self, meter: &mut Meter<'_>) -> Option<Bits<W>> {
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

    /// The rank that a leaf level leaves open.
    pub(super) fn leaf_rank(&self) -> usize {
        self.steps.last().map_or(0, |step| step.vertex)
    }

    /// The placement of the leaf level last returned; the leaf's own entry is the caller's to fill.
    pub(super) fn placement(&mut self) -> &mut [DeviceId] {
        &mut self.placement
    }

    fn advance(&mut self, device: u32) {
        let rank = self.steps[self.depth].vertex;
        self.placement[rank] = DeviceId(device);
        let mut taken = self.frames[self.depth].taken;
        put(&mut taken.alone, device);
        if !self.shares(rank) {
            put(&mut taken.shared, device);
        }
        if let Some(overlap) = self.overlaps.get(device as usize) {
            taken = Taken { alone: or(&taken.alone, overlap), shared: or(&taken.shared, overlap) };
        }
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
        if self.shares(step.vertex) {
            return self.shared_candidates(depth);
        }
        let frame = &self.frames[depth];
        let mut set = and_not(&frame.domain, &frame.taken.alone);
        for &u in &step.near {
            set = and(&set, self.rows.near(u, step.vertex, self.placement[u]));
        }
        for &u in &step.apart {
            set = and_not(&set, self.rows.joined(self.placement[u]));
        }
        for &u in &step.above {
            keep_above(&mut set, self.placement[u].index());
        }
        for &u in &step.below {
            keep_below(&mut set, self.placement[u].index());
        }
        let mut twins = and(&set, &self.has_twin_below);
        while let Some(device) = pop_lowest(&mut twins) {
            let open = |below: u32| has(&frame.domain, below) && !has(&frame.taken.alone, below);
            if self.twin_below[device as usize].is_some_and(open) {
                set = and_not(&set, &only(device));
            }
        }
        set
    }

    /// The same for a rank that may be where others are: a device is neither above nor below itself.
    fn shared_candidates(&self, depth: usize) -> Bits<W> {
        let step = &self.steps[depth];
        let Frame { domain, taken, .. } = &self.frames[depth];
        let occupied = and_not(&taken.alone, &taken.shared);
        let mut set = and_not(domain, &taken.shared);
        for &u in &step.near {
            set = and(&set, self.rows.near(u, step.vertex, self.placement[u]));
        }
        for &u in &step.apart {
            set = and_not(&set, self.rows.joined(self.placement[u]));
        }
        for &u in &step.above {
            let here = and(&set, &only(self.placement[u].0));
            keep_above(&mut set, self.placement[u].index());
            set = or(&set, &here);
        }
        for &u in &step.below {
            let here = and(&set, &only(self.placement[u].0));
            keep_below(&mut set, self.placement[u].index());
            set = or(&set, &here);
        }
        let mut together = and(&set, &occupied);
        while let Some(device) = pop_lowest(&mut together) {
            let device = DeviceId(device);
            let placed = self.steps[..depth].iter().map(|step| step.vertex);
            let here = placed.filter(|&rank| self.placement[rank] == device).chain([step.vertex]);
            let here: SmallVec<[usize; 8]> = here.collect();
            if !self.together.is_some_and(|together| together(device, &here)) {
                set = and_not(&set, &only(device.0));
            }
        }
        set
    }
}

/// Which devices an edge may lead to from each device.
///
/// One table serves all edges unless a link predicate tells edges apart.
struct Rows<const W: usize> {
    n: usize,
    vertices: usize,
    tables: Vec<Vec<Bits<W>>>,
    /// By pair of vertices, which table; empty if there is but one.
    table_of: Vec<u32>,
}

impl<const W: usize> Rows<W> {
    fn new(search: &Search<'_>) -> Self {
        let graph = search.graph;
        let n = graph.len();
        let ids = || (0..n as u32).map(DeviceId);
        // Ranks that neither talk nor must not, ask no row.
        let asks = |step: &Step| !step.near.is_empty() || !step.apart.is_empty();
        let joined: Vec<Bits<W>> = if search.matcher.steps.iter().any(asks) {
            let row = |a: DeviceId| {
                let mut row = bits(graph.neighbours(a).words());
                if search.sharing.is_some() {
                    put(&mut row, a.0);
                }
                row
            };
            ids().map(row).collect()
        } else {
            Vec::new()
        };
        let vertices = search.matcher.steps.len();
        let mut rows = Self { n, vertices, tables: vec![joined], table_of: Vec::new() };
        let Some(ok) = search.links else { return rows };
        rows.table_of = vec![0; vertices * vertices];
        for edge in &search.matcher.pattern_edges {
            let (a, b) = (usize::from(edge.a), usize::from(edge.b));
            let mut table = rows.tables[rows.table_of[a * vertices + b] as usize].clone();
            for from in ids() {
                for to in ids() {
                    let link = graph.link_of_ranks(from, to);
                    if link.class != LinkClass::None && !ok(edge, link) {
                        table[from.index()][to.index() / 64] &= !(1 << (to.index() % 64));
                    }
                }
            }
            let known = rows.tables.iter().position(|known| *known == table).unwrap_or_else(|| {
                rows.tables.push(table);
                rows.tables.len() - 1
            });
            rows.table_of[a * vertices + b] = known as u32;
            rows.table_of[b * vertices + a] = known as u32;
        }
        rows
    }

    fn near(&self, from: usize, to: usize, device: DeviceId) -> &Bits<W> {
        let table = self.table_of.get(from * self.vertices + to).map_or(0, |&i| i as usize);
        &self.tables[table][device.index()]
    }

    fn joined(&self, device: DeviceId) -> &Bits<W> {
        debug_assert!(device.index() < self.n);
        &self.tables[0][device.index()]
    }
}

/// Cuts or fills up with zeros.
pub(super) fn bits<const W: usize>(words: &[u64]) -> Bits<W> {
    std::array::from_fn(|i| words.get(i).copied().unwrap_or(0))
}

fn and<const W: usize>(a: &Bits<W>, b: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|i| a[i] & b[i])
}

fn and_not<const W: usize>(a: &Bits<W>, b: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|i| a[i] & !b[i])
}

fn or<const W: usize>(a: &Bits<W>, b: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|i| a[i] | b[i])
}

fn put<const W: usize>(set: &mut Bits<W>, device: u32) {
    set[device as usize / 64] |= 1 << (device % 64);
}

fn has<const W: usize>(set: &Bits<W>, device: u32) -> bool {
    set[device as usize / 64] >> (device % 64) & 1 == 1
}

fn only<const W: usize>(device: u32) -> Bits<W> {
    let mut set = [0; W];
    put(&mut set, device);
    set
}

fn keep_above<const W: usize>(set: &mut Bits<W>, device: usize) {
    set[..device / 64].fill(0);
    // Two shifts: one by 64 would overflow.
    set[device / 64] &= u64::MAX << (device % 64) << 1;
}

fn keep_below<const W: usize>(set: &mut Bits<W>, device: usize) {
    set[device / 64] &= (1 << (device % 64)) - 1;
    set[device / 64 + 1..].fill(0);
}

pub(super) fn pop_lowest<const W: usize>(set: &mut Bits<W>) -> Option<u32> {
    let (i, word) = set.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
    let bit = word.trailing_zeros();
    *word &= *word - 1;
    Some(i as u32 * 64 + bit)
}
