//! Requests and machine states from the arguments of the command line.

use mapa_core::mig::{Model, ProfileId};
use mapa_core::{
    Allocator, Decision, Demand, DeviceSet, HardwareGraph, LinkClass, Pattern, Request,
};
use mapa_topologies::Labels;

use crate::cli::{ConstraintArgs, UseArgs};
use crate::failure::Failure;

/// What each rank requests: an instance of the size of this profile, or a whole device if no
/// profile is named.
///
/// # Errors
///
/// If no device has the profile, or if devices of several models give it different sizes.
pub(crate) fn slice(word: Option<&str>, graph: &HardwareGraph) -> Result<Demand, Failure> {
    let Some(word) = word else {
        return Ok(Demand::whole());
    };
    let mut models: Vec<&Model> = Vec::new();
    for model in graph.wholes().iter().filter_map(|id| graph.model(id)) {
        if models.iter().all(|known| **known != **model) {
            models.push(model);
        }
    }
    // A machine may mix models: the profile need not exist in all of them, but where it does it
    // must mean the same.
    let (found, unknown): (Vec<_>, Vec<_>) = models
        .iter()
        .map(|model| model.find(word).map(|profile| exactly(model, profile)))
        .partition(Result::is_ok);
    let mut demands: Vec<Demand> = found.into_iter().flatten().collect();
    demands.dedup();
    let place = format_args!("slice `{word}`");
    match (
        demands.as_slice(),
        unknown.into_iter().find_map(Result::err),
    ) {
        ([demand], _) => Ok(*demand),
        ([], Some(unknown)) => Err(Failure::at(place, unknown)),
        ([], None) => Err(Failure::at(
            place,
            "no device of this machine supports MIG: expected --mig GPU, or `mig` in the machine file",
        )),
        _ => Err(Failure::at(
            place,
            "its size differs between the devices of this machine: expected a profile of one size",
        )),
    }
}

/// A demand for an instance of the profile's size; or for the profile itself, if an earlier profile
/// has the same size.
fn exactly(model: &Model, profile: ProfileId) -> Demand {
    let size = model.profile(profile).size;
    let first = model.profiles().iter().position(|other| other.size == size);
    if first == Some(usize::from(profile.0)) {
        Demand::slice(size)
    } else {
        Demand::profile(profile)
    }
}

/// What each rank requests, with what it uses of that.
///
/// # Errors
///
/// If a number is out of range, or if memory is given and the machine has none on record.
pub(crate) fn demand(
    wants: Demand,
    uses: &UseArgs,
    graph: &HardwareGraph,
) -> Result<Demand, Failure> {
    let mut demand = wants.warps(uses.warps.unwrap_or_default());
    if let Some(gib) = uses.memory {
        demand = demand.memory((positive("--memory", gib)? * f64::from(1 << 30)) as u64);
        let mut devices = graph.devices().iter();
        if devices.all(|device| device.memory_bytes.is_none()) {
            return Err(Failure::malformed(
                "--memory: the machine's description does not say how much memory its devices have",
            ));
        }
    }
    if let Some(gbps) = uses.pcie_traffic {
        demand = demand.pcie_gbps(positive("--pcie-traffic", gbps)?);
    }
    Ok(if uses.shared { demand.shared() } else { demand })
}

fn positive(option: &str, value: f64) -> Result<f64, Failure> {
    if value > 0.0 && value <= 1e6 {
        return Ok(value);
    }
    Err(Failure::malformed(format_args!(
        "{option} {value}: expected a positive number, at most 1e6"
    )))
}

/// The devices named by ids, names, UUIDs or PCI addresses.
pub(crate) fn devices<T: AsRef<str>>(
    list: &[T],
    graph: &HardwareGraph,
) -> Result<DeviceSet, Failure> {
    let mut set = DeviceSet::new();
    for word in list.iter().map(AsRef::as_ref) {
        if !word.trim().is_empty() {
            set.insert(graph.find(word)?);
        }
    }
    Ok(set)
}

/// The worst class of link that edges may use; any, if none is named.
pub(crate) fn min_link(word: Option<&str>) -> Result<LinkClass, Failure> {
    word.map_or(Ok(LinkClass::None), |word| {
        Labels::default().parse(word).map_err(Failure::malformed)
    })
}

/// The request that the command line describes, checked, and the state of the machine with the
/// devices of `--busy` in use.
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

/// The idle machine with these devices and instances in use. A partitioned device stands for all
/// its instances.
///
/// # Errors
///
/// If a name is unknown, or if the device or instance does not exist under the current layout.
pub(crate) fn with_busy(idle: &Allocator, list: &[String]) -> Result<Allocator, Failure> {
    let graph = idle.graph();
    let view = idle.view();
    let mut busy = DeviceSet::new();
    for id in devices(list, graph)?.iter() {
        let there = &graph.with_parts(&[id.0].into()) & view.present();
        if there.is_empty() {
            let device = graph.device(id);
            let (name, whole) = (&device.name, &graph.device(device.parent).name);
            let layout = graph
                .model(device.parent)
                .map(|model| model.print(&view.layout_of(device.parent)))
                .unwrap_or_default();
            return Err(Failure::malformed(format_args!(
                "--busy {name}: not in the layout of {whole}, which is {layout}: expected a device or instance of \
                 that layout"
            )));
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
