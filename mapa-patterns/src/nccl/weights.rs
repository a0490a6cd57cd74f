//! From communicators to one weighted pattern.

use std::collections::BTreeMap;

use super::calls::Collective;
use super::communicator::{Communicator, NcclJob, TreeHalf};
use crate::algorithm::Algorithm;
use crate::application::{Application, Note, Unit};
use crate::error::Error;
use crate::traffic::TrafficMatrix;

impl NcclJob {
    /// One pattern of all communicators over the job's devices: bytes if calls were seen, else channels.
    ///
    /// A channel counts 1 on each hop of its ring and each edge of its tree. Of an all-reduce of S bytes among n ranks each hop of
    /// the rings carries 2(n-1)/n S, of an all-gather or reduce-scatter (n-1)/n S, of a broadcast or reduce S but for the hop that ends
    /// or begins at the root; each edge of the trees carries an all-reduce once up and once down. Rings share this evenly. What has
    /// neither rings nor trees is all-to-all. Takes time linear in hops times kinds of calls, plus the square of the devices.
    ///
    /// # Errors
    /// More devices than [`MAX_DEVICES`](mapa_core::MAX_DEVICES).
    pub fn application(&self, algorithm: Algorithm) -> Result<Application, Error> {
        let mut traffic = TrafficMatrix::new(self.devices.len())?;
        let mut notes = self.notes.clone();
        let has_calls = self.communicators.iter().any(|own| !own.calls.is_empty());
        for own in self.communicators.iter().filter(|own| own.ranks > 1) {
            let mut laid = Laid { own, algorithm, hops: BTreeMap::new(), notes: Vec::new() };
            match (has_calls, own.calls.is_empty()) {
                (true, true) => laid.notes.push(Note::left_out(format!("communicator {}: no call was seen", own.name))),
                (true, false) => {
                    totals(own).into_iter().for_each(|((from, kind, root), bytes)| laid.call(from, kind, root, bytes))
                }
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
            laid.notes.dedup();
            notes.append(&mut laid.notes);
            if missing > 0 {
                let what = format!("communicator {}: hops of ranks whose logs are missing", own.name);
                notes.push(Note::left_out(what));
            }
        }
        let (pattern, _) = traffic.pattern(0.0)?;
        let unit = if has_calls { Unit::Bytes } else { Unit::Channels };
        let labels = self.devices.iter().map(|device| device.label.clone()).collect();
        let source = format!("NCCL, {} over {}", plural(self.communicators.len(), "communicator"), paths(algorithm));
        Ok(Application { unit, labels, notes, ..Application::new("nccl", source, pattern) })
    }
}

/// Bytes of all calls of a kind with a root, or from a rank: what is laid is linear in them.
fn totals(own: &Communicator) -> BTreeMap<(u32, Collective, u32), f64> {
    let mut totals = BTreeMap::new();
    for (from, call, times) in &own.calls {
        *totals.entry((*from, call.collective, call.root)).or_default() += call.bytes as f64 * *times as f64;
    }
    totals
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
    hops: BTreeMap<(u32, u32), f64>,
    notes: Vec<Note>,
}

impl Laid<'_> {
    fn lay(&mut self, hops: impl IntoIterator<Item = (u32, u32, f64)>) {
        for (from, to, amount) in hops {
            *self.hops.entry((from, to)).or_default() += amount;
        }
    }

    /// Whether rings and trees are used: as asked for, else those that are known.
    fn uses(&self) -> (bool, bool) {
        let (rings, trees) = (!self.own.rings.is_empty(), !self.own.trees.is_empty());
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
            let own = self.own;
            self.lay(own.rings.iter().flat_map(|ring| &ring.hops).map(|&(from, to)| (from, to, 1.0)));
        }
        if trees {
            self.trees(1.0, false);
        }
        if !rings && !trees {
            self.all_to_all(1.0);
        }
    }

    /// Says what stands in for what.
    fn tell(&mut self, rings: bool, trees: bool) {
        let name = &self.own.name;
        let what = match (rings, trees, self.algorithm) {
            (false, false, _) => "neither rings nor trees are told: all-to-all",
            (false, true, Algorithm::Ring) => "no rings are told: trees in their place",
            (true, false, Algorithm::Tree) => "no trees are told: rings in their place",
            _ => return,
        };
        self.notes.push(Note::assumed(format!("communicator {name}: {what}")));
    }

    /// So much on each tree, or shared by all of one half, up to the root and down again.
    fn trees(&mut self, amount: f64, is_shared: bool) {
        for (half, is_up) in [(TreeHalf::Reduce, true), (TreeHalf::Broadcast, false)] {
            let own = self.own;
            let of_half = || own.trees.iter().filter(|tree| tree.half == TreeHalf::Both || tree.half == half);
            let share = if is_shared { amount / of_half().count().max(1) as f64 } else { amount };
            let edges = of_half().flat_map(|tree| &tree.edges);
            let hops =
                edges.map(|&(parent, child)| if is_up { (child, parent, share) } else { (parent, child, share) });
            self.lay(hops);
        }
    }

    /// Among the ranks whose devices are known.
    fn all_to_all(&mut self, amount: f64) {
        let known = self.own.devices.iter().zip(0_u32..).filter(|(device, _)| device.is_some());
        let known: Vec<u32> = known.map(|(_, rank)| rank).collect();
        for &a in &known {
            self.lay(known.iter().filter(|b| **b != a).map(|&b| (a, b, amount)));
        }
    }

    fn call(&mut self, from: u32, kind: Collective, root: u32, bytes: f64) {
        let ranks = self.own.ranks as u32;
        let others = || (0..ranks).filter(|&rank| rank != root);
        match kind {
            Collective::Send | Collective::Recv => self.lay([(from, root, bytes)]),
            Collective::AllToAll => self.all_to_all(bytes),
            Collective::Gather => self.lay(others().map(|rank| (rank, root, bytes))),
            Collective::Scatter => self.lay(others().map(|rank| (root, rank, bytes))),
            Collective::AllReduce => {
                let (rings, trees) = self.uses();
                self.tell(rings, trees);
                let half = if rings && trees { 0.5 } else { 1.0 };
                if trees {
                    self.trees(half * bytes, true);
                }
                if rings || !trees {
                    self.rings(kind, root, half * bytes);
                }
            }
            // Only all-reduces go over trees.
            _ => self.rings(kind, root, bytes),
        }
    }

    fn rings(&mut self, kind: Collective, root: u32, bytes: f64) {
        let ranks = self.own.ranks as f64;
        let Some(each) = kind.over_rings(bytes, ranks) else { return };
        if self.own.rings.is_empty() {
            let what = format!("communicator {}: no rings are told: all-to-all", self.own.name);
            if kind != Collective::AllReduce {
                self.notes.push(Note::assumed(what));
            }
            return self.all_to_all(each / (ranks - 1.0));
        }
        let share = each / self.own.rings.len() as f64;
        let is_spared = |from: u32, to: u32| match kind {
            Collective::Broadcast => to == root,
            Collective::Reduce => from == root,
            _ => false,
        };
        let own = self.own;
        let hops = own.rings.iter().flat_map(|ring| &ring.hops);
        self.lay(hops.filter(|(from, to)| !is_spared(*from, *to)).map(|&(from, to)| (from, to, share)));
    }
}
