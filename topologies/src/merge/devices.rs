//! Which devices of several dumps are the same.

use std::collections::HashSet;

use mapa_core::{DeviceId, DeviceInfo, FabricNode, NodeKind};

use super::{Contradiction, Said, Source};
use crate::error::{Error, ErrorKind};
use crate::pci;

/// The devices of all dumps, each once.
pub(super) struct Devices {
    /// By source and by its device, the merged one.
    merged: Vec<Vec<usize>>,
    /// By source and by merged device, its own.
    own: Vec<Vec<Option<usize>>>,
}

/// What tells a device from others, in one spelling.
#[derive(Clone, Default)]
struct Identity {
    uuid: Option<String>,
    pci: Option<String>,
    number: u32,
}

impl Identity {
    fn of(info: &DeviceInfo, id: usize) -> Self {
        Self {
            uuid: info.uuid.as_ref().map(|uuid| uuid.trim().to_ascii_lowercase()),
            pci: info.pci.as_ref().map(|text| pci::normal(text).unwrap_or_else(|| text.to_ascii_lowercase())),
            number: info.index.unwrap_or(id as u32),
        }
    }

    /// One UUID; or, where only one of the two has one, one PCI address.
    fn is(&self, other: &Self) -> bool {
        match (&self.uuid, &other.uuid) {
            (Some(a), Some(b)) => a == b,
            _ => self.pci.is_some() && self.pci == other.pci,
        }
    }

    /// Whether two identities cannot be one device's.
    fn differs(&self, other: &Self) -> bool {
        let apart = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        apart(&self.uuid, &other.uuid) || apart(&self.pci, &other.pci)
    }

    fn learn(&mut self, other: &Self) {
        self.uuid = self.uuid.take().or_else(|| other.uuid.clone());
        self.pci = self.pci.take().or_else(|| other.pci.clone());
    }
}

pub(super) fn infos<'s>(source: &'s Source<'_>) -> impl Iterator<Item = (&'s FabricNode, &'s DeviceInfo)> {
    source.dump.machine.fabric.nodes().filter_map(|(_, node)| match &node.kind {
        NodeKind::Device(info) => Some((node, info)),
        _ => None,
    })
}

impl Devices {
    /// O(n²) for n devices of each source.
    ///
    /// # Errors
    /// Two dumps that each name all devices, not as many, and nothing but numbers to say which are the same.
    pub(super) fn identify(sources: &[Source<'_>], contradictions: &mut Vec<Contradiction>) -> Result<Self, Error> {
        let mut known: Vec<Identity> = Vec::new();
        let mut merged: Vec<Vec<usize>> = Vec::new();
        for (s, source) in sources.iter().enumerate() {
            let own: Vec<Identity> = infos(source).enumerate().map(|(id, (_, info))| Identity::of(info, id)).collect();
            // What is sure first, so that a number does not take what an address is for.
            let mut map: Vec<Option<usize>> = vec![None; own.len()];
            let mut taken = HashSet::new();
            for (id, identity) in own.iter().enumerate() {
                let found = known.iter().enumerate().position(|(k, other)| !taken.contains(&k) && identity.is(other));
                map[id] = found.inspect(|&k| {
                    taken.insert(k);
                });
            }
            let whole = |other: &&Source<'_>| other.says().every_device && other.devices() != source.devices();
            if let Some(other) = sources[..s].iter().find(whole)
                && source.says().every_device
                && taken.is_empty()
            {
                let count =
                    |source: &Source<'_>| format!("{} names {} devices in all", source.name(), source.devices());
                let what =
                    format!("{}, {}, and nothing but numbers says which are the same", count(other), count(source));
                return Err(Error::of_kind(ErrorKind::Incomplete, what + ": expected dumps of one machine"));
            }
            for (id, identity) in own.iter().enumerate().filter(|(id, _)| map[*id].is_none()).collect::<Vec<_>>() {
                let alike = |k: usize, other: &Identity| {
                    !taken.contains(&k) && other.number == identity.number && !other.differs(identity)
                };
                let found = known.iter().enumerate().position(|(k, other)| alike(k, other));
                map[id] = found.inspect(|&k| {
                    taken.insert(k);
                });
            }
            let before = known.len();
            let mut new = Vec::new();
            for (id, identity) in own.into_iter().enumerate() {
                let k = map[id].unwrap_or(known.len());
                map[id] = Some(k);
                match known.get_mut(k) {
                    Some(device) => device.learn(&identity),
                    None => {
                        new.push(id);
                        known.push(identity);
                    }
                }
            }
            merged.push(map.into_iter().flatten().collect());
            if s > 0 && before > 0 {
                Self::report(sources, &merged, s, &new, before, contradictions);
            }
        }
        let inverse = |map: &Vec<usize>| {
            let mut own = vec![None; known.len()];
            map.iter().enumerate().for_each(|(id, &k)| own[k] = Some(id));
            own
        };
        let own = merged.iter().map(inverse).collect();
        Ok(Self { merged, own })
    }

    /// Devices that one dump names and another, which says that it names them all, does not.
    fn report(
        sources: &[Source<'_>],
        merged: &[Vec<usize>],
        s: usize,
        new: &[usize],
        before: usize,
        contradictions: &mut Vec<Contradiction>,
    ) {
        let names = |source: &Source<'_>, ids: &[usize]| {
            let names: Vec<&str> = infos(source).map(|(node, _)| node.name.as_str()).collect();
            ids.iter().filter_map(|&id| names.get(id).copied()).collect::<Vec<_>>().join(", ")
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
            let ids: Vec<usize> = (0..merged[first].len()).filter(|&id| missing.contains(&merged[first][id])).collect();
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

    /// The merged device that a source's device is.
    pub(super) fn merged(&self, source: usize, device: usize) -> Option<DeviceId> {
        self.merged[source].get(device).map(|&k| DeviceId(k as u32))
    }

    /// The source's device that a merged device is.
    pub(super) fn own(&self, source: usize, merged: usize) -> Option<usize> {
        self.own[source].get(merged).copied().flatten()
    }

    /// The devices with all that is known of them. NUMA nodes are first asked of the dump that gives the host, whose tree has
    /// them anyway.
    pub(super) fn nodes(
        &self,
        sources: &[Source<'_>],
        host: Option<usize>,
        contradictions: &mut Vec<Contradiction>,
    ) -> Vec<FabricNode> {
        let host_first = || host.into_iter().chain((0..sources.len()).filter(|&s| Some(s) != host));
        let mut names: HashSet<String> = HashSet::new();
        let mut numbers: HashSet<u32> = HashSet::new();
        let mut nodes = Vec::new();
        for k in 0..self.count() {
            let mut facts = Facts::default();
            for (s, source) in sources.iter().enumerate() {
                let Some(own) = self.own(s, k) else { continue };
                let Some((node, info)) = infos(source).nth(own) else { continue };
                facts.add(source, node, info, own, contradictions);
            }
            for s in host_first() {
                let graph = self.own(s, k).zip(sources[s].graph.as_ref());
                let numa = graph.and_then(|(own, graph)| graph.devices().get(own)?.numa);
                facts.add_numa(&sources[s], numa, contradictions);
            }
            let Facts { name, info, .. } = facts;
            let mut name = name;
            while !names.insert(name.clone()) {
                name = format!("{name}-{k}");
            }
            nodes.push((name, info));
        }
        // Of two devices with one number, the first keeps it; the others get numbers that nobody has.
        let own: Vec<bool> = nodes.iter().map(|(_, info)| info.index.is_some_and(|n| numbers.insert(n))).collect();
        let mut free = (0..).filter(|number| !numbers.contains(number));
        let node = |(k, ((name, info), own)): (usize, ((String, DeviceInfo), bool))| {
            let number = if own { info.index } else { free.next() };
            let index = number.filter(|&number| number as usize != k);
            FabricNode { name, kind: NodeKind::Device(DeviceInfo { index, ..info }) }
        };
        nodes.into_iter().zip(own).enumerate().map(node).collect()
    }
}

/// What is known of one device, fact by fact from the first that tells it.
#[derive(Default)]
struct Facts {
    name: String,
    info: DeviceInfo,
    /// Who told each fact.
    by: Vec<(&'static str, String)>,
}

impl Facts {
    fn add(
        &mut self,
        source: &Source<'_>,
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
        let address = |info: &DeviceInfo| info.pci.as_ref().map(|pci| pci::normal(pci).unwrap_or_else(|| pci.clone()));
        let model = |info: &DeviceInfo| info.mig.as_ref().map(|model| model.name().to_owned());
        let known = self.info.clone();
        let mut tell = |what, known, said| contradictions.extend(self.tell(source, what, known, said));
        tell("number", text(known.index), text(number));
        tell("UUID", known.uuid.clone(), info.uuid.clone());
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

    fn add_numa(&mut self, source: &Source<'_>, numa: Option<u32>, contradictions: &mut Vec<Contradiction>) {
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        contradictions.extend(self.tell(source, "NUMA node", text(self.info.numa), text(numa)));
        self.info.numa = self.info.numa.or(numa);
    }

    /// Books who told a fact, or what is wrong with telling it otherwise.
    fn tell(
        &mut self,
        source: &Source<'_>,
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
        let teller = self.by.iter().find(|(fact, _)| *fact == what).map_or("", |(_, teller)| teller.as_str());
        Some(Contradiction {
            about: format!("{}, {what}", self.name),
            kept: Said { by: teller.to_owned(), what: known },
            dropped: source.says_of(said),
        })
    }
}
