//! Common parts of the readers for AMD's tools: matrices of devices, and the meaning of their
//! figures.
//!
//! The figures come from the kernel's KFD driver.
//!
//! - A *weight* adds up 20 for each step between a GPU and its processor, the NUMA distance between
//!   processors, 15 for each XGMI link, and 13 for each step inside a partitioned package. So 40 is
//!   a path within one NUMA node, 52 or 72 a path between two, 15 one XGMI link, 30 a path over
//!   another device, and 41 a link between partitions of two packages.
//! - *Hops* are coarser: 1 is XGMI at any distance, 2 a path within one NUMA node, 3 a path between
//!   two.
//! - A *bandwidth* is "of one link - of all links", in MB/s per direction, so it gives the number
//!   of links; 0 means no link.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, Link, LinkClass, MAX_DEVICES, NodeKind};
use serde::de::{Deserialize, Deserializer, Visitor};

use super::pairs::PairLinks;
use crate::dump::{HostDetail, PeerAccess, PeerStatus, Says};
use crate::error::Error;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};

/// The kind of link between two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmdLink {
    Xgmi,
    Pcie,
    /// Unknown to the tool.
    Other,
}

impl AmdLink {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_uppercase().as_str() {
            "XGMI" => Some(Self::Xgmi),
            "PCIE" => Some(Self::Pcie),
            "XXXX" | "UNKNOWN" | "N/A" => Some(Self::Other),
            _ => None,
        }
    }
}

/// The device with this index.
pub(super) fn id(i: usize) -> DeviceId {
    DeviceId(u32::try_from(i).unwrap_or(u32::MAX))
}

/// The entries of a matrix of peer accesses. `status` parses a cell; `expected` describes its words
/// in error messages.
pub(super) fn accesses(
    grid: &CellGrid<'_>,
    expected: &str,
    status: fn(&str) -> Option<PeerStatus>,
) -> Result<Vec<PeerAccess>, Error> {
    let n = grid.labels.len();
    let mut access = Vec::new();
    for (a, b) in (0..n)
        .flat_map(|a| (0..n).map(move |b| (a, b)))
        .filter(|(a, b)| a != b)
    {
        let cell = grid.cell(a, b);
        let place = || {
            format!(
                "row {}, column {}: `{cell}`: expected {expected}",
                grid.labels[a], grid.labels[b]
            )
        };
        let status = status(cell).ok_or_else(|| Error::at(grid.lines[a], place()))?;
        access.push(PeerAccess::new(id(a), id(b), status));
    }
    Ok(access)
}

/// The figures of a pair of devices, as far as the text has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) weight: Option<u32>,
    pub(super) hops: Option<u32>,
    pub(super) wire: Option<AmdLink>,
    /// The bandwidth of one link, and of all links, MB/s per direction.
    pub(super) mbps: Option<(u32, u32)>,
}

/// Weight of one XGMI link.
const XGMI_WEIGHT: u32 = 15;
/// Weight of a path inside a partitioned package.
const INSIDE_WEIGHT: u32 = 13;
/// Weight of one XGMI link between partitions of two packages.
const PARTITIONS_WEIGHT: u32 = 2 * INSIDE_WEIGHT + XGMI_WEIGHT;
/// Weight of two steps between a GPU and its processor: one NUMA node.
const NODE_WEIGHT: u32 = 40;

impl Figures {
    /// The number of direct links, and the GB/s of one if known. `rates` states whether any pair of
    /// the machine has a bandwidth: if so, a bandwidth of 0 means that this pair has no link.
    pub(super) fn direct(self, rates: bool) -> Option<(u8, Option<f64>)> {
        let one = |weight| [XGMI_WEIGHT, INSIDE_WEIGHT, PARTITIONS_WEIGHT].contains(&weight);
        let over_another =
            |weight: u32| weight >= 2 * XGMI_WEIGHT && weight.is_multiple_of(XGMI_WEIGHT);
        let near = match (self.wire, self.weight) {
            (Some(AmdLink::Xgmi), Some(weight)) => !over_another(weight),
            (Some(AmdLink::Xgmi), None) => true,
            (Some(_), _) => false,
            (None, Some(weight)) => one(weight),
            (None, None) => self.hops == Some(1),
        };
        if !near {
            return None;
        }
        match self.mbps {
            Some((each, all)) if all > 0 => {
                let links = if each > 0 && all.is_multiple_of(each) {
                    u8::try_from(all / each).unwrap_or(1)
                } else {
                    1
                };
                Some((links, Some(f64::from(all) / 1000.0 / f64::from(links))))
            }
            // The driver has no figure for links between partitions.
            Some(_) if rates && self.weight != Some(PARTITIONS_WEIGHT) => None,
            _ => Some((1, None)),
        }
    }

    /// The class of the path through the host, if weight or hops determine it.
    fn host(self) -> Option<LinkClass> {
        let class = |same| {
            if same {
                LinkClass::Node
            } else {
                LinkClass::Sys
            }
        };
        let through_host = match (self.wire, self.hops) {
            (Some(AmdLink::Pcie), _) => true,
            (None, Some(hops)) => hops >= 2,
            (None, None) => self
                .weight
                .is_some_and(|weight| weight >= NODE_WEIGHT && weight != PARTITIONS_WEIGHT),
            _ => false,
        };
        match (self.hops, self.weight) {
            (Some(hops), _) if through_host => Some(class(hops <= 2)),
            (None, Some(weight)) if through_host => Some(class(weight <= NODE_WEIGHT)),
            _ => None,
        }
    }
}

/// Devices, and the figures of each pair.
pub(super) struct AmdMatrix {
    pub(super) devices: Vec<DeviceInfo>,
    /// The figures below the diagonal; empty if no pair has any.
    figures: Vec<Figures>,
}

/// A machine built from a matrix.
pub(super) struct AmdMachine {
    pub(super) fabric: Fabric,
    pub(super) says: Says,
    pub(super) notes: Vec<String>,
}

impl AmdMatrix {
    pub(super) fn new(devices: Vec<DeviceInfo>) -> Self {
        Self {
            devices,
            figures: Vec::new(),
        }
    }

    /// A mutable reference to the figures of two different devices.
    fn figures_mut(&mut self, a: usize, b: usize) -> Option<&mut Figures> {
        let n = self.devices.len();
        if self.figures.is_empty() {
            self.figures = vec![Figures::default(); n * n.saturating_sub(1) / 2];
        }
        self.figures.get_mut(place(a, b))
    }

    /// Adds a table: `parse` adds the cell of each pair to its figures.
    ///
    /// # Errors
    /// A cell that `parse` rejects, or that differs on the two sides of the diagonal.
    pub(super) fn fill(
        &mut self,
        grid: &CellGrid<'_>,
        parse: impl Fn(&mut Figures, &str) -> Result<(), String>,
    ) -> Result<(), Error> {
        for b in 0..grid.labels.len() {
            for a in 0..b {
                let (cell, other) = (grid.cell(b, a), grid.cell(a, b));
                let (x, y) = (grid.labels[a], grid.labels[b]);
                if !cell.eq_ignore_ascii_case(other) {
                    let what =
                        format!("row {y}, column {x} has {cell}, but row {x}, column {y} {other}");
                    return Err(Error::at(
                        grid.lines[b],
                        what + ": expected a symmetric matrix",
                    ));
                }
                self.add(a, b, |figures| parse(figures, cell))
                    .map_err(|what| {
                        Error::at(grid.lines[b], format!("row {y}, column {x}: {what}"))
                    })?;
            }
        }
        Ok(())
    }

    /// Adds to the figures of two different devices.
    pub(super) fn add(
        &mut self,
        a: usize,
        b: usize,
        parse: impl FnOnce(&mut Figures) -> Result<(), String>,
    ) -> Result<(), String> {
        self.figures_mut(a, b).map_or(Ok(()), parse)
    }

    /// Sets the figures of two different devices. Returns the previous ones, if there were any.
    pub(super) fn put(&mut self, a: usize, b: usize, figures: Figures) -> Option<Figures> {
        let before = std::mem::replace(self.figures_mut(a, b)?, figures);
        (before != Figures::default()).then_some(before)
    }

    /// Builds the machine. `each` is the GB/s of one XGMI link, if the product determines it.
    ///
    /// # Complexity
    /// O(n^2) for n devices.
    pub(super) fn build(self, each: Option<f64>) -> Result<AmdMachine, Error> {
        let Self {
            devices,
            mut figures,
        } = self;
        if figures.iter().all(|figures| *figures == Figures::default()) {
            figures.clear();
        }
        let n = devices.len();
        let rates = figures.iter().any(|figures| {
            figures.wire != Some(AmdLink::Pcie) && figures.mbps.is_some_and(|(_, all)| all > 0)
        });
        let direct = |a: usize, b: usize| {
            figures
                .get(place(a, b))
                .and_then(|figures| figures.direct(rates))
        };
        let host = |a: usize, b: usize| {
            let class = figures.get(place(a, b)).and_then(|figures| figures.host());
            class.or_else(|| {
                Some(if devices[a].numa? == devices[b].numa? {
                    LinkClass::Node
                } else {
                    LinkClass::Sys
                })
            })
        };
        let summary = AmdSummary::new(n, figures.is_empty(), &figures, each, (&direct, &host));
        let says = Says {
            every_device: true,
            direct: !figures.is_empty() || n == 1,
            direct_gbps: summary.direct > 0 && summary.rateless == 0,
            host: match (
                summary.pathless,
                devices.iter().any(|device| device.numa.is_some()),
            ) {
                (0, _) if !figures.is_empty() => HostDetail::Classes,
                (_, true) => HostDetail::Numa,
                _ => HostDetail::Nothing,
            },
            host_gbps: false,
        };
        let ends = devices
            .iter()
            .enumerate()
            .map(|(id, info)| device(id, info.clone()))
            .collect();
        let fabric = PairLinks {
            ends,
            devices: n,
            direct: |a, b| {
                direct(a, b)
                    .map(|(links, gbps)| (links, gbps.or(each).unwrap_or(ASSUMED_DIRECT_GBPS)))
            },
            host: |a, b| {
                let class = host(a, b).unwrap_or(LinkClass::Sys);
                (!figures.is_empty()).then_some(Link {
                    class,
                    gbps: ASSUMED_HOST_GBPS,
                })
            },
            most_links: None,
        }
        .fabric()?;
        Ok(AmdMachine {
            fabric,
            says,
            notes: summary.notes(),
        })
    }
}

/// The index of a pair below the diagonal.
fn place(a: usize, b: usize) -> usize {
    let (low, high) = (a.min(b), a.max(b));
    high * high.saturating_sub(1) / 2 + low
}

/// A device by its vendor's number, which is left out if it equals the id.
pub(super) fn device(id: usize, info: DeviceInfo) -> FabricNode {
    let index = info.index.unwrap_or(u32::try_from(id).unwrap_or(u32::MAX));
    let info = DeviceInfo {
        index: Some(index).filter(|&index| index as usize != id),
        ..info
    };
    FabricNode {
        name: format!("GPU{index}"),
        kind: NodeKind::Device(info),
    }
}

/// Removes PCI addresses and UUIDs that several devices share, as partitions of one device do:
/// they would not identify a device.
pub(super) fn without_shared_ids(mut devices: Vec<DeviceInfo>) -> Vec<DeviceInfo> {
    fn shared(devices: &[DeviceInfo], of: fn(&DeviceInfo) -> &Option<String>) -> HashSet<String> {
        let mut seen = HashSet::new();
        devices
            .iter()
            .filter_map(|device| of(device).as_ref())
            .filter(|id| !seen.insert(*id))
            .cloned()
            .collect()
    }
    let (addresses, uuids) = (
        shared(&devices, |device| &device.pci),
        shared(&devices, |device| &device.uuid),
    );
    for device in &mut devices {
        device.pci = device
            .pci
            .take()
            .filter(|address| !addresses.contains(address));
        device.uuid = device.uuid.take().filter(|uuid| !uuids.contains(uuid));
    }
    devices
}

/// Counts of pairs that the text does not describe fully.
#[derive(Default)]
struct AmdSummary {
    /// Pairs with direct links. Of these, `uncounted` have no number of links and `rateless` no
    /// rate.
    direct: usize,
    uncounted: usize,
    rateless: usize,
    /// Pairs that XGMI joins only over other devices.
    far: usize,
    /// Pairs without a known host path.
    pathless: usize,
    nothing: bool,
}

impl AmdSummary {
    fn new(
        n: usize,
        nothing: bool,
        figures: &[Figures],
        each: Option<f64>,
        (direct, host): (
            &impl Fn(usize, usize) -> Option<(u8, Option<f64>)>,
            &impl Fn(usize, usize) -> Option<LinkClass>,
        ),
    ) -> Self {
        let mut summary = Self {
            nothing,
            ..Self::default()
        };
        if nothing {
            return summary;
        }
        for b in 0..n {
            for a in 0..b {
                let pair = direct(a, b);
                summary.direct += usize::from(pair.is_some());
                summary.uncounted += usize::from(matches!(pair, Some((_, None))));
                summary.rateless += usize::from(matches!(pair, Some((_, None)) if each.is_none()));
                let wire = figures.get(place(a, b)).and_then(|figures| figures.wire);
                summary.far += usize::from(pair.is_none() && wire == Some(AmdLink::Xgmi));
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
            notes.push(
                "The text does not say how many XGMI links join a pair: one is counted.".to_owned(),
            );
        }
        if self.rateless > 0 {
            notes.push(format!(
                "The text gives no bandwidth of XGMI: unless set, a link counts {ASSUMED_DIRECT_GBPS} GB/s."
            ));
        }
        if self.far > 0 {
            notes.push(
                "Pairs that XGMI joins only over other devices count as not joined directly."
                    .to_owned(),
            );
        }
        notes.push(format!(
            "Host paths count {ASSUMED_HOST_GBPS} GB/s each, unless set."
        ));
        if self.pathless > 0 {
            notes.push(
                "Host paths that the text does not describe count as the worst, between sockets."
                    .to_owned(),
            );
        }
        notes
    }
}

/// A square table of cells under a header of devices.
pub(super) struct CellGrid<'t> {
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

impl<'t> CellGrid<'t> {
    /// Reads the table in these lines. `is_label` recognises the name of a device. Other lines,
    /// such as warnings of the tool, are ignored.
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
            return Err(Error::at(
                title,
                "no header follows: expected a line with the names of the devices",
            ));
        };
        if let Some(missing) = grid.labels.get(grid.lines.len()) {
            let what = format!(
                "the matrix ends, but row {missing} is missing: expected a row for every column"
            );
            return Err(Error::at(last, what));
        }
        Ok(grid)
    }

    fn with_header(
        line: usize,
        labels: Vec<&'t str>,
        text: &str,
        has_addresses: bool,
    ) -> Result<Self, Error> {
        if labels.len() > MAX_DEVICES {
            return Err(Error::at(
                line,
                format!("{} devices: expected at most {MAX_DEVICES}", labels.len()),
            ));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = labels.iter().find(|label| !seen.insert(**label)) {
            let width = labels.iter().skip(1).position(|label| label == &labels[0]);
            let is_beside = width.is_some_and(|width| {
                let mut tables = labels.chunks(width + 1);
                let first = tables.next();
                tables.all(|table| Some(table) == first)
            });
            let what = if is_beside {
                "two tables stand side by side: expected one under the other, as `rocm-smi --showtopo` and \
                 `amd-smi topology` print them"
                    .to_owned()
            } else {
                format!("two columns are called {twice}: expected each once")
            };
            return Err(Error::at(line, what));
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

    fn read_row(
        &mut self,
        line: usize,
        words: Vec<&'t str>,
        is_label: fn(&str) -> bool,
    ) -> Result<(), Error> {
        let n = self.labels.len();
        let Some(expected) = self.labels.get(self.lines.len()) else {
            if words.iter().all(|word| is_label(word)) {
                return Err(Error::at(
                    line,
                    "a second header follows: expected one matrix under each title",
                ));
            }
            return Err(Error::at(
                line,
                format!("row {} has no column of that name in the header", words[0]),
            ));
        };
        let mut words = words.into_iter();
        let label = words.next().unwrap_or_default();
        if label != *expected {
            return Err(Error::at(
                line,
                format!("row {label}: expected row {expected}, in the order of the columns"),
            ));
        }
        if self.has_addresses {
            self.addresses.push(words.next().unwrap_or_default());
        }
        if words.len() != n {
            return Err(Error::at(
                line,
                format!("row {label} has {} cells: expected {n}", words.len()),
            ));
        }
        self.cells.extend(words);
        self.lines.push(line);
        Ok(())
    }

    /// The cell in row `a`, column `b`.
    pub(super) fn cell(&self, a: usize, b: usize) -> &'t str {
        self.cells
            .get(a * self.labels.len() + b)
            .copied()
            .unwrap_or_default()
    }

    /// Checks that this table has the same devices as another.
    pub(super) fn same_devices(&self, as_in: &[&str]) -> Result<(), Error> {
        if self.labels == as_in {
            return Ok(());
        }
        let what = format!(
            "the columns are {}, but those above {}",
            self.labels.join(" "),
            as_in.join(" ")
        );
        Err(Error::at(self.line, what + ": expected the same devices"))
    }
}

/// The words of a line, without the characters that draw tables.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || c == '|' || c == '*')
        .filter(|word| !word.is_empty())
}

/// The number in a label: 7 for `GPU7`.
pub(super) fn gpu_number(word: &str) -> Option<u32> {
    let digits = word
        .strip_prefix("GPU")
        .or_else(|| word.strip_prefix("gpu"))?;
    let is_number = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Parses a bandwidth `min-max` in MB/s. Returns `None` for `N/A` and 0.
pub(super) fn bandwidth(cell: &str) -> Result<Option<(u32, u32)>, String> {
    if cell.eq_ignore_ascii_case("N/A") || cell == "0" {
        return Ok(None);
    }
    let ends = cell.split_once('-');
    let ends =
        ends.and_then(|(each, all)| Some((each.trim().parse().ok()?, all.trim().parse().ok()?)));
    ends.map(Some)
        .ok_or_else(|| format!("`{cell}`: expected min-max in MB/s, or N/A"))
}

/// A cell as a number.
pub(super) fn number(cell: &str) -> Result<u32, String> {
    cell.parse()
        .map_err(|_| format!("`{cell}`: expected a number"))
}

/// Parses a NUMA node. Returns `None` for -1 of any integer width, with which tools write
/// "unknown".
pub(super) fn numa(text: &str) -> Result<Option<u32>, String> {
    let value: i64 = text
        .trim()
        .parse()
        .map_err(|_| format!("`{text}`: expected the number of a NUMA node"))?;
    Ok(u32::try_from(value)
        .ok()
        .filter(|&numa| numa < u32::from(u16::MAX)))
}

/// Parses JSON that may follow lines of warnings.
///
/// # Errors
/// Malformed JSON, with its line.
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
        let what = what
            .rsplit_once(" at line ")
            .map_or(what.as_str(), |(what, _)| what);
        Error::at(
            before + error.line().max(1),
            format!("{what}: expected the tool's whole JSON output"),
        )
    })
}

/// Whether a text is JSON, perhaps after lines of warnings: one of the first 100 lines begins an
/// object or a list.
pub(super) fn is_json(text: &str) -> bool {
    text.lines()
        .take(100)
        .any(|line| line.starts_with(['[', '{']))
}

/// A JSON value that tools write as a number or as text.
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

    fn figures(
        wire: Option<AmdLink>,
        weight: Option<u32>,
        hops: Option<u32>,
        mbps: Option<(u32, u32)>,
    ) -> Figures {
        Figures {
            weight,
            hops,
            wire,
            mbps,
        }
    }

    #[test]
    fn weights_hops_and_bandwidths_mean_what_the_driver_means() {
        let xgmi = |weight, mbps| figures(Some(AmdLink::Xgmi), weight, Some(1), mbps);
        assert_eq!(
            xgmi(Some(15), Some((50_000, 200_000))).direct(true),
            Some((4, Some(50.0)))
        );
        assert_eq!(xgmi(Some(15), Some((0, 0))).direct(true), None);
        assert_eq!(xgmi(Some(15), Some((0, 0))).direct(false), Some((1, None)));
        assert_eq!(xgmi(Some(41), Some((0, 0))).direct(true), Some((1, None)));
        assert_eq!(xgmi(Some(30), None).direct(false), None);
        assert_eq!(xgmi(None, None).direct(false), Some((1, None)));
        assert_eq!(
            figures(None, Some(15), None, None).direct(false),
            Some((1, None))
        );
        assert_eq!(
            figures(None, None, Some(1), None).direct(false),
            Some((1, None))
        );
        for (weight, hops, class) in [
            (40, 2, LinkClass::Node),
            (52, 3, LinkClass::Sys),
            (72, 3, LinkClass::Sys),
        ] {
            for pcie in [Some(AmdLink::Pcie), None] {
                assert_eq!(figures(pcie, Some(weight), None, None).host(), Some(class));
                assert_eq!(figures(pcie, None, Some(hops), None).host(), Some(class));
                assert_eq!(
                    figures(pcie, Some(weight), Some(hops), None).direct(false),
                    None
                );
            }
        }
        assert_eq!(xgmi(Some(15), None).host(), None);
    }

    #[test]
    fn bandwidths_and_numbers_are_read_or_not() {
        assert_eq!(bandwidth("50000-100000"), Ok(Some((50_000, 100_000))));
        assert_eq!(
            (bandwidth("N/A"), bandwidth("0-0")),
            (Ok(None), Ok(Some((0, 0))))
        );
        assert!(bandwidth("fast").is_err());
        assert_eq!(
            (
                gpu_number("GPU17"),
                gpu_number("GPU"),
                gpu_number("GPU+1"),
                gpu_number("CPU1")
            ),
            (Some(17), None, None, None)
        );
        assert_eq!(
            (numa("3"), numa("-1"), numa("4294967295")),
            (Ok(Some(3)), Ok(None), Ok(None))
        );
        assert!(numa("x").is_err());
    }
}
