//! What a placement must be like to be considered at all.

use std::borrow::Cow;
use std::sync::Arc;

use crate::score::{Candidate, EdgeOn, Objective, Seat, Subset};
use crate::topology::DeviceSet;

/// A test that placements must pass, under the name by which a refusal calls it.
#[derive(Clone)]
pub(super) struct Requirement<'a> {
    pub(super) name: Cow<'static, str>,
    pub(super) test: Test<'a>,
}

/// What is tested is the class: the less a test sees, the earlier it acts.
#[derive(Clone)]
pub(super) enum Test<'a> {
    /// Every rank on its device: narrows domains before the search.
    Seat(Arc<dyn Fn(&Seat<'_>) -> bool + Send + Sync + 'a>),
    /// Every edge on its link: prunes the search.
    Link(Arc<dyn Fn(EdgeOn) -> bool + Send + Sync + 'a>),
    Set(Arc<dyn Fn(Subset<'_>) -> bool + Send + Sync + 'a>),
    Placement(Arc<dyn Fn(&Candidate<'_>) -> bool + Send + Sync + 'a>),
    Score(Objective<'a>, Arc<dyn Fn(f64) -> bool + Send + Sync + 'a>),
}

impl<'a> Test<'a> {
    pub(super) fn seat(&self) -> Option<&(dyn Fn(&Seat<'_>) -> bool + Send + Sync + 'a)> {
        if let Self::Seat(test) = self { Some(&**test) } else { None }
    }

    pub(super) fn link(&self) -> Option<&(dyn Fn(EdgeOn) -> bool + Send + Sync + 'a)> {
        if let Self::Link(test) = self { Some(&**test) } else { None }
    }

    pub(super) fn objective(&self) -> Option<&Objective<'a>> {
        if let Self::Score(objective, _) = self { Some(objective) } else { None }
    }

    /// Whether it may tell ranks apart that an automorphism swaps.
    pub(super) fn sees_ranks(&self) -> bool {
        matches!(self, Self::Placement(_))
    }

    /// Whether the machine and the placement decide it, whatever is in use.
    pub(super) fn sees_only_the_machine(&self) -> bool {
        match self {
            Self::Seat(_) | Self::Placement(_) => false,
            Self::Link(_) | Self::Set(_) => true,
            Self::Score(objective, _) => objective.sees_only_the_machine(),
        }
    }

    /// Whether the machine, the placement and what is free decide it, whoever has the rest.
    pub(super) fn sees_only_the_free_set(&self) -> bool {
        match self {
            Self::Seat(_) | Self::Placement(_) => false,
            Self::Link(_) | Self::Set(_) => true,
            Self::Score(objective, _) => objective.sees_only_the_free_set(),
        }
    }

    /// Whether domains say all of it: then no set is ruled out by the rest of it.
    pub(super) fn is_of_domains(&self) -> bool {
        matches!(self, Self::Seat(_))
    }

    /// Whether it may tell devices apart that differ in nothing but their ids, beyond what domains show.
    pub(super) fn sees_ids(&self) -> bool {
        match self {
            Self::Seat(_) | Self::Link(_) => false,
            Self::Set(_) | Self::Placement(_) => true,
            Self::Score(objective, _) => !objective.is_blind(),
        }
    }

    /// What must be asked of whole placements; domains and search have seen to the rest.
    pub(super) fn admits(&self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::Seat(_) | Self::Link(_) => true,
            Self::Set(test) => {
                let devices: DeviceSet = candidate.placement.iter().copied().collect();
                test(Subset { graph: candidate.view.graph(), devices: &devices })
            }
            Self::Placement(test) => test(candidate),
            Self::Score(objective, admits) => admits(objective.score(candidate)),
        }
    }
}
