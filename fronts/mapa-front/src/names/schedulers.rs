//! Schedulers by name.

use std::fmt;
use std::sync::Arc;

use mapa_core::Policy;
use mapa_sched::{BuiltIn, LinkModel, Scheduler};

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
    /// Whether it is for jobs on one MIG instance each, whose run times are known by size.
    pub for_slices: bool,
    /// Whether it guards promised latencies: it must be told of latencies and of what the host does.
    pub for_latencies: bool,
    /// The settings that may follow its name, and their values, such as `depth=JOBS`.
    pub settings: &'static [&'static str],
    pub(super) make: Arc<Make>,
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
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: Arc::new(move |_, policy, _| Ok(make(policy))),
        }
    }
}

impl SchedulerRow {
    /// The row with these settings, made from the words of a request: the name with its settings.
    #[must_use]
    pub fn made(
        self,
        settings: &'static [&'static str],
        make: impl Fn(&str, Box<dyn Policy>) -> Result<Boxed, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings,
            make: Arc::new(move |words, policy, _| make(words, policy)),
            ..self
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
            for_slices: own.for_slices,
            for_latencies: own.for_latencies,
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

/// A scheduler that lets jobs wait for better links, which pays only if run times depend on links,
/// and is judged by the model by which they do.
fn patient(words: &str, policy: Box<dyn Policy>, execution: &ExecutionRow) -> Result<Boxed, Error> {
    let links = match execution.links {
        LinkEffect::None => LinkModel::None,
        LinkEffect::By(model) => LinkModel::By(model()),
        LinkEffect::Usual => LinkModel::Usual,
    };
    BuiltIn::judged_by(words, policy, links).map_err(Error::malformed)
}
