//! Notes beside a decision: reasons to doubt it, and hints.

use mapa_core::{Candidate, Decision, ModelUse, Policy, Request, View, greedy};

use crate::model::Model;
use crate::names::Names;

/// What a reader must know about a decision: predictions outside the range of a fit, a model that
/// was not used, a known weakness of Eq. 2, and a search that stopped early.
pub fn notes(
    names: &Names,
    decision: &Decision,
    request: &Request,
    view: &View<'_>,
    model: Option<&Model>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let best = decision.best();
    let name = decision.policy();
    let sensitive = request.sensitivity.is_sensitive() && best.placement().len() > 1;
    let row = names.policies.get(name);
    let is_eq_2 = model.is_none_or(|model| model.is_eq_2);
    let by_eq_2 = row.is_some_and(|own| own.by_eq_2) && sensitive && is_eq_2;
    if by_eq_2 && !best.in_domain() {
        notes.push(
            "Eq. 2, by which preserve chose, was not fitted to placements like this one".to_owned(),
        );
    }
    let candidate = Candidate {
        view: *view,
        pattern: decision.pattern(),
        placement: best.placement(),
    };
    let for_sensitive = row.is_some_and(|own| own.model == ModelUse::Sensitive);
    let is_unused = for_sensitive && !request.sensitivity.is_sensitive();
    if is_unused && model.is_some() {
        notes.push(
            format!("{name} uses the model for bandwidth-sensitive jobs only: add --sensitive if the job is one"),
        );
    }
    if let Some(model) = model
        && !is_unused
        && !model.is_eq_2
        && !model.objective.in_domain(&candidate)
    {
        let model = model.objective.name();
        notes.push(format!(
            "{model}, the model by which {name} chooses, was not fitted to placements like this one"
        ));
    }
    // Eq. 2 can rate links through the host above direct ones: see docs/oddities.md.
    if by_eq_2
        && let Ok(greedy) = greedy().decide(&request.clone().runners_up(0), view)
        && let (host, fewer) = (best.links().xyz().2, greedy.best().links().xyz().2)
        && fewer < host
    {
        let ranks: Vec<String> = greedy.placement().iter().map(ToString::to_string).collect();
        let ranks = ranks.join(",");
        notes.push(format!(
            "this placement uses {host} host paths, greedy needs {fewer}: {ranks}; see docs/oddities.md on Eq. 2"
        ));
    }
    if !decision.search().complete() {
        let stats = decision.search();
        notes.push(format!(
            "the search stopped after {} nodes, so a better placement may exist: {}",
            stats.nodes,
            stats.stopped.because()
        ));
    }
    notes
}
