//! Machines that offer only some sets of devices.
//!
//! NVIDIA's Fabric Manager joins the GPUs of a machine with NVSwitch in partitions that it knows
//! beforehand: a virtual machine or container gets one of them or nothing. On an HGX A100 with eight
//! GPUs these are the eight, two times four, four times two and each alone; GPUs 1 and 2 are one,
//! GPUs 2 and 3 are not (NVIDIA, "Fabric Manager for NVIDIA NVSwitch Systems"; kubevirt-gpu-device-plugin
//! issue 195).
//!
//! A machine offers few sets. So each policy decides on each of them, as if the request allowed no
//! other devices, and the best decision by the policy's own criteria is taken. No search needs to
//! know the rule. A policy that first chooses a part of the machine (`within`) does so by all that is
//! free there, and then decides on each set in that part.

use super::decision::{Decision, RunnerUp};
use super::refusal::{Reason, Refusal};
use crate::matching::SearchStats;
use crate::pattern::Want;
use crate::request::Request;
use crate::topology::{DeviceSet, HardwareGraph};
use crate::view::View;

/// The answer of a policy on a machine that offers only some sets; `None` if any may be given, or if
/// the request already allows exactly one of them. `decide` is the policy without this rule.
///
/// # Complexity
/// A decision for each offered set of the job's size.
pub(super) fn among_offered(
    request: &Request,
    view: &View<'_>,
    decide: &dyn Fn(&Request) -> Result<Decision, Refusal>,
) -> Option<Result<Decision, Refusal>> {
    let graph = view.graph();
    let offered = graph.offered()?;
    let ranks = request.pattern.len();
    let exact = |set: &DeviceSet| fits(request, set);
    if let Some(only) = &request.only
        && exact(only)
        && offered.contains(only)
    {
        return None;
    }
    let eligible = request.eligible(graph);
    let allowed = |set: &DeviceSet| {
        let parts = graph.with_parts(set);
        !parts.is_disjoint(&eligible) && request.must_include.is_subset(&parts)
    };
    let inside = |set: &DeviceSet| Request {
        only: Some(set.clone()),
        avoid: graph.everything() - &eligible,
        runners_up: 0,
        ..request.clone()
    };
    let sets = offered.iter().filter(|set| exact(set) && allowed(set));
    let (best, decisions) = match best_of(sets.map(inside), decide) {
        Ok(found) => found,
        Err(refusals) => return Some(Err(refusal(ranks, offered, refusals))),
    };
    let others = decisions.into_iter().take(request.runners_up);
    let others = others.map(|decision| RunnerUp {
        lost_on: best
            .order(&decision)
            .is_lt()
            .then(|| best.policy().to_owned().into()),
        scored: decision.best().clone(),
    });
    let others = others.collect();
    Some(Ok(best.with_others(others)))
}

/// What a policy decides for each of some requests: the best by its own criteria, with the statistics of all searches,
/// and the others in their order; or all refusals. Of equals the first comes first.
///
/// # Complexity
/// A decision for each request.
pub(super) fn best_of(
    requests: impl Iterator<Item = Request>,
    decide: &dyn Fn(&Request) -> Result<Decision, Refusal>,
) -> Result<(Decision, Vec<Decision>), Vec<Refusal>> {
    let mut decisions: Vec<Decision> = Vec::new();
    let mut refusals: Vec<Refusal> = Vec::new();
    let mut nodes = 0;
    for request in requests {
        match decide(&request) {
            Ok(decision) => {
                nodes += decision.search().nodes;
                decisions.push(decision);
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    // A stable sort keeps the order of equals.
    decisions.sort_by(Decision::order);
    if decisions.is_empty() {
        return Err(refusals);
    }
    let best = decisions.remove(0);
    let unsure = refusals.iter().find_map(|refusal| match refusal {
        Refusal::LimitReached(stats) => Some(stats.stopped),
        _ => None,
    });
    let stats = SearchStats {
        nodes,
        stopped: unsure.unwrap_or(best.search().stopped),
        ..best.search()
    };
    Ok((best.searched(stats), decisions))
}

/// Whether the machine offers a set for this job among these devices, or any.
pub(super) fn has_offered(request: &Request, graph: &HardwareGraph, there: &DeviceSet) -> bool {
    let is_there = |set: &DeviceSet| {
        let parts = graph.with_parts(set);
        let has_room = if takes_all(request) {
            set.is_subset(there)
        } else {
            !parts.is_disjoint(there)
        };
        fits(request, set) && has_room && request.must_include.is_subset(&parts)
    };
    graph
        .offered()
        .is_none_or(|offered| offered.iter().any(is_there))
}

/// Whether a set can be the one that a job is given, whatever its placement there. Jobs on instances, and
/// ranks that share devices, stay on one device: devices that are partitioned have no direct links.
fn fits(request: &Request, set: &DeviceSet) -> bool {
    set.len()
        == if takes_all(request) {
            request.pattern.len()
        } else {
            1
        }
}

/// Whether a job takes all devices of its set, each of them whole and alone.
fn takes_all(request: &Request) -> bool {
    let mut demands = request.pattern.demands().iter();
    demands.all(|demand| demand.want == Want::Whole && !demand.is_shared())
}

fn refusal(ranks: usize, offered: &[DeviceSet], refusals: Vec<Refusal>) -> Refusal {
    // Refusals of equal hope are alike; the first is that of the set with the lowest ids.
    let hope = refusals.iter().map(Refusal::hope).max();
    let count = refusals.len();
    let Some(likeliest) = refusals
        .into_iter()
        .find(|refusal| Some(refusal.hope()) == hope)
    else {
        let mut sizes: Vec<usize> = offered.iter().map(DeviceSet::len).collect();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        return Refusal::Infeasible(Reason::Rule(
            format!(
                "an offered set of {ranks} devices that the request allows: this machine offers sets of {}",
                sizes.join(", ")
            )
            .into(),
        ));
    };
    match likeliest {
        // What a single set lacks says little of all of them.
        Refusal::Busy(Reason::InUse { .. }) => Refusal::Busy(Reason::Rule(
            format!(
                "a free set of {ranks} among the {count} that this machine offers and the request allows"
            )
            .into(),
        )),
        other => other,
    }
}
