//! Who is at the other ends of links.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{DeviceId, HardwareGraph, LinkClass, NodeKind};
use mapa_topologies::Dump;

use super::mirrors::{Mirrored, Rules, mirror, mirrored};
use super::outside::{Partly, partly};
use super::reading::{End, Seen};
use super::spread::spread;
use super::{Counters, bytes, of_graph, percent};
use crate::application::Note;
use crate::error::Error;
use crate::traffic::TrafficMatrix;

/// Links that a note names, of many.
const NAMED: usize = 8;
const SPREAD: &str = "their traffic is spread over all pairs that could be joined, as evenly as what each device sent and \
    received allows (greatest entropy)";

/// A device, and the number of one of its links.
type Port = (usize, u32);

/// The device at the other end of a link, and the number of the link there.
type Remote = (usize, Option<u32>);

/// What is known of the other ends.
pub(super) struct Peers<'a> {
    seen: &'a [Seen],
    graph: Option<&'a HardwareGraph>,
    /// The machine's device, by that of the reading.
    ids: Vec<Option<DeviceId>>,
    /// By device and link.
    remotes: BTreeMap<(usize, u32), Remote>,
    /// Devices and links whose other ends are said to be of devices that were not read.
    elsewhere: BTreeSet<(usize, u32)>,
    /// The links go to switches, so that everybody can talk to everybody.
    switched: bool,
    tolerance: f64,
}

impl<'a> Peers<'a> {
    pub(super) fn new(counters: &Counters<'a>) -> Result<Self, Error> {
        let (seen, graph) = (&counters.after.devices[..], counters.machine);
        let mut ids = vec![None; seen.len()];
        if let Some(graph) = graph {
            for (id, seen) in ids.iter_mut().zip(seen) {
                let own = of_graph(graph, seen.number, seen.uuid.as_deref());
                let lacks = || Error::new(format!("{} is not in the machine: expected that of the reading", seen.name));
                *id = Some(own.ok_or_else(lacks)?);
            }
        }
        let port = |id: &Option<DeviceId>| Some(graph?.devices().get((*id)?.index())?.switch_port.is_some());
        let linked = ids.iter().zip(seen).filter(|(_, seen)| !seen.links.is_empty());
        let by_graph =
            graph.is_some() && linked.clone().next().is_some() && linked.clone().all(|(id, _)| port(id) == Some(true));
        let by_remotes = counters.remotes.is_some_and(has_switches);
        let (remotes, elsewhere, switched) = (BTreeMap::new(), BTreeSet::new(), by_graph || by_remotes);
        let mut peers = Self { seen, graph, ids, remotes, elsewhere, switched, tolerance: counters.tolerance };
        if let Some(dump) = counters.remotes {
            (peers.remotes, peers.elsewhere) = peers.told(dump)?;
        }
        Ok(peers)
    }

    /// What the dump tells of other ends; addresses that are no device's tell nothing.
    fn told(&self, dump: &Dump) -> Result<(BTreeMap<Port, Remote>, BTreeSet<Port>), Error> {
        let infos: Vec<_> = dump
            .machine
            .fabric
            .nodes()
            .filter_map(|(_, node)| match &node.kind {
                NodeKind::Device(info) => Some(info),
                _ => None,
            })
            .collect();
        if dump.ports.iter().all(|port| port.remote.is_none()) {
            return Err(Error::new("no other ends of links: expected what `nvidia-smi nvlink -R` or `-p` prints"));
        }
        // Which device of the reading each of the dump is.
        let own = |(id, info): (usize, &&mapa_core::DeviceInfo)| {
            let same_uuid = |seen: &Seen| info.uuid.is_some() && seen.uuid == info.uuid;
            let number = info.index.unwrap_or(id as u32);
            let differ = |seen: &Seen| info.uuid.is_some() && seen.uuid.is_some();
            let by_number = || self.seen.iter().position(|seen| seen.number == number && !differ(seen));
            self.seen.iter().position(same_uuid).or_else(by_number)
        };
        let places: Vec<Option<usize>> = infos.iter().enumerate().map(own).collect();
        let at = |address: &str| {
            let by_dump = infos.iter().position(|info| info.pci.as_deref() == Some(address));
            let by_dump = by_dump.and_then(|id| places.get(id).copied().flatten());
            let id = || self.graph?.find(address).ok();
            by_dump.or_else(|| id().and_then(|id| self.ids.iter().position(|own| *own == Some(id))))
        };
        let remote = |port: &mapa_topologies::Port| {
            let (address, link) = port.remote.as_ref()?;
            let device = places.get(port.device.index()).copied().flatten()?;
            Some(((device, port.link), (at(address)?, *link)))
        };
        let is_device = |address: &str| {
            infos.iter().any(|info| info.pci.as_deref() == Some(address))
                || self.graph.is_some_and(|graph| graph.find(address).is_ok())
        };
        let elsewhere = |port: &mapa_topologies::Port| {
            let (address, _) = port.remote.as_ref()?;
            let device = places.get(port.device.index()).copied().flatten()?;
            (at(address).is_none() && is_device(address)).then_some((device, port.link))
        };
        Ok((dump.ports.iter().filter_map(remote).collect(), dump.ports.iter().filter_map(elsewhere).collect()))
    }

    /// The device of the reading that a word means.
    pub(super) fn find(&self, word: &str) -> Result<usize, Error> {
        let lacks = || {
            Error::new(format!(
                "--devices {word}: device `{word}` is not in the reading: expected one of {}",
                self.all()
            ))
        };
        if let Some(graph) = self.graph {
            let id = graph.find(word).map_err(|error| Error::new(format!("--devices {word}: {error}")))?;
            return self.ids.iter().position(|own| *own == Some(id)).ok_or_else(lacks);
        }
        let (word, number) = (word.trim(), word.trim().parse::<u32>().ok());
        let is = |seen: &Seen| {
            number == Some(seen.number)
                || seen.name.eq_ignore_ascii_case(word)
                || seen.uuid.as_deref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(word))
        };
        self.seen.iter().position(is).ok_or_else(lacks)
    }

    fn all(&self) -> String {
        self.seen.iter().map(|seen| seen.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// What a device is called: by the machine, if there is one.
    pub(super) fn name(&self, device: usize) -> String {
        let id = self.ids.get(device).copied().flatten();
        let of_graph = id.and_then(|id| self.graph?.devices().get(id.index())).map(|device| device.name.clone());
        of_graph.or_else(|| self.seen.get(device).map(|seen| seen.name.clone())).unwrap_or_default()
    }

    /// How many direct links join two devices; none if that is not known, or they meet in a switch.
    pub(super) fn links(&self, a: usize, b: usize) -> Option<usize> {
        let graph = self.graph.filter(|_| !self.switched)?;
        let id = |device: usize| self.ids.get(device).copied().flatten();
        match graph.pair(id(a)?, id(b)?).direct.class {
            LinkClass::Direct(links) => Some(usize::from(links)),
            _ => Some(0),
        }
    }

    fn remote(&self, end: &End) -> Option<Remote> {
        self.remotes.get(&(end.device, end.link)).copied()
    }

    /// Whether these are said to be the ends of one link.
    pub(super) fn are_one(&self, a: &End, b: &End) -> bool {
        self.remote(a) == Some((b.device, Some(b.link))) || self.remote(b) == Some((a.device, Some(a.link)))
    }

    /// Whether nothing that is said forbids that these are the ends of one link.
    fn may_be_one(&self, a: &End, b: &End) -> bool {
        let fits = |own: &End, other: &End| {
            self.remote(own)
                .is_none_or(|(device, link)| device == other.device && link.is_none_or(|link| link == other.link))
        };
        fits(a, b) && fits(b, a)
    }

    /// Adds what went over links to the traffic of the devices that they join.
    pub(super) fn join(&self, ends: &[End], traffic: &mut TrafficMatrix, notes: &mut Vec<Note>) {
        let is_elsewhere = |end: &&End| self.elsewhere.contains(&(end.device, end.link));
        let (out, ends): (Vec<&End>, Vec<&End>) = ends.iter().partition(is_elsewhere);
        let (out, ends): (Vec<End>, Vec<End>) =
            (out.into_iter().cloned().collect(), ends.into_iter().cloned().collect());
        let ends = &ends[..];
        if !out.is_empty() {
            notes.push(self.left_out(&out));
        }
        let said = self.said(ends, notes);
        let used: BTreeSet<usize> = said.iter().flat_map(|(a, b)| [*a, *b]).collect();
        said.iter().for_each(|pair| add(ends, *pair, traffic));
        let rest: Vec<End> = (0..).zip(ends).filter(|(at, _)| !used.contains(at)).map(|(_, end)| end.clone()).collect();
        if self.switched {
            let what = "the links lead to switches, so who talked to whom is not counted: all-to-all of the devices with \
                        traffic, as evenly as what each sent and received allows (greatest entropy)";
            if !rest.is_empty() {
                notes.push(Note::assumed(what));
            }
            self.share(&rest, |_, _| true, traffic, notes);
            return;
        }
        let mut taken: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (a, b) in said.iter().filter_map(|(a, b)| Some((ends.get(*a)?, ends.get(*b)?))) {
            *taken.entry((a.device.min(b.device), a.device.max(b.device))).or_default() += 1;
        }
        let left = |a: usize, b: usize| {
            self.links(a, b).map(|links| links.saturating_sub(taken.get(&(a, b)).copied().unwrap_or_default()))
        };
        let may_join = |a: usize, b: usize| rest.get(a).zip(rest.get(b)).is_some_and(|(a, b)| self.may_be_one(a, b));
        let rules = Rules { may_join: &may_join, links: &left, tolerance: self.tolerance };
        if (0..self.seen.len()).any(|device| self.outside(device) > 0) {
            let found = partly(&rest, &rules, &|device| self.outside(device));
            found.pairs.iter().for_each(|pair| add(&rest, *pair, traffic));
            self.tell_outside(&rest, &found, notes);
            return;
        }
        let found = mirrored(&rest, &rules);
        found.pairs.iter().for_each(|pair| add(&rest, *pair, traffic));
        self.tell(&rest, &found, notes);
        self.spread_out(&rest, &found, &rules, traffic, notes);
    }

    /// The ends of links of which both are told, and notes of those that disagree.
    fn said(&self, ends: &[End], notes: &mut Vec<Note>) -> Vec<(usize, usize)> {
        let mut used = BTreeSet::new();
        let mut said = Vec::new();
        for (a, own) in ends.iter().enumerate() {
            for (b, other) in ends.iter().enumerate().skip(a + 1) {
                if !self.are_one(own, other) || own.device == other.device || used.contains(&a) || used.contains(&b) {
                    continue;
                }
                used.extend([a, b]);
                said.push((a, b));
                if !mirror(own, other, self.tolerance) {
                    let count = |end: &End| {
                        format!("{} sent {} and received {}", self.end(end), bytes(end.sent), bytes(end.received))
                    };
                    let what = format!("the ends of a link disagree by more than {} %", percent(self.tolerance));
                    let what = format!("{what}: {}, {}; what either counted more is taken", count(own), count(other));
                    notes.push(Note::undecided(what));
                }
            }
        }
        said
    }

    fn end(&self, end: &End) -> String {
        format!("{} link {}", self.name(end.device), end.link)
    }

    /// What would tell more.
    fn advice(&self) -> &'static str {
        if self.remotes.is_empty() { "; what `nvidia-smi nvlink -R` prints would tell (--remotes)" } else { "" }
    }

    /// How many links of the machine join a device to devices that were not read.
    fn outside(&self, device: usize) -> usize {
        self.links_of(device, |id| !self.ids.contains(&Some(id)))
    }

    /// How many direct links join a device to the devices of the machine that are wanted; none behind switches.
    fn links_of(&self, device: usize, wanted: impl Fn(DeviceId) -> bool) -> usize {
        let (Some(graph), Some(own)) = (self.graph, self.ids.get(device).copied().flatten()) else { return 0 };
        let others = graph.wholes();
        let links = |id: DeviceId| match graph.pair(own, id).direct.class {
            LinkClass::Direct(links) => usize::from(links),
            _ => 0,
        };
        others.iter().filter(|id| *id != own && wanted(*id)).map(links).sum()
    }

    /// Says where the machine does not look like that of the reading.
    pub(super) fn compare(&self, title: Option<&str>, notes: &mut Vec<Note>) {
        let Some(graph) = self.graph else { return };
        let product = |(at, seen): (usize, &Seen)| {
            let of_graph = graph.devices().get(self.ids.get(at).copied().flatten()?.index())?.product.as_deref();
            let of_graph = of_graph.or(title)?;
            let read = seen.product.as_deref()?;
            let (own, machines) = (models(read), models(of_graph));
            let differ = !own.is_empty() && !machines.is_empty() && own.is_disjoint(&machines);
            differ.then(|| format!("{} is a {read}, the machine's: {of_graph}", seen.name))
        };
        let links = |(at, seen): (usize, &Seen)| {
            let (read, of_graph) = (seen.links.len(), self.links_of(at, |_| true));
            let differ = !self.switched && read > 0 && read != of_graph;
            differ.then(|| format!("{} has {read} links, the machine's {of_graph}", seen.name))
        };
        for what in [self.seen.iter().enumerate().find_map(product), self.seen.iter().enumerate().find_map(links)] {
            let what = what.map(|what| format!("the machine is that of the reading, although {what}"));
            notes.extend(what.map(Note::assumed));
        }
    }

    /// Ends, and what their busier directions carried.
    fn list(&self, ends: &[End]) -> String {
        let count = |end: &End| format!("{} ({})", self.end(end), bytes(end.busier()));
        let named = ends.iter().take(NAMED).map(count).collect::<Vec<_>>().join(", ");
        let rest = ends.len().saturating_sub(NAMED);
        if rest > 0 { format!("{named} and {rest} more") } else { named }
    }

    fn left_out(&self, ends: &[End]) -> Note {
        let sum: f64 = ends.iter().map(End::busier).sum();
        let what = "traffic with devices that were not read";
        Note::left_out(format!("{what}, {} in all: {}", bytes(sum), self.list(ends)))
    }

    /// Says what could not be joined to devices that were read, and what was joined in one way of several.
    fn tell_outside(&self, ends: &[End], found: &Partly, notes: &mut Vec<Note>) {
        let pick = |places: &[usize]| -> Vec<End> { places.iter().filter_map(|at| ends.get(*at)).cloned().collect() };
        if !found.doubtful.is_empty() {
            let places: Vec<usize> = found.doubtful.iter().flat_map(|(a, b)| [*a, *b]).collect();
            notes.push(Note::undecided(format!(
                "more than one assignment fits, to devices that were read and others: {} are joined, as many as the machine has links{}",
                self.list(&pick(&places)),
                self.advice()
            )));
        }
        if !found.open.is_empty() {
            notes.push(self.left_out(&pick(&found.open)));
        }
        if !found.spared.is_empty() {
            let pair = |(a, b): &(usize, usize)| format!("{} and {}", self.name(*a), self.name(*b));
            let pairs = found.spared.iter().take(NAMED).map(pair).collect::<Vec<_>>().join("; ");
            notes.push(Note::undecided(format!(
                "a part of what is left out could have gone over links between {pairs}{}",
                self.advice()
            )));
        }
        let lacks = |device: &usize| {
            let open = found.open.iter().filter_map(|at| ends.get(*at)).filter(|end| end.device == *device);
            open.count() > self.outside(*device)
        };
        let lacking = (0..self.seen.len()).filter(lacks).map(|device| self.name(device)).collect::<Vec<_>>().join(", ");
        if !lacking.is_empty() {
            notes.push(Note::undecided(format!(
                "{lacking} have more such links than lead to devices that were not read: no other end that was read counted the same within {} %, perhaps as they were read at different times",
                percent(self.tolerance)
            )));
        }
    }

    /// Says which links were found by their counters, if nothing else is known.
    fn tell(&self, ends: &[End], found: &Mirrored, notes: &mut Vec<Note>) {
        if self.graph.is_some() || found.pairs.is_empty() {
            return;
        }
        let named = found.pairs.iter().take(NAMED).filter_map(|(a, b)| {
            let (a, b) = (ends.get(*a)?, ends.get(*b)?);
            Some(format!("{} and {}", self.end(a), self.end(b)))
        });
        let named = named.collect::<Vec<_>>().join("; ");
        let rest = found.pairs.len().saturating_sub(NAMED);
        let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        let at = if found.at > 0.0 { format!(" within {} %", percent(found.at)) } else { String::new() };
        let what = format!("inferred from counters that mirror each other{at}, without the machine: {named}{rest}");
        notes.push(Note::assumed(what));
    }

    /// The traffic of ends whose peers did not follow.
    fn spread_out(
        &self,
        ends: &[End],
        found: &Mirrored,
        rules: &Rules<'_>,
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) {
        let pick = |places: &[usize]| -> Vec<End> { places.iter().filter_map(|at| ends.get(*at)).cloned().collect() };
        let joined = |a: usize, b: usize| (rules.links)(a.min(b), a.max(b)) != Some(0);
        let unclear = pick(&found.unclear);
        if !unclear.is_empty() {
            let devices: BTreeSet<usize> = unclear.iter().map(|end| end.device).collect();
            let devices = devices.into_iter().map(|device| self.name(device)).collect::<Vec<_>>().join(", ");
            notes.push(Note::undecided(format!(
                "more than one assignment of {} link ends of {devices} to peers fits what they counted{}",
                unclear.len(),
                self.advice()
            )));
            let could = |a: usize, b: usize| {
                let of = |device: usize| unclear.iter().filter(move |end| end.device == device);
                joined(a, b)
                    && of(a)
                        .any(|own| of(b).any(|other| mirror(own, other, self.tolerance) && self.may_be_one(own, other)))
            };
            if self.share(&unclear, could, traffic, notes) {
                notes.push(Note::assumed(SPREAD));
            }
        }
        let lonely = pick(&found.lonely);
        if lonely.is_empty() {
            return;
        }
        let named = lonely.iter().take(NAMED).map(|end| self.end(end)).collect::<Vec<_>>().join(", ");
        let rest = lonely.len().saturating_sub(NAMED);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        notes.push(Note::undecided(format!(
            "no other end counted within {} % what {named}{rest} did: the other ends may not be in the reading, or were read \
             at another time",
            percent(self.tolerance)
        )));
        let known = |end: &End, other: usize| self.remote(end).is_none_or(|(device, _)| device == other);
        let could = |a: usize, b: usize| {
            let of = |device: usize| lonely.iter().filter(move |end| end.device == device);
            joined(a, b) && of(a).any(|end| known(end, b)) && of(b).any(|end| known(end, a))
        };
        if self.share(&lonely, could, traffic, notes) {
            notes.push(Note::assumed(SPREAD));
        }
    }

    /// Spreads what ends carried over the devices that may have talked, and notes what nobody could have received; whether
    /// anything was spread.
    fn share(
        &self,
        ends: &[End],
        may_talk: impl Fn(usize, usize) -> bool,
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) -> bool {
        let sums = |direction: fn(&End) -> f64| -> Vec<f64> {
            let own =
                |device| ends.iter().filter(|end| end.device == device).map(direction).fold(0.0, |sum, own| sum + own);
            (0..self.seen.len()).map(own).collect()
        };
        let (sent, received) = (sums(|end| end.sent), sums(|end| end.received));
        let matrix = spread(&sent, &received, may_talk);
        let mut placed = 0;
        for (from, row) in matrix.iter().enumerate() {
            for (to, sum) in row.iter().enumerate().filter(|(_, sum)| **sum > 0.0) {
                traffic.add(from, to, *sum);
                placed += 1;
            }
        }
        let lost = |device: &usize| {
            let row = matrix.get(*device).map(|row| row.iter().sum::<f64>()).unwrap_or_default();
            sent.get(*device).is_some_and(|sent| *sent > 0.0) && row == 0.0
        };
        let lost: Vec<usize> = (0..self.seen.len()).filter(lost).collect();
        if !lost.is_empty() || placed == 0 && !ends.is_empty() {
            let sum: f64 = lost.iter().filter_map(|device| sent.get(*device)).sum();
            let names = lost.iter().map(|device| self.name(*device)).collect::<Vec<_>>().join(", ");
            let names = if names.is_empty() {
                "what was received only".to_owned()
            } else {
                format!("{} sent by {names}", bytes(sum))
            };
            notes.push(Note::left_out(format!("{names}: no device in the reading could have been its peer")));
        }
        placed > 0
    }
}

/// The words of a name that tell models: `V100` of `Tesla V100-SXM2-16GB`.
fn models(name: &str) -> BTreeSet<String> {
    let is_model = |word: &&str| {
        let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
        let digits = word.bytes().skip(letters).take_while(u8::is_ascii_digit).count();
        (1..=2).contains(&letters) && (2..=4).contains(&digits) && word.len() <= letters + digits + 1
    };
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(is_model).map(str::to_ascii_uppercase).collect()
}

fn has_switches(dump: &Dump) -> bool {
    dump.machine.fabric.nodes().any(|(_, node)| matches!(node.kind, NodeKind::LinkSwitch))
}

/// Adds what went over one link. Each direction is counted at both ends; the larger counts.
fn add(ends: &[End], (a, b): (usize, usize), traffic: &mut TrafficMatrix) {
    if let (Some(a), Some(b)) = (ends.get(a), ends.get(b)) {
        traffic.add(a.device, b.device, a.sent.max(b.received));
        traffic.add(b.device, a.device, b.sent.max(a.received));
    }
}
