//! The contents of a job's logs: its devices, and its communicators with their rings and trees.

use super::calls::Call;
use crate::application::Note;

/// A job as its logs describe it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NcclJob {
    /// The devices: those of the largest communicator by rank, then the others. Their order is that
    /// of the ranks of the pattern.
    pub devices: Vec<JobDevice>,
    /// The communicators, the largest first.
    pub communicators: Vec<Communicator>,
    /// Message sizes in bytes, each with a number of calls: that of the device which made the most
    /// calls of that size.
    pub messages: Vec<(u64, u64)>,
    /// What was left out or assumed.
    pub notes: Vec<Note>,
}

/// A device of a job.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JobDevice {
    /// The host; empty if the log of this rank is missing.
    pub host: String,
    /// The PCI bus id as NCCL prints it, such as `1b000`; empty if unknown.
    pub bus: String,
    /// The device's number: NVML's if known, else CUDA's in its process.
    pub number: Option<u32>,
    /// `host:number`, `host:bus`, or `rank N`.
    pub label: String,
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Communicator {
    /// The commId, such as `0xf6bfaf5466e2b71f`, or the pointer of the lowest rank; `host:pid:tid`
    /// if the log ends before either.
    pub name: String,
    /// The number of ranks.
    pub ranks: usize,
    /// For each rank, the index of its device in [`NcclJob::devices`]; none if unknown.
    pub devices: Vec<Option<usize>>,
    /// The number of channels of the rings and trees.
    pub channels: usize,
    /// The rings, by channel.
    pub rings: Vec<Ring>,
    /// The trees, by channel.
    pub trees: Vec<Tree>,
    /// The connections, by channel and ends. Each is listed once, though both ends may print it.
    pub connections: Vec<Connection>,
    /// The calls: the sending rank (0 for calls of all ranks), the call, and how often it was made.
    pub calls: Vec<(u32, Call, u64)>,
    /// NCCL's choices for all-reduces, if the log has them (subsystem TUNING): the size in bytes,
    /// and how often NCCL chose rings and trees.
    pub choices: Vec<(u64, u64, u64)>,
}

/// The ring of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ring {
    /// The channel.
    pub channel: u32,
    /// The sending and the receiving rank of each hop, from rank 0 on if the ring is whole.
    pub hops: Vec<(u32, u32)>,
    /// Whether all hops are known.
    pub is_whole: bool,
}

impl Ring {
    /// The ranks in ring order, from rank 0 on; none if hops are missing.
    #[must_use]
    pub fn order(&self) -> Option<Vec<u32>> {
        self.is_whole
            .then(|| self.hops.iter().map(|&(from, _)| from).collect())
    }
}

/// The half of an all-reduce that a tree is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TreeHalf {
    /// Both halves.
    #[default]
    Both,
    /// The reduction, from the children to the root.
    Reduce,
    /// The broadcast, from the root to the children.
    Broadcast,
}

/// The tree of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// The channel.
    pub channel: u32,
    /// The half of an all-reduce that the tree is used for.
    pub half: TreeHalf,
    /// The parent and the child of each edge, sorted by child.
    pub edges: Vec<(u32, u32)>,
}

/// A connection of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Connection {
    /// The channel.
    pub channel: u32,
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// The transport: `P2P/CUMEM`, `SHM/direct/direct`, `NET/IB/0/GDRDMA`.
    pub via: String,
}
