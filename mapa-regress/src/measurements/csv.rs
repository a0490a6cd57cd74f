//! Tables: CSV of one's own, of rccl-tests (`-Z csv -x FILE`), and of Tartan.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{AtSize, Devices, Measurement, collective, gbps, none_wrong, refused};
use crate::error::Error;

/// Whose table it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// `devices,gbps`, and `op`, `bytes`, `label`.
    Own,
    /// `numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong`, or with `gpus` in
    /// place of the three.
    Rccl,
    /// `OP,GPU,Bandwidth`: the first so many GPUs.
    Tartan,
}

/// Whose table the first line that is not blank begins, if it begins any.
pub(super) fn shape(text: &str) -> Option<Shape> {
    let header =
        text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?.to_ascii_lowercase();
    let names: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let has = |name| names.contains(&name);
    match () {
        () if has("collective") && has("busbw") => Some(Shape::Rccl),
        () if names == ["op", "gpu", "bandwidth"] => Some(Shape::Tartan),
        () if names.len() > 1 && (has("devices") || has("gbps")) => Some(Shape::Own),
        () => None,
    }
}

pub(super) fn read(text: &str, shape: Shape) -> Result<Vec<Measurement>, Error> {
    if shape != Shape::Rccl && !text.ends_with('\n') {
        // Half a number is a number too.
        let line = text.lines().count();
        return Err(refused(line, "the last row has no line end: cut off? Expected one"));
    }
    let mut reader =
        ReaderBuilder::new().flexible(true).trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| malformed(&error))?;
    let header: Vec<String> = header.iter().map(str::to_ascii_lowercase).collect();
    check(&header, shape, line_at(text, 0))?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(&error))?;
        let line = record.position().map_or(0, |at| line_at(text, at.byte() as usize));
        // With MPI, rccl-tests write the number of nodes, and leave it out of the header.
        let nodes = usize::from(shape == Shape::Rccl && header.iter().any(|name| name == "ranks"));
        let extra = if record.len() == header.len() + nodes { nodes } else { 0 };
        if record.len() != header.len() + extra {
            let what =
                format_args!("a row of {} columns, where the header has {}: cut off?", record.len(), header.len());
            return Err(refused(line, what));
        }
        rows.push(Row { line, header: &header, record, extra }.measurement(shape)?);
    }
    if rows.is_empty() {
        return Err(refused(None, "a table without rows"));
    }
    Ok(if shape == Shape::Rccl { runs(rows) } else { rows })
}

fn malformed(error: &csv::Error) -> Error {
    refused(error.position().map(|at| at.line() as usize), error)
}

/// The line of the first row from this byte on, which may be that of a comment or of nothing.
fn line_at(text: &str, byte: usize) -> usize {
    let (before, after) = (&text.as_bytes()[..byte.min(text.len())], text.get(byte..).unwrap_or_default());
    let ended = before.iter().filter(|byte| **byte == b'\n').count();
    let skipped = after.lines().take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    ended + skipped.count() + 1
}

fn check(header: &[String], shape: Shape, line: usize) -> Result<(), Error> {
    let (needed, known): (&[&str], &[&str]) = match shape {
        Shape::Own => (&["devices", "gbps"], &["devices", "gbps", "op", "bytes", "label"]),
        Shape::Rccl => (&["collective", "size", "inplace", "busbw"], &[]),
        Shape::Tartan => (&[], &[]),
    };
    if let Some(missing) = needed.iter().find(|name| !header.iter().any(|known| known == *name)) {
        return Err(refused(line, format_args!("no column `{missing}`: expected {}", needed.join(", "))));
    }
    let strange = |name: &&String| !known.is_empty() && !known.contains(&name.as_str());
    if let Some(name) = header.iter().find(strange) {
        return Err(refused(line, format_args!("column `{name}`: expected {}", known.join(", "))));
    }
    if let Some(twice) = header.iter().enumerate().find_map(|(i, name)| header[..i].contains(name).then_some(name)) {
        return Err(refused(line, format_args!("two columns `{twice}`: expected one")));
    }
    Ok(())
}

struct Row<'h> {
    line: usize,
    header: &'h [String],
    record: StringRecord,
    /// Columns that the header lacks, before the ranks.
    extra: usize,
}

impl Row<'_> {
    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        refused(self.line, what)
    }

    /// What stands in a column; none if it is not there or empty.
    fn get(&self, name: &str) -> Option<&str> {
        let at = self.header.iter().position(|known| known == name)?;
        let ranks = self.header.iter().position(|known| known == "ranks").unwrap_or(usize::MAX);
        let at = if at >= ranks { at + self.extra } else { at };
        self.record.get(at).filter(|text| !text.is_empty())
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        let number =
            |text: &str| text.parse().map_err(|_| self.wrong(format_args!("{name} `{text}`: expected a whole number")));
        self.get(name).map(number).transpose()
    }

    fn gbps(&self, name: &str) -> Result<f64, Error> {
        let text = self.get(name).unwrap_or_default();
        let value = gbps(text, 1.0).map_err(|what| self.wrong(what))?;
        value.ok_or_else(|| self.wrong(format_args!("no bandwidth in column `{name}`")))
    }

    fn measurement(&self, shape: Shape) -> Result<Measurement, Error> {
        match shape {
            Shape::Own => self.own(),
            Shape::Rccl => self.rccl(),
            Shape::Tartan => self.tartan(),
        }
    }

    fn of(&self, label: Option<&str>, op: Option<&str>, devices: Devices, at: AtSize) -> Measurement {
        let label = label.map_or_else(|| format!("line {}", self.line), str::to_owned);
        Measurement { label, line: Some(self.line), op: op.map(collective), devices, sizes: vec![at] }
    }

    fn own(&self) -> Result<Measurement, Error> {
        let words = self.get("devices").unwrap_or_default();
        let names: Vec<&str> = words.split([' ', ';', ',', '\t']).filter(|name| !name.is_empty()).collect();
        let devices = match names[..] {
            [] => return Err(self.wrong("no devices: expected such as `0 3 4`, or `first 3`")),
            ["first", count] => {
                let count = count.parse();
                Devices::First(
                    count.map_err(|_| self.wrong(format_args!("devices `{words}`: expected such as `first 3`")))?,
                )
            }
            _ => Devices::Named(names.into_iter().map(str::to_owned).collect()),
        };
        let at = AtSize { bytes: self.number("bytes")?, out_of_place: Some(self.gbps("gbps")?), in_place: None };
        Ok(self.of(self.get("label"), self.get("op"), devices, at))
    }

    fn tartan(&self) -> Result<Measurement, Error> {
        let count = self.number("gpu")?.ok_or_else(|| self.wrong("no number of GPUs"))?;
        let at = AtSize { bytes: None, out_of_place: Some(self.gbps("bandwidth")?), in_place: None };
        Ok(self.of(None, self.get("op"), Devices::First(count as usize), at))
    }

    fn rccl(&self) -> Result<Measurement, Error> {
        // The nodes stand before the ranks.
        let ranks = self.header.iter().position(|name| name == "ranks");
        let nodes = ranks.filter(|_| self.extra > 0).and_then(|at| self.record.get(at));
        if let Some(nodes) = nodes.filter(|nodes| *nodes != "1") {
            return Err(self.wrong(format_args!("ranks on {nodes} nodes: expected one machine")));
        }
        let count = self.number(if ranks.is_some() { "ranks" } else { "gpus" })?;
        let count = count.ok_or_else(|| self.wrong("no number of ranks: expected a column `ranks` or `gpus`"))?;
        self.get("#wrong").map_or(Ok(()), none_wrong).map_err(|what| self.wrong(what))?;
        let value = self.gbps("busbw")?;
        let mut at = AtSize { bytes: self.number("size")?, ..AtSize::default() };
        match self.get("inplace") {
            Some("0") => at.out_of_place = Some(value),
            Some("1") => at.in_place = Some(value),
            _ => return Err(self.wrong("inplace: expected 0 or 1")),
        }
        Ok(self.of(None, self.get("collective"), Devices::First(count as usize), at))
    }
}

/// The rows of each run put together.
fn runs(rows: Vec<Measurement>) -> Vec<Measurement> {
    let mut runs: BTreeMap<(Option<String>, usize), Measurement> = BTreeMap::new();
    for mut row in rows {
        let Devices::First(count) = row.devices else { continue };
        match runs.get_mut(&(row.op.clone(), count)) {
            Some(run) => run.sizes.append(&mut row.sizes),
            None => drop(runs.insert((row.op.clone(), count), row)),
        }
    }
    runs.into_values().collect()
}
