//! The description of a call: its library, its kind of communication, and the arguments that
//! determine its peers.

use std::fmt;

use super::axis::Axis;
use super::expr::Expr;

/// The library that a call belongs to.
///
/// Needs the feature `source`, on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Library {
    /// NCCL, or AMD's RCCL, whose functions have the same names.
    Nccl,
    /// The CUDA runtime or driver, or AMD's HIP.
    Cuda,
    /// MPI, also as mpi4py.
    Mpi,
    /// `torch.distributed` and what PyTorch builds on it.
    Torch,
    /// DeepSpeed.
    DeepSpeed,
    /// Megatron-LM, and programs with its settings.
    Megatron,
    /// vLLM.
    Vllm,
    /// Horovod.
    Horovod,
    /// Settings of no known library.
    Settings,
    /// A program that starts others, such as `torchrun`.
    Launcher,
}

/// `NCCL`, `CUDA`, `MPI`, `torch`, `DeepSpeed`, `Megatron`, `vLLM`, `Horovod`, `settings`,
/// `launcher`.
impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nccl => "NCCL",
            Self::Cuda => "CUDA",
            Self::Mpi => "MPI",
            Self::Torch => "torch",
            Self::DeepSpeed => "DeepSpeed",
            Self::Megatron => "Megatron",
            Self::Vllm => "vLLM",
            Self::Horovod => "Horovod",
            Self::Settings => "settings",
            Self::Launcher => "launcher",
        })
    }
}

/// The kind of communication of a call.
///
/// Needs the feature `source`, on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Communication {
    /// Every rank gets the sum, or another reduction, over all ranks.
    AllReduce,
    /// Every rank gets the data of all ranks.
    AllGather,
    /// Every rank gets a part of the sum.
    ReduceScatter,
    /// One rank sends to all.
    Broadcast,
    /// One rank gets the sum.
    Reduce,
    /// One rank gets the data of all ranks.
    Gather,
    /// One rank sends a part to each.
    Scatter,
    /// Every rank gets the sum over the ranks before it.
    Scan,
    /// Every rank sends a part to every rank.
    AllToAll,
    /// Ranks wait for each other; next to nothing is sent.
    Barrier,
    /// One rank sends to another.
    Send,
    /// One rank receives from another.
    Receive,
    /// One rank sends and receives at once.
    SendReceive,
    /// A copy from the memory of one device to that of another.
    PeerCopy,
    /// A device gets access to the memory of another.
    PeerAccess,
    /// Ranks form a grid or torus.
    Grid,
    /// Every rank communicates with its neighbours on a grid or graph.
    Neighbours,
    /// Lists at run time define the neighbours of each rank.
    Graph,
    /// The number of ranks.
    Ranks,
    /// Replicas of a model sum their gradients.
    DataParallel,
    /// Degrees of parallelism.
    Degrees,
    /// Ranks form a mesh with a kind of parallelism along each axis.
    Mesh,
}

/// `all-reduce`, `peer copy`, ...
impl fmt::Display for Communication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Scan => "scan",
            Self::AllToAll => "all-to-all",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::SendReceive => "send and receive",
            Self::PeerCopy => "peer copy",
            Self::PeerAccess => "peer access",
            Self::Grid => "grid",
            Self::Neighbours => "neighbours",
            Self::Graph => "graph",
            Self::Ranks => "number of ranks",
            Self::DataParallel => "data parallel",
            Self::Degrees => "degrees",
            Self::Mesh => "mesh",
        })
    }
}

/// A call: its library, its kind, and the arguments that determine its peers.
pub(super) struct SourceCall {
    pub(super) library: Library,
    pub(super) kind: Communication,
    pub(super) role: Role,
}

pub(super) enum Role {
    /// A call of all ranks, or of the ranks of `group` if the call names one. `root` is set if the
    /// graph depends on it.
    Collective {
        root: Option<Expr>,
        group: Option<Expr>,
    },
    /// Communication between the calling rank and these peers.
    Peers {
        peers: Vec<Expr>,
        group: Option<Expr>,
    },
    /// Communication between these two devices.
    Devices(Expr, Expr),
    /// Communication between the current device and this one.
    Access(Expr),
    /// Communication between neighbours on this grid.
    Grid(Expr),
    /// The call does not determine its peers, for this reason.
    Unclear(&'static str),
    /// A setting of the number of ranks.
    Ranks(Expr),
    /// A call within groups that settings define.
    InGroups,
    DataParallel,
    /// Settings of degrees of parallelism, and whether they are only defaults, which other settings
    /// override.
    Degrees(Vec<(Axis, Expr)>, bool),
    Mesh {
        shape: Expr,
        names: Option<Expr>,
    },
}
