//! What a job asks for.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::matching::Limits;
use crate::pattern::{Demand, Pattern, Want};
use crate::topology::{DeviceSet, HardwareGraph, LinkClass};
use crate::view::View;

/// What a job asks for: plain data, built by methods or assigned.
///
/// ```
/// use mapa_core::{DeviceSet, Pattern, Request};
///
/// let request = Request::new(Pattern::ring(3)).sensitive(true).avoid(DeviceSet::from([0]));
/// assert_eq!(request.pattern.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who talks to whom.
    pub pattern: Pattern,
    /// Whether the job's speed depends on the links it gets. Default: no.
    pub bandwidth_sensitive: bool,
    /// Devices it must get. Default: none.
    pub must_include: DeviceSet,
    /// Devices it must not get, and with a whole device all its instances. Default: none.
    pub avoid: DeviceSet,
    /// The only devices it may get, and with a whole device all its instances. Default: all.
    pub only: Option<DeviceSet>,
    /// The least class of link that its edges may lie on. Default: any connection.
    pub min_link: LinkClass,
    /// Whether all its devices must be on one NUMA node; devices whose node is unknown are then out. Default: no.
    pub same_numa: bool,
    /// How many runners-up to name: the best placements on other sets of devices. Sets that differ only in equal instances of
    /// one device count as one where no criterion tells these apart. Default: 0.
    pub runners_up: usize,
    /// How far to search before the best so far is taken. Default: [`Request::NODES`] nodes.
    pub limits: Limits,
}

impl Request {
    /// The default limit on nodes: a few seconds of one core. A rank placed is a node; a set of devices looked at, of n in
    /// question, counts as 1 + n² / 64, or as 1 where tables say what it is worth.
    pub const NODES: u64 = 100_000_000;

    /// A request without constraints, for a job that is not sensitive.
    #[must_use]
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            bandwidth_sensitive: false,
            must_include: DeviceSet::new(),
            avoid: DeviceSet::new(),
            only: None,
            min_link: LinkClass::None,
            same_numa: false,
            runners_up: 0,
            limits: Limits::NONE.nodes(Self::NODES),
        }
    }

    /// Whether the job's speed depends on the links it gets.
    #[must_use]
    pub fn sensitive(self, bandwidth_sensitive: bool) -> Self {
        Self { bandwidth_sensitive, ..self }
    }

    /// Devices it must get.
    #[must_use]
    pub fn must_include(self, must_include: DeviceSet) -> Self {
        Self { must_include, ..self }
    }

    /// Devices it must not get.
    #[must_use]
    pub fn avoid(self, avoid: DeviceSet) -> Self {
        Self { avoid, ..self }
    }

    /// The only devices it may get.
    #[must_use]
    pub fn only(self, only: DeviceSet) -> Self {
        Self { only: Some(only), ..self }
    }

    /// The least class of link that its edges may lie on.
    #[must_use]
    pub fn min_link(self, min_link: LinkClass) -> Self {
        Self { min_link, ..self }
    }

    /// Whether all its devices must be on one NUMA node.
    #[must_use]
    pub fn same_numa(self, same_numa: bool) -> Self {
        Self { same_numa, ..self }
    }

    /// The same with every exact size of instance as a least one, for a job that has waited too long to be particular.
    /// Instances wanted by profile stay as they are.
    #[must_use]
    pub fn relaxed(mut self) -> Self {
        let at_least = |pattern: Pattern, (rank, demand): (usize, &Demand)| match demand.want {
            Want::Slice(size) => pattern.with_demand(rank, Demand { want: Want::AtLeast(size), ..*demand }),
            _ => pattern,
        };
        self.pattern = self.pattern.demands().iter().enumerate().fold(self.pattern.clone(), at_least);
        self
    }

    /// How many runners-up to name.
    #[must_use]
    pub fn runners_up(self, runners_up: usize) -> Self {
        Self { runners_up, ..self }
    }

    /// How far to search.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// That it makes sense on a machine: every device it names is there, and its constraints do not contradict each
    /// other. Policies answer a request that does not pass with `Infeasible`; callers who take requests from people
    /// check first, and can then say what is wrong.
    ///
    /// # Errors
    /// What is wrong, naming the devices.
    pub fn check(&self, graph: &HardwareGraph) -> Result<(), Error> {
        let sets = [Some(&self.must_include), Some(&self.avoid), self.only.as_ref()];
        for last in sets.into_iter().flatten().filter_map(DeviceSet::last) {
            graph.check(last)?;
        }
        match self.contradiction() {
            Some(contradiction) => Err(ErrorKind::Contradiction(contradiction.to_string()).into()),
            None => Ok(()),
        }
    }

    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let must = &self.must_include;
        let avoided = must & &self.avoid;
        let outside = self.only.as_ref().map(|only| must - only).unwrap_or_default();
        if !avoided.is_empty() {
            Some(Contradiction::IncludedAndAvoided(avoided))
        } else if !outside.is_empty() {
            Some(Contradiction::IncludedAndOutside(outside))
        } else if must.len() > self.pattern.len() {
            Some(Contradiction::TooManyIncluded { included: must.len(), wanted: self.pattern.len() })
        } else {
            None
        }
    }

    /// The vertices it may get, whatever its ranks want, were they all free.
    pub(super) fn eligible(&self, graph: &HardwareGraph) -> DeviceSet {
        let all = graph.everything() - &graph.with_parts(&self.avoid);
        self.only.as_ref().map_or_else(|| all.clone(), |only| &all & &graph.with_parts(only))
    }

    /// The vertices that it may get and some rank wants, were they all free.
    pub(super) fn candidates(&self, graph: &HardwareGraph) -> DeviceSet {
        let mut wanted: Vec<_> = self.pattern.demands().to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let wanted = wanted.iter().fold(DeviceSet::new(), |all, demand| &all | &graph.candidates(demand));
        &self.eligible(graph) & &wanted
    }

    /// Those of them that have room for some rank now.
    pub(super) fn room(&self, view: &View<'_>) -> DeviceSet {
        let room = self.pattern.demands().iter().fold(DeviceSet::new(), |all, demand| &all | &view.room_for(demand));
        &self.eligible(view.graph()) & &room
    }
}

/// How a request contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contradiction {
    IncludedAndAvoided(DeviceSet),
    IncludedAndOutside(DeviceSet),
    TooManyIncluded { included: usize, wanted: usize },
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IncludedAndAvoided(devices) => write!(f, "device {devices} must be included and must be avoided"),
            Self::IncludedAndOutside(devices) => {
                write!(f, "device {devices} must be included and is not among the only devices allowed")
            }
            Self::TooManyIncluded { included, wanted } => {
                write!(f, "{included} devices must be included, the job has {wanted}")
            }
        }
    }
}
