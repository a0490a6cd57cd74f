//! Text as lines of cells under a header.

use std::collections::HashSet;

use csv::{ReaderBuilder, StringRecord};

use crate::error::Error;

/// Where comments may stand: lines that begin with `#`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// Above the header only.
    AboveHeader,
    /// Above the header and between rows.
    Anywhere,
}

/// The most columns of a table, and the most separators on one of its lines.
pub const MAX_COLUMNS: usize = 8192;

/// The most comments above a header that are kept.
const MOST_COMMENTS: usize = 1000;

/// A table as it was read: a header, and rows of text.
#[derive(Clone, Debug)]
pub struct Sheet<'t> {
    comments: Vec<&'t str>,
    header: SheetHeader,
    cells: Cells,
    rows: Vec<RowEnd>,
}

/// The text of all cells behind one another. A record each, as `csv` has them, would need more than a hundred times the
/// memory of rows with little in them.
#[derive(Clone, Debug)]
struct Cells {
    text: String,
    /// Where each cell ends.
    ends: Vec<u32>,
}

impl Cells {
    /// No cells, with room for those of a text.
    fn of(body: &str, is_separator: impl Fn(u8) -> bool) -> Self {
        let cells = body.bytes().filter(|&byte| is_separator(byte)).count();
        Self {
            text: String::with_capacity(body.len()),
            ends: Vec::with_capacity(cells + 1),
        }
    }

    fn get(&self, at: usize) -> Option<&str> {
        let start = at
            .checked_sub(1)
            .map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start as usize..*self.ends.get(at)? as usize)
    }

    fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends
            .push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }
}

/// A row of a sheet: its line, and the number of cells up to its last.
#[derive(Clone, Copy, Debug)]
struct RowEnd {
    line: u32,
    end: u32,
}

/// The names of the columns, in lower case.
#[derive(Clone, Debug)]
struct SheetHeader {
    line: usize,
    names: Vec<String>,
    unnamed: Option<Unnamed>,
}

/// A column that some rows have and the header does not name.
#[derive(Clone, Debug)]
struct Unnamed {
    name: &'static str,
    /// Its place among the cells of such a row.
    at: usize,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'s> {
    line: usize,
    header: &'s SheetHeader,
    cells: &'s Cells,
    /// The number of its first cell, and how many it has.
    first: usize,
    len: usize,
}

/// Splits off the comments and empty lines at the top of a text. Returns the rest, the number of
/// lines split off, and the comments without their `#`: the first 1,000. O(length).
#[must_use]
pub fn below_comments(text: &str) -> (&str, usize, Vec<&str>) {
    let mut rest = text.trim_start_matches('\u{feff}');
    let (mut skipped, mut comments) = (0, Vec::new());
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        match line.strip_prefix('#') {
            Some(comment) if comments.len() < MOST_COMMENTS => comments.push(comment.trim()),
            Some(_) => {}
            None if line.is_empty() => {}
            None => break,
        }
        skipped += 1;
        rest = after;
    }
    (rest, skipped, comments)
}

/// The first line, counted from 1, at whose end a quoted field is still open. O(length).
///
/// CSV allows line breaks within quotes. Then, after one forgotten quote, all lines up to the next
/// quote would be read as one field, and rows would vanish without an error.
fn open_quote(body: &str, comments: Comments) -> Option<usize> {
    for (at, line) in body.lines().enumerate() {
        if comments == Comments::Anywhere && line.starts_with('#') {
            continue;
        }
        let (mut is_quoted, mut may_open) = (false, true);
        for byte in line.bytes() {
            match byte {
                // A doubled quote closes and opens.
                b'"' if is_quoted => (is_quoted, may_open) = (false, true),
                b'"' if may_open => is_quoted = true,
                // A lone carriage return ends a line for CSV.
                b'\r' if is_quoted => break,
                _ => may_open = matches!(byte, b',' | b'\t' | b'\r'),
            }
        }
        if is_quoted {
            return Some(at + 1);
        }
    }
    None
}

impl<'t> Sheet<'t> {
    /// Reads a text. `expected` names the contents of the table, for the error about an empty text.
    ///
    /// # Errors
    /// A quoted field does not end on its line, the text has no header, or a line has more than [`MAX_COLUMNS`] separators.
    ///
    /// # Complexity
    /// O(length) in time, at most ten times the length in memory.
    pub fn read(text: &'t str, comments: Comments, expected: &str) -> Result<Self, Error> {
        let (body, skipped, _) = below_comments(text);
        if let Some(line) = open_quote(body, comments) {
            let what = "a quote is not closed on its line: expected fields without line breaks";
            return Err(Error::at(skipped + line, what));
        }
        Self::of_cells(text, comments, expected, b',', &mut ReaderBuilder::new())
    }

    /// Reads a text with `|` between the cells, in which a quote is a character like any other, as
    /// Slurm's tools write with `--parsable2`. Comments stand above the header only.
    ///
    /// # Errors
    /// The text has no header, or a line has more than [`MAX_COLUMNS`] separators.
    ///
    /// # Complexity
    /// O(length).
    pub fn read_bars(text: &'t str, expected: &str) -> Result<Self, Error> {
        let mut reader = ReaderBuilder::new();
        reader.delimiter(b'|').quoting(false);
        Self::of_cells(text, Comments::AboveHeader, expected, b'|', &mut reader)
    }

    /// Reads a text with tabs between the cells. Cells may stand in quotes.
    ///
    /// # Errors
    /// A quoted field does not end on its line, the text has no header, or a line has more than [`MAX_COLUMNS`] separators.
    ///
    /// # Complexity
    /// O(length).
    pub fn read_tabs(text: &'t str, comments: Comments, expected: &str) -> Result<Self, Error> {
        let (body, skipped, _) = below_comments(text);
        if let Some(line) = open_quote(body, comments) {
            let what = "a quote is not closed on its line: expected fields without line breaks";
            return Err(Error::at(skipped + line, what));
        }
        let mut reader = ReaderBuilder::new();
        reader.delimiter(b'\t');
        Self::of_cells(text, comments, expected, b'\t', &mut reader)
    }

    fn of_cells(
        text: &'t str,
        comments: Comments,
        expected: &str,
        separator: u8,
        reader: &mut ReaderBuilder,
    ) -> Result<Self, Error> {
        let (body, skipped, above) = below_comments(text);
        check_lines(body, skipped, separator)?;
        let mut reader = reader
            // Rows of another length are an error of `check`, with the line as people count it.
            .flexible(true)
            .has_headers(false)
            .comment((comments == Comments::Anywhere).then_some(b'#'))
            .from_reader(body.as_bytes());
        // Counted before they are read, so that nothing grows by doubling. A lone carriage return ends a line for CSV.
        let is_end = |byte| matches!(byte, b'\n' | b'\r');
        let mut cells = Cells::of(body, |byte| byte == separator || is_end(byte));
        let mut rows = Vec::with_capacity(body.bytes().filter(|&byte| is_end(byte)).count() + 1);
        let mut header = None;
        let mut record = StringRecord::new();
        while reader
            .read_record(&mut record)
            .map_err(|error| Error::of_table(error.to_string()))?
        {
            // Lines of blanks are empty too.
            if record.len() > 1 || record.iter().any(|cell| !cell.trim().is_empty()) {
                let line = skipped + line_of(&record, body, comments);
                if header.is_none() {
                    header = Some(SheetHeader::of(line, &record));
                    continue;
                }
                record.iter().for_each(|cell| cells.push(cell));
                // `check_lines` has refused texts with more lines or cells.
                let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
                rows.push(RowEnd {
                    line: short(line),
                    end: short(cells.ends.len()),
                });
            }
        }
        let Some(header) = header else {
            return Err(Error::of_table(format!("empty: expected {expected}")));
        };
        Ok(Self {
            comments: above,
            header,
            cells,
            rows,
        })
    }

    /// The comments above the header, without their `#`.
    #[must_use]
    pub fn comments(&self) -> &[&'t str] {
        &self.comments
    }

    /// The names of the columns, in lower case.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.header.names
    }

    /// An error of the header.
    #[must_use]
    pub fn header_error(&self, what: impl Into<String>) -> Error {
        Error::at(self.header.line, what)
    }

    /// Accepts rows with one cell more than the header. The additional cell is just before the
    /// column `before`, and its column is called `name`. If there is no column `before`, nothing
    /// changes.
    pub fn accept_unnamed(&mut self, name: &'static str, before: &str) {
        let at = self.header.names.iter().position(|name| name == before);
        self.header.unnamed = at.map(|at| Unnamed { name, at });
    }

    /// Checks the header and the number of cells in each row.
    ///
    /// # Errors
    /// With the line:
    ///
    /// - a column is not in `known`; an empty `known` allows all columns;
    /// - a column occurs twice;
    /// - a column of `needed` is missing;
    /// - a row has fewer or more cells than the header.
    pub fn check(&self, needed: &[&str], known: &[&str]) -> Result<(), Error> {
        let names = &self.header.names;
        let mut unknown = names
            .iter()
            .filter(|name| !known.is_empty() && !known.contains(&name.as_str()));
        let mut missing = needed
            .iter()
            .filter(|name| !names.iter().any(|candidate| candidate == *name));
        let mut seen = HashSet::new();
        let mut twice = (0..names.len()).filter(|&at| !seen.insert(&names[at]));
        // A column under a wrong name is both: then the message has both names.
        let what = match (missing.next(), unknown.next(), twice.next()) {
            (Some(missing), Some(unknown), _) => format!(
                "no column `{missing}`, but a column `{unknown}`: expected {}",
                known.join(", ")
            ),
            (Some(missing), None, None) => {
                format!("no column `{missing}`: expected {}", needed.join(", "))
            }
            (None, Some(unknown), _) => {
                format!("column `{unknown}`: expected {}", known.join(", "))
            }
            (_, None, Some(at)) => format!("two columns `{}`: expected one", names[at]),
            (None, None, None) => String::new(),
        };
        if !what.is_empty() {
            return Err(Error::at(self.header.line, what));
        }
        for row in self.rows() {
            let (cells, columns) = (row.len, names.len());
            if cells != columns && !row.has_unnamed() {
                let hint = if cells < columns {
                    "; is the row cut off?"
                } else {
                    ""
                };
                let what =
                    format!("{cells} fields: expected {columns}, as many as the header has{hint}");
                return Err(Error::at(row.line, what));
            }
        }
        Ok(())
    }

    /// The rows, from top to bottom, without blank lines.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.end));
        self.rows.iter().zip(starts).map(|(row, start)| Row {
            line: row.line as usize,
            header: &self.header,
            cells: &self.cells,
            first: start as usize,
            len: (row.end - start) as usize,
        })
    }
}

impl SheetHeader {
    fn of(line: usize, names: &StringRecord) -> Self {
        Self {
            line,
            names: names
                .iter()
                .map(|name| name.trim().to_ascii_lowercase())
                .collect(),
            unnamed: None,
        }
    }
}

/// Checks that no line has more separators than a table may have columns, and that the text can be counted in 32 bits.
/// O(length).
fn check_lines(body: &str, skipped: usize, separator: u8) -> Result<(), Error> {
    if u32::try_from(skipped.saturating_add(body.len())).is_err() {
        let what = format!("{} bytes: expected fewer than {}", body.len(), u32::MAX);
        return Err(Error::of_table(what));
    }
    for (line, at) in body.split('\n').zip(skipped + 1..) {
        let separators = line.bytes().filter(|&byte| byte == separator).count();
        if separators > MAX_COLUMNS {
            let what = format!("{separators} separators: expected at most {MAX_COLUMNS} on a line");
            return Err(Error::at(at, what));
        }
    }
    Ok(())
}

/// The line of a record, counted from 1. The reader's position is where it began to look for the
/// record, so empty lines and comments may come before the record.
fn line_of(record: &StringRecord, body: &str, comments: Comments) -> usize {
    let Some(at) = record.position() else {
        return 1;
    };
    let rest = body.get(at.byte() as usize..).unwrap_or_default();
    let may_be_comment = comments == Comments::Anywhere;
    let skipped = rest
        .split_inclusive('\n')
        .take_while(|line| line.trim_end().is_empty() || may_be_comment && line.starts_with('#'));
    at.line() as usize + skipped.count()
}

impl<'s> Row<'s> {
    /// Its line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The text in a column, without blanks around it; `None` if there is no such column, or it is
    /// empty. O(columns).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'s str> {
        let unnamed = self.header.unnamed.as_ref().filter(|_| self.has_unnamed());
        let at = match unnamed {
            Some(device) if device.name == name => device.at,
            _ => {
                let at = self
                    .header
                    .names
                    .iter()
                    .position(|candidate| candidate == name)?;
                // Columns behind the unnamed cell are one further to the right.
                at + usize::from(unnamed.is_some_and(|device| at >= device.at))
            }
        };
        let cell = self.cells.get(self.first + at).filter(|_| at < self.len);
        cell.map(str::trim).filter(|text| !text.is_empty())
    }

    fn has_unnamed(&self) -> bool {
        self.header.unnamed.is_some() && self.len == self.header.names.len() + 1
    }

    /// An error of this row.
    #[must_use]
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::at(self.line, what)
    }
}
