//! The exact optimum of rings, chains and stars on machines made of islands: servers joined by a network, say.
//!
//! Where devices of different islands are all joined alike, a ring is a few paths through islands and some edges between
//! them, so it is enough to know which counts the paths of each island can have ([`crate::reach::Archipelago`]). The answer is
//! the best value, on the devices of lowest ids that have it; the rank order is the smallest of those that are equally good
//! if a short search finds it, else one of them.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use super::criterion::{Criterion, Kind};
use super::domains::Domains;
use super::links::{Links, is_of_counts};
use super::optimum::{Entry, Optimum};
use super::requirement::Test;
use super::smallest::{Goal, Smallest};
use super::valued::by_keys;
use crate::matching::{Few, Limits, Placement, SearchStats};
use crate::reach::{
    Archipelago, Closing, Counts, Covers, Edges, Family, Island, KINDS, Kinds, MOST, MOST_RANKS, Mask, Table, islands,
    members, of_size,
};
use crate::topology::{DeviceId, DeviceSet};

/// How far the smallest rank order on the chosen devices is looked for.
const NODES_OF_ORDER: u64 = 20_000;

/// The most devices that are looked at; their links are, two by two.
const MOST_DEVICES: usize = 256;

pub(super) struct ByIslands<'t, 'o, 'a> {
    optimum: &'t Optimum<'o, 'a>,
    /// What the job may have, ascending.
    devices: Vec<DeviceId>,
    links: Links,
    /// The kind of link between islands.
    background: usize,
    /// By island, positions in `devices`.
    islands: Vec<Vec<usize>>,
    /// By kind, its number within islands.
    numbers: Few<usize>,
    /// Of every edge.
    traffic: f64,
    /// Whether the caller's time was up before the end.
    stopped: Cell<bool>,
}

/// A way to lay the pattern out.
struct Best {
    keys: Few<f64>,
    set: DeviceSet,
    placement: Placement,
}

impl<'t, 'o, 'a> ByIslands<'t, 'o, 'a> {
    /// The best entry; none where a search must find it.
    pub(super) fn best(optimum: &'t Optimum<'o, 'a>) -> Option<(Vec<Entry>, SearchStats)> {
        let this = Self::new(optimum)?;
        // As many steps as the knapsacks take.
        let ranks = optimum.request.pattern.len() as u64;
        let mut nodes = this.islands.len() as u64 * ranks * ranks * ranks.div_ceil(2);
        if nodes > optimum.limits.nodes {
            return None;
        }
        let best = match optimum.request.pattern.family() {
            Family::Ring => {
                let one = this.ring_in_one(&mut nodes);
                this.better(one, this.over_all(Closing::Ring, &mut nodes))
            }
            Family::Chain => this.over_all(Closing::Chain, &mut nodes),
            Family::Star => this.star(&mut nodes),
            _ => return None,
        };
        // What was found until then may not be the best: a search has something to show, and says that it was stopped.
        if this.stopped.get() || nodes > optimum.limits.nodes {
            return None;
        }
        let mut stats = SearchStats { nodes, ..SearchStats::default() };
        stats.matches = u64::from(best.is_some());
        Some((best.map(|best| Entry::new(best.keys, best.set, best.placement)).into_iter().collect(), stats))
    }

    fn new(optimum: &'t Optimum<'o, 'a>) -> Option<Self> {
        let Optimum { request, view, criteria, requirements, .. } = *optimum;
        let pattern = &request.pattern;
        let graph = view.graph();
        let demand = pattern.demands().first().filter(|_| pattern.is_uniform() && !pattern.may_share())?;
        let ids_last = criteria.iter().rposition(|criterion| !matches!(criterion.kind, Kind::LowestIds));
        let by_counts = |criterion: &Criterion<'_>| criterion.kind.objective().is_some_and(is_of_counts);
        let countable = criteria[..ids_last.map_or(0, |last| last + 1)].iter().all(by_counts);
        let test = |test: &Test<'_>| match test {
            Test::Seat(_) | Test::Link(_) => true,
            Test::Score(objective, _) => is_of_counts(objective),
            _ => false,
        };
        let traffic = pattern.traffic()?;
        let plain = request.must_include.is_empty()
            && request.runners_up == 0
            && !request.same_numa
            && optimum.limits.matches == Limits::NONE.matches;
        if !matches!(pattern.family(), Family::Ring | Family::Chain | Family::Star)
            || pattern.len() > MOST_RANKS
            || !(plain && countable)
            || view.is_of_any_layout()
            || !requirements.iter().all(|requirement| test(&requirement.test))
        {
            return None;
        }
        let domain = Domains::of(optimum, demand, &request.eligible(graph));
        if domain.last().is_none_or(|last| last.index() >= graph.wholes().len()) || domain.len() > MOST_DEVICES {
            return None;
        }
        let devices: Vec<DeviceId> = domain.iter().collect();
        let links = Links::new(optimum, &devices);
        // What a table can count, it counts, or a limit forbade it.
        if !(2..=KINDS + 1).contains(&links.len()) || devices.len() <= MOST && links.len() <= KINDS {
            return None;
        }
        let (background, islands) = islands(devices.len(), links.len(), |a, b| links.between(a, b))?;
        let ranges = islands.iter().flatten().is_sorted();
        let within = |island: &Vec<usize>| {
            island.iter().any(|&b| island.iter().any(|&a| a < b && links.between(a, b) == Some(background)))
        };
        let crowded = links.len() > KINDS && islands.iter().any(within);
        let last_number = KINDS - 1;
        let mut next = 0;
        let mut number = |kind: usize| {
            next += usize::from(kind != background);
            if kind == background { last_number } else { next - 1 }
        };
        let numbers = (0..links.len()).map(&mut number).collect();
        let stopped = Cell::new(false);
        (ranges && !crowded).then_some(Self { optimum, devices, links, background, islands, numbers, traffic, stopped })
    }

    fn is_stopped(&self) -> bool {
        self.stopped.set(self.stopped.get() || self.optimum.view.stop().is_some_and(|stop| stop()));
        self.stopped.get()
    }

    /// The smallest rank order on a set that has one of these counts, if it is found soon.
    fn smallest(&self, set: &DeviceSet, wanted: &[Edges], nodes: &mut u64) -> Option<Placement> {
        let own: Vec<usize> = set.iter().filter_map(|id| self.devices.binary_search(&id).ok()).collect();
        let goal = Goal::Counts(wanted.iter().map(|edges| self.by_kind(*edges)).collect());
        let most = NODES_OF_ORDER.min(self.optimum.limits.nodes.saturating_sub(*nodes));
        let (order, spent) = Smallest::new(&self.optimum.request.pattern, &self.links, &own, goal).find(most);
        *nodes += spent;
        Some(order?.into_iter().map(|at| self.devices[at]).collect())
    }

    fn kinds(&self, island: &[usize]) -> Kinds {
        Kinds::new(island.len(), |a, b| Some(self.numbers[self.links.between(island[a], island[b])?]))
    }

    fn all_free(island: &[usize]) -> Mask {
        (1 << island.len()) - 1
    }

    /// How many edges lie on each kind.
    fn by_kind(&self, Edges { counts: Counts { x, y }, between }: Edges) -> Few<u32> {
        let all = self.optimum.request.pattern.edges().len() as u32;
        let others = self.links.len() - 1;
        let count = |kind: usize| match (kind == self.background, self.numbers[kind]) {
            (true, _) if others == KINDS => between,
            (true, _) => all - x - y,
            (false, 0) => x,
            (false, 1) => y,
            (false, _) => all - between - x - y,
        };
        (0..self.links.len()).map(count).collect()
    }

    /// The best keys among some counts, and the counts that have them.
    fn best_keys(&self, all: impl Iterator<Item = Edges>, nodes: &mut u64) -> Option<(Few<f64>, Vec<Edges>)> {
        let Optimum { criteria, requirements, .. } = *self.optimum;
        let mut best: Option<(Few<f64>, Vec<Edges>)> = None;
        for edges in all {
            *nodes += 1;
            let keys = self.links.keys(criteria.iter(), requirements, self.traffic, &self.by_kind(edges));
            let Some(keys) = keys else { continue };
            match best.as_mut().map(|best| (by_keys(&keys, &best.0), best)) {
                Some((Ordering::Less, _)) => {}
                Some((Ordering::Equal, best)) => best.1.push(edges),
                _ => best = Some((keys, vec![edges])),
            }
        }
        best
    }

    /// The better of two; of equals the one with lower ids.
    fn better(&self, a: Option<Best>, b: Option<Best>) -> Option<Best> {
        match (a, b) {
            (Some(a), Some(b)) => {
                let second = by_keys(&a.keys, &b.keys).then_with(|| b.set.cmp(&a.set)).is_lt();
                Some(if second { b } else { a })
            }
            (a, b) => a.or(b),
        }
    }

    fn placement(&self, island: &[usize], order: &[usize]) -> Placement {
        order.iter().map(|&at| self.devices[island[at]]).collect()
    }

    /// A ring that stays within one island.
    fn ring_in_one(&self, nodes: &mut u64) -> Option<Best> {
        let pattern = &self.optimum.request.pattern;
        let k = pattern.len();
        let best_of = |island: &Vec<usize>| {
            let table = Table::new(Family::Ring, self.kinds(island));
            table.build(pattern, None, &|| self.is_stopped())?;
            let sets = || of_size(island.len(), k);
            let mut all: Vec<(Mask, Counts)> = Vec::new();
            sets().for_each(|set| table.counts(Family::Ring, pattern, set, |counts| all.push((set, counts))));
            let edges = |counts: Counts| Edges { counts, between: 0 };
            let mut distinct: Vec<Edges> = all.iter().map(|(_, counts)| edges(*counts)).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let (keys, wanted) = self.best_keys(distinct.into_iter(), nodes)?;
            let wanted: Vec<Counts> = wanted.iter().map(|edges| edges.counts).collect();
            let good = all.iter().filter(|(_, counts)| wanted.contains(counts)).map(|(set, _)| *set);
            let set = good.max_by_key(|set| set.reverse_bits())?;
            let placement = self.placement(island, &table.smallest(Family::Ring, set, &wanted)?);
            Some(Best { keys, set: placement.set(), placement })
        };
        let mut best = None;
        for own in self.islands.iter().filter(|island| island.len() >= k).map(best_of) {
            best = self.better(best, own);
        }
        best
    }

    /// Paths through islands.
    fn over_all(&self, closing: Closing, nodes: &mut u64) -> Option<Best> {
        let Optimum { request, view, .. } = *self.optimum;
        let memo = view.graph().memo();
        let covers = |island: &Vec<usize>| -> Arc<Covers> {
            let kinds = self.kinds(island);
            let mut key: Few<u64> = Few::new();
            key.extend([5, island.len() as u64].into_iter().chain(kinds.words()));
            memo.get(&key).unwrap_or_else(|| memo.put(&key, Covers::bytes(island.len()), Covers::new(&kinds)))
        };
        let covers: Vec<Arc<Covers>> = self.islands.iter().map(covers).collect();
        let island = |(covers, island): (&'_ Arc<Covers>, &Vec<usize>)| (Arc::clone(covers), Self::all_free(island));
        let kept: Vec<(Arc<Covers>, Mask)> = covers.iter().zip(&self.islands).map(island).collect();
        let all = kept.iter().map(|(covers, free)| Island { covers, free: *free }).collect();
        let sea = Archipelago::new(all, request.pattern.len(), closing, &|| self.is_stopped())?;
        let mut totals = Vec::new();
        sea.counts(|edges| totals.push(edges));
        totals.sort_unstable();
        totals.dedup();
        let (keys, wanted) = self.best_keys(totals.into_iter(), nodes)?;
        let layout = sea.lay_out(&wanted)?;
        let of_island = |(island, mask): (&Vec<usize>, &Mask)| {
            members(*mask).map(|at| self.devices[island[at]]).collect::<Few<DeviceId>>()
        };
        let set: DeviceSet = self.islands.iter().zip(&layout.sets).flat_map(of_island).collect();
        if let Some(placement) = self.smallest(&set, &wanted, nodes) {
            return Some(Best { keys, set, placement });
        }
        let ranks = layout
            .paths
            .iter()
            .flat_map(|(island, path)| path.iter().map(|&at| self.devices[self.islands[*island][at]]));
        Some(Best { keys, set, placement: ranks.collect() })
    }

    /// One root and whom it talks to: on its own island some, elsewhere the lowest.
    fn star(&self, nodes: &mut u64) -> Option<Best> {
        let k = self.optimum.request.pattern.len();
        let mut best = None;
        let all: DeviceSet = self.devices.iter().copied().collect();
        for island in &self.islands {
            let kinds = self.kinds(island);
            let here: DeviceSet = island.iter().map(|&at| self.devices[at]).collect();
            let elsewhere: Vec<DeviceId> = (&all - &here).iter().take(k).collect();
            let mut ways: Vec<(Edges, usize, Mask)> = Vec::new();
            for set in 1..=Self::all_free(island) {
                let size = set.count_ones() as usize;
                if size > k || k - size > elsewhere.len() {
                    continue;
                }
                for root in members(set) {
                    let others = set & !(1 << root);
                    let [x, y, z] = kinds.around(root).map(|around| (around & others).count_ones());
                    if x + y + z == others.count_ones() {
                        ways.push((Edges { counts: Counts { x, y }, between: (k - size) as u32 }, root, set));
                    }
                }
            }
            let mut distinct: Vec<Edges> = ways.iter().map(|way| way.0).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let Some((keys, wanted)) = self.best_keys(distinct.into_iter(), nodes) else { continue };
            let whole = |set: Mask| -> DeviceSet {
                let own = members(set).map(|at| self.devices[island[at]]);
                own.chain(elsewhere.iter().copied().take(k - set.count_ones() as usize)).collect()
            };
            let good = ways.iter().filter(|way| wanted.contains(&way.0)).map(|&(_, root, set)| (whole(set), root));
            let Some((set, root)) = good.min_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1))) else { continue };
            let root = self.devices[island[root]];
            let placement = std::iter::once(root).chain(set.iter().filter(|&id| id != root)).collect();
            best = self.better(best, Some(Best { keys, set, placement }));
        }
        best
    }
}
