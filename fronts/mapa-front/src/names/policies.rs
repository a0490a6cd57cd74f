//! Placement policies by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use mapa_core::{BuiltIn, ModelUse, Policy, auto_by, preserved_direct_gbps};
use serde::{Deserialize, Serialize};

use super::registry::{Registry, Row};
use crate::error::Error;
use crate::job::Job;
use crate::model::{Kind, Model};
use crate::systems;

/// What a request says beside a policy's name.
#[derive(Clone, Copy, Default)]
pub struct Choice<'a> {
    /// The model by which the policy predicts bandwidth; its own for `None`.
    pub model: Option<&'a Model>,
    /// The links that Eq. 3 counts.
    pub preserved: Preserved,
    /// The job, for policies that must know its traffic; none for a stream of jobs.
    pub job: Option<&'a Job>,
    /// The seed of a policy that draws random numbers.
    pub seed: Option<u64>,
}

/// The links that Eq. 3 counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preserved {
    /// All links, as printed in the paper.
    #[default]
    All,
    /// Direct links only, as in the released code.
    Direct,
}

impl FromStr for Preserved {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "all" => Ok(Self::All),
            "direct" => Ok(Self::Direct),
            _ => Err(Error::at(
                format_args!("preserved={text}"),
                "expected all or direct",
            )),
        }
    }
}

type Make = dyn Fn(&Choice<'_>) -> Result<Box<dyn Policy>, Error> + Send + Sync;

/// A placement policy that requests can name.
#[derive(Clone)]
#[non_exhaustive]
pub struct PolicyRow {
    /// The name, as [`Policy::name`] gives it.
    pub name: String,
    /// One line for help texts.
    pub summary: String,
    /// Whether it is for instances of partitioned devices, and has no preference among whole ones.
    pub for_instances: bool,
    /// Whether it is one of the four policies of MAPA's evaluation.
    pub of_paper: bool,
    /// Whether it chooses devices for bandwidth-sensitive jobs by Eq. 2, unless it is given another
    /// model.
    pub by_eq_2: bool,
    /// For which jobs it predicts bandwidth by a model that it can be given.
    pub model: ModelUse,
    /// Whether it can be told which links Eq. 3 counts.
    pub takes_preserved: bool,
    /// Whether it gives sensitive jobs, and those of unknown sensitivity, the most bandwidth by the
    /// model that fits, and insensitive jobs only what others can spare.
    pub spares: bool,
    /// Whether it must know the traffic of the job, so that it is for one job and not for a stream.
    pub needs_traffic: bool,
    /// Whether it draws random numbers, so that it must be given a seed.
    pub needs_seed: bool,
    pub(super) make: Arc<Make>,
}

impl PolicyRow {
    /// A policy of whole devices that takes no model. The policy that `make` returns must have this
    /// name.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        make: impl Fn(&Choice<'_>) -> Result<Box<dyn Policy>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            for_instances: false,
            of_paper: false,
            by_eq_2: false,
            model: ModelUse::Never,
            takes_preserved: false,
            spares: false,
            needs_traffic: false,
            needs_seed: false,
            make: Arc::new(make),
        }
    }

    /// The same policy, which draws random numbers and must be given a seed.
    #[must_use]
    pub fn needs_seed(mut self) -> Self {
        self.needs_seed = true;
        self
    }

    /// The same policy, which is given a model for these jobs.
    #[must_use]
    pub fn takes_model(mut self, jobs: ModelUse) -> Self {
        self.model = jobs;
        self
    }
}

impl From<BuiltIn> for PolicyRow {
    fn from(built_in: BuiltIn) -> Self {
        Self {
            name: built_in.name.to_owned(),
            summary: built_in.summary.to_owned(),
            for_instances: built_in.for_instances,
            of_paper: built_in.of_paper,
            by_eq_2: built_in.by_eq_2,
            model: built_in.model,
            takes_preserved: built_in.takes_preserved,
            spares: built_in.spares,
            // A `BuiltIn` is made of a model and the links that Eq. 3 counts, and of nothing else. A policy that
            // needs traffic or a seed has a row by `PolicyRow::new`.
            needs_traffic: false,
            needs_seed: false,
            make: Arc::new(move |choice| {
                // `None` leaves a policy what it counts by itself. So a policy that has no such choice accepts the
                // default.
                let left = match choice.preserved {
                    Preserved::All => None,
                    Preserved::Direct => Some(preserved_direct_gbps()),
                };
                let model = choice.model.map(|model| model.objective.clone());
                built_in.policy_with(model, left).ok_or_else(|| {
                    Error::malformed(format_args!(
                        "the policy {} takes no model and no --preserved",
                        built_in.name
                    ))
                })
            }),
        }
    }
}

impl fmt::Debug for PolicyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyRow")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Row for PolicyRow {
    const WHAT: &'static str = "policy";

    fn name(&self) -> &str {
        &self.name
    }
}

/// The built-in policies: MAPA's, then those of vendors' device plugins, then the one that must know
/// the job.
pub(super) fn built_in() -> Registry<PolicyRow> {
    let fastest = PolicyRow {
        needs_traffic: true,
        ..PolicyRow::new(
            FASTEST,
            "the least communication time, for a pattern such as tp=4,pp=2 or a pattern file in bytes",
            |choice| fastest(choice.job),
        )
    };
    // Help texts and comparisons list them in this order.
    BuiltIn::ALL
        .into_iter()
        .chain(systems::policies())
        .chain(mapa_topologies::policies::BUILT_IN)
        .map(PolicyRow::from)
        .map(knowing_traffic)
        .chain([fastest])
        .collect()
}

/// The default policy decides by the traffic of the job where that is known, unless it is given a
/// model.
fn knowing_traffic(row: PolicyRow) -> PolicyRow {
    if !row.spares {
        return row;
    }
    // The row as it was serves the jobs whose traffic is not known.
    let plain = Arc::clone(&row.make);
    PolicyRow {
        make: Arc::new(move |choice| {
            let by_job = choice.job.and_then(Job::auto);
            // Shares of links are for jobs of every pattern.
            if let Some(Kind::Expected(expected)) = choice.model.map(|model| &model.kind) {
                return Ok(Box::new(auto_by(expected.efficiency())));
            }
            match by_job.filter(|_| choice.model.is_none()) {
                Some(auto) => Ok(Box::new(auto)),
                None => plain(choice),
            }
        }),
        ..row
    }
}

/// The name of the policy that minimises the communication time of one job.
const FASTEST: &str = "min-step-time";

/// The policy that minimises the communication time of this job.
fn fastest(job: Option<&Job>) -> Result<Box<dyn Policy>, Error> {
    if let Some(fastest) = job.and_then(Job::fastest) {
        return Ok(Box::new(fastest));
    }
    Err(Error::malformed(match job.and_then(Job::no_time) {
        Some(why) => format!("--policy {FASTEST}: {why}"),
        None => format!(
            "--policy {FASTEST} needs known traffic: expected a pattern such as tp=4,pp=2,dp=1, or a pattern file in bytes"
        ),
    }))
}
