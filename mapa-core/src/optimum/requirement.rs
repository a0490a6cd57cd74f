//! Requirements: conditions that every placement must meet.

use std::borrow::Cow;
use std::sync::Arc;

use crate::score::{Candidate, EdgeOn, Objective, Seat, Subset};
use crate::topology::DeviceSet;

/// A test that placements must pass, with the name that refusals give it.
#[derive(Clone)]
pub(crate) struct Requirement<'a> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) test: RequirementTest<'a>,
}

/// A test, by what it sees. The less it sees, the earlier it acts.
#[derive(Clone)]
pub(crate) enum RequirementTest<'a> {
    /// Every rank on its device: narrows domains before the search.
    Seat {
        test: Arc<dyn Fn(&Seat<'_>) -> bool + Send + Sync + 'a>,
        /// Whether it sees the device alone, and not what is in use.
        of_device: bool,
    },
    /// Every edge on its link: prunes the search.
    Link(Arc<dyn Fn(EdgeOn) -> bool + Send + Sync + 'a>),
    Set(Arc<dyn Fn(Subset<'_>) -> bool + Send + Sync + 'a>),
    Placement(Arc<dyn Fn(&Candidate<'_>) -> bool + Send + Sync + 'a>),
    Score(Objective<'a>, Arc<dyn Fn(f64) -> bool + Send + Sync + 'a>),
}

impl<'a> RequirementTest<'a> {
    pub(super) fn seat(&self) -> Option<&(dyn Fn(&Seat<'_>) -> bool + Send + Sync + 'a)> {
        if let Self::Seat { test, .. } = self {
            Some(&**test)
        } else {
            None
        }
    }

    pub(super) fn link(&self) -> Option<&(dyn Fn(EdgeOn) -> bool + Send + Sync + 'a)> {
        if let Self::Link(test) = self {
            Some(&**test)
        } else {
            None
        }
    }

    pub(super) fn objective(&self) -> Option<&Objective<'a>> {
        if let Self::Score(objective, _) = self {
            Some(objective)
        } else {
            None
        }
    }

    /// Whether the test may distinguish ranks that an automorphism swaps.
    pub(super) fn sees_ranks(&self) -> bool {
        matches!(self, Self::Placement(_))
    }

    /// Whether the test depends only on the machine and the placement, not on what is in use.
    pub(crate) fn sees_only_the_machine(&self) -> bool {
        match self {
            Self::Seat { of_device, .. } => *of_device,
            Self::Placement(_) => false,
            Self::Link(_) | Self::Set(_) => true,
            Self::Score(objective, _) => objective.sees_only_the_machine(),
        }
    }

    /// Whether the test depends only on the machine, the placement and the free set, not on the
    /// tenants of the other devices.
    pub(crate) fn sees_only_the_free_set(&self) -> bool {
        match self {
            Self::Seat { of_device, .. } => *of_device,
            Self::Placement(_) => false,
            Self::Link(_) | Self::Set(_) => true,
            Self::Score(objective, _) => objective.sees_only_the_free_set(),
        }
    }

    /// Whether the ranks' domains cover the whole test, so that it rules out no further sets.
    pub(super) fn is_of_domains(&self) -> bool {
        matches!(self, Self::Seat { .. })
    }

    /// Whether the test may distinguish devices that differ only in their ids, beyond the effect on
    /// domains.
    pub(super) fn sees_ids(&self) -> bool {
        match self {
            Self::Seat { .. } | Self::Link(_) => false,
            Self::Set(_) | Self::Placement(_) => true,
            Self::Score(objective, _) => !objective.is_blind(),
        }
    }

    /// Whether the test admits a placement. Tests that domains and the search have applied already
    /// are not repeated.
    pub(super) fn admits(&self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::Seat { .. } | Self::Link(_) => true,
            Self::Set(test) => {
                let devices: DeviceSet = candidate.placement.iter().copied().collect();
                test(Subset {
                    graph: candidate.view.graph(),
                    devices: &devices,
                })
            }
            Self::Placement(test) => test(candidate),
            Self::Score(objective, admits) => admits(objective.score(candidate)),
        }
    }
}
