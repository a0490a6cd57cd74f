//! Notes beside a decision: reasons to doubt it, and hints.

use std::collections::BTreeMap;

use mapa_core::{
    Candidate, Decision, DeviceId, Expected, HardwareGraph, HostRates, LinksUp, ModelUse, Policy,
    Request, Sensitivity, View, auto_by, auto_with, fitting_expected, greedy,
};
use mapa_topologies::{Labels, Vendor};

use crate::answer::score::note_on_peers;
use crate::answer::{Bandwidth, Withheld, ids, links_text, names as names_of};
use crate::model::{Model, ModelChoice};
use crate::names::Names;
use crate::text::gbps;

/// What a reader must know about a decision: predictions outside the range of a fit, a model that
/// was not used, a known weakness of Eq. 2, and a search that stopped early.
pub fn notes(
    names: &Names,
    decision: &Decision,
    request: &Request,
    view: &View<'_>,
    model: Option<&Model>,
    vendor: Option<Vendor>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let best = decision.best();
    let name = decision.policy();
    let sensitive = request.is_sensitive() && best.placement().len() > 1;
    let row = names.policies.get(name);
    // Without a model a policy takes its own, which is Eq. 2 where `by_eq_2` says so.
    let is_eq_2 = model.is_none_or(|model| model.is_eq_2);
    let by_eq_2 = row.is_some_and(|policy| policy.by_eq_2) && sensitive && is_eq_2;
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
    let for_sensitive = row.is_some_and(|policy| policy.model == ModelUse::Sensitive);
    let is_unused = for_sensitive && !request.is_sensitive();
    if is_unused && model.is_some() {
        notes.push(format!(
            "{name} uses the model for bandwidth-sensitive jobs only, and this one is not"
        ));
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
    // Eq. 2 can rate links through the host above direct ones: see docs/paper-differences.md.
    if by_eq_2
        && let Ok(greedy) = greedy().decide(&request.clone().runners_up(0), view)
        && let (host, fewer) = (best.links().xyz().2, greedy.best().links().xyz().2)
        && fewer < host
    {
        let ranks: Vec<String> = greedy.placement().iter().map(ToString::to_string).collect();
        let ranks = ranks.join(",");
        notes.push(format!(
            "this placement uses {host} host paths, greedy needs {fewer}: {ranks}; see docs/paper-differences.md on Eq. 2"
        ));
    }
    notes.extend(note_on_unlike(decision, request, view));
    let wholes = view.graph().wholes();
    let instances = best.placement().iter().filter(|&&id| !wholes.contains(id));
    // AMD's partitions of compute are devices of their own to RCCL.
    if instances.count() > 1
        && !decision.pattern().edges().is_empty()
        && vendor != Some(Vendor::Amd)
    {
        notes.push(
            "ranks on MIG instances communicate through the host, by NCCL 2.30 or later with \
             NCCL_MULTI_RANK_GPU_ENABLE=1: --pattern independent if they do not communicate"
                .to_owned(),
        );
    }
    // Whether devices reach each other's memory turns the order of sets round.
    let set = best.placement().set();
    let is_virtual = view.graph().fabric().is_virtual();
    let whole = set.len() > 1 && set.is_subset(&view.graph().wholes());
    let estimate = Expected::nominal(fitting_expected(decision.pattern())).of(view.graph(), &set);
    notes.extend(
        estimate
            .filter(|_| whole)
            .and_then(|estimate| note_on_peers(&estimate, vendor, is_virtual)),
    );
    if !decision.search().complete() {
        let stats = decision.search();
        let first = decision.best().scores().next().map(|(_, value)| value);
        // With the highest possible bandwidth, only what decides among equals is open.
        let open = if decision.at_most().is_some() && decision.at_most() == first {
            "one as fast may leave more to others or be closer"
        } else {
            "a better placement may exist"
        };
        notes.push(format!(
            "the search stopped after {} nodes, so {open}: {}",
            stats.nodes,
            stats.stopped.because()
        ));
    }
    notes
}

/// Which rates of the devices' links are assumed, and what tells them.
pub(crate) fn note_on_rates(
    bandwidth: &Bandwidth,
    decision: &Decision,
    graph: &HardwareGraph,
    vendor: Option<Vendor>,
) -> Option<String> {
    let command = match vendor {
        Some(Vendor::Amd) => "amd-smi xgmi",
        _ => "nvidia-smi nvlink -s",
    };
    let (link, path) = (bandwidth.assumed_link_gbps, bandwidth.assumed_host_gbps);
    match (link, path.map(gbps)) {
        (Some(link), None) => Some(format!(
            "per-link rate assumed, {link} GB/s: name the GPU with --gpu-name, or add --machine with `{command}`"
        )),
        (None, Some(path)) => Some(format!(
            "the rate of host paths is assumed, {path} GB/s: name the GPU with --gpu-name, or give --pcie-gbps"
        )),
        (Some(link), Some(path)) => Some(format!(
            "rates assumed, {link} GB/s for each direct link and {path} for each host path: name the GPU with --gpu-name"
        )),
        (None, None) => {
            let (doubles, singles, paths) = decision.best().links().xyz();
            let only_host =
                paths > 0 && doubles + singles == 0 && bandwidth.bandwidth_gbps.is_some();
            (only_host && graph.host_rates() == HostRates::OfProducts).then(|| {
                "PCIe slots assumed to have all lanes of the product: --machine with `lspci -vv` tells, or --pcie-gbps"
                    .to_owned()
            })
        }
    }
}

/// Which free devices the policy would have chosen if all their direct links were up, where all links of those that it
/// chose are.
pub(crate) fn note_on_links_down(
    decision: &Decision,
    request: &Request,
    view: &View<'_>,
    policy: &dyn Policy,
) -> Option<String> {
    let graph = view.graph();
    let down: BTreeMap<DeviceId, LinksUp> = graph.fabric().links_up().collect();
    let chosen = decision.placement().set();
    let is_whole = chosen.len() > 1 && chosen.is_subset(&graph.wholes());
    if down.is_empty() || !is_whole || chosen.iter().any(|id| down.contains_key(&id)) {
        return None;
    }
    let with_all = graph.fabric().with_all_links().lower().ok()?;
    let question = request.clone().runners_up(0);
    let other = policy.decide(&question, &with_all.with_free(view.free()));
    let other = other.ok()?.placement().set();
    let avoided: Vec<String> = down
        .iter()
        .filter(|(id, _)| other.contains(**id))
        .map(|(&id, LinksUp { up, all })| {
            format!("{} has {up} of {all} links up", graph.device(id).name)
        })
        .collect();
    let names = chosen.iter().map(|id| graph.device(id).name.as_str());
    (!avoided.is_empty()).then(|| {
        format!(
            "{}: the set {} with all links is taken",
            avoided.join(", "),
            names.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Which free devices were left out because they are of another product.
fn note_on_unlike(decision: &Decision, request: &Request, view: &View<'_>) -> Option<String> {
    let graph = view.graph();
    let set = decision.best().placement().set();
    if request.unlike || set.len() < 2 {
        return None;
    }
    let free = view.free();
    let others = graph
        .products()
        .iter()
        .filter(|alike| graph.with_parts(alike).is_disjoint(&set));
    let others: Vec<String> = others
        .flat_map(|alike| alike.iter())
        .filter(|&id| !graph.vertices(id).is_disjoint(free))
        .map(|id| {
            let device = graph.device(id);
            let product = device.product.as_deref().unwrap_or_default();
            format!("{} ({product})", device.name)
        })
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "the devices of a job are of one product, without {}: --like any allows others",
            others.join(", ")
        )
    })
}

/// How much more another set must have to be worth a word.
const MORE: f64 = 1.01;

/// Devices with more bandwidth by this model than those that were chosen, if there are any, and a
/// note on them. The job is one on several whole devices that communicate.
pub fn withheld(
    names: &Names,
    decision: &Decision,
    request: &Request,
    view: &View<'_>,
    choice: &ModelChoice,
    labels: &Labels,
) -> Option<(Withheld, String)> {
    let spares = names
        .policies
        .get(decision.policy())
        .is_some_and(|policy| policy.spares);
    let kept = spares && request.sensitivity == Sensitivity::Insensitive;
    let chosen = Bandwidth::of(choice, decision.pattern(), decision.best(), view).bandwidth_gbps?;
    // A policy that spares gives every other job the most that there is.
    if spares && !kept || decision.pattern().edges().is_empty() {
        return None;
    }
    let best = match &choice.expected {
        Some(expected) => auto_by(expected.efficiency()),
        None => auto_with(choice.objective.clone()),
    };
    // The question is what a sensitive job would get.
    let best = best
        .decide(&request.clone().runners_up(0).sensitive(true), view)
        .ok()?;
    let more = Bandwidth::of(choice, best.pattern(), best.best(), view).bandwidth_gbps?;
    if more < chosen * MORE {
        return None;
    }
    let graph = view.graph();
    let (placement, listed) = (best.placement(), names_of(best.placement(), graph));
    let note = format!(
        "{} ({}) would carry {} GB/s, these carry {}; {}",
        listed.join(", "),
        links_text(best.pattern(), placement, graph, labels),
        gbps(more),
        gbps(chosen),
        if kept {
            "they are kept for jobs that need them".to_owned()
        } else {
            format!("{} would take them", best.policy())
        }
    );
    let withheld = Withheld {
        devices: ids(placement),
        names: listed.into_iter().map(str::to_owned).collect(),
        bandwidth_gbps: more,
        kept,
    };
    Some((withheld, note))
}
