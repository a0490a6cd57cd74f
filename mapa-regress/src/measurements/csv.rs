//! CSV tables: your own, those of rccl-tests (`-Z csv -x FILE`), and those of Tartan.

use std::collections::BTreeMap;
use std::str::FromStr;

use mapa_core::MAX_DEVICES;
use mapa_table::{Comments, Row, Sheet, columns, optional_text, text};
use serde::Deserialize;

use super::measurement::{AtSize, Devices, Measurement};
use super::words::{collective, gbps, none_wrong, refused};
use crate::error::Error;

/// The kind of a table, by its columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CsvShape {
    /// `devices,gbps`, and `op`, `bytes`, `label`.
    Own,
    /// `numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong`,
    /// or with `gpus` in place of `ranks`, `rankspernode` and `gpusperrank`.
    Rccl,
    /// `OP,GPU,Bandwidth`, where `GPU` is a number n: the first n GPUs took part.
    Tartan,
}

/// The kind of the table whose header is the first line that is not blank; `None` if it is no such
/// header.
pub(super) fn shape(text: &str) -> Option<CsvShape> {
    let header = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))?
        .to_ascii_lowercase();
    let names: Vec<&str> = header
        .split(',')
        // No known header has as many.
        .take(mapa_table::MAX_COLUMNS)
        .map(|name| name.trim().trim_matches('"'))
        .collect();
    let has = |name| names.contains(&name);
    match () {
        () if has("collective") && has("busbw") => Some(CsvShape::Rccl),
        () if names == ["op", "gpu", "bandwidth"] => Some(CsvShape::Tartan),
        () if names.len() > 1 && (has("devices") || has("gbps")) => Some(CsvShape::Own),
        () => None,
    }
}

/// Reads a table.
pub(super) fn read(text: &str, shape: CsvShape) -> Result<Vec<Measurement>, Error> {
    if shape != CsvShape::Rccl && !text.ends_with('\n') {
        // Half a number is a number too.
        let line = text.lines().count();
        return Err(refused(
            line,
            "the last row has no line end: expected one; is the file cut off?",
        ));
    }
    let mut sheet = Sheet::read(text, Comments::Anywhere, "a header and measurements")?;
    match shape {
        CsvShape::Own => sheet.check(&["devices", "gbps"], &columns::<CsvRow>())?,
        CsvShape::Rccl => {
            // With MPI, rccl-tests write the number of nodes, and leave it out of the header.
            sheet.accept_unnamed(NODES, "ranks");
            sheet.check(&["collective", "size", "inplace", "busbw"], &[])?;
        }
        CsvShape::Tartan => sheet.check(&[], &[])?,
    }
    let read = match shape {
        CsvShape::Own => own,
        CsvShape::Rccl => rccl,
        CsvShape::Tartan => tartan,
    };
    let rows = sheet
        .rows()
        .map(|row| read(&row))
        .collect::<Result<Vec<_>, _>>()?;
    if rows.is_empty() {
        return Err(refused(
            None,
            "no rows: expected measurements below the header",
        ));
    }
    Ok(if shape == CsvShape::Rccl {
        runs(rows)
    } else {
        rows
    })
}

/// A bandwidth in GB/s.
struct Gbps(f64);

impl FromStr for Gbps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        gbps(text, 1.0)?
            .map(Self)
            .ok_or_else(|| format!("`{text}`: expected a bandwidth, a number of GB/s"))
    }
}

/// The devices that a cell names.
struct Cell(Devices);

impl FromStr for Cell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = text
            .split([' ', ';', ',', '\t'])
            .filter(|name| !name.is_empty())
            // One more than a machine can have tells that there are too many.
            .take(MAX_DEVICES + 1)
            .collect();
        match names[..] {
            _ if names.len() > MAX_DEVICES => Err(format!(
                "`{text}`: more than {MAX_DEVICES} devices: expected those of one machine"
            )),
            ["first", count] => match count.parse() {
                Ok(count) => Ok(Self(Devices::First(count))),
                Err(_) => Err(format!("`{text}`: expected such as `first 3`")),
            },
            [] => Err(format!("`{text}`: {NAMES}")),
            _ => {
                let names = names.into_iter().map(str::to_owned);
                Ok(Self(Devices::Named(names.collect())))
            }
        }
    }
}

/// The forms in which devices are named, for errors.
const NAMES: &str = "expected such as `0 3 4`, or `first 3`";

/// A row of a table of your own.
#[derive(Deserialize)]
struct CsvRow {
    #[serde(default, with = "optional_text")]
    devices: Option<Cell>,
    #[serde(with = "text")]
    gbps: Gbps,
    #[serde(default)]
    op: Option<String>,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default)]
    label: Option<String>,
}

fn own(row: &Row<'_>) -> Result<Measurement, Error> {
    let own: CsvRow = row.read()?;
    let at = AtSize {
        bytes: own.bytes,
        out_of_place: Some(own.gbps.0),
        in_place: None,
    };
    Ok(Measurement {
        label: own.label.unwrap_or_else(|| label(row)),
        line: Some(row.line()),
        op: own.op.as_deref().map(collective),
        devices: own
            .devices
            .map(|Cell(devices)| devices)
            .ok_or_else(|| row.error(format!("no devices: {NAMES}")))?,
        sizes: vec![at],
    })
}

/// The name of a row without a label.
fn label(row: &Row<'_>) -> String {
    format!("line {}", row.line())
}

/// A row of Tartan's.
#[derive(Deserialize)]
struct Tartan {
    #[serde(default)]
    op: Option<String>,
    gpu: u64,
    #[serde(with = "text")]
    bandwidth: Gbps,
}

fn tartan(row: &Row<'_>) -> Result<Measurement, Error> {
    let tartan: Tartan = row.read()?;
    let at = AtSize {
        bytes: None,
        out_of_place: Some(tartan.bandwidth.0),
        in_place: None,
    };
    Ok(Measurement {
        label: label(row),
        line: Some(row.line()),
        op: tartan.op.as_deref().map(collective),
        devices: Devices::First(tartan.gpu as usize),
        sizes: vec![at],
    })
}

/// The name of the column of nodes, which the header of rccl-tests lacks.
const NODES: &str = "nodes";

/// A row of rccl-tests: one size, in place or out of place.
#[derive(Deserialize)]
struct Rccl {
    #[serde(default)]
    nodes: Option<String>,
    #[serde(default)]
    ranks: Option<u64>,
    #[serde(default)]
    gpus: Option<u64>,
    #[serde(default)]
    collective: Option<String>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    inplace: Option<String>,
    #[serde(default, rename = "#wrong")]
    wrong: Option<String>,
    #[serde(with = "text")]
    busbw: Gbps,
}

fn rccl(row: &Row<'_>) -> Result<Measurement, Error> {
    let rccl: Rccl = row.read()?;
    if let Some(nodes) = rccl.nodes.filter(|nodes| nodes != "1") {
        return Err(row
            .error(format!("ranks on {nodes} nodes: expected one machine"))
            .into());
    }
    let Some(count) = rccl.ranks.or(rccl.gpus) else {
        return Err(row
            .error("no number of ranks: expected a column `ranks` or `gpus`")
            .into());
    };
    if let Some(wrong) = rccl.wrong {
        none_wrong(&wrong).map_err(|what| row.error(what))?;
    }
    let mut at = AtSize {
        bytes: rccl.size,
        ..AtSize::default()
    };
    match rccl.inplace.as_deref() {
        Some("0") => at.out_of_place = Some(rccl.busbw.0),
        Some("1") => at.in_place = Some(rccl.busbw.0),
        _ => return Err(row.error("inplace: expected 0 or 1").into()),
    }
    Ok(Measurement {
        label: label(row),
        line: Some(row.line()),
        op: rccl.collective.as_deref().map(collective),
        devices: Devices::First(count as usize),
        sizes: vec![at],
    })
}

/// Puts the rows of each run together: runs differ in their collective or their number of ranks.
fn runs(rows: Vec<Measurement>) -> Vec<Measurement> {
    let mut runs: BTreeMap<(Option<String>, usize), Measurement> = BTreeMap::new();
    for mut row in rows {
        let Devices::First(count) = row.devices else {
            continue;
        };
        match runs.get_mut(&(row.op.clone(), count)) {
            Some(run) => run.sizes.append(&mut row.sizes),
            None => drop(runs.insert((row.op.clone(), count), row)),
        }
    }
    runs.into_values().collect()
}
