//! The columns right of the matrix: which word of a row is the CPU affinity, which the NUMA node.
//!
//! The tool sets a tab behind every cell, and cells may be empty. In pasted text tabs are spaces, so a word behind
//! an empty cell lies below another title, or between two.

use super::repair::{self, is_cell};
use super::table::{AffinityColumn, Label, TopoHeader, TopoRow};
use crate::machine::Warning;

/// The columns at which a tab stops.
const TAB: usize = 8;

/// A device, with what its row says right of the matrix.
pub(super) struct DeviceRow {
    pub(super) name: String,
    /// The number in the device's name.
    pub(super) index: Option<u32>,
    pub(super) numa: Option<u32>,
    /// The CPU affinity as printed, if there is one.
    pub(super) cpus: Option<String>,
    /// Whether the row ends with the matrix.
    pub(super) is_bare: bool,
}

/// The rows of devices, with their affinities.
pub(super) fn of_devices(
    header: &TopoHeader,
    rows: &[(u32, Option<&TopoRow>)],
    warnings: &mut Vec<Warning>,
) -> Vec<DeviceRow> {
    let cells = header.columns.len();
    let found: Vec<[Option<&str>; 2]> = rows
        .iter()
        .map(|(_, row)| row.map_or([None; 2], |row| affinity(row, cells, header)))
        .collect();
    // The lists of CPUs that stand beside a NUMA node are whole.
    let mut lengths = found
        .iter()
        .filter(|[_, numa]| numa.is_some())
        .filter_map(|[cpus, _]| repair::first_length((*cpus)?));
    let length = lengths
        .next()
        .filter(|first| lengths.all(|other| other == *first));
    let has_lists = found.iter().any(|[cpus, _]| cpus.is_some_and(is_list));
    let has_numa = header
        .affinities
        .iter()
        .any(|&(kind, _)| kind == AffinityColumn::Numa);
    let mut misplaced = Vec::new();
    let devices = rows
        .iter()
        .zip(found)
        .map(|(&(number, row), [mut cpus, mut numa])| {
            let name = Label::Device(number).name();
            if let (Some(list), None, true) = (cpus, numa, has_numa)
                && let Some((list, node)) = repair::split_cpus(list, length)
            {
                (cpus, numa) = (Some(list), Some(node));
            }
            // One CPU, where others have lists, is a word of another column.
            if has_lists && cpus.is_some_and(|cpus| !is_list(cpus)) {
                misplaced.push(name.clone());
                cpus = None;
            }
            DeviceRow {
                name,
                index: Some(number),
                numa: numa.and_then(first_node),
                cpus: cpus.map(str::to_owned),
                is_bare: row.is_some_and(|row| row.words.len() == cells),
            }
        })
        .collect();
    if !misplaced.is_empty() {
        let what = format!(
            "the affinity of {} stands below no title: left out",
            misplaced.join(", ")
        );
        warnings.push(Warning {
            line: Some(header.line),
            what,
        });
    }
    devices
}

fn is_list(cpus: &str) -> bool {
    cpus.contains(['-', ','])
}

/// In "0,5-11" the first node has the processors, and the others have memory only. "0-1" is two nodes of equal
/// rank, so neither is used.
fn first_node(text: &str) -> Option<u32> {
    text.split(',').next().and_then(|first| first.parse().ok())
}

/// The CPU affinity and the NUMA node in a device's row with `cells` cells.
///
/// If there are as many words as columns, the words are in the order of the columns. Otherwise tabs or pipes show
/// the column of a word. Otherwise a word belongs to the title below which it begins, but for words that all lie where
/// the tabs of the tool would set them, and not all at the beginning of a title.
fn affinity<'a>(row: &'a TopoRow, cells: usize, header: &TopoHeader) -> [Option<&'a str>; 2] {
    // A row may have more links than the header has columns.
    let links = row.words.iter().take_while(|(word, _)| is_cell(word));
    let cells = cells.max(links.count());
    let words = row.words.get(cells..).unwrap_or_default();
    let kinds: Vec<AffinityColumn> = header.affinities.iter().map(|&(kind, _)| kind).collect();
    let fields = row.fields.iter().filter(|field| !field.is_empty()).count();
    let pairs: Vec<(AffinityColumn, &str)> = if words.len() == kinds.len() {
        let words = words.iter().map(|(word, _)| word.as_str());
        kinds.iter().copied().zip(words).collect()
    } else if fields == row.words.len() && row.fields.len() >= cells {
        in_order(
            &kinds,
            row.fields[cells..].iter().map(String::as_str).collect(),
        )
    } else if let Some(fields) = by_tab_stops(row, cells).filter(|_| !is_aligned(words, header)) {
        in_order(&kinds, fields)
    } else {
        let title = |column: usize| {
            let begun = header.affinities.iter().rev();
            let mut begun = begun.filter(|(_, start)| *start <= column);
            // Titles may be further right than what stands below them.
            begun.next().or(header.affinities.first())
        };
        words
            .iter()
            .filter_map(|(word, column)| Some((title(*column)?.0, word.as_str())))
            .collect()
    };
    let value = |wanted| {
        let given = |text: &str| !text.is_empty() && !text.eq_ignore_ascii_case("N/A");
        let mut pairs = pairs.iter();
        pairs
            .find(|(kind, text)| *kind == wanted && given(text))
            .map(|(_, text)| *text)
    };
    [value(AffinityColumn::Cpu), value(AffinityColumn::Numa)]
}

/// Whether every word begins where a title does.
fn is_aligned(words: &[(String, usize)], header: &TopoHeader) -> bool {
    let titles = &header.affinities;
    words
        .iter()
        .all(|(_, column)| titles.iter().any(|(_, start)| start == column))
}

/// Cells right of the matrix, each with its column.
fn in_order<'a>(
    kinds: &[AffinityColumn],
    mut right: Vec<&'a str>,
) -> Vec<(AffinityColumn, &'a str)> {
    // The tool prints an empty cell before the GPU's NUMA id.
    if kinds.last() == Some(&AffinityColumn::GpuNuma) && right.len() == kinds.len() + 1 {
        right.remove(kinds.len() - 1);
    }
    kinds.iter().copied().zip(right).collect()
}

/// The cells right of the matrix where spaces stand for tabs: the columns at which words begin and end say how many tabs
/// were between them. None if the cells of the matrix do not lie as tabs set them.
fn by_tab_stops(row: &TopoRow, cells: usize) -> Option<Vec<&str>> {
    let stop = |column: usize| column.checked_sub(row.label_column).map(|at| at / TAB);
    let mut end = stop(row.label_column + row.label.name().chars().count())?;
    let mut right = Vec::new();
    for (at, (word, column)) in row.words.iter().enumerate() {
        let begin = stop(*column)?;
        let tabs = begin.checked_sub(end)?;
        if at < cells {
            if tabs != 1 {
                return None;
            }
        } else {
            if tabs == 0 || !(*column - row.label_column).is_multiple_of(TAB) {
                return None;
            }
            right.extend((1..tabs).map(|_| ""));
            right.push(word.as_str());
        }
        end = stop(column + word.chars().count())?;
    }
    Some(right)
}
