//! `simulate`: a workload under one policy or several, side by side.

use mapa_core::{ModelUse, Policy};
use mapa_sched::Fleet;
use mapa_sim::Workload;
use serde::{Deserialize, Serialize};

use crate::answer::Streamed;
use crate::answer::simulate::{Simulate, Simulated};
use crate::error::Error;
use crate::files::Files;
use crate::machine::{Loaded, MachineSpec};
use crate::names::{Choice, ExecutionSpec, ModelSpec, Names, PolicySpec, SchedulerSpec};
use crate::simulation::{PolicyRun, Runner, fleet, servers};
use crate::workload::WorkloadSpec;

/// A request for simulations of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SimulateRequest {
    /// The machine, if it is one. Whoever computes the answer has loaded it by this. With servers it
    /// names none, and says what to change of the description of every server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSpec>,
    /// A fleet of servers, such as `1250xdgx-1v` each, in place of one machine.
    pub servers: Vec<String>,
    /// The bandwidth of each server's network, GB/s, for jobs that may span servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<f64>,
    /// The jobs.
    pub workload: WorkloadSpec,
    /// The scheduler.
    pub scheduler: SchedulerSpec,
    /// The model of run times.
    pub execution: ExecutionSpec,
    /// The policies: names, `paper` or `all`. If absent, the scheduler's own, else `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<String>>,
    /// The model by which policies that take one predict bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
}

impl Default for SimulateRequest {
    fn default() -> Self {
        Self {
            machine: None,
            servers: Vec::new(),
            network: None,
            workload: WorkloadSpec::default(),
            scheduler: "fifo".into(),
            execution: "ring-packing".into(),
            policies: None,
            model: None,
        }
    }
}

/// A workload, and its simulation under each policy.
pub struct SimulateOutcome<'a> {
    /// What was asked for.
    pub request: &'a SimulateRequest,
    /// The machine or the servers, in words.
    pub machine: String,
    /// The machines, idle.
    pub fleet: Fleet,
    /// The jobs, as they were read or drawn. Every policy gets the same.
    pub workload: Workload,
    /// The simulations, in the order of the policies.
    pub runs: Vec<PolicyRun>,
    /// Whether the scheduler keeps jobs waiting because PCIe is shared, and run times do not depend on that.
    waits_in_vain: bool,
    /// Whether the scheduler plans by run times by size of instance, and jobs do not run for these.
    ignores_sizes: bool,
    /// The schedulers that place the tasks of jobs.
    task_schedulers: Vec<&'a str>,
}

/// What a simulation tells while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimulateStep<'a> {
    /// All is read: so many jobs end in all, or never do.
    Jobs(usize),
    /// The simulation under this policy begins.
    Policy(&'a str),
    /// A job has ended.
    Ended,
}

/// Simulations of a workload, as `mapa-bench simulate --json` answers. The machine is `loaded`, if it is one.
///
/// # Errors
/// If the request cannot be read, contradicts itself, or an order of the scheduler cannot be carried out.
pub fn simulate(
    names: &Names,
    files: &dyn Files,
    loaded: Option<&Loaded>,
    request: &SimulateRequest,
) -> Result<Simulate, Error> {
    let policies = request.policies(names, files)?;
    // An unknown execution model is reported before servers and jobs are read.
    names.execution(&request.execution, &Workload::default())?;
    let machines = match loaded {
        Some(loaded) => (loaded.machine.name.clone(), fleet(loaded)?),
        None => request.fleet(files, &mut |_| {})?,
    };
    // No picture is drawn of this answer, so occupancy is not recorded.
    let outcome = request.outcome(names, files, policies, machines, false, &mut |_| {})?;
    outcome.answer(&[])
}

impl SimulateRequest {
    /// The policies to simulate.
    ///
    /// # Errors
    /// If one is unknown, or the model is for none of them.
    pub fn policies(
        &self,
        names: &Names,
        files: &dyn Files,
    ) -> Result<Vec<Box<dyn Policy>>, Error> {
        let model = self.model.as_ref();
        let model = model
            .map(|spec| spec.load(names, None, files))
            .transpose()?;
        let default = names
            .own_policy(&self.scheduler)
            .map_or_else(|| PolicySpec::default().policy, str::to_owned);
        let default = vec![default];
        let words = names.policy_names(self.policies.as_ref().unwrap_or(&default));
        // Blank words are left out, so a list that is not empty may name no policy.
        if words.is_empty() {
            return Err(Error::malformed(
                "--policy names no policy: expected names, `paper` or `all`",
            ));
        }
        // One policy that takes the model is enough, so that the model can be given beside `all`.
        let takes_model = |name: &str| {
            let row = names.policies.get(name);
            row.is_some_and(|row| row.model != ModelUse::Never)
        };
        if model.is_some() && !words.iter().any(|name| takes_model(name)) {
            return Err(Error::malformed(
                "--model is for the policies auto, preserve, max-bandwidth and foresight: none of them is simulated",
            ));
        }
        let mut policies = Vec::new();
        for name in words {
            let choice = Choice {
                // A policy that takes no model refuses one.
                model: model.as_ref().filter(|_| takes_model(name)),
                ..Choice::default()
            };
            policies.push(names.policy(name, &choice)?);
        }
        Ok(policies)
    }

    /// The fleet of servers, idle, and how it is called. `warn` gets what is odd about descriptions.
    ///
    /// # Errors
    /// If a machine is named beside the servers, a server cannot be read, or the network's bandwidth is
    /// no positive number.
    pub fn fleet(
        &self,
        files: &dyn Files,
        warn: &mut dyn FnMut(String),
    ) -> Result<(String, Fleet), Error> {
        self.check_network()?;
        let changes = self.machine.clone().unwrap_or_default();
        if !changes.machine.is_empty() {
            return Err(Error::malformed(
                "a machine and servers are named: expected one of them",
            ));
        }
        let mut fleet = servers(&self.servers, &changes, files, warn)?;
        let mut name = format!(
            "{} servers: {}",
            fleet.machines().len(),
            self.servers.join(", ")
        );
        if let Some(gbps) = self.network {
            name += &format!(", {gbps} GB/s each between them");
            fleet = fleet.with_network(gbps);
        }
        Ok((name, fleet))
    }

    /// Checks that the network's bandwidth is a positive number.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_network(&self) -> Result<(), Error> {
        match self.network {
            // The parser of numbers accepts `inf` and `nan`.
            Some(gbps) if !(gbps.is_finite() && gbps > 0.0) => Err(Error::malformed(format_args!(
                "--network {gbps}: expected a number of GB/s above 0"
            ))),
            _ => Ok(()),
        }
    }

    /// Reads the jobs, and simulates them under each policy on these machines. `told` hears how it goes on.
    /// `records_occupancy`: who is on which device or instance when is kept, for pictures.
    ///
    /// # Errors
    /// As [`simulate`].
    pub fn outcome<'a>(
        &'a self,
        names: &'a Names,
        files: &dyn Files,
        policies: Vec<Box<dyn Policy>>,
        (machine, fleet): (String, Fleet),
        records_occupancy: bool,
        told: &mut dyn FnMut(SimulateStep<'_>),
    ) -> Result<SimulateOutcome<'a>, Error> {
        let workload = self.workload.load(files)?;
        let model = names.execution(&self.execution, &workload)?;
        told(SimulateStep::Jobs(workload.jobs.len() * policies.len()));
        let execution = (&self.execution, &*model);
        // One runner for all policies: what it computes for sets of devices serves each of them.
        let mut runner = Runner::new(names, (&workload, &fleet), &self.scheduler, execution);
        runner.records_occupancy = records_occupancy;
        let mut runs = Vec::new();
        // The order matters: the throughput of each policy is told relative to that of the first.
        for policy in policies {
            told(SimulateStep::Policy(policy.name()));
            runs.push(runner.under(policy, &mut || told(SimulateStep::Ended))?);
        }
        let scheduler = names.schedulers.get(self.scheduler.name());
        let row = names.execution_row(&self.execution)?;
        let task_schedulers = names
            .schedulers
            .iter()
            .filter(|scheduler| scheduler.places_tasks);
        Ok(SimulateOutcome {
            request: self,
            machine,
            // Such combinations are simulated all the same, and the answer has a remark on them.
            waits_in_vain: scheduler.is_some_and(|scheduler| scheduler.for_shared_pcie)
                && !row.shared_pcie,
            ignores_sizes: scheduler.is_some_and(|scheduler| scheduler.for_slices) && !row.by_size,
            task_schedulers: task_schedulers
                .map(|task_scheduler| task_scheduler.name.as_str())
                .collect(),
            fleet,
            workload,
            runs,
        })
    }
}

impl SimulateOutcome<'_> {
    /// What was simulated.
    #[must_use]
    pub fn simulated(&self) -> Simulated<'_> {
        Simulated {
            machine: &self.machine,
            servers: &self.request.servers,
            scheduler: self.request.scheduler.words(),
            execution: self.request.execution.words(),
            fleet: &self.fleet,
            workload: &self.workload,
            waits_in_vain: self.waits_in_vain,
            ignores_sizes: self.ignores_sizes,
            places_tasks: self
                .task_schedulers
                .contains(&self.request.scheduler.name()),
            task_schedulers: &self.task_schedulers,
        }
    }

    /// The answer, with the names of the files that were written.
    ///
    /// # Errors
    /// A measure of jobs is called `status`.
    pub fn answer(&self, written: &[String]) -> Result<Simulate, Error> {
        Simulate::new(self.simulated(), &self.runs, written).map_err(Error::malformed)
    }

    /// The same answer, with the version of its form, to be written without being held: for workloads of any length.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn streamed(&self, written: &[String]) -> Result<Streamed<'_>, Error> {
        Simulate::streamed(self.simulated(), &self.runs, written).map_err(Error::malformed)
    }
}
