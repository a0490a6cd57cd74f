//! Repeats the decisions of a run.
//!
//! Two runs of one workload diverge as soon as two jobs end in another order: other instances are
//! free, and jobs get other neighbours. A model of bandwidth can be judged more accurately if the
//! simulation repeats the decisions of the real run.

use std::collections::{BTreeMap, VecDeque};

use mapa_core::{Policy, lowest_id};
use mapa_sched::{Assignment, Event, Job, JobId, Scheduler, Tenant, Time, Token, Turn};
use mapa_sim::Outcome;

/// A scheduler that starts each job where and when it started before, or later if another job still
/// runs there. Jobs that did not run before wait for ever. An [`Outcome`] does not contain
/// repartitions, so devices must keep their layouts.
pub struct Retrace {
    /// Jobs by the time of their start.
    to_start: VecDeque<(Time, JobId, Assignment)>,
    there: BTreeMap<JobId, Job>,
}

impl Retrace {
    /// A scheduler that repeats the decisions of this run.
    pub fn new(of: &Outcome) -> Self {
        let first = of
            .runs
            .iter()
            .filter_map(|run| Some((run.started(), run.job, run.stays.first()?.at.clone())));
        let mut to_start: Vec<_> = first.collect();
        to_start.sort_by_key(|&(at, job, _)| (at, job));
        Self {
            to_start: to_start.into(),
            there: BTreeMap::new(),
        }
    }

    /// Starts a job if it has arrived and its place is free; returns whether it started.
    fn start(&self, job: JobId, at: &Assignment, turn: &mut Turn<'_>) -> bool {
        let Some(own) = self.there.get(&job) else {
            return false;
        };
        let request = own.request.clone().only(at.placement.set());
        let decision = turn
            .view(at.machine)
            .ok()
            .and_then(|view| lowest_id().decide(&request, &view).ok());
        decision.is_some_and(|decision| turn.place(Tenant::Job(job), decision).is_ok())
    }
}

impl Scheduler for Retrace {
    fn name(&self) -> &str {
        "retrace"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        if let Event::Arrived(job) = event {
            self.there.insert(job.id, job);
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let mut late = VecDeque::new();
        while let Some((at, job, placed)) = self.to_start.pop_front() {
            if at > now {
                // All later starts are still to come: the scheduler is woken for the first.
                turn.wake(at, Token(job.0));
                self.to_start.push_front((at, job, placed));
                break;
            }
            if !self.start(job, &placed, turn) {
                late.push_back((at, job, placed));
            }
        }
        late.append(&mut self.to_start);
        self.to_start = late;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mapa_core::mig::Size;
    use mapa_core::{Demand, MachineId, PCIE_GEN4_GBPS, Pattern, Request};
    use mapa_sched::{Fifo, Fleet};
    use mapa_sim::{Simulation, Submission, Workload};
    use mapa_system_pcie::pcie_aware;
    use mapa_system_pcie_sim::PcieEqualShare;
    use mapa_topologies::mig::{self, Offer};

    use super::*;

    /// Two servers whose GPUs have several layouts.
    fn fleet() -> Fleet {
        let model = mig::named("a100-40gb")
            .unwrap()
            .model(Offer::PLAIN)
            .unwrap();
        let mut machine = mapa_topologies::named("a100-pcie-4-bridged").unwrap();
        machine.fabric.set_mig(Some(&model));
        let graph = std::sync::Arc::new(machine.graph().unwrap());
        let mut fleet = Fleet::new([graph.clone(), graph.clone()]);
        let layouts: Vec<_> = model
            .maximal_layouts()
            .filter(|layout| layout.instances().len() > 2)
            .collect();
        for (at, whole) in graph.wholes().iter().enumerate() {
            fleet
                .layout_is(MachineId(0), whole, &layouts[at % layouts.len()])
                .unwrap();
            fleet
                .layout_is(MachineId(1), whole, &layouts[(at + 5) % layouts.len()])
                .unwrap();
        }
        fleet
    }

    #[test]
    fn a_simulation_is_retraced_to_the_nanosecond() {
        let jobs = (0..80).map(|id: u64| {
            let gbps = [0.0, 5.7, 17.65][id as usize % 3];
            let mut job = Job::new(
                JobId(id),
                Request::new(Pattern::single(
                    Demand::slice(Size::new(1, 1)).pcie_gbps(gbps),
                )),
            );
            job.arrived = Time::from_secs(id * 7 % 40);
            Submission::new(job, Duration::from_millis(20_000 + id * 7_919 % 50_000))
        });
        let workload = Workload::new("test", jobs);
        let run = |scheduler: &mut dyn Scheduler| {
            Simulation::new(&workload, fleet())
                .run(scheduler, &PcieEqualShare::default())
                .unwrap()
        };
        let once = run(&mut Fifo::new(pcie_aware(1.0, PCIE_GEN4_GBPS)));
        let again = run(&mut Retrace::new(&once));
        let where_and_when = |outcome: &Outcome| -> Vec<_> {
            let stays = outcome.runs.iter().flat_map(|run| run.stays.clone());
            stays
                .map(|stay| (stay.from, stay.until, stay.at.machine, stay.at.placement))
                .collect()
        };
        assert_eq!(once.runs.len(), 80);
        assert_eq!(where_and_when(&once), where_and_when(&again));
    }
}
