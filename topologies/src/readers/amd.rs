//! What AMD's tools have in common: matrices of devices, and what follows from the figures in them.
//!
//! The figures come from the kernel's KFD driver. A *weight* counts 20 for each step between a GPU and its processor,
//! the distance of NUMA nodes between processors, 15 for each XGMI link on the way, and 13 for each way inside a
//! partitioned package: so 40 is one NUMA node, 52 or 72 crosses between two, 15 is one XGMI link, 30 a way over
//! another device, 41 a link between partitions of two packages. *Hops* say less: 1 is XGMI however far, 2 one NUMA
//! node, 3 two. A *bandwidth* is "of one link - of all links", in MB/s per direction, so it tells how many links there
//! are; 0 says that there is none.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, Link, LinkClass, MAX_DEVICES, NodeKind};
use serde::de::{Deserialize, Deserializer, Visitor};

use super::pairs::Pairs;
use crate::dump::{HostDetail, PeerAccess, PeerStatus, Says};
use crate::error::Error;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::Labels;

/// What AMD calls direct links.
pub(super) fn labels() -> Labels {
    Labels { direct: "XGMI".to_owned(), ..Labels::default() }
}

/// By what a pair is joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Xgmi,
    Pcie,
    /// The tool does not know.
    Other,
}

impl Wire {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_uppercase().as_str() {
            "XGMI" => Some(Self::Xgmi),
            "PCIE" => Some(Self::Pcie),
            "XXXX" | "UNKNOWN" | "N/A" => Some(Self::Other),
            _ => None,
        }
    }
}

/// The device in this place.
pub(super) fn id(i: usize) -> DeviceId {
    DeviceId(u32::try_from(i).unwrap_or(u32::MAX))
}

/// What a matrix of peer accesses says; `status` knows its words, of which `expected` tells.
pub(super) fn accesses(
    grid: &Grid<'_>,
    expected: &str,
    status: fn(&str) -> Option<PeerStatus>,
) -> Result<Vec<PeerAccess>, Error> {
    let n = grid.labels.len();
    let mut access = Vec::new();
    for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let cell = grid.cell(a, b);
        let place = || format!("row {}, column {}: `{cell}`: expected {expected}", grid.labels[a], grid.labels[b]);
        let status = status(cell).ok_or_else(|| Error::at(grid.lines[a], place()))?;
        access.push(PeerAccess::new(id(a), id(b), status));
    }
    Ok(access)
}

/// What is told of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) weight: Option<u32>,
    pub(super) hops: Option<u32>,
    pub(super) wire: Option<Wire>,
    /// Of one link, and of all: MB/s per direction.
    pub(super) mbps: Option<(u32, u32)>,
}

/// Weight of one XGMI link.
const XGMI_WEIGHT: u32 = 15;
/// Weight of a way inside a partitioned package.
const INSIDE_WEIGHT: u32 = 13;
/// Weight of one XGMI link between partitions of two packages.
const PARTITIONS_WEIGHT: u32 = 2 * INSIDE_WEIGHT + XGMI_WEIGHT;
/// Weight of two steps between a GPU and its processor: one NUMA node.
const NODE_WEIGHT: u32 = 40;

impl Told {
    /// Direct links and GB/s of one, where told. `rates` says whether any pair of the machine has a bandwidth: if so, 0
    /// says that this one has no link.
    pub(super) fn direct(self, rates: bool) -> Option<(u8, Option<f64>)> {
        let one = |weight| [XGMI_WEIGHT, INSIDE_WEIGHT, PARTITIONS_WEIGHT].contains(&weight);
        let over_another = |weight: u32| weight >= 2 * XGMI_WEIGHT && weight.is_multiple_of(XGMI_WEIGHT);
        let near = match (self.wire, self.weight) {
            (Some(Wire::Xgmi), Some(weight)) => !over_another(weight),
            (Some(Wire::Xgmi), None) => true,
            (Some(_), _) => false,
            (None, Some(weight)) => one(weight),
            (None, None) => self.hops == Some(1),
        };
        if !near {
            return None;
        }
        match self.mbps {
            Some((each, all)) if all > 0 => {
                let links =
                    if each > 0 && all.is_multiple_of(each) { u8::try_from(all / each).unwrap_or(1) } else { 1 };
                Some((links, Some(f64::from(all) / 1000.0 / f64::from(links))))
            }
            // The driver has no figure for links between partitions.
            Some(_) if rates && self.weight != Some(PARTITIONS_WEIGHT) => None,
            _ => Some((1, None)),
        }
    }

    /// The path through the host, where weight or hops tell it.
    fn host(self) -> Option<LinkClass> {
        let class = |same| if same { LinkClass::Node } else { LinkClass::Sys };
        let through_host = match (self.wire, self.hops) {
            (Some(Wire::Pcie), _) => true,
            (None, Some(hops)) => hops >= 2,
            (None, None) => self.weight.is_some_and(|weight| weight >= NODE_WEIGHT && weight != PARTITIONS_WEIGHT),
            _ => false,
        };
        match (self.hops, self.weight) {
            (Some(hops), _) if through_host => Some(class(hops <= 2)),
            (None, Some(weight)) if through_host => Some(class(weight <= NODE_WEIGHT)),
            _ => None,
        }
    }
}

/// Devices and what is told of every two of them.
pub(super) struct Matrix {
    pub(super) devices: Vec<DeviceInfo>,
    /// Below the diagonal; empty if nothing is told of any pair.
    told: Vec<Told>,
}

/// A machine put together from a matrix.
pub(super) struct Built {
    pub(super) fabric: Fabric,
    pub(super) says: Says,
    pub(super) notes: Vec<String>,
}

impl Matrix {
    pub(super) fn new(devices: Vec<DeviceInfo>) -> Self {
        Self { devices, told: Vec::new() }
    }

    /// What is told of two different devices, to be added to.
    fn told_mut(&mut self, a: usize, b: usize) -> Option<&mut Told> {
        let n = self.devices.len();
        if self.told.is_empty() {
            self.told = vec![Told::default(); n * n.saturating_sub(1) / 2];
        }
        self.told.get_mut(place(a, b))
    }

    /// Adds what `parse` makes of each pair's cell; the cell must be the same on both sides of the diagonal.
    pub(super) fn fill(
        &mut self,
        grid: &Grid<'_>,
        parse: impl Fn(&mut Told, &str) -> Result<(), String>,
    ) -> Result<(), Error> {
        for b in 0..grid.labels.len() {
            for a in 0..b {
                let (cell, other) = (grid.cell(b, a), grid.cell(a, b));
                let (x, y) = (grid.labels[a], grid.labels[b]);
                if !cell.eq_ignore_ascii_case(other) {
                    let what = format!("row {y}, column {x} has {cell}, but row {x}, column {y} {other}");
                    return Err(Error::at(grid.lines[b], what + ": expected a symmetric matrix"));
                }
                self.add(a, b, |told| parse(told, cell))
                    .map_err(|what| Error::at(grid.lines[b], format!("row {y}, column {x}: {what}")))?;
            }
        }
        Ok(())
    }

    /// Adds to what is told of two different devices.
    pub(super) fn add(
        &mut self,
        a: usize,
        b: usize,
        parse: impl FnOnce(&mut Told) -> Result<(), String>,
    ) -> Result<(), String> {
        self.told_mut(a, b).map_or(Ok(()), parse)
    }

    /// Says what is told of two different devices; what was said before, if anything was.
    pub(super) fn put(&mut self, a: usize, b: usize, told: Told) -> Option<Told> {
        let before = std::mem::replace(self.told_mut(a, b)?, told);
        (before != Told::default()).then_some(before)
    }

    /// Puts the machine together; `each` is what one XGMI link carries, where the product tells it.
    pub(super) fn build(self, each: Option<f64>) -> Result<Built, Error> {
        let Self { devices, mut told } = self;
        if told.iter().all(|told| *told == Told::default()) {
            told.clear();
        }
        let n = devices.len();
        let rates = told.iter().any(|told| told.wire != Some(Wire::Pcie) && told.mbps.is_some_and(|(_, all)| all > 0));
        let direct = |a: usize, b: usize| told.get(place(a, b)).and_then(|told| told.direct(rates));
        let host = |a: usize, b: usize| {
            let told = told.get(place(a, b)).and_then(|told| told.host());
            told.or_else(|| Some(if devices[a].numa? == devices[b].numa? { LinkClass::Node } else { LinkClass::Sys }))
        };
        let summary = Summary::new(n, told.is_empty(), &told, each, (&direct, &host));
        let says = Says {
            every_device: true,
            direct: !told.is_empty() || n == 1,
            direct_gbps: summary.direct > 0 && summary.rateless == 0,
            host: match (summary.pathless, devices.iter().any(|device| device.numa.is_some())) {
                (0, _) if !told.is_empty() => HostDetail::Classes,
                (_, true) => HostDetail::Numa,
                _ => HostDetail::Nothing,
            },
            host_gbps: false,
        };
        let ends = devices.iter().enumerate().map(|(id, info)| device(id, info.clone())).collect();
        let fabric = Pairs {
            ends,
            devices: n,
            direct: |a, b| direct(a, b).map(|(links, told)| (links, told.or(each).unwrap_or(ASSUMED_DIRECT_GBPS))),
            host: |a, b| {
                let class = host(a, b).unwrap_or(LinkClass::Sys);
                (!told.is_empty()).then_some(Link { class, gbps: ASSUMED_HOST_GBPS })
            },
            most_links: None,
        }
        .fabric()?;
        Ok(Built { fabric, says, notes: summary.notes() })
    }
}

/// Where a pair stands below the diagonal.
fn place(a: usize, b: usize) -> usize {
    let (low, high) = (a.min(b), a.max(b));
    high * high.saturating_sub(1) / 2 + low
}

/// A device by its vendor's number, which is left out where it is the id.
pub(super) fn device(id: usize, info: DeviceInfo) -> FabricNode {
    let index = info.index.unwrap_or(u32::try_from(id).unwrap_or(u32::MAX));
    let info = DeviceInfo { index: Some(index).filter(|&index| index as usize != id), ..info };
    FabricNode { name: format!("GPU{index}"), kind: NodeKind::Device(info) }
}

/// Partitions of one device may share what should tell devices apart: then none of them has it.
pub(super) fn told_apart(mut devices: Vec<DeviceInfo>) -> Vec<DeviceInfo> {
    fn shared(devices: &[DeviceInfo], of: fn(&DeviceInfo) -> &Option<String>) -> HashSet<String> {
        let mut seen = HashSet::new();
        devices.iter().filter_map(|device| of(device).as_ref()).filter(|id| !seen.insert(*id)).cloned().collect()
    }
    let (addresses, uuids) = (shared(&devices, |device| &device.pci), shared(&devices, |device| &device.uuid));
    for device in &mut devices {
        device.pci = device.pci.take().filter(|address| !addresses.contains(address));
        device.uuid = device.uuid.take().filter(|uuid| !uuids.contains(uuid));
    }
    devices
}

/// What must be known of a machine that a matrix describes.
#[derive(Default)]
struct Summary {
    /// Pairs with direct links, and those of them of which neither the number nor the rate is told.
    direct: usize,
    uncounted: usize,
    rateless: usize,
    /// Pairs over other devices' links.
    far: usize,
    /// Pairs of whose host path nothing is told.
    pathless: usize,
    nothing: bool,
}

impl Summary {
    fn new(
        n: usize,
        nothing: bool,
        told: &[Told],
        each: Option<f64>,
        (direct, host): (
            &impl Fn(usize, usize) -> Option<(u8, Option<f64>)>,
            &impl Fn(usize, usize) -> Option<LinkClass>,
        ),
    ) -> Self {
        let mut summary = Self { nothing, ..Self::default() };
        if nothing {
            return summary;
        }
        for b in 0..n {
            for a in 0..b {
                let pair = direct(a, b);
                summary.direct += usize::from(pair.is_some());
                summary.uncounted += usize::from(matches!(pair, Some((_, None))));
                summary.rateless += usize::from(matches!(pair, Some((_, None)) if each.is_none()));
                let wire = told.get(place(a, b)).and_then(|told| told.wire);
                summary.far += usize::from(pair.is_none() && wire == Some(Wire::Xgmi));
                summary.pathless += usize::from(host(a, b).is_none());
            }
        }
        summary
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.nothing {
            return notes;
        }
        if self.uncounted > 0 {
            notes.push("The text does not say how many XGMI links join a pair: one is counted.".to_owned());
        }
        if self.rateless > 0 {
            notes.push(format!("It gives XGMI no bandwidth: unless set, a link counts {ASSUMED_DIRECT_GBPS} GB/s."));
        }
        if self.far > 0 {
            notes.push("Pairs that XGMI joins only over other devices count as not joined directly.".to_owned());
        }
        notes.push(format!("Host paths count {ASSUMED_HOST_GBPS} GB/s each, unless set."));
        if self.pathless > 0 {
            notes
                .push("Host paths of which the text says nothing are taken for the worst, between sockets.".to_owned());
        }
        notes
    }
}

/// A square table of cells under a header of devices.
pub(super) struct Grid<'t> {
    /// The header's line.
    pub(super) line: usize,
    pub(super) labels: Vec<&'t str>,
    /// The rows' lines.
    pub(super) lines: Vec<usize>,
    /// The devices' PCI addresses, if the table has a column of them.
    pub(super) addresses: Vec<&'t str>,
    /// Whether the header has lost the spaces before its first column.
    pub(super) is_collapsed: bool,
    has_addresses: bool,
    cells: Vec<&'t str>,
}

impl<'t> Grid<'t> {
    /// The table in these lines; `is_label` knows what stands for a device. Other lines in it (warnings of the tool)
    /// are passed over.
    pub(super) fn read(
        title: usize,
        lines: &'t [(usize, Cow<'t, str>)],
        is_label: fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut grid: Option<Self> = None;
        let mut last = title;
        for (line, text) in lines {
            let mut words: Vec<&str> = words(text).collect();
            if words.is_empty() {
                continue;
            }
            if let Some(grid) = &mut grid {
                if is_label(words[0]) {
                    last = *line;
                    grid.read_row(*line, words, is_label)?;
                }
                continue;
            }
            let has_addresses = words[0].eq_ignore_ascii_case("bdf");
            words.drain(..usize::from(has_addresses));
            if !words.is_empty() && words.iter().all(|word| is_label(word)) {
                last = *line;
                grid = Some(Self::with_header(*line, words, text, has_addresses)?);
            }
        }
        let Some(grid) = grid else {
            return Err(Error::at(title, "no header follows: expected a line with the names of the devices"));
        };
        if let Some(missing) = grid.labels.get(grid.lines.len()) {
            let what = format!("the matrix ends, but row {missing} is missing: expected a row for every column");
            return Err(Error::at(last, what));
        }
        Ok(grid)
    }

    fn with_header(line: usize, labels: Vec<&'t str>, text: &str, has_addresses: bool) -> Result<Self, Error> {
        if labels.len() > MAX_DEVICES {
            return Err(Error::at(line, format!("{} devices: expected at most {MAX_DEVICES}", labels.len())));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = labels.iter().find(|label| !seen.insert(**label)) {
            return Err(Error::at(line, format!("two columns are called {twice}: expected each once")));
        }
        let is_collapsed = !has_addresses && text.starts_with(labels[0]);
        Ok(Self {
            line,
            labels,
            lines: Vec::new(),
            addresses: Vec::new(),
            is_collapsed,
            has_addresses,
            cells: Vec::new(),
        })
    }

    fn read_row(&mut self, line: usize, words: Vec<&'t str>, is_label: fn(&str) -> bool) -> Result<(), Error> {
        let n = self.labels.len();
        let Some(expected) = self.labels.get(self.lines.len()) else {
            if words.iter().all(|word| is_label(word)) {
                return Err(Error::at(line, "a second header follows: expected one matrix under each title"));
            }
            return Err(Error::at(line, format!("row {} has no column of that name in the header", words[0])));
        };
        let mut words = words.into_iter();
        let label = words.next().unwrap_or_default();
        if label != *expected {
            return Err(Error::at(line, format!("row {label}: expected row {expected}, in the order of the columns")));
        }
        if self.has_addresses {
            self.addresses.push(words.next().unwrap_or_default());
        }
        if words.len() != n {
            return Err(Error::at(line, format!("row {label} has {} cells: expected {n}", words.len())));
        }
        self.cells.extend(words);
        self.lines.push(line);
        Ok(())
    }

    /// The cell in row `a`, column `b`.
    pub(super) fn cell(&self, a: usize, b: usize) -> &'t str {
        self.cells.get(a * self.labels.len() + b).copied().unwrap_or_default()
    }

    /// That this table is of the same devices as another.
    pub(super) fn same_devices(&self, as_in: &[&str]) -> Result<(), Error> {
        if self.labels == as_in {
            return Ok(());
        }
        let what = format!("the columns are {}, but those above {}", self.labels.join(" "), as_in.join(" "));
        Err(Error::at(self.line, what + ": expected the same devices"))
    }
}

/// The words of a line, without what draws tables around them.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || c == '|' || c == '*').filter(|word| !word.is_empty())
}

/// `GPU7` is 7.
pub(super) fn gpu_number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("GPU").or_else(|| word.strip_prefix("gpu"))?;
    let is_number = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// `min-max` in MB/s; none for `N/A` and the like. None at all if it is neither.
pub(super) fn bandwidth(cell: &str) -> Option<Option<(u32, u32)>> {
    if cell.eq_ignore_ascii_case("N/A") || cell == "0" {
        return Some(None);
    }
    let (each, all) = cell.split_once('-')?;
    Some(Some((each.trim().parse().ok()?, all.trim().parse().ok()?)))
}

/// The cell as a number, or what is wrong with it.
pub(super) fn number(cell: &str) -> Result<u32, String> {
    cell.parse().map_err(|_| format!("`{cell}`: expected a number"))
}

/// A number that a tool prints for "not known" (-1 in several widths) is none.
pub(super) fn numa(text: &str) -> Result<Option<u32>, String> {
    let value: i64 = text.trim().parse().map_err(|_| format!("`{text}`: expected the number of a NUMA node"))?;
    Ok(u32::try_from(value).ok().filter(|&numa| numa < u32::from(u16::MAX)))
}

/// A JSON text of this form, after lines of warnings that the tool may have printed first.
pub(super) fn json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Error> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(['[', '{']) {
            break;
        }
        start += line.len();
    }
    let before = text[..start].bytes().filter(|&b| b == b'\n').count();
    serde_json::from_str(&text[start..]).map_err(|error| {
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        Error::at(before + error.line().max(1), format!("{what}: expected the whole JSON that the tool prints"))
    })
}

/// Whether a text is JSON, perhaps after lines of warnings: some line begins an object or a list.
pub(super) fn is_json(text: &str) -> bool {
    text.lines().take(100).any(|line| line.starts_with(['[', '{']))
}

/// A value of JSON that tools write as number or text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar(pub(super) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar("N/A".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(wire: Option<Wire>, weight: Option<u32>, hops: Option<u32>, mbps: Option<(u32, u32)>) -> Told {
        Told { weight, hops, wire, mbps }
    }

    #[test]
    fn weights_hops_and_bandwidths_mean_what_the_driver_means() {
        let xgmi = |weight, mbps| told(Some(Wire::Xgmi), weight, Some(1), mbps);
        assert_eq!(xgmi(Some(15), Some((50_000, 200_000))).direct(true), Some((4, Some(50.0))));
        assert_eq!(xgmi(Some(15), Some((0, 0))).direct(true), None);
        assert_eq!(xgmi(Some(15), Some((0, 0))).direct(false), Some((1, None)));
        assert_eq!(xgmi(Some(41), Some((0, 0))).direct(true), Some((1, None)));
        assert_eq!(xgmi(Some(30), None).direct(false), None);
        assert_eq!(xgmi(None, None).direct(false), Some((1, None)));
        assert_eq!(told(None, Some(15), None, None).direct(false), Some((1, None)));
        assert_eq!(told(None, None, Some(1), None).direct(false), Some((1, None)));
        for (weight, hops, class) in [(40, 2, LinkClass::Node), (52, 3, LinkClass::Sys), (72, 3, LinkClass::Sys)] {
            for pcie in [Some(Wire::Pcie), None] {
                assert_eq!(told(pcie, Some(weight), None, None).host(), Some(class));
                assert_eq!(told(pcie, None, Some(hops), None).host(), Some(class));
                assert_eq!(told(pcie, Some(weight), Some(hops), None).direct(false), None);
            }
        }
        assert_eq!(xgmi(Some(15), None).host(), None);
    }

    #[test]
    fn bandwidths_and_numbers_are_read_or_not() {
        assert_eq!(bandwidth("50000-100000"), Some(Some((50_000, 100_000))));
        assert_eq!((bandwidth("N/A"), bandwidth("0-0"), bandwidth("fast")), (Some(None), Some(Some((0, 0))), None));
        assert_eq!(
            (gpu_number("GPU17"), gpu_number("GPU"), gpu_number("GPU+1"), gpu_number("CPU1")),
            (Some(17), None, None, None)
        );
        assert_eq!((numa("3"), numa("-1"), numa("4294967295")), (Ok(Some(3)), Ok(None), Ok(None)));
        assert!(numa("x").is_err());
    }
}
