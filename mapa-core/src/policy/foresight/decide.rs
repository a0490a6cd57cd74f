//! The decision: the best set, in the rank order that `preserve` chooses on it.

use super::ahead::{LookAhead, ScoredSet};
use super::definition::Foresight;
use super::sets::set_of;
use crate::matching::{Few, SearchStats};
use crate::policy::alike::among_sets;
use crate::policy::api::Policy;
use crate::policy::decision::{Decision, RunnerUp, Scored};
use crate::policy::refusal::Refusal;
use crate::request::Request;
use crate::score::preserved_gbps;
use crate::view::View;

/// The name of the score that is a placement's worth.
const WORTH: &str = "foresight_gbps";

impl Foresight {
    /// The best sets, best first, and the keys of the first for comparing machines. `None` if
    /// `preserve` has to decide.
    fn best(
        &self,
        request: &Request,
        view: &View<'_>,
    ) -> Option<(Vec<ScoredSet>, Few<f64>, SearchStats)> {
        if !self.applies(request, view.graph()) || view.is_out_of_time() {
            return None;
        }
        let ahead = LookAhead::new(self, request, view)?;
        let (mut top, stats) = ahead.best()?;
        if let Some(outlook) = &self.outlook {
            ahead.roll_out(outlook, &mut top);
            top.truncate(request.runners_up.saturating_add(1));
        }
        let keys = ahead.keys_across_machines(top.first()?);
        Some((top, keys, stats))
    }

    /// The job's placement on a set, as `preserve` decides it.
    fn on(&self, best: &ScoredSet, request: &Request, view: &View<'_>) -> Result<Scored, Refusal> {
        let request = request.clone().only(set_of(best.set)).runners_up(0);
        let decision = self.preserve.decide(&request, view)?;
        Ok(decision.best().clone().with_score(WORTH, best.worth))
    }
}

impl Policy for Foresight {
    fn name(&self) -> &str {
        "foresight"
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let plain = |inside: &Request| self.decide(inside, view);
        if let Some(answer) = among_sets(request, view, &plain) {
            return answer;
        }
        let answer = self.best(request, view);
        let Some(((best, others), keys, stats)) = answer
            .as_ref()
            .and_then(|(top, keys, stats)| Some((top.split_first()?, keys, stats)))
        else {
            return Ok(self
                .preserve
                .decide(request, view)?
                .renamed("foresight".into())
                .with_first_key(-1.0));
        };
        let runner_up = |other: &ScoredSet| {
            let lost_on = if other.worth < best.worth {
                Some(WORTH.into())
            } else {
                (other.left < best.left).then(|| preserved_gbps().name().to_owned().into())
            };
            Ok(RunnerUp {
                scored: self.on(other, request, view)?,
                lost_on,
            })
        };
        let runners_up = others
            .iter()
            .map(runner_up)
            .collect::<Result<_, Refusal>>()?;
        let scored = self.on(best, request, view)?;
        let decision = Decision::new(
            "foresight".into(),
            request,
            view.stamp(),
            scored,
            runners_up,
            *stats,
        );
        Ok(decision.with_keys(keys.clone()).with_first_key(0.0))
    }
}
