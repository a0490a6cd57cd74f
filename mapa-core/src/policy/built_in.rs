//! The built-in policies, by name.

use super::api::Policy;
use super::balance::{distributed, packed};
use super::by_size::{largest_first, smallest_first};
use super::case::case;
use super::foresight::foresight;
use super::greedy::greedy;
use super::lowest_id::lowest_id;
use super::max_bandwidth::max_bandwidth;
use super::pcie::{PCIE_GEN4_GBPS, pcie_aware};
use super::preserve::{preserve, preserve_released};
use super::topo_aware::{topo_aware, topo_aware_released};
use crate::error::{Error, ErrorKind};

/// A built-in policy: its name and a summary of one line. [`BuiltIn::named`] finds one by its name.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name, as [`Policy::name`] gives it.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Whether it is for instances of partitioned devices. Such a policy distinguishes instances,
    /// but not whole devices, so it is of no use to jobs on whole devices.
    pub for_instances: bool,
    make: fn() -> Box<dyn Policy>,
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
            make,
        }
    }

    /// Makes the policy.
    #[must_use]
    pub fn policy(&self) -> Box<dyn Policy> {
        (self.make)()
    }

    /// Every built-in policy: the paper's in the order of its tables, the one by ring packing, the
    /// one that looks ahead, the variants of the paper's released code, then those for instances.
    /// Policies that need more data on a job are functions only: `earliest_finish`,
    /// `min_step_time`, `slo_aware` and `random`.
    pub const ALL: [Self; 14] = [
        Self {
            name: "lowest-id",
            summary: "the free devices with the lowest ids (the paper's Baseline)",
            for_instances: false,
            make: || Box::new(lowest_id()),
        },
        Self {
            name: "topo-aware",
            summary: "devices close together in the host tree, by recursive bi-partitioning",
            for_instances: false,
            make: || Box::new(topo_aware()),
        },
        Self {
            name: "greedy",
            summary: "the highest aggregated bandwidth (Eq. 1)",
            for_instances: false,
            make: || Box::new(greedy()),
        },
        Self {
            name: "preserve",
            summary: "sensitive jobs: the highest effective bandwidth (Eq. 2); others: leave the most bandwidth (Eq. 3)",
            for_instances: false,
            make: || Box::new(preserve()),
        },
        Self {
            name: "max-bandwidth",
            summary: "the most rings at once (ring packing), then leave the most bandwidth (Eq. 3), then a fast ring order",
            for_instances: false,
            make: || Box::new(max_bandwidth()),
        },
        Self {
            name: "foresight",
            summary: "as preserve, but weighs what the leases that run will leave to later jobs once they end",
            for_instances: false,
            make: || Box::new(foresight()),
        },
        Self {
            name: "topo-aware-released",
            summary: "as the released code: lowest ids in one socket for small jobs, else lowest-id",
            for_instances: false,
            make: || Box::new(topo_aware_released()),
        },
        Self {
            name: "preserve-released",
            summary: "as the released code: direct links only in Eq. 3, and a floor of 12.335 GB/s for sensitive jobs",
            for_instances: false,
            make: || Box::new(preserve_released()),
        },
        Self {
            name: "packed",
            summary: "instances on as few devices as can be, those in use first",
            for_instances: true,
            make: || Box::new(packed()),
        },
        Self {
            name: "distributed",
            summary: "instances on devices with fewest tenants, evenly",
            for_instances: true,
            make: || Box::new(distributed()),
        },
        Self {
            name: "largest-first",
            summary: "the instances with most compute slices",
            for_instances: true,
            make: || Box::new(largest_first()),
        },
        Self {
            name: "smallest-first",
            summary: "the instances with fewest compute slices",
            for_instances: true,
            make: || Box::new(smallest_first()),
        },
        Self {
            name: "pcie-aware",
            summary: "the least slowdown by shared PCIe (Tang et al., Eq. 2, alpha 1, 30.08 GB/s), then best fit",
            for_instances: true,
            make: || Box::new(pcie_aware(1.0, PCIE_GEN4_GBPS)),
        },
        Self {
            name: "case",
            summary: "shared tasks: more free memory than asked for, fewest warps in use (CASE, Algorithm 2)",
            for_instances: true,
            make: || Box::new(case()),
        },
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
}
