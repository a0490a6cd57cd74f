//! Calls: the operations that a rank requested from the library, and the bytes that each puts on
//! rings, trees and links to peers.

use std::fmt;

use super::line::LoggedCall;

/// An operation of all ranks of a communicator, or of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// Every rank gets the sum over all ranks.
    AllReduce,
    /// Every rank gets the parts of all ranks.
    AllGather,
    /// Every rank gets its part of the sum over all ranks.
    ReduceScatter,
    /// Every rank gets the data of the root.
    Broadcast,
    /// The root gets the sum over all ranks.
    Reduce,
    /// Every rank sends a part to every rank.
    AllToAll,
    /// The root gets the parts of all ranks.
    Gather,
    /// Every rank gets its part from the root.
    Scatter,
    /// One rank sends to a peer.
    Send,
    /// One rank receives from a peer.
    Recv,
}

impl Collective {
    /// All operations, in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Broadcast,
        Self::Reduce,
        Self::AllToAll,
        Self::Gather,
        Self::Scatter,
        Self::Send,
        Self::Recv,
    ];

    /// The bytes that each hop of the rings carries in total for a call of `bytes` among `ranks`;
    /// none if the operation does not use rings.
    pub(super) fn over_rings(self, bytes: f64, ranks: f64) -> Option<f64> {
        match self {
            Self::AllReduce => Some(2.0 * (ranks - 1.0) / ranks * bytes),
            Self::AllGather | Self::ReduceScatter => Some((ranks - 1.0) / ranks * bytes),
            Self::Broadcast | Self::Reduce => Some(bytes),
            Self::AllToAll | Self::Gather | Self::Scatter | Self::Send | Self::Recv => None,
        }
    }
}

/// As NCCL prints it: `AllReduce`.
impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A call: its operation, its size, and its root or peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The operation.
    pub collective: Collective,
    /// The size of the message, bytes: all ranks' parts together for all-gather and reduce-scatter,
    /// one part for all-to-all, gather and scatter.
    pub bytes: u64,
    /// The root, or the peer; 0 where there is none.
    pub root: u32,
}

impl Call {
    /// The call in a line of the log, among `ranks` if that is known; none if the operation or its
    /// data type is unknown.
    pub(super) fn of(asked: &LoggedCall<'_>, ranks: Option<u32>) -> Result<Option<Self>, String> {
        let known = Collective::ALL
            .into_iter()
            .find(|collective| collective.to_string().eq_ignore_ascii_case(asked.name));
        let (Some(collective), Some(width)) = (known, width(asked.datatype)) else {
            return Ok(None);
        };
        let parts = match collective {
            Collective::AllGather | Collective::ReduceScatter => u64::from(ranks.unwrap_or(1)),
            _ => 1,
        };
        if let Some(ranks) = ranks.filter(|ranks| asked.root >= *ranks) {
            return Err(format!(
                "root {} of {ranks} ranks: expected a rank below {ranks}",
                asked.root
            ));
        }
        let bytes = asked
            .count
            .checked_mul(width)
            .and_then(|bytes| bytes.checked_mul(parts));
        let bytes = bytes
            .ok_or_else(|| format!("count {}: expected fewer bytes than 2^64", asked.count))?;
        Ok(Some(Self {
            collective,
            bytes,
            root: asked.root,
        }))
    }
}

/// The size of a data type in bytes (`ncclDataType_t` in nccl.h: bfloat16 since 2.10, the two of 8
/// bits since 2.24).
fn width(datatype: u32) -> Option<u64> {
    match datatype {
        0 | 1 | 10 | 11 => Some(1),
        6 | 9 => Some(2),
        2 | 3 | 7 => Some(4),
        4 | 5 | 8 => Some(8),
        _ => None,
    }
}
