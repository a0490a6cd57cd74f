//! Objectives: named numbers per placement, classified by what they depend on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::packing::rounded;
use super::{Census, Tiers};
use crate::matching::Placement;
use crate::pattern::{Demand, Pattern};
use crate::state::Usage;
use crate::topology::{Device, DeviceId, DeviceSet, HardwareGraph, Link};
use crate::view::View;

/// A pattern edge and the link it lies on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeOn {
    /// The edge's traffic.
    pub traffic: f64,
    /// The best link between its two devices.
    pub link: Link,
}

/// Some devices of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Subset<'a> {
    /// The machine.
    pub graph: &'a HardwareGraph,
    /// The devices.
    pub devices: &'a DeviceSet,
}

/// A rank on a vertex, in the state before the decision. The number of the rank is not given: ranks
/// of equal demand look the same, so symmetry can be used.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Seat<'a> {
    /// The state before the decision.
    pub view: View<'a>,
    /// What the rank needs.
    pub demand: &'a Demand,
    /// The vertex.
    pub id: DeviceId,
}

impl<'a> Seat<'a> {
    /// A rank with this demand on this vertex of the view, for evaluating a policy's terms by hand.
    #[must_use]
    pub fn new(view: View<'a>, demand: &'a Demand, id: DeviceId) -> Self {
        Self { view, demand, id }
    }

    /// The vertex.
    ///
    /// # Panics
    /// As [`HardwareGraph::device`]; never for the seats that a policy's closures receive.
    #[must_use]
    pub fn device(&self) -> &'a Device {
        self.view.graph().device(self.id)
    }

    /// The whole device that the vertex is a part of; for a whole device, the device itself.
    #[must_use]
    pub fn whole(&self) -> DeviceId {
        self.device().parent
    }

    /// The usage of the tenants of the vertex.
    #[must_use]
    pub fn usage(&self) -> &'a Usage {
        self.view.usage(self.id)
    }

    /// The usage of the tenants of the whole device and of its instances.
    #[must_use]
    pub fn usage_of_whole(&self) -> &'a Usage {
        self.view.usage_of_whole(self.whole())
    }

    /// The memory of the vertex that is not allocated, bytes; 0 if it is not known.
    #[must_use]
    pub fn free_memory(&self) -> u64 {
        self.view.free_memory(self.id).unwrap_or(0)
    }

    /// The number of other vertices of the same whole device that are free.
    #[must_use]
    pub fn free_siblings(&self) -> usize {
        (self.view.graph().vertices(self.whole()) & self.view.free())
            .iter()
            .filter(|&id| id != self.id)
            .count()
    }
}

/// A placement under consideration.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The state before the placement.
    pub view: View<'a>,
    /// The job.
    pub pattern: &'a Pattern,
    /// The device of each rank.
    pub placement: &'a [DeviceId],
}

type SharedFn<'a, Arg> = Arc<dyn Fn(Arg) -> f64 + Send + Sync + 'a>;

/// The form of an objective: what its value depends on.
#[derive(Clone)]
#[non_exhaustive]
pub enum Form<'a> {
    /// The number of pattern edges in each tier.
    Links(Tiers, Arc<dyn Fn(&Census) -> f64 + Send + Sync + 'a>),
    /// A sum over pattern edges.
    Edges(SharedFn<'a, EdgeOn>),
    /// A sum over pattern vertices.
    Devices(Arc<dyn Fn(&Seat<'_>) -> f64 + Send + Sync + 'a>),
    /// The set of chosen devices.
    Chosen(Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>),
    /// The set of devices that stay free.
    Rest(Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>),
    /// Any function of the whole placement.
    Placement(Arc<dyn Fn(&Candidate<'_>) -> f64 + Send + Sync + 'a>),
}

/// A named number per placement. A name has one meaning: `effective_gbps` is always the paper's Eq.
/// 2.
///
/// The closure must be a pure function of its arguments. Values of links, edges and sets are kept
/// with the machine for later decisions of this objective and its clones
/// ([`HardwareGraph::table_bytes`]). So make an objective once and clone it, rather than making it
/// again for every decision.
///
/// # Examples
///
/// ```
/// use mapa_core::{Objective, Rules, criteria::max};
///
/// // The most traffic on direct links; on a tie the best single link left to others.
/// let on_direct = Objective::edges("direct traffic", |e| if e.link.class.is_direct() { e.traffic } else { 0.0 });
/// let best_left = Objective::rest("best link left", |rest| {
///     let links = rest.devices.iter().flat_map(|a| rest.devices.iter().map(move |b| rest.graph.link(a, b).gbps));
///     links.fold(0.0, f64::max)
/// });
/// let policy = Rules::new("mine").prefer(max(on_direct)).then(max(best_left));
/// # let _ = policy;
/// ```
#[derive(Clone)]
pub struct Objective<'a> {
    /// A number that only clones share: the key of tables.
    id: u64,
    name: Cow<'static, str>,
    form: Form<'a>,
    symmetric: bool,
    /// Whether the set of devices decides a value of the whole placement.
    of_set: bool,
    /// Whether devices that differ only in their ids have equal values.
    blind: bool,
    best_on: Option<BoundFn<'a>>,
    foresight: Option<Arc<SetBounds<'a>>>,
    /// A function that finds the best rank order on a set.
    best_order: Option<BestOrder<'a>>,
    /// Whether these three are bounds of the highest or of the lowest value. None if they are
    /// bounds of the best value, whichever direction the objective is used in.
    bounds_of: Option<Direction>,
    /// The pairs of whole devices whose values the objective adds up, if it is such a sum.
    pair_sum: Option<Arc<PairSum<'a>>>,
    /// The values of whole devices by their number of ranks that the objective adds up, if it is such a
    /// sum.
    whole_sum: Option<Arc<WholeSum<'a>>>,
    /// The domain of a model; none for an objective that is no model.
    domain: Option<DomainTest<'a>>,
}

/// A sum over pairs of whole devices.
pub(crate) struct PairSum<'a> {
    pub(crate) of: PairsOf,
    pub(crate) value: Box<PairValue<'a>>,
}

type PairValue<'a> = dyn Fn(&HardwareGraph, DeviceId, DeviceId) -> f64 + Send + Sync + 'a;

/// The pairs of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairsOf {
    /// The pairs of the chosen devices.
    Chosen,
    /// The pairs of the devices that stay free.
    Left,
}

/// The value of a whole device on which so many ranks are placed, at least one.
pub(crate) type WholeSum<'a> = dyn Fn(&View<'_>, DeviceId, u32) -> f64 + Send + Sync + 'a;

type DomainTest<'a> = Arc<dyn Fn(&Candidate<'_>) -> bool + Send + Sync + 'a>;

type BoundFn<'a> = Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>;

/// A function that gives the best rank order of a pattern on a set of devices, and on a tie the
/// smallest; none if it cannot order this pattern. Before every step it calls the given closure; if
/// that returns false, it stops with the best order so far.
pub(crate) type BestOrder<'a> = Arc<
    dyn Fn(&Pattern, Subset<'_>, &mut dyn FnMut() -> bool) -> Option<Placement> + Send + Sync + 'a,
>;

/// Bounds of the best value on many sets at once.
#[derive(Clone)]
pub(crate) struct SetBounds<'a> {
    /// A bound for all sets of that many of these devices. If all links are alike, a set that
    /// reaches the bound is known to be the best.
    pub(crate) within: Arc<dyn Fn(Subset<'_>, usize) -> f64 + Send + Sync + 'a>,
    /// A bound for all sets of these devices that direct links do not connect, not even through
    /// other devices of the set.
    pub(crate) apart: Option<BoundFn<'a>>,
    /// A bound by the direct links of any one device, for sets of that many of these devices.
    pub(crate) by_degree: Option<DegreeBoundFn<'a>>,
}

type DegreeBoundFn<'a> = Arc<dyn Fn(Subset<'_>, usize) -> Option<DegreeBound> + Send + Sync + 'a>;

/// A bound on the bandwidth of a set by the direct links that one of its devices has inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DegreeBound {
    /// No set has more than this over other ways than direct links alone, GB/s.
    pub(crate) otherwise: f64,
    /// How much of what is around a device counts.
    pub(crate) share: f64,
    /// Whether all that leaves a device leaves over two different links: in rings of three devices and more.
    pub(crate) over_two: bool,
}

impl DegreeBound {
    /// The most that a set carries over direct links, GB/s, if a device in it has `all` GB/s of them,
    /// and the widest has `widest`.
    pub(crate) fn at_most(&self, all: f64, widest: f64) -> f64 {
        let around = if self.over_two {
            all.min(2.0 * (all - widest))
        } else {
            all
        };
        rounded(self.share * around)
    }
}

/// Whether the highest or the lowest value is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Highest,
    Lowest,
}

impl<'a> Objective<'a> {
    fn new(name: impl Into<Cow<'static, str>>, form: Form<'a>) -> Self {
        let symmetric = !matches!(form, Form::Placement(_));
        let blind = matches!(form, Form::Links(..) | Form::Edges(_));
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Relaxed);
        Self {
            id,
            name: name.into(),
            form,
            symmetric,
            of_set: false,
            blind,
            best_on: None,
            foresight: None,
            best_order: None,
            bounds_of: None,
            pair_sum: None,
            whole_sum: None,
            domain: None,
        }
    }

    /// An objective that is a function of how many pattern edges lie in each tier.
    pub fn links(
        name: impl Into<Cow<'static, str>>,
        tiers: Tiers,
        f: impl Fn(&Census) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Links(tiers, Arc::new(f)))
    }

    /// An objective that is a sum over the pattern's edges.
    pub fn edges(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(EdgeOn) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Edges(Arc::new(f)))
    }

    /// An objective that is a sum over the pattern's vertices, each on its device.
    pub fn devices(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(&Seat<'_>) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Devices(Arc::new(f)))
    }

    /// An objective that is a function of the set of chosen devices.
    pub fn chosen(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Chosen(Arc::new(f)))
    }

    /// An objective that is a function of the set of devices that stay free.
    pub fn rest(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Rest(Arc::new(f)))
    }

    /// An objective that is a sum over the pairs of whole devices that stay free: `f` of the best
    /// link of each pair, and 0 for pairs without a link.
    ///
    /// [`Objective::rest`] can express the same value, but this form is faster. Sets that cannot
    /// win are skipped, and if links are alike, as behind a link switch, the first set is known to
    /// be the best.
    pub fn links_left(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(Link) -> f64 + Send + Sync + 'a,
    ) -> Self {
        let worth: SharedFn<'a, Link> = Arc::new(f);
        let of_pair = worth.clone();
        let sum = move |rest: Subset<'_>| {
            let wholes = rest.graph.wholes();
            let only_wholes = rest
                .devices
                .last()
                .is_none_or(|last| last.index() < wholes.len());
            let set = if only_wholes {
                Cow::Borrowed(rest.devices)
            } else {
                Cow::Owned(rest.devices & &wholes)
            };
            rest.graph.sum_of_links(&set, |link| worth(link))
        };
        let value = move |graph: &HardwareGraph, a, b| {
            let link = graph.link(a, b);
            if link.exists() { of_pair(link) } else { 0.0 }
        };
        Self::rest(name, sum).sum_of_pairs(PairsOf::Left, value)
    }

    /// States that the objective is the sum of these values over pairs of whole devices.
    pub(crate) fn sum_of_pairs(
        self,
        of: PairsOf,
        value: impl Fn(&HardwareGraph, DeviceId, DeviceId) -> f64 + Send + Sync + 'a,
    ) -> Self {
        let value = Box::new(value);
        let pair_sum = Some(Arc::new(PairSum { of, value }));
        Self { pair_sum, ..self }
    }

    /// The sum over pairs of devices that the objective is, if it is one.
    pub(crate) fn pair_sum(&self) -> Option<&PairSum<'a>> {
        self.pair_sum.as_deref()
    }

    /// An objective that is a sum over the whole devices that the placement uses, or parts of which it
    /// uses: `f` of the state before, the device, and the number of ranks there.
    pub(crate) fn whole_devices(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(&View<'_>, DeviceId, u32) -> f64 + Send + Sync + 'a,
    ) -> Self {
        let f: Arc<WholeSum<'a>> = Arc::new(f);
        let own = f.clone();
        let sum = move |candidate: &Candidate<'_>| {
            let graph = candidate.view.graph();
            let mut ranks = BTreeMap::<DeviceId, u32>::new();
            for &id in candidate.placement {
                *ranks.entry(graph.device(id).parent).or_default() += 1;
            }
            // Not `sum`: the sum of no floats is -0.
            let values = ranks
                .iter()
                .map(|(&whole, &ranks)| own(&candidate.view, whole, ranks));
            values.fold(0.0, |sum, value| sum + value)
        };
        Self {
            whole_sum: Some(f),
            ..Self::placement(name, sum).of_set().blind_to_ids()
        }
    }

    /// The values of whole devices that the objective adds up, if it is such a sum.
    pub(crate) fn whole_sum(&self) -> Option<&WholeSum<'a>> {
        self.whole_sum.as_deref()
    }

    /// An objective that is a function of the whole placement. Nothing is assumed of the function,
    /// so every rank order is tried: with s automorphisms of the pattern, s times the work of the
    /// other forms. [`Objective::symmetric`] and [`Objective::bounded`] add promises that save
    /// work.
    pub fn placement(
        name: impl Into<Cow<'static, str>>,
        f: impl Fn(&Candidate<'_>) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Placement(Arc::new(f)))
    }

    /// Promises that placements that are equal up to an automorphism of the pattern have equal
    /// values. All other forms have this property by themselves. If the promise is broken, a
    /// decision uses the value of one of these placements, whichever it finds.
    #[must_use]
    pub fn symmetric(self) -> Self {
        Self {
            symmetric: true,
            ..self
        }
    }

    /// Promises that the set of devices alone decides the value of an [`Objective::placement`], not
    /// the order of ranks on it. Use it for functions of what a [`Subset`] does not show, such as
    /// the tenants. The promise does not cover placements in which ranks share devices.
    #[must_use]
    pub fn of_set(self) -> Self {
        Self {
            of_set: true,
            symmetric: true,
            ..self
        }
    }

    /// Promises that devices that differ only in their ids have equal values: instances of one
    /// profile on one device with equal tenants, and devices with equal links to all others.
    ///
    /// Of sets that differ only in such devices, only the one with the lowest ids is then
    /// examined. Of 56 equal instances on eight devices, eight can be chosen in 6,427 ways rather
    /// than 1,420,494,075. Objectives of links and of edges keep the promise by themselves.
    #[must_use]
    pub fn blind_to_ids(self) -> Self {
        Self {
            blind: true,
            ..self
        }
    }

    /// Whether devices that differ only in their ids have equal values.
    pub(crate) fn is_blind(&self) -> bool {
        self.blind
    }

    /// States a bound on the value of every placement on exactly these devices, so that sets that
    /// cannot win are skipped. It must be an upper bound if the objective is maximised, and a lower
    /// bound if it is minimised.
    ///
    /// Use it for [`Objective::placement`], and for an [`Objective::chosen`] that takes long to
    /// compute. Sets are then examined in the order of their bounds. The other forms have bounds of
    /// their own. If a value is better than its bound, the optimum may be missed.
    #[must_use]
    pub fn bounded(self, best_on: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self {
            best_on: Some(Arc::new(best_on)),
            ..self
        }
    }

    /// States that all bounds are of the best value in this direction.
    pub(crate) fn bounds_of(self, direction: Direction) -> Self {
        Self {
            bounds_of: Some(direction),
            ..self
        }
    }

    /// The objective as it is optimised in this direction, without bounds that were stated for the
    /// other direction.
    pub(crate) fn directed(self, direction: Direction) -> Self {
        if self.bounds_of.is_none_or(|bounded| bounded == direction) {
            return self;
        }
        Self {
            best_on: None,
            foresight: None,
            best_order: None,
            ..self
        }
    }

    /// States bounds of many sets at once.
    pub(crate) fn foreseen(self, foresight: SetBounds<'a>) -> Self {
        Self {
            foresight: Some(Arc::new(foresight)),
            ..self
        }
    }

    /// The bounds of many sets at once, if they are stated.
    pub(crate) fn foresight(&self) -> Option<&SetBounds<'a>> {
        self.foresight.as_deref()
    }

    /// Whether the chosen set decides the value, and a bound is stated that is cheaper than the
    /// value.
    pub(crate) fn is_chosen_and_bounded(&self) -> bool {
        matches!(self.form, Form::Chosen(_)) && self.best_on.is_some()
    }

    /// The bound of the value on exactly these devices, if one is stated.
    pub(crate) fn best_on(&self, subset: Subset<'_>) -> Option<f64> {
        self.best_on.as_ref().map(|best_on| best_on(subset))
    }

    /// States where the value of a fitted model can be relied on. The domain changes no value and
    /// no choice; decisions report whether the chosen placement lies within it
    /// ([`Scored::in_domain`](crate::Scored::in_domain)).
    #[must_use]
    pub fn domain(self, holds: impl Fn(&Candidate<'_>) -> bool + Send + Sync + 'a) -> Self {
        Self {
            domain: Some(Arc::new(holds)),
            ..self
        }
    }

    /// Whether a placement lies in the domain, where the value can be relied on; true if no domain
    /// is stated.
    #[must_use]
    pub fn in_domain(&self, candidate: &Candidate<'_>) -> bool {
        self.domain.as_ref().is_none_or(|holds| holds(candidate))
    }

    /// States how the best rank order on a set is found: the order of lowest value, with values
    /// rounded as criteria round them, and on a tie the smallest. There must be one on every set.
    /// For an [`Objective::placement`] that is minimised.
    #[must_use]
    pub(crate) fn ordered(self, best_order: BestOrder<'a>) -> Self {
        Self {
            best_order: Some(best_order),
            ..self
        }
    }

    /// The function that finds the best rank order on a set, if one is stated.
    pub(crate) fn best_order(&self) -> Option<&BestOrder<'a>> {
        self.best_order.as_ref()
    }

    /// A number that only clones share.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form: what the value depends on.
    #[must_use]
    pub fn form(&self) -> &Form<'a> {
        &self.form
    }

    /// The value of a placement. This is the definition; every faster computation must agree with
    /// it.
    ///
    /// # Complexity
    ///
    /// Of links and edges O(e) for e pattern edges, of devices O(k) for k ranks, beside the calls
    /// of the closure.
    #[must_use]
    pub fn score(&self, candidate: &Candidate<'_>) -> f64 {
        let Candidate {
            view,
            pattern,
            placement,
        } = *candidate;
        let graph = view.graph();
        match &self.form {
            Form::Links(tiers, f) => f(&Census::of(pattern, placement, graph, tiers)),
            Form::Edges(f) => {
                // Not `sum`: the sum of no floats is -0.
                pattern.edges().iter().fold(0.0, |sum, edge| {
                    let (a, b) = (usize::from(edge.a), usize::from(edge.b));
                    sum + f(EdgeOn {
                        traffic: edge.traffic,
                        link: graph.link_of_ranks(placement[a], placement[b]),
                    })
                })
            }
            Form::Devices(f) => {
                let seats = placement.iter().zip(pattern.demands());
                seats.fold(0.0, |sum, (&id, demand)| {
                    sum + f(&Seat { view, demand, id })
                })
            }
            Form::Chosen(_) | Form::Rest(_) => self
                .score_set(&view, pattern, &placement.iter().copied().collect())
                .unwrap_or(f64::NAN),
            Form::Placement(f) => f(candidate),
        }
    }

    /// The value of every placement of one rank on each device of `set`, if the set alone decides
    /// it.
    pub(crate) fn score_set(
        &self,
        view: &View<'_>,
        pattern: &Pattern,
        set: &DeviceSet,
    ) -> Option<f64> {
        let graph = view.graph();
        match &self.form {
            Form::Chosen(f) => Some(f(Subset {
                graph,
                devices: set,
            })),
            // A free set that a caller keeps may contain ids that the machine does not have.
            Form::Rest(f) => {
                let mut rest = &(view.free() & graph.everything()) - set;
                // Vertices that cannot exist beside the chosen ones do not stay free either.
                if graph.can_be_cut() {
                    rest = set.iter().fold(rest, |rest, id| &rest - graph.overlap(id));
                }
                Some(f(Subset {
                    graph,
                    devices: &rest,
                }))
            }
            Form::Devices(f) if self.is_of_set(pattern) => {
                let demand = pattern.demands().first()?;
                Some(
                    set.iter()
                        .map(|id| {
                            f(&Seat {
                                view: *view,
                                demand,
                                id,
                            })
                        })
                        .fold(0.0, |sum, value| sum + value),
                )
            }
            Form::Placement(f) if self.is_of_set(pattern) => {
                let placement: Placement = set.iter().collect();
                Some(f(&Candidate {
                    view: *view,
                    pattern,
                    placement: &placement,
                }))
            }
            _ => None,
        }
    }

    /// Whether the set of chosen devices decides the value, with one rank on each.
    pub(crate) fn is_of_set(&self, pattern: &Pattern) -> bool {
        match self.form {
            Form::Chosen(_) | Form::Rest(_) => true,
            Form::Devices(_) => pattern.is_uniform() && !pattern.may_share(),
            Form::Placement(_) => self.of_set && pattern.is_uniform() && !pattern.may_share(),
            _ => false,
        }
    }

    /// Whether matches that are equal up to an automorphism of the pattern have equal values.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Whether the machine and the placement decide the value, whichever other devices are in use.
    pub(crate) fn sees_only_the_machine(&self) -> bool {
        self.sees_only_the_free_set() && !matches!(self.form, Form::Rest(_))
    }

    /// Whether the machine, the placement and the free set decide the value, whatever the tenants
    /// are.
    pub(crate) fn sees_only_the_free_set(&self) -> bool {
        !matches!(self.form, Form::Devices(_) | Form::Placement(_))
    }
}

impl fmt::Debug for Objective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Links(..) => "links",
            Form::Edges(_) => "edges",
            Form::Devices(_) => "devices",
            Form::Chosen(_) => "chosen",
            Form::Rest(_) => "rest",
            Form::Placement(_) => "placement",
        };
        write!(f, "{} (of {form})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_ring_a_device_carries_at_most_twice_what_is_beside_its_widest_link() {
        let bound = |over_two| DegreeBound {
            otherwise: 0.0,
            share: 0.5,
            over_two,
        };
        assert_eq!(bound(true).at_most(100.0, 80.0), 20.0);
        assert_eq!(bound(true).at_most(100.0, 25.0), 50.0);
        assert_eq!(bound(false).at_most(100.0, 80.0), 50.0);
    }
}
