//! Merging several dumps of one machine: direct links from one, the host from another, names and
//! speeds from a third.
//!
//! Each part of the machine is taken whole from the dump that describes it best, never pair by pair
//! from several, because a host tree from one tool and classes from another do not fit together.
//! The other dumps' statements about the same part are compared with it, and differences are
//! reported.
//!
//! [`devices`] decides which devices are the same. [`host`] and [`direct`] merge the two kinds of
//! links. This file does the rest.

mod contradiction;
mod devices;
mod differing;
mod direct;
mod host;
mod peers;
mod source;

use std::collections::BTreeMap;

use mapa_core::{DeviceId, Fabric, FabricWire, NodeKind};

use crate::dump::{Dump, HostDetail, MigInstance, Says};
use crate::error::{Error, ErrorKind};
use crate::host_paths::assume_host_paths_between;
use crate::kind::Kind;
use crate::machine::{MERGED_FROM, Machine, Warning};
use crate::vendor::Vendor;

use devices::MergedDevices;
use source::DumpSource;

pub use contradiction::{Contradiction, DumpStatement};

/// A machine put together from several dumps.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Merged {
    /// Everything that the dumps say.
    pub dump: Dump,
    /// The statements on which they differ.
    pub contradictions: Vec<Contradiction>,
}

/// Merges several dumps of one machine.
///
/// - Devices are the same if they have the same UUID or, failing that, the same PCI address; else
///   if they have the same vendor's number and no other identifier differs.
/// - The host is that of the dump that describes it best: a tree before classes before NUMA
///   numbers, then of most devices.
/// - Direct links are those of the dump that gives them for most devices. A dump that shows the
///   switches between devices comes before others.
/// - Speeds, names, memory, NUMA nodes and cards that these dumps lack come from the others, in
///   the order given.
///
/// Of dumps that are equal in this, the first is taken.
///
/// Devices get ids in the order in which the dumps name them.
///
/// # Complexity
/// O(d n²) for d dumps of n devices.
///
/// # Examples
/// ```
/// use mapa_topologies::{merge, read};
///
/// let links = read(b"\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV2\tX\n")?;
/// let names = read(b"GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-01a2)\nGPU 1: Tesla V100-SXM2-16GB (UUID: GPU-01a3)")?;
/// let merged = merge(vec![links, names])?;
/// assert!(merged.contradictions.is_empty());
/// let graph = merged.dump.into_machine()?.graph()?;
/// assert_eq!(graph.find("GPU-01a3")?, 1.into());
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
///
/// # Errors
/// No dump at all; a dump whose fabric cannot be lowered; more than [`mapa_core::MAX_DEVICES`]
/// devices in all; dumps that cannot be of one machine. These are dumps with direct links of two
/// vendors, or two dumps that each name every device, give different numbers of devices, and have
/// only device numbers in common. Contradictions are not errors.
pub fn merge(dumps: Vec<Dump>) -> Result<Merged, Error> {
    let mut dumps = dumps;
    if dumps.len() <= 1 {
        let dump = dumps
            .pop()
            .ok_or_else(|| Error::new("nothing to merge: expected at least one dump"))?;
        return Ok(Merged {
            dump,
            contradictions: Vec::new(),
        });
    }
    let sources = dumps
        .iter()
        .map(DumpSource::new)
        .collect::<Result<Vec<_>, _>>()?;
    one_vendor(&sources)?;
    let mut contradictions = Vec::new();
    let devices = MergedDevices::identify(&sources, &mut contradictions)?;
    let mut fabric = Fabric::new();
    let host = host::best(&sources);
    let mut nodes = Vec::new();
    let below_numa = host
        .map(|host| host::below_numa(&sources[host]))
        .unwrap_or_default();
    for (k, mut node) in devices
        .nodes(&sources, host, &mut contradictions)
        .into_iter()
        .enumerate()
    {
        // The tree has the NUMA nodes of what hangs below it.
        if let NodeKind::Device(info) = &mut node.kind
            && let Some(own) = host.and_then(|host| devices.own(host, k))
            && below_numa.get(own) == Some(&true)
        {
            info.numa = None;
        }
        nodes.push(fabric.add(node)?);
    }
    host::take(
        &mut fabric,
        &nodes,
        &sources,
        &devices,
        host,
        &mut contradictions,
    )?;
    let direct = direct::take(&mut fabric, &nodes, &sources, &devices, &mut contradictions)?;
    peers::take(&mut fabric, &nodes, &sources, &devices, &mut contradictions)?;
    let labels = sources[direct.or(host).unwrap_or(0)]
        .dump
        .machine
        .labels
        .clone();
    let mut machine = Machine {
        labels,
        ..description(&sources, fabric)
    };
    let is_virtual = |source: &DumpSource<'_>| source.dump.machine.fabric.is_virtual();
    machine.fabric.set_virtual(sources.iter().any(is_virtual));
    // Devices that the dump with the host does not know need a path to the others.
    let known = |k: usize| host.is_none_or(|host| devices.own(host, k).is_some());
    if !(0..devices.count()).all(known) {
        assume_host_paths_between(&mut machine, |a, b| !(known(a) && known(b)))?;
    }
    let mut dump = Dump::new(Kind::Merged, machine, says(&sources, host, direct));
    facts(&mut dump, &sources, &devices);
    Ok(Merged {
        dump,
        contradictions,
    })
}

/// Rejects dumps whose direct links are of two vendors: they are of two machines.
fn one_vendor(sources: &[DumpSource<'_>]) -> Result<(), Error> {
    let told = |source: &&DumpSource<'_>| {
        source.says().direct
            && source
                .dump
                .machine
                .fabric
                .wires()
                .any(|(.., wire)| is_direct(wire))
    };
    let mut told = sources.iter().filter(told);
    let Some(first) = told.next() else {
        return Ok(());
    };
    let word = |source: &DumpSource<'_>| source.dump.machine.labels.direct.clone();
    match told.find(|source| word(source) != word(first)) {
        Some(other) => {
            let (a, b) = (
                format!("{} has {} links", first.name(), word(first)),
                format!("{} has {}", other.name(), word(other)),
            );
            Err(Error::of_kind(
                ErrorKind::Incomplete,
                format!("{a}, {b}: expected dumps of one machine"),
            ))
        }
        None => Ok(()),
    }
}

fn is_direct(wire: FabricWire) -> bool {
    matches!(wire, FabricWire::Link(link) if link.class.is_direct())
}

fn description(sources: &[DumpSource<'_>], fabric: Fabric) -> Machine {
    let first = &sources[0].dump.machine;
    let all = |of: &dyn Fn(&Machine) -> String| {
        let mut parts: Vec<String> = Vec::new();
        for source in sources {
            let part = of(&source.dump.machine);
            if !part.is_empty() && !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    };
    let devices = fabric.device_count();
    let warnings = sources.iter().flat_map(|source| {
        let named = |warning: &Warning| Warning {
            what: format!("{}: {warning}", source.name()),
            line: None,
        };
        source.dump.machine.warnings.iter().map(named)
    });
    let mut notes: Vec<String> = Vec::new();
    for source in sources {
        for note in &source.dump.machine.notes {
            let note = format!("{}: {note}", source.name());
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Machine {
        name: first.name.clone(),
        title: format!(
            "{devices} devices{MERGED_FROM}{}",
            all(&|machine| machine.name.clone()).join(", ")
        ),
        source: all(&|machine| machine.source.clone()).join("; "),
        notes,
        warnings: warnings.collect(),
        vendor: Vendor::one_of(sources.iter().map(|source| source.dump.machine.vendor)),
        labels: first.labels.clone(),
        fabric,
    }
}

fn says(sources: &[DumpSource<'_>], host: Option<usize>, direct: Option<usize>) -> Says {
    let any = |told: &dyn Fn(Says) -> bool| sources.iter().any(|source| told(source.says()));
    Says {
        every_device: any(&|says| says.every_device),
        direct: direct.is_some(),
        direct_gbps: direct.is_some() && any(&|says| says.direct_gbps),
        host: match host {
            Some(host) => sources[host].says().host,
            None if any(&|says| says.host >= HostDetail::Numa) => HostDetail::Numa,
            None => HostDetail::Nothing,
        },
        host_gbps: host.is_some_and(|host| sources[host].says().host_gbps),
    }
}

/// Adds the facts that a fabric has no place for, with the devices' new ids.
fn facts(dump: &mut Dump, sources: &[DumpSource<'_>], devices: &MergedDevices) {
    dump.mig_instances = instances(sources, devices);
    for (s, source) in sources.iter().enumerate() {
        let id = |old: DeviceId| devices.merged(s, old.index());
        let of = source.dump;
        dump.ports.extend(of.ports.iter().filter_map(|port| {
            let device = id(port.device)?;
            Some(crate::dump::Port {
                device,
                ..port.clone()
            })
        }));
        dump.peer_access
            .extend(of.peer_access.iter().filter_map(|access| {
                let (from, to) = (id(access.from)?, id(access.to)?);
                Some(crate::dump::PeerAccess {
                    from,
                    to,
                    ..*access
                })
            }));
        dump.mig_profiles
            .extend(of.mig_profiles.iter().filter_map(|profile| {
                let device = id(profile.device)?;
                Some(crate::dump::MigProfile {
                    device,
                    ..profile.clone()
                })
            }));
        dump.channels.extend(of.channels.iter().cloned());
    }
}

/// The MIG instances of all dumps, each once. An instance that one dump lists by UUID and another
/// by place counts once.
fn instances(sources: &[DumpSource<'_>], devices: &MergedDevices) -> Vec<MigInstance> {
    let mut all: BTreeMap<DeviceId, Vec<MigInstance>> = BTreeMap::new();
    for placed in [true, false] {
        for (s, source) in sources.iter().enumerate() {
            // Those of one dump are different ones.
            let mut met: Vec<(DeviceId, usize)> = Vec::new();
            for instance in source
                .dump
                .mig_instances
                .iter()
                .filter(|one| one.placement.is_some() == placed)
            {
                let Some(device) = devices.merged(s, instance.device.index()) else {
                    continue;
                };
                let known = all.entry(device).or_default();
                let same = |other: &MigInstance| match (&other.uuid, &instance.uuid) {
                    (Some(a), Some(b)) => a == b,
                    _ if placed => {
                        other.placement == instance.placement && other.profile == instance.profile
                    }
                    _ => other.profile == instance.profile,
                };
                let found =
                    (0..known.len()).find(|&at| !met.contains(&(device, at)) && same(&known[at]));
                let at = found.unwrap_or(known.len());
                met.push((device, at));
                match known.get_mut(at) {
                    Some(known) => {
                        known.uuid = known.uuid.take().or_else(|| instance.uuid.clone());
                        known.instance_id = known.instance_id.or(instance.instance_id);
                        known.profile_id = known.profile_id.or(instance.profile_id);
                    }
                    None => known.push(MigInstance {
                        device,
                        ..instance.clone()
                    }),
                }
            }
        }
    }
    all.into_values().flatten().collect()
}
