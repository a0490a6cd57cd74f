//! The request of a job.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass};
use crate::matching::Limits;
use crate::pattern::{Demand, Pattern, Want};
use crate::sensitivity::Sensitivity;
use crate::topology::{DeviceSet, HardwareGraph};
use crate::view::View;

/// The request of a job: its pattern and constraints. Plain data: use the methods or assign the
/// fields.
///
/// # Examples
/// ```
/// use mapa_core::{DeviceSet, Pattern, Request};
///
/// let request = Request::new(Pattern::ring(3)).sensitive(true).avoid(DeviceSet::from([0]));
/// assert_eq!(request.pattern.len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// The job's ranks, which of them communicate, and what each demands.
    pub pattern: Pattern,
    /// Whether the job's speed depends on its links. Default: unknown.
    #[cfg_attr(feature = "serde", serde(default))]
    pub sensitivity: Sensitivity,
    /// Devices that the job must get. Default: none.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "DeviceSet::is_empty")
    )]
    pub must_include: DeviceSet,
    /// Devices that the job must not get. A whole device stands for all of its instances too.
    /// Default: none.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "DeviceSet::is_empty")
    )]
    pub avoid: DeviceSet,
    /// The only devices that the job may get. A whole device stands for all of its instances too.
    /// Default: all.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub only: Option<DeviceSet>,
    /// The least class of link for the pattern's edges. Ranks that share one device meet any. Default: any connection.
    #[cfg_attr(feature = "serde", serde(default))]
    pub min_link: LinkClass,
    /// Whether all devices must be on one NUMA node. Devices of unknown node are then excluded.
    /// Default: no.
    #[cfg_attr(feature = "serde", serde(default))]
    pub same_numa: bool,
    /// Whether the job may get devices of several products. Default: no, where the products of all devices are known.
    #[cfg_attr(feature = "serde", serde(default))]
    pub unlike: bool,
    /// The number of runners-up to report: the best placements on other sets of devices. Sets that
    /// differ only in equal instances of one device count as one, unless a criterion distinguishes
    /// them. Default: 0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub runners_up: usize,
    /// The limits of the search. When one is reached, the best placement so far is taken. Default:
    /// [`Request::NODES`] nodes.
    pub limits: Limits,
}

impl Request {
    /// The default limit on nodes: about half a second of one core. Placing a rank counts as one
    /// node, and so does a set of devices. Computing a value of the devices that stay free, n of
    /// them, counts as n² / 8 nodes more; a bound on a packing on k devices as k³ / 4, a packing
    /// as k 2ᵏ, if they are not in a table.
    pub const NODES: u64 = 12_000_000;

    /// A request without constraints, for a job of unknown sensitivity.
    #[must_use]
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            sensitivity: Sensitivity::Unknown,
            must_include: DeviceSet::new(),
            avoid: DeviceSet::new(),
            only: None,
            min_link: LinkClass::None,
            same_numa: false,
            unlike: false,
            runners_up: 0,
            limits: Limits::NONE.nodes(Self::NODES),
        }
    }

    /// Sets whether the job's speed depends on its links: a [`Sensitivity`], `true` or `false`.
    #[must_use]
    pub fn sensitive(self, sensitivity: impl Into<Sensitivity>) -> Self {
        Self {
            sensitivity: sensitivity.into(),
            ..self
        }
    }

    /// Whether the job counts as sensitive: if it is declared to be, or if it is not declared and its ranks communicate.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::{Pattern, Request};
    ///
    /// assert!(Request::new(Pattern::ring(2)).is_sensitive());
    /// assert!(!Request::new(Pattern::ring(2)).sensitive(false).is_sensitive());
    /// assert!(!Request::new(Pattern::independent(2)).is_sensitive());
    /// assert!(Request::new(Pattern::independent(2)).sensitive(true).is_sensitive());
    /// ```
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        match self.sensitivity {
            Sensitivity::Unknown => !self.pattern.edges().is_empty(),
            known => known.is_sensitive(),
        }
    }

    /// Sets the devices that the job must get.
    #[must_use]
    pub fn must_include(self, must_include: DeviceSet) -> Self {
        Self {
            must_include,
            ..self
        }
    }

    /// Sets the devices that the job must not get.
    #[must_use]
    pub fn avoid(self, avoid: DeviceSet) -> Self {
        Self { avoid, ..self }
    }

    /// Sets the only devices that the job may get.
    #[must_use]
    pub fn only(self, only: DeviceSet) -> Self {
        Self {
            only: Some(only),
            ..self
        }
    }

    /// Sets the least class of link for the pattern's edges.
    #[must_use]
    pub fn min_link(self, min_link: LinkClass) -> Self {
        Self { min_link, ..self }
    }

    /// Sets whether the job may get devices of several products.
    #[must_use]
    pub fn unlike(self, unlike: bool) -> Self {
        Self { unlike, ..self }
    }

    /// Sets whether all devices must be on one NUMA node.
    #[must_use]
    pub fn same_numa(self, same_numa: bool) -> Self {
        Self { same_numa, ..self }
    }

    /// This request with every exact size of an instance turned into a minimum size, for a job that
    /// has waited long enough to take a larger instance. Demands for a profile stay as they are.
    #[must_use]
    pub fn relaxed(mut self) -> Self {
        let at_least = |pattern: Pattern, (rank, demand): (usize, &Demand)| match demand.want {
            Want::Slice(size) => pattern.with_demand(
                rank,
                Demand {
                    want: Want::AtLeast(size),
                    ..*demand
                },
            ),
            _ => pattern,
        };
        self.pattern = self
            .pattern
            .demands()
            .iter()
            .enumerate()
            .fold(self.pattern.clone(), at_least);
        self
    }

    /// Sets the number of runners-up to report.
    #[must_use]
    pub fn runners_up(self, runners_up: usize) -> Self {
        Self { runners_up, ..self }
    }

    /// Sets the limits of the search.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Checks that the request makes sense on a machine: every device that it names exists, and its
    /// constraints do not contradict each other. Policies refuse a request that fails this check as
    /// `Infeasible`. Callers that take requests from users should check first, so that they can
    /// report the error.
    ///
    /// # Errors
    /// The contradiction or unknown device, with the ids concerned.
    pub fn check(&self, graph: &HardwareGraph) -> Result<(), Error> {
        let sets = [
            Some(&self.must_include),
            Some(&self.avoid),
            self.only.as_ref(),
        ];
        for last in sets.into_iter().flatten().filter_map(DeviceSet::last) {
            graph.check(last)?;
        }
        match self.contradiction() {
            Some(contradiction) => Err(ErrorKind::Contradiction(contradiction.to_string()).into()),
            None => Ok(()),
        }
    }

    pub(crate) fn contradiction(&self) -> Option<RequestContradiction> {
        let must = &self.must_include;
        let avoided = must & &self.avoid;
        let outside = self
            .only
            .as_ref()
            .map(|only| must - only)
            .unwrap_or_default();
        if !avoided.is_empty() {
            Some(RequestContradiction::IncludedAndAvoided(avoided))
        } else if !outside.is_empty() {
            Some(RequestContradiction::IncludedAndOutside(outside))
        } else if must.len() > self.pattern.len() {
            Some(RequestContradiction::TooManyIncluded {
                included: must.len(),
                wanted: self.pattern.len(),
            })
        } else {
            None
        }
    }

    /// The vertices that the request allows, whatever its ranks demand and whatever is in use.
    pub(crate) fn eligible(&self, graph: &HardwareGraph) -> DeviceSet {
        let all = graph.everything() - &graph.with_parts(&self.avoid);
        self.only
            .as_ref()
            .map_or_else(|| all.clone(), |only| &all & &graph.with_parts(only))
    }

    /// The vertices that the request allows and that suit the demand of some rank, whatever is in
    /// use.
    pub(crate) fn candidates(&self, graph: &HardwareGraph) -> DeviceSet {
        let mut wanted: Vec<_> = self.pattern.demands().to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let wanted = wanted.iter().fold(DeviceSet::new(), |all, demand| {
            &all | &graph.candidates(demand)
        });
        &self.eligible(graph) & &wanted
    }

    /// The vertices that the request allows and that have room now for some rank.
    pub(crate) fn room(&self, view: &View<'_>) -> DeviceSet {
        let room = self
            .pattern
            .demands()
            .iter()
            .fold(DeviceSet::new(), |all, demand| {
                &all | &view.room_for(demand)
            });
        &self.eligible(view.graph()) & &room
    }

    /// Whether a placement contains all devices that must be included.
    pub(crate) fn has_required(&self, placement: &[DeviceId]) -> bool {
        self.must_include
            .iter()
            .all(|device| placement.contains(&device))
    }

    /// Checks the constraints of a match other than the allowed devices.
    ///
    /// # Errors
    /// The constraint that is not met.
    pub(crate) fn is_met_by(
        &self,
        graph: &HardwareGraph,
        placement: &[DeviceId],
    ) -> Result<(), &'static str> {
        if !graph.offers(placement) {
            return Err("a set of devices that the machine offers");
        }
        if !self.unlike && !graph.is_of_one_product(placement) {
            return Err("devices of one product");
        }
        self.is_met_by_links(graph, placement)
    }

    /// As [`is_met_by`](Self::is_met_by), whatever sets of devices the machine offers, and of whatever products.
    ///
    /// # Errors
    /// The constraint that is not met.
    pub(crate) fn is_met_by_links(
        &self,
        graph: &HardwareGraph,
        placement: &[DeviceId],
    ) -> Result<(), &'static str> {
        if !self.has_required(placement) {
            return Err("the devices that must be included");
        }
        for edge in self.pattern.edges() {
            let [a, b] = [edge.a, edge.b].map(|rank| placement[usize::from(rank)]);
            // Ranks on one device need no link, whatever the class: searches let them, too.
            if a != b && graph.link(a, b).class < self.min_link {
                return Err("the least class of link");
            }
        }
        let mut nodes = placement.iter().map(|&id| graph.device(id).numa);
        let first = nodes.next().flatten();
        if self.same_numa
            && !placement.is_empty()
            && (first.is_none() || nodes.any(|node| node != first))
        {
            return Err("one NUMA node for all devices");
        }
        Ok(())
    }
}

/// A contradiction between the constraints of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestContradiction {
    IncludedAndAvoided(DeviceSet),
    IncludedAndOutside(DeviceSet),
    TooManyIncluded { included: usize, wanted: usize },
}

impl fmt::Display for RequestContradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IncludedAndAvoided(devices) => {
                write!(f, "device {devices} must be both included and avoided")
            }
            Self::IncludedAndOutside(devices) => {
                write!(
                    f,
                    "device {devices} must be included and is not among the only devices allowed"
                )
            }
            Self::TooManyIncluded { included, wanted } => {
                write!(
                    f,
                    "{included} devices must be included, the job has {wanted}"
                )
            }
        }
    }
}
