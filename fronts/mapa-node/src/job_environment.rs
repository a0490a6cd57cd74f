//! The environment of a job, and where it runs: the devices in rank order, the nearest cores and network cards.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use mapa_core::{DeviceId, HardwareGraph, LinkClass, Unit};
use mapa_topologies::{Vendor, number_list};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::mark::MARK;
use crate::node::Node;

/// What of its surroundings a job is given. Each part can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentParts {
    /// The variable that orders devices as their PCI addresses.
    pub order: bool,
    /// The cores of the NUMA nodes beside the devices.
    pub cpus: bool,
    /// Memory of these NUMA nodes.
    pub memory: bool,
    /// The nearest network cards.
    pub nics: bool,
}

impl Default for EnvironmentParts {
    fn default() -> Self {
        Self {
            order: true,
            cpus: true,
            memory: true,
            nics: true,
        }
    }
}

/// The environment of a job, and where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobEnvironment {
    /// Variables that are set.
    pub set: Vec<(String, String)>,
    /// Variables that are removed: they would choose among the devices once more.
    pub unset: Vec<String>,
    /// The NUMA nodes beside the devices.
    pub numa: Vec<u32>,
    /// The cores to which the job is bound; none if it is not.
    pub cpus: Vec<usize>,
    /// The NUMA nodes to which the job's memory is bound; none if it is not.
    pub memory: Vec<u32>,
    /// The nearest network cards, by the rank that they are nearest to.
    pub nics: Vec<String>,
    /// What could not be had, and why.
    pub notes: Vec<String>,
}

/// The surroundings of a job on these devices. `mark` is that of its lease; none before it has one.
#[must_use]
pub fn surroundings(
    node: &Node,
    placement: &[DeviceId],
    mark: Option<&str>,
    parts: EnvironmentParts,
) -> JobEnvironment {
    let mut found = JobEnvironment::default();
    visible(node, placement, parts, &mut found);
    let mut set = |name: &str, value: String| found.set.push((name.to_owned(), value));
    let names: Vec<&str> = placement
        .iter()
        .map(|&id| node.graph().device(id).name.as_str())
        .collect();
    set("MAPA_DEVICES", names.join(","));
    if let Some(mark) = mark {
        set(MARK, mark.to_owned());
    }
    found.numa = numa(node.graph(), placement);
    if parts.cpus || parts.memory {
        bind(Path::new("/sys"), Path::new("/proc"), parts, &mut found);
    }
    if parts.nics {
        name_cards(node, placement, &mut found);
    }
    found
}

/// Names the devices to the vendor's library, in rank order, each once.
fn visible(
    node: &Node,
    placement: &[DeviceId],
    parts: EnvironmentParts,
    found: &mut JobEnvironment,
) {
    let mut names: Vec<String> = Vec::new();
    for &id in placement {
        let name = visible_name(node, id);
        if name.is_none() {
            found.notes.push(format!(
                "{} has no UUID that is known, so the job must find it by MAPA_DEVICES",
                node.graph().device(id).name
            ));
        }
        names.extend(name.filter(|name| !names.contains(name)));
    }
    let vendor = node.vendor();
    for (name, value) in vendor.environment(&names.join(",")) {
        // The variable that orders the numbers is set only where `parts` has it.
        if parts.order || name == vendor.visible_devices() {
            found.set.push((name.to_owned(), value));
        }
    }
    if vendor == Vendor::Amd {
        // HIP's variables, and CUDA's, which HIP heeds, count within what ROCr shows.
        let others = [
            "HIP_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES",
            "GPU_DEVICE_ORDINAL",
        ];
        found.unset.extend(others.map(str::to_owned));
    }
}

/// A device as the vendor's library knows it. On the machine itself a UUID, which means the same
/// whatever else is hidden; by a description the vendor's number, which its UUID may not match.
fn visible_name(node: &Node, id: DeviceId) -> Option<String> {
    let device = node.graph().device(id);
    let uuid = node.uuid(id).map(str::to_owned);
    match device.unit {
        Unit::Whole if node.is_live() && node.vendor() == Vendor::Nvidia => {
            uuid.or_else(|| Some(device.index.unwrap_or(id.0).to_string()))
        }
        Unit::Whole => Some(device.index.unwrap_or(id.0).to_string()),
        _ => uuid,
    }
}

fn numa(graph: &HardwareGraph, placement: &[DeviceId]) -> Vec<u32> {
    let nodes: BTreeSet<u32> = placement
        .iter()
        .filter_map(|&id| graph.device(id).numa)
        .collect();
    nodes.into_iter().collect()
}

/// The NUMA nodes beside the devices: their cores, among those that this process may use, and their
/// memory, where there is some that it may use.
fn bind(sys: &Path, proc: &Path, parts: EnvironmentParts, found: &mut JobEnvironment) {
    let (mut cpus, mut nodes) = (BTreeSet::new(), BTreeSet::new());
    let folder = sys.join("devices/system/node");
    let numbers = |file: &Path| {
        let list = fs::read_to_string(file).ok()?;
        number_list(&list)
    };
    for &node in &found.numa {
        match numbers(&folder.join(format!("node{node}/cpulist"))) {
            Some(list) => {
                cpus.extend(list.into_iter().map(|cpu| cpu as usize));
                nodes.insert(node);
            }
            None => found
                .notes
                .push(format!("this system has no NUMA node {node}")),
        }
    }
    let mut unbound = Vec::new();
    if parts.cpus {
        let allowed = sched_getaffinity(None).ok();
        // Stay within the cores that a user or a batch system has left to this process: the kernel would let it
        // take more.
        cpus.retain(|cpu| {
            *cpu < CpuSet::MAX_CPU && allowed.as_ref().is_none_or(|cpus| cpus.is_set(*cpu))
        });
        if cpus.is_empty() {
            unbound.push("cores");
        }
        found.cpus = cpus.into_iter().collect();
    }
    if parts.memory {
        // A node may have cores and no memory, and nothing can be bound to the memory of such a node.
        let with_memory = numbers(&folder.join("has_memory"));
        let allowed = allowed_memory(proc);
        nodes.retain(|node| {
            [&with_memory, &allowed]
                .into_iter()
                .flatten()
                .all(|values| values.contains(node))
        });
        if nodes.is_empty() {
            unbound.push("memory");
        }
        found.memory = nodes.into_iter().collect();
    }
    if !unbound.is_empty() {
        let what = unbound.join(" and ");
        found.notes.push(if found.numa.is_empty() {
            format!("no NUMA node is known beside the devices: the job's {what} are not bound")
        } else {
            format!("nothing beside the devices may be used here: the job's {what} are not bound")
        });
    }
}

/// The NUMA nodes whose memory this process may use.
fn allowed_memory(proc: &Path) -> Option<BTreeSet<u32>> {
    // A container's cpuset may leave fewer nodes than the machine has.
    let status = fs::read_to_string(proc.join("self/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Mems_allowed_list:"))?;
    number_list(line.trim())
}

/// Binds this thread, and all that it starts from now on, to these cores; to none if the list is
/// empty.
///
/// # Errors
/// What the system says.
pub(crate) fn bind_to(cpus: &[usize]) -> std::io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Names the nearest network cards to NCCL and UCX.
fn name_cards(node: &Node, placement: &[DeviceId], found: &mut JobEnvironment) {
    let cards = if node.is_live() {
        cards_of_system(Path::new("/sys"), node.graph(), placement)
    } else {
        Vec::new()
    };
    let cards = if cards.is_empty() {
        cards_of_description(node, placement)
    } else {
        cards
        // The kernel's list of cards wins over that of a description.
    };
    // `topo -m` without its legend numbers the cards, and no library knows these numbers.
    let numbered = |name: &String| name.to_ascii_lowercase().starts_with("nic");
    let (numbered, named): (Vec<String>, Vec<String>) = cards.into_iter().partition(numbered);
    if named.is_empty() && !numbered.is_empty() {
        found.notes.push(format!(
            "the nearest cards are {}, and the machine's description has no other names of them: none are named to the job",
            numbered.join(", ")
        ));
    }
    if !named.is_empty() {
        // NCCL takes a name as a prefix unless an equals sign leads.
        let of_nccl = format!("={}", named.join(","));
        // UCX wants a port with each card, and cards of one port are the rule.
        let ports: Vec<String> = named.iter().map(|name| format!("{name}:1")).collect();
        found.set.push(("NCCL_IB_HCA".to_owned(), of_nccl));
        found
            .set
            .push(("UCX_NET_DEVICES".to_owned(), ports.join(",")));
    }
    found.nics = named;
}

/// The nearest cards by the machine's description.
fn cards_of_description(node: &Node, placement: &[DeviceId]) -> Vec<String> {
    let fabric = &node.loaded().machine.fabric;
    let is_card = |kind: &mapa_core::NodeKind| matches!(kind, mapa_core::NodeKind::Nic);
    if !fabric
        .nodes()
        .any(|(_, fabric_node)| is_card(&fabric_node.kind))
    {
        return Vec::new();
    }
    // The node's graph has no cards: only a graph that is lowered with its host has them.
    let Ok(graph) = fabric.clone().lower_with_host() else {
        return Vec::new();
    };
    let cards: Vec<DeviceId> = (0u32..)
        .map(DeviceId)
        .zip(graph.devices())
        .filter(|(_, device)| device.unit == Unit::Nic)
        .map(|(id, _)| id)
        .collect();
    let mut nearest = Vec::new();
    for &id in placement {
        // Ids may differ between the two graphs; names do not.
        let whole = node.graph().device(node.graph().device(id).parent);
        let Ok(gpu) = graph.find(&whole.name) else {
            continue;
        };
        let class = |card: DeviceId| graph.pair(gpu, card).host.class;
        let best = cards.iter().map(|&card| class(card)).max();
        let best = best.filter(|best| *best > LinkClass::None);
        for &card in cards.iter().filter(|&&card| Some(class(card)) == best) {
            let name = &graph.device(card).name;
            if !nearest.contains(name) {
                nearest.push(name.clone());
            }
        }
    }
    nearest
}

/// The nearest cards by sysfs: those whose path from the root of PCI has most in common with the
/// device's.
fn cards_of_system(sys: &Path, graph: &HardwareGraph, placement: &[DeviceId]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sys.join("class/infiniband")) else {
        return Vec::new();
    };
    let mut cards: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            // `device` links to the card's folder in the tree of PCI, where a path lists the bridges above it.
            Some((name, fs::canonicalize(entry.path().join("device")).ok()?))
        })
        .collect();
    // The order of a folder's entries is not defined, and answers may not depend on it.
    cards.sort();
    let mut nearest: Vec<String> = Vec::new();
    for &id in placement {
        let whole = graph.device(graph.device(id).parent);
        let Some(pci) = whole.pci.as_deref() else {
            continue;
        };
        // Names of folders in sysfs are lower case, and NVML writes hexadecimal digits in upper case.
        let folder = sys.join("bus/pci/devices").join(pci.to_ascii_lowercase());
        let Ok(path) = fs::canonicalize(folder) else {
            continue;
        };
        let shared = |card: &PathBuf| in_common(&path, card);
        let best = cards.iter().map(|(_, card)| shared(card)).max();
        for (name, card) in &cards {
            if Some(shared(card)) == best && !nearest.contains(name) {
                nearest.push(name.clone());
            }
        }
    }
    nearest
}

/// How many leading folders two paths have in common.
fn in_common(a: &Path, b: &Path) -> usize {
    let parts = |path: &Path| {
        path.components()
            .map(Component::as_os_str)
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>()
    };
    parts(a)
        .iter()
        .zip(&parts(b))
        .take_while(|(a, b)| a == b)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bound_to_nodes_that_have_some_and_may_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("devices/system/node/node0/cpulist", "0-1\n");
        write("devices/system/node/node1/cpulist", "2-3\n");
        write("devices/system/node/node2/cpulist", "\n");
        write("devices/system/node/has_memory", "0,2\n");
        write("self/status", "Name:\tx\nMems_allowed_list:\t0-1\n");
        let parts = EnvironmentParts {
            cpus: false,
            ..EnvironmentParts::default()
        };
        let bound = |numa: &[u32]| {
            let mut found = JobEnvironment {
                numa: numa.to_vec(),
                ..JobEnvironment::default()
            };
            bind(folder.path(), folder.path(), parts, &mut found);
            (found.memory, found.cpus.len(), found.notes.len())
        };
        assert_eq!(bound(&[0, 1]), (vec![0], 0, 0));
        // Node 1 has no memory, and node 2 may not be used.
        assert_eq!(bound(&[1]), (vec![], 0, 1));
        assert_eq!(bound(&[2]), (vec![], 0, 1));
        assert_eq!(bound(&[7]), (vec![], 0, 2));
    }

    #[test]
    fn nearness_is_what_two_paths_have_in_common() {
        let of = |path: &str| PathBuf::from(path);
        let device = of("/sys/devices/pci0/0000:01/0000:02/gpu");
        assert_eq!(
            in_common(&device, &of("/sys/devices/pci0/0000:01/0000:03/mlx")),
            5
        );
        assert_eq!(in_common(&device, &of("/sys/devices/pci1/0000:81/mlx")), 3);
    }
}
