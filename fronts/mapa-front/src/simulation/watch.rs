//! Observers of a simulation: jobs that end, and searches that stopped early.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mapa_core::{Decision, Policy, PolicyId, Refusal, Request, View};
use mapa_sched::{Event, Scheduler, Time, Turn};

/// A scheduler that reports each job that ends.
pub(super) struct Counted<'a> {
    pub(super) scheduler: Box<dyn Scheduler + Send>,
    pub(super) ended: &'a mut dyn FnMut(),
}

impl Scheduler for Counted<'_> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        if matches!(event, Event::Finished(_)) {
            (self.ended)();
        }
        self.scheduler.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.scheduler.act(now, turn);
    }
}

/// A policy that counts the decisions whose search stopped at the limit, so that better placements
/// may exist.
pub(super) struct Watched {
    pub(super) policy: Box<dyn Policy>,
    pub(super) cut: Arc<AtomicUsize>,
}

impl Policy for Watched {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        // Under the policy's own identity, what is cached for it serves here too.
        self.policy.of_free_set()
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let decision = self.policy.decide(request, view)?;
        self.cut.fetch_add(
            usize::from(!decision.search().complete()),
            Ordering::Relaxed,
        );
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
        let watched = Watched {
            policy: BuiltIn::named("greedy").unwrap(),
            cut: cut.clone(),
        };
        let (all, request) = (graph.all(), Request::new(Pattern::ring(3)));
        watched.decide(&request, &graph.with_free(&all)).unwrap();
        assert_eq!(cut.load(Ordering::Relaxed), 0);
        watched
            .decide(
                &request.limits(Limits::NONE.matches(1)),
                &graph.with_free(&all),
            )
            .unwrap();
        assert_eq!(cut.load(Ordering::Relaxed), 1);
    }
}
