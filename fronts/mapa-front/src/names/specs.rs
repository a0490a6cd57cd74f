//! The policy and the model of bandwidth that a request names.

use std::fmt;
use std::str::FromStr;

use mapa_core::{Policy, Rates};
use mapa_sched::Scheduler;
use serde::{Deserialize, Serialize};

use super::all::Names;
use super::named::{ExecutionSpec, SchedulerSpec};
use super::policies::{Choice, Preserved};
use crate::error::Error;
use crate::files::Files;
use crate::job::Job;
use crate::model::Model;
use crate::words;

/// The model of bandwidth of a request: a name, or the path of a coefficient file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ModelSpec(String);

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Every text is taken: whether there is such a name is known to [`Names`].
impl FromStr for ModelSpec {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl ModelSpec {
    /// The model, at these rates of links.
    ///
    /// # Errors
    /// As [`Names::model`].
    pub fn load(
        &self,
        names: &Names,
        rates: Option<Rates>,
        files: &dyn Files,
    ) -> Result<Model, Error> {
        names.model(&self.0, rates, files)
    }
}

/// The policy of a request, and what it is given.
///
/// In JSON and TOML a policy is a table of these keys. In words it is a name, or the keys as
/// `key=value`, separated by spaces: `preserve`, or `preserve model=ring-packing`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// The name. The default is `auto`.
    #[serde(default = "auto")]
    pub policy: String,
    /// The model by which it predicts bandwidth; its own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
    /// The links that Eq. 3 counts.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub preserved: Preserved,
    /// The seed of a policy that draws random numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The policy of a request that names none.
fn auto() -> String {
    "auto".to_owned()
}

fn is_usual(preserved: &Preserved) -> bool {
    *preserved == Preserved::default()
}

impl Default for PolicySpec {
    fn default() -> Self {
        Self {
            policy: auto(),
            model: None,
            preserved: Preserved::default(),
            seed: None,
        }
    }
}

impl FromStr for PolicySpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        words::table(text, "policy", &[])
    }
}

impl PolicySpec {
    /// The model that the policy is given, if one is named.
    ///
    /// # Errors
    /// As [`Names::model`].
    pub fn model(&self, names: &Names, files: &dyn Files) -> Result<Option<Model>, Error> {
        let model = self.model.as_ref();
        model.map(|spec| spec.load(names, None, files)).transpose()
    }

    /// The policy, for this job or for a stream of jobs, by the model that [`model`](Self::model)
    /// gives.
    ///
    /// # Errors
    /// As [`Names::policy`].
    pub fn policy(
        &self,
        names: &Names,
        model: Option<&Model>,
        job: Option<&Job>,
    ) -> Result<Box<dyn Policy>, Error> {
        let choice = Choice {
            model,
            preserved: self.preserved,
            job,
            seed: self.seed,
        };
        names.policy(&self.policy, &choice)
    }

    /// The scheduler that a request names, by its own placement policy or, if it has none, by this one.
    ///
    /// # Errors
    /// As [`Names::scheduler`]; the policy or its model cannot be had.
    pub fn scheduler(
        &self,
        names: &Names,
        spec: &SchedulerSpec,
        execution: &ExecutionSpec,
        files: &dyn Files,
    ) -> Result<Box<dyn Scheduler + Send>, Error> {
        // A scheduler's own policy is taken as it is: model and seed are for the policy that the request names.
        let policy = match names.own_policy(spec) {
            Some(own) => names.policy(own, &Choice::default())?,
            None => {
                let model = self.model(names, files)?;
                // A scheduler places many jobs by one policy, so that policy cannot be made for one of them.
                self.policy(names, model.as_ref(), None)?
            }
        };
        names.scheduler(spec, policy, execution)
    }
}
