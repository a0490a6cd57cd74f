//! What devices do together.

use std::fmt;
use std::str::FromStr;

use super::efficiency::named;
use crate::error::Error;

/// An operation whose bandwidth is expected, in the words of nccl-tests and of tests of copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// All-reduce, by rings or in link switches: bus bandwidth.
    #[default]
    AllReduce,
    /// All-reduce by trees over direct links, for jobs whose pattern is a tree: bus bandwidth.
    TreeReduce,
    /// All-gather: bus bandwidth.
    AllGather,
    /// Reduce-scatter: bus bandwidth.
    ReduceScatter,
    /// Broadcast: bus bandwidth.
    Broadcast,
    /// Reduce: bus bandwidth.
    Reduce,
    /// Every device sends to every other: what each sends.
    AllToAll,
    /// Each device sends to the next: what each sends.
    SendRecv,
    /// A copy from one device to another.
    Copy,
    /// Two copies at once, there and back: their sum.
    CopyBothWays,
    /// Copies from the host's memory, to all devices at once: their sum.
    HostToDevice,
    /// Copies to the host's memory, from all devices at once: their sum.
    DeviceToHost,
}

const NAMES: [(Operation, &str); 12] = [
    (Operation::AllReduce, "all_reduce"),
    (Operation::TreeReduce, "tree_all_reduce"),
    (Operation::AllGather, "all_gather"),
    (Operation::ReduceScatter, "reduce_scatter"),
    (Operation::Broadcast, "broadcast"),
    (Operation::Reduce, "reduce"),
    (Operation::AllToAll, "alltoall"),
    (Operation::SendRecv, "sendrecv"),
    (Operation::Copy, "copy"),
    (Operation::CopyBothWays, "copy-both-ways"),
    (Operation::HostToDevice, "h2d"),
    (Operation::DeviceToHost, "d2h"),
];

impl Operation {
    /// Every operation.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(operation, _)| *operation)
    }

    /// Whether all devices take part alike, so that a set of devices decides the bandwidth.
    #[must_use]
    pub fn is_collective(self) -> bool {
        self < Self::Copy
    }

    /// Whether data goes between devices and the host's memory.
    #[must_use]
    pub fn is_of_host(self) -> bool {
        matches!(self, Self::HostToDevice | Self::DeviceToHost)
    }

    /// The bytes on the bus for each byte of the message, on n devices: nccl-tests' `PERFORMANCE.md`.
    pub(super) fn bytes_on_bus(self, n: usize) -> f64 {
        let n = n.max(2) as f64;
        match self {
            Self::AllReduce | Self::TreeReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (n - 1.0) / n,
            _ => 1.0,
        }
    }

    /// The pairs of devices, by their positions, whose peer access an operation on `n` devices uses:
    /// those of copies, neighbours around a ring, else all.
    pub(super) fn pairs(self, n: usize) -> Vec<(usize, usize)> {
        match self {
            Self::Copy | Self::CopyBothWays => (0..n / 2).map(|i| (2 * i, 2 * i + 1)).collect(),
            Self::SendRecv => (0..n).map(|i| (i, (i + 1) % n)).collect(),
            _ => (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect(),
        }
    }

    /// The seconds that the operation takes however short the message. Of two collectives of 128 MiB
    /// on eight A100, 0.1 ms fits one; the other took longer.
    pub(super) fn fixed_seconds(self) -> f64 {
        if self.is_collective() { 1e-4 } else { 2e-6 }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(operation, _)| operation == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

/// Reads the names, as they are printed.
impl FromStr for Operation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        named("operation", text, &NAMES)
    }
}
