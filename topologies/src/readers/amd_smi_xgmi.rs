//! Reader for the output of `amd-smi xgmi`: the bandwidth and the traffic of XGMI links.
//!
//! The table LINK METRIC has three lines for each device: its link rates, the counters of bytes
//! read from each other device, and the counters of bytes written. A counter is `N/A` if there is
//! no link. Columns are PCI addresses in older releases, and `GPU0`, `GPU1`, ... in newer ones.
//! Counters are in KB in older releases, and in a unit that fits the number in newer ones.
//!
//! The table XGMI LINK STATUS of newer releases has a letter for each link of a pair: `U` up, `D`
//! down, `X` disabled. `U/U` is two links. JSON has the first table only.

use std::borrow::Cow;
use std::collections::HashSet;

use mapa_core::{DeviceId, DeviceInfo, Link, LinkClass, MAX_DEVICES};
use serde::Deserialize;

use super::amd::{self, AmdLink, CellGrid, Scalar};
use super::pairs::PairLinks;
use super::text;
use crate::dump::{Dump, Port, Says, Traffic};
use crate::error::Error;
use crate::kind::Kind;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::{Labels, Machine, Warning};
use crate::pci;
use crate::vendor::Vendor;

const METRIC: &str = "LINK METRIC TABLE";
const STATUS: &str = "XGMI LINK STATUS";

pub(super) fn is(text: &str) -> bool {
    let is_title = |line: &str| {
        [METRIC, STATUS]
            .iter()
            .any(|title| line.trim().starts_with(title))
    };
    text.lines().any(is_title)
        || amd::is_json(text) && text.contains("\"bdf\"") && text.contains("\"link_metrics\"")
}

/// Reads the output of `amd-smi xgmi`.
///
/// A pair with counters gets one direct link with the device's `max_bandwidth`. If the states of
/// links are printed, the pair gets as many links as are up. The text does not describe the host:
/// all host paths get the worst class.
///
/// # Errors
/// A table that is cut; a link that only one of its ends has; a cell that is not a rate, counter or
/// state. The message names the line or element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let contents = if amd::is_json(text) {
        from_json(text)?
    } else {
        from_text(text)?
    };
    build(&contents)
}

/// The contents of a text.
#[derive(Default)]
struct XgmiContents {
    devices: Vec<XgmiDevice>,
    /// Whether the text has the table of rates and counters.
    has_rates: bool,
    /// Whether the text has the states of links.
    has_states: bool,
}

struct XgmiDevice {
    place: XgmiPlace,
    number: Option<u32>,
    address: String,
    /// The bandwidth of one link, GB/s.
    gbps: Option<f64>,
    wire: Option<AmdLink>,
    peers: Vec<XgmiPeer>,
}

/// The position of a device in the text.
#[derive(Clone)]
enum XgmiPlace {
    Line(usize),
    Element(String),
}

impl XgmiPlace {
    fn error(&self, what: impl Into<String>) -> Error {
        match self {
            Self::Line(line) => Error::at(*line, what),
            Self::Element(element) => Error::in_element(None, element.clone(), what),
        }
    }
}

/// The facts that a device states about another.
#[derive(Clone, Default)]
struct XgmiPeer {
    read: Option<u64>,
    write: Option<u64>,
    /// Whether each link is up. `None` if the text has no states.
    states: Option<Vec<bool>>,
}

fn from_text(text: &str) -> Result<XgmiContents, Error> {
    let lines: Vec<(usize, Cow<'_, str>)> = text::lines(text).collect();
    let begins = |title: &str| {
        lines
            .iter()
            .position(|(_, line)| line.trim().starts_with(title))
    };
    let ends = |start: usize| {
        let after = lines
            .iter()
            .skip(start + 1)
            .position(|(_, line)| is_title(line));
        after.map_or(lines.len(), |after| start + 1 + after)
    };
    let mut contents = XgmiContents::default();
    if let Some(start) = begins(METRIC) {
        contents.devices = metrics(lines[start].0, &lines[start + 1..ends(start)])?;
        contents.has_rates = true;
    }
    if let Some(start) = begins(STATUS) {
        let grid = CellGrid::read(lines[start].0, &lines[start + 1..ends(start)], is_label)?;
        add_states(&mut contents, &grid)?;
    }
    if contents.devices.is_empty() {
        return Err(Error::new(format!(
            "no devices: expected the table {METRIC} or {STATUS}"
        )));
    }
    for title in [METRIC, STATUS] {
        let mut again = lines
            .iter()
            .filter(|(_, line)| line.trim().starts_with(title))
            .skip(1);
        if let Some((line, _)) = again.next() {
            return Err(Error::at(
                *line,
                "this table appears a second time: expected the output for one machine",
            ));
        }
    }
    Ok(contents)
}

fn is_title(line: &str) -> bool {
    let line = line.trim();
    let title = line
        .strip_suffix(':')
        .is_some_and(|title| title.bytes().all(|b| b.is_ascii_uppercase() || b == b' '));
    title || line.eq_ignore_ascii_case("Legend:")
}

fn is_label(word: &str) -> bool {
    amd::gpu_number(word).is_some() || word.contains(':') && pci::normal(word).is_some()
}

/// The devices of the table LINK METRIC.
fn metrics(title: usize, lines: &[(usize, Cow<'_, str>)]) -> Result<Vec<XgmiDevice>, Error> {
    let header = lines
        .iter()
        .find(|(_, line)| line.contains("bit_rate") && line.contains("link_type"));
    let Some((header, columns)) = header else {
        return Err(Error::at(
            title,
            "no header follows: expected bdf, bit_rate, max_bandwidth, link_type, devices",
        ));
    };
    let columns: Vec<&str> = amd::words(columns)
        .skip_while(|word| *word != "link_type")
        .skip(1)
        .collect();
    if columns.is_empty()
        || columns.len() > MAX_DEVICES
        || !columns.iter().all(|column| is_label(column))
    {
        return Err(Error::at(
            *header,
            format!("expected 1 to {MAX_DEVICES} devices right of link_type"),
        ));
    }
    let mut devices: Vec<XgmiDevice> = Vec::new();
    let mut last = *header;
    // How many of the two counters of the last device are read.
    let mut counters = 2;
    for (line, text) in lines.iter().filter(|(line, _)| line > header) {
        // Long rates leave no space before the next column.
        let text = text.replace("b/s", "b/s ");
        let words: Vec<&str> = amd::words(&text).collect();
        match words[..] {
            ["Read" | "Write", ..] => {
                let Some(device) = devices.last_mut().filter(|_| counters < 2) else {
                    return Err(Error::at(
                        *line,
                        "counters without a device: expected a line such as GPU0 0000:0c:00.0",
                    ));
                };
                let is_read = words[0] == "Read";
                if is_read != (counters == 0) {
                    return Err(Error::at(
                        *line,
                        "expected a line Read, then a line Write, below each device",
                    ));
                }
                let of = device
                    .number
                    .map_or(String::new(), |it| format!(" of GPU{it}"));
                let values = self::counters(&words[1..], columns.len())
                    .map_err(|what| Error::at(*line, format!("{}{of}: {what}", words[0])))?;
                for (peer, value) in device.peers.iter_mut().zip(values) {
                    *(if is_read {
                        &mut peer.read
                    } else {
                        &mut peer.write
                    }) = value;
                }
                counters += 1;
            }
            [label, ..] if amd::gpu_number(label).is_some() => {
                if counters < 2 {
                    return Err(Error::at(
                        *line,
                        "expected the lines Read and Write of the device before",
                    ));
                }
                let device = metric(*line, &words, &columns, devices.len())?;
                devices.push(device);
                counters = 0;
            }
            _ => continue,
        }
        last = *line;
    }
    if counters < 2 {
        return Err(Error::at(
            last,
            "the table ends within a device: expected its lines Read and Write",
        ));
    }
    if let Some(missing) = columns.get(devices.len()) {
        let what = format!(
            "the table ends, but {missing} is missing: expected three lines for every column"
        );
        return Err(Error::at(last, what));
    }
    Ok(devices)
}

/// The first line of a device: `GPU0 0000:0c:00.0 32 Gb/s 512 Gb/s XGMI`.
fn metric(line: usize, words: &[&str], columns: &[&str], id: usize) -> Result<XgmiDevice, Error> {
    let wrong = |what: String| Error::at(line, what);
    let label = words.first().copied().unwrap_or_default();
    let address = words.get(1).and_then(|word| pci::normal(word));
    let address = address.ok_or_else(|| wrong(format!("{label}: expected its PCI address")))?;
    let Some(column) = columns.get(id) else {
        return Err(wrong(format!(
            "{label} has no column in the header: expected {} devices",
            columns.len()
        )));
    };
    if *column != label && pci::normal(column).as_ref() != Some(&address) {
        return Err(wrong(format!(
            "{label} at {address}: expected {column}, in the order of the columns"
        )));
    }
    let mut rest = words.iter().skip(2).copied();
    let mut rates = [None; 2];
    for gbps in &mut rates {
        let value = rest.next().unwrap_or_default();
        if value.eq_ignore_ascii_case("N/A") {
            continue;
        }
        let expected = || {
            wrong(format!(
                "{label}: `{value}`: expected a rate such as 32 Gb/s"
            ))
        };
        let unit = rest.next().unwrap_or_default();
        *gbps = rate(value, unit).ok_or_else(expected)?.gbps();
    }
    let word = rest.next().unwrap_or_default();
    let expected = || {
        wrong(format!(
            "{label}: `{word}`: expected the type of link, XGMI or PCIE"
        ))
    };
    let wire = AmdLink::parse(word).ok_or_else(expected)?;
    if let Some(more) = rest.next() {
        return Err(wrong(format!(
            "{label}: `{more}`: expected nothing after the type of link"
        )));
    }
    let (place, peers) = (
        XgmiPlace::Line(line),
        vec![XgmiPeer::default(); columns.len()],
    );
    Ok(XgmiDevice {
        place,
        number: amd::gpu_number(label),
        address,
        gbps: rates[1],
        wire: Some(wire),
        peers,
    })
}

/// An upper limit for bandwidths, GB/s. No link is as fast.
const MOST_GBPS: f64 = 1e6;

/// The rate of a link.
enum XgmiRate {
    /// GB/s.
    Known(f64),
    /// 0 or less, or the largest number that the tool's field holds: the rate is not known.
    Unknown,
}

impl XgmiRate {
    fn gbps(self) -> Option<f64> {
        match self {
            Self::Known(gbps) => Some(gbps),
            Self::Unknown => None,
        }
    }
}

/// Parses a rate. Returns `None` if it is not a rate in a known unit.
fn rate(value: &str, unit: &str) -> Option<XgmiRate> {
    let number: f64 = value.parse().ok()?;
    let gbps = match unit {
        "Gb/s" => number / 8.0,
        "Mb/s" => number / 8000.0,
        "GB/s" => number,
        _ => return None,
    };
    let is_unknown = [f64::from(u16::MAX), f64::from(u32::MAX)].contains(&number) || gbps <= 0.0;
    if is_unknown {
        Some(XgmiRate::Unknown)
    } else {
        (gbps <= MOST_GBPS).then_some(XgmiRate::Known(gbps))
    }
}

/// Parses `n` counters: `2 KB`, `1.123 PB` or `N/A`.
fn counters(words: &[&str], n: usize) -> Result<Vec<Option<u64>>, String> {
    let mut words = words.iter();
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("N/A") {
            values.push(None);
            continue;
        }
        let unit = words.next().copied().unwrap_or_default();
        let expected = || format!("`{word} {unit}`: expected a counter such as 2 KB, or N/A");
        values.push(Some(bytes(word, unit).ok_or_else(expected)?));
    }
    if values.len() == n {
        Ok(values)
    } else {
        Err(format!("{} counters: expected {n}", values.len()))
    }
}

/// A number of bytes. Units are powers of 1024, as in the tool.
fn bytes(value: &str, unit: &str) -> Option<u64> {
    let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let power = units.iter().position(|known| *known == unit)?;
    let factor = 1u64.checked_shl(u32::try_from(10 * power).ok()?)?;
    if let Ok(whole) = value.parse::<u64>() {
        return Some(whole.saturating_mul(factor));
    }
    let number: f64 = value.parse().ok()?;
    // Casting a float saturates.
    (number.is_finite() && number >= 0.0).then_some((number * factor as f64) as u64)
}

/// Adds the table XGMI LINK STATUS.
fn add_states(contents: &mut XgmiContents, grid: &CellGrid<'_>) -> Result<(), Error> {
    let n = grid.labels.len();
    let address = |i: usize| {
        grid.addresses
            .get(i)
            .or(grid.labels.get(i))
            .and_then(|word| pci::normal(word))
    };
    if contents.devices.is_empty() {
        for i in 0..n {
            let (place, number) = (
                XgmiPlace::Line(grid.lines[i]),
                amd::gpu_number(grid.labels[i]),
            );
            let expected = || place.error(format!("{}: expected its PCI address", grid.labels[i]));
            let address = address(i).ok_or_else(expected)?;
            let peers = vec![XgmiPeer::default(); n];
            contents.devices.push(XgmiDevice {
                place,
                number,
                address,
                gbps: None,
                wire: None,
                peers,
            });
        }
    }
    let same = contents.devices.len() == n
        && contents
            .devices
            .iter()
            .enumerate()
            .all(|(i, device)| address(i).is_none_or(|it| it == device.address));
    if !same {
        return Err(Error::at(
            grid.line,
            "the devices differ from those above: expected the output for one machine",
        ));
    }
    for (a, device) in contents.devices.iter_mut().enumerate() {
        for (b, peer) in device.peers.iter_mut().enumerate() {
            let place = || format!("row {}, column {}", grid.labels[a], grid.labels[b]);
            peer.states = states(grid.cell(a, b))
                .map_err(|what| Error::at(grid.lines[a], place() + ": " + &what))?;
        }
    }
    contents.has_states = true;
    Ok(())
}

/// Parses the states of links: `U/D` is one link up, one down. Returns `None` for `N/A` and `SELF`.
fn states(cell: &str) -> Result<Option<Vec<bool>>, String> {
    if ["N/A", "SELF"]
        .iter()
        .any(|none| cell.eq_ignore_ascii_case(none))
    {
        return Ok(None);
    }
    let state = |letter: &str| match letter {
        "U" => Some(true),
        "D" | "X" => Some(false),
        _ => None,
    };
    let states: Option<Vec<bool>> = cell.split('/').map(state).collect();
    let few = states.filter(|states| states.len() <= usize::from(u8::MAX));
    few.map(Some)
        .ok_or_else(|| format!("`{cell}`: expected U, D or X for each link, N/A or SELF"))
}

/// A device of the list that `amd-smi xgmi --metric --json` prints.
#[derive(Deserialize)]
struct Listed<'t> {
    gpu: Option<u32>,
    #[serde(borrow)]
    bdf: Cow<'t, str>,
    #[serde(borrow)]
    link_metrics: Metrics<'t>,
}

#[derive(Deserialize)]
struct Metrics<'t> {
    #[serde(borrow)]
    max_bandwidth: Quantity<'t>,
    #[serde(borrow)]
    link_type: Cow<'t, str>,
    #[serde(borrow)]
    links: Vec<Counted<'t>>,
}

#[derive(Deserialize)]
struct Counted<'t> {
    #[serde(borrow)]
    bdf: Cow<'t, str>,
    #[serde(borrow)]
    read: Quantity<'t>,
    #[serde(borrow)]
    write: Quantity<'t>,
}

/// A number with its unit, or `N/A`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Quantity<'t> {
    Measured {
        value: Scalar,
        #[serde(borrow)]
        unit: Cow<'t, str>,
    },
    Bare(Scalar),
}

impl Quantity<'_> {
    /// Parses number and unit with `parse`. Returns `None` for `N/A`.
    fn read<T>(&self, parse: impl Fn(&str, &str) -> Option<T>) -> Result<Option<T>, String> {
        let (value, unit) = match self {
            Self::Bare(Scalar(text)) if text.eq_ignore_ascii_case("N/A") => return Ok(None),
            Self::Bare(Scalar(text)) => text.split_once(' ').unwrap_or((text, "")),
            Self::Measured {
                value: Scalar(value),
                unit,
            } => (value.as_str(), unit.as_ref()),
        };
        parse(value, unit)
            .map(Some)
            .ok_or_else(|| format!("`{value} {unit}`: expected a number with its unit, or N/A"))
    }
}

fn from_json(text: &str) -> Result<XgmiContents, Error> {
    let listed: Vec<Listed<'_>> = amd::json(text)?;
    let n = listed.len();
    if n == 0 || n > MAX_DEVICES {
        return Err(Error::new(format!(
            "{n} devices: expected 1 to {MAX_DEVICES}"
        )));
    }
    let mut contents = XgmiContents::default();
    for (i, device) in listed.iter().enumerate() {
        let wrong = |key: &str, what: String| Error::in_element(None, format!("[{i}].{key}"), what);
        let expected = || wrong("bdf", format!("`{}`: expected a PCI address", device.bdf));
        let address = pci::normal(&device.bdf).ok_or_else(expected)?;
        let Metrics {
            max_bandwidth,
            link_type,
            links,
        } = &device.link_metrics;
        let gbps = max_bandwidth
            .read(rate)
            .map_err(|what| wrong("link_metrics.max_bandwidth", what))?
            .and_then(XgmiRate::gbps);
        let expected = || {
            wrong(
                "link_metrics.link_type",
                format!("`{link_type}`: expected XGMI or PCIE"),
            )
        };
        let wire = Some(AmdLink::parse(link_type).ok_or_else(expected)?);
        if links.len() != n {
            let what = format!(
                "{} links: expected one for each of {n} devices",
                links.len()
            );
            return Err(wrong("link_metrics.links", what));
        }
        let mut peers = Vec::new();
        for (l, (link, to)) in links.iter().zip(&listed).enumerate() {
            let key = |key: &str| format!("link_metrics.links[{l}].{key}");
            if pci::normal(&link.bdf) != pci::normal(&to.bdf) {
                return Err(wrong(
                    &key("bdf"),
                    format!("{}: expected {}, in the order of devices", link.bdf, to.bdf),
                ));
            }
            let read = link
                .read
                .read(bytes)
                .map_err(|what| wrong(&key("read"), what))?;
            let write = link
                .write
                .read(bytes)
                .map_err(|what| wrong(&key("write"), what))?;
            peers.push(XgmiPeer {
                read,
                write,
                states: None,
            });
        }
        let place = XgmiPlace::Element(format!("[{i}]"));
        contents.devices.push(XgmiDevice {
            place,
            number: device.gpu,
            address,
            gbps,
            wire,
            peers,
        });
    }
    Ok(contents)
}

impl XgmiContents {
    /// The number of direct links from one device to another, as the first one states.
    fn links(&self, from: usize, to: usize) -> u8 {
        let (Some(device), true) = (self.devices.get(from), from != to) else {
            return 0;
        };
        let Some(peer) = device.peers.get(to) else {
            return 0;
        };
        match &peer.states {
            Some(states) => {
                u8::try_from(states.iter().filter(|up| **up).count()).unwrap_or(u8::MAX)
            }
            // In virtual functions states are N/A, and links that carry data exist all the same.
            None => u8::from(
                device.wire == Some(AmdLink::Xgmi) && (peer.read.is_some() || peer.write.is_some()),
            ),
        }
    }

    /// Whether the text tells which pairs have links. Virtual functions print `N/A` as the state of every pair.
    fn tells_links(&self) -> bool {
        let mut peers = self.devices.iter().flat_map(|device| &device.peers);
        !self.has_states || self.has_rates || peers.any(|peer| peer.states.is_some())
    }

    /// Checks that both ends of each link agree, and that no device appears twice.
    fn check(&self) -> Result<(), Error> {
        let (mut addresses, mut numbers) = (HashSet::new(), HashSet::new());
        for (a, device) in self.devices.iter().enumerate() {
            if !addresses.insert(&device.address)
                || !numbers.insert(device.number.map_or(a, |it| it as usize))
            {
                return Err(device
                    .place
                    .error("this device appears a second time: expected each once"));
            }
            for b in 0..a {
                let (there, back) = (self.links(a, b), self.links(b, a));
                if there != back {
                    let ends = format!(
                        "{} has {there} links to {}",
                        device.address, self.devices[b].address
                    );
                    return Err(device.place.error(format!(
                        "{ends}, which has {back} links back: expected the same number"
                    )));
                }
            }
        }
        Ok(())
    }

    fn ports(&self) -> Vec<Port> {
        let mut ports = Vec::new();
        for (a, device) in self.devices.iter().enumerate() {
            let mut number = 0;
            for (b, peer) in device.peers.iter().enumerate().filter(|&(b, _)| b != a) {
                let links = self.links(a, b);
                let states = match &peer.states {
                    Some(states) => states.iter().map(|&up| Some(up)).collect(),
                    None => vec![None; usize::from(links)],
                };
                // Counters are of all links of a pair together.
                let single = states.len() == 1;
                let traffic = peer
                    .write
                    .zip(peer.read)
                    .map(|(sent, received)| Traffic { sent, received });
                for active in states {
                    ports.push(Port {
                        active,
                        gbps: device.gbps,
                        remote: Some((self.devices[b].address.clone(), None)),
                        traffic: traffic.filter(|_| single),
                        ..Port::new(DeviceId(u32::try_from(a).unwrap_or(u32::MAX)), number)
                    });
                    number += 1;
                }
            }
        }
        ports
    }

    /// Warnings about links that exist but are not up.
    fn warnings(&self) -> Vec<Warning> {
        let down = |device: &XgmiDevice| {
            let down = |peer: &XgmiPeer| peer.states.iter().flatten().filter(|up| !**up).count();
            device.peers.iter().map(down).sum::<usize>()
        };
        let warning = |device: &XgmiDevice| {
            let line = if let XgmiPlace::Line(line) = device.place {
                Some(line)
            } else {
                None
            };
            let links = down(device);
            let what = format!(
                "{links} XGMI links of {} are down or disabled: they are left out",
                device.address
            );
            (links > 0).then_some(Warning { line, what })
        };
        self.devices.iter().filter_map(warning).collect()
    }
}

fn build(contents: &XgmiContents) -> Result<Dump, Error> {
    contents.check()?;
    let n = contents.devices.len();
    let each = |a: usize, b: usize| match (contents.devices[a].gbps, contents.devices[b].gbps) {
        (Some(x), Some(y)) => Some(x.min(y)),
        (x, y) => x.or(y),
    };
    let joined = || {
        (0..n)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .filter(|&(a, b)| contents.links(a, b) > 0)
    };
    let told = joined().next().is_some() && joined().all(|(a, b)| each(a, b).is_some());
    let mut notes = Vec::new();
    if !contents.has_states && joined().next().is_some() {
        notes.push(
            "The text does not say how many XGMI links join a pair: one is counted.".to_owned(),
        );
    }
    if !told && joined().next().is_some() {
        notes.push(format!(
            "The text gives no bandwidth of XGMI: unless set, a link counts {ASSUMED_DIRECT_GBPS} GB/s."
        ));
    }
    notes.push(format!(
        "The text does not describe the host: host paths count as the worst, between sockets, at {ASSUMED_HOST_GBPS} GB/s."
    ));
    let end = |(id, device): (usize, &XgmiDevice)| {
        let pci = Some(device.address.clone());
        amd::device(
            id,
            DeviceInfo {
                index: device.number,
                pci,
                ..DeviceInfo::default()
            },
        )
    };
    let fabric = PairLinks {
        ends: contents.devices.iter().enumerate().map(end).collect(),
        devices: n,
        direct: |a, b| match contents.links(a, b) {
            0 => None,
            links => Some((links, each(a, b).unwrap_or(ASSUMED_DIRECT_GBPS))),
        },
        host: |_, _| {
            Some(Link {
                class: LinkClass::Sys,
                gbps: ASSUMED_HOST_GBPS,
            })
        },
        most_links: None,
    }
    .fabric()?;
    let machine = Machine {
        name: "amd-smi-xgmi".to_owned(),
        title: format!("{n} devices, read from amd-smi xgmi"),
        source: "amd-smi xgmi".to_owned(),
        notes,
        vendor: Some(Vendor::Amd),
        labels: Labels::of(Some(Vendor::Amd)),
        fabric,
        warnings: contents.warnings(),
    };
    let says = Says {
        every_device: true,
        direct: contents.tells_links(),
        direct_gbps: told,
        ..Says::default()
    };
    Ok(Dump {
        ports: contents.ports(),
        ..Dump::new(Kind::AmdSmiXgmi, machine, says)
    })
}
