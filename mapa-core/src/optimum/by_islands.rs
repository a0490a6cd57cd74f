//! The exact optimum of rings, chains and stars on machines made of islands, such as servers joined
//! by a network.
//!
//! All pairs of devices in different islands are joined alike. So a ring consists of paths through
//! islands and of edges between islands, and it is enough to know which counts of links the paths
//! of each island can have ([`Archipelago`]). The answer has the best value, on the lowest ids that
//! reach it. Its rank order is the smallest of the equally good ones if a short search finds it,
//! otherwise one of them.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use super::criterion::CriterionKind;
use super::domains::Domains;
use super::links::{LinkKinds, is_of_counts};
use super::problem::{Problem, RankedAnswer, RankedPlacement};
use super::requirement::RequirementTest;
use super::smallest::{OrderGoal, Smallest};
use super::valued::by_keys;
use crate::ids::DeviceId;
use crate::matching::{Few, Limits, Placement, SearchStats};
use crate::reach::{
    Archipelago, Closing, Covers, Family, FillResult, Island, IslandEdges, KINDS, KindCounts, MOST,
    MOST_RANKS, Mask, PairKinds, ReachTable, earliness, islands, members, of_size,
};
use crate::topology::{DeviceSet, MemoKey};

/// The most nodes of the search for the smallest rank order on the chosen devices.
const NODES_OF_ORDER: u64 = 20_000;

/// The most devices for which islands are formed. The link of every pair is read.
const MOST_DEVICES: usize = 256;

/// A decision by islands: the problem, and the islands of the devices that the job may use.
pub(super) struct ByIslands<'t, 'o, 'a> {
    problem: &'t Problem<'o, 'a>,
    /// The devices that the job may use, ascending.
    devices: Vec<DeviceId>,
    links: LinkKinds,
    /// The kind of link between islands.
    background: usize,
    /// By island, positions in `devices`.
    islands: Vec<Vec<usize>>,
    /// By kind of link, its number in the tables of islands. These count the links of the first two
    /// numbers. The background has the last number: its links are the rest.
    numbers: Few<usize>,
    /// The traffic, which is the same on every edge.
    traffic: f64,
    /// Whether the caller's deadline passed before the end.
    stopped: Cell<bool>,
}

/// The key of [`Covers`]: the kinds of link between the devices of an island, one word for each
/// device ([`PairKinds::words`]). So the number of words is the number of devices.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CoversKey {
    kinds: Few<u64>,
}

impl MemoKey for CoversKey {
    type Table = Covers;
}

impl<'t, 'o, 'a> ByIslands<'t, 'o, 'a> {
    /// The best entry; `None` if a search must find it.
    pub(super) fn best(problem: &'t Problem<'o, 'a>) -> Option<RankedAnswer> {
        let this = Self::new(problem)?;
        // The steps of a knapsack over islands: for each island, the ranks on it, the ranks placed
        // before it, and the number of paths.
        let ranks = problem.request.pattern.len() as u64;
        let mut nodes = this.islands.len() as u64 * ranks * ranks * ranks.div_ceil(2);
        if nodes > problem.limits.nodes {
            return None;
        }
        let best = match problem.request.pattern.family() {
            Family::Ring => {
                let one = this.ring_in_one(&mut nodes);
                this.better(one, this.over_all(Closing::Ring, &mut nodes))
            }
            Family::Chain => this.over_all(Closing::Chain, &mut nodes),
            Family::Star => this.star(&mut nodes),
            _ => return None,
        };
        // What was found until then may not be the best: a search has something to show, and says
        // that it was stopped.
        if this.stopped.get() || nodes > problem.limits.nodes {
            return None;
        }
        let mut stats = SearchStats {
            nodes,
            ..SearchStats::default()
        };
        stats.matches = u64::from(best.is_some());
        Some((best.into_iter().collect(), stats))
    }

    /// `None` if the devices form no islands, or tables or a search must solve the problem.
    // Long, since each condition that rules islands out stands where its value is computed, and the values are kept.
    fn new(problem: &'t Problem<'o, 'a>) -> Option<Self> {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *problem;
        let pattern = &request.pattern;
        let graph = view.graph();
        let demand = pattern
            .demands()
            .first()
            .filter(|_| pattern.is_uniform() && !pattern.may_share())?;
        // Lowest ids win ties anyway, so that criterion may come last and nowhere else.
        let last = criteria
            .iter()
            .rposition(|criterion| !matches!(criterion.kind, CriterionKind::LowestIds));
        let countable = criteria[..last.map_or(0, |last| last + 1)]
            .iter()
            .all(|criterion| criterion.objective().is_some_and(is_of_counts));
        let testable = problem.tests().all(|test| match test {
            RequirementTest::Seat { .. } | RequirementTest::Link(_) => true,
            RequirementTest::Score(objective, _) => is_of_counts(objective),
            RequirementTest::Set(_) | RequirementTest::Placement(_) => false,
        });
        let traffic = pattern.traffic()?;
        let plain = request.must_include.is_empty()
            && request.runners_up == 0
            && !request.same_numa
            && problem.limits.matches == Limits::NONE.matches;
        if !matches!(
            pattern.family(),
            Family::Ring | Family::Chain | Family::Star
        ) || pattern.len() > MOST_RANKS
            || !(plain && countable && testable)
            || view.is_of_any_layout()
        {
            return None;
        }
        let domain = Domains::of(problem, demand, &request.eligible(graph));
        if domain
            .last()
            .is_none_or(|last| last.index() >= graph.wholes().len())
            || domain.len() > MOST_DEVICES
        {
            return None;
        }
        let devices: Vec<DeviceId> = domain.iter().collect();
        let links = LinkKinds::new(problem, &devices);
        // Up to `MOST` devices with up to `KINDS` kinds are left to tables. If these gave no answer,
        // a limit was in the way.
        if !(2..=KINDS + 1).contains(&links.len()) || devices.len() <= MOST && links.len() <= KINDS
        {
            return None;
        }
        let (background, islands) =
            islands(devices.len(), links.len(), |a, b| links.between(a, b))?;
        // Ids must ascend from island to island: only then do the lowest ids of each island make
        // the lowest of all.
        if !islands.iter().flatten().is_sorted() {
            return None;
        }
        // With one kind more than tables count, the background must not occur within islands: it
        // has no number there.
        if links.len() > KINDS
            && islands.iter().any(|island| {
                island.iter().any(|&b| {
                    let mut lower = island.iter().take_while(|&&a| a < b);
                    lower.any(|&a| links.between(a, b) == Some(background))
                })
            })
        {
            return None;
        }
        let mut numbers: Few<usize> = Few::new();
        for kind in 0..links.len() {
            numbers.push(match kind.cmp(&background) {
                Ordering::Less => kind,
                Ordering::Equal => KINDS - 1,
                Ordering::Greater => kind - 1,
            });
        }
        let stopped = Cell::new(false);
        Some(Self {
            problem,
            devices,
            links,
            background,
            islands,
            numbers,
            traffic,
            stopped,
        })
    }

    /// Whether the caller's deadline has passed. Once true, it stays true.
    fn is_stopped(&self) -> bool {
        self.stopped
            .set(self.stopped.get() || self.problem.view.is_out_of_time());
        self.stopped.get()
    }

    /// The smallest rank order on a set that has one of these counts, if `nodes` suffice to find
    /// it.
    fn smallest(
        &self,
        set: &DeviceSet,
        wanted: &[IslandEdges],
        nodes: &mut u64,
    ) -> Option<Placement> {
        let own: Vec<usize> = set
            .iter()
            .filter_map(|id| self.devices.binary_search(&id).ok())
            .collect();
        let goal = OrderGoal::Counts(wanted.iter().map(|edges| self.by_kind(*edges)).collect());
        let most = NODES_OF_ORDER.min(self.problem.limits.nodes.saturating_sub(*nodes));
        let (order, spent) =
            Smallest::new(&self.problem.request.pattern, &self.links, &own, goal).find(most);
        *nodes += spent;
        Some(order?.into_iter().map(|at| self.devices[at]).collect())
    }

    /// The kinds of link within an island, as tables number them.
    fn kinds(&self, island: &[usize]) -> PairKinds {
        PairKinds::new(island.len(), |a, b| {
            Some(self.numbers[self.links.between(island[a], island[b])?])
        })
    }

    /// The mask with all devices of an island.
    fn all_free(island: &[usize]) -> Mask {
        (1 << island.len()) - 1
    }

    /// The number of edges on each kind of link. Tables give the first two kinds and the edges
    /// between islands; all other edges are on the last kind.
    fn by_kind(
        &self,
        IslandEdges {
            counts: KindCounts { x, y },
            between,
        }: IslandEdges,
    ) -> Few<u32> {
        let all = self.problem.request.pattern.edges().len() as u32;
        let others = self.links.len() - 1;
        let mut by_kind: Few<u32> = Few::new();
        for kind in 0..self.links.len() {
            by_kind.push(match (kind == self.background, self.numbers[kind]) {
                (true, _) if others == KINDS => between,
                (true, _) => all - x - y,
                (false, 0) => x,
                (false, 1) => y,
                (false, _) => all - between - x - y,
            });
        }
        by_kind
    }

    /// The best keys that any of some counts has, and all counts with these keys.
    fn best_keys(
        &self,
        all: impl Iterator<Item = IslandEdges>,
        nodes: &mut u64,
    ) -> Option<(Few<f64>, Vec<IslandEdges>)> {
        let Problem {
            criteria,
            requirements,
            ..
        } = *self.problem;
        let mut best: Option<(Few<f64>, Vec<IslandEdges>)> = None;
        for edges in all {
            *nodes += 1;
            let keys = self.links.keys(
                criteria.iter(),
                requirements,
                self.traffic,
                &self.by_kind(edges),
            );
            let Some(keys) = keys else { continue };
            match best.as_mut().map(|best| (by_keys(&keys, &best.0), best)) {
                Some((Ordering::Less, _)) => {}
                Some((Ordering::Equal, best)) => best.1.push(edges),
                _ => best = Some((keys, vec![edges])),
            }
        }
        best
    }

    /// The better of two entries; of equal ones that with lower ids.
    fn better(
        &self,
        a: Option<RankedPlacement>,
        b: Option<RankedPlacement>,
    ) -> Option<RankedPlacement> {
        match (a, b) {
            (Some(a), Some(b)) => {
                let second = by_keys(&a.keys, &b.keys)
                    .then_with(|| b.set.cmp(&a.set))
                    .is_lt();
                Some(if second { b } else { a })
            }
            (a, b) => a.or(b),
        }
    }

    /// A rank order on an island as a placement.
    fn placement(&self, island: &[usize], order: &[usize]) -> Placement {
        order.iter().map(|&at| self.devices[island[at]]).collect()
    }

    /// The best ring that stays within one island.
    fn ring_in_one(&self, nodes: &mut u64) -> Option<RankedPlacement> {
        let k = self.problem.request.pattern.len();
        let mut best = None;
        for island in &self.islands {
            if island.len() >= k {
                best = self.better(best, self.ring_in(island, nodes));
            }
        }
        best
    }

    /// The best ring within this island, by a table like those of [`super::by_table`].
    fn ring_in(&self, island: &[usize], nodes: &mut u64) -> Option<RankedPlacement> {
        let pattern = &self.problem.request.pattern;
        let table = ReachTable::new(Family::Ring, self.kinds(island));
        if table.build(pattern, None, &|| self.is_stopped()) != FillResult::Filled {
            return None;
        }
        let mut all: Vec<(Mask, KindCounts)> = Vec::new();
        for set in of_size(island.len(), pattern.len()) {
            table.counts(Family::Ring, pattern, set, |counts| all.push((set, counts)));
        }
        let mut distinct: Vec<IslandEdges> = all
            .iter()
            .map(|&(_, counts)| IslandEdges { counts, between: 0 })
            .collect();
        distinct.sort_unstable();
        distinct.dedup();
        let (keys, wanted) = self.best_keys(distinct.into_iter(), nodes)?;
        let wanted: Vec<KindCounts> = wanted.iter().map(|edges| edges.counts).collect();
        // Of the sets that have one of the best counts, that of lowest ids.
        let (set, _) = all
            .iter()
            .filter(|(_, counts)| wanted.contains(counts))
            .max_by_key(|(set, _)| earliness(*set))?;
        let placement = self.placement(island, &table.smallest(Family::Ring, *set, &wanted)?);
        Some(RankedPlacement {
            keys,
            set: placement.set(),
            placement,
        })
    }

    /// The best chain, or the best ring over several islands: paths through islands and edges
    /// between them.
    fn over_all(&self, closing: Closing, nodes: &mut u64) -> Option<RankedPlacement> {
        let Problem { request, view, .. } = *self.problem;
        // Islands whose links are alike share a table.
        let mut covers: Vec<Arc<Covers>> = Vec::with_capacity(self.islands.len());
        for island in &self.islands {
            let kinds = self.kinds(island);
            let key = CoversKey {
                kinds: kinds.words().collect(),
            };
            covers.push(
                view.graph()
                    .memo()
                    .get_or_make(&key, || (Covers::bytes(island.len()), Covers::new(&kinds))),
            );
        }
        let islands = covers
            .iter()
            .zip(&self.islands)
            .map(|(covers, island)| Island {
                covers,
                free: Self::all_free(island),
            })
            .collect();
        let stop = || self.is_stopped();
        let sea = Archipelago::new(islands, request.pattern.len(), closing, &stop)?;
        let mut totals = Vec::new();
        sea.counts(|edges| totals.push(edges));
        totals.sort_unstable();
        totals.dedup();
        let (keys, wanted) = self.best_keys(totals.into_iter(), nodes)?;
        // Devices of lowest ids with one of the best counts, and one way to lie on them.
        let layout = sea.lay_out(&wanted)?;
        let mut set = DeviceSet::new();
        for (island, &mask) in self.islands.iter().zip(&layout.sets) {
            set.extend(members(mask).map(|at| self.devices[island[at]]));
        }
        let placement = self.smallest(&set, &wanted, nodes).unwrap_or_else(|| {
            let paths = layout.paths.iter();
            paths
                .flat_map(|(island, path)| path.iter().map(|&at| self.islands[*island][at]))
                .map(|at| self.devices[at])
                .collect()
        });
        Some(RankedPlacement {
            keys,
            set,
            placement,
        })
    }

    /// The best star: a root, some leaves on its own island, and the other leaves on other islands.
    /// No criterion distinguishes the devices of the other islands, so those with the lowest ids
    /// are taken.
    fn star(&self, nodes: &mut u64) -> Option<RankedPlacement> {
        let k = self.problem.request.pattern.len();
        let mut best = None;
        let all: DeviceSet = self.devices.iter().copied().collect();
        for island in &self.islands {
            let kinds = self.kinds(island);
            let here: DeviceSet = island.iter().map(|&at| self.devices[at]).collect();
            let elsewhere: Vec<DeviceId> = (&all - &here).iter().take(k).collect();
            // Every root with every set of neighbours on its island, and the counts of that.
            let mut ways: Vec<(IslandEdges, usize, Mask)> = Vec::new();
            for set in 1..=Self::all_free(island) {
                let size = set.count_ones() as usize;
                if size > k || k - size > elsewhere.len() {
                    continue;
                }
                for root in members(set) {
                    let others = set & !(1 << root);
                    let [x, y, z] = kinds
                        .around(root)
                        .map(|around| (around & others).count_ones());
                    // All neighbours are joined to the root.
                    if x + y + z == others.count_ones() {
                        let edges = IslandEdges {
                            counts: KindCounts { x, y },
                            between: (k - size) as u32,
                        };
                        ways.push((edges, root, set));
                    }
                }
            }
            let mut distinct: Vec<IslandEdges> = ways.iter().map(|way| way.0).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let Some((keys, wanted)) = self.best_keys(distinct.into_iter(), nodes) else {
                continue;
            };
            // Of the ways that have one of the best counts, that of lowest ids, then lowest root.
            let mut good: Option<(DeviceSet, usize)> = None;
            for (_, root, mask) in ways.iter().filter(|way| wanted.contains(&way.0)) {
                let own = members(*mask).map(|at| self.devices[island[at]]);
                let others = elsewhere.iter().copied();
                let set = own
                    .chain(others.take(k - mask.count_ones() as usize))
                    .collect();
                let way = (set, *root);
                if good.as_ref().is_none_or(|good| way < *good) {
                    good = Some(way);
                }
            }
            let Some((set, root)) = good else {
                continue;
            };
            let root = self.devices[island[root]];
            let placement = std::iter::once(root)
                .chain(set.iter().filter(|&id| id != root))
                .collect();
            let entry = RankedPlacement {
                keys,
                set,
                placement,
            };
            best = self.better(best, Some(entry));
        }
        best
    }
}
