//! Combines header and rows into a matrix of links, and checks every cell.

use std::collections::HashSet;

use mapa_core::{LinkClass, MAX_DEVICES};

use super::affinity::{self, DeviceRow};
use super::repair::{is_cell, is_own};
use super::table::{Label, TopoHeader, TopoRow, TopoTable};
use crate::error::Error;
use crate::machine::{Labels, Warning};
use crate::readers::infer::MOST_NVLINKS;

/// The links as printed: devices first, then network cards.
pub(super) struct TopoMatrix {
    pub(super) devices: Vec<DeviceRow>,
    pub(super) cards: Vec<String>,
    pub(super) warnings: Vec<Warning>,
    /// Whether the text uses the old word SOC for SYS.
    pub(super) says_soc: bool,
    /// Whether the output leaves direct links out: that of `topo -mp`.
    pub(super) is_pcie_only: bool,
    /// Whether the text has no header, so that its columns are those of its rows.
    is_headless: bool,
    /// Whether a row has more links than columns.
    is_misaligned: bool,
    /// The class of each pair, row by row. `None` on the diagonal, and if a card's cell is missing.
    cells: Vec<Option<LinkClass>>,
}

impl TopoMatrix {
    pub(super) fn new(table: TopoTable) -> Result<Self, Error> {
        let TopoTable {
            header,
            rows,
            card_names,
            last_line,
            is_pcie_only,
        } = table;
        let is_headless = header.is_none();
        let header = match header {
            Some(header) => with_leading_cards(header, &rows),
            None => header_from_rows(&rows)?,
        };
        check_labels(&header, &rows)?;
        let (columns, positions) = devices_first(&header);
        let size = MatrixSize {
            devices: count_devices(&columns, header.line)?,
            all: columns.len(),
        };
        let mut matrix = Self {
            devices: Vec::new(),
            cards: Vec::new(),
            warnings: Vec::new(),
            says_soc: says_soc(&rows),
            is_pcie_only,
            is_headless,
            is_misaligned: false,
            cells: vec![None; columns.len() * columns.len()],
        };
        let mut lines = vec![None; columns.len()];
        let mut missing = Vec::new();
        let mut devices = Vec::new();
        for (i, label) in columns.iter().enumerate() {
            let row = rows.iter().find(|row| row.label == *label);
            lines[i] = row.map(|row| row.line);
            if let Some(row) = row {
                matrix.read_row(i, row, &columns, &positions, size)?;
            }
            match label {
                Label::Device(number) => devices.push((*number, row)),
                Label::Card(name) => {
                    if row.is_none() {
                        missing.push(name.as_str());
                    }
                    let said = card_names
                        .iter()
                        .find(|(card, _)| card == name)
                        .map(|(_, name)| name.clone());
                    matrix.cards.push(
                        said.filter(|said| !matrix.cards.contains(said))
                            .unwrap_or_else(|| name.clone()),
                    );
                }
            }
        }
        matrix.devices = affinity::of_devices(&header, &devices, &mut matrix.warnings);
        matrix.complete(&devices, size, last_line.max(header.line))?;
        if !header.affinities.is_empty() {
            let bare = matrix.devices.iter().filter(|device| device.is_bare);
            let bare: Vec<String> = bare.map(|device| device.name.clone()).collect();
            matrix.warn_of_bare_rows(header.line, &bare);
        }
        matrix.warn_of_missing_rows(last_line, &missing);
        matrix.check_symmetry(&columns, &lines, size)?;
        Ok(matrix)
    }

    /// Fills in the pairs of devices of which neither has a row, if all devices are on one link switch: all printed pairs
    /// are joined by the same number of links, more in all than a device has.
    ///
    /// # Errors
    /// A row is missing, and the others do not show such a switch.
    fn complete(
        &mut self,
        devices: &[(u32, Option<&TopoRow>)],
        size: MatrixSize,
        line: usize,
    ) -> Result<(), Error> {
        let lost: Vec<usize> = (0..devices.len())
            .filter(|&i| devices[i].1.is_none())
            .collect();
        let Some(&first) = lost.first() else {
            return Ok(());
        };
        let name = |i: &usize| self.devices[*i].name.clone();
        let pairs = || (0..size.devices).flat_map(|b| (0..b).map(move |a| (a, b)));
        let mut told = pairs().filter_map(|(a, b)| self.class(a, b));
        let switched = told
            .next()
            .filter(|class| told.all(|other| other == *class));
        let is_switch = |class: &LinkClass| {
            let others = u32::try_from(size.devices - 1).unwrap_or(u32::MAX);
            let joined = devices.len() - lost.len();
            // A text that ends early is cut, and might end within the list of devices too.
            let joined = joined > lost.len();
            joined
                && matches!(class, LinkClass::Direct(n) if u32::from(*n).saturating_mul(others) > MOST_NVLINKS)
        };
        let Some(class) = switched.filter(is_switch) else {
            return Err(Error::at(
                line,
                format!(
                    "the matrix ends, but row {} is missing: expected a row for every column",
                    name(&first)
                ),
            ));
        };
        let what = format!(
            "the matrix ends without {} of {}: all other pairs are {}, so these devices are on the same switch",
            if lost.len() == 1 {
                "the row"
            } else {
                "the rows"
            },
            lost.iter().map(name).collect::<Vec<_>>().join(", "),
            Labels::default().print(class)
        );
        for &b in &lost {
            for &a in lost.iter().filter(|&&a| a < b) {
                self.cells[a * size.all + b] = Some(class);
            }
        }
        self.warn(line, what);
        Ok(())
    }

    /// The printed class of a pair, from the row of either.
    pub(super) fn class(&self, a: usize, b: usize) -> Option<LinkClass> {
        let n = self.len();
        self.cells[a * n + b].or(self.cells[b * n + a])
    }

    /// The number of devices and cards.
    pub(super) fn len(&self) -> usize {
        self.cells.len().isqrt()
    }

    fn warn(&mut self, line: usize, what: String) {
        self.warnings.push(Warning {
            line: Some(line),
            what,
        });
    }

    /// Warns of devices whose rows end without an affinity, where the header has a column for it.
    fn warn_of_bare_rows(&mut self, line: usize, bare: &[String]) {
        if !bare.is_empty() {
            let what = format!(
                "no affinity in the rows of {}: their NUMA nodes are unknown",
                bare.join(", ")
            );
            self.warn(line, what);
        }
    }

    /// Warns of network cards that have a column and no row.
    fn warn_of_missing_rows(&mut self, line: usize, missing: &[&str]) {
        let rows = missing.join(", ");
        let (rows, are) = match missing.len() {
            0 => return,
            1 => (format!("row {rows}"), "is"),
            _ => (format!("rows {rows}"), "are"),
        };
        self.warn(
            line,
            format!("{rows} {are} missing: the links are taken from the devices' rows"),
        );
    }

    /// Reads the cells of row `i`.
    ///
    /// # Errors
    /// A missing or unknown cell between two devices. Cells of cards may be missing, with a
    /// warning.
    fn read_row(
        &mut self,
        i: usize,
        row: &TopoRow,
        columns: &[Label],
        positions: &[usize],
        size: MatrixSize,
    ) -> Result<(), Error> {
        let mut cut = false;
        let mut cells = cells(row, columns.len());
        let links = row.words.iter().take_while(|(word, _)| is_cell(word));
        let links = links.count();
        if links > columns.len() {
            let what = format!(
                "row {} has {links} links, but the matrix has {} columns",
                row.label.name(),
                columns.len()
            );
            // Which column is lost is not known, so only what is left of all cards is certain. Without a header the lost
            // columns may be devices.
            let devices_first = positions[..size.devices]
                .iter()
                .copied()
                .eq(0..size.devices);
            if self.is_headless || i >= size.devices || !devices_first {
                return Err(Error::at(row.line, what));
            }
            cells.truncate(size.devices);
            // All rows of a table are damaged alike.
            if !self.is_misaligned {
                self.warn(
                    row.line,
                    format!("{what}: in such rows those of network cards are left out"),
                );
            }
            self.is_misaligned = true;
        }
        for (j, column) in columns.iter().enumerate() {
            let between_devices = i < size.devices && j < size.devices;
            let word = cells.get(positions[j]).copied();
            let place = || format!("row {}, column {}", row.label.name(), column.name());
            let cell = match word {
                Some(word) if i == j && is_own(word) => continue,
                Some(word) if i == j && between_devices => {
                    return Err(Error::at(
                        row.line,
                        format!("{}: `{word}`: expected X on the diagonal", place()),
                    ));
                }
                Some(word) if between_devices && is_own(word) => {
                    return Err(Error::at(
                        row.line,
                        format!("{}: X off the diagonal: expected a link", place()),
                    ));
                }
                Some("") => Err(Error::new("the cell is empty: expected a link")),
                Some(word) => match Labels::default().parse(word) {
                    Ok(class) if between_devices && !class.is_host() && !class.is_direct() => {
                        Err(Error::new(format!(
                            "`{word}` does not join devices of one machine: expected a link"
                        )))
                    }
                    class => class,
                },
                None => Err(Error::new("the row ends here: expected a link")),
            };
            match cell {
                Ok(class) => self.cells[i * size.all + j] = Some(class),
                Err(error) if between_devices => {
                    return Err(Error::at(row.line, format!("{}: {error}", place())));
                }
                Err(error) if word.is_some_and(is_unknown_word) => {
                    self.warn(row.line, format!("{}: {error}; left out", place()));
                }
                Err(_) => cut = links <= columns.len(),
            }
        }
        if cut {
            self.warn(
                row.line,
                format!(
                    "row {} is cut short: some links of network cards are missing",
                    row.label.name()
                ),
            );
        }
        Ok(())
    }

    /// Checks that both rows of each pair have the same class.
    ///
    /// # Errors
    /// Two devices whose rows differ. If a card's row differs, a warning is added.
    fn check_symmetry(
        &mut self,
        columns: &[Label],
        lines: &[Option<usize>],
        size: MatrixSize,
    ) -> Result<(), Error> {
        for b in 0..size.all {
            for a in 0..b {
                let (Some(ab), Some(ba)) =
                    (self.cells[a * size.all + b], self.cells[b * size.all + a])
                else {
                    continue;
                };
                if ab == ba {
                    continue;
                }
                let (x, y) = (columns[a].name(), columns[b].name());
                let labels = Labels::default();
                let what = format!(
                    "{y} is joined to {x} by {}, but {x} to {y} by {}: expected a symmetric matrix",
                    labels.print(ba),
                    labels.print(ab)
                );
                let line = lines[b].or(lines[a]).unwrap_or_default();
                if b < size.devices {
                    return Err(Error::at(line, what));
                }
                self.warn(line, what);
            }
        }
        Ok(())
    }
}

/// The number of devices among the columns.
///
/// # Errors
/// There is none, or more than a machine can have.
fn count_devices(columns: &[Label], line: usize) -> Result<usize, Error> {
    let is_device = |label: &&Label| matches!(label, Label::Device(_));
    let devices = columns.iter().filter(is_device).count();
    if devices == 0 {
        return Err(Error::at(
            line,
            "the machine has no devices: expected columns GPU0, GPU1, ...",
        ));
    }
    if devices > MAX_DEVICES {
        return Err(Error::at(
            line,
            format!("{devices} devices: expected at most {MAX_DEVICES}"),
        ));
    }
    Ok(devices)
}

#[derive(Clone, Copy)]
struct MatrixSize {
    devices: usize,
    all: usize,
}

/// The words in a row's cells. If there are fewer links than columns, tabs or pipes may show which
/// cells are empty.
fn cells(row: &TopoRow, columns: usize) -> Vec<&str> {
    let links = row
        .words
        .iter()
        .take_while(|(word, _)| is_cell(word))
        .count();
    if links < columns
        && row.fields.len() >= columns
        && row.fields[..columns].iter().any(String::is_empty)
    {
        return row.fields[..columns].iter().map(String::as_str).collect();
    }
    row.words.iter().map(|(word, _)| word.as_str()).collect()
}

/// Whether a word is neither a link nor an affinity right of the matrix (`0-15,32-47`, `1`, `N/A`).
fn is_unknown_word(word: &str) -> bool {
    let is_affinity = word.is_empty()
        || word.eq_ignore_ascii_case("N/A")
        || word
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-,".contains(&b));
    !is_affinity && !is_cell(word)
}

/// Makes a header from the rows: the columns are assumed to be in the order of the rows.
///
/// # Errors
/// A row whose X is in another column.
fn header_from_rows(rows: &[TopoRow]) -> Result<TopoHeader, Error> {
    for (i, row) in rows.iter().enumerate() {
        let own = row.words.iter().position(|(word, _)| is_own(word));
        if own != Some(i) {
            let (name, expected) = (row.label.name(), i + 1);
            let found = own.map_or("it has none".to_owned(), |column| {
                format!("it is in column {}", column + 1)
            });
            let what = format!(
                "without a header, row {name} must have its X in column {expected}, but {found}"
            );
            return Err(Error::at(
                row.line,
                format!("{what}: expected a header, or all rows in order"),
            ));
        }
    }
    let columns = rows.iter().map(|row| row.label.clone()).collect();
    let line = rows.first().map_or(1, |row| row.line);
    Ok(TopoHeader {
        line,
        before: Vec::new(),
        columns,
        cards: HashSet::new(),
        affinities: Vec::new(),
    })
}

/// Adds the cards left of the first device to the columns. Their number is the position of the X in
/// that device's row.
fn with_leading_cards(mut header: TopoHeader, rows: &[TopoRow]) -> TopoHeader {
    let row = rows
        .iter()
        .find(|row| Some(&row.label) == header.columns.first());
    let cards = row
        .and_then(|row| row.words.iter().position(|(word, _)| is_own(word)))
        .unwrap_or(0);
    let from = header.before.len().saturating_sub(cards);
    header.columns.splice(0..0, header.before.drain(from..));
    header
}

/// Checks that every label appears once, and that every row has a column.
fn check_labels(header: &TopoHeader, rows: &[TopoRow]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    if let Some(twice) = header
        .columns
        .iter()
        .map(Label::name)
        .find(|name| !seen.insert(name.clone()))
    {
        return Err(Error::at(
            header.line,
            format!("two columns are called {twice}: expected each once"),
        ));
    }
    let mut rows_seen = HashSet::new();
    for row in rows {
        let name = row.label.name();
        if !seen.contains(&name) {
            return Err(Error::at(
                row.line,
                format!("row {name} has no column of that name in the header"),
            ));
        }
        if !rows_seen.insert(name.clone()) {
            return Err(Error::at(
                row.line,
                format!("a second row is called {name}: expected each once"),
            ));
        }
    }
    Ok(())
}

/// The columns with devices first, and the position of each in the text.
fn devices_first(header: &TopoHeader) -> (Vec<Label>, Vec<usize>) {
    let mut places: Vec<usize> = (0..header.columns.len()).collect();
    places.sort_by_key(|&i| matches!(header.columns[i], Label::Card(_)));
    (
        places.iter().map(|&i| header.columns[i].clone()).collect(),
        places,
    )
}

/// Whether the text has SOC in place of SYS, as old drivers print.
fn says_soc(rows: &[TopoRow]) -> bool {
    let says = |it: &str| {
        rows.iter()
            .any(|row| row.words.iter().any(|(word, _)| word == it))
    };
    says("SOC") && !says("SYS")
}
