//! Tests of copies: `p2pBandwidthLatencyTest`, `nvbandwidth` and `rocm_bandwidth_test`.
//!
//! Each prints tables of pairs: a line of column numbers, then rows that begin with their number.
//! Lines above a table name what it has. Everything else is skipped.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind};

/// A copy that was measured alone.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyRun {
    /// The line, from 1.
    pub line: usize,
    /// The device that the data comes from; none for the host's memory.
    pub from: Option<u32>,
    /// The device that the data goes to; none for the host's memory.
    pub to: Option<u32>,
    /// Of a copy from or to the host's memory, the position of its CPU among all CPUs, where the
    /// test says which; it lists one for each NUMA node.
    pub cpu: Option<u32>,
    /// Whether that CPU is on another socket than the device, where the test's distances tell.
    pub far: Option<bool>,
    /// Whether a second copy runs the other way, and the number is the sum of both.
    pub both_ways: bool,
    /// Whether the devices reach each other's memory, where the test says so.
    pub peers: Option<bool>,
    /// GB/s.
    pub gbps: f64,
    /// The bytes that the tool copies unless told otherwise.
    pub default_bytes: u64,
    /// The tool.
    pub tool: &'static str,
}

/// What the tables that follow have.
#[derive(Clone, Copy)]
struct CopyTableKind {
    both_ways: bool,
    peers: Option<bool>,
    /// Whether rows are the host's memory, or columns.
    host_rows: bool,
    host_columns: bool,
    /// Whether data goes from the column to the row.
    reads: bool,
    default_bytes: u64,
    tool: &'static str,
}

/// What a table has.
#[derive(Clone, Copy)]
enum CopyTable {
    Copies(CopyTableKind),
    /// Distances between the NUMA nodes of all devices, CPUs among them.
    Distances,
}

/// What AMD's test tells of the machine. It numbers CPUs and GPUs together.
#[derive(Default)]
struct Numbering {
    gpus: Vec<u32>,
    cpus: Vec<u32>,
    distances: BTreeMap<(u32, u32), f64>,
}

impl Numbering {
    fn device(&mut self, line: &str) {
        match device_of_rocm(line) {
            Some((number, true)) => self.gpus.push(number),
            Some((number, false)) => self.cpus.push(number),
            None => {}
        }
    }

    fn gpu(&self, number: u32) -> Option<u32> {
        position(&self.gpus, number)
    }

    /// Whether a CPU is on another socket than a GPU. The nearest CPU by distance is on the GPU's.
    /// CPUs are numbered through the sockets, so half of them are on each.
    fn is_far(&self, cpu: u32, gpu: u32) -> Option<bool> {
        let distance = |&cpu: &u32| self.distances.get(&(cpu, gpu)).copied();
        let known: Option<Vec<f64>> = self.cpus.iter().map(distance).collect();
        let least = known?.into_iter().reduce(f64::min)?;
        let half = self.cpus.len().div_ceil(2) as u32;
        let socket = |cpu: u32| position(&self.cpus, cpu).map(|at| at / half);
        let mut near = (self.cpus.iter()).filter(|cpu| distance(cpu) == Some(least));
        let own = socket(cpu)?;
        Some(near.all(|&near| socket(near) != Some(own)))
    }
}

fn position(all: &[u32], one: u32) -> Option<u32> {
    let at = all.iter().position(|candidate| *candidate == one)?;
    u32::try_from(at).ok()
}

const P2P_TEST: &str = "p2pBandwidthLatencyTest";
const NVBANDWIDTH: &str = "nvbandwidth";
const ROCM_TEST: &str = "rocm_bandwidth_test";

/// Reads the copies of one output; none if the text is of another kind. O(length).
///
/// # Examples
///
/// ```
/// let text = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
///    D\\D     0      1
///      0 786.23  20.10
///      1  20.05 785.11
/// ";
/// let copies = mapa_regress::read_copies(text)?;
/// assert_eq!((copies.len(), copies[0].gbps, copies[0].peers), (2, 20.10, Some(false)));
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// With the line: a row with fewer or more numbers than the table has columns; a bandwidth that is
/// not a positive number.
pub fn read_copies(text: &str) -> Result<Vec<CopyRun>, Error> {
    let mut kind: Option<CopyTable> = None;
    let mut columns: Option<Vec<u32>> = None;
    let mut numbering = Numbering::default();
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        numbering.device(line);
        if let Some(next) = heading(line) {
            (kind, columns) = (next, None);
            continue;
        }
        let Some(table) = kind else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(header) = &columns else {
            columns = header_of(&words);
            continue;
        };
        let row = words.first().and_then(|word| word.parse::<u32>().ok());
        let Some(row) = row.filter(|_| words.len() > 1) else {
            // An empty line within a table of AMD's test; any other line ends the table.
            if !words.is_empty() {
                columns = header_of(&words);
            }
            continue;
        };
        if words.len() != header.len() + 1 {
            let (cells, columns) = (words.len() - 1, header.len());
            let what =
                format!("row {row} has {cells} numbers: expected {columns}, one for each column");
            return Err(bad(number, what));
        }
        for (&column, word) in header.iter().zip(&words[1..]) {
            if word.eq_ignore_ascii_case("n/a") {
                continue;
            }
            let gbps: f64 = word
                .parse()
                .ok()
                .filter(|gbps: &f64| gbps.is_finite() && *gbps >= 0.0)
                .ok_or_else(|| {
                    bad(
                        number,
                        format!("`{word}`: expected a bandwidth in GB/s, or N/A"),
                    )
                })?;
            let own = match table {
                CopyTable::Copies(own) => own,
                CopyTable::Distances => {
                    numbering.distances.insert((row, column), gbps);
                    continue;
                }
            };
            let of_rocm = own.tool == ROCM_TEST;
            let device = |id: u32, is_host: bool| match of_rocm {
                true => numbering.gpu(id),
                false => (!is_host).then_some(id),
            };
            let (a, b) = (device(row, own.host_rows), device(column, own.host_columns));
            // A device and itself, or the memory and itself, is no copy between two places.
            if a == b || gbps == 0.0 {
                continue;
            }
            let (from, to) = if own.reads { (b, a) } else { (a, b) };
            // Which CPU's memory it is, and which GPU is at the other end.
            let ends = match (a, b) {
                (None, Some(_)) if of_rocm => Some((row, column)),
                (Some(_), None) if of_rocm => Some((column, row)),
                _ => None,
            };
            found.push(CopyRun {
                line: number,
                from,
                to,
                cpu: ends.and_then(|(cpu, _)| position(&numbering.cpus, cpu)),
                far: ends.and_then(|(cpu, gpu)| numbering.is_far(cpu, gpu)),
                both_ways: own.both_ways,
                peers: own.peers,
                gbps,
                default_bytes: own.default_bytes,
                tool: own.tool,
            });
        }
    }
    Ok(found)
}

fn bad(line: usize, what: String) -> Error {
    ErrorKind::BadFile {
        line: Some(line),
        what,
    }
    .into()
}

/// The column numbers of a table: `D\D 0 1`, `0 1 2 3`, `D/D 0 1`.
fn header_of(words: &[&str]) -> Option<Vec<u32>> {
    let words = match words {
        [first, rest @ ..] if first.starts_with('D') => rest,
        words => words,
    };
    let ids: Option<Vec<u32>> = words.iter().map(|word| word.parse().ok()).collect();
    ids.filter(|ids| !ids.is_empty() && ids.windows(2).all(|pair| pair[0] < pair[1]))
}

/// What a line says of the tables below it: `Some(None)` for tables of something else.
fn heading(line: &str) -> Option<Option<CopyTable>> {
    let lower = line.to_ascii_lowercase();
    let plain = CopyTableKind {
        both_ways: lower.contains("bidirectional"),
        peers: None,
        host_rows: false,
        host_columns: false,
        reads: false,
        default_bytes: 0,
        tool: P2P_TEST,
    };
    if lower.contains("p2p=") {
        let is_bandwidth = lower.contains("bandwidth");
        return Some(is_bandwidth.then_some(CopyTable::Copies(CopyTableKind {
            peers: Some(lower.contains("p2p=enabled")),
            // 40 million integers.
            default_bytes: 160_000_000,
            ..plain
        })));
    }
    if lower.contains("p2p connectivity matrix") {
        return Some(None);
    }
    if lower.contains("copy peak bandwidth") {
        return Some(Some(CopyTable::Copies(CopyTableKind {
            default_bytes: 512_000_000,
            tool: ROCM_TEST,
            ..plain
        })));
    }
    if lower.contains("inter-device numa distance") {
        return Some(Some(CopyTable::Distances));
    }
    if lower.contains("inter-device access") {
        return Some(None);
    }
    let table = lower.trim_start();
    if table.starts_with("memcpy ") && table.contains("bandwidth") {
        let of = CopyTableKind {
            default_bytes: 512 << 20,
            tool: NVBANDWIDTH,
            both_ways: table.contains("<->"),
            ..plain
        };
        let total = table.contains("total");
        // Of copies both ways, the table of the sums counts.
        let kind = if table.contains("cpu(row) -> gpu(column)") {
            Some(CopyTableKind {
                host_rows: true,
                ..of
            })
        } else if table.contains("cpu(row) <- gpu(column)") {
            Some(CopyTableKind {
                host_rows: true,
                reads: true,
                ..of
            })
        } else if table.contains("gpu(row) -> gpu(column)") {
            Some(of)
        } else if table.contains("gpu(row) <- gpu(column)") {
            Some(CopyTableKind { reads: true, ..of })
        } else if table.contains("gpu(row) <-> gpu(column)") && total {
            Some(of)
        } else {
            None
        };
        return Some(kind.map(CopyTable::Copies));
    }
    if table.starts_with("running ") || table.starts_with("sum ") {
        return Some(None);
    }
    None
}

/// The number of a device in the list of AMD's test, and whether it is a GPU: one has a PCI address.
fn device_of_rocm(line: &str) -> Option<(u32, bool)> {
    let rest = line.trim_start().strip_prefix("Device:")?;
    let (number, name) = rest.split_once(',')?;
    let is_gpu = name.contains("GPU-")
        || name.split(',').any(|part| {
            let part = part.trim();
            part.len() >= 6
                && part.contains(':')
                && part.ends_with(|c: char| c.is_ascii_digit())
                && part.contains('.')
        });
    Some((number.trim().parse().ok()?, is_gpu))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nvbandwidth_tells_directions_and_sums() {
        let text = "nvbandwidth Version: v0.4

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.63     55.64

SUM host_to_device_memcpy_ce 111.27

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    276.07
 1    276.36       N/A

Running device_to_device_bidirectional_memcpy_read_ce.
memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)
           0         1
 0       N/A    180.00
 1    180.00       N/A
memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    360.00
 1    361.00       N/A
";
        let copies = read_copies(text).unwrap();
        let short: Vec<_> = copies
            .iter()
            .map(|copy| (copy.from, copy.to, copy.both_ways, copy.gbps))
            .collect();
        assert_eq!(
            short,
            [
                (None, Some(0), false, 55.63),
                (None, Some(1), false, 55.64),
                (Some(1), Some(0), false, 276.07),
                (Some(0), Some(1), false, 276.36),
                (Some(0), Some(1), true, 360.0),
                (Some(1), Some(0), true, 361.0),
            ]
        );
    }

    #[test]
    fn the_p2p_test_tells_whether_devices_reach_each_other() {
        let text = "Device: 0, NVIDIA A40, pciBusID: 1, pciDeviceID: 0, pciDomainID:0
P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 559.11  17.95
     1  17.90 561.80
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 559.72  22.85
     1  22.80 562.41
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 564.65  45.44
     1  45.44 564.24
P2P=Disabled Latency Matrix (us)
   GPU     0      1
     0   1.60  11.00
     1  10.90   1.60
";
        let copies = read_copies(text).unwrap();
        let short: Vec<_> = copies
            .iter()
            .map(|copy| (copy.peers, copy.both_ways, copy.gbps))
            .collect();
        assert_eq!(
            short,
            [
                (Some(false), false, 17.95),
                (Some(false), false, 17.90),
                (Some(true), false, 22.85),
                (Some(true), false, 22.80),
                (Some(true), true, 45.44),
                (Some(true), true, 45.44),
            ]
        );
        let cut = text.replace("     1  17.90 561.80", "     1  17.90");
        let error = read_copies(&cut).unwrap_err().to_string();
        assert_eq!(
            error,
            "line 9: row 1 has 1 numbers: expected 2, one for each column"
        );
    }

    #[test]
    fn the_rocm_test_numbers_cpus_and_gpus_together() {
        let text = "    RocmBandwidthTest Version: 2.6.0
          Device: 0,  AMD EPYC 7763 64-Core Processor
          Device: 1,  AMD EPYC 7763 64-Core Processor
          Device: 2,  AMD Instinct MI100,  GPU-c4a4,  83:0.0
          Device: 3,  AMD Instinct MI100,  GPU-c4a5,  c3:0.0

          Inter-Device Access
          D/D       0         1         2         3
          0         1         1         1         1

          Unidirectional copy peak bandwidth GB/s

          D/D       0           1           2           3

          0         N/A         N/A         28.349      24.861

          1         N/A         N/A         24.500      28.300

          2         28.200      24.100      770.100     48.902

          3         24.000      28.100      49.920      770.000
";
        let copies = read_copies(text).unwrap();
        let short: Vec<_> = copies
            .iter()
            .map(|copy| (copy.from, copy.to, copy.gbps))
            .collect();
        assert!(
            short.contains(&(None, Some(0), 28.349)) && short.contains(&(Some(0), Some(1), 48.902))
        );
        assert_eq!((short.len(), copies[0].tool), (10, "rocm_bandwidth_test"));
        let cpus = |text: &str| -> Vec<_> {
            let copies = read_copies(text).unwrap();
            copies.iter().map(|copy| (copy.cpu, copy.far)).collect()
        };
        assert_eq!(
            cpus(text)[..3],
            [(Some(0), None), (Some(0), None), (Some(1), None)]
        );
        assert_eq!(cpus(text)[4..6], [(Some(0), None), (Some(1), None)]);
        // With distances, it is known which CPU is on the GPU's socket.
        let distances = "          Inter-Device Numa Distance

          D/D       0         1         2         3
          0         0         32        20        52
          1         32        0         52        20
          2         20        52        0         15
          3         52        20        15        0

          Unidirectional copy";
        let near = cpus(&text.replacen("          Unidirectional copy", distances, 1));
        let far: Vec<_> = near.iter().map(|(_, far)| *far).collect();
        let [no, yes] = [false, true].map(Some);
        assert_eq!(
            far,
            [no, yes, yes, no, no, yes, None, yes, no, None],
            "by row"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            start in prop::sample::select(vec!["Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n", "Unidirectional copy peak bandwidth GB/s\n", ""]),
            lines in prop::collection::vec("( D\\\\D 0 1| 0 [0-9.]{1,5} N/A| 1 2.5 nan|Device: 2, X, 83:0.0|\\PC{0,20})", 0..8),
        ) {
            if let Ok(copies) = read_copies(&(start.to_owned() + &lines.join("\n"))) {
                prop_assert!(copies.iter().all(|copy| copy.gbps > 0.0 && copy.from != copy.to));
            }
        }
    }
}
