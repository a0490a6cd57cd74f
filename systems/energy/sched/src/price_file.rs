//! Prices as data: what they are, and what they were tuned for.

use mapa_core::{MAX_TOML_BYTES, check_size};
use serde::{Deserialize, Serialize};

use super::guard::TunedFor;
use super::machine::SlicedGpus;
use super::plan::EnergyPlan;
use super::prices::Prices;
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::Power;

/// A set of prices with what they were tuned for: a TOML file.
///
/// # Examples
/// ```
/// use mapa_system_energy::{Power, PriceFile, Rule};
///
/// let file = PriceFile::named("searched-layouts")?;
/// assert_eq!(file.machine.machine(Power::A100)?.gpu_count(), 8);
/// assert_eq!(PriceFile::read(&file.write()?)?, file);
/// assert_eq!(file.plan()?.name(), "energy-plan");
/// # Ok::<(), mapa_system_energy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceFile {
    /// The name of the set.
    pub name: String,
    /// What it is for, in one sentence.
    pub what: String,
    /// Who found it, and how.
    pub source: String,
    /// The prices.
    pub prices: Prices,
    /// The GPUs for which they were tuned.
    pub machine: TunedMachine,
    /// The jobs for which they were tuned.
    pub tuned: Tuned,
}

/// GPUs of a set of prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TunedMachine {
    /// GPUs that keep their layouts, as [`SlicedGpus::new`] reads them.
    Layouts(String),
    /// GPUs that are repartitioned while jobs run.
    Repartitioned {
        /// How many.
        gpus: usize,
        /// How long the creation of an instance takes, minutes.
        creation_minutes: f64,
    },
}

impl TunedMachine {
    /// The machine, of GPUs of this power.
    ///
    /// # Errors
    /// As [`SlicedGpus::new`] and [`SlicedGpus::flexible`].
    pub fn machine(&self, power: Power) -> Result<SlicedGpus, Error> {
        match self {
            Self::Layouts(layouts) => SlicedGpus::new(layouts, power),
            Self::Repartitioned {
                gpus,
                creation_minutes,
            } => SlicedGpus::flexible(*gpus, power, *creation_minutes),
        }
    }
}

/// The jobs for which prices were tuned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// Where the jobs are from.
    pub jobs: String,
    /// The least and the most work that arrived, minutes on a whole GPU for each GPU and minute,
    /// over an hour.
    pub load: [f64; 2],
    /// The least and the most of a job's time from arrival to deadline, by its run time on a whole
    /// GPU.
    pub slack: [f64; 2],
    /// The most jobs that waited, for each GPU.
    pub waiting: f64,
    /// By how much the logarithm of run times was wrong (its standard deviation).
    pub sigma: f64,
    /// The precision of times: `double` or `single`.
    pub arithmetic: String,
    /// The seed of the search.
    pub seed: u64,
    /// The seeds of the days: the first and the last. None for a job file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<[u64; 2]>,
    /// How much late jobs, tardiness and energy weighed, relative to largest-first on the same days.
    pub objective: [f64; 3],
}

impl Tuned {
    /// The range, as [`EnergyPlan::tuned_for`] takes it.
    #[must_use]
    pub fn range(&self) -> TunedFor {
        TunedFor {
            load: self.load,
            slack: self.slack,
            waiting: self.waiting,
        }
    }
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../data/", $name, ".toml")))),+]
    };
}

/// The sets of this crate, with the texts of their files.
const SHIPPED: [(&str, &str); 7] = shipped![
    "published-layouts",
    "searched-layouts",
    "exact-run-times",
    "best-layouts",
    "rough-run-times",
    "tight-deadlines",
    "repartitioned",
];

impl PriceFile {
    /// Reads a file, and checks that a plan can be made with it.
    ///
    /// # Errors
    /// More than [`MAX_TOML_BYTES`]; text that is not TOML; a key that is missing, unknown or of another type, by its line; a
    /// number that is no price ([`Prices::checked`]), a range that falls, a machine that cannot be.
    pub fn read(text: &str) -> Result<Self, Error> {
        check_size(text.len(), MAX_TOML_BYTES).map_err(|what| bad(format!("prices: {what}")))?;
        let own: Self = toml::from_str(text).map_err(|error| bad(format!("prices: {error}")))?;
        own.checked()
    }

    /// The file as text. What [`read`](Self::read) makes of it is equal.
    ///
    /// # Errors
    /// A number that TOML cannot write.
    pub fn write(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(|error| bad(format!("prices: {error}")))
    }

    /// The set of this name that comes with this crate.
    ///
    /// # Errors
    /// An unknown name: the message lists those that exist.
    pub fn named(name: &str) -> Result<Self, Error> {
        match SHIPPED.iter().find(|(candidate, _)| *candidate == name) {
            Some((_, text)) => Self::read(text),
            None => {
                let names: Vec<&str> = Self::names().collect();
                let expected = names.join(", ");
                Err(bad(format!("no prices `{name}`: expected {expected}")))
            }
        }
    }

    /// The names of the sets that come with this crate.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The plan, on guard for what its prices were tuned for.
    ///
    /// # Errors
    /// Prices or a range that cannot be: none for a file that was [read](Self::read).
    pub fn plan(&self) -> Result<EnergyPlan, Error> {
        EnergyPlan::new(self.prices)?.tuned_for(self.tuned.range())
    }

    fn checked(self) -> Result<Self, Error> {
        self.prices.checked()?;
        self.machine.machine(Power::A100)?;
        self.tuned.range().checked()?;
        let Tuned {
            sigma,
            arithmetic,
            objective,
            ..
        } = &self.tuned;
        let numbers = objective.iter().chain([sigma]);
        for value in numbers {
            if !(value.is_finite() && *value >= 0.0) {
                let what = format!("prices: `tuned` has {value}: expected a number of 0 or more");
                return Err(bad(what));
            }
        }
        if arithmetic != "double" && arithmetic != "single" {
            let what =
                format!("prices: `tuned.arithmetic` is `{arithmetic}`: expected double or single");
            return Err(bad(what));
        }
        Ok(self)
    }
}

fn bad(what: String) -> Error {
    ErrorKind::BadPrices(what).into()
}
