//! From communicators to one weighted pattern: hops of rings and edges of trees with their bytes.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::Collective;
use super::communicator::{Communicator, NcclJob, Ring, Tree, TreeHalf};
use crate::algorithm::Algorithm;
use crate::application::{Application, Note};
use crate::error::Error;
use crate::traffic::TrafficMatrix;
use crate::unit::Unit;
use crate::verdict::Verdict;

impl NcclJob {
    /// One pattern of all communicators over the job's devices: bytes if the logs have calls, else
    /// channels.
    ///
    /// A channel counts 1 on each hop of its ring and each edge of its tree. For S bytes among n
    /// ranks, each hop of the rings carries 2(n-1)/n S of an all-reduce, and (n-1)/n S of an
    /// all-gather or reduce-scatter. A broadcast or reduce puts S on each hop except the one that
    /// ends or begins at the root. Each edge of the trees carries an all-reduce once up and once
    /// down. All rings share the bytes evenly. Incomplete rings and trees are not used;
    /// calls for which no complete ring or tree is left are all-to-all.
    ///
    /// # Complexity
    /// O(h k + d^2) for h hops, k kinds of calls and d devices.
    ///
    /// # Errors
    /// More devices than [`MAX_DEVICES`](mapa_core::MAX_DEVICES).
    pub fn application(&self, algorithm: Algorithm) -> Result<Application, Error> {
        let mut traffic = TrafficMatrix::new(self.devices.len())?;
        let mut notes = self.notes.clone();
        let has_calls = self
            .communicators
            .iter()
            .any(|communicator| !communicator.calls.is_empty());
        for communicator in self
            .communicators
            .iter()
            .filter(|communicator| communicator.ranks > 1)
        {
            let mut laid = Laid::new(communicator, algorithm);
            match (has_calls, communicator.calls.is_empty()) {
                (true, true) => laid.notes.push(Note::left_out(format!(
                    "communicator {}: no call was seen",
                    communicator.name
                ))),
                (true, false) => laid.calls(),
                (false, _) => laid.channels(),
            }
            let mut missing = 0_usize;
            for ((from, to), amount) in laid.hops {
                match [from, to]
                    .map(|rank| communicator.devices.get(rank as usize).copied().flatten())
                {
                    [Some(from), Some(to)] => traffic.add(from, to, amount),
                    _ => missing += 1,
                }
            }
            notes.append(&mut laid.notes);
            if missing > 0 {
                let what = format!(
                    "communicator {}: hops of ranks whose logs are missing",
                    communicator.name
                );
                notes.push(Note::left_out(what));
            }
        }
        let pattern = traffic.pattern()?;
        let unit = if has_calls {
            Unit::Bytes
        } else {
            Unit::Channels
        };
        let labels = self
            .devices
            .iter()
            .map(|device| device.label.clone())
            .collect();
        let source = format!(
            "NCCL, {} over {}",
            plural(self.communicators.len(), "communicator"),
            paths(algorithm)
        );
        let mut verdict = Verdict::default();
        if !has_calls && !pattern.edges().is_empty() {
            let needed = "expected NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL, by which they are logged";
            verdict.why = format!("the log has no calls: {needed}");
        }
        Ok(Application {
            unit,
            labels,
            notes,
            verdict,
            ..Application::new("nccl", source, pattern)
        })
    }
}

/// The bytes of all calls except all-reduces, by sender, operation and root. Their traffic is
/// linear in the bytes, so sums suffice.
fn totals(communicator: &Communicator) -> BTreeMap<(u32, Collective, u32), f64> {
    let mut totals = BTreeMap::new();
    for (from, call, times) in communicator
        .calls
        .iter()
        .filter(|(_, call, _)| call.collective != Collective::AllReduce)
    {
        *totals
            .entry((*from, call.collective, call.root))
            .or_default() += call.bytes as f64 * *times as f64;
    }
    totals
}

/// Whether a ring is complete enough to be used: it has all hops, or all but the one to other
/// hosts, and every rank.
fn is_usable(ring: &Ring, ranks: usize) -> bool {
    let named: BTreeSet<u32> = ring
        .hops
        .iter()
        .flat_map(|&(from, to)| [from, to])
        .collect();
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

/// The traffic of one communicator: sender, receiver, and amount.
struct Laid<'a> {
    own: &'a Communicator,
    algorithm: Algorithm,
    /// The rings that are complete enough to be used.
    rings: Vec<&'a Ring>,
    /// The complete trees: every rank but the root has a parent.
    trees: Vec<&'a Tree>,
    hops: BTreeMap<(u32, u32), f64>,
    notes: Vec<Note>,
}

impl<'a> Laid<'a> {
    fn new(communicator: &'a Communicator, algorithm: Algorithm) -> Self {
        let rings: Vec<&Ring> = communicator
            .rings
            .iter()
            .filter(|ring| is_usable(ring, communicator.ranks))
            .collect();
        let mut trees: Vec<&Tree> = communicator
            .trees
            .iter()
            .filter(|tree| tree.edges.len() + 1 == communicator.ranks)
            .collect();
        // Without trees for one half, an all-reduce cannot go over trees at all.
        let (mut reduce, mut broadcast) = (false, false);
        for tree in &trees {
            reduce |= tree.half != TreeHalf::Broadcast;
            broadcast |= tree.half != TreeHalf::Reduce;
        }
        if !reduce || !broadcast {
            trees.clear();
        }
        Self {
            own: communicator,
            algorithm,
            rings,
            trees,
            hops: BTreeMap::new(),
            notes: Vec::new(),
        }
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

    /// Whether rings and trees are used: those of the requested algorithm, else those that are
    /// known.
    fn uses(&self) -> (bool, bool) {
        let (rings, trees) = (!self.rings.is_empty(), !self.trees.is_empty());
        match self.algorithm {
            Algorithm::Ring => (rings, trees && !rings),
            Algorithm::Tree => (rings && !trees, trees),
            Algorithm::Both => (rings, trees),
        }
    }

    /// Counts channels, for logs without calls.
    fn channels(&mut self) {
        let (rings, trees) = self.uses();
        self.note_substitute(rings, trees);
        if rings {
            let hops: Vec<_> = self
                .rings
                .iter()
                .flat_map(|ring| &ring.hops)
                .map(|&(a, b)| (a, b, 1.0))
                .collect();
            self.lay(hops);
        }
        if trees {
            self.over_trees(1.0, false);
        }
        if !rings && !trees {
            self.all_to_all(1.0);
        }
    }

    /// Notes what replaces rings or trees that are incomplete or missing.
    fn note_substitute(&mut self, rings: bool, trees: bool) {
        let (some_rings, some_trees) = (!self.own.rings.is_empty(), !self.own.trees.is_empty());
        let what = match (rings, trees, self.algorithm) {
            (false, false, _) if some_rings || some_trees => {
                "its rings and trees are incomplete or missing: all-to-all instead"
            }
            (false, false, _) => "no rings or trees in the logs: all-to-all",
            (false, true, Algorithm::Ring) => "no rings in the logs: trees instead",
            (false, true, _) if some_rings => "its rings are incomplete: trees instead",
            (true, false, Algorithm::Tree) if !some_trees => "no trees in the logs: rings instead",
            (true, false, Algorithm::Tree | Algorithm::Both) if some_trees => {
                "its trees are incomplete: rings instead"
            }
            _ => return,
        };
        self.assumed(what);
    }

    /// Adds an amount to the edges of the trees, up to the root and down again: to each tree, or
    /// shared by all trees of a half.
    fn over_trees(&mut self, amount: f64, is_shared: bool) {
        for (half, is_up) in [(TreeHalf::Reduce, true), (TreeHalf::Broadcast, false)] {
            let of_half: Vec<&Tree> = self
                .trees
                .iter()
                .copied()
                .filter(|tree| tree.half == TreeHalf::Both || tree.half == half)
                .collect();
            let share = if is_shared {
                amount / of_half.len().max(1) as f64
            } else {
                amount
            };
            let edges = of_half.into_iter().flat_map(|tree| &tree.edges);
            let hops = edges.map(|&(parent, child)| {
                if is_up {
                    (child, parent, share)
                } else {
                    (parent, child, share)
                }
            });
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
                (call.collective == Collective::AllReduce)
                    .then_some((call.bytes, call.bytes as f64 * *times as f64))
            })
            .collect();
        if !all_reduces.is_empty() {
            self.all_reduces(&all_reduces);
        }
        for ((from, kind, root), bytes) in totals(self.own) {
            self.call(from, kind, root, bytes);
        }
    }

    /// Adds all-reduces, each with its size and total bytes: over the algorithm that NCCL chose for
    /// their size if the log has it, else half over each.
    fn all_reduces(&mut self, calls: &[(u64, f64)]) {
        let (rings, trees) = self.uses();
        self.note_substitute(rings, trees);
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

    /// The share of the all-reduces of this size that goes over trees.
    fn of_trees(&mut self, size: u64) -> f64 {
        let chosen = self.own.choices.iter().find(|(bytes, ..)| *bytes == size);
        if let Some(&(_, rings, trees)) = chosen {
            return trees as f64 / (rings as f64 + trees as f64);
        }
        // Between two ranks, rings and trees carry the same.
        if self.own.ranks > 2 {
            self.assumed("the logs do not say whether all-reduces used rings or trees (subsystem TUNING): half of the bytes over each");
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
        let Some(each) = kind.over_rings(bytes, ranks) else {
            return;
        };
        if self.rings.is_empty() {
            if kind != Collective::AllReduce {
                let is_part = !self.own.rings.is_empty();
                self.assumed(if is_part {
                    "its rings are incomplete: all-to-all"
                } else {
                    "no rings in the logs: all-to-all"
                });
            }
            return self.all_to_all(each / (ranks - 1.0));
        }
        let share = each / self.rings.len() as f64;
        let mut hops = Vec::new();
        for &(from, to) in self.rings.iter().flat_map(|ring| &ring.hops) {
            // A broadcast does not return to its root, and a reduction does not leave it.
            let is_spared = match kind {
                Collective::Broadcast => to == root,
                Collective::Reduce => from == root,
                _ => false,
            };
            if !is_spared {
                hops.push((from, to, share));
            }
        }
        self.lay(hops);
    }
}
