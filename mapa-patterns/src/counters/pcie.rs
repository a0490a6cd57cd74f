//! PCIe traffic, whose other end is unknown: samples of `nvidia-smi dmon -s t`.
//!
//! ```text
//! # gpu rxpci txpci            #Date       Time        gpu rxpci txpci
//! # Idx  MB/s  MB/s            #YYYYMMDD   HH:MM:SS    Idx  MB/s  MB/s
//!     0   577    95             20210102   19:12:31      0   577    95
//! ```
//!
//! Columns are found by name, because other metrics (`-s pucvmet`) add more columns; `-` is no
//! sample. A sample is a rate, so bytes are rates times the time between samples: from the column
//! `Time` (`-o T`), or as given by the caller (`-d`, 1 second by default). MB is 10^6 bytes.

use std::collections::BTreeMap;

use crate::error::Error;

const EXPECTED: &str =
    "expected the output of `nvidia-smi dmon -s t`, with its line `# gpu rxpci txpci`";

/// The bytes over the PCIe links of GPUs, from samples of their rates.
#[derive(Clone, Debug, PartialEq)]
pub struct PcieSamples {
    /// By the vendor's number of the GPU: bytes sent and received.
    pub(super) devices: BTreeMap<u32, (f64, f64)>,
}

/// The samples of one GPU.
#[derive(Default)]
struct GpuSamples {
    sent: f64,
    received: f64,
    count: usize,
    /// The seconds from the first sample to the last, if samples have times.
    seconds: f64,
    last: Option<f64>,
}

/// The indices of the columns.
struct SampleColumns {
    names: usize,
    gpu: usize,
    sent: usize,
    received: usize,
    time: Option<usize>,
}

impl PcieSamples {
    /// Reads the samples. `seconds` is the time between two samples of one GPU, for a text without
    /// times.
    ///
    /// # Errors
    /// A text in another form, with its line; a time that is not positive.
    pub fn read(text: &str, seconds: f64) -> Result<Self, Error> {
        if !(seconds > 0.0 && seconds <= 1e6) {
            return Err(Error::new(format!(
                "{seconds} seconds between samples: expected a positive number, at most 1e6"
            )));
        }
        let mut columns: Option<SampleColumns> = None;
        let mut gpus: BTreeMap<u32, GpuSamples> = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line
                .split([' ', '\t', ',', '\r'])
                .filter(|word| !word.is_empty())
                .collect();
            let Some(first) = words.first().filter(|first| !first.starts_with('$')) else {
                continue;
            };
            if first.starts_with('#') {
                heading(&words, number, &mut columns)?;
                continue;
            }
            let columns = columns
                .as_ref()
                .ok_or_else(|| Error::at(number, EXPECTED))?;
            sample(&words, number, columns, &mut gpus)?;
        }
        if gpus.values().all(|gpu| gpu.count == 0) {
            return Err(Error::new(format!("no samples: {EXPECTED}")));
        }
        let bytes = |gpu: &GpuSamples| {
            let timed = gpu.count > 1 && gpu.seconds > 0.0;
            let each = if timed {
                gpu.seconds / (gpu.count - 1) as f64
            } else {
                seconds
            };
            (gpu.sent * 1e6 * each, gpu.received * 1e6 * each)
        };
        Ok(Self {
            devices: gpus
                .iter()
                .map(|(number, gpu)| (*number, bytes(gpu)))
                .collect(),
        })
    }
}

/// Reads a line with the names or the units of columns.
fn heading(
    words: &[&str],
    number: usize,
    columns: &mut Option<SampleColumns>,
) -> Result<(), Error> {
    let names: Vec<String> = words
        .iter()
        .map(|word| word.trim_start_matches('#').to_ascii_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let place = |name: &str| names.iter().position(|candidate| candidate == name);
    if let Some(gpu) = place("gpu") {
        let (Some(sent), Some(received)) = (place("txpci"), place("rxpci")) else {
            return Err(Error::at(
                number,
                format!("no columns rxpci and txpci: {EXPECTED}"),
            ));
        };
        *columns = Some(SampleColumns {
            names: names.len(),
            gpu,
            sent,
            received,
            time: place("time"),
        });
        return Ok(());
    }
    let Some(columns) = columns.as_ref().filter(|_| place("idx").is_some()) else {
        return Ok(());
    };
    let wrong = [columns.sent, columns.received]
        .into_iter()
        .filter_map(|at| names.get(at))
        .find(|unit| *unit != "mb/s");
    wrong.map_or(Ok(()), |unit| {
        Err(Error::at(
            number,
            format!("the unit `{unit}`: expected MB/s"),
        ))
    })
}

/// Reads a line of samples.
fn sample(
    words: &[&str],
    line: usize,
    columns: &SampleColumns,
    gpus: &mut BTreeMap<u32, GpuSamples>,
) -> Result<(), Error> {
    if words.len() < columns.names {
        return Err(Error::at(
            line,
            format!(
                "{} columns: expected {}, as named above",
                words.len(),
                columns.names
            ),
        ));
    }
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let number = word(columns.gpu);
    let number: u32 = number.parse().map_err(|_| {
        Error::at(
            line,
            format!("`{number}`: expected the number of a GPU, in the column gpu"),
        )
    })?;
    let rate = |at: usize| match word(at) {
        "-" => Ok(None),
        rate => match rate.parse::<f64>() {
            Ok(value) if (0.0..=1e9).contains(&value) => Ok(Some(value)),
            _ => Err(Error::at(line, format!("`{rate}`: expected MB/s, or -"))),
        },
    };
    let (Some(sent), Some(received)) = (rate(columns.sent)?, rate(columns.received)?) else {
        return Ok(());
    };
    let gpu = gpus.entry(number).or_default();
    (gpu.sent, gpu.received, gpu.count) = (gpu.sent + sent, gpu.received + received, gpu.count + 1);
    if let Some(at) = columns.time {
        let time = word(at);
        let now = clock(time).ok_or_else(|| {
            Error::at(line, format!("`{time}`: expected a time such as 19:12:31"))
        })?;
        // A day later the clock begins again.
        gpu.seconds += gpu
            .last
            .map_or(0.0, |last| (now - last).rem_euclid(86_400.0));
        gpu.last = Some(now);
    }
    Ok(())
}

/// Seconds since midnight.
fn clock(text: &str) -> Option<f64> {
    let mut parts = text.split(':').map(|part| {
        part.parse::<f64>()
            .ok()
            .filter(|value| (0.0..100.0).contains(value))
    });
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    parts
        .next()
        .is_none()
        .then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::PcieSamples;

    #[test]
    fn columns_are_found_by_name_and_rates_become_bytes() {
        let text = "# gpu   pwr rxpci txpci\n# Idx     W  MB/s  MB/s\n    0    25   577    95\n    0    25     -     -\n    1    25   100   200\n    0    25     3     5\n";
        let samples = PcieSamples::read(text, 2.0).unwrap();
        assert_eq!(samples.devices[&0], (200e6, 1160e6));
        assert_eq!(samples.devices[&1], (400e6, 200e6));
        let timed = "#Date       Time        gpu rxpci txpci\n#YYYYMMDD   HH:MM:SS    Idx  MB/s  MB/s\n 20210102   23:59:58      0     1     2\n 20210103   00:00:03      0     1     2\n";
        assert_eq!(
            PcieSamples::read(timed, 1.0).unwrap().devices[&0],
            (20e6, 10e6)
        );
    }

    #[test]
    fn what_is_odd_is_refused_with_its_line() {
        for (text, message) in [
            ("0 1 2\n", "line 1: expected the output"),
            ("# gpu sm\n", "line 1: no columns"),
            (
                "# gpu rxpci txpci\n# Idx GB/s MB/s\n",
                "line 2: the unit `gb/s`",
            ),
            ("# gpu rxpci txpci\n0 1\n", "line 2: 2 columns"),
            ("# gpu rxpci txpci\nx 1 2\n", "line 2: `x`"),
            ("# gpu rxpci txpci\n0 -1 2\n", "line 2: `-1`"),
            ("# gpu rxpci txpci\n0 NaN 2\n", "line 2: `NaN`"),
            ("#Time gpu rxpci txpci\nnoon 0 1 2\n", "line 2: `noon`"),
            ("# gpu rxpci txpci\n0 - -\n", "no samples"),
            ("", "no samples"),
        ] {
            let error = PcieSamples::read(text, 1.0).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
