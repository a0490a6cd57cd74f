//! Comma-separated values with a header, comments above it, and the line of each row.

use csv::{ReaderBuilder, StringRecord};

use super::{bad_line, bad_workload};
use crate::error::Error;

/// A file as it is read.
pub(super) struct Sheet<'t> {
    /// What the comments above the header say, without their `#`.
    pub(super) comments: Vec<&'t str>,
    header: Header,
    rows: Vec<(usize, StringRecord)>,
}

/// The names of the columns, in small letters.
pub(super) struct Header {
    line: usize,
    names: Vec<String>,
}

/// A row.
pub(super) struct Row<'s> {
    /// Its first line, counted from 1.
    pub(super) line: usize,
    header: &'s Header,
    cells: &'s StringRecord,
}

/// The text without comments and empty lines at the top; how many lines these are; and the comments.
pub(super) fn below_comments(text: &str) -> (&str, usize, Vec<&str>) {
    let mut rest = text.trim_start_matches('\u{feff}');
    let (mut skipped, mut comments) = (0, Vec::new());
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        match line.strip_prefix('#') {
            Some(comment) => comments.push(comment.trim()),
            None if line.is_empty() => {}
            None => break,
        }
        skipped += 1;
        rest = after;
    }
    (rest, skipped, comments)
}

/// The first line, counted from 1, at whose end a quoted field is still open: else one forgotten quote would take the lines
/// below it, up to the next quote, for one field. O(length).
fn open_quote(body: &str) -> Option<usize> {
    let (mut line, mut is_quoted, mut may_open) = (1, false, true);
    for byte in body.bytes() {
        match byte {
            b'\n' | b'\r' if is_quoted => return Some(line),
            // A doubled quote closes and opens.
            b'"' if is_quoted => (is_quoted, may_open) = (false, true),
            b'"' if may_open => is_quoted = true,
            _ => may_open = matches!(byte, b',' | b'\n' | b'\r'),
        }
        line += usize::from(byte == b'\n');
    }
    is_quoted.then_some(line)
}

impl<'t> Sheet<'t> {
    /// Reads all of it. Every row has as many cells as the header, and is a line.
    pub(super) fn read(text: &'t str, expected: &str) -> Result<Self, Error> {
        let (body, skipped, comments) = below_comments(text);
        if let Some(line) = open_quote(body) {
            let what = "a quote opens and does not close on its line: expected fields without line breaks";
            return Err(bad_line(skipped + line, what));
        }
        let mut reader = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(body.as_bytes());
        let mut records = Vec::new();
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(bad_workload)? {
            let (line, byte) = record.position().map_or((1, 0), |at| (at.line() as usize, at.byte() as usize));
            let ends = body.as_bytes()[byte.min(body.len())..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
            let line = skipped + line + ends.filter(|byte| **byte == b'\n').count();
            if record.len() > 1 || record.iter().any(|cell| !cell.trim().is_empty()) {
                records.push((line, record.clone()));
            }
        }
        let mut records = records.into_iter();
        let Some((line, names)) = records.next() else {
            return Err(bad_workload(format_args!("nothing in it: expected {expected}")));
        };
        let header = Header { line, names: names.iter().map(|name| name.trim().to_ascii_lowercase()).collect() };
        let sheet = Self { comments, header, rows: records.collect() };
        sheet.rows.iter().try_for_each(|(line, cells)| sheet.header.counts(*line, cells.len()))?;
        Ok(sheet)
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { line: *line, header: &self.header, cells })
    }
}

impl Header {
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Refuses columns that nobody knows or that are there twice, and their absence where they are needed.
    pub(super) fn check(&self, needed: &[&str], known: &[&str]) -> Result<(), Error> {
        let wrong = |what: String| Err(bad_line(self.line, what));
        if let Some(name) = self.names.iter().find(|name| !known.contains(&name.as_str())) {
            return wrong(format!("column `{name}`: expected {}", known.join(", ")));
        }
        if let Some((_, name)) = self.names.iter().enumerate().find(|(i, name)| self.names[..*i].contains(name)) {
            return wrong(format!("two columns `{name}`: expected one"));
        }
        let has = |name: &&&str| !self.names.iter().any(|own| own == **name);
        needed.iter().find(has).map_or(Ok(()), |name| wrong(format!("no column `{name}`: expected one")))
    }

    fn counts(&self, line: usize, cells: usize) -> Result<(), Error> {
        let columns = self.names.len();
        match cells {
            _ if cells == columns => Ok(()),
            _ => Err(bad_line(line, format_args!("{cells} fields: expected {columns}, as many as the header has"))),
        }
    }
}

impl<'s> Row<'s> {
    /// What stands in a column; none if it is not there or empty.
    pub(super) fn get(&self, name: &str) -> Option<&'s str> {
        let at = self.header.names.iter().position(|own| own == name)?;
        self.cells.get(at).map(str::trim).filter(|text| !text.is_empty())
    }

    /// What a column's word means, if there is one; an error names line and column.
    pub(super) fn read<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Error> {
        let wrong = |what| bad_line(self.line, format_args!("{name} {what}"));
        self.get(name).map(|text| read(text).map_err(wrong)).transpose()
    }

    /// The same where it must not be empty.
    pub(super) fn need<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Error> {
        self.read(name, read)?.ok_or_else(|| bad_line(self.line, format_args!("{name} is empty: expected a value")))
    }
}
