//! The built-in policies, by name.

use super::api::Policy;
use super::auto::{auto, auto_with};
use super::balance::{distributed, packed};
use super::foresight::{Foresight, foresight};
use super::greedy::greedy;
use super::lowest_id::lowest_id;
use super::max_bandwidth::{max_bandwidth, max_bandwidth_with};
use super::preserve::{preserve, preserve_released, preserve_with};
use super::topo_aware::{topo_aware, topo_aware_released};
use crate::error::{Error, ErrorKind};
use crate::score::{Objective, effective_gbps, preserved_gbps};

/// A built-in policy: its name, a summary of one line, and what a program must know to offer it.
/// [`BuiltIn::named`] finds one by its name.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name, as [`Policy::name`] gives it.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Whether it is for instances of partitioned devices. Such a policy distinguishes instances,
    /// but not whole devices, so it is of no use to jobs on whole devices.
    pub for_instances: bool,
    /// Whether it is one of the four policies of MAPA's evaluation (section 4 of the paper).
    pub of_paper: bool,
    /// Whether it chooses devices for bandwidth-sensitive jobs by Eq. 2, unless it is given another
    /// model.
    pub by_eq_2: bool,
    /// For which jobs it predicts bandwidth by a model that it can be given.
    pub model: ModelUse,
    /// Whether it can be given another objective for the bandwidth that is left to later jobs.
    pub takes_preserved: bool,
    /// Whether it gives sensitive jobs, and those of unknown sensitivity, the most bandwidth by the
    /// model that fits, and insensitive jobs only what others can spare.
    pub spares: bool,
    make: fn() -> Box<dyn Policy>,
    make_with: Option<MakeWith>,
}

/// Makes a policy of a model and of an objective for the bandwidth that is left; its own for `None`.
type MakeWith = fn(Option<Objective<'static>>, Option<Objective<'static>>) -> Box<dyn Policy>;

/// For which jobs a policy predicts bandwidth by a model that it can be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelUse {
    /// For none: the policy takes no model.
    #[default]
    Never,
    /// For bandwidth-sensitive jobs only.
    Sensitive,
    /// For every job.
    Always,
}

impl BuiltIn {
    /// Describes a policy for whole devices, to be listed by name beside the built-in ones. The
    /// policy that `make` returns must have this name.
    #[must_use]
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        make: fn() -> Box<dyn Policy>,
    ) -> Self {
        Self {
            name,
            summary,
            for_instances: false,
            of_paper: false,
            by_eq_2: false,
            model: ModelUse::Never,
            takes_preserved: false,
            spares: false,
            make,
            make_with: None,
        }
    }

    /// The same for instances of partitioned devices.
    #[must_use]
    pub const fn instances(
        name: &'static str,
        summary: &'static str,
        make: fn() -> Box<dyn Policy>,
    ) -> Self {
        Self {
            for_instances: true,
            ..Self::new(name, summary, make)
        }
    }

    /// The same for a policy of MAPA's evaluation.
    const fn of_paper(
        name: &'static str,
        summary: &'static str,
        make: fn() -> Box<dyn Policy>,
    ) -> Self {
        Self {
            of_paper: true,
            ..Self::new(name, summary, make)
        }
    }

    /// Makes the policy.
    #[must_use]
    pub fn policy(&self) -> Box<dyn Policy> {
        (self.make)()
    }

    /// Makes the policy by this model of bandwidth, and with this objective for the bandwidth that
    /// is left to later jobs; its own for `None`. `None` if the policy does not take what is given:
    /// see [`model`](Self::model) and [`takes_preserved`](Self::takes_preserved).
    ///
    /// ```
    /// use mapa_core::{BuiltIn, ring_packing_gbps};
    ///
    /// let named = |name| BuiltIn::ALL.into_iter().find(|built_in| built_in.name == name).unwrap();
    /// let by_rings = named("preserve").policy_with(Some(ring_packing_gbps()), None).unwrap();
    /// assert_eq!(by_rings.name(), "preserve");
    /// assert!(named("greedy").policy_with(Some(ring_packing_gbps()), None).is_none());
    /// ```
    #[must_use]
    pub fn policy_with(
        &self,
        model: Option<Objective<'static>>,
        preserved: Option<Objective<'static>>,
    ) -> Option<Box<dyn Policy>> {
        if model.is_none() && preserved.is_none() {
            return Some(self.policy());
        }
        if preserved.is_some() && !self.takes_preserved {
            return None;
        }
        self.make_with.map(|make| make(model, preserved))
    }

    /// Every built-in policy: the default, the paper's in the order of its tables, the one by ring packing, the
    /// one that looks ahead, the variants of the paper's released code, then those for instances.
    /// Policies that need more data on a job are functions only:
    /// `min_step_time`, `least_port_slowdown`, `fewest_warps` and `random`.
    pub const ALL: [Self; 11] = [
        Self {
            model: ModelUse::Always,
            spares: true,
            make_with: Some(|model, _| match model {
                Some(model) => Box::new(auto_with(model)),
                None => Box::new(auto()),
            }),
            ..Self::new(
                "auto",
                "the most bandwidth by the model that fits the pattern, then what leaves most; insensitive jobs: what others can spare",
                || Box::new(auto()),
            )
        },
        Self::of_paper(
            "lowest-id",
            "the free devices with the lowest ids (the paper's Baseline)",
            || Box::new(lowest_id()),
        ),
        Self::of_paper(
            "topo-aware",
            "devices close together in the host tree, by recursive bi-partitioning",
            || Box::new(topo_aware()),
        ),
        Self::of_paper("greedy", "the highest aggregated bandwidth (Eq. 1)", || {
            Box::new(greedy())
        }),
        Self {
            by_eq_2: true,
            model: ModelUse::Sensitive,
            takes_preserved: true,
            make_with: Some(|model, left| {
                let model = model.unwrap_or_else(effective_gbps);
                Box::new(preserve_with(model, left.unwrap_or_else(preserved_gbps)))
            }),
            ..Self::of_paper(
                "preserve",
                "sensitive jobs: the highest effective bandwidth (Eq. 2); others: leave the most bandwidth (Eq. 3)",
                || Box::new(preserve()),
            )
        },
        Self {
            model: ModelUse::Always,
            make_with: Some(|model, _| match model {
                Some(model) => Box::new(max_bandwidth_with(model)),
                None => Box::new(max_bandwidth()),
            }),
            ..Self::new(
                "max-bandwidth",
                "the most rings at once (ring packing), then leave the most bandwidth (Eq. 3), then a fast ring order",
                || Box::new(max_bandwidth()),
            )
        },
        Self {
            model: ModelUse::Always,
            make_with: Some(|model, _| match model {
                Some(model) => Box::new(Foresight::new(model)),
                None => Box::new(foresight()),
            }),
            ..Self::new(
                "foresight",
                "as preserve, but weighs what the leases that run will leave to later jobs once they end",
                || Box::new(foresight()),
            )
        },
        Self::new(
            "topo-aware-released",
            "as the released code: lowest ids in one socket for small jobs, else lowest-id",
            || Box::new(topo_aware_released()),
        ),
        Self {
            by_eq_2: true,
            ..Self::new(
                "preserve-released",
                "as the released code: direct links only in Eq. 3, and a floor of 12.335 GB/s for sensitive jobs",
                || Box::new(preserve_released()),
            )
        },
        Self::instances(
            "packed",
            "instances on as few devices as can be, those in use first",
            || Box::new(packed()),
        ),
        Self::instances(
            "distributed",
            "instances on devices with fewest tenants, evenly",
            || Box::new(distributed()),
        ),
    ];

    /// The built-in policy of this name.
    ///
    /// # Errors
    /// If no built-in policy has this name. The message lists all names.
    pub fn named(name: &str) -> Result<Box<dyn Policy>, Error> {
        let known = || Self::ALL.map(|policy| policy.name).join(", ");
        let found = Self::ALL.iter().find(|policy| policy.name == name);
        found.map(Self::policy).ok_or_else(|| {
            ErrorKind::UnknownPolicy {
                name: name.to_owned(),
                known: known(),
            }
            .into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_policy_carries_its_name() {
        for built_in in BuiltIn::ALL {
            assert_eq!(BuiltIn::named(built_in.name).unwrap().name(), built_in.name);
        }
        assert!(BuiltIn::named("best").is_err());
    }

    #[test]
    fn a_policy_is_made_with_a_model_where_it_says_so_and_only_there() {
        for built_in in BuiltIn::ALL {
            let by_model = built_in.policy_with(Some(effective_gbps()), None);
            assert_eq!(
                by_model.is_some(),
                built_in.model != ModelUse::Never,
                "{}",
                built_in.name
            );
            assert!(by_model.is_none_or(|policy| policy.name() == built_in.name));
            let left = built_in.policy_with(None, Some(preserved_gbps()));
            assert_eq!(
                left.is_some(),
                built_in.takes_preserved,
                "{}",
                built_in.name
            );
            assert!(built_in.policy_with(None, None).is_some());
        }
        assert_eq!(
            BuiltIn::ALL
                .iter()
                .filter(|built_in| built_in.of_paper)
                .count(),
            4
        );
    }
}
