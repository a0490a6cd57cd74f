//! Making requests from words.

use std::fmt;

use mapa_core::mig::{Model, ProfileId};
use mapa_core::{
    Allocator, Decision, Demand, DeviceSet, Foresight, HardwareGraph, LinkClass, MAX_DEVICES, Pattern, Policy, Request,
    Shape, effective_gbps, max_bandwidth_with, preserve_with, preserved_direct_gbps, preserved_gbps,
};
use mapa_topologies::Labels;

use crate::cli::{ConstraintArgs, Preserved, UseArgs};
use crate::failure::Failure;
use crate::job::{is_file, job};
use crate::model;
use crate::policies;

/// The pattern that `text` describes, for `k` ranks: a shape's name, `independent`, edges `0-1,1-2:2.5`, or degrees
/// `tp=4,pp=2`, or a pattern file.
pub(crate) fn pattern(text: &str, k: usize) -> Result<Pattern, Failure> {
    if text.eq_ignore_ascii_case("independent") {
        return Ok(Pattern::independent(k));
    }
    if text.contains('=') || is_file(text) {
        return Ok(job(text, None, Some(k))?.pattern);
    }
    let is_edges = text.contains(|c: char| c.is_ascii_digit());
    let unknown = |error| Failure::malformed(format_args!("{error}, independent, or edges such as 0-1,1-2"));
    let shape = if is_edges { None } else { Some(text.parse::<Shape>().map_err(unknown)?) };
    match shape {
        Some(shape) => Ok(shape.pattern(k)),
        None => {
            let edges = text.split(',').map(edge).collect::<Result<Vec<_>, _>>()?;
            // More ranks than any machine has devices are a matter for a refusal, once the edges make sense.
            let own = Pattern::from_edges(k.min(MAX_DEVICES), edges)?;
            Ok(if k > MAX_DEVICES { Pattern::ring(k) } else { own })
        }
    }
}

fn edge(text: &str) -> Result<(u16, u16, f64), Failure> {
    let parse = || {
        let (ends, traffic) = text.split_once(':').unwrap_or((text, "1"));
        let (a, b) = ends.split_once('-')?;
        Some((a.trim().parse().ok()?, b.trim().parse().ok()?, traffic.trim().parse().ok()?))
    };
    parse().ok_or_else(|| Failure::malformed(format_args!("pattern edge `{text}`: expected A-B or A-B:TRAFFIC")))
}

/// What a rank wants: an instance of the size of this profile; a whole device, if none is named.
pub(crate) fn slice(word: Option<&str>, graph: &HardwareGraph) -> Result<Demand, Failure> {
    let Some(word) = word else { return Ok(Demand::whole()) };
    let wrong = |what: &dyn fmt::Display| Failure::malformed(format_args!("slice `{word}`: {what}"));
    let mut models: Vec<&Model> = Vec::new();
    for model in graph.wholes().iter().filter_map(|id| graph.model(id)) {
        if models.iter().all(|known| **known != **model) {
            models.push(model);
        }
    }
    let (found, unknown): (Vec<_>, Vec<_>) =
        models.iter().map(|model| model.find(word).map(|profile| exactly(model, profile))).partition(Result::is_ok);
    let mut demands: Vec<Demand> = found.into_iter().flatten().collect();
    demands.dedup();
    match (demands.as_slice(), unknown.into_iter().find_map(Result::err)) {
        ([demand], _) => Ok(*demand),
        ([], Some(unknown)) => Err(wrong(&unknown)),
        ([], None) => Err(wrong(&"no device here can be cut up: expected --mig GPU, or `mig` in the machine file")),
        _ => Err(wrong(&"the devices here do not mean the same by it: expected a profile of one size")),
    }
}

/// An instance of this size; of this profile, where the size alone would mean another.
fn exactly(model: &Model, profile: ProfileId) -> Demand {
    let size = model.profile(profile).size;
    let first = model.profiles().iter().position(|other| other.size == size);
    if first == Some(usize::from(profile.0)) { Demand::slice(size) } else { Demand::profile(profile) }
}

/// What it wants, and uses.
pub(crate) fn demand(wants: Demand, uses: &UseArgs, graph: &HardwareGraph) -> Result<Demand, Failure> {
    let positive = |option: &str, value: f64| {
        let what = format_args!("{option} {value}: expected a positive number, at most 1e6");
        if value > 0.0 && value <= 1e6 { Ok(value) } else { Err(Failure::malformed(what)) }
    };
    let mut demand = wants.warps(uses.warps.unwrap_or_default());
    if let Some(gib) = uses.memory {
        demand = demand.memory((positive("--memory", gib)? * f64::from(1 << 30)) as u64);
        if graph.devices().iter().all(|device| device.memory_bytes.is_none()) {
            let what = "--memory: the machine's description says of no device how much it has";
            return Err(Failure::malformed(what));
        }
    }
    if let Some(gbps) = uses.pcie_traffic {
        demand = demand.pcie_gbps(positive("--pcie-traffic", gbps)?);
    }
    Ok(if uses.shared { demand.shared() } else { demand })
}

/// The devices that a list of ids, names, UUIDs or PCI addresses means.
pub(crate) fn devices<T: AsRef<str>>(list: &[T], graph: &HardwareGraph) -> Result<DeviceSet, Failure> {
    let words = list.iter().map(AsRef::as_ref).filter(|word: &&str| !word.trim().is_empty());
    let mut set = DeviceSet::new();
    for word in words {
        set.insert(graph.find(word)?);
    }
    Ok(set)
}

pub(crate) fn min_link(word: Option<&str>) -> Result<LinkClass, Failure> {
    word.map_or(Ok(LinkClass::None), |word| Labels::default().parse(word).map_err(Failure::malformed))
}

/// The request that the command line describes, checked, and the state that it is made in.
pub(crate) fn request(
    pattern: Pattern,
    sensitive: bool,
    args: &ConstraintArgs,
    idle: &Allocator,
) -> Result<(Request, Allocator), Failure> {
    let graph = idle.graph();
    let mut request = Request::new(pattern)
        .sensitive(sensitive)
        .must_include(devices(&args.must_include, graph)?)
        .avoid(devices(&args.avoid, graph)?)
        .min_link(min_link(args.min_link.as_deref())?)
        .same_numa(args.same_numa);
    if let Some(nodes) = args.max_nodes {
        request.limits.nodes = nodes;
    }
    if let Some(matches) = args.limit {
        request.limits.matches = matches;
    }
    request.check(graph)?;
    Ok((request, with_busy(idle, &args.busy)?))
}

/// The state in which these devices and instances have tenants of whom nothing else is known.
pub(crate) fn with_busy(idle: &Allocator, list: &[String]) -> Result<Allocator, Failure> {
    let graph = idle.graph();
    let view = idle.view();
    let mut busy = DeviceSet::new();
    for id in devices(list, graph)?.iter() {
        let there = &graph.with_parts(&[id.0].into()) & view.present();
        if there.is_empty() {
            let device = graph.device(id);
            let (name, whole) = (&device.name, &graph.device(device.parent).name);
            let layout = graph.model(device.parent).map(|model| model.print(&view.layout_of(device.parent)));
            let layout = layout.unwrap_or_default();
            return Err(Failure::malformed(format_args!("{name} is not there to be busy: {whole} is {layout}")));
        }
        busy.extend(there.iter());
    }
    let mut state = idle.clone();
    if !busy.is_empty() {
        let tenants = Request::new(Pattern::independent(busy.len()).each(Demand::any()));
        state.commit(Decision::checked("busy", &tenants, &view, busy.iter())?)?;
    }
    Ok(state)
}

/// The policies that predict bandwidth by a model.
const BY_MODEL: [&str; 3] = ["preserve", "max-bandwidth", "foresight"];

/// The policy of this name, which predicts bandwidth by this model, if one is given.
pub(crate) fn policy(
    name: &str,
    model: Option<&model::Model>,
    preserved: Preserved,
) -> Result<Box<dyn Policy>, Failure> {
    let model = model.map(|model| model.objective.clone());
    match (name, model, preserved) {
        (name, None, Preserved::All) => policies::named(name),
        ("preserve", model, preserved) => {
            let left = match preserved {
                Preserved::All => preserved_gbps(),
                Preserved::Direct => preserved_direct_gbps(),
            };
            Ok(Box::new(preserve_with(model.unwrap_or_else(effective_gbps), left)))
        }
        ("max-bandwidth", Some(model), Preserved::All) => Ok(Box::new(max_bandwidth_with(model))),
        ("foresight", Some(model), Preserved::All) => Ok(Box::new(Foresight::new(model))),
        (name, _, Preserved::Direct) => {
            Err(Failure::malformed(format_args!("--preserved is for the policy preserve, not {name}")))
        }
        (name, Some(_), _) => {
            let known = BY_MODEL.join(", ");
            Err(Failure::malformed(format_args!("a model is for the policies {known}, not {name}")))
        }
    }
}

/// Whether a policy predicts bandwidth by a model.
pub(crate) fn takes_model(name: &str) -> bool {
    BY_MODEL.contains(&name)
}
