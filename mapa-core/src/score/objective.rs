//! Named numbers per placement, by what they are allowed to see.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Census, Tiers};
use crate::pattern::Pattern;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link};
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
    /// The set of chosen devices.
    Chosen(Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>),
    /// The set of devices that stay free.
    Rest(Arc<dyn Fn(Subset<'_>) -> f64 + Send + Sync + 'a>),
    /// Anything.
    Placement(Arc<dyn Fn(&Candidate<'_>) -> f64 + Send + Sync + 'a>),
}

/// A named number per placement. The name is part of the number: `effective_gbps` is always the paper's Eq. 2.
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
    name: Cow<'static, str>,
    form: Form<'a>,
}

impl<'a> Objective<'a> {
    fn new(name: impl Into<Cow<'static, str>>, form: Form<'a>) -> Self {
        Self { name: name.into(), form }
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

    /// A function of the set of chosen devices.
    pub fn chosen(name: impl Into<Cow<'static, str>>, f: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Chosen(Arc::new(f)))
    }

    /// A function of the set of devices that stay free.
    pub fn rest(name: impl Into<Cow<'static, str>>, f: impl Fn(Subset<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Rest(Arc::new(f)))
    }

    /// A function of the whole placement. Nothing is assumed of it, so every rank order is tried: k! / |automorphisms|
    /// times the work of the other forms.
    pub fn placement(name: impl Into<Cow<'static, str>>, f: impl Fn(&Candidate<'_>) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Form::Placement(Arc::new(f)))
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
                let link = |a: u16, b: u16| graph.link(placement[usize::from(a)], placement[usize::from(b)]);
                // Not `sum`, which makes -0 of nothing.
                let values = pattern.edges().iter().map(|e| f(EdgeOn { traffic: e.traffic, link: link(e.a, e.b) }));
                values.fold(0.0, |sum, value| sum + value)
            }
            Form::Chosen(_) | Form::Rest(_) => {
                self.score_set(&view, &placement.iter().copied().collect()).unwrap_or(f64::NAN)
            }
            Form::Placement(f) => f(candidate),
        }
    }

    /// Its value for every placement on the devices of `set`, if the set alone decides it.
    pub(crate) fn score_set(&self, view: &View<'_>, set: &DeviceSet) -> Option<f64> {
        let graph = view.graph();
        match &self.form {
            Form::Chosen(f) => Some(f(Subset { graph, devices: set })),
            // Whoever keeps their own books may have written ids in them that the machine does not have.
            Form::Rest(f) => Some(f(Subset { graph, devices: &(&(view.free() & &graph.all()) - set) })),
            _ => None,
        }
    }

    /// Whether the set of chosen devices decides it.
    pub(crate) fn is_of_set(&self) -> bool {
        matches!(self.form, Form::Chosen(_) | Form::Rest(_))
    }

    /// Whether matches equal up to an automorphism of the pattern must have equal values.
    pub(crate) fn is_symmetric(&self) -> bool {
        !matches!(self.form, Form::Placement(_))
    }

    /// Whether the machine and the placement decide the value, whatever else is in use.
    pub(crate) fn sees_only_the_machine(&self) -> bool {
        !matches!(self.form, Form::Rest(_) | Form::Placement(_))
    }
}

impl fmt::Debug for Objective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Links(..) => "links",
            Form::Edges(_) => "edges",
            Form::Chosen(_) => "chosen",
            Form::Rest(_) => "rest",
            Form::Placement(_) => "placement",
        };
        write!(f, "{} (of {form})", self.name)
    }
}
