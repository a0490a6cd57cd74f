//! Hand-overs of tenants: one after the other, carried out on a thread of its own. A place may need minutes until it is
//! ready, and meanwhile throttles must end in time, and systemd must hear that the daemon lives.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mapa_live::levers::{
    ApplyFailure, LeverChange, LeverError, LeverEvent, LeverSet, Lifetime, Plan,
};
use mapa_system_slo::Relaunched;
use tracing::warn;

use super::actuator::{of_tenant, print, tell};
use super::config::{SloConfig, route_of};
use crate::daemon::driver::{NodeDriver, now_ms};
use crate::error::Error;

/// How long the end of the program waits for a hand-over: systemd waits for 30 seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hand-over to be done.
struct Handover {
    number: u64,
    tenant: String,
    to: u32,
    warm: bool,
}

/// What became of a hand-over.
pub(super) struct HandoverResult {
    /// Its number.
    pub number: u64,
    /// The tenant.
    pub tenant: String,
    /// What became of it.
    pub became: Relaunched,
}

/// What the thread is to do.
enum Job {
    /// Carries a plan out.
    Apply(Plan),
    /// Reverts a plan, of which something is left.
    Revert(Plan),
}

/// What came of it.
enum WorkerOutcome {
    /// A plan was carried out, or was not.
    Applied(Result<(), ApplyFailure>),
    /// A plan was reverted, or was not.
    Reverted(Result<(), Vec<LeverError>>),
}

/// What the thread does now.
enum UnderWay {
    /// A hand-over, as the change of this number.
    Apply(u64, Handover),
    /// The revert of the change of this number.
    Revert(u64),
}

/// Hand-overs, one after the other.
pub(super) struct HandoverQueue<'a> {
    config: &'a SloConfig,
    jobs: Sender<Job>,
    done: Receiver<WorkerOutcome>,
    worker: JoinHandle<()>,
    waiting: VecDeque<Handover>,
    under_way: Option<UnderWay>,
    /// Where each tenant runs.
    at: BTreeMap<String, u32>,
    last: u64,
}

impl<'a> HandoverQueue<'a> {
    /// Begins, with levers for the thread, and tenants that are at these places.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(
        config: &'a SloConfig,
        mut levers: LeverSet,
        at: BTreeMap<String, u32>,
    ) -> Result<Self, Error> {
        let (jobs, to_do) = channel();
        let (outcomes, done) = channel();
        let work = move || {
            for job in to_do {
                let done = match job {
                    Job::Apply(plan) => WorkerOutcome::Applied(levers.apply(&plan)),
                    Job::Revert(plan) => WorkerOutcome::Reverted(levers.revert(&plan)),
                };
                if outcomes.send(done).is_err() {
                    return;
                }
            }
        };
        let worker = thread::Builder::new()
            .name("hand-overs".to_owned())
            .spawn(work)
            .map_err(|error| Error::at("hand-overs", error))?;
        Ok(Self {
            config,
            jobs,
            done,
            worker,
            waiting: VecDeque::new(),
            under_way: None,
            at,
            last: 0,
        })
    }

    /// Has a tenant handed over to a place. Returns the number of the hand-over.
    pub(super) fn order(&mut self, tenant: &str, to: u32, warm: bool) -> u64 {
        self.last += 1;
        self.waiting.push_back(Handover {
            number: self.last,
            tenant: tenant.to_owned(),
            to,
            warm,
        });
        self.last
    }

    /// Takes what the thread has done, and gives it the next hand-over, or what is left to be reverted. Returns what
    /// became of hand-overs.
    pub(super) fn go_on(&mut self, driver: &mut NodeDriver<'_>) -> Vec<HandoverResult> {
        let mut over = Vec::new();
        while let Ok(done) = self.done.try_recv() {
            over.extend(self.finish(driver, done));
        }
        while self.under_way.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            over.extend(self.start_next(driver, next));
        }
        if self.under_way.is_none() {
            let left = driver.levers.manager.left_away().next();
            if let Some((id, plan)) = left.map(|entry| (entry.id, entry.plan.clone())) {
                self.under_way = Some(UnderWay::Revert(id));
                self.send(Job::Revert(plan));
            }
        }
        over
    }

    /// The worker is gone only after a panic. Then no result comes: the controller gives the hand-over up, and the
    /// next start reverts what there is of it.
    fn send(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    /// Begins a hand-over. Returns what became of it, if it is over at once.
    fn start_next(
        &mut self,
        driver: &mut NodeDriver<'_>,
        next: Handover,
    ) -> Option<HandoverResult> {
        let tenant = &self.config.tenants[&next.tenant];
        let at = self.at.get(&next.tenant).copied().unwrap_or_default();
        // A hand-over that its controller has given up may have been done after all, or not: what counts is where the
        // tenant is.
        if at == next.to {
            return Some(next.is(Relaunched::Done));
        }
        let place = |at: u32| tenant.places.get(at as usize);
        let (Some(old), Some(new)) = (place(at), place(next.to)) else {
            return Some(next.is(Relaunched::Failed));
        };
        let change = LeverChange::HandOver {
            old: old.clone(),
            new: new.clone(),
            route: route_of(tenant, new),
            warm: next.warm,
        };
        if driver.levers.is_dry {
            let plan = driver.levers.manager.plan(&change);
            print(driver, &of_tenant(&next.tenant), plan);
            return Some(next.is(Relaunched::Failed));
        }
        match driver
            .levers
            .manager
            .begin(&change, Lifetime::Kept, now_ms())
        {
            Ok((id, plan)) => {
                self.under_way = Some(UnderWay::Apply(id, next));
                self.send(Job::Apply(plan));
                None
            }
            Err(event) => {
                tell(driver, &of_tenant(&next.tenant), &event);
                Some(self.became(next, &event))
            }
        }
    }

    /// Confirms what the thread has done. Returns what became of a hand-over.
    fn finish(
        &mut self,
        driver: &mut NodeDriver<'_>,
        done: WorkerOutcome,
    ) -> Option<HandoverResult> {
        let manager = &mut driver.levers.manager;
        match (self.under_way.take()?, done) {
            (UnderWay::Apply(id, handover), WorkerOutcome::Applied(done)) => {
                let event = manager.finish(id, done)?;
                tell(driver, &of_tenant(&handover.tenant), &event);
                Some(self.became(handover, &event))
            }
            (UnderWay::Revert(id), WorkerOutcome::Reverted(done)) => {
                let event = manager.finish_revert(id, done)?;
                driver.levers.report_revert(&event, &mut driver.reporter);
                None
            }
            _ => None,
        }
    }

    fn became(&mut self, handover: Handover, event: &LeverEvent) -> HandoverResult {
        let is_done = matches!(
            event,
            LeverEvent::Applied { .. } | LeverEvent::Extended { .. } | LeverEvent::Unchanged { .. }
        );
        if !is_done {
            return handover.is(Relaunched::Failed);
        }
        self.at.insert(handover.tenant.clone(), handover.to);
        handover.is(Relaunched::Done)
    }

    /// Ends. A hand-over that is under way has some time; of one that takes longer the next start reverts what there
    /// is of it.
    pub(super) fn end(mut self, driver: &mut NodeDriver<'_>) {
        let begun = Instant::now();
        while self.under_way.is_some() && !self.worker.is_finished() {
            if begun.elapsed() > PATIENCE {
                warn!("a hand-over is under way: the next start reverts it");
                return;
            }
            match self.done.try_recv() {
                Ok(done) => drop(self.finish(driver, done)),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Handover {
    fn is(self, became: Relaunched) -> HandoverResult {
        HandoverResult {
            number: self.number,
            tenant: self.tenant,
            became,
        }
    }
}
