//! Everything that a request can name, and how it is found.

#[cfg(feature = "regress")]
use std::sync::Arc;

#[cfg(feature = "regress")]
use mapa_core::{Expected, Operation};
use mapa_core::{ModelUse, Policy, Rates};
#[cfg(feature = "regress")]
use mapa_regress::{read_efficiency, read_model};
use mapa_sched::Scheduler;
#[cfg(feature = "sim")]
use mapa_sim::{Execution, ExecutionRow, Workload};
use mapa_topologies::did_you_mean;

#[cfg(feature = "sim")]
use super::executions;
use super::models::{self, FILES, ModelRow};
#[cfg(feature = "sim")]
use super::named::unknown_execution;
use super::named::{ExecutionSpec, SchedulerSpec};
use super::policies::{self, Choice, PolicyRow, Preserved};
use super::registry::Registry;
#[cfg(not(feature = "sim"))]
use super::run_times;
use super::schedulers::{self, SchedulerRow};
use crate::error::Error;
use crate::files::Files;
use crate::model::Model;

/// Everything that a request can name.
///
/// # Examples
/// A policy of a program's own, found by name like any other:
/// ```
/// use mapa_core::{Policy, Rules, criteria::lowest_ids};
/// use mapa_front::names::{Choice, Names, PolicyRow};
///
/// let mut names = Names::built_in();
/// names.policies.add(PolicyRow::new("mine", "the lowest ids", |_| {
///     Ok(Box::new(Rules::new("mine").prefer(lowest_ids())))
/// }))?;
/// let mine = names.policy("mine", &Choice::default())?;
/// assert_eq!(mine.name(), "mine");
/// # Ok::<(), mapa_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Names {
    /// Placement policies.
    pub policies: Registry<PolicyRow>,
    /// Schedulers.
    pub schedulers: Registry<SchedulerRow>,
    /// Models of run time.
    #[cfg(feature = "sim")]
    pub executions: Registry<ExecutionRow>,
    /// Models of bandwidth.
    pub models: Registry<ModelRow>,
}

impl Names {
    /// What MAPA ships.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            policies: policies::built_in(),
            schedulers: schedulers::built_in(),
            #[cfg(feature = "sim")]
            executions: executions::built_in(),
            models: models::built_in(),
        }
    }

    /// The policies of a stream of jobs: those that need not know the traffic of a job.
    pub fn policies_of_streams(&self) -> impl Iterator<Item = &PolicyRow> {
        self.policies.iter().filter(|policy| !policy.needs_traffic)
    }

    /// The names of the policies that take a model, separated by commas.
    #[must_use]
    pub fn policies_by_model(&self) -> String {
        let names: Vec<&str> = self
            .policies
            .iter()
            .filter(|policy| policy.model != ModelUse::Never)
            .map(|policy| policy.name.as_str())
            .collect();
        names.join(", ")
    }

    /// The policy of this name.
    ///
    /// # Errors
    /// If no policy has the name; if the policy cannot use the model or `preserved`; if it must know
    /// the job's traffic, and that is unknown; if it draws random numbers and is given no seed.
    pub fn policy(&self, name: &str, choice: &Choice<'_>) -> Result<Box<dyn Policy>, Error> {
        let row = self.policies.get(name);
        // A policy that must know the job does not exist for a stream of jobs.
        let row = row.filter(|row| !row.needs_traffic || choice.job.is_some());
        // An unknown name gets past neither of these two checks. Their messages name the policies that an option is
        // for, which helps more than a list of all.
        if choice.preserved != Preserved::All && !row.is_some_and(|row| row.takes_preserved) {
            return Err(Error::malformed(format_args!(
                "--preserved is for the policy preserve, not {name}: expected --policy preserve, or no --preserved"
            )));
        }
        if choice.model.is_some() && !row.is_some_and(|row| row.model != ModelUse::Never) {
            return Err(Error::malformed(format_args!(
                "a model is for the policies {}, not {name}: expected one of these, or no model",
                self.policies_by_model()
            )));
        }
        let Some(row) = row else {
            let known: Vec<&str> = self
                .policies_of_streams()
                .map(|policy| policy.name.as_str())
                .collect();
            return Err(Error::malformed(format_args!(
                "no policy is called `{name}`{}: expected one of {}",
                did_you_mean(name, known.iter().copied()),
                known.join(", ")
            )));
        };
        if row.needs_seed && choice.seed.is_none() {
            return Err(Error::malformed(format_args!(
                "the policy {name} draws random numbers: expected a seed"
            )));
        }
        (row.make)(choice)
    }

    /// The policies that these words name, each once: names, `paper` for the four of the paper,
    /// `all` for the policies of whole devices.
    pub fn policy_names<'a>(&'a self, words: &'a [String]) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for word in words
            .iter()
            .map(|word| word.trim())
            .filter(|word| !word.is_empty())
        {
            let stands_for = |row: &&PolicyRow| match word {
                // Only `paper` and `all` get here.
                "paper" => row.of_paper,
                _ => !row.for_instances,
            };
            let more: Vec<&str> = match word {
                "paper" | "all" => self
                    .policies_of_streams()
                    .filter(stands_for)
                    .map(|policy| policy.name.as_str())
                    .collect(),
                // Whether there is such a policy is not checked here: `policy` does, and knows similar names.
                name => vec![name],
            };
            for name in more {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The placement policy of this scheduler, if it has one of its own.
    #[must_use]
    pub fn own_policy(&self, spec: &SchedulerSpec) -> Option<&str> {
        self.schedulers.get(spec.name())?.policy.as_deref()
    }

    /// The scheduler that a request names, which places every job by this policy. A scheduler that
    /// waits for better links depends on the execution model, which is given too.
    ///
    /// # Errors
    /// If no scheduler or execution model has the name, if a setting is wrong, or if the scheduler
    /// has a placement policy of its own that is not this one.
    pub fn scheduler(
        &self,
        spec: &SchedulerSpec,
        policy: Box<dyn Policy>,
        execution: &ExecutionSpec,
    ) -> Result<Box<dyn Scheduler + Send>, Error> {
        let Some(row) = self.schedulers.get(spec.name()) else {
            return Err(Error::malformed(format_args!(
                "no scheduler is called `{}`{}: expected {}",
                spec.name(),
                self.schedulers.hint(spec.name()),
                self.schedulers.list()
            )));
        };
        // To take the scheduler's own policy without a word would answer another request than this one.
        if let Some(own) = row.policy.as_ref().filter(|&name| name != policy.name()) {
            return Err(Error::malformed(format_args!(
                "the scheduler {spec} places jobs by {own}, not by {}: expected --policy {own}, or none",
                policy.name()
            )));
        }
        #[cfg(feature = "sim")]
        let links = (self.execution_row(execution)?.links)();
        #[cfg(not(feature = "sim"))]
        let links = run_times::link_model(execution)?;
        // The settings go along unread: only the row knows which it has.
        (row.make)(spec.words(), policy, links)
    }

    /// The row of the execution model that a request names.
    ///
    /// # Errors
    /// If no model has the name, or if settings follow the name of a model that has none.
    #[cfg(feature = "sim")]
    pub fn execution_row(&self, spec: &ExecutionSpec) -> Result<&ExecutionRow, Error> {
        let row = self.executions.get(spec.name());
        // A model that takes no settings is unknown with some, so that the message lists the forms.
        let row = row.filter(|row| spec.settings().next().is_none() || !row.settings.is_empty());
        row.ok_or_else(|| {
            unknown_execution(
                spec,
                &self.executions.hint(spec.name()),
                self.executions.iter().map(ExecutionRow::form).collect(),
            )
        })
    }

    /// The execution model that a request names, for the jobs of a workload.
    ///
    /// # Errors
    /// As [`execution_row`](Self::execution_row); or if a setting is wrong.
    #[cfg(feature = "sim")]
    pub fn execution(
        &self,
        spec: &ExecutionSpec,
        workload: &Workload,
    ) -> Result<Box<dyn Execution>, Error> {
        let row = self.execution_row(spec)?;
        row.execution(spec.settings(), workload)
            .map_err(|error| Error::at(spec, error))
    }

    /// The model of this name, or of this coefficient file, at these rates of links.
    ///
    /// # Errors
    /// If there is no such name or file, if the file cannot be read, or if rates are given for a
    /// model that takes none.
    pub fn model(
        &self,
        word: &str,
        rates: Option<Rates>,
        files: &dyn Files,
    ) -> Result<Model, Error> {
        // Only behind the name of a model does a comma begin a setting: the name of a file may have one too.
        if let Some((name, setting)) = word.split_once(',')
            && self.models.get(name).is_some()
        {
            // This setting stands alone, and has its own rates.
            let network = models::over_network(name).filter(|_| setting.trim() == models::NETWORK);
            let network = network.filter(|_| rates.is_none());
            return network.ok_or_else(|| {
                Error::at(
                    format_args!("the model `{word}`"),
                    "expected ring-packing, tree or all-to-all with host=network, and no --rates",
                )
            });
        }
        // A name wins over a file of that name, which `./NAME` still reaches.
        let row = self.models.get(word);
        if rates.is_some() && !row.is_some_and(|row| row.takes_rates) {
            return Err(Error::malformed(format_args!(
                "--rates is for packings; the coefficients of `{word}` include the rates of links: expected no --rates"
            )));
        }
        if let Some(row) = row {
            return Ok((row.make)(rates)?);
        }
        if !files.exists(word) {
            return Err(Error::malformed(format_args!(
                "no model is called `{word}`, and no file{}: expected {}, or {FILES}",
                self.models.hint(word),
                self.models.list()
            )));
        }
        of_file(word, files)
    }
}

/// The model of a file of coefficients, or of shares.
#[cfg(feature = "regress")]
fn of_file(file: &str, files: &dyn Files) -> Result<Model, Error> {
    let text = files.text(file, crate::files::FileKind::Table)?;
    // This key tells a file of shares from one of coefficients before either is parsed.
    if text.contains("\"mapa-efficiency\"") {
        let shares = read_efficiency(&text).map_err(|error| Error::at(file, error))?;
        let expected = Expected::new(Operation::AllReduce, Arc::new(shares));
        return Ok(Model::expected(expected));
    }
    let model = read_model(&text).map_err(|error| Error::at(file, error))?;
    Ok(Model::links(model))
}

/// What reads these files is left out.
#[cfg(not(feature = "regress"))]
fn of_file(file: &str, _: &dyn Files) -> Result<Model, Error> {
    Err(Error::at(
        file,
        "this program reads no coefficient files, nor files of shares: expected the name of a model, or a program \
         with the feature `regress` of mapa-front, such as mapa-bench",
    ))
}
