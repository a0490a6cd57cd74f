//! How far a simulation has come, for those who wait, and what its policy could not finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mapa_core::{Decision, Policy, PolicyId, Refusal, Request, View};
use mapa_sched::{Event, Scheduler, Time, Turn};

use crate::failure::Failure;

/// A bar over the jobs of all simulations, on a terminal's standard error; hidden for programs.
pub(super) fn bar(jobs: usize, hidden: bool) -> Result<ProgressBar, Failure> {
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), target);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} jobs, {msg}").map_err(Failure::malformed)?);
    Ok(bar)
}

/// A scheduler that moves the bar on at each job that ends.
pub(super) struct Counted<'a> {
    pub(super) scheduler: Box<dyn Scheduler + Send>,
    pub(super) bar: &'a ProgressBar,
}

impl Scheduler for Counted<'_> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        if matches!(event, Event::Finished(_)) {
            self.bar.inc(1);
        }
        self.scheduler.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.scheduler.act(now, turn);
    }
}

/// A policy that counts those of its decisions whose search stopped at its limit: a better placement may have been there.
pub(super) struct Watched {
    pub(super) policy: Box<dyn Policy>,
    pub(super) cut: Arc<AtomicUsize>,
}

impl Policy for Watched {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        self.policy.of_free_set()
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let decision = self.policy.decide(request, view)?;
        self.cut.fetch_add(usize::from(!decision.search().complete()), Ordering::Relaxed);
        Ok(decision)
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::{BuiltIn, Limits, Pattern};
    use mapa_topologies::named;

    use super::*;

    #[test]
    fn decisions_that_reached_the_limit_of_the_search_are_counted() {
        let graph = named("dgx-1v").unwrap().graph().unwrap();
        let cut = Arc::new(AtomicUsize::new(0));
        let watched = Watched { policy: BuiltIn::named("greedy").unwrap(), cut: cut.clone() };
        let (all, request) = (graph.all(), Request::new(Pattern::ring(3)));
        watched.decide(&request, &graph.with_free(&all)).unwrap();
        assert_eq!(cut.load(Ordering::Relaxed), 0);
        watched.decide(&request.limits(Limits::NONE.matches(1)), &graph.with_free(&all)).unwrap();
        assert_eq!(cut.load(Ordering::Relaxed), 1);
    }
}
