//! Reader for the output of `rocm-smi --showtopo`, complete or in parts, as text or JSON.
//!
//! The text has a section for each matrix: weights, hops, types of link, accessibility, bandwidth.
//! Banner lines, whose width depends on the release, separate the sections. A further section has
//! one line for the NUMA node of each device. JSON has one entry for each pair, named in words.
//! [`amd`](super::amd) explains the figures. Neither form has the number of XGMI links of a pair,
//! unless `--shownodesbw` was given too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mapa_core::{DeviceInfo, MAX_DEVICES};

use super::amd::{self, AmdLink, AmdMachine, AmdMatrix, CellGrid, Figures, Scalar};
use super::text;
use crate::dump::{Dump, PeerAccess, PeerStatus};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;
use crate::{pci, products};

/// The title of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RocmTitle {
    Weight,
    Hops,
    Type,
    Access,
    Bandwidth,
    Numa,
    Other,
}

pub(super) fn is(text: &str) -> bool {
    let has = |line: &str| {
        let line = line.to_ascii_lowercase();
        matches!(
            title(&line),
            Some(RocmTitle::Weight | RocmTitle::Hops | RocmTitle::Type | RocmTitle::Access)
        ) || line.contains("(topology) ")
            || line.contains("between drm devices")
    };
    text.lines().any(has)
        || text.contains("ROCm System Management Interface") && text.lines().any(is_bandwidth)
}

/// Reads the topology that `rocm-smi` prints.
///
/// An XGMI pair gets one direct link, or the number of links that follows from `--shownodesbw`. A
/// pair that XGMI joins only over other devices (weight 30 and more) gets none. The host path of a
/// PCIe pair follows from weight or hops. Other host paths follow from NUMA nodes. Without these,
/// the path gets the worst class.
///
/// # Errors
/// A matrix that is cut, asymmetric, or has other devices than the first one; a cell that is not a
/// number or type of link. The message names the line.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let (contents, warnings) = if amd::is_json(text) {
        from_json(text)?
    } else {
        from_text(text)?
    };
    let RocmContents { matrix, access } = contents;
    let products = || {
        matrix
            .devices
            .iter()
            .map(|device| device.product.as_deref())
    };
    let product = products()
        .next()
        .flatten()
        .filter(|product| products().all(|other| other == Some(product)));
    let each = product
        .and_then(products::links)
        .map(|links| links.gbps_per_link);
    let n = matrix.devices.len();
    let AmdMachine {
        fabric,
        says,
        notes,
    } = matrix.build(each)?;
    let machine = Machine {
        name: "rocm-smi".to_owned(),
        title: format!("{n} devices, read from rocm-smi --showtopo"),
        source: "rocm-smi --showtopo".to_owned(),
        notes,
        vendor: Some(Vendor::Amd),
        labels: Labels::of(Some(Vendor::Amd)),
        fabric,
        warnings,
    };
    Ok(Dump {
        peer_access: access,
        ..Dump::new(Kind::RocmSmi, machine, says)
    })
}

struct RocmContents {
    matrix: AmdMatrix,
    access: Vec<PeerAccess>,
}

/// The title in a line, which must be in lower case.
fn title(lower: &str) -> Option<RocmTitle> {
    let between = |what: &str| lower.contains(what) && lower.contains("between two gpus");
    match () {
        () if between("weight") => Some(RocmTitle::Weight),
        () if between("hops") => Some(RocmTitle::Hops),
        () if between("link type") => Some(RocmTitle::Type),
        () if between("link accessibility") => Some(RocmTitle::Access),
        () if is_bandwidth(lower) => Some(RocmTitle::Bandwidth),
        () if lower.trim_matches(['=', ' ', '*', '#']) == "numa nodes" => Some(RocmTitle::Numa),
        () if lower.trim_start().starts_with("===") => Some(RocmTitle::Other),
        () => None,
    }
}

fn is_bandwidth(line: &str) -> bool {
    line.trim_start().starts_with("===")
        && line
            .trim_matches(['=', ' '])
            .eq_ignore_ascii_case("bandwidth")
}

fn is_label(word: &str) -> bool {
    amd::gpu_number(word).is_some()
}

fn from_text(text: &str) -> Result<(RocmContents, Vec<Warning>), Error> {
    let lines: Vec<(usize, Cow<'_, str>)> = text::lines(text).collect();
    let mut titles: Vec<(usize, RocmTitle)> = Vec::new();
    for (i, (line, text)) in lines.iter().enumerate() {
        let Some(title) = title(&text.to_ascii_lowercase()) else {
            continue;
        };
        if title != RocmTitle::Other && titles.iter().any(|&(_, before)| before == title) {
            return Err(Error::at(
                *line,
                "this section appears a second time: expected the output for one machine",
            ));
        }
        titles.push((i, title));
    }
    let mut grids: Vec<(RocmTitle, CellGrid<'_>)> = Vec::new();
    for (t, &(i, title)) in titles.iter().enumerate() {
        if matches!(title, RocmTitle::Numa | RocmTitle::Other) {
            continue;
        }
        let end = titles.get(t + 1).map_or(lines.len(), |&(next, _)| next);
        let grid = CellGrid::read(lines[i].0, &lines[i + 1..end], is_label)?;
        if let Some((_, first)) = grids.first() {
            grid.same_devices(&first.labels)?;
        }
        grids.push((title, grid));
    }
    let (facts, ends) = facts(&lines)?;
    let mut warnings = Vec::new();
    let numbers: Vec<u32> = match grids.first() {
        Some((_, grid)) => grid
            .labels
            .iter()
            .filter_map(|label| amd::gpu_number(label))
            .collect(),
        None => facts.keys().copied().collect(),
    };
    if numbers.is_empty() {
        return Err(Error::new(
            "no devices: expected a matrix of GPU0, GPU1, ... or lines `GPU[0] : ...`",
        ));
    }
    if numbers.len() > MAX_DEVICES {
        return Err(Error::new(format!(
            "{} devices: expected at most {MAX_DEVICES}",
            numbers.len()
        )));
    }
    if let Some((number, line)) = ends.iter().find(|(number, _)| !numbers.contains(number)) {
        return Err(Error::at(
            *line,
            format!("GPU[{number}] is in no matrix: expected a row and a column GPU{number}"),
        ));
    }
    warn(&grids, &titles, &lines, (&numbers, &facts), &mut warnings);
    let device = |number: &u32| {
        let info = facts.get(number).cloned().unwrap_or_default();
        DeviceInfo {
            index: Some(*number),
            ..info
        }
    };
    let mut matrix = AmdMatrix::new(amd::without_shared_ids(
        numbers.iter().map(device).collect(),
    ));
    let mut access = Vec::new();
    for (title, grid) in &grids {
        if *title == RocmTitle::Access {
            access = amd::accesses(grid, "True or False", reachable)?;
        } else {
            check_diagonal(grid)?;
            matrix.fill(grid, |figures, cell| put(figures, *title, cell))?;
        }
    }
    Ok((RocmContents { matrix, access }, warnings))
}

/// Adds warnings about oddities that do not prevent reading.
fn warn(
    grids: &[(RocmTitle, CellGrid<'_>)],
    titles: &[(usize, RocmTitle)],
    lines: &[(usize, Cow<'_, str>)],
    (numbers, facts): (&[u32], &BTreeMap<u32, DeviceInfo>),
    warnings: &mut Vec<Warning>,
) {
    let mut say = |line: usize, what: String| {
        warnings.push(Warning {
            line: Some(line),
            what,
        })
    };
    for (_, grid) in grids.iter().filter(|(_, grid)| grid.is_collapsed) {
        say(
            grid.line,
            "the white space of the matrix is lost: cells are read in their order".to_owned(),
        );
    }
    let without = |number: &&u32| facts.get(number).is_none_or(|info| info.numa.is_none());
    let without: Vec<String> = numbers
        .iter()
        .filter(without)
        .map(|number| format!("GPU{number}"))
        .collect();
    let numa = titles
        .iter()
        .find(|(_, title)| *title == RocmTitle::Numa)
        .and_then(|&(i, _)| lines.get(i));
    if let (Some((line, _)), false) = (numa, without.is_empty()) {
        say(
            *line,
            format!("the section has no NUMA node for {}", without.join(", ")),
        );
    }
}

/// Checks that the cells on the diagonal are 0 or another sign for a device itself.
fn check_diagonal(grid: &CellGrid<'_>) -> Result<(), Error> {
    for (i, label) in grid.labels.iter().enumerate() {
        let cell = grid.cell(i, i);
        if !["0", "N/A", "X", "SELF"]
            .iter()
            .any(|word| cell.eq_ignore_ascii_case(word))
        {
            let what = format!("row {label}, column {label}: `{cell}`: expected 0 on the diagonal");
            return Err(Error::at(grid.lines[i], what));
        }
    }
    Ok(())
}

/// Stores a cell of a matrix in the field of its section.
fn put(figures: &mut Figures, title: RocmTitle, cell: &str) -> Result<(), String> {
    match title {
        RocmTitle::Weight => figures.weight = Some(amd::number(cell)?),
        RocmTitle::Hops => figures.hops = Some(amd::number(cell)?),
        RocmTitle::Type => {
            figures.wire = Some(
                AmdLink::parse(cell).ok_or_else(|| format!("`{cell}`: expected XGMI or PCIE"))?,
            );
        }
        RocmTitle::Bandwidth => {
            figures.mbps = amd::bandwidth(cell)?;
        }
        RocmTitle::Access | RocmTitle::Numa | RocmTitle::Other => {}
    }
    Ok(())
}

fn reachable(word: &str) -> Option<PeerStatus> {
    match word.to_ascii_lowercase().as_str() {
        "true" => Some(PeerStatus::Ok),
        "false" => Some(PeerStatus::NotSupported),
        "n/a" => Some(PeerStatus::Unknown),
        _ => None,
    }
}

/// The facts from lines `GPU[0] : key: value` for each device, and the first line of each device.
type RocmFacts = (BTreeMap<u32, DeviceInfo>, BTreeMap<u32, usize>);

fn facts(lines: &[(usize, Cow<'_, str>)]) -> Result<RocmFacts, Error> {
    let (mut facts, mut first) = (BTreeMap::<u32, DeviceInfo>::new(), BTreeMap::new());
    let mut column = None;
    for (line, text) in lines {
        let is_numa = |cell: &str| cell.trim().eq_ignore_ascii_case("NUMA Node");
        column = text.split('|').position(is_numa).or(column);
        let Some((number, key, value)) = fact(text, column) else {
            continue;
        };
        learn(facts.entry(number).or_default(), key, value)
            .map_err(|what| Error::at(*line, what))?;
        first.entry(number).or_insert(*line);
    }
    Ok((facts, first))
}

const NUMA_NODE: &str = "(topology) numa node";

/// Device, key and value of a line `GPU[0] : key: value`, or of a row `| GPU[0] | 1 |` with NUMA nodes in this column, as
/// pages print them.
fn fact(text: &str, column: Option<usize>) -> Option<(u32, &str, &str)> {
    let (before, rest) = text.split_once("GPU[")?;
    let (number, rest) = rest.split_once(']')?;
    let number = number.trim().parse().ok()?;
    match before.trim() {
        "|" => Some((number, NUMA_NODE, text.split('|').nth(column?)?.trim())),
        "" => {
            let rest = rest.trim().strip_prefix(':').unwrap_or(rest).trim();
            let (key, value) = rest.split_once(':')?;
            Some((number, key.trim(), value.trim()))
        }
        _ => None,
    }
}

/// Stores a fact about a device. An unknown key is ignored.
fn learn(info: &mut DeviceInfo, key: &str, value: &str) -> Result<(), String> {
    let is_known = !value.is_empty() && !value.eq_ignore_ascii_case("N/A");
    match key.to_ascii_lowercase().as_str() {
        NUMA_NODE => {
            let numa = amd::numa(value)?;
            if info.numa.is_some() && info.numa != numa {
                return Err(format!(
                    "NUMA node {value}, but an earlier line has another: expected the output for one machine"
                ));
            }
            info.numa = numa;
        }
        "card series" if is_known => info.product = Some(value.to_owned()),
        "pci bus" if is_known => {
            let expected = || format!("PCI bus {value}: expected an address such as 0000:63:00.0");
            info.pci = Some(pci::normal(value).ok_or_else(expected)?);
        }
        // The id gets the form that rocminfo prints.
        "unique id" if is_known => {
            let digits = value.strip_prefix("0x").unwrap_or(value);
            let id = u64::from_str_radix(digits, 16)
                .map_err(|_| format!("unique id {value}: expected 0x..."))?;
            info.uuid = Some(id)
                .filter(|&id| id != 0)
                .map(|id| format!("GPU-{id:016x}"));
        }
        _ => {}
    }
    Ok(())
}

/// The sections of the text by their names: `card0`, .., and `system`.
type Sections = BTreeMap<String, BTreeMap<String, Scalar>>;

/// What the sections of the cards say, by the card's number.
fn facts_of_cards(sections: &Sections) -> Result<BTreeMap<u32, DeviceInfo>, Error> {
    let mut facts: BTreeMap<u32, DeviceInfo> = BTreeMap::new();
    for (name, section) in sections {
        let Some(number) = name
            .strip_prefix("card")
            .and_then(|number| number.parse().ok())
        else {
            continue;
        };
        let info = facts.entry(number).or_default();
        for (key, Scalar(value)) in section {
            learn(info, key, value)
                .map_err(|what| Error::in_element(None, format!("{name}.{key}"), what))?;
        }
    }
    Ok(facts)
}

fn from_json(text: &str) -> Result<(RocmContents, Vec<Warning>), Error> {
    let sections: Sections = amd::json(text)?;
    let facts = facts_of_cards(&sections)?;
    let mut pairs: BTreeMap<RocmTitle, RocmPairs<'_>> = BTreeMap::new();
    for (key, Scalar(value)) in sections.get("system").into_iter().flatten() {
        let Some((title, a, b)) = pair(key) else {
            continue;
        };
        pairs
            .entry(title)
            .or_default()
            .insert((a.min(b), a.max(b)), (key, value));
    }
    let last = pairs
        .values()
        .flat_map(BTreeMap::keys)
        .map(|&(_, b)| b)
        .max();
    let most = last.into_iter().chain(facts.keys().copied()).max();
    let Some(most) = most else {
        return Err(Error::new(
            "no devices: expected entries such as `(Topology) Link type between DRM devices 0 and 1`",
        ));
    };
    let n = last.map_or(facts.len(), |last| last as usize + 1);
    if n > MAX_DEVICES {
        return Err(Error::in_element(
            None,
            "system",
            format!("{n} devices: expected at most {MAX_DEVICES}"),
        ));
    }
    if last.is_some_and(|last| last < most) {
        let what = format!(
            "is in no pair of `system`, whose last device is {}: expected pairs for every device",
            n - 1
        );
        return Err(Error::in_element(None, format!("card{most}"), what));
    }
    for (title, cells) in &pairs {
        if cells.len() != n * (n - 1) / 2 || cells.keys().any(|&(a, b)| a == b) {
            let what = format!(
                "{} pairs of {n} devices in matrix {title:?}: expected every pair once",
                cells.len()
            );
            return Err(Error::in_element(None, "system", what));
        }
    }
    let info = |number: u32| DeviceInfo {
        index: Some(number),
        ..facts.get(&number).cloned().unwrap_or_default()
    };
    let devices = match last {
        Some(last) => (0..=last).map(info).collect(),
        None => facts.keys().copied().map(info).collect(),
    };
    let mut matrix = AmdMatrix::new(amd::without_shared_ids(devices));
    let mut access = Vec::new();
    for (title, cells) in &pairs {
        for (&(a, b), &(key, value)) in cells {
            let wrong = |what| Error::in_element(None, format!("system.{key}"), what);
            let (x, y) = (a as usize, b as usize);
            if *title == RocmTitle::Access {
                let expected = || wrong(format!("`{value}`: expected True or False"));
                let status = reachable(value).ok_or_else(expected)?;
                access.extend([
                    PeerAccess::new(amd::id(x), amd::id(y), status),
                    PeerAccess::new(amd::id(y), amd::id(x), status),
                ]);
            } else {
                matrix
                    .add(x, y, |figures| put(figures, *title, value))
                    .map_err(wrong)?;
            }
        }
    }
    Ok((RocmContents { matrix, access }, Vec::new()))
}

/// Key and value for each pair of devices a < b.
type RocmPairs<'t> = BTreeMap<(u32, u32), (&'t str, &'t str)>;

/// Parses a key such as `(Topology) Weight between DRM devices 0 and 1`.
fn pair(key: &str) -> Option<(RocmTitle, u32, u32)> {
    let lower = key.to_ascii_lowercase();
    let (what, ends) = lower.split_once(" between drm devices ")?;
    let (a, b) = ends.split_once(" and ")?;
    let title = match what.trim_start_matches("(topology)").trim() {
        "weight" => RocmTitle::Weight,
        "hops" => RocmTitle::Hops,
        "link type" => RocmTitle::Type,
        "link accessibility" => RocmTitle::Access,
        _ => return None,
    };
    Some((title, a.trim().parse().ok()?, b.trim().parse().ok()?))
}
