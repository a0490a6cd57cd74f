//! The policy of whoever names none.

use std::sync::{Arc, OnceLock};

use super::answer_memo::remembered;
use super::api::Policy;
use super::balance::packed;
use super::decision::Decision;
use super::least_port_slowdown::{PCIE_GEN4_GBPS, least_port_slowdown};
use super::refusal::Refusal;
use super::rules::Rules;
use super::step_time::{least_edges_seconds, least_step_time};
use crate::ids::PolicyId;
use crate::optimum::{least, max, min};
use crate::pattern::{Demand, Parallelism, Pattern, Want};
use crate::request::Request;
use crate::score::{
    Efficiency, Expected, Objective, Operation, Rates, aggregate_gbps, all_to_all_gbps,
    expected_gbps, host_distance, host_distance_left, host_hops, host_sharing, network_gbps,
    preserved_gbps, ring_packing_gbps, tree_packing_gbps,
};
use crate::sensitivity::Sensitivity;
use crate::topology::{HardwareGraph, HostNetwork};
use crate::view::View;

/// The name that every decision of the policy carries.
const NAME: &str = "auto";

/// The most sets of devices for which closeness in the host is compared. More sets are not all
/// looked at, and nothing bounds their closeness.
const MOST_SETS: u128 = 100_000;

/// The most pairs of free devices that all these sets may have together: closeness looks at each.
const MOST_PAIRS: u128 = 1 << 25;

/// The model of bandwidth that fits a pattern: the GB/s that a collective of this pattern reaches
/// on a set of devices, computed from links alone.
///
/// | pattern | model |
/// |---|---|
/// | a tree of three ranks or more: a chain, a star, a binary tree | [`TreePacking`](crate::TreePacking) |
/// | every rank with every other, four ranks or more | [`AllToAll`](crate::AllToAll) |
/// | a ring, and every other | [`RingPacking`](crate::RingPacking) |
///
/// # Complexity
/// O(n + e) for n ranks and e edges.
///
/// # Examples
/// ```
/// use mapa_core::{Pattern, fitting_model};
///
/// assert_eq!(fitting_model(&Pattern::ring(4)).name(), "ring_packing_gbps");
/// assert_eq!(fitting_model(&Pattern::star(4)).name(), "tree_packing_gbps");
/// assert_eq!(fitting_model(&Pattern::all_to_all(4)).name(), "all_to_all_gbps");
/// ```
#[must_use]
pub fn fitting_model(pattern: &Pattern) -> Objective<'static> {
    Collective::of(pattern).nominal()
}

/// The operation whose [`Expected`] bandwidth fits a pattern: an exchange between all pairs where
/// every rank communicates with every other, trees for a tree, else rings. O(n + e) for n ranks and e
/// edges.
#[must_use]
pub fn fitting_expected(pattern: &Pattern) -> Operation {
    Collective::of(pattern).operation()
}

/// The figure by which [`auto`] compares sets of devices, and that fronts print as their bandwidth.
///
/// | machine | figure |
/// |---|---|
/// | the speed of every slot and the generation of direct links are known | [`Expected`], as it is shipped |
/// | some are not known, and all devices reach each other's memory | [`fitting_model`] |
/// | some are not known, and some devices do not reach others' memory | [`Expected::nominal`]: a packing does not know that links, and paths below one switch, are then of no use |
///
/// # Complexity
/// O(n + e) for n ranks and e edges, beside [`HostNetwork::of`].
///
/// # Examples
/// ```
/// use mapa_core::{Fabric, LinkClass, Pattern, default_model};
///
/// let mut fabric = Fabric::new();
/// let ids = [0, 1].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// fabric.link(ids[0], ids[1], LinkClass::Sys, 12.0)?;
/// let graph = fabric.lower()?;
/// assert_eq!(default_model(&Pattern::ring(2), &graph).name(), "ring_packing_gbps");
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn default_model(pattern: &Pattern, graph: &HardwareGraph) -> Objective<'static> {
    Collective::of(pattern).figure(&HostNetwork::of(graph))
}

/// The collective that a pattern is the graph of.
#[derive(Clone, Copy)]
enum Collective {
    Ring,
    Tree,
    Exchange,
}

impl Collective {
    const ALL: [Self; 3] = [Self::Ring, Self::Tree, Self::Exchange];

    fn operation(self) -> Operation {
        match self {
            Self::Ring => Operation::AllReduce,
            Self::Tree => Operation::TreeReduce,
            Self::Exchange => Operation::AllToAll,
        }
    }

    /// The packing at nominal bandwidths.
    fn nominal(self) -> Objective<'static> {
        match self {
            Self::Ring => ring_packing_gbps(),
            Self::Tree => tree_packing_gbps(),
            Self::Exchange => all_to_all_gbps(),
        }
    }

    /// [`default_model`] on a machine with this host.
    fn figure(self, host: &HostNetwork) -> Objective<'static> {
        match (host.all_known(), host.is_open()) {
            (true, _) => expected_gbps(self.operation()),
            (false, true) => self.nominal(),
            (false, false) => network_gbps(self.operation()),
        }
    }

    fn of(pattern: &Pattern) -> Self {
        let n = pattern.len();
        let mut pairs: Vec<(u16, u16)> = (pattern.edges().iter())
            .map(|edge| (edge.a, edge.b))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        // A pattern without edges may have any number of ranks, of which the pairs cannot be counted.
        let is_whole = n.checked_mul(n.saturating_sub(1)) == Some(2 * pairs.len());
        if n >= 4 && is_whole {
            Self::Exchange
        } else if n >= 3 && pairs.len() == n - 1 && pattern.is_connected() {
            Self::Tree
        } else {
            Self::Ring
        }
    }
}

/// The default policy: the free devices on which the job is fastest, by the model that fits its
/// pattern.
///
/// A job that is not known to be insensitive counts as sensitive. It gets the free set of devices
/// with the most bandwidth by the figure that is printed, [`default_model`]: what [`Expected`] says of the
/// [operation that fits its pattern](fitting_expected), or a packing at nominal bandwidths where the
/// generation of a machine's links is not known. Sets that such a packing takes for equal are compared by
/// [`Expected::nominal`], which knows what their paths through the host share. Of equal sets it
/// takes the one that leaves the most bandwidth to later jobs (Eq. 3), then the one whose devices
/// are closest in the host ([`host_distance`]), then the one that leaves the closest devices
/// ([`host_distance_left`]). Where devices do not reach each other's memory, close devices are slower:
/// there the set that shares the least of the host comes first instead ([`host_sharing`]). On this set
/// it takes the rank order with the fewest hops through the
/// host, then with the highest AggBW (Eq. 1). Ties: lowest ids, then smallest rank order.
///
/// An [insensitive](Sensitivity::Insensitive) job, and one whose ranks do not communicate, gets
/// what others can spare: Eq. 3 comes first, then the bandwidth, then the rest as above.
///
/// Jobs on instances of partitioned devices are placed as [`packed`] does; as [`least_port_slowdown`] does
/// if they demand PCIe bandwidth. Jobs that share go where the fewest warps are in use, as by
/// [`fewest_warps`](crate::fewest_warps), and may take all of the free memory.
///
/// The choice is exact, with two limits. The decision says whether [`Request::limits`] ended the
/// search, and then [how much more](Decision::at_most) another set could have. Closeness in the
/// host is compared if the free devices have at most 100,000 sets of the job's size, with 33 million pairs
/// of free devices together: always for up to 19 devices, and for one device of up to 400.
///
/// # Complexity
/// As [`Rules`]; with default limits mostly less than a second.
///
/// # Examples
/// ```
/// use mapa_core::{DeviceSet, Fabric, LinkClass, Pattern, Policy, Request, auto};
///
/// // Two bridged pairs, 0-1 and 2-3, and two devices without a bridge.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..6).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// ids.iter().for_each(|&id| fabric.attach(id, root, 25.0).unwrap());
/// for (a, b) in [(0, 1), (2, 3)] {
///     fabric.link(ids[a], ids[b], LinkClass::Direct(12), 300.0)?;
/// }
/// let graph = fabric.lower()?;
/// let free = DeviceSet::from([0, 2, 3, 4, 5]);
/// let decide = |job| auto().decide(&job, &graph.with_free(&free)).unwrap().placement().set();
/// assert_eq!(decide(Request::new(Pattern::ring(2))), [2, 3].into());
/// // A job that needs one device leaves the pair alone, and so does one that needs no bandwidth.
/// assert_eq!(decide(Request::new(Pattern::ring(1))), [0].into());
/// assert_eq!(decide(Request::new(Pattern::ring(2)).sensitive(false)), [0, 4].into());
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn auto() -> Auto {
    Auto::new(&Models::Shipped, None)
}

/// [`auto`] with shares of links of your own, such as those that were measured on this very machine.
/// Shares that they lack are taken from what is nearest in them ([`Efficiency::of`]).
#[must_use]
pub fn auto_by(efficiency: &Arc<Efficiency>) -> Auto {
    Auto::new(&Models::Shares(Arc::clone(efficiency)), None)
}

/// [`auto`] with a model of bandwidth for jobs of every pattern.
#[must_use]
pub fn auto_with(model: Objective<'static>) -> Auto {
    Auto::new(&Models::One(model), None)
}

/// [`auto`] for a training job whose traffic is known: the least communication time of a step
/// comes first ([`min_step_time`](crate::min_step_time)), then the bandwidth, as in `auto`. An
/// insensitive job still gets what others can spare.
#[must_use]
pub fn auto_for(job: &Parallelism, rates: Rates) -> Auto {
    let fastest = faster(least_step_time(job, rates), &job.pattern());
    Auto::new(&Models::Shipped, Some(fastest))
}

/// [`auto`] for a job whose pattern counts bytes: the least time of the slowest edge comes first
/// ([`min_edges_seconds`](crate::min_edges_seconds)), then the bandwidth, as in `auto`.
#[must_use]
pub fn auto_for_edges(pattern: &Pattern, rates: Rates) -> Auto {
    let fastest = faster(least_edges_seconds(pattern, rates), pattern);
    Auto::new(&Models::Shipped, Some(fastest))
}

/// The rules of the least time, and what decides among equal times. The time has settled the rank
/// order.
fn faster(least: Rules<'static>, pattern: &Pattern) -> Rules<'static> {
    least
        .then(max(fitting_model(pattern)))
        .then(max(preserved_gbps()))
        .report_paper_scores()
}

/// What predicts bandwidth.
enum Models {
    /// [`Expected`] as it is shipped.
    Shipped,
    /// [`Expected`] with other shares.
    Shares(Arc<Efficiency>),
    /// One model for jobs of every pattern.
    One(Objective<'static>),
}

/// The policy made by [`auto`], [`auto_by`], [`auto_with`], [`auto_for`] and [`auto_for_edges`].
#[derive(Clone, Debug)]
pub struct Auto {
    id: PolicyId,
    /// The model for jobs of each collective; without one, [`default_model`].
    own: Option<[Objective<'static>; 3]>,
    /// The rules, made when they are needed first: tables are kept by the identity of rules.
    rules: Arc<[OnceLock<Rules<'static>>; Case::COUNT]>,
    /// Whether the packing at nominal rates is reported beside the model.
    reports_nominal: bool,
    fastest: Option<Rules<'static>>,
    packed: Rules<'static>,
    least_port_slowdown: Rules<'static>,
    shared: Rules<'static>,
}

/// What decides which rules apply to a job.
#[derive(Clone, Copy)]
struct Case {
    collective: Collective,
    /// Whether the generation of every link is known.
    known: bool,
    /// Whether all devices reach each other's memory.
    open: bool,
    /// Whether any two devices have a path through the host.
    hosted: bool,
    /// Whether the job gets what others can spare.
    spares: bool,
    /// Whether there are few enough sets to look at the host for each.
    few: bool,
}

impl Case {
    const COUNT: usize = 3 * 32;

    fn at(self) -> usize {
        let bits = [self.known, self.open, self.hosted, self.spares, self.few];
        let own = bits.iter().fold(0, |at, &bit| 2 * at + usize::from(bit));
        32 * self.collective as usize + own
    }
}

impl Auto {
    fn new(models: &Models, fastest: Option<Rules<'static>>) -> Self {
        let own = match models {
            Models::Shipped => None,
            Models::Shares(efficiency) => Some(Collective::ALL.map(|collective| {
                Expected::new(collective.operation(), Arc::clone(efficiency)).objective()
            })),
            Models::One(model) => Some([0; 3].map(|_| model.clone())),
        };
        Self {
            id: PolicyId::unique(),
            own,
            rules: Arc::new([const { OnceLock::new() }; Case::COUNT]),
            reports_nominal: !matches!(models, Models::One(_)),
            fastest,
            packed: packed(),
            least_port_slowdown: least_port_slowdown(1.0, PCIE_GEN4_GBPS),
            shared: Rules::new(NAME)
                .prefer(least("warps in use", |seat| seat.usage().warps as f64).blind_to_ids()),
        }
    }

    /// The rules for this request on this view.
    fn rules(&self, request: &Request, view: &View<'_>) -> &Rules<'static> {
        let pattern = &request.pattern;
        if let Some(rules) = self.of_instances(pattern) {
            return rules;
        }
        let spares = request.sensitivity == Sensitivity::Insensitive || pattern.edges().is_empty();
        if let Some(fastest) = self.fastest.as_ref().filter(|_| !spares) {
            return fastest;
        }
        let host = HostNetwork::of(view.graph());
        let case = Case {
            collective: Collective::of(pattern),
            known: host.all_known(),
            open: host.is_open(),
            hosted: host.has_paths(),
            spares,
            few: are_few(request.room(view).len(), view.free().len(), pattern.len()),
        };
        let figure = || case.collective.figure(&host);
        self.rules[case.at()].get_or_init(|| self.make(case, figure()))
    }

    /// The rules of a case, with the figure that is printed for it where no model is named.
    fn make(&self, case: Case, figure: Objective<'static>) -> Rules<'static> {
        let own = self.own.as_ref();
        let model = own.map_or(figure, |models| models[case.collective as usize].clone());
        let network = network_gbps(case.collective.operation());
        // A packing takes sets for equal that share different parts of the host. It comes first all the
        // same: no other set may have more of what is printed.
        let is_packing = own.is_none() && !case.known && case.open;
        let rules = Rules::new(NAME);
        let rules = if case.spares {
            rules.prefer(max(preserved_gbps())).then(max(model.clone()))
        } else {
            rules.prefer(max(model.clone()))
        };
        let rules = match is_packing {
            true if case.hosted => rules.then(max(network)),
            true => rules.report(network),
            false => rules,
        };
        let rules = if case.spares {
            rules
        } else {
            rules.then(max(preserved_gbps()))
        };
        let rules = match (case.few, case.open) {
            (false, _) => rules,
            (true, true) => rules
                .then(min(host_distance()))
                .then(min(host_distance_left())),
            (true, false) => rules.then(min(host_sharing())),
        };
        // The rank order comes last: the criteria before see sets alone.
        let rules = rules.then(min(host_hops())).then(max(aggregate_gbps()));
        let nominal = case.collective.nominal();
        let rules = if !self.reports_nominal || nominal.name() == model.name() {
            rules
        } else {
            rules.report(nominal)
        };
        rules.report_paper_scores()
    }

    /// The rules for a job on instances; `None` for one on whole devices.
    fn of_instances(&self, pattern: &Pattern) -> Option<&Rules<'static>> {
        let demands = pattern.demands();
        let is_of_size = |demand: &Demand| matches!(demand.want, Want::Slice(_) | Want::Profile(_));
        let is_part = |demand: &Demand| {
            is_of_size(demand) || matches!(demand.want, Want::AtLeast(_) | Want::Any)
        };
        if demands.iter().any(Demand::is_shared) {
            Some(&self.shared)
        } else if !demands.iter().any(is_part) {
            None
        } else if demands.iter().all(is_of_size)
            && demands.iter().any(|demand| demand.pcie_mb_s > 0)
        {
            Some(&self.least_port_slowdown)
        } else {
            Some(&self.packed)
        }
    }
}

/// Whether closeness in the host is compared for sets of `k` of `n` devices, where `free` are free.
fn are_few(n: usize, free: usize, k: usize) -> bool {
    let sets = sets(n, k);
    sets <= MOST_SETS && sets * (free as u128).pow(2) / 2 <= MOST_PAIRS
}

/// The number of sets of `k` of `n` devices, at most `u128::MAX`.
fn sets(n: usize, k: usize) -> u128 {
    (0..k.min(n.saturating_sub(k))).fold(1, |sets: u128, i| {
        sets.saturating_mul((n - i) as u128) / (i as u128 + 1)
    })
}

impl Policy for Auto {
    fn name(&self) -> &str {
        NAME
    }

    /// Rules for instances see usage. But where the free set describes the state, every device is
    /// whole, and those in it have no tenants.
    fn of_free_set(&self) -> Option<PolicyId> {
        self.fastest.is_none().then_some(self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        // The rules decide afresh: they would keep the answer a second time.
        remembered(self.of_free_set(), request, view, || {
            let decision = self.rules(request, view).decide_afresh(request, view)?;
            Ok(decision.renamed(NAME.into()))
        })
    }
}
