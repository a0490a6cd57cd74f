//! Models of the bandwidth that a collective reaches.

use std::sync::Arc;

use mapa_core::{
    AllToAll, Bandwidth, Channels, DeviceSet, Efficiency, Expected, HardwareGraph, HostNetwork,
    LinkModel, Objective, Pattern, Rates, RingPacking, TreePacking, default_model,
    fitting_expected, ring_packing_gbps,
};

pub use crate::answer::ModelChoice;

/// A model of the bandwidth that a collective reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Model {
    /// What the model computes.
    pub kind: Kind,
    /// The model as policies take it. Made once, because tables are cached by its identity.
    pub objective: Objective<'static>,
    /// Whether it is Eq. 2 of the MAPA paper, as fitted or as printed.
    pub is_eq_2: bool,
}

/// The model by which the bandwidth of a request is reported: the one that it names; else what is expected
/// where the generation of the machine's links is known; else nominal bandwidths. Without a model it is
/// that by which `auto` chooses ([`default_model`]).
#[must_use]
pub fn choose_model(
    model: Option<&Model>,
    pattern: &Pattern,
    graph: &HardwareGraph,
) -> ModelChoice {
    let by = |efficiency| {
        let expected = Expected::new(fitting_expected(pattern), efficiency);
        ModelChoice {
            objective: expected.objective(),
            expected: Some(expected),
        }
    };
    match model {
        // At nominal shares there is no interval to tell, so such a model falls to the next arm.
        Some(Model {
            kind: Kind::Expected(own),
            ..
        }) if *own.efficiency() != Efficiency::nominal() => by(Arc::clone(own.efficiency())),
        Some(model) => ModelChoice {
            objective: model.objective.clone(),
            expected: None,
        },
        // Shares of links whose speed is not known mean nothing, so a model without shares takes over.
        None if HostNetwork::of(graph).all_known() => by(Efficiency::shipped()),
        None => ModelChoice {
            objective: default_model(pattern, graph),
            expected: None,
        },
    }
}

/// What a model computes.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A sum of terms of link counts.
    Links(LinkModel),
    /// The traffic that the links of a set of devices can carry at once.
    Packing(Packing),
    /// What operations are expected to reach; or, at nominal shares, what direct links and the host
    /// as a network could carry.
    Expected(Expected),
    /// A number that a program computes in its own way.
    Own,
}

/// The traffic that the links of a set of devices can carry at once.
#[derive(Clone, Copy, Debug)]
pub enum Packing {
    /// A packing of directed rings.
    Rings(RingPacking),
    /// A packing of trees.
    Trees(TreePacking),
    /// An exchange between all pairs.
    AllToAll(AllToAll),
    /// The channels that an imitated search finds, and the packing of rings at the same rates,
    /// which bounds them.
    Channels(Channels<'static>, RingPacking),
}

impl Packing {
    /// The channels that a search with these speeds finds.
    pub(crate) fn channels(rates: Rates, speeds: &'static [f64]) -> Self {
        Self::Channels(Channels::new(rates, speeds), RingPacking::new(rates))
    }

    /// The bandwidth of a set of devices; none for one device, or if the machine does not have all of them.
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        if set.iter().any(|id| graph.check(id).is_err()) {
            return None;
        }
        match self {
            Self::Rings(rings) => rings.of(graph, set),
            Self::Trees(trees) => trees.of(graph, set),
            Self::AllToAll(exchange) => exchange.of(graph, set),
            Self::Channels(channels, _) => channels.of(graph, set),
        }
    }

    /// An upper bound on every packing, GB/s. The result of an imitated search is no such bound, so
    /// for channels the bound of ring packing is taken.
    pub fn at_most(&self, found: &Bandwidth, graph: &HardwareGraph, set: &DeviceSet) -> f64 {
        match self {
            Self::Channels(_, rings) => Self::Rings(*rings)
                .of(graph, set)
                .map_or(found.gbps, |best| best.at_most_gbps),
            _ => found.at_most_gbps,
        }
    }

    fn objective(&self) -> Objective<'static> {
        match self {
            Self::Rings(rings) if rings.rates() == Rates::NOMINAL => ring_packing_gbps(),
            Self::Rings(rings) => rings.objective(),
            Self::Trees(trees) => trees.objective(),
            Self::AllToAll(exchange) => exchange.objective(),
            Self::Channels(channels, _) => channels.objective(),
        }
    }
}

impl Model {
    /// A sum of terms of link counts.
    #[must_use]
    pub fn links(model: LinkModel) -> Self {
        let objective = model.objective();
        Self {
            kind: Kind::Links(model),
            objective,
            is_eq_2: false,
        }
    }

    /// Eq. 2 as this sum of terms, and as this objective.
    pub(crate) fn eq_2(model: LinkModel, objective: Objective<'static>) -> Self {
        Self {
            kind: Kind::Links(model),
            objective,
            is_eq_2: true,
        }
    }

    /// A packing.
    #[must_use]
    pub fn packing(packing: Packing) -> Self {
        Self {
            objective: packing.objective(),
            kind: Kind::Packing(packing),
            is_eq_2: false,
        }
    }

    /// What operations are expected to reach.
    #[must_use]
    pub fn expected(expected: Expected) -> Self {
        Self {
            objective: expected.objective(),
            kind: Kind::Expected(expected),
            is_eq_2: false,
        }
    }

    /// A model of a program's own, GB/s.
    #[must_use]
    pub fn own(objective: Objective<'static>) -> Self {
        Self {
            kind: Kind::Own,
            objective,
            is_eq_2: false,
        }
    }
}
