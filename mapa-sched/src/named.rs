//! Schedulers by name: the rows that fronts list, and how words become a scheduler.
//!
//! The general schedulers are [`SCHEDULERS`](crate::SCHEDULERS). A published system has rows of its own in a crate of
//! its own, and fronts list them behind these.

use std::time::Duration;

use mapa_core::{Policy, Setting, Settings, effective_gbps, ring_packing_gbps};

use crate::error::{Error, ErrorKind};
use crate::first_fit::LinkModel;
use crate::scheduler::Scheduler;

/// A scheduler that can be sent to another thread.
pub type BoxedScheduler = Box<dyn Scheduler + Send>;

/// The settings behind a scheduler's name, by key.
pub type SettingValues<'w> = Settings<'w, &'static str>;

/// Makes a scheduler that places jobs by a policy, with settings, for run times by a model of links.
pub type MakeScheduler =
    fn(Box<dyn Policy>, &SettingValues<'_>, LinkModel) -> Result<BoxedScheduler, mapa_core::Error>;

/// A scheduler that can be named: a row of a list such as [`SCHEDULERS`](crate::SCHEDULERS).
///
/// # Examples
/// A scheduler of a program's own, with a setting.
/// ```
/// use mapa_core::preserve;
/// use mapa_sched::{Conservative, NamedScheduler};
///
/// const CAREFUL: NamedScheduler = NamedScheduler::new("careful", "reserves for every job", |policy, settings, _| {
///     let depth = settings.get("depth").map(|depth| depth.whole()).transpose()?;
///     Ok(Box::new(Conservative::new(policy).depth(depth.unwrap_or(100))))
/// })
/// .settings(&["depth=JOBS"]);
///
/// let scheduler = NamedScheduler::among(&[CAREFUL], "careful,depth=10", Box::new(preserve()))?;
/// assert_eq!(scheduler.name(), "conservative-backfill, preserve");
/// # Ok::<(), mapa_sched::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NamedScheduler {
    /// The word that users type: lower case, words joined by hyphens.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The policy by which it places jobs, if it takes no other.
    pub policy: Option<&'static str>,
    /// Whether it keeps jobs waiting for better links, which pays only if run times depend on
    /// these.
    pub waits_for_links: bool,
    /// Whether it keeps jobs waiting because PCIe is shared, which pays only if run times depend on
    /// that.
    pub for_shared_pcie: bool,
    /// Whether it is for jobs on one MIG instance each, whose run times are known by size of
    /// instance. It places all others as `fifo` does.
    pub for_slices: bool,
    /// Whether it places the tasks of jobs, which others leave waiting.
    pub places_tasks: bool,
    /// Whether it guards promised latencies: it needs the latencies of tenants and the counters of the host.
    pub for_latencies: bool,
    /// The settings that may follow its name, and their values, such as `depth=JOBS`.
    pub settings: &'static [&'static str],
    make: MakeScheduler,
}

impl NamedScheduler {
    /// A scheduler without settings, which places jobs by any policy.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, make: MakeScheduler) -> Self {
        Self {
            name,
            summary,
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            places_tasks: false,
            for_latencies: false,
            settings: &[],
            make,
        }
    }

    /// The same, which places jobs by this policy alone.
    #[must_use]
    pub const fn placing_by(mut self, policy: &'static str) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The same, which [waits for links](Self::waits_for_links).
    #[must_use]
    pub const fn waits_for_links(mut self) -> Self {
        self.waits_for_links = true;
        self
    }

    /// The same, which is [for shared PCIe](Self::for_shared_pcie).
    #[must_use]
    pub const fn for_shared_pcie(mut self) -> Self {
        self.for_shared_pcie = true;
        self
    }

    /// The same, which is [for slices](Self::for_slices).
    #[must_use]
    pub const fn for_slices(mut self) -> Self {
        self.for_slices = true;
        self
    }

    /// The same, which [places tasks](Self::places_tasks).
    #[must_use]
    pub const fn places_tasks(mut self) -> Self {
        self.places_tasks = true;
        self
    }

    /// The same, which is [for latencies](Self::for_latencies).
    #[must_use]
    pub const fn for_latencies(mut self) -> Self {
        self.for_latencies = true;
        self
    }

    /// The same, whose name these settings may follow, such as `depth=JOBS`.
    #[must_use]
    pub const fn settings(mut self, forms: &'static [&'static str]) -> Self {
        self.settings = forms;
        self
    }

    /// The row that these words name, with or without settings behind the name.
    #[must_use]
    pub fn find<'r>(rows: &'r [Self], words: &str) -> Option<&'r Self> {
        let name = words.split(',').next().unwrap_or_default();
        rows.iter().find(|row| row.name == name)
    }

    /// The scheduler among these rows that the words name, every job placed by this policy, unless it
    /// has a [`policy`](Self::policy) of its own. Behind the name may be [settings](Self::settings).
    ///
    /// ```
    /// use mapa_core::preserve;
    /// use mapa_sched::{NamedScheduler, SCHEDULERS};
    ///
    /// let named = |words| NamedScheduler::among(&SCHEDULERS, words, Box::new(preserve()));
    /// assert_eq!(named("conservative-backfill,depth=10")?.name(), "conservative-backfill, preserve");
    /// let error = named("fifo,depth=10").err().map(|error| error.to_string());
    /// assert_eq!(error.as_deref(), Some(
    ///     "scheduler `fifo,depth=10`: `depth=10`: no setting is called `depth`: expected the name alone, \
    ///      as this scheduler has no settings"
    /// ));
    /// # Ok::<(), mapa_sched::Error>(())
    /// ```
    ///
    /// # Errors
    /// No such scheduler, or no such setting or value; the message lists those there are.
    pub fn among(
        rows: &[Self],
        words: &str,
        policy: Box<dyn Policy>,
    ) -> Result<BoxedScheduler, Error> {
        let Some(row) = Self::find(rows, words) else {
            let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
            return Err(ErrorKind::UnknownScheduler {
                name: words.split(',').next().unwrap_or_default().to_owned(),
                known: names.join(", "),
            }
            .into());
        };
        row.scheduler(words, policy, LinkModel::Usual)
    }

    /// This scheduler, with the settings behind the name with which these words begin, for run times
    /// that depend on links by this model. Schedulers that [wait for links](Self::waits_for_links)
    /// use the model.
    ///
    /// # Errors
    /// No such setting or value; the message lists those there are.
    pub fn scheduler(
        &self,
        words: &str,
        policy: Box<dyn Policy>,
        links: LinkModel,
    ) -> Result<BoxedScheduler, Error> {
        let made = self
            .read(words)
            .and_then(|settings| (self.make)(policy, &settings, links));
        made.map_err(|error| {
            ErrorKind::BadSetting {
                scheduler: words.to_owned(),
                error,
            }
            .into()
        })
    }

    /// The settings behind the name with which these words begin.
    fn read<'w>(&self, words: &'w str) -> Result<SettingValues<'w>, mapa_core::Error> {
        let expected = match self.settings {
            [] => "the name alone, as this scheduler has no settings".to_owned(),
            known => known.join(", "),
        };
        let keys = || {
            self.settings
                .iter()
                .filter_map(|form| form.split('=').next())
        };
        Settings::read(words.split(',').skip(1), &expected, |key| {
            keys().find(|known| *known == key)
        })
    }
}

/// Reads the setting `model`; without it, the model by which run times depend on links.
///
/// # Errors
/// If its value names no model.
pub fn link_model(
    settings: &SettingValues<'_>,
    links: LinkModel,
) -> Result<LinkModel, mapa_core::Error> {
    match settings.get("model") {
        Some(model) => model.read("eq-2 or ring-packing", |value| match value {
            "eq-2" => Some(LinkModel::By(effective_gbps())),
            "ring-packing" => Some(LinkModel::By(ring_packing_gbps())),
            _ => None,
        }),
        None => Ok(links),
    }
}

/// Reads seconds of at least 0, or the word `none` as [`Duration::MAX`]. More seconds than a
/// [`Duration`] can hold are [`Duration::MAX`] too.
///
/// # Errors
/// If the value is neither.
pub fn seconds_or_none(setting: Setting<'_>) -> Result<Duration, mapa_core::Error> {
    let seconds = setting.number_or_none(0.0, "seconds from 0 on, or none")?;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
