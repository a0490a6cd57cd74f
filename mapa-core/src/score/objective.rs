//! Named numbers per placement, by what they are allowed to see.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

/// A rank on a vertex: the state before the decision. It does not say which rank, so that ranks of equal demand are not
/// told apart and symmetry stays usable.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Seat<'a> {
    /// The state before it.
    pub view: View<'a>,
    /// What the rank needs.
    pub demand: &'a Demand,
    /// The vertex.
    pub id: DeviceId,
}

impl<'a> Seat<'a> {
    /// A rank with this demand on this vertex of the view: for asking a policy's terms by hand.
    #[must_use]
    pub fn new(view: View<'a>, demand: &'a Demand, id: DeviceId) -> Self {
        Self { view, demand, id }
    }

    /// The vertex.
    ///
    /// # Panics
    /// As [`HardwareGraph::device`]; never for the vertices that a policy's closures are shown.
    #[must_use]
    pub fn device(&self) -> &'a Device {
        self.view.graph().device(self.id)
    }

    /// The device that the vertex is a part of; itself, if it is whole.
    #[must_use]
    pub fn whole(&self) -> DeviceId {
        self.device().parent
    }

    /// What the tenants of the vertex use.
    #[must_use]
    pub fn usage(&self) -> &'a Usage {
        self.view.usage(self.id)
    }

    /// What the tenants of the whole device and its instances use.
    #[must_use]
    pub fn usage_of_whole(&self) -> &'a Usage {
        self.view.usage_of_whole(self.whole())
    }

    /// Memory of the vertex that is not given away, bytes; 0 if it is not known.
    #[must_use]
    pub fn free_memory(&self) -> u64 {
        self.view.free_memory(self.id).unwrap_or(0)
    }

    /// How many other vertices of the same whole device are free.
    #[must_use]
    pub fn free_siblings(&self) -> usize {
        (self.view.graph().vertices(self.whole()) & self.view.free()).iter().filter(|&id| id != self.id).count()
    }
}

/// A placement under consideration.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The state before it.
    pub view: View<'a>,
    /// The job.
    pub pattern: &'a Pattern,
    /// The device of each rank.
    pub placement: &'a [DeviceId],
}

type Shared<'a, Arg> = Arc<dyn Fn(Arg) -> f64 + Send + Sync + 'a>;

/// What an objective is a function of.
#[derive(Clone)]
#[non_exhaustive]
pub enum Form<'a> {
    /// The number of pattern edges in each tier.
    Links(Tiers, Arc<dyn Fn(&Census) -> f64 + Send + Sync + 'a>),
    /// A sum over pattern edges.
    Edges(Shared<'a, EdgeOn>),
    /// A sum over pattern vertices.
    Devices(Arc<dyn Fn(&Seat<'_>) -> f64 + Send + Sync + 'a>),
    /// The set of chosen devices.
    Chosen(Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>),
    /// The set of devices that stay free.
    Rest(Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>),
    /// Anything.
    Placement(Arc<dyn Fn(&Candidate<'_>) -> f64 + Send + Sync + 'a>),
}

/// A named number per placement. The name is part of the number: `effective_gbps` is always the paper's Eq. 2.
///
/// Its closure must be a pure function of what it is shown: values of links, edges and sets are kept with the machine for
/// later decisions ([`HardwareGraph::table_bytes`]), for this objective and its copies. Make an objective once and clone it,
/// rather than anew for every decision.
///
/// ```
/// use mapa_core::{Objective, Rules, max};
///
/// // The most traffic on direct links; then the best single link left to others.
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
    /// Equal for copies only: what tables go by.
    id: u64,
    name: Cow<'static, str>,
    form: Form<'a>,
    symmetric: bool,
    /// Whether the set of devices decides a value of the whole placement.
    of_set: bool,
    /// Whether it tells devices apart that differ in nothing but their ids.
    blind: bool,
    best_on: Option<Bound<'a>>,
    foresight: Option<Foresight<'a>>,
    /// The best rank order on a set, found by a way of its own.
    best_order: Option<BestOrder<'a>>,
    /// Whether these three are of the highest value or of the lowest; whichever is asked for, where it is not said.
    bounds_of: Option<Direction>,
    /// What each pair that stays free is worth, where the value is the sum of these.
    each_left: Option<Shared<'a, Link>>,
    /// Where a model holds; none for what is no model.
    domain: Option<Domain<'a>>,
}

type Domain<'a> = Arc<dyn Fn(&Candidate<'_>) -> bool + Send + Sync + 'a>;

type Bound<'a> = Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>;

/// The best rank order of a pattern on a set of devices and, of those, the smallest; none if the pattern is not one that this can
/// order. It asks before every step whether it may go on, and gives the best so far if it may not.
pub(crate) type BestOrder<'a> =
    Arc<dyn Fn(&Pattern, Subset<'_>, &mut dyn FnMut() -> bool) -> Option<Placement> + Send + Sync + 'a>;

/// Bounds of the best value on many sets at once.
#[derive(Clone)]
pub(crate) struct Foresight<'a> {
    /// On any so many of these devices. Where all links are alike the first set is then known to be the best.
    pub(crate) within: Arc<dyn Fn(Subset<'_>, usize) -> f64 + Send + Sync + 'a>,
    /// On any of these devices that direct links do not join to one another, at least by way of others of them.
    pub(crate) apart: Option<Bound<'a>>,
}

/// What is best.
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
            each_left: None,
            domain: None,
        }
    }

    /// Any function of how many pattern edges lie in each tier.
    pub fn links(
        name: impl Into<Cow<'static, str>>,
        tiers: Tiers,
        f: impl Fn(&Census) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Form::Links(tiers, Arc::new(f)))
    }

    /// A sum over the pattern's edges.
    pub fn edges(name: impl Into<Cow<'static, str>>, f: impl Fn(EdgeOn) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Edges(Arc::new(f)))
    }

    /// A sum over the pattern's vertices, each on its device.
    pub fn devices(name: impl Into<Cow<'static, str>>, f: impl Fn(&Seat<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Devices(Arc::new(f)))
    }

    /// A function of the set of chosen devices.
    pub fn chosen(name: impl Into<Cow<'static, str>>, f: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Chosen(Arc::new(f)))
    }

    /// A function of the set of devices that stay free.
    pub fn rest(name: impl Into<Cow<'static, str>>, f: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Rest(Arc::new(f)))
    }

    /// A sum over the pairs of whole devices that stay free, each worth what its best link is worth; pairs that nothing joins
    /// are worth nothing. As [`Objective::rest`], but sets that cannot win are passed over, and where links are alike, as
    /// behind a link switch, the first set is known to be the best.
    pub fn links_left(name: impl Into<Cow<'static, str>>, f: impl Fn(Link) -> f64 + Send + Sync + 'a) -> Self {
        let each: Shared<'a, Link> = Arc::new(f);
        let worth = each.clone();
        let sum = move |rest: Subset<'_>| {
            let wholes = rest.graph.wholes();
            let only_wholes = rest.devices.last().is_none_or(|last| last.index() < wholes.len());
            let set = if only_wholes { Cow::Borrowed(rest.devices) } else { Cow::Owned(rest.devices & &wholes) };
            rest.graph.links_within(&set).fold(0.0, |sum, (.., link)| sum + worth(link))
        };
        Self { each_left: Some(each), ..Self::rest(name, sum) }
    }

    /// What each pair that stays free is worth, if the value is the sum of these.
    pub(crate) fn each_left(&self) -> Option<&Shared<'a, Link>> {
        self.each_left.as_ref()
    }

    /// A function of the whole placement. Nothing is assumed of it, so every rank order is tried, |automorphisms| times the
    /// work of the other forms, unless more is promised: [`Objective::symmetric`], [`Objective::bounded`].
    pub fn placement(name: impl Into<Cow<'static, str>>, f: impl Fn(&Candidate<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Placement(Arc::new(f)))
    }

    /// Promises that placements equal up to an automorphism of the pattern have equal values, as those of all other forms
    /// have. An objective that breaks the promise gets the value of some such placement.
    #[must_use]
    pub fn symmetric(self) -> Self {
        Self { symmetric: true, ..self }
    }

    /// Promises that the set of devices decides the value of an [`Objective::placement`], whichever rank is on which of them:
    /// for what a [`Subset`] does not show, such as who is there already. Where ranks share devices nothing is promised.
    #[must_use]
    pub fn of_set(self) -> Self {
        Self { of_set: true, symmetric: true, ..self }
    }

    /// Promises that devices which differ in nothing but their ids have equal values: instances of one profile on one
    /// device with equal tenants, devices with equal links to all others. Sets that differ only in such devices are then
    /// looked at once, with the lowest ids: of 56 equal instances on eight devices, eight can be taken in 6,427 ways
    /// rather than 1,420,494,075. Values of links and edges keep the promise by themselves.
    #[must_use]
    pub fn blind_to_ids(self) -> Self {
        Self { blind: true, ..self }
    }

    /// Whether it keeps that promise.
    pub(crate) fn is_blind(&self) -> bool {
        self.blind
    }

    /// States the best value (the highest where it is maximised, the lowest where it is minimised) that any placement on
    /// exactly these devices can have, so that sets which cannot win are passed over. For [`Objective::placement`], and for
    /// an [`Objective::chosen`] that takes long to compute: sets are then looked at in the order of their bounds. The other
    /// forms bound themselves. A bound that is too tight costs the optimum.
    #[must_use]
    pub fn bounded(self, best_on: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self { best_on: Some(Arc::new(best_on)), ..self }
    }

    /// Says that all stated bounds are of the best value in this direction.
    pub(crate) fn bounds_of(self, direction: Direction) -> Self {
        Self { bounds_of: Some(direction), ..self }
    }

    /// As it is looked for in this direction: without bounds of the other.
    pub(crate) fn directed(self, direction: Direction) -> Self {
        if self.bounds_of.is_none_or(|own| own == direction) {
            return self;
        }
        Self { best_on: None, foresight: None, best_order: None, ..self }
    }

    /// Bounds of many sets at once.
    pub(crate) fn foreseen(self, foresight: Foresight<'a>) -> Self {
        Self { foresight: Some(foresight), ..self }
    }

    /// Bounds of many sets at once, where they are stated.
    pub(crate) fn foresight(&self) -> Option<&Foresight<'a>> {
        self.foresight.as_ref()
    }

    /// Whether the chosen set decides it, and a bound of it is cheaper than its value.
    pub(crate) fn is_chosen_and_bounded(&self) -> bool {
        matches!(self.form, Form::Chosen(_)) && self.best_on.is_some()
    }

    /// The best value on exactly these devices, where one is stated.
    pub(crate) fn best_on(&self, subset: Subset<'_>) -> Option<f64> {
        self.best_on.as_ref().map(|best_on| best_on(subset))
    }

    /// States where the value can be relied on, for what is a model of something measured. It changes no value and no
    /// choice: decisions say whether what they chose lies within ([`Scored::in_domain`](crate::Scored::in_domain)).
    #[must_use]
    pub fn domain(self, holds: impl Fn(&Candidate<'_>) -> bool + Send + Sync + 'a) -> Self {
        Self { domain: Some(Arc::new(holds)), ..self }
    }

    /// Whether a placement lies where the value can be relied on; true where nothing is stated.
    #[must_use]
    pub fn in_domain(&self, candidate: &Candidate<'_>) -> bool {
        self.domain.as_ref().is_none_or(|holds| holds(candidate))
    }

    /// States how the best rank order on a set is found, where one is to be had on every set: of lowest value, values rounded
    /// as criteria are; then the smallest. For an [`Objective::placement`] that is minimised.
    #[must_use]
    pub(crate) fn ordered(self, best_order: BestOrder<'a>) -> Self {
        Self { best_order: Some(best_order), ..self }
    }

    /// How the best rank order on a set is found, if that is stated.
    pub(crate) fn best_order(&self) -> Option<&BestOrder<'a>> {
        self.best_order.as_ref()
    }

    /// A number that copies share and others have not.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is a function of.
    #[must_use]
    pub fn form(&self) -> &Form<'a> {
        &self.form
    }

    /// Its value: the definition, on which every faster way must agree.
    #[must_use]
    pub fn score(&self, candidate: &Candidate<'_>) -> f64 {
        let Candidate { view, pattern, placement } = *candidate;
        let graph = view.graph();
        match &self.form {
            Form::Links(tiers, f) => f(&Census::of(pattern, placement, graph, tiers)),
            Form::Edges(f) => {
                let link = |a: u16, b: u16| graph.link_of_ranks(placement[usize::from(a)], placement[usize::from(b)]);
                // Not `sum`, which makes -0 of nothing.
                let values = pattern.edges().iter().map(|e| f(EdgeOn { traffic: e.traffic, link: link(e.a, e.b) }));
                values.fold(0.0, |sum, value| sum + value)
            }
            Form::Devices(f) => {
                let seat = |(&id, demand)| f(&Seat { view, demand, id });
                placement.iter().zip(pattern.demands()).map(seat).fold(0.0, |sum, value| sum + value)
            }
            Form::Chosen(_) | Form::Rest(_) => {
                self.score_set(&view, pattern, &placement.iter().copied().collect()).unwrap_or(f64::NAN)
            }
            Form::Placement(f) => f(candidate),
        }
    }

    /// Its value for every placement on the devices of `set`, one rank each, if the set alone decides it.
    pub(crate) fn score_set(&self, view: &View<'_>, pattern: &Pattern, set: &DeviceSet) -> Option<f64> {
        let graph = view.graph();
        match &self.form {
            Form::Chosen(f) => Some(f(Subset { graph, devices: set })),
            // Whoever keeps their own books may have written ids in them that the machine does not have.
            Form::Rest(f) => {
                let mut rest = &(view.free() & graph.everything()) - set;
                if graph.can_be_cut() {
                    rest = set.iter().fold(rest, |rest, id| &rest - graph.overlap(id));
                }
                Some(f(Subset { graph, devices: &rest }))
            }
            Form::Devices(f) if self.is_of_set(pattern) => {
                let demand = pattern.demands().first()?;
                Some(set.iter().map(|id| f(&Seat { view: *view, demand, id })).fold(0.0, |sum, value| sum + value))
            }
            Form::Placement(f) if self.is_of_set(pattern) => {
                let placement: Placement = set.iter().collect();
                Some(f(&Candidate { view: *view, pattern, placement: &placement }))
            }
            _ => None,
        }
    }

    /// Whether the set of chosen devices decides it, one rank on each.
    pub(crate) fn is_of_set(&self, pattern: &Pattern) -> bool {
        match self.form {
            Form::Chosen(_) | Form::Rest(_) => true,
            Form::Devices(_) => pattern.is_uniform() && !pattern.may_share(),
            Form::Placement(_) => self.of_set && pattern.is_uniform() && !pattern.may_share(),
            _ => false,
        }
    }

    /// Whether matches equal up to an automorphism of the pattern must have equal values.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Whether the machine and the placement decide the value, whatever else is in use.
    pub(crate) fn sees_only_the_machine(&self) -> bool {
        self.sees_only_the_free_set() && !matches!(self.form, Form::Rest(_))
    }

    /// Whether the machine, the placement and what is free decide the value, whoever has the rest.
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
