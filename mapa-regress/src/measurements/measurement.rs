//! Measurements of benchmarks: the devices that took part, and the bandwidth that they reached.

use super::pci::PciPlace;

/// One run of a benchmark, or one row of a table: the devices that took part, and the bandwidths
/// that they reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Its name in messages: that of its source, or its line.
    pub label: String,
    /// The line on which it begins, from 1; `None` in JSON.
    pub line: Option<usize>,
    /// The collective in lower case, without the suffix of its program: `all_reduce`. If a log has
    /// lost the program's name, its columns leave one or two possible collectives, such as
    /// `all_gather or alltoall`. `None` if the source does not say.
    pub op: Option<String>,
    /// The devices that took part, in rank order.
    pub devices: Devices,
    /// The bandwidths by message size, in the order of the source. Never empty.
    pub sizes: Vec<AtSize>,
}

/// The bus bandwidth at one message size, GB/s (10^9 bytes a second) as nccl-tests define it;
/// finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtSize {
    /// The size of the message, bytes, if the source has it.
    pub bytes: Option<u64>,
    /// The bandwidth with the result in a buffer of its own. A source that does not distinguish the
    /// two has only this one.
    pub out_of_place: Option<f64>,
    /// The bandwidth with the result written over the input.
    pub in_place: Option<f64>,
}

/// The devices that took part in a measurement.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Devices {
    /// The first n devices of the machine.
    First(usize),
    /// The devices by name, in rank order: ids, vendor's numbers, names, UUIDs or PCI addresses.
    Named(Vec<String>),
    /// The device of each rank, as the benchmark reports it.
    Ranks {
        /// In rank order.
        ranks: Vec<Rank>,
        /// The list of `CUDA_VISIBLE_DEVICES`, or of AMD's equivalent, if the source has it. The
        /// devices of ranks are then numbered within it.
        visible: Option<Vec<String>>,
    },
    /// The source does not name them.
    Unknown,
}

/// The device that a rank ran on, as the benchmark names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The host, if the source names it.
    pub host: Option<String>,
    /// The device's number in the program: from 0 among the devices that are visible to it.
    pub number: u32,
    /// Where the device is on PCI, if the source says so.
    pub pci: Option<PciPlace>,
}

/// The bandwidth of a run to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// With the result in a buffer of its own.
    #[default]
    OutOfPlace,
    /// With the result over the input.
    InPlace,
    /// The higher of both.
    Best,
}

impl Measurement {
    /// The peak bus bandwidth, GB/s: the highest over all message sizes. `None` if the source has
    /// no such column. Latency limits small messages, so the peak is that of a large one, if any
    /// was sent.
    #[must_use]
    pub fn peak_gbps(&self, column: Column) -> Option<f64> {
        let peaks = self.sizes.iter().filter_map(|at| match column {
            Column::OutOfPlace => at.out_of_place,
            Column::InPlace => at.in_place,
            Column::Best => at
                .out_of_place
                .into_iter()
                .chain(at.in_place)
                .reduce(f64::max),
        });
        peaks.reduce(f64::max)
    }

    /// The largest message, bytes, if the source has sizes.
    #[must_use]
    pub fn largest_bytes(&self) -> Option<u64> {
        self.sizes.iter().filter_map(|at| at.bytes).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_of_the_column_asked_for() {
        let sizes = vec![
            AtSize {
                bytes: Some(8),
                out_of_place: Some(1.0),
                in_place: Some(90.0),
            },
            AtSize {
                bytes: Some(1 << 30),
                out_of_place: Some(80.0),
                in_place: None,
            },
        ];
        let run = Measurement {
            label: String::new(),
            line: None,
            op: None,
            devices: Devices::Unknown,
            sizes,
        };
        let peaks =
            [Column::OutOfPlace, Column::InPlace, Column::Best].map(|column| run.peak_gbps(column));
        assert_eq!(peaks, [Some(80.0), Some(90.0), Some(90.0)]);
        assert_eq!(run.largest_bytes(), Some(1 << 30));
    }
}
