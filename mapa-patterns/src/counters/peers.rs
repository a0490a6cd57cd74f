//! The devices at the other ends of links.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{DeviceId, DeviceInfo, HardwareGraph, LinkClass, NodeKind};
use mapa_topologies::Dump;

use super::input::{Counters, bytes, of_graph, percent};
use super::mirrors::{JoinRules, Mirrored, mirror, mirrored};
use super::outside::{Partly, partly};
use super::reading::{CountedDevice, LinkEnd};
use super::spread::spread;
use crate::application::Note;
use crate::error::Error;
use crate::traffic::TrafficMatrix;

/// The most links that a note names.
const NAMED: usize = 8;
/// The note about traffic whose peers are unknown.
const SPREAD: &str = "their traffic is spread over all pairs that may be joined, as evenly as the bytes \
    that each device sent and received allow (maximum entropy)";

/// A device, and the number of one of its links.
type LinkPort = (usize, u32);

/// The device at the other end of a link, and the number of the link there.
type Remote = (usize, Option<u32>);

/// The other ends of links, as far as they are known.
pub(super) struct LinkPeers<'a> {
    seen: &'a [CountedDevice],
    graph: Option<&'a HardwareGraph>,
    /// By device of the reading: the device of the machine.
    ids: Vec<Option<DeviceId>>,
    /// By device and link: the other end, as the driver names it.
    remotes: BTreeMap<LinkPort, Remote>,
    /// Devices and links whose other ends belong to devices outside the reading.
    elsewhere: BTreeSet<LinkPort>,
    /// Whether the links lead to switches, so that every device may talk to every other.
    switched: bool,
    tolerance: f64,
}

impl<'a> LinkPeers<'a> {
    /// The other ends, from the machine and from what the driver says of remote ends.
    ///
    /// # Errors
    /// A device that the machine does not have; a dump without remote ends.
    pub(super) fn new(counters: &Counters<'a>) -> Result<Self, Error> {
        let (seen, graph) = (&counters.after.devices[..], counters.machine);
        let mut ids = vec![None; seen.len()];
        if let Some(graph) = graph {
            for (id, seen) in ids.iter_mut().zip(seen) {
                let Some(device) = of_graph(graph, seen.number, seen.uuid.as_deref()) else {
                    return Err(Error::new(format!(
                        "{} is not in the machine: expected the machine of the reading",
                        seen.name
                    )));
                };
                *id = Some(device);
            }
        }
        let mut peers = Self {
            seen,
            graph,
            ids,
            remotes: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            switched: false,
            tolerance: counters.tolerance,
        };
        peers.switched =
            peers.all_links_reach_switches() || counters.remotes.is_some_and(has_switches);
        if let Some(dump) = counters.remotes {
            peers.read_remotes(dump)?;
        }
        Ok(peers)
    }

    /// Whether the machine has a port to a switch for every device whose links were counted.
    fn all_links_reach_switches(&self) -> bool {
        let Some(graph) = self.graph else {
            return false;
        };
        let mut linked = 0;
        for (id, _) in (self.ids.iter().zip(self.seen)).filter(|(_, seen)| !seen.links.is_empty()) {
            let device = id.and_then(|id| graph.devices().get(id.index()));
            if device.is_none_or(|device| device.switch_port.is_none()) {
                return false;
            }
            linked += 1;
        }
        linked > 0
    }

    /// Reads the remote ends of a dump. An address that is no device's is passed over.
    ///
    /// # Errors
    /// A dump without remote ends.
    fn read_remotes(&mut self, dump: &Dump) -> Result<(), Error> {
        let infos: Vec<&DeviceInfo> = dump
            .machine
            .fabric
            .nodes()
            .filter_map(|(_, node)| match &node.kind {
                NodeKind::Device(info) => Some(info),
                _ => None,
            })
            .collect();
        if dump.ports.iter().all(|port| port.remote.is_none()) {
            return Err(Error::new(
                "no remote ends of links: expected the output of `nvidia-smi nvlink -R` or `-p`",
            ));
        }
        let places: Vec<Option<usize>> = (0..)
            .zip(&infos)
            .map(|(id, info)| self.of_info(id, info))
            .collect();
        for port in &dump.ports {
            let Some((address, link)) = &port.remote else {
                continue;
            };
            let Some(device) = places.get(port.device.index()).copied().flatten() else {
                continue;
            };
            let of_dump = infos
                .iter()
                .position(|info| info.pci.as_deref() == Some(address));
            let id = self.graph.and_then(|graph| graph.find(address).ok());
            let read = of_dump.and_then(|at| places.get(at).copied().flatten());
            let other = read.or_else(|| {
                self.ids
                    .iter()
                    .position(|device| id.is_some() && *device == id)
            });
            if let Some(other) = other {
                self.remotes.insert((device, port.link), (other, *link));
            } else if of_dump.is_some() || id.is_some() {
                self.elsewhere.insert((device, port.link));
            }
        }
        Ok(())
    }

    /// The device of the reading that a device of a dump is: by its UUID, else by its number,
    /// unless both have UUIDs that differ.
    fn of_info(&self, id: u32, info: &DeviceInfo) -> Option<usize> {
        let number = info.index.unwrap_or(id);
        let by_uuid = self
            .seen
            .iter()
            .position(|seen| info.uuid.is_some() && seen.uuid == info.uuid);
        by_uuid.or_else(|| {
            self.seen.iter().position(|seen| {
                seen.number == number && (info.uuid.is_none() || seen.uuid.is_none())
            })
        })
    }

    /// The device of the reading that a word names.
    ///
    /// # Errors
    /// A word that names no device of the machine or the reading.
    pub(super) fn find(&self, word: &str) -> Result<usize, Error> {
        let found = match self.graph {
            Some(graph) => {
                let id = graph
                    .find(word)
                    .map_err(|error| Error::new(format!("--devices {word}: {error}")))?;
                self.ids.iter().position(|device| *device == Some(id))
            }
            None => self
                .seen
                .iter()
                .position(|seen| is_named(seen, word.trim())),
        };
        found.ok_or_else(|| {
            let all: Vec<&str> = self.seen.iter().map(|seen| seen.name.as_str()).collect();
            Error::new(format!(
                "--devices {word}: device `{word}` is not in the reading: expected one of {}",
                all.join(", ")
            ))
        })
    }

    /// The name of a device: by the machine, if there is one.
    pub(super) fn name(&self, device: usize) -> String {
        let id = self.ids.get(device).copied().flatten();
        let of_graph = id
            .and_then(|id| self.graph?.devices().get(id.index()))
            .map(|device| device.name.clone());
        of_graph
            .or_else(|| self.seen.get(device).map(|seen| seen.name.clone()))
            .unwrap_or_default()
    }

    /// The number of direct links between two devices; none if it is unknown, or if the links lead
    /// to switches.
    pub(super) fn links(&self, a: usize, b: usize) -> Option<usize> {
        let graph = self.graph.filter(|_| !self.switched)?;
        let (a, b) = (*self.ids.get(a)?, *self.ids.get(b)?);
        match graph.pair(a?, b?).direct.class {
            LinkClass::Direct(links) => Some(usize::from(links)),
            _ => Some(0),
        }
    }

    /// The other end of a link, as the driver names it.
    fn remote(&self, end: &LinkEnd) -> Option<Remote> {
        self.remotes.get(&(end.device, end.link)).copied()
    }

    /// Whether the driver names these as the ends of one link.
    pub(super) fn are_one(&self, a: &LinkEnd, b: &LinkEnd) -> bool {
        self.remote(a) == Some((b.device, Some(b.link)))
            || self.remote(b) == Some((a.device, Some(a.link)))
    }

    /// Whether these may be the ends of one link: the driver does not name another end for either.
    fn may_be_one(&self, a: &LinkEnd, b: &LinkEnd) -> bool {
        [(a, b), (b, a)].into_iter().all(|(from, other)| {
            self.remote(from).is_none_or(|(device, link)| {
                device == other.device && link.is_none_or(|link| link == other.link)
            })
        })
    }

    /// Adds the bytes of links to the traffic between the devices that they join.
    pub(super) fn join(
        &self,
        ends: &[LinkEnd],
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) {
        let (out, ends): (Vec<LinkEnd>, Vec<LinkEnd>) = ends
            .iter()
            .cloned()
            .partition(|end| self.elsewhere.contains(&(end.device, end.link)));
        if !out.is_empty() {
            notes.push(self.left_out(&out));
        }
        // Links of which the driver names both ends come first: they need no inference.
        let named = self.named(&ends, notes);
        add(&ends, &named, traffic);
        let used: BTreeSet<usize> = named.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let mut taken: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (a, b) in &named {
            if let (Some(a), Some(b)) = (ends.get(*a), ends.get(*b)) {
                let pair = (a.device.min(b.device), a.device.max(b.device));
                *taken.entry(pair).or_default() += 1;
            }
        }
        let rest: Vec<LinkEnd> = (0..)
            .zip(ends)
            .filter(|(at, _)| !used.contains(at))
            .map(|(_, end)| end)
            .collect();
        if self.switched {
            if !rest.is_empty() {
                notes.push(Note::assumed(
                    "the links lead to switches, so counters do not show the peers: all-to-all \
                     among the devices with traffic, as evenly as the bytes that each sent and \
                     received allow (maximum entropy)",
                ));
            }
            self.share(&rest, |_, _| true, traffic, notes);
            return;
        }
        let rules = JoinRules {
            may_join: &|a: usize, b: usize| {
                let both = rest.get(a).zip(rest.get(b));
                both.is_some_and(|(a, b)| self.may_be_one(a, b))
            },
            links: &|a: usize, b: usize| {
                let taken = taken.get(&(a, b)).copied().unwrap_or_default();
                Some(self.links(a, b)?.saturating_sub(taken))
            },
            tolerance: self.tolerance,
        };
        if (0..self.seen.len()).any(|device| self.outside(device) > 0) {
            let found = partly(&rest, &rules, &|device| self.outside(device));
            add(&rest, &found.pairs, traffic);
            self.note_outside(&rest, &found, notes);
            return;
        }
        let found = mirrored(&rest, &rules);
        add(&rest, &found.pairs, traffic);
        self.note_inferred(&rest, &found, notes);
        self.spread_out(&rest, &found, &rules, traffic, notes);
    }

    /// The links of which the driver names both ends, with a note for each whose counters disagree.
    fn named(&self, ends: &[LinkEnd], notes: &mut Vec<Note>) -> Vec<(usize, usize)> {
        let mut used = BTreeSet::new();
        let mut named = Vec::new();
        for (a, near) in ends.iter().enumerate() {
            for (b, other) in ends.iter().enumerate().skip(a + 1) {
                if !self.are_one(near, other)
                    || near.device == other.device
                    || used.contains(&a)
                    || used.contains(&b)
                {
                    continue;
                }
                used.extend([a, b]);
                named.push((a, b));
                if !mirror(near, other, self.tolerance) {
                    let [own, other] = [near, other].map(|end| {
                        let (sent, received) = (bytes(end.sent), bytes(end.received));
                        format!("{} sent {sent} and received {received}", self.end(end))
                    });
                    notes.push(Note::undecided(format!(
                        "the ends of a link disagree by more than {} %: {own}, {other}; the larger \
                         count of each direction is used",
                        percent(self.tolerance)
                    )));
                }
            }
        }
        named
    }

    /// An end for people: `GPU5 link 0`.
    fn end(&self, end: &LinkEnd) -> String {
        format!("{} link {}", self.name(end.device), end.link)
    }

    /// Advice on how to find the peers, for the end of a note.
    fn advice(&self) -> &'static str {
        if self.remotes.is_empty() {
            "; the output of `nvidia-smi nvlink -R` would decide (--remotes)"
        } else {
            ""
        }
    }

    /// The number of the machine's links between a device and devices outside the reading.
    fn outside(&self, device: usize) -> usize {
        self.links_of(device, |id| !self.ids.contains(&Some(id)))
    }

    /// The number of direct links between a device and the wanted devices of the machine; 0 behind
    /// switches.
    fn links_of(&self, device: usize, wanted: impl Fn(DeviceId) -> bool) -> usize {
        let (Some(graph), Some(own)) = (self.graph, self.ids.get(device).copied().flatten()) else {
            return 0;
        };
        let mut sum = 0;
        for id in graph.wholes().iter().filter(|id| *id != own && wanted(*id)) {
            if let LinkClass::Direct(links) = graph.pair(own, id).direct.class {
                sum += usize::from(links);
            }
        }
        sum
    }

    /// Notes where the machine does not look like that of the reading.
    pub(super) fn compare(&self, title: Option<&str>, notes: &mut Vec<Note>) {
        let devices = 0..self.seen.len();
        let differences = [
            devices
                .clone()
                .find_map(|device| self.other_product(device, title)),
            devices.clone().find_map(|device| self.other_links(device)),
        ];
        for what in differences.into_iter().flatten() {
            notes.push(Note::assumed(format!(
                "the machine is that of the reading, although {what}"
            )));
        }
    }

    /// How the product of a device differs from that of the machine, or from its title.
    fn other_product(&self, device: usize, title: Option<&str>) -> Option<String> {
        let seen = self.seen.get(device)?;
        let id = self.ids.get(device).copied().flatten()?;
        let of_graph = self.graph?.devices().get(id.index())?.product.as_deref();
        let (of_graph, read) = (of_graph.or(title)?, seen.product.as_deref()?);
        let (own, machines) = (models(read), models(of_graph));
        let differ = !own.is_empty() && !machines.is_empty() && own.is_disjoint(&machines);
        differ.then(|| format!("{} is a {read}, the machine's: {of_graph}", seen.name))
    }

    /// How the number of a device's links differs from that in the machine.
    fn other_links(&self, device: usize) -> Option<String> {
        self.graph?;
        let seen = self.seen.get(device)?;
        let (read, of_graph) = (seen.links.len(), self.links_of(device, |_| true));
        let differ = !self.switched && read > 0 && read != of_graph;
        differ.then(|| format!("{} has {read} links, the machine's {of_graph}", seen.name))
    }

    /// Ends for people, with the bytes of their busier directions.
    fn list(&self, ends: &[LinkEnd]) -> String {
        let mut named: Vec<String> = Vec::new();
        for end in ends.iter().take(NAMED) {
            named.push(format!("{} ({})", self.end(end), bytes(end.busier())));
        }
        named.join(", ") + &more(ends.len())
    }

    /// The names of devices, separated by commas.
    pub(super) fn names(&self, devices: impl IntoIterator<Item = usize>) -> String {
        let names = devices.into_iter().map(|device| self.name(device));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The note about links to devices outside the reading.
    fn left_out(&self, ends: &[LinkEnd]) -> Note {
        let sum: f64 = ends.iter().map(LinkEnd::busier).sum();
        Note::left_out(format!(
            "traffic with devices outside the reading, {} in all: {}",
            bytes(sum),
            self.list(ends)
        ))
    }

    /// Notes the ends that were not joined to devices of the reading, and those that could have
    /// been joined in several ways.
    fn note_outside(&self, ends: &[LinkEnd], found: &Partly, notes: &mut Vec<Note>) {
        if !found.doubtful.is_empty() {
            let places: Vec<usize> = found.doubtful.iter().flat_map(|(a, b)| [*a, *b]).collect();
            notes.push(Note::undecided(format!(
                "more than one assignment of links fits, to devices in the reading and to others: \
                 {} are joined, as many as the machine has links{}",
                self.list(&pick(ends, &places)),
                self.advice()
            )));
        }
        if !found.open.is_empty() {
            notes.push(self.left_out(&pick(ends, &found.open)));
        }
        if !found.spared.is_empty() {
            let mut pairs: Vec<String> = Vec::new();
            for (a, b) in found.spared.iter().take(NAMED) {
                pairs.push(format!("{} and {}", self.name(*a), self.name(*b)));
            }
            notes.push(Note::undecided(format!(
                "part of the traffic left out may have gone over links between {}{}",
                pairs.join("; "),
                self.advice()
            )));
        }
        // A device can have no more open ends than the machine has links to devices not read.
        let mut open = vec![0; self.seen.len()];
        for end in pick(ends, &found.open) {
            if let Some(count) = open.get_mut(end.device) {
                *count += 1;
            }
        }
        let lacking = (0..).zip(open);
        let lacking = lacking.filter(|(device, open)| *open > self.outside(*device));
        let lacking = self.names(lacking.map(|(device, _)| device));
        if !lacking.is_empty() {
            notes.push(Note::undecided(format!(
                "{lacking} have more unmatched links than the machine has to devices outside the \
                 reading: no other end in the reading has the same counts within {} %, perhaps \
                 because the devices were read at different times",
                percent(self.tolerance)
            )));
        }
    }

    /// Notes the links that were inferred from counters alone, without a machine.
    fn note_inferred(&self, ends: &[LinkEnd], found: &Mirrored, notes: &mut Vec<Note>) {
        if self.graph.is_some() || found.pairs.is_empty() {
            return;
        }
        let mut named: Vec<String> = Vec::new();
        for (a, b) in found.pairs.iter().take(NAMED) {
            if let (Some(a), Some(b)) = (ends.get(*a), ends.get(*b)) {
                named.push(format!("{} and {}", self.end(a), self.end(b)));
            }
        }
        let rest = if found.pairs.len() > NAMED {
            format!(";{}", more(found.pairs.len()))
        } else {
            String::new()
        };
        let at = if found.at > 0.0 {
            format!(" within {} %", percent(found.at))
        } else {
            String::new()
        };
        notes.push(Note::assumed(format!(
            "inferred from counters that mirror each other{at}, without the machine: {}{rest}",
            named.join("; ")
        )));
    }

    /// Spreads the traffic of ends whose peers are unknown over the devices that may be joined.
    fn spread_out(
        &self,
        ends: &[LinkEnd],
        found: &Mirrored,
        rules: &JoinRules<'_>,
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) {
        let may_be_joined = |a: usize, b: usize| (rules.links)(a.min(b), a.max(b)) != Some(0);
        let unclear = pick(ends, &found.unclear);
        if !unclear.is_empty() {
            let devices: BTreeSet<usize> = unclear.iter().map(|end| end.device).collect();
            notes.push(Note::undecided(format!(
                "more than one assignment of {} link ends of {} to peers fits the counters{}",
                unclear.len(),
                self.names(devices),
                self.advice()
            )));
            let placed = self.share(
                &unclear,
                |a, b| may_be_joined(a, b) && self.could_mirror(&unclear, a, b),
                traffic,
                notes,
            );
            if placed {
                notes.push(Note::assumed(SPREAD));
            }
        }
        let lonely = pick(ends, &found.lonely);
        if lonely.is_empty() {
            return;
        }
        let named: Vec<String> = (lonely.iter().take(NAMED))
            .map(|end| self.end(end))
            .collect();
        notes.push(Note::undecided(format!(
            "no other link end has the counts of {}{} within {} %: the other ends may be missing \
             from the reading, or were read at another time",
            named.join(", "),
            more(lonely.len()),
            percent(self.tolerance)
        )));
        let placed = self.share(
            &lonely,
            |a, b| {
                may_be_joined(a, b) && self.may_lead(&lonely, a, b) && self.may_lead(&lonely, b, a)
            },
            traffic,
            notes,
        );
        if placed {
            notes.push(Note::assumed(SPREAD));
        }
    }

    /// Whether some ends of two devices mirror each other and may be of one link.
    fn could_mirror(&self, ends: &[LinkEnd], a: usize, b: usize) -> bool {
        ends.iter().filter(|end| end.device == a).any(|near| {
            (ends.iter().filter(|end| end.device == b))
                .any(|other| mirror(near, other, self.tolerance) && self.may_be_one(near, other))
        })
    }

    /// Whether some end of a device may lead to another device: the driver names no third one.
    fn may_lead(&self, ends: &[LinkEnd], from: usize, to: usize) -> bool {
        ends.iter().any(|end| {
            end.device == from && self.remote(end).is_none_or(|(device, _)| device == to)
        })
    }

    /// Spreads the bytes of ends over the devices that may talk, and notes bytes that no device can
    /// have received. Returns whether anything was spread.
    fn share(
        &self,
        ends: &[LinkEnd],
        may_talk: impl Fn(usize, usize) -> bool,
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) -> bool {
        let mut sent = vec![0.0; self.seen.len()];
        let mut received = sent.clone();
        for end in ends {
            for (sums, bytes) in [(&mut sent, end.sent), (&mut received, end.received)] {
                if let Some(sum) = sums.get_mut(end.device) {
                    *sum += bytes;
                }
            }
        }
        let matrix = spread(&sent, &received, may_talk);
        let mut placed = false;
        for (from, row) in matrix.iter().enumerate() {
            for (to, sum) in row.iter().enumerate().filter(|(_, sum)| **sum > 0.0) {
                traffic.add(from, to, *sum);
                placed = true;
            }
        }
        let mut lost: Vec<usize> = Vec::new();
        let mut lost_bytes = 0.0;
        for ((device, row), sent) in (0..).zip(&matrix).zip(&sent) {
            if *sent > 0.0 && row.iter().sum::<f64>() == 0.0 {
                lost.push(device);
                lost_bytes += sent;
            }
        }
        if !lost.is_empty() || !placed && !ends.is_empty() {
            let what = if lost.is_empty() {
                "traffic that was only received".to_owned()
            } else {
                format!("{} sent by {}", bytes(lost_bytes), self.names(lost))
            };
            notes.push(Note::left_out(format!(
                "{what}: no device in the reading could have been its peer"
            )));
        }
        placed
    }
}

/// Whether a word is the number, the name or the UUID of a device.
fn is_named(seen: &CountedDevice, word: &str) -> bool {
    let uuid = seen.uuid.as_deref();
    word.parse() == Ok(seen.number)
        || seen.name.eq_ignore_ascii_case(word)
        || uuid.is_some_and(|uuid| uuid.eq_ignore_ascii_case(word))
}

/// The ends at these places.
fn pick(ends: &[LinkEnd], places: &[usize]) -> Vec<LinkEnd> {
    let ends = places.iter().filter_map(|at| ends.get(*at));
    ends.cloned().collect()
}

/// ` and 3 more`, if a list is longer than the part of it that is named.
fn more(all: usize) -> String {
    match all.saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    }
}

/// The words of a name that denote a model: `V100` in `Tesla V100-SXM2-16GB`.
fn models(name: &str) -> BTreeSet<String> {
    name.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| is_model(word))
        .map(str::to_ascii_uppercase)
        .collect()
}

/// Whether a word is one or two letters, two to four digits, and perhaps one letter more.
fn is_model(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let rest = word.bytes().skip(letters);
    let digits = rest.take_while(u8::is_ascii_digit).count();
    (1..=2).contains(&letters) && (2..=4).contains(&digits) && word.len() <= letters + digits + 1
}

/// Whether a dump has link switches.
fn has_switches(dump: &Dump) -> bool {
    dump.machine
        .fabric
        .nodes()
        .any(|(_, node)| matches!(node.kind, NodeKind::LinkSwitch))
}

/// Adds the bytes of links to the traffic. Both ends count each direction; the larger count holds.
fn add(ends: &[LinkEnd], pairs: &[(usize, usize)], traffic: &mut TrafficMatrix) {
    for (a, b) in pairs {
        if let (Some(a), Some(b)) = (ends.get(*a), ends.get(*b)) {
            traffic.add(a.device, b.device, a.sent.max(b.received));
            traffic.add(b.device, a.device, b.sent.max(a.received));
        }
    }
}
