//! The simulation of a workload under one policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mapa_core::Policy;
use mapa_sched::slices::SliceJob;
use mapa_sched::{Fleet, RunTime};
use mapa_sim::{Execution, Fragmentation, Occupancy, OverTime, Row, Scorer, Summary, Workload};

use super::simulation;
use super::watch::{Counted, Watched};
use crate::answer::simulate::PolicyRun;
use crate::error::Error;
use crate::names::{ExecutionSpec, Names, SchedulerSpec};
use crate::systems;

/// Simulates one workload on one fleet under several policies, one after another. What is computed
/// for sets of devices is kept, as these recur between policies.
pub struct Runner<'a> {
    /// Where schedulers are found.
    pub names: &'a Names,
    /// The jobs, the same under every policy.
    pub workload: &'a Workload,
    /// The machines, idle.
    pub fleet: &'a Fleet,
    /// The scheduler. Each run makes a fresh one.
    pub scheduler: &'a SchedulerSpec,
    /// The execution model, by which a scheduler may judge links.
    pub execution: &'a ExecutionSpec,
    /// The execution model itself.
    pub model: &'a dyn Execution,
    /// Whether to record who is on which device or instance when. Default: no, as each moment then
    /// costs a look at every tenant.
    pub records_occupancy: bool,
    scorer: Scorer,
    fragmentation: Fragmentation,
}

impl<'a> Runner<'a> {
    /// Prepares simulations with this scheduler and execution model.
    ///
    /// `model` is what [`Names::execution`] makes of `execution` for this workload.
    #[must_use]
    pub fn new(
        names: &'a Names,
        (workload, fleet): (&'a Workload, &'a Fleet),
        scheduler: &'a SchedulerSpec,
        (execution, model): (&'a ExecutionSpec, &'a dyn Execution),
    ) -> Self {
        Self {
            names,
            workload,
            fleet,
            scheduler,
            execution,
            model,
            records_occupancy: false,
            scorer: Scorer::new(),
            fragmentation: Fragmentation::default(),
        }
    }

    /// Simulates the workload under this policy. `ended` is called for each job that ends.
    ///
    /// # Errors
    /// If the scheduler is unknown or does not take the policy, if it plans by run times by size of
    /// instance and no job has its own, or one tells what cannot be, or if it gives an order that
    /// cannot be carried out.
    pub fn under(
        &mut self,
        policy: Box<dyn Policy>,
        ended: &mut dyn FnMut(),
    ) -> Result<PolicyRun, Error> {
        self.check_jobs()?;
        let name = policy.name().to_owned();
        let mut over_time = OverTime::default();
        // The scheduler owns the policy, so it shares the count.
        let cut = Arc::new(AtomicUsize::new(0));
        let watched = Box::new(Watched {
            policy,
            cut: cut.clone(),
        });
        let scheduler = self
            .names
            .scheduler(self.scheduler, watched, self.execution)?;
        let mut scheduler = Counted { scheduler, ended };
        let fragmentation = &mut self.fragmentation;
        let mut occupancy = self.records_occupancy.then(Occupancy::default);
        let outcome = simulation(self.workload, self.fleet.clone())
            .observe(|now, fleet| {
                over_time.observe(now, fleet, fragmentation);
                if let Some(occupancy) = &mut occupancy {
                    occupancy.observe(now, fleet);
                }
            })
            .run(&mut scheduler, self.model)
            .map_err(Error::malformed)?;
        // Tenants that are still there have no end of their occupancy.
        if let Some(occupancy) = &mut occupancy {
            occupancy.end(outcome.end);
        }
        let rows = Row::of(&outcome, self.workload, self.fleet, &mut self.scorer);
        let summary = Summary::by(&systems::measures(), &outcome, &rows, self.fleet)
            .map_err(Error::malformed)?;
        // The simulation is over, so there is nothing left to be ordered with.
        let cut = cut.load(Ordering::Relaxed);
        Ok(PolicyRun {
            policy: name,
            outcome,
            rows,
            summary,
            over_time,
            occupancy,
            cut,
        })
    }

    /// Checks that a scheduler that plans by run times by size of instance has jobs for it.
    fn check_jobs(&self) -> Result<(), Error> {
        let row = self.names.schedulers.get(self.scheduler.name());
        if !row.is_some_and(|scheduler| scheduler.for_slices) || self.workload.jobs.is_empty() {
            return Ok(());
        }
        let mut with_sizes = 0;
        for (row, submission) in self.workload.jobs.iter().enumerate() {
            let id = submission.job.id;
            let of_rule = SliceJob::of(&submission.job)
                .map_err(|error| Error::malformed(format_args!("job {id} (row {row}): {error}")))?;
            let by_size = matches!(submission.job.run_time, RunTime::BySize(_));
            with_sizes += usize::from(by_size && of_rule.is_some());
        }
        if with_sizes == 0 {
            return Err(Error::malformed(format_args!(
                "the scheduler {} plans by run times by size of MIG instance, and no job has its own: expected \
                 `slice` any and `estimate_s` such as 1g.1m=50 2g.2m=25 (docs/workloads.md)",
                self.scheduler
            )));
        }
        Ok(())
    }
}
