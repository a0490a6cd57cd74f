//! Reader for the output of `amd-smi topology`, as text or JSON.
//!
//! The text is a sequence of tables, whose rows and columns are PCI addresses. The reader uses
//! ACCESS, WEIGHT, HOPS, LINK TYPE and NUMA BW, and ignores CACHE COHERENCY, ATOMICS, DMA and
//! BI-DIRECTIONAL. JSON is a list of devices, each with a list of its links. [`amd`](super::amd)
//! explains the figures.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mapa_core::{DeviceInfo, MAX_DEVICES};
use serde::Deserialize;

use super::amd::{self, AmdLink, AmdMachine, AmdMatrix, CellGrid, Figures, Scalar};
use super::text;
use crate::dump::{Dump, PeerAccess, PeerStatus};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine, Warning};
use crate::pci;
use crate::vendor::Vendor;

/// A table that the reader uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AmdTitle {
    Access,
    Weight,
    Hops,
    Type,
    Bandwidth,
    Other,
}

pub(super) fn is(text: &str) -> bool {
    if amd::is_json(text) {
        ["\"bdf\"", "\"links\"", "\"link_type\""]
            .iter()
            .all(|key| text.contains(key))
    } else {
        text.lines()
            .any(|line| title(line).is_some_and(|title| title != AmdTitle::Other))
    }
}

/// Reads the output of `amd-smi topology`.
///
/// A bandwidth of `50000-100000` is that of one link and of all links: two links of 50 GB/s.
/// Without bandwidths, an XGMI pair gets one link. The host path of a PCIe pair follows from hops
/// or weight. The host path of other pairs gets the worst class, because the text has no NUMA
/// nodes.
///
/// # Errors
/// A table that is cut, asymmetric, or has other devices than the first one; JSON that is cut or
/// elided; a cell that is not a number, bandwidth or type of link. The message names the line or
/// element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let (matrix, access, warnings) = if amd::is_json(text) {
        from_json(text)?
    } else {
        from_text(text)?
    };
    let n = matrix.devices.len();
    let AmdMachine {
        fabric,
        says,
        notes,
    } = matrix.build(None)?;
    let machine = Machine {
        name: "amd-smi".to_owned(),
        title: format!("{n} devices, read from amd-smi topology"),
        source: "amd-smi topology".to_owned(),
        notes,
        vendor: Some(Vendor::Amd),
        labels: Labels::of(Some(Vendor::Amd)),
        fabric,
        warnings,
    };
    Ok(Dump {
        peer_access: access,
        ..Dump::new(Kind::AmdSmiTopology, machine, says)
    })
}

type AmdContents = (AmdMatrix, Vec<PeerAccess>, Vec<Warning>);

/// The table that a line announces.
fn title(line: &str) -> Option<AmdTitle> {
    let upper = line.trim().to_ascii_uppercase();
    let name = upper
        .strip_suffix(':')
        .unwrap_or(&upper)
        .strip_suffix(" TABLE")?;
    Some(match name {
        "ACCESS" => AmdTitle::Access,
        "WEIGHT" => AmdTitle::Weight,
        "HOPS" => AmdTitle::Hops,
        "LINK TYPE" => AmdTitle::Type,
        "NUMA BW" => AmdTitle::Bandwidth,
        _ => AmdTitle::Other,
    })
}

fn is_label(word: &str) -> bool {
    amd::gpu_number(word).is_some() || word.contains(':') && pci::normal(word).is_some()
}

fn from_text(text: &str) -> Result<AmdContents, Error> {
    let lines: Vec<(usize, Cow<'_, str>)> = text::lines(text).collect();
    let is_legend = |line: &str| line.trim().eq_ignore_ascii_case("Legend:");
    // A legend above the tables is that of another output.
    let is_own = |line: &str| title(line).is_some_and(|title| title != AmdTitle::Other);
    let start = lines.iter().position(|(_, line)| is_own(line)).unwrap_or(0);
    let legend = lines[start..].iter().position(|(_, line)| is_legend(line));
    let end = legend.map_or(lines.len(), |legend| start + legend);
    let titles: Vec<(usize, AmdTitle)> = lines[..end]
        .iter()
        .enumerate()
        .filter_map(|(i, (_, line))| Some((i, title(line)?)))
        .collect();
    let mut grids: Vec<(AmdTitle, CellGrid<'_>)> = Vec::new();
    for (t, &(i, title)) in titles.iter().enumerate() {
        if title == AmdTitle::Other {
            continue;
        }
        if grids.iter().any(|&(before, _)| before == title) {
            return Err(Error::at(
                lines[i].0,
                "this table appears a second time: expected the output for one machine",
            ));
        }
        let next = titles.get(t + 1).map_or(end, |&(next, _)| next);
        let grid = CellGrid::read(lines[i].0, &lines[i + 1..next], is_label)?;
        if let Some((_, first)) = grids.first() {
            grid.same_devices(&first.labels)?;
        }
        grids.push((title, grid));
    }
    let Some((_, first)) = grids.first() else {
        return Err(Error::new(
            "no table: expected one such as LINK TYPE TABLE, of PCI addresses",
        ));
    };
    let devices = (0..first.labels.len()).map(|i| {
        let address = first
            .addresses
            .get(i)
            .or(first.labels.get(i))
            .copied()
            .unwrap_or_default();
        DeviceInfo {
            index: amd::gpu_number(first.labels[i]),
            pci: pci::normal(address),
            ..DeviceInfo::default()
        }
    });
    let mut matrix = AmdMatrix::new(amd::without_shared_ids(devices.collect()));
    let (mut access, mut warnings) = (Vec::new(), Vec::new());
    for (title, grid) in &grids {
        if grid.is_collapsed {
            let what =
                "the white space of the table is lost: cells are read in their order".to_owned();
            warnings.push(Warning {
                line: Some(grid.line),
                what,
            });
        }
        if *title == AmdTitle::Access {
            access = amd::accesses(grid, "ENABLED or DISABLED", enabled)?;
        } else {
            matrix.fill(grid, |figures, cell| put(figures, *title, cell))?;
        }
    }
    Ok((matrix, access, warnings))
}

/// Stores a cell in the field of its table.
fn put(figures: &mut Figures, title: AmdTitle, cell: &str) -> Result<(), String> {
    let is_known = !cell.eq_ignore_ascii_case("N/A");
    match title {
        AmdTitle::Weight if is_known => figures.weight = Some(amd::number(cell)?),
        AmdTitle::Hops if is_known => figures.hops = Some(amd::number(cell)?),
        AmdTitle::Type => {
            figures.wire = Some(
                AmdLink::parse(cell).ok_or_else(|| format!("`{cell}`: expected XGMI or PCIE"))?,
            );
        }
        AmdTitle::Bandwidth => {
            figures.mbps = amd::bandwidth(cell)?;
        }
        _ => {}
    }
    Ok(())
}

fn enabled(word: &str) -> Option<PeerStatus> {
    match word.to_ascii_uppercase().as_str() {
        "ENABLED" => Some(PeerStatus::Ok),
        "DISABLED" => Some(PeerStatus::NotSupported),
        "N/A" => Some(PeerStatus::Unknown),
        _ => None,
    }
}

/// A device and its links. Other keys are ignored.
#[derive(Deserialize)]
struct Listed<'t> {
    gpu: Option<u32>,
    #[serde(borrow)]
    bdf: Cow<'t, str>,
    links: Vec<Listing<'t>>,
}

#[derive(Deserialize)]
struct Listing<'t> {
    #[serde(borrow)]
    bdf: Cow<'t, str>,
    weight: Option<Scalar>,
    link_status: Option<Scalar>,
    link_type: Option<Scalar>,
    num_hops: Option<Scalar>,
    bandwidth: Option<Scalar>,
}

/// The place of each device in the list, by its PCI address.
fn places_by_address(listed: &[Listed<'_>]) -> Result<HashMap<String, usize>, Error> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (i, device) in listed.iter().enumerate() {
        let element = || format!("[{i}].bdf");
        let address = pci::normal(&device.bdf);
        let expected = || {
            Error::in_element(
                None,
                element(),
                format!("`{}`: expected a PCI address", device.bdf),
            )
        };
        if places.insert(address.ok_or_else(expected)?, i).is_some() {
            let what = format!("{} is listed twice: expected each device once", device.bdf);
            return Err(Error::in_element(None, element(), what));
        }
    }
    Ok(places)
}

/// Checks that no two devices have one number. A device without a number has that of its place.
fn check_numbers(listed: &[Listed<'_>]) -> Result<(), Error> {
    let mut numbers = HashSet::new();
    for (i, device) in listed.iter().enumerate() {
        let number = device.gpu.map_or(i, |gpu| gpu as usize);
        if !numbers.insert(number) {
            let what = format!("{number} is listed twice: expected each device once");
            return Err(Error::in_element(None, format!("[{i}].gpu"), what));
        }
    }
    Ok(())
}

fn from_json(text: &str) -> Result<AmdContents, Error> {
    let listed: Vec<Listed<'_>> = amd::json(text)?;
    let n = listed.len();
    if n == 0 || n > MAX_DEVICES {
        return Err(Error::new(format!(
            "{n} devices: expected 1 to {MAX_DEVICES}"
        )));
    }
    let places = places_by_address(&listed)?;
    check_numbers(&listed)?;
    let info = |device: &Listed<'_>| DeviceInfo {
        index: device.gpu,
        pci: pci::normal(&device.bdf),
        ..DeviceInfo::default()
    };
    if let Some(short) = listed.iter().position(|device| device.links.len() + 1 < n) {
        let what = format!(
            "{} links: expected one to each of {n} devices",
            listed[short].links.len()
        );
        return Err(Error::in_element(None, format!("[{short}].links"), what));
    }
    let mut matrix = AmdMatrix::new(listed.iter().map(info).collect());
    let mut access = Vec::new();
    for (i, device) in listed.iter().enumerate() {
        let mut seen = vec![false; n];
        for (l, link) in device.links.iter().enumerate() {
            let wrong = |key: &str, what: String| {
                Error::in_element(None, format!("[{i}].links[{l}].{key}"), what)
            };
            let peer = pci::normal(&link.bdf).and_then(|address| places.get(&address).copied());
            let Some(peer) = peer else {
                return Err(wrong(
                    "bdf",
                    format!("`{}`: expected the address of a listed device", link.bdf),
                ));
            };
            if std::mem::replace(&mut seen[peer], true) {
                return Err(wrong(
                    "bdf",
                    format!("a second link to {}: expected one each", link.bdf),
                ));
            }
            if peer == i {
                continue;
            }
            let figures = link.figures().map_err(|(key, what)| wrong(key, what))?;
            let before = matrix.put(i, peer, figures);
            if before.is_some_and(|before| before != figures) {
                let what = format!(
                    "differs from the entry in the list of {}: expected the same in both directions",
                    link.bdf
                );
                return Err(Error::in_element(None, format!("[{i}].links[{l}]"), what));
            }
            if let Some(Scalar(status)) = &link.link_status {
                let expected = || {
                    wrong(
                        "link_status",
                        format!("`{status}`: expected ENABLED or DISABLED"),
                    )
                };
                access.push(PeerAccess::new(
                    amd::id(i),
                    amd::id(peer),
                    enabled(status).ok_or_else(expected)?,
                ));
            }
        }
        if let Some(missing) = (0..n).find(|&peer| peer != i && !seen[peer]) {
            let what = format!(
                "no link to {}: expected one to each device",
                listed[missing].bdf
            );
            return Err(Error::in_element(None, format!("[{i}].links"), what));
        }
    }
    Ok((matrix, access, Vec::new()))
}

impl Listing<'_> {
    fn figures(&self) -> Result<Figures, (&'static str, String)> {
        let mut figures = Figures::default();
        let cells = [
            ("weight", AmdTitle::Weight, &self.weight),
            ("num_hops", AmdTitle::Hops, &self.num_hops),
            ("link_type", AmdTitle::Type, &self.link_type),
            ("bandwidth", AmdTitle::Bandwidth, &self.bandwidth),
        ];
        for (key, title, cell) in cells {
            if let Some(Scalar(cell)) = cell {
                put(&mut figures, title, cell).map_err(|what| (key, what))?;
            }
        }
        Ok(figures)
    }
}
