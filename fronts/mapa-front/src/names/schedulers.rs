//! Schedulers by name.

use std::fmt;
use std::sync::Arc;

use mapa_core::Policy;
use mapa_sched::{BuiltIn, Foresight, Scheduler};

use super::Names;
use super::executions::{ExecutionRow, LinkEffect};
use super::registry::{Registry, Row};
use crate::error::Error;

type Boxed = Box<dyn Scheduler + Send>;
type Make = dyn Fn(&str, Box<dyn Policy>, &ExecutionRow) -> Result<Boxed, Error> + Send + Sync;

/// A scheduler that requests can name.
#[derive(Clone)]
#[non_exhaustive]
pub struct SchedulerRow {
    /// The name.
    pub name: String,
    /// One line for help texts.
    pub summary: String,
    /// The policy by which it places jobs, if it takes no other.
    pub policy: Option<String>,
    /// Whether it keeps jobs waiting because PCIe is shared, which pays only if run times depend on
    /// that.
    pub for_shared_pcie: bool,
    /// The settings that may follow its name, and their values, such as `depth=JOBS`.
    pub settings: &'static [&'static str],
    make: Arc<Make>,
}

impl SchedulerRow {
    /// A scheduler without settings, which places jobs by the policy that it is given.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        make: impl Fn(Box<dyn Policy>) -> Boxed + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            policy: None,
            for_shared_pcie: false,
            settings: &[],
            make: Arc::new(move |_, policy, _| Ok(make(policy))),
        }
    }
}

impl From<BuiltIn> for SchedulerRow {
    fn from(own: BuiltIn) -> Self {
        Self {
            name: own.name.to_owned(),
            summary: own.summary.to_owned(),
            policy: own.policy.map(str::to_owned),
            for_shared_pcie: own.for_shared_pcie,
            settings: own.settings,
            make: Arc::new(|words, policy, _| {
                BuiltIn::named(words, policy).map_err(Error::malformed)
            }),
        }
    }
}

impl fmt::Debug for SchedulerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerRow")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Row for SchedulerRow {
    const WHAT: &'static str = "scheduler";

    fn name(&self) -> &str {
        &self.name
    }
}

/// The schedulers of `mapa-sched`.
pub(super) fn built_in() -> Registry<SchedulerRow> {
    BuiltIn::ALL
        .into_iter()
        .map(|own| {
            let row = SchedulerRow::from(own);
            if own.waits_for_links {
                SchedulerRow {
                    make: Arc::new(patient),
                    ..row
                }
            } else {
                row
            }
        })
        .collect()
}

/// The scheduler `foresight`: it lets its queue head wait for better links, which pays only if run
/// times depend on links, and is judged by the model by which they do.
fn patient(words: &str, policy: Box<dyn Policy>, execution: &ExecutionRow) -> Result<Boxed, Error> {
    Ok(match execution.links {
        LinkEffect::None => Box::new(Foresight::new(policy).patience(None)),
        LinkEffect::By(model) => {
            Box::new(Foresight::new(policy).by(mapa_core::Foresight::new(model())))
        }
        LinkEffect::Usual => BuiltIn::named(words, policy).map_err(Error::malformed)?,
    })
}

impl Names {
    /// The row of the scheduler that these words name, with or without settings.
    #[must_use]
    pub fn scheduler_row(&self, words: &str) -> Option<&SchedulerRow> {
        self.schedulers
            .get(words.split(',').next().unwrap_or_default())
    }

    /// The placement policy of the scheduler that these words name, if it has one of its own.
    #[must_use]
    pub fn own_policy(&self, words: &str) -> Option<&str> {
        self.scheduler_row(words)?.policy.as_deref()
    }

    /// The scheduler that these words name, which places every job by this policy. A scheduler that
    /// waits for better links depends on the execution model, whose words are given too.
    ///
    /// # Errors
    /// If no scheduler or execution model has the name, if a setting is wrong, or if the scheduler
    /// has a placement policy of its own that is not this one.
    pub fn scheduler(
        &self,
        words: &str,
        policy: Box<dyn Policy>,
        execution: &str,
    ) -> Result<Boxed, Error> {
        let Some(row) = self.scheduler_row(words) else {
            return Err(Error::malformed(format_args!(
                "no scheduler is called `{}`: expected {}",
                words.split(',').next().unwrap_or_default(),
                self.schedulers.list()
            )));
        };
        if let Some(own) = row.policy.as_ref().filter(|&own| own != policy.name()) {
            return Err(Error::malformed(format_args!(
                "the scheduler {words} places jobs by {own}, not by {}: expected --policy {own}, or none",
                policy.name()
            )));
        }
        (row.make)(words, policy, self.execution_row(execution)?)
    }
}
