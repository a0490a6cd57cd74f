//! Schedulers by name.

use std::fmt;
use std::sync::Arc;

use mapa_core::Policy;
use mapa_sched::{LinkModel, NamedScheduler, SCHEDULERS, Scheduler};

use super::registry::{Registry, Row};
use crate::error::Error;
use crate::systems;

type Boxed = Box<dyn Scheduler + Send>;
type Make = dyn Fn(&str, Box<dyn Policy>, LinkModel) -> Result<Boxed, Error> + Send + Sync;

/// A scheduler that requests can name.
#[derive(Clone)]
#[non_exhaustive]
pub struct SchedulerRow {
    /// The name, which settings may follow in a request.
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
    /// Whether it places the tasks of jobs, which others leave waiting.
    pub places_tasks: bool,
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
            places_tasks: false,
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

impl From<NamedScheduler> for SchedulerRow {
    fn from(named: NamedScheduler) -> Self {
        Self {
            name: named.name.to_owned(),
            summary: named.summary.to_owned(),
            policy: named.policy.map(str::to_owned),
            for_shared_pcie: named.for_shared_pcie,
            for_slices: named.for_slices,
            places_tasks: named.places_tasks,
            for_latencies: named.for_latencies,
            settings: named.settings,
            make: Arc::new(move |words, policy, links| {
                // A scheduler that lets jobs wait for better links is judged by the model by which
                // run times depend on links.
                let links = if named.waits_for_links {
                    links
                } else {
                    LinkModel::Usual
                };
                let made = named.scheduler(words, policy, links);
                made.map_err(Error::malformed)
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

/// The general schedulers of `mapa-sched`, then those of published systems.
pub(super) fn built_in() -> Registry<SchedulerRow> {
    SCHEDULERS
        .into_iter()
        .chain(systems::schedulers())
        .map(SchedulerRow::from)
        .collect()
}
