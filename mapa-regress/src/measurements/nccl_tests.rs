//! The text output of nccl-tests and rccl-tests, of old and new versions.
//!
//! A run is a list of devices, a header that names the columns, rows, and lines that end it:
//!
//! ```text
//! # Using devices
//! #  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:07:00] NVIDIA H100 80GB HBM3
//! #  Rank  1 Group  0 Pid   4711 on      node1 device  1 [0000:0a:00] NVIDIA H100 80GB HBM3
//! #
//! #                                                              out-of-place                       in-place
//! #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
//! #        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
//!   1073741824     268435456     float     sum      -1   8000.0  134.22  134.22       0   8010.0  134.05  134.05       0
//! # Out of bounds values : 0 OK
//! # Avg bus bandwidth    : 134.135
//! ```
//!
//! The header decides which columns a row has. Versions differ in whether they have `redop` and
//! `root`, in the name of the last column (`error`, `res` or `#wrong`), in whether they measure
//! both in place and out of place, and in further columns. If a log has lost the name of the
//! program, size, count, `redop` and `root` identify the collective. A row begins with a size, a
//! count and a type. Everything else that logs and launchers write, on lines in between or before
//! each line, is skipped.

use super::measurement::{AtSize, Devices, Measurement, Rank};
use super::pci::PciPlace;
use super::words::{collective, gbps, none_wrong, refused};
use crate::error::Error;

/// See [`read_measurements`](super::read_measurements).
pub(super) fn read(text: &str) -> Result<Vec<Measurement>, Error> {
    let mut reader = LogReader::default();
    for (i, line) in text.lines().enumerate() {
        reader.line(i + 1, line)?;
    }
    reader.end()
}

#[derive(Default)]
struct LogReader {
    run: RunHeader,
    table: Option<ResultTable>,
    /// The ways of measuring (in place, out of place) that the line above a header names.
    label: MeasuredWays,
    /// The value of `CUDA_VISIBLE_DEVICES` for all later runs.
    exported: Option<Vec<String>>,
    done: Vec<Measurement>,
}

/// The lines of a run before its table.
#[derive(Default)]
struct RunHeader {
    op: Option<String>,
    /// The value of `CUDA_VISIBLE_DEVICES` for this command alone.
    visible: Option<Vec<String>>,
    /// The number of devices of a process.
    gpus: Option<usize>,
    /// Each rank with its number, its group and its line.
    ranks: Vec<(usize, Option<u32>, usize, Rank)>,
    begins: Option<usize>,
}

/// The ways of measuring that a table has.
#[derive(Clone, Copy, Default, PartialEq)]
enum MeasuredWays {
    #[default]
    Unknown,
    InPlace,
}

#[derive(Clone, Copy, PartialEq)]
enum LogCell {
    Bytes,
    Redop,
    Root,
    Busbw,
    /// The number of wrong results.
    Wrong,
    Other,
}

struct ResultTable {
    line: usize,
    cells: Vec<LogCell>,
    ways: MeasuredWays,
    /// The factor from the unit of the columns to GB/s.
    scale: f64,
    sizes: Vec<AtSize>,
    /// The collective that the columns of the last row that sends anything indicate.
    op: Option<&'static str>,
}

impl LogReader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Error> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let has = |word: &str| words.contains(&word);
        if has("algbw") && has("busbw") {
            return self.header(number, &words);
        }
        if line.contains("Out of bounds values") || line.contains("Avg bus bandwidth") {
            return self.footer(number, line);
        }
        if let Some(at) = (0..words.len()).find(|&at| is_rank(&words, at)) {
            return self.rank(number, &words[at..]);
        }
        if let Some((_, program)) = line.split_once("Collective test starting:") {
            self.run.op = Some(collective(program.trim()));
        } else if let Some(program) = words
            .iter()
            .find(|word| word.contains("_perf") && word.len() < 256)
            && !line.contains("Collective test concluded")
        {
            self.run.op = Some(collective(program));
            self.run.visible = visible(&words);
        } else if let Some(list) = visible(&words) {
            self.exported = Some(list);
        }
        let option = words
            .iter()
            .position(|word| matches!(*word, "nGpus" | "-g" | "--ngpus"));
        if let Some(count) = option.and_then(|at| words.get(at + 1)?.parse().ok()) {
            self.run.gpus = Some(count);
        }
        if line.contains("# nThread") || line.contains("Using devices") {
            self.begin(number)?;
        }
        if has("in-place") || has("out-of-place") {
            self.label = if has("out-of-place") {
                MeasuredWays::Unknown
            } else {
                MeasuredWays::InPlace
            };
        }
        match &mut self.table {
            Some(table) => table.row(number, &words),
            None => Ok(()),
        }
    }

    /// Begins a run. If the run before has not ended, that one was cut off.
    fn begin(&mut self, number: usize) -> Result<(), Error> {
        self.table
            .as_ref()
            .map_or(Ok(()), |table| Err(table.cut_off()))?;
        if self.run.ranks.is_empty() {
            self.run.begins.get_or_insert(number);
            return Ok(());
        }
        Err(self.run.no_table())
    }

    fn header(&mut self, number: usize, words: &[&str]) -> Result<(), Error> {
        self.table
            .as_ref()
            .map_or(Ok(()), |table| Err(table.cut_off()))?;
        self.table = Some(ResultTable::new(
            number,
            words,
            std::mem::take(&mut self.label),
        )?);
        Ok(())
    }

    fn footer(&mut self, number: usize, line: &str) -> Result<(), Error> {
        if let Some((_, count)) = line.split_once("Out of bounds values") {
            let count = count.split([':', ' ']).find(|word| !word.is_empty());
            let count = count.ok_or_else(|| {
                refused(
                    number,
                    "no count of values out of bounds: expected a number; is the text cut off?",
                )
            })?;
            if count == "0" {
                return self.close();
            }
            let what = format!(
                "{count} values were out of bounds: expected 0, as the collective had wrong results"
            );
            return Err(refused(number, what));
        }
        self.close()
    }

    /// Ends the present table, if there is one.
    fn close(&mut self) -> Result<(), Error> {
        let Some(table) = self.table.take() else {
            return Ok(());
        };
        if table.sizes.is_empty() {
            return Err(refused(
                table.line,
                "no known rows follow the header: expected size, count, type, ..",
            ));
        }
        let run = std::mem::take(&mut self.run);
        let line = run.ranks.first().map_or(table.line, |(.., line, _)| *line);
        let op = run.op.clone().or_else(|| table.op.map(str::to_owned));
        let devices = run.devices(self.exported.as_ref())?;
        let label = format!("line {line}");
        self.done.push(Measurement {
            label,
            line: Some(line),
            op,
            devices,
            sizes: table.sizes,
        });
        Ok(())
    }

    /// Reads a line that names the device of a rank, from the word `Rank` on.
    fn rank(&mut self, number: usize, words: &[&str]) -> Result<(), Error> {
        self.table
            .as_ref()
            .map_or(Ok(()), |table| Err(table.cut_off()))?;
        let wrong = |what: String| Err(refused(number, what));
        let after = |word: &str| {
            words
                .iter()
                .position(|known| *known == word)
                .and_then(|at| words.get(at + 1))
        };
        let (Some(rank), Some(device)) = (
            words.get(1).and_then(|rank| rank.parse::<usize>().ok()),
            after("device").or(after("->")),
        ) else {
            return wrong(
                "a rank without its device: expected `Rank N .. on HOST device N [PCI] NAME`; is \
                 the line cut off?"
                    .to_owned(),
            );
        };
        let Ok(device) = device.parse::<u32>() else {
            return wrong(format!("device `{device}`: expected a number"));
        };
        let place = words
            .iter()
            .find(|word| word.starts_with('['))
            .map(|word| word.trim_matches(['[', ']']));
        let pci = match place.map(|place| (place, PciPlace::parse(place))) {
            Some((place, None)) => {
                return wrong(format!(
                    "`[{place}]`: expected a place on PCI such as [0000:07:00] or [0x07]"
                ));
            }
            place => place.and_then(|(_, pci)| pci),
        };
        if self.run.ranks.iter().any(|(known, ..)| *known == rank) {
            return wrong(format!(
                "rank {rank} is named twice: expected the output of one program; was a build \
                 without MPI run under mpirun?"
            ));
        }
        let host = after("on").map(|host| (*host).to_owned());
        let group = after("Group").and_then(|group| group.parse().ok());
        self.run.ranks.push((
            rank,
            group,
            number,
            Rank {
                host,
                number: device,
                pci,
            },
        ));
        Ok(())
    }

    fn end(self) -> Result<Vec<Measurement>, Error> {
        self.table
            .as_ref()
            .map_or(Ok(()), |table| Err(table.cut_off()))?;
        if !self.run.ranks.is_empty() || (self.done.is_empty() && self.run.begins.is_some()) {
            return Err(self.run.no_table());
        }
        if self.done.is_empty() {
            let what = "no measurements: expected the output of nccl-tests or rccl-tests, their \
                JSON or CSV, or a CSV with the columns devices and gbps";
            return Err(refused(None, what));
        }
        Ok(self.done)
    }
}

/// Whether a line on the device of a rank begins at this word: `# Rank 0 ..`; in NCCL 1 `Rank 0
/// uses ..` and `# Device 0 -> ..`.
fn is_rank(words: &[&str], at: usize) -> bool {
    let is_number = words
        .get(at + 1)
        .is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let marked = at
        .checked_sub(1)
        .is_some_and(|before| words[before].ends_with('#'));
    let second = words.get(at + 2);
    is_number
        && match words[at] {
            "Rank" => marked || second == Some(&"uses"),
            "Device" => marked && second == Some(&"->"),
            _ => false,
        }
}

/// The devices in `CUDA_VISIBLE_DEVICES=..`, or in AMD's equivalent, if it is among these words.
fn visible(words: &[&str]) -> Option<Vec<String>> {
    let list = words
        .iter()
        .find_map(|word| word.split_once("_VISIBLE_DEVICES=").map(|(_, list)| list))?;
    let names = list
        .trim_matches(['"', '\'', ';'])
        .split(',')
        .map(|name| name.trim().to_owned());
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}

impl RunHeader {
    fn no_table(&self) -> Error {
        let line = self
            .ranks
            .first()
            .map(|(.., line, _)| *line)
            .or(self.begins);
        refused(
            line,
            "the run that begins here has no table: expected one; is the text cut off?",
        )
    }

    fn devices(mut self, exported: Option<&Vec<String>>) -> Result<Devices, Error> {
        let visible = self.visible.take().or_else(|| exported.cloned());
        if self.ranks.is_empty() {
            let Some(mut names) = visible else {
                return Ok(Devices::Unknown);
            };
            names.truncate(self.gpus.unwrap_or(usize::MAX));
            return Ok(Devices::Named(names));
        }
        self.ranks.sort_by_key(|(rank, ..)| *rank);
        let (_, group, ..) = self.ranks[0];
        for (i, (rank, its_group, line, _)) in self.ranks.iter().enumerate() {
            if *rank != i {
                return Err(refused(
                    *line,
                    format_args!("rank {i} is missing before rank {rank}"),
                ));
            }
            if *its_group != group {
                let what = "ranks in several groups, which ran side by side: expected one group (no NCCL_TESTS_SPLIT)";
                return Err(refused(*line, what));
            }
        }
        Ok(Devices::Ranks {
            ranks: self.ranks.into_iter().map(|(.., rank)| rank).collect(),
            visible,
        })
    }
}

impl ResultTable {
    fn new(line: usize, words: &[&str], ways: MeasuredWays) -> Result<Self, Error> {
        let wrong = |what: &str| Err(refused(line, what));
        let Some(start) = words
            .iter()
            .position(|word| matches!(word.trim_start_matches('#'), "size" | "bytes"))
        else {
            return wrong(
                "a header without `size`: expected size, count, type, .., time, algbw, busbw",
            );
        };
        let names = &words[start..];
        if !matches!(names, [_, "count" | "N", "type", ..]) {
            return wrong(
                "a header of another shape: expected size, count, type, .., time, algbw, busbw",
            );
        }
        let mut cells = vec![LogCell::Bytes];
        for name in &names[1..] {
            cells.push(match *name {
                "busbw" => LogCell::Busbw,
                "redop" | "op" => LogCell::Redop,
                "root" => LogCell::Root,
                "#wrong" => LogCell::Wrong,
                _ => LogCell::Other,
            });
            if *name == "timestamp" {
                // A day and a time.
                cells.push(LogCell::Other);
            }
        }
        match cells.iter().filter(|cell| **cell == LogCell::Busbw).count() {
            1 | 2 => Ok(Self {
                line,
                cells,
                ways,
                scale: 1.0,
                sizes: Vec::new(),
                op: None,
            }),
            _ => wrong("more than two columns `busbw`: expected one out of place, one in place"),
        }
    }

    fn cut_off(&self) -> Error {
        let what = "the table that begins here has no end: expected `# Out of bounds values` or \
            `# Avg bus bandwidth`; is the text cut off?";
        refused(self.line, what)
    }

    fn row(&mut self, number: usize, words: &[&str]) -> Result<(), Error> {
        if let Some(unit) = words
            .iter()
            .find(|word| word.starts_with('(') && word.ends_with("/s)"))
        {
            self.scale = match *unit {
                "(GB/s)" => 1.0,
                "(MB/s)" => 1e-3,
                unit => {
                    return Err(refused(
                        number,
                        format_args!("bandwidths in {unit}: expected (GB/s) or (MB/s)"),
                    ));
                }
            };
            return Ok(());
        }
        let Some(start) = words.windows(3).position(is_row) else {
            // Numbers alone are what is left of a row.
            if !words.is_empty() && words.iter().all(|word| word.parse::<f64>().is_ok()) {
                return Err(self.short(number, words.len()));
            }
            return Ok(());
        };
        let row = &words[start..];
        if row.len() < self.cells.len() {
            return Err(self.short(number, row.len()));
        }
        if row.len() > self.cells.len() {
            let what = format!(
                "a row of {} columns: expected the {} of the header on line {}",
                row.len(),
                self.cells.len(),
                self.line
            );
            return Err(refused(number, what));
        }
        let mut at = AtSize::default();
        let (mut seen, mut reduces, mut root) = (0, false, false);
        for (cell, word) in self.cells.iter().zip(row) {
            match cell {
                LogCell::Bytes => at.bytes = word.parse().ok(),
                LogCell::Redop => reduces = *word != "none",
                LogCell::Root => root = !word.starts_with('-'),
                LogCell::Wrong => none_wrong(word).map_err(|what| refused(number, what))?,
                LogCell::Busbw => {
                    let value = gbps(word, self.scale)
                        .map_err(|what| refused(number, format_args!("bus bandwidth {what}")))?;
                    let in_place = seen == 1 || self.ways == MeasuredWays::InPlace;
                    *(if in_place {
                        &mut at.in_place
                    } else {
                        &mut at.out_of_place
                    }) = value;
                    seen += 1;
                }
                LogCell::Other => {}
            }
        }
        self.op = collective_of(row, reduces, root).or(self.op);
        self.sizes.push(at);
        Ok(())
    }

    fn short(&self, number: usize, columns: usize) -> Error {
        let (all, line) = (self.cells.len(), self.line);
        refused(
            number,
            format_args!(
                "a row of {columns} columns: expected {all}, as in the header on line {line}; is \
                 the row cut off?"
            ),
        )
    }
}

/// The types of elements that the benchmarks know, and the bytes of each.
const TYPES: [(&str, u64); 16] = [
    ("char", 1),
    ("int", 4),
    ("int8", 1),
    ("uint8", 1),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("half", 2),
    ("float", 4),
    ("double", 8),
    ("bfloat16", 2),
    ("f8e4m3", 1),
    ("f8e5m2", 1),
    ("fp8_e4m3", 1),
    ("fp8_e5m2", 1),
];

/// The collective that prints such a row. `size` is the number of bytes of the whole message.
/// `count` is the number of elements of one rank's part, if the collective divides the message into
/// parts. `None` for a row that sends nothing.
fn collective_of(row: &[&str], reduces: bool, root: bool) -> Option<&'static str> {
    let (size, count): (u64, u64) = (row[0].parse().ok()?, row[1].parse().ok()?);
    let (_, bytes) = TYPES.iter().find(|(name, _)| *name == row[2])?;
    let in_parts = size != count.checked_mul(*bytes)?;
    (count > 0).then_some(match (reduces, root, in_parts) {
        (true, false, false) => "all_reduce",
        (true, false, true) => "reduce_scatter",
        (true, true, _) => "reduce",
        (false, true, false) => "broadcast",
        (false, true, true) => "gather or scatter",
        (false, false, false) => "sendrecv",
        (false, false, true) => "all_gather or alltoall",
    })
}

/// Whether a row begins here: a size, a count and a type.
fn is_row(words: &[&str]) -> bool {
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    is_count(words[0]) && is_count(words[1]) && TYPES.iter().any(|(name, _)| *name == words[2])
}
