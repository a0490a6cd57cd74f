//! A policy that decides in time.

use std::time::{Duration, Instant};

use mapa_core::{Decision, Policy, PolicyId, Refusal, Request, StopFlag, View};

/// The time of a decision where a person waits, and of each decision of a daemon, which others wait for.
pub(crate) const DECISION_TIME: Duration = Duration::from_secs(10);

/// A policy whose decisions take at most so long, beside what it computes in one piece. Then it takes the best placement that
/// it has found. The time of patterns, which are compiled at the first decision, is part of it.
pub(crate) struct Timed<P> {
    policy: P,
    /// `None` for no limit.
    limit: Option<Duration>,
}

impl<P: Policy> Timed<P> {
    pub(crate) fn new(policy: P, limit: Option<Duration>) -> Self {
        Self { policy, limit }
    }
}

impl<P: Policy> Policy for Timed<P> {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        // What ends early is not kept under this identity.
        self.policy.of_free_set()
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let decide = || self.policy.decide(request, view);
        let end = self
            .limit
            .and_then(|limit| Instant::now().checked_add(limit));
        match end {
            Some(end) => StopFlag::when(move || Instant::now() >= end).watch(decide),
            None => decide(),
        }
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::{Pattern, StopReason, greedy};
    use mapa_front::MachineSpec;

    use super::*;
    use crate::local_files::NoFiles;

    #[test]
    fn a_decision_that_takes_minutes_ends_in_time_with_the_best_so_far() {
        let loaded = MachineSpec::named("ring:300").load(&NoFiles, &mut |_| {});
        let loaded = loaded.unwrap();
        let request = Request::new(Pattern::ring(200));
        let decide = |limit| {
            let view = loaded.idle.view();
            Timed::new(greedy(), Some(limit)).decide(&request, &view)
        };
        for limit in [Duration::from_nanos(1), Duration::from_millis(50)] {
            let stopped = match decide(limit) {
                Ok(decision) => decision.search().stopped,
                Err(Refusal::LimitReached(stats)) => stats.stopped,
                Err(other) => panic!("{other}"),
            };
            assert_eq!(stopped, StopReason::TimeLimit);
        }
        let small = Request::new(Pattern::ring(2));
        let unlimited = Timed::new(greedy(), None).decide(&small, &loaded.idle.view());
        assert!(unlimited.unwrap().search().complete());
    }
}
