//! Bandwidths of collectives, as their benchmarks report them.
//!
//! Text of nccl-tests and rccl-tests ([`nccl_tests`]), their JSON and CSV files, and tables of one's own
//! ([`read_measurements`] tells them apart). A reader says what was said and guesses nothing: which device of a machine a rank
//! was on is found out in [`samples`](crate::samples).

mod csv;
mod json;
mod nccl_tests;

use std::fmt;

use crate::error::{Error, ErrorKind};

/// One run of a benchmark, or one row of a table: who took part, and what bandwidth was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What messages call it: what its source calls it, or where it stands.
    pub label: String,
    /// The line on which it begins, from 1; none in JSON.
    pub line: Option<usize>,
    /// The collective in lower case, without what the name of its program ends with: `all_reduce`. Where a log has
    /// lost the name, what its columns tell, such as `all_gather or alltoall`; none if nothing tells.
    pub op: Option<String>,
    /// Who took part, in rank order.
    pub devices: Devices,
    /// What was reached, by message size, in the order of the source; never empty.
    pub sizes: Vec<AtSize>,
}

/// The bus bandwidth at one message size, GB/s (10^9 bytes a second) as nccl-tests define it; finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtSize {
    /// The size of the message, bytes, where it is told.
    pub bytes: Option<u64>,
    /// With the result in a buffer of its own; also the only figure of a source that does not tell the two apart.
    pub out_of_place: Option<f64>,
    /// With the result over the input.
    pub in_place: Option<f64>,
}

/// Who took part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Devices {
    /// So many, the first of the machine.
    First(usize),
    /// These, in rank order: ids, vendor's numbers, names, UUIDs or PCI addresses.
    Named(Vec<String>),
    /// What each rank ran on.
    Ranks {
        /// In rank order.
        ranks: Vec<Rank>,
        /// What `CUDA_VISIBLE_DEVICES`, or AMD's equal, let the program see, if it is told: the numbers of ranks count
        /// within it.
        visible: Option<Vec<String>>,
    },
    /// The source does not tell.
    Unknown,
}

/// The device that a rank ran on, as the benchmark says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The host, if it is told.
    pub host: Option<String>,
    /// The device's number, as the program counts: from 0 within what it can see.
    pub number: u32,
    /// Where the device is on PCI, if it is told.
    pub pci: Option<PciPlace>,
}

/// Where a device is on PCI. Older benchmarks name the bus alone, or leave the function out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciPlace {
    /// The domain, if it is told.
    pub domain: Option<u32>,
    /// The bus.
    pub bus: u32,
    /// The device on the bus, if it is told.
    pub device: Option<u32>,
}

/// Which figure of a run is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// The one with the result in a buffer of its own.
    #[default]
    OutOfPlace,
    /// The one with the result over the input.
    InPlace,
    /// The higher of both.
    Best,
}

impl Measurement {
    /// The peak bus bandwidth, GB/s: the highest over all message sizes. None if the source has no such column. What small
    /// messages reach is a matter of latency, so the peak is that of a large one, if any was sent.
    #[must_use]
    pub fn peak_gbps(&self, column: Column) -> Option<f64> {
        let figure = |at: &AtSize| match column {
            Column::OutOfPlace => at.out_of_place,
            Column::InPlace => at.in_place,
            Column::Best => at.out_of_place.into_iter().chain(at.in_place).reduce(f64::max),
        };
        self.sizes.iter().filter_map(figure).reduce(f64::max)
    }

    /// The largest message, bytes, if any size is told.
    #[must_use]
    pub fn largest_bytes(&self) -> Option<u64> {
        self.sizes.iter().filter_map(|at| at.bytes).max()
    }
}

impl PciPlace {
    /// `0x07`, `07:00`, `0000:07:00`, with or without a function behind a point.
    fn parse(text: &str) -> Option<Self> {
        let hex = |digits: &str| u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
        if let Some(bus) = text.strip_prefix("0x") {
            return Some(Self { domain: None, bus: hex(bus)?, device: None });
        }
        let place = text.split_once('.').map_or(text, |(place, _)| place);
        let parts: Vec<&str> = place.split(':').collect();
        match parts[..] {
            [bus, device] => Some(Self { domain: None, bus: hex(bus)?, device: Some(hex(device)?) }),
            [domain, bus, device] => {
                Some(Self { domain: Some(hex(domain)?), bus: hex(bus)?, device: Some(hex(device)?) })
            }
            _ => None,
        }
    }

    /// Whether `other`, a full address, is this place as far as it is told.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same = |told: Option<u32>, full: Option<u32>| told.is_none_or(|told| Some(told) == full);
        self.bus == other.bus && same(self.domain, other.domain) && same(self.device, other.device)
    }

    /// The place that a device's address means; a domain that is not written is 0.
    pub(crate) fn of_device(address: &str) -> Option<Self> {
        Self::parse(address.trim()).map(|place| Self { domain: Some(place.domain.unwrap_or(0)), ..place })
    }
}

impl fmt::Display for PciPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.domain, self.device) {
            (Some(domain), Some(device)) => write!(f, "{domain:04x}:{:02x}:{device:02x}", self.bus),
            (_, Some(device)) => write!(f, "{:02x}:{device:02x}", self.bus),
            _ => write!(f, "bus 0x{:02x}", self.bus),
        }
    }
}

/// Reads measurements of any kind that is known: what nccl-tests and rccl-tests print, also with log lines between and
/// prefixes before; the JSON file of nccl-tests (`-J`); the JSON and CSV files of rccl-tests (`-x`, `-Z`); Tartan's CSV
/// (`OP,GPU,Bandwidth`); and tables of one's own.
///
/// A table of one's own is CSV with a header. Its columns, in any order:
///
/// | column | |
/// |---|---|
/// | `devices` | who took part, in rank order: `0 3 4`, `0;3;4`, `"0,3,4"` in quotes, or `first 3` |
/// | `gbps` | the bus bandwidth, GB/s |
/// | `op` | optional: the collective, such as `all_reduce` |
/// | `bytes` | optional: the size of the message |
/// | `label` | optional: what messages call the row |
///
/// O(length).
///
/// ```
/// let text = "devices,gbps\n0 3,46.5\n0;3;4,47.1\n";
/// let measurements = mapa_regress::read_measurements(text)?;
/// assert_eq!(measurements[1].sizes[0].out_of_place, Some(47.1));
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// What is cut off (a row with too few columns, a run without its end), a bandwidth that is no number or negative, a run
/// whose results were wrong, units other than GB/s or MB/s, ranks in several groups, or nothing of a kind that is known.
/// The message names the line, or the place in the JSON document.
pub fn read_measurements(text: &str) -> Result<Vec<Measurement>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if json::is_json(text) {
        json::read(text)
    } else if let Some(shape) = csv::shape(text) {
        csv::read(text, shape)
    } else {
        nccl_tests::read(text)
    }
}

/// Why a text was refused, on this line if it has lines.
fn refused(line: impl Into<Option<usize>>, what: impl fmt::Display) -> Error {
    ErrorKind::BadFile { line: line.into(), what: what.to_string() }.into()
}

/// That a count of wrong results is none; `N/A` where nobody looked.
fn none_wrong(count: &str) -> Result<(), String> {
    if matches!(count, "0" | "N/A" | "n/a") || count.parse::<f64>() == Ok(0.0) {
        return Ok(());
    }
    Err(format!("{count} wrong results: what was measured is not the collective"))
}

/// A bus bandwidth in GB/s, `scale` of what is written; none for `N/A`.
fn gbps(text: &str, scale: f64) -> Result<Option<f64>, String> {
    if text.eq_ignore_ascii_case("n/a") {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value * scale)),
        _ => Err(format!("bus bandwidth `{text}`: expected a number of GB/s, not negative")),
    }
}

/// The collective that a program or a word means: `all_reduce` for `./build/all_reduce_perf`.
fn collective(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    let name =
        ["_mpi", "_perf", "_test"].iter().fold(name.as_str(), |name, end| name.strip_suffix(end).unwrap_or(name));
    // rccl-tests call it by the name of the function.
    match name {
        "allreduce" => "all_reduce",
        "allgather" => "all_gather",
        "reducescatter" => "reduce_scatter",
        "alltoall" | "all_to_all" => "alltoall",
        name => name,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_on_pci_are_read_in_every_form() {
        let place = |text| PciPlace::parse(text).map(|place| (place.domain, place.bus, place.device));
        assert_eq!(place("0x07"), Some((None, 7, None)));
        assert_eq!(place("0000:2f:00.0"), Some((Some(0), 0x2f, Some(0))));
        assert_eq!(place("0009:01:00"), Some((Some(9), 1, Some(0))));
        assert_eq!(place("b7:00"), Some((None, 0xb7, Some(0))));
        assert_eq!((place("GPU"), place(""), place("1:2:3:4"), place("+7:00")), (None, None, None, None));
        let full = PciPlace::of_device("00000000:07:00.0").unwrap();
        assert!(PciPlace::parse("0x07").unwrap().is(&full) && PciPlace::parse("0000:07:00").unwrap().is(&full));
        assert!(!PciPlace::parse("0001:07:00").unwrap().is(&full) && !PciPlace::parse("0x08").unwrap().is(&full));
    }

    #[test]
    fn programs_are_called_by_their_collective() {
        let names = ["./build/all_reduce_perf", "all_reduce_perf_mpi", "AllReduce", "sendrecv_perf", "all_reduce_test"];
        assert_eq!(names.map(collective), ["all_reduce", "all_reduce", "all_reduce", "sendrecv", "all_reduce"]);
    }

    #[test]
    fn the_peak_is_of_the_column_asked_for() {
        let sizes = vec![
            AtSize { bytes: Some(8), out_of_place: Some(1.0), in_place: Some(90.0) },
            AtSize { bytes: Some(1 << 30), out_of_place: Some(80.0), in_place: None },
        ];
        let run = Measurement { label: String::new(), line: None, op: None, devices: Devices::Unknown, sizes };
        let peaks = [Column::OutOfPlace, Column::InPlace, Column::Best].map(|column| run.peak_gbps(column));
        assert_eq!(peaks, [Some(80.0), Some(90.0), Some(90.0)]);
        assert_eq!(run.largest_bytes(), Some(1 << 30));
    }

    proptest! {
        /// Also texts that begin as each kind does.
        #[test]
        fn any_text_is_read_or_refused(
            start in prop::sample::select(vec!["", "{", "[", "devices,gbps\n", "OP,GPU,Bandwidth\n", "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n", "# size count type redop root time algbw busbw #wrong\n", "# Using devices\n#  Rank "]),
            rest in "(?s).{0,200}",
            lines in prop::collection::vec("(#  Rank +[0-9]{1,2} |8 2 float |sum |-1 |[0-9.]{1,6} |nan |device 0 \\[0x0[0-9]\\]|# Avg bus bandwidth|,|\\n){0,20}", 0..8),
        ) {
            for text in [format!("{start}{rest}"), format!("{start}{}", lines.concat())] {
                if let Ok(measurements) = read_measurements(&text) {
                    for run in &measurements {
                        prop_assert!(!run.sizes.is_empty());
                        let figures = run.sizes.iter().flat_map(|at| at.out_of_place.into_iter().chain(at.in_place));
                        prop_assert!(figures.into_iter().all(|gbps| gbps.is_finite() && gbps >= 0.0));
                    }
                }
            }
        }
    }
}
