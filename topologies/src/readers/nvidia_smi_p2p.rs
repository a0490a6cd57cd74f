//! Reader for the output of `nvidia-smi topo -p2p`: which devices can access each other's memory.
//!
//! The text is a matrix like that of `nvidia-smi topo -m`, but its cells are states. People paste
//! it in the same forms. The matrix may be asymmetric: a device may be allowed to read from another
//! that may not read from it. The text has no links. It does not show which of the options `r`,
//! `w`, `n`, `a` and `p` was given, unless the command is above it.

use std::collections::HashSet;

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, MAX_DEVICES, NodeKind};

use super::text;
use crate::dump::{Dump, PeerAccess, PeerStatus, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine};
use crate::vendor::Vendor;

const EXPECTED: &str = "expected OK, CNS, GNS, TNS, NS, DR or U";

/// Whether a text has a row with an X and a state. A matrix with a single X, or with links, belongs
/// to `topo -m`.
pub(super) fn is(text: &str) -> bool {
    let mut states = false;
    for (_, line) in text::lines(text) {
        let words = text::words(&line);
        let Some(at) = labelled(&words) else { continue };
        let cells: Vec<Option<P2pCell>> = words[at + 1..]
            .iter()
            .map_while(|(word, _)| Some(cell(word)))
            .collect();
        let known = cells.iter().take_while(|cell| cell.is_some()).count();
        if words
            .get(at + 1 + known)
            .is_some_and(|(word, _)| Labels::default().parse(word).is_ok())
        {
            return false;
        }
        let known = &cells[..known];
        states |= known.contains(&Some(P2pCell::Own))
            && known
                .iter()
                .any(|cell| matches!(cell, Some(P2pCell::State(_))));
    }
    states
}

pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let table = find(text)?;
    let columns = columns(&table)?;
    let mut access = peer_access(&table, &columns)?;
    for access in &mut access {
        access.partial = matches!(table.asked, Some('p' | 'a'));
        access.by_links = table.asked == Some('n');
    }
    let mut fabric = Fabric::new();
    for (id, &number) in columns.iter().enumerate() {
        let info = DeviceInfo {
            index: (number as usize != id).then_some(number),
            ..DeviceInfo::default()
        };
        let node = FabricNode {
            name: format!("GPU{number}"),
            kind: NodeKind::Device(info),
        };
        fabric
            .add(node)
            .map_err(|error| Error::core(Some(table.line), error))?;
    }
    let command = table
        .asked
        .map_or("nvidia-smi topo -p2p".to_owned(), |asked| {
            format!("nvidia-smi topo -p2p {asked}")
        });
    let machine = Machine {
        name: "topo-p2p".to_owned(),
        title: format!("{} devices, read from {command}", columns.len()),
        source: command,
        notes: notes(table.asked),
        vendor: Some(Vendor::Nvidia),
        labels: Labels::default(),
        fabric,
        warnings: Vec::new(),
    };
    let mut dump = Dump::new(
        Kind::NvidiaSmiP2p,
        machine,
        Says {
            every_device: true,
            ..Says::default()
        },
    );
    dump.peer_access = access;
    Ok(dump)
}

fn notes(asked: Option<char>) -> Vec<String> {
    let note = match asked {
        Some('r' | 'w') => return Vec::new(),
        Some('n') => "The states are those of peer access by NVLink alone.",
        Some('a') => "The states are those of atomic operations on peers.",
        Some(_) => "The states are those of peer access over PCIe alone.",
        None => "The text does not show which kind of peer access its states describe.",
    };
    vec![note.to_owned()]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum P2pCell {
    /// The X that stands for the device itself.
    Own,
    State(PeerStatus),
}

fn cell(word: &str) -> Option<P2pCell> {
    Some(match word.to_ascii_uppercase().as_str() {
        "X" => P2pCell::Own,
        "OK" => P2pCell::State(PeerStatus::Ok),
        "CNS" => P2pCell::State(PeerStatus::ChipsetNotSupported),
        "GNS" => P2pCell::State(PeerStatus::GpuNotSupported),
        "TNS" => P2pCell::State(PeerStatus::TopologyNotSupported),
        "NS" => P2pCell::State(PeerStatus::NotSupported),
        "DR" => P2pCell::State(PeerStatus::Disabled),
        "U" => P2pCell::State(PeerStatus::Unknown),
        _ => return None,
    })
}

struct P2pRow {
    line: usize,
    number: u32,
    cells: Vec<P2pCell>,
    /// The first word after the cells.
    then: Option<String>,
}

struct P2pTable {
    /// The line at which the matrix begins.
    line: usize,
    /// The last line of the matrix.
    last_line: usize,
    header: Option<Vec<u32>>,
    rows: Vec<P2pRow>,
    /// The letter after `-p2p` in a command above the matrix.
    asked: Option<char>,
}

/// Finds the one matrix in `text`.
fn find(text: &str) -> Result<P2pTable, Error> {
    let mut table = P2pTable {
        line: 0,
        last_line: 0,
        header: None,
        rows: Vec::new(),
        asked: None,
    };
    let mut rows_of = HashSet::new();
    for (line, clean) in text::lines(text) {
        let words = text::words(&clean);
        if let Some(columns) = header(&words) {
            if table.last_line > 0 {
                return Err(Error::at(
                    line,
                    "a second matrix begins here: expected one of one machine",
                ));
            }
            if columns.len() > MAX_DEVICES {
                return Err(Error::at(
                    line,
                    format!("{} columns: expected at most {MAX_DEVICES}", columns.len()),
                ));
            }
            table.header = Some(columns);
        } else if let Some(at) = labelled(&words).or_else(|| cut_row(&words, &table, &rows_of)) {
            let row = row(&words[at..], line)?;
            rows_of.insert(row.number);
            table.rows.push(row);
        } else {
            table.asked = table.asked.or_else(|| asked(&words));
            continue;
        }
        if table.line == 0 {
            table.line = line;
        }
        table.last_line = line;
    }
    if table.last_line == 0 {
        return Err(Error::new(format!(
            "no matrix of `nvidia-smi topo -p2p` found: {EXPECTED} in rows of GPU0, GPU1, ..."
        )));
    }
    Ok(table)
}

/// Whether a line is the header of a matrix of devices alone.
pub(super) fn is_header(words: &[(&str, usize)]) -> bool {
    header(words).is_some()
}

/// Parses a header: a run of two or more labels with nothing after it.
fn header(words: &[(&str, usize)]) -> Option<Vec<u32>> {
    let first = words.iter().position(|(word, _)| word.starts_with("GPU"))?;
    if !words[..first].iter().all(|(word, _)| text::is_margin(word)) {
        return None;
    }
    let mut columns = Vec::new();
    for (word, _) in &words[first..] {
        // Labels are glued to each other where tabs were lost.
        for number in word.strip_prefix("GPU")?.split("GPU") {
            let digits = number.bytes().all(|b| b.is_ascii_digit());
            columns.push(digits.then(|| number.parse().ok())??);
        }
    }
    (columns.len() > 1).then_some(columns)
}

/// The index of a label that a cell follows.
fn labelled(words: &[(&str, usize)]) -> Option<usize> {
    words
        .windows(2)
        .position(|pair| text::gpu_number(pair[0].0).is_some() && cell(pair[1].0).is_some())
}

/// The index of a label that has a column and no row yet. Its row is read even if it is cut or
/// broken, so that it causes an error and is not skipped.
fn cut_row(words: &[(&str, usize)], table: &P2pTable, rows_of: &HashSet<u32>) -> Option<usize> {
    let columns = table.header.as_ref()?;
    let at = words
        .iter()
        .position(|(word, _)| text::gpu_number(word).is_some())?;
    let number = text::gpu_number(words[at].0)?;
    let before = words[..at].iter().all(|(word, _)| text::is_margin(word));
    (before && !rows_of.contains(&number) && columns.contains(&number)).then_some(at)
}

/// Parses a row, whose first word is its label.
fn row(words: &[(&str, usize)], line: usize) -> Result<P2pRow, Error> {
    let label = words.first().and_then(|(word, _)| text::gpu_number(word));
    let number =
        label.ok_or_else(|| Error::at(line, "expected a row that begins with GPU0, GPU1, ..."))?;
    let words = || words.iter().skip(1).map(|(word, _)| *word);
    let cells: Vec<P2pCell> = words().map_while(cell).collect();
    let then = words().nth(cells.len()).map(str::to_owned);
    Ok(P2pRow {
        line,
        number,
        cells,
        then,
    })
}

/// The option letter in `nvidia-smi topo -p2p r`. Of `rw` it is the first.
fn asked(words: &[(&str, usize)]) -> Option<char> {
    let pair = words.windows(2).find(|pair| pair[0].0 == "-p2p")?;
    pair[1]
        .0
        .chars()
        .next()
        .filter(|letter| "rwnap".contains(*letter))
}

/// The numbers of the devices in the order of the columns. Without a header, the order of the rows
/// is used, and each row's X must be in the matching column.
fn columns(table: &P2pTable) -> Result<Vec<u32>, Error> {
    let columns = table
        .header
        .clone()
        .unwrap_or_else(|| table.rows.iter().map(|row| row.number).collect());
    if columns.len() > MAX_DEVICES {
        return Err(Error::at(
            table.line,
            format!("{} rows: expected at most {MAX_DEVICES}", columns.len()),
        ));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = columns.iter().find(|number| !seen.insert(**number)) {
        let what = if table.header.is_some() {
            "column"
        } else {
            "row"
        };
        return Err(Error::at(
            table.line,
            format!("a second {what} is called GPU{twice}: expected each once"),
        ));
    }
    Ok(columns)
}

/// The states of all cells except those on the diagonal.
fn peer_access(table: &P2pTable, columns: &[u32]) -> Result<Vec<PeerAccess>, Error> {
    let mut row_of = vec![None; columns.len()];
    for row in &table.rows {
        let name = format!("GPU{}", row.number);
        let Some(i) = columns.iter().position(|&number| number == row.number) else {
            return Err(Error::at(
                row.line,
                format!("row {name} has no column of that name in the header"),
            ));
        };
        if row_of[i].replace(row).is_some() {
            return Err(Error::at(
                row.line,
                format!("a second row is called {name}: expected each once"),
            ));
        }
    }
    let mut access = Vec::new();
    for (i, row) in row_of.into_iter().enumerate() {
        let Some(row) = row else {
            let what = format!(
                "the matrix ends, but row GPU{} is missing: expected a row for every column",
                columns[i]
            );
            return Err(Error::at(table.last_line, what));
        };
        read_row(i, row, columns, &mut access)?;
    }
    Ok(access)
}

fn read_row(
    i: usize,
    row: &P2pRow,
    columns: &[u32],
    access: &mut Vec<PeerAccess>,
) -> Result<(), Error> {
    let wrong = |j: usize, what: String| {
        Err(Error::at(
            row.line,
            format!("row GPU{}, column GPU{}: {what}", row.number, columns[j]),
        ))
    };
    for j in 0..columns.len() {
        match row.cells.get(j) {
            Some(P2pCell::Own) if i == j => {}
            Some(P2pCell::State(_)) if i == j => {
                return wrong(j, "a state: expected X on the diagonal".to_owned());
            }
            Some(P2pCell::Own) => return wrong(j, format!("X off the diagonal: {EXPECTED}")),
            Some(&P2pCell::State(status)) => {
                access.push(PeerAccess::new(
                    DeviceId(i as u32),
                    DeviceId(j as u32),
                    status,
                ));
            }
            None => {
                let word = row
                    .then
                    .as_ref()
                    .map(|word| format!("unknown state `{word}`"));
                return wrong(
                    j,
                    format!(
                        "{}: {EXPECTED}",
                        word.unwrap_or("the row ends here".to_owned())
                    ),
                );
            }
        }
    }
    if row.cells.len() > columns.len() {
        let what = format!(
            "row GPU{} has more states than the matrix has columns",
            row.number
        );
        return Err(Error::at(
            row.line,
            format!("{what}: expected {}", columns.len()),
        ));
    }
    Ok(())
}
