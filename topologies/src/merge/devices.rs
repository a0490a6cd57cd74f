//! Identification of devices: which devices of several dumps are the same.

use std::collections::{HashMap, HashSet};

use mapa_core::{DeviceId, DeviceInfo, FabricNode, NodeKind};

use super::contradiction::{Contradiction, DumpStatement};
use super::source::{DumpSource, infos};
use crate::error::{Error, ErrorKind};
use crate::pci;

/// The devices of all dumps, each once.
pub(super) struct MergedDevices {
    /// By source and by device of the source: the merged device.
    merged: Vec<Vec<usize>>,
    /// By source and by merged device: the device of the source.
    own: Vec<Vec<Option<usize>>>,
}

/// The identifiers of a device, each in one spelling.
#[derive(Clone)]
struct DeviceIdentity {
    uuid: Option<String>,
    pci: Option<String>,
    number: u32,
}

impl DeviceIdentity {
    fn of_all(source: &DumpSource<'_>) -> Vec<Self> {
        infos(source)
            .enumerate()
            .map(|(id, (_, info))| Self::of(info, id))
            .collect()
    }

    fn of(info: &DeviceInfo, id: usize) -> Self {
        Self {
            uuid: info.uuid.as_deref().map(plain_uuid),
            pci: info
                .pci
                .as_ref()
                .map(|text| pci::normal(text).unwrap_or_else(|| text.to_ascii_lowercase())),
            number: info.index.unwrap_or(id as u32),
        }
    }

    /// Whether two identities contradict each other, so that they belong to different devices.
    fn differs(&self, other: &Self) -> bool {
        apart(self.uuid.as_ref(), other.uuid.as_ref())
            || apart(self.pci.as_ref(), other.pci.as_ref())
    }
}

/// Whether both are known and differ.
fn apart(a: Option<&String>, b: Option<&String>) -> bool {
    a.is_some() && b.is_some() && a != b
}

/// The one spelling of a UUID. AMD's tools print the same 64-bit number as `GPU-...`, as `0x...` or
/// bare, with leading zeros or without.
pub(super) fn plain_uuid(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.strip_prefix("gpu-").unwrap_or(&lower);
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let short = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if short {
        digits.trim_start_matches('0').to_owned()
    } else {
        lower
    }
}

/// Devices of several dumps that are one.
struct DeviceGroup {
    /// By source: the device of the source.
    own: Vec<Option<usize>>,
    /// The first source that names the device, and its number there.
    first: (usize, usize),
}

/// The merged device of each of so many devices, from the device of each merged one.
fn inverse((count, own): (usize, &Vec<Option<usize>>)) -> Vec<usize> {
    let mut merged = vec![0; count];
    for (k, id) in own.iter().enumerate() {
        if let Some(id) = *id {
            merged[id] = k;
        }
    }
    merged
}

impl MergedDevices {
    /// Decides which devices are the same: by UUIDs, then by PCI addresses, whatever the order of
    /// the dumps; then, dump by dump, by numbers. Two devices of one dump are never the same.
    ///
    /// # Complexity
    /// O(d n log n) for UUIDs and addresses, O(d n²) for numbers, for d dumps of n devices.
    ///
    /// # Errors
    /// Two dumps that each name all devices, with different numbers of devices, and only device
    /// numbers to identify them.
    pub(super) fn identify(
        sources: &[DumpSource<'_>],
        contradictions: &mut Vec<Contradiction>,
    ) -> Result<Self, Error> {
        let identities: Vec<Vec<DeviceIdentity>> =
            sources.iter().map(DeviceIdentity::of_all).collect();
        // Each device begins as a group of its own; groups of the same device are united.
        let mut groups: Vec<Option<DeviceGroup>> = Vec::new();
        let mut group_of: Vec<Vec<usize>> = Vec::new();
        for (s, of_source) in identities.iter().enumerate() {
            group_of.push((groups.len()..groups.len() + of_source.len()).collect());
            groups.extend((0..of_source.len()).map(|d| {
                let mut own = vec![None; sources.len()];
                own[s] = Some(d);
                Some(DeviceGroup { own, first: (s, d) })
            }));
        }
        let keys: [fn(&DeviceIdentity) -> Option<&String>; 2] =
            [|one| one.uuid.as_ref(), |one| one.pci.as_ref()];
        for key in keys {
            let mut known: HashMap<&String, usize> = HashMap::new();
            for (s, of_source) in identities.iter().enumerate() {
                for (d, identity) in of_source.iter().enumerate() {
                    let Some(key) = key(identity) else { continue };
                    let here = group_of[s][d];
                    let there = *known.entry(key).or_insert(here);
                    let into = unite(&mut groups, &mut group_of, there, here);
                    known.insert(key, into);
                }
            }
        }
        for s in 1..sources.len() {
            Self::is_one_machine(sources, &groups, s)?;
            for (d, identity) in identities[s].iter().enumerate() {
                let here = group_of[s][d];
                let alone = groups[here]
                    .as_ref()
                    .is_some_and(|group| group.own[..s].iter().all(Option::is_none));
                if !alone {
                    continue;
                }
                let alike = |group: &Option<DeviceGroup>| {
                    let Some(DeviceGroup {
                        own,
                        first: (at, id),
                    }) = group
                    else {
                        return false;
                    };
                    let members = own
                        .iter()
                        .enumerate()
                        .filter_map(|(t, d)| Some(&identities[t][(*d)?]));
                    *at < s
                        && own[s].is_none()
                        && identities[*at][*id].number == identity.number
                        && members.into_iter().all(|member| !member.differs(identity))
                };
                if let Some(there) = groups.iter().position(alike) {
                    unite(&mut groups, &mut group_of, there, here);
                }
            }
        }
        let mut groups: Vec<DeviceGroup> = groups.into_iter().flatten().collect();
        groups.sort_unstable_by_key(|group| group.first);
        let own: Vec<Vec<Option<usize>>> = (0..sources.len())
            .map(|s| groups.iter().map(|group| group.own[s]).collect())
            .collect();
        let counts = identities.iter().map(Vec::len);
        let merged: Vec<Vec<usize>> = counts.zip(&own).map(inverse).collect();
        for s in 1..sources.len() {
            let before = groups.iter().filter(|group| group.first.0 < s).count();
            let new: Vec<usize> = groups
                .iter()
                .filter(|group| group.first.0 == s)
                .map(|group| group.first.1)
                .collect();
            if before > 0 {
                Self::report(sources, &merged, s, &new, before, contradictions);
            }
        }
        Ok(Self { merged, own })
    }

    /// # Errors
    /// As [`MergedDevices::identify`], for one source and those before.
    fn is_one_machine(
        sources: &[DumpSource<'_>],
        groups: &[Option<DeviceGroup>],
        s: usize,
    ) -> Result<(), Error> {
        let source = &sources[s];
        let whole = |other: &DumpSource<'_>| {
            other.says().every_device && other.devices() != source.devices()
        };
        let tied = |t: usize| {
            groups
                .iter()
                .flatten()
                .any(|group| group.own[s].is_some() && group.own[t].is_some())
        };
        let stranger =
            (0..s).find(|&t| source.says().every_device && whole(&sources[t]) && !tied(t));
        let Some(other) = stranger.map(|t| &sources[t]) else {
            return Ok(());
        };
        let count = |source: &DumpSource<'_>| {
            format!(
                "{} names {} devices in all",
                source.name(),
                source.devices()
            )
        };
        let what = format!(
            "{}, {}, and only device numbers identify them",
            count(other),
            count(source)
        );
        Err(Error::of_kind(
            ErrorKind::Incomplete,
            what + ": expected dumps of one machine",
        ))
    }

    /// Reports devices that one dump names and another lacks, although it names all devices.
    fn report(
        sources: &[DumpSource<'_>],
        merged: &[Vec<usize>],
        s: usize,
        new: &[usize],
        before: usize,
        contradictions: &mut Vec<Contradiction>,
    ) {
        let names = |source: &DumpSource<'_>, ids: &[usize]| {
            let names: Vec<&str> = infos(source).map(|(node, _)| node.name.as_str()).collect();
            ids.iter()
                .filter_map(|&id| names.get(id).copied())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let source = &sources[s];
        let whole = (0..s).find(|&other| sources[other].says().every_device);
        if let Some(whole) = whole.filter(|_| !new.is_empty()) {
            contradictions.push(Contradiction {
                about: "devices there are".to_owned(),
                kept: source.says_of(format!("{} too", names(source, new))),
                dropped: sources[whole].says_of(format!("{} in all", sources[whole].devices())),
            });
        }
        let missing: Vec<usize> = (0..before).filter(|k| !merged[s].contains(k)).collect();
        if source.says().every_device && !missing.is_empty() {
            // Each is missing from a source before, which named it.
            let first = (0..s).find(|&other| missing.iter().any(|k| merged[other].contains(k)));
            let Some(first) = first else { return };
            let ids: Vec<usize> = (0..merged[first].len())
                .filter(|&id| missing.contains(&merged[first][id]))
                .collect();
            contradictions.push(Contradiction {
                about: "devices there are".to_owned(),
                kept: sources[first].says_of(format!("{} too", names(&sources[first], &ids))),
                dropped: source.says_of(format!("{} in all", source.devices())),
            });
        }
    }

    pub(super) fn count(&self) -> usize {
        self.own.first().map_or(0, Vec::len)
    }

    /// The merged device for a device of a source.
    pub(super) fn merged(&self, source: usize, device: usize) -> Option<DeviceId> {
        self.merged[source].get(device).map(|&k| DeviceId(k as u32))
    }

    /// The device of a source for a merged device.
    pub(super) fn own(&self, source: usize, merged: usize) -> Option<usize> {
        self.own[source].get(merged).copied().flatten()
    }

    /// The device of source `to` that is the same as this device of source `from`.
    pub(super) fn counterpart(&self, from: usize, device: usize, to: usize) -> Option<usize> {
        self.own(to, self.merged(from, device)?.index())
    }

    /// The devices with all that is known of them. For NUMA nodes the dump that gives the host
    /// comes first, since the merged tree has its nodes.
    pub(super) fn nodes(
        &self,
        sources: &[DumpSource<'_>],
        host: Option<usize>,
        contradictions: &mut Vec<Contradiction>,
    ) -> Vec<FabricNode> {
        let host_first: Vec<usize> = host
            .into_iter()
            .chain((0..sources.len()).filter(|&s| Some(s) != host))
            .collect();
        let mut names: HashSet<String> = HashSet::new();
        let mut numbers: HashSet<u32> = HashSet::new();
        let mut taken: HashSet<String> = HashSet::new();
        let mut nodes = Vec::new();
        for k in 0..self.count() {
            let mut facts = DeviceFacts::default();
            for (s, source) in sources.iter().enumerate() {
                let Some(own) = self.own(s, k) else { continue };
                let Some((node, info)) = infos(source).nth(own) else {
                    continue;
                };
                facts.add(source, node, info, own, contradictions);
            }
            for &s in &host_first {
                let graph = self.own(s, k).zip(sources[s].graph.as_ref());
                let numa = graph.and_then(|(device, graph)| graph.devices().get(device)?.numa);
                facts.add_numa(&sources[s], numa, contradictions);
            }
            let DeviceFacts { name, mut info, .. } = facts;
            // Where dumps differ, two devices may have one identifier. The first device keeps it.
            info.uuid = info
                .uuid
                .filter(|uuid| taken.insert(uuid.trim().to_ascii_lowercase()));
            info.pci = info
                .pci
                .filter(|pci| taken.insert(pci.trim().to_ascii_lowercase()));
            let mut name = name;
            while !names.insert(name.clone()) {
                name = format!("{name}-{k}");
            }
            nodes.push((name, info));
        }
        // Of two devices with one number, the first keeps it; the others get free numbers.
        let own: Vec<bool> = nodes
            .iter()
            .map(|(_, info)| info.index.is_some_and(|n| numbers.insert(n)))
            .collect();
        let mut free = (0..).filter(|number| !numbers.contains(number));
        let mut merged = Vec::with_capacity(nodes.len());
        for (k, ((name, info), is_device)) in nodes.into_iter().zip(own).enumerate() {
            let number = if is_device { info.index } else { free.next() };
            let index = number.filter(|&number| number as usize != k);
            merged.push(FabricNode {
                name,
                kind: NodeKind::Device(DeviceInfo { index, ..info }),
            });
        }
        merged
    }
}

/// Unites two groups, unless a source has a device in each. Returns the group of the second group's
/// devices after that.
fn unite(
    groups: &mut [Option<DeviceGroup>],
    group_of: &mut [Vec<usize>],
    there: usize,
    here: usize,
) -> usize {
    let clash = match (&groups[there], &groups[here]) {
        (Some(a), Some(b)) => a
            .own
            .iter()
            .zip(&b.own)
            .any(|(a, b)| a.is_some() && b.is_some()),
        _ => true,
    };
    if there == here || clash {
        return there;
    }
    let (into, from) = (there.min(here), there.max(here));
    if let Some(moved) = groups[from].take()
        && let Some(group) = &mut groups[into]
    {
        for (s, d) in moved.own.into_iter().enumerate() {
            let Some(d) = d else { continue };
            group.own[s] = Some(d);
            group_of[s][d] = into;
        }
        group.first = group.first.min(moved.first);
    }
    into
}

/// The facts about one device. Each fact comes from the first dump that gives it.
#[derive(Default)]
struct DeviceFacts {
    name: String,
    info: DeviceInfo,
    /// The dump of each fact.
    by: Vec<(&'static str, String)>,
}

impl DeviceFacts {
    fn add(
        &mut self,
        source: &DumpSource<'_>,
        node: &FabricNode,
        info: &DeviceInfo,
        own: usize,
        contradictions: &mut Vec<Contradiction>,
    ) {
        if self.name.is_empty() {
            self.name.clone_from(&node.name);
        }
        let number = Some(info.index.unwrap_or(own as u32));
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        let address = |info: &DeviceInfo| {
            info.pci
                .as_ref()
                .map(|pci| pci::normal(pci).unwrap_or_else(|| pci.clone()))
        };
        let model = |info: &DeviceInfo| info.mig.as_ref().map(|model| model.name().to_owned());
        let known = self.info.clone();
        let mut tell =
            |what, known, said| contradictions.extend(self.tell(source, what, known, said));
        tell("number", text(known.index), text(number));
        let uuid = |info: &DeviceInfo| info.uuid.as_deref().map(plain_uuid);
        tell("UUID", uuid(&known), uuid(info));
        tell("PCI address", address(&known), address(info));
        tell("MIG model", model(&known), model(info));
        self.info = DeviceInfo {
            product: known.product.or_else(|| info.product.clone()),
            index: known.index.or(number),
            uuid: known.uuid.or_else(|| info.uuid.clone()),
            pci: known.pci.or_else(|| info.pci.clone()),
            numa: None,
            memory_bytes: known.memory_bytes.or(info.memory_bytes),
            mig: known.mig.or_else(|| info.mig.clone()),
        };
    }

    fn add_numa(
        &mut self,
        source: &DumpSource<'_>,
        numa: Option<u32>,
        contradictions: &mut Vec<Contradiction>,
    ) {
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        contradictions.extend(self.tell(source, "NUMA node", text(self.info.numa), text(numa)));
        self.info.numa = self.info.numa.or(numa);
    }

    /// Notes the dump of a new fact; for a known fact, returns the contradiction if this dump
    /// differs.
    fn tell(
        &mut self,
        source: &DumpSource<'_>,
        what: &'static str,
        known: Option<String>,
        said: Option<String>,
    ) -> Option<Contradiction> {
        let said = said?;
        let Some(known) = known else {
            self.by.push((what, source.name().to_owned()));
            return None;
        };
        if known.eq_ignore_ascii_case(&said) {
            return None;
        }
        let teller = self
            .by
            .iter()
            .find(|(fact, _)| *fact == what)
            .map_or("", |(_, teller)| teller.as_str());
        Some(Contradiction {
            about: format!("{}, {what}", self.name),
            kept: DumpStatement {
                by: teller.to_owned(),
                what: known,
            },
            dropped: source.says_of(said),
        })
    }
}
