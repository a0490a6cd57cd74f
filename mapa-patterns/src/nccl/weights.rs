//! From communicators to one weighted pattern.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::Collective;
use super::communicator::{Communicator, NcclJob, Ring, Tree, TreeHalf};
use crate::algorithm::Algorithm;
use crate::application::{Application, Note, Unit};
use crate::error::Error;
use crate::traffic::TrafficMatrix;

impl NcclJob {
    /// One pattern of all communicators over the job's devices: bytes if calls were seen, else channels.
    ///
    /// A channel counts 1 on each hop of its ring and each edge of its tree. Of an all-reduce of S bytes among n ranks each hop of
    /// the rings carries 2(n-1)/n S, of an all-gather or reduce-scatter (n-1)/n S, of a broadcast or reduce S but for the hop that ends
    /// or begins at the root; each edge of the trees carries an all-reduce once up and once down. Rings share this evenly. Rings and trees
    /// that are told in part are not used; what has no others is all-to-all. Takes time linear in hops times kinds of calls,
    /// plus the square of the devices.
    ///
    /// # Errors
    /// More devices than [`MAX_DEVICES`](mapa_core::MAX_DEVICES).
    pub fn application(&self, algorithm: Algorithm) -> Result<Application, Error> {
        let mut traffic = TrafficMatrix::new(self.devices.len())?;
        let mut notes = self.notes.clone();
        let has_calls = self.communicators.iter().any(|own| !own.calls.is_empty());
        for own in self.communicators.iter().filter(|own| own.ranks > 1) {
            let mut laid = Laid::new(own, algorithm);
            match (has_calls, own.calls.is_empty()) {
                (true, true) => laid.notes.push(Note::left_out(format!("communicator {}: no call was seen", own.name))),
                (true, false) => laid.calls(),
                (false, _) => laid.channels(),
            }
            let mut missing = 0_usize;
            for ((from, to), amount) in laid.hops {
                let device = |rank: u32| own.devices.get(rank as usize).copied().flatten();
                match (device(from), device(to)) {
                    (Some(from), Some(to)) => traffic.add(from, to, amount),
                    _ => missing += 1,
                }
            }
            notes.append(&mut laid.notes);
            if missing > 0 {
                let what = format!("communicator {}: hops of ranks whose logs are missing", own.name);
                notes.push(Note::left_out(what));
            }
        }
        let pattern = traffic.pattern()?;
        let unit = if has_calls { Unit::Bytes } else { Unit::Channels };
        let labels = self.devices.iter().map(|device| device.label.clone()).collect();
        let source = format!("NCCL, {} over {}", plural(self.communicators.len(), "communicator"), paths(algorithm));
        Ok(Application { unit, labels, notes, ..Application::new("nccl", source, pattern) })
    }
}

/// Bytes of all calls of a kind with a root, or from a rank, but for all-reduces: what is laid is linear in them.
fn totals(own: &Communicator) -> BTreeMap<(u32, Collective, u32), f64> {
    let mut totals = BTreeMap::new();
    for (from, call, times) in own.calls.iter().filter(|(_, call, _)| call.collective != Collective::AllReduce) {
        *totals.entry((*from, call.collective, call.root)).or_default() += call.bytes as f64 * *times as f64;
    }
    totals
}

/// Whether a ring is known so far that it can be used: all its hops, or all but the one into other hosts, and no rank without.
fn is_usable(ring: &Ring, ranks: usize) -> bool {
    let named: BTreeSet<u32> = ring.hops.iter().flat_map(|&(from, to)| [from, to]).collect();
    ring.is_whole || ring.hops.len() + 1 == ranks && named.len() == ranks
}

fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn paths(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Ring => "rings",
        Algorithm::Tree => "trees",
        Algorithm::Both => "rings and trees",
    }
}

/// What is laid on the ranks of one communicator: sender, receiver, and how much.
struct Laid<'a> {
    own: &'a Communicator,
    algorithm: Algorithm,
    /// The rings that can be used.
    rings: Vec<&'a Ring>,
    /// The trees that can be used: those in which every rank but the root has a parent.
    trees: Vec<&'a Tree>,
    hops: BTreeMap<(u32, u32), f64>,
    notes: Vec<Note>,
}

impl<'a> Laid<'a> {
    fn new(own: &'a Communicator, algorithm: Algorithm) -> Self {
        let rings: Vec<&Ring> = own.rings.iter().filter(|ring| is_usable(ring, own.ranks)).collect();
        let mut trees: Vec<&Tree> = own.trees.iter().filter(|tree| tree.edges.len() + 1 == own.ranks).collect();
        let has = |half| trees.iter().any(|tree| tree.half == TreeHalf::Both || tree.half == half);
        if !has(TreeHalf::Reduce) || !has(TreeHalf::Broadcast) {
            trees.clear();
        }
        let notes = Vec::new();
        Self { own, algorithm, rings, trees, hops: BTreeMap::new(), notes }
    }

    fn assumed(&mut self, what: &str) {
        let note = Note::assumed(format!("communicator {}: {what}", self.own.name));
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn lay(&mut self, hops: impl IntoIterator<Item = (u32, u32, f64)>) {
        for (from, to, amount) in hops {
            *self.hops.entry((from, to)).or_default() += amount;
        }
    }

    /// Whether rings and trees are used: as asked for, else those that are known.
    fn uses(&self) -> (bool, bool) {
        let (rings, trees) = (!self.rings.is_empty(), !self.trees.is_empty());
        match self.algorithm {
            Algorithm::Ring => (rings, trees && !rings),
            Algorithm::Tree => (rings && !trees, trees),
            Algorithm::Both => (rings, trees),
        }
    }

    fn channels(&mut self) {
        let (rings, trees) = self.uses();
        self.tell(rings, trees);
        if rings {
            let hops: Vec<_> = self.rings.iter().flat_map(|ring| &ring.hops).map(|&(a, b)| (a, b, 1.0)).collect();
            self.lay(hops);
        }
        if trees {
            self.over_trees(1.0, false);
        }
        if !rings && !trees {
            self.all_to_all(1.0);
        }
    }

    /// Says what stands in for what.
    fn tell(&mut self, rings: bool, trees: bool) {
        let (some_rings, some_trees) = (!self.own.rings.is_empty(), !self.own.trees.is_empty());
        let what = match (rings, trees, self.algorithm) {
            (false, false, _) if some_rings || some_trees => {
                "its rings and trees are told in part, or not at all: all-to-all in their place"
            }
            (false, false, _) => "neither rings nor trees are told: all-to-all",
            (false, true, Algorithm::Ring) => "no rings are told: trees in their place",
            (false, true, _) if some_rings => "its rings are told in part: trees in their place",
            (true, false, Algorithm::Tree) if !some_trees => "no trees are told: rings in their place",
            (true, false, Algorithm::Tree | Algorithm::Both) if some_trees => {
                "its trees are told in part: rings in their place"
            }
            _ => return,
        };
        self.assumed(what);
    }

    /// So much on each tree, or shared by all of one half, up to the root and down again.
    fn over_trees(&mut self, amount: f64, is_shared: bool) {
        for (half, is_up) in [(TreeHalf::Reduce, true), (TreeHalf::Broadcast, false)] {
            let of_half: Vec<&Tree> =
                self.trees.iter().copied().filter(|tree| tree.half == TreeHalf::Both || tree.half == half).collect();
            let share = if is_shared { amount / of_half.len().max(1) as f64 } else { amount };
            let edges = of_half.into_iter().flat_map(|tree| &tree.edges);
            let hops =
                edges.map(|&(parent, child)| if is_up { (child, parent, share) } else { (parent, child, share) });
            self.lay(hops);
        }
    }

    fn all_to_all(&mut self, amount: f64) {
        let ranks = self.own.ranks as u32;
        for a in 0..ranks {
            self.lay((0..ranks).filter(|b| *b != a).map(|b| (a, b, amount)));
        }
    }

    fn calls(&mut self) {
        let all_reduces: Vec<(u64, f64)> = self
            .own
            .calls
            .iter()
            .filter_map(|(_, call, times)| {
                (call.collective == Collective::AllReduce).then_some((call.bytes, call.bytes as f64 * *times as f64))
            })
            .collect();
        if !all_reduces.is_empty() {
            self.all_reduces(&all_reduces);
        }
        for ((from, kind, root), bytes) in totals(self.own) {
            self.call(from, kind, root, bytes);
        }
    }

    /// All-reduces of so many bytes each, and together: over what NCCL chose for their size where it told, else half over each.
    fn all_reduces(&mut self, calls: &[(u64, f64)]) {
        let (rings, trees) = self.uses();
        self.tell(rings, trees);
        let (mut over_rings, mut over_trees) = (0.0, 0.0);
        for &(size, bytes) in calls {
            let of_trees = match (rings, trees) {
                (true, true) => self.of_trees(size),
                (_, trees) => f64::from(u8::from(trees)),
            };
            over_trees += of_trees * bytes;
            over_rings += (1.0 - of_trees) * bytes;
        }
        if over_trees > 0.0 {
            self.over_trees(over_trees, true);
        }
        if over_rings > 0.0 {
            self.over_rings(Collective::AllReduce, 0, over_rings);
        }
    }

    /// Which share of the all-reduces of this size goes over trees.
    fn of_trees(&mut self, size: u64) -> f64 {
        let told = self.own.choices.iter().find(|(bytes, ..)| *bytes == size);
        if let Some((rings, trees)) = told.map(|&(_, rings, trees)| (rings as f64, trees as f64)) {
            return trees / (rings + trees);
        }
        // Two ranks' rings and trees carry alike.
        if self.own.ranks > 2 {
            self.assumed("whether all-reduces went over rings or trees is not told (subsystem TUNING): half of the bytes over each");
        }
        0.5
    }

    fn call(&mut self, from: u32, kind: Collective, root: u32, bytes: f64) {
        let ranks = self.own.ranks as u32;
        let others = || (0..ranks).filter(|&rank| rank != root);
        match kind {
            Collective::Send | Collective::Recv => self.lay([(from, root, bytes)]),
            Collective::AllToAll => self.all_to_all(bytes),
            Collective::Gather => self.lay(others().map(|rank| (rank, root, bytes))),
            Collective::Scatter => self.lay(others().map(|rank| (root, rank, bytes))),
            // Only all-reduces go over trees.
            _ => self.over_rings(kind, root, bytes),
        }
    }

    fn over_rings(&mut self, kind: Collective, root: u32, bytes: f64) {
        let ranks = self.own.ranks as f64;
        let Some(each) = kind.over_rings(bytes, ranks) else { return };
        if self.rings.is_empty() {
            if kind != Collective::AllReduce {
                let is_part = !self.own.rings.is_empty();
                self.assumed(if is_part {
                    "its rings are told in part: all-to-all"
                } else {
                    "no rings are told: all-to-all"
                });
            }
            return self.all_to_all(each / (ranks - 1.0));
        }
        let share = each / self.rings.len() as f64;
        let is_spared = |from: u32, to: u32| match kind {
            Collective::Broadcast => to == root,
            Collective::Reduce => from == root,
            _ => false,
        };
        let hops = self.rings.iter().flat_map(|ring| &ring.hops).filter(|(from, to)| !is_spared(*from, *to));
        let hops: Vec<_> = hops.map(|&(from, to)| (from, to, share)).collect();
        self.lay(hops);
    }
}
