//! What must be said beside a decision.

use mapa_core::{Decision, Policy, Request, View, greedy};

/// What must be known to take the decision for what it is.
pub(crate) fn notes(decision: &Decision, request: &Request, view: &View<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let best = decision.best();
    let by_eq_2 =
        decision.policy().starts_with("preserve") && request.bandwidth_sensitive && best.placement().len() > 1;
    if by_eq_2 && !best.in_domain() {
        notes.push("Eq. 2, by which preserve chose, was not fitted to placements like this one".to_owned());
    }
    if by_eq_2
        && let Ok(greedy) = greedy().decide(&request.clone().runners_up(0), view)
        && let (host, fewer) = (best.links().xyz().2, greedy.best().links().xyz().2)
        && fewer < host
    {
        let ranks: Vec<String> = greedy.placement().iter().map(ToString::to_string).collect();
        let ranks = ranks.join(",");
        notes.push(format!(
            "this sends over {host} host paths where greedy needs {fewer}: {ranks}; see docs/oddities.md on Eq. 2"
        ));
    }
    if !decision.search().complete() {
        let stats = decision.search();
        notes.push(format!("the best of {} nodes: {}", stats.nodes, stats.stopped.because()));
    }
    notes
}
