//! What logs tell of a job: its devices, and its communicators with their rings and trees.

use super::calls::Call;
use crate::application::Note;

/// A job, as its logs tell it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NcclJob {
    /// Its devices: those of the largest communicator by rank, then others. These are the ranks of its pattern.
    pub devices: Vec<JobDevice>,
    /// Its communicators, the largest first.
    pub communicators: Vec<Communicator>,
    /// Sizes of messages, bytes, and how many calls of that size the device with the most of them made.
    pub messages: Vec<(u64, u64)>,
    /// What was left out or assumed.
    pub notes: Vec<Note>,
}

/// A device of a job.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JobDevice {
    /// Its host; empty if its own log is missing.
    pub host: String,
    /// Its PCI bus id as NCCL prints it, such as `1b000`; empty if it is not told.
    pub bus: String,
    /// Its number: NVML's if it is told, else CUDA's in its process.
    pub number: Option<u32>,
    /// `host:number`, `host:bus`, or `rank N`.
    pub label: String,
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Communicator {
    /// Its commId, such as `0xf6bfaf5466e2b71f`, or the pointer of its least rank; `host:pid:tid` where its log ends before either.
    pub name: String,
    /// How many ranks.
    pub ranks: usize,
    /// For each rank the place of its device in [`NcclJob::devices`]; none if that is not known.
    pub devices: Vec<Option<usize>>,
    /// How many channels its rings and trees have.
    pub channels: usize,
    /// The rings, by channel.
    pub rings: Vec<Ring>,
    /// The trees, by channel.
    pub trees: Vec<Tree>,
    /// The connections, by channel and ends; each once, though both ends may tell it.
    pub connections: Vec<Connection>,
    /// The calls, by the sending rank for those between two (all others are of rank 0 here), and how often each was made.
    pub calls: Vec<(u32, Call, u64)>,
    /// What NCCL chose for all-reduces, if it told (subsystem TUNING): their bytes, and how often it took rings and trees.
    pub choices: Vec<(u64, u64, u64)>,
}

/// A ring of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ring {
    /// Its channel.
    pub channel: u32,
    /// Sending and receiving rank of each hop, from rank 0 on if it is whole.
    pub hops: Vec<(u32, u32)>,
    /// Whether all hops are known.
    pub is_whole: bool,
}

impl Ring {
    /// The ranks in order, from rank 0 on; none if hops are missing.
    #[must_use]
    pub fn order(&self) -> Option<Vec<u32>> {
        self.is_whole.then(|| self.hops.iter().map(|&(from, _)| from).collect())
    }
}

/// In which half of a reduction a tree is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TreeHalf {
    /// In both.
    #[default]
    Both,
    /// From the children to the root.
    Reduce,
    /// From the root to the children.
    Broadcast,
}

/// A tree of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// Its channel.
    pub channel: u32,
    /// What it is used for.
    pub half: TreeHalf,
    /// Parent and child, by child.
    pub edges: Vec<(u32, u32)>,
}

/// A connection of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Connection {
    /// Its channel.
    pub channel: u32,
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// The transport: `P2P/CUMEM`, `SHM/direct/direct`, `NET/IB/0/GDRDMA`.
    pub via: String,
}
