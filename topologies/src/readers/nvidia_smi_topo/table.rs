//! Finds the header and the rows in pasted text.

use std::collections::HashSet;

use mapa_core::MAX_DEVICES;

use crate::error::Error;
use crate::readers::text::{self, words};

use super::repair::{self, is_cell};

/// The most columns, and the most rows, that are read: the most devices, and as many cards.
const MOST_LABELS: usize = 2 * MAX_DEVICES;

/// The label of a column or row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// `GPU` and its number.
    Device(u32),
    /// Any other label: a network card.
    Card(String),
}

impl Label {
    fn device(word: &str) -> Option<Self> {
        text::gpu_number(word).map(Self::Device)
    }

    fn card(&self) -> Option<String> {
        match self {
            Self::Device(_) => None,
            Self::Card(name) => Some(name.clone()),
        }
    }

    /// The label as the tool prints it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Device(number) => format!("GPU{number}"),
            Self::Card(name) => name.clone(),
        }
    }
}

/// A column right of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AffinityColumn {
    Cpu,
    Numa,
    GpuNuma,
}

pub(super) struct TopoHeader {
    pub(super) line: usize,
    /// Words left of the first device: cards, or the end of a prompt. The rows show how many are
    /// cards.
    pub(super) before: Vec<Label>,
    pub(super) columns: Vec<Label>,
    /// The names of all cards in `columns`, and of possible cards in `before`.
    pub(super) cards: HashSet<String>,
    /// The affinity columns, with the character column at which each title begins.
    pub(super) affinities: Vec<(AffinityColumn, usize)>,
}

pub(super) struct TopoRow {
    pub(super) line: usize,
    pub(super) label: Label,
    /// The character column at which the label begins.
    pub(super) label_column: usize,
    /// The words after the label, with the character column at which each begins.
    pub(super) words: Vec<(String, usize)>,
    /// The cells after the label, split at tabs or pipes, including empty cells. Empty if the row
    /// has neither tabs nor pipes.
    pub(super) fields: Vec<String>,
}

pub(super) struct TopoTable {
    pub(super) header: Option<TopoHeader>,
    pub(super) rows: Vec<TopoRow>,
    /// Names of cards from the legend: `NIC0: mlx5_0`.
    pub(super) card_names: Vec<(String, String)>,
    pub(super) last_line: usize,
    /// Whether the output leaves direct links out: that of `topo -mp`.
    pub(super) is_pcie_only: bool,
}

/// Finds the matrix in `text`.
///
/// # Errors
/// No matrix, or more than one; more rows or columns than a machine can have.
pub(super) fn find(text: &str) -> Result<TopoTable, Error> {
    let mut table = TopoTable {
        header: None,
        rows: Vec::new(),
        card_names: Vec::new(),
        last_line: 0,
        is_pcie_only: false,
    };
    let mut legend = Legend::default();
    for (line, clean) in text::lines(text) {
        let words = words(&clean);
        legend.read(&clean);
        if table.continues(&clean, &words, line) {
            // A wrapped line is part of the one before.
        } else if let Some(header) = header(&clean, &words, line) {
            if table.header.is_some() || !table.rows.is_empty() {
                return Err(Error::at(
                    line,
                    "a second matrix begins here: expected the output for one machine",
                ));
            }
            if header.columns.len() > MOST_LABELS {
                return Err(Error::at(
                    line,
                    format!(
                        "{} columns: expected at most {MOST_LABELS}",
                        header.columns.len()
                    ),
                ));
            }
            table.header = Some(header);
        } else if let Some((label, at)) = row_label(&words, &table) {
            // Later steps compare every row with all others, and every word with all columns. The
            // limit bounds this work.
            if table.rows.len() == MOST_LABELS || words.len() > 2 * MOST_LABELS {
                let what = "more rows, or links in a row, than any machine has: expected the output for one machine";
                return Err(Error::at(line, what));
            }
            let label_column = words[at].1;
            let mut row = TopoRow {
                line,
                label,
                label_column,
                words: Vec::new(),
                fields: fields(&clean, label_column),
            };
            row.extend(&words[at + 1..]);
            table.rows.push(row);
        } else if let [(card, _), (name, _)] = words[..]
            && let Some(card) = card.strip_suffix(':')
            && table.card_names.len() < MOST_LABELS
        {
            table.card_names.push((card.to_owned(), name.to_owned()));
        }
        if !words.is_empty() {
            table.last_line = line;
        }
    }
    table.is_pcie_only = legend.is_pcie_only();
    if table.header.is_none() && table.rows.is_empty() {
        let expected = "expected the output of `nvidia-smi topo -m`, or a machine file, with `format = \"mapa-machine\"`";
        return Err(Error::new(format!("no matrix found: {expected}")));
    }
    Ok(table)
}

impl TopoRow {
    /// Adds words, with those split that are glued.
    fn extend(&mut self, words: &[(&str, usize)]) {
        let split = repair::split_cells(words);
        if split.len() > words.len() {
            let parts = |field: &String| -> Vec<String> {
                let parts = repair::split_cells(&[(field, 0)]);
                parts.iter().map(|(part, _)| (*part).to_owned()).collect()
            };
            self.fields = self.fields.iter().flat_map(parts).collect();
        }
        let owned = split
            .into_iter()
            .map(|(word, column)| (word.to_owned(), column));
        self.words.extend(owned);
    }
}

impl TopoTable {
    /// Takes a line that continues the header or the row on the line before it, as a terminal wraps them. Whether it
    /// does.
    fn continues(&mut self, line: &str, words: &[(&str, usize)], number: usize) -> bool {
        let Some(header) = self.header.as_mut().filter(|_| !words.is_empty()) else {
            return false;
        };
        let is_next = |last: usize| self.last_line == number - 1 && last <= self.last_line;
        let Some(row) = self.rows.last_mut() else {
            let is_title = |word: &str| {
                ["CPU", "NUMA", "GPU", "ID", "AFFINITY"]
                    .contains(&word.to_ascii_uppercase().as_str())
            };
            let is_label = |word: &str| {
                repair::labels(word).into_iter().all(|label| {
                    let is_card =
                        (label.starts_with("NIC") || label.starts_with("mlx")) && is_card(label);
                    let device = Label::device(label);
                    is_card || device.is_some_and(|device| !header.columns.contains(&device))
                })
            };
            let end = words
                .iter()
                .position(|(word, _)| is_title(word))
                .unwrap_or(words.len());
            let (labels, titles) = words.split_at(end);
            // `GPU7  X` is a row.
            let fits = labels.iter().all(|(word, _)| is_label(word))
                && titles.iter().all(|(word, _)| is_title(word));
            if !fits || !header.affinities.is_empty() || !is_next(header.line) {
                return false;
            }
            for (word, _) in labels {
                unglue(word, &mut header.columns);
            }
            header
                .cards
                .extend(header.columns.iter().filter_map(Label::card));
            header.affinities = affinities(line, titles);
            self.last_line = number;
            return true;
        };
        let columns = header.columns.len();
        let begins_with_cell = is_cell(words[0].0) || repair::split_cells(&words[..1]).len() > 1;
        let is_affinity = |word: &str| {
            let numbers = word
                .bytes()
                .all(|b| b.is_ascii_digit() || b"-,".contains(&b));
            numbers || word.eq_ignore_ascii_case("N/A")
        };
        let goes_on = if row.words.len() < columns {
            begins_with_cell && !line.contains('=')
        } else {
            row.words.len() == columns
                && words.len() <= 3
                && words.iter().all(|(word, _)| is_affinity(word))
        };
        if !goes_on || row.words.len() + words.len() > columns + 3 || !is_next(row.line) {
            return false;
        }
        // Columns of text mean nothing in a wrapped row.
        row.fields.clear();
        row.extend(words);
        self.last_line = number;
        true
    }
}

/// What the legend says of direct links.
#[derive(Default)]
struct Legend {
    /// Whether it explains the nearest of the host paths.
    has_pix: bool,
    /// Whether it explains direct links.
    has_nvlink: bool,
    /// Whether a command above says that only PCIe is shown.
    commanded: bool,
}

impl Legend {
    fn read(&mut self, line: &str) {
        let line = line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let explains = |word: &str| {
            let rest = line.strip_prefix(word);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        self.has_pix |= explains("PIX");
        self.has_nvlink |= explains("NV#");
        self.commanded |= line.contains("topo -mp") || line.contains("topo --matrix_pci");
    }

    /// `topo -m` explains NV# last, on every machine.
    fn is_pcie_only(&self) -> bool {
        !self.has_nvlink && (self.has_pix || self.commanded)
    }
}

/// The cells right of the label, split at pipes if there are any, otherwise at tabs.
fn fields(line: &str, label_column: usize) -> Vec<String> {
    let separator = if line.contains('|') { '|' } else { '\t' };
    let from = line
        .char_indices()
        .nth(label_column)
        .map_or(0, |(at, _)| at);
    let mut cells: Vec<String> = line[from..]
        .split(separator)
        .skip(1)
        .map(|cell| cell.trim().to_owned())
        .collect();
    if separator == '|' && line.trim_end().ends_with('|') {
        cells.pop();
    }
    cells
}

/// Parses a header: a run of labels that starts with a device and is not followed by link words.
pub(super) fn header(line: &str, words: &[(&str, usize)], number: usize) -> Option<TopoHeader> {
    let first = words
        .iter()
        .position(|(word, _)| leading_device(word).is_some())?;
    let labels = &words[first..];
    // "GPU0  X  NV1" is a row. In a header, another label or an affinity follows the first label.
    let second = labels.get(1).map(|(word, _)| *word);
    let glued = Label::device(labels[0].0).is_none();
    let tail = |word: &str| matches!(word.to_ascii_uppercase().as_str(), "CPU" | "NUMA");
    if !glued
        && !second.is_some_and(|word| leading_device(word).is_some() || tail(word) || is_card(word))
    {
        return None;
    }
    let before = words[..first].iter().filter(|(word, _)| is_card(word));
    let before: Vec<Label> = before
        .map(|(word, _)| Label::Card((*word).to_owned()))
        .collect();
    let mut columns = Vec::new();
    let mut end = labels.len();
    for (i, (word, _)) in labels.iter().enumerate() {
        // "GPU NUMA ID" begins with a GPU that has no number.
        if tail(word) || word.eq_ignore_ascii_case("GPU") {
            end = i;
            break;
        }
        unglue(word, &mut columns);
    }
    let cards = columns.iter().chain(&before);
    let cards = cards.filter_map(Label::card).collect();
    Some(TopoHeader {
        line: number,
        before,
        columns,
        cards,
        affinities: affinities(line, &labels[end..]),
    })
}

/// The device label at the beginning of a word, and the rest of the word. In `GPU0GPU1` the white
/// space between labels was lost.
fn leading_device(word: &str) -> Option<(Label, &str)> {
    let digits = word.strip_prefix("GPU")?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let rest = &digits[end..];
    // The rest must begin with a label too: "GPU0:" and "GPU0-3" are no labels.
    let is_label =
        rest.is_empty() || rest.starts_with("GPU") || rest.starts_with("NIC") || rest.contains('_');
    Label::device(&word[..word.len() - rest.len()])
        .filter(|_| is_label)
        .map(|label| (label, rest))
}

fn unglue(word: &str, columns: &mut Vec<Label>) {
    for label in repair::labels(word) {
        columns.push(Label::device(label).unwrap_or_else(|| Label::Card(label.to_owned())));
    }
}

/// Whether a word is the name of a network card, such as `NIC3`, `mlx5_0`, `rocep4s0f0` or
/// `hfi1_0`: a name with a number that is not a cell, range, time or prompt.
fn is_card(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        // An impossible number of links ("NV0") is a broken cell, not a card.
        && !word.strip_prefix("NV").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        && !is_cell(word)
        && Label::device(word).is_none()
}

fn affinities(line: &str, words: &[(&str, usize)]) -> Vec<(AffinityColumn, usize)> {
    let Some(&(_, from)) = words.first() else {
        return Vec::new();
    };
    let upper: String = line
        .chars()
        .skip(from)
        .map(|c| c.to_ascii_uppercase())
        .collect();
    let mut found = Vec::new();
    let mut note = |at: usize, kind| found.push((kind, from + upper[..at].chars().count()));
    for (at, _) in upper.match_indices("CPU") {
        note(at, AffinityColumn::Cpu);
    }
    for (at, _) in upper.match_indices("NUMA") {
        let gpu = upper[..at].trim_end().strip_suffix("GPU").map(str::len);
        note(
            gpu.unwrap_or(at),
            if gpu.is_some() {
                AffinityColumn::GpuNuma
            } else {
                AffinityColumn::Numa
            },
        );
    }
    found.sort_by_key(|&(_, column)| column);
    found
}

/// The label of a row, and its index among the words. The label is a device or one of the header's
/// labels, and a cell follows it.
fn row_label(words: &[(&str, usize)], table: &TopoTable) -> Option<(Label, usize)> {
    let known = |word: &str| match (Label::device(word), &table.header) {
        (Some(device), _) => Some(device),
        (None, Some(header)) => header
            .cards
            .contains(word)
            .then(|| Label::Card(word.to_owned())),
        // Without a header, a card's row differs from prose only by following a device's row.
        (None, None) => {
            (is_card(word) && !table.rows.is_empty()).then(|| Label::Card(word.to_owned()))
        }
    };
    let labelled = words.windows(2).enumerate().find_map(|(at, pair)| {
        let label = known(pair[0].0)?;
        // "X = Self" belongs to the legend.
        let legend = words.get(at + 2).is_some_and(|(word, _)| *word == "=");
        let is_cell = is_cell(pair[1].0) || repair::split_cells(&pair[1..]).len() > 1;
        (is_cell && !legend).then_some((label, at))
    });
    // A device's row is returned even if it is cut off or its first cell is unknown, so that it
    // causes an error at its own line.
    labelled.or_else(|| {
        let (at, label) = words
            .iter()
            .enumerate()
            .find_map(|(at, (word, _))| Some((at, Label::device(word)?)))?;
        let expected = table.header.is_some() && table.rows.iter().all(|row| row.label != label);
        expected.then_some((label, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(line: &str) -> Option<Vec<String>> {
        header(line, &words(line), 1).map(|header| header.columns.iter().map(Label::name).collect())
    }

    #[test]
    fn headers_are_told_from_rows() {
        assert_eq!(
            columns("\tGPU0\tGPU1\tmlx5_0\tCPU Affinity").unwrap(),
            ["GPU0", "GPU1", "mlx5_0"]
        );
        assert_eq!(columns("GPU0 CPU Affinity").unwrap(), ["GPU0"]);
        assert_eq!(
            columns("\t    GPU0GPU1GPU12mlx5_0\tmlx5_2\tCPU Affinity").unwrap(),
            ["GPU0", "GPU1", "GPU12", "mlx5_0", "mlx5_2"]
        );
        assert_eq!(
            columns("10:22:03 host1 NIC0 GPU0 GPU1").unwrap(),
            ["GPU0", "GPU1"],
            "what stands before is open"
        );
        for row in [
            "GPU0 X NV1",
            "GPU 0: Tesla",
            "GPU0: Tesla V100",
            "user@gpu01:~$ nvidia-smi",
            "NIC0 X",
            "",
        ] {
            assert_eq!(columns(row), None, "{row}");
        }
    }

    #[test]
    fn affinity_columns_are_found_in_any_spelling() {
        let kinds = |line: &str| {
            let header = header(line, &words(line), 1).unwrap();
            header
                .affinities
                .iter()
                .map(|&(kind, _)| kind)
                .collect::<Vec<_>>()
        };
        use AffinityColumn::{Cpu, GpuNuma, Numa};
        assert_eq!(
            kinds("GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID"),
            [Cpu, Numa, GpuNuma]
        );
        assert_eq!(
            kinds("GPU0 GPU1 CPU    Affinity        NUMA Affinity"),
            [Cpu, Numa]
        );
        assert_eq!(
            kinds("GPU0 GPU1 CPU AffinityNUMA AffinityGPU NUMA ID"),
            [Cpu, Numa, GpuNuma]
        );
        assert_eq!(kinds("GPU0 GPU1"), []);
    }
}
