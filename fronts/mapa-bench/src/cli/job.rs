//! What a job needs: arguments that several commands share.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use mapa_front::{DeviceName, JobSpec, Like, NicFor, names};
use mapa_front::{ModelSpec, PolicySpec};

use crate::names::NAMES;

#[derive(Args)]
pub(crate) struct JobArgs {
    /// How many devices the job needs; with --slice, how many instances. A pattern such as
    /// tp=4,pp=2,dp=1 implies the number.
    // So that `--gpus -1` is refused as a number, and not as an option that is unknown. The same holds wherever this
    // setting is.
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) gpus: Option<usize>,
    /// Which ranks communicate: ring, chain, star, tree, all-to-all, ring-tree, independent (none),
    /// or edges between ranks: 0-1,1-2,2-0. An edge may have a traffic weight (0-1:2.5); the
    /// built-in policies count every edge alike, and use weights only to distinguish ranks. Or the
    /// degrees of parallelism of a training job: tp=4,pp=2,dp=1 (see docs/training-jobs.md). Or a
    /// pattern file that `pattern` wrote.
    #[arg(long, default_value = "ring", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// Bytes that each rank of a training job sends in a step, such as tp=2e9,pp=1e8,dp=5e8. tp:
    /// all-reduced in its tensor group; pp: sent to the next pipeline stage; dp: all-reduced in its
    /// data group [default: in the shares of published training runs, tp=1e9,pp=3e7,dp=2e7].
    #[arg(long, value_name = "BYTES")]
    pub(crate) bytes: Option<String>,
    /// Give each rank a MIG instance of exactly the size of this profile (3g.20gb, or 3g for
    /// short), not a whole device.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) slice: Option<String>,
}

/// How much of its device or instance each rank uses.
#[derive(Args)]
pub(crate) struct UseArgs {
    /// Memory that each rank uses, GiB.
    #[arg(long, hide_short_help = true, value_name = "GiB", help_heading = USE)]
    pub(crate) memory: Option<f64>,
    /// Let several ranks share a device or instance, as long as its memory is sufficient.
    #[arg(long, hide_short_help = true, help_heading = USE)]
    pub(crate) shared: bool,
    /// PCIe traffic of each rank, GB/s, for policies that go by it.
    #[arg(long, hide_short_help = true, value_name = "GB/s", help_heading = USE)]
    pub(crate) pcie_traffic: Option<f64>,
    /// Warps that each rank has in flight, for policies that go by them.
    #[arg(long, hide_short_help = true, value_name = "N", help_heading = USE)]
    pub(crate) warps: Option<u32>,
    /// Network cards that must be near each GPU. Jobs and ranks may share a card.
    #[arg(long, hide_short_help = true, value_name = "N", help_heading = USE)]
    pub(crate) nics: Option<u8>,
    /// How near these must be, the worst class of path: pix, pxb, phb, node, sys [default: pix].
    #[arg(long, hide_short_help = true, value_name = "LINK", help_heading = USE)]
    pub(crate) nic_within: Option<String>,
    /// Whether cards must be near each GPU, or near that of rank 0 [default: gpu].
    #[arg(long, hide_short_help = true, value_name = "gpu|job", help_heading = USE)]
    pub(crate) nic_for: Option<NicFor>,
}

const USE: &str = "What each rank uses";

#[derive(Args)]
pub(crate) struct ConstraintArgs {
    /// Devices and instances in use: ids, names, UUIDs or PCI addresses, separated by commas.
    /// Instances have names such as GPU0/1g.5gb@3. A partitioned device stands for all its
    /// instances.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) busy: Vec<String>,
    /// Devices that the job must get.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) must_include: Vec<String>,
    /// Devices that the job must not get.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) avoid: Vec<String>,
    /// The worst class of link that the job's edges may use: sys, node, phb, pxb, pix, nv1, nv2,
    /// ...
    #[arg(long, value_name = "LINK")]
    pub(crate) min_link: Option<String>,
    /// Place the whole job on one NUMA node.
    #[arg(long)]
    pub(crate) same_numa: bool,
    /// Which devices count as alike: product, so that all are of one product, or any [default:
    /// product].
    #[arg(long, value_name = "WHICH")]
    pub(crate) like: Option<Like>,
    /// Stop the search after this many nodes: ranks placed plus sets of devices scored [default:
    /// 12 million].
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(crate) max_nodes: Option<u64>,
    /// Stop the search after this many placements, even if a better one may remain. Without it,
    /// precomputed tables answer most requests without a search.
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Args)]
pub(crate) struct PolicyArgs {
    /// The policy that chooses.
    #[arg(long, default_value = "auto", value_parser = policy_names(), long_help = policy_help())]
    pub(crate) policy: String,
    /// The model by which auto, preserve, max-bandwidth and foresight predict bandwidth: paper (Eq. 2),
    /// paper-printed (as Table 2 prints it), ring-packing, tree, all-to-all, channels,
    /// channels-2022, channels-2024, or a coefficient file that `fit` wrote [default: the one
    /// that fits the pattern for auto, paper for preserve, ring-packing for max-bandwidth]. All models except paper, paper-printed and coefficient
    /// files use nominal link bandwidths; a factor common to all links would change no choice by
    /// these (see `score --rates`).
    #[arg(long, value_name = "MODEL|FILE")]
    pub(crate) model: Option<ModelSpec>,
    /// The links that Eq. 3 counts, for the policy preserve.
    #[arg(long, value_enum, hide_short_help = true, default_value_t)]
    pub(crate) preserved: PreservedLinks,
}

impl PolicyArgs {
    /// The policy as a request names it.
    pub(crate) fn spec(&self) -> PolicySpec {
        PolicySpec {
            policy: self.policy.clone(),
            model: self.model.clone(),
            preserved: self.preserved.into(),
            // No policy that ships needs a seed.
            seed: None,
        }
    }
}

/// The links that Eq. 3 counts.
#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum PreservedLinks {
    /// All links, as printed in the paper.
    #[default]
    All,
    /// Direct links only, as in the released code.
    Direct,
}

impl From<PreservedLinks> for names::Preserved {
    fn from(links: PreservedLinks) -> Self {
        match links {
            PreservedLinks::All => Self::All,
            PreservedLinks::Direct => Self::Direct,
        }
    }
}

/// The job as a request describes it.
pub(crate) fn job_spec(
    job: &JobArgs,
    uses: &UseArgs,
    constraints: &ConstraintArgs,
    sensitive: Option<bool>,
) -> JobSpec {
    JobSpec {
        sensitive,
        memory: uses.memory,
        shared: uses.shared,
        pcie_traffic: uses.pcie_traffic,
        warps: uses.warps,
        nics: uses.nics,
        nic_within: uses.nic_within.clone(),
        nic_for: uses.nic_for,
        must_include: DeviceName::of_texts(&constraints.must_include),
        avoid: DeviceName::of_texts(&constraints.avoid),
        min_link: constraints.min_link.clone(),
        same_numa: constraints.same_numa,
        like: constraints.like,
        max_nodes: constraints.max_nodes,
        limit: constraints.limit,
        ..job.spec()
    }
}

impl JobArgs {
    /// The job, without constraints.
    pub(crate) fn spec(&self) -> JobSpec {
        JobSpec {
            gpus: self.gpus,
            pattern: self.pattern.clone(),
            bytes: self.bytes.clone(),
            slice: self.slice.clone(),
            ..JobSpec::default()
        }
    }
}

fn policy_names() -> PossibleValuesParser {
    // The names of the registry, so that the policies of systems are among them.
    PossibleValuesParser::new(NAMES.policies.iter().map(|policy| policy.name.as_str()))
}

fn policy_help() -> String {
    let lines = NAMES
        .policies
        .iter()
        .map(|policy| format!("  {:<20} {}", policy.name, policy.summary));
    format!(
        "The policy that chooses:\n{}",
        lines.collect::<Vec<_>>().join("\n")
    )
}
