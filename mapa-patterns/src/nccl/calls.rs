//! Calls: what a rank asked the library for, and how much of it goes over rings, trees and to peers.

use std::fmt;

use super::line::Asked;

/// What ranks do together, or one with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// All get the sum of all.
    AllReduce,
    /// All get the parts of all.
    AllGather,
    /// Each gets its part of the sum of all.
    ReduceScatter,
    /// All get what the root has.
    Broadcast,
    /// The root gets the sum of all.
    Reduce,
    /// Each gets its own part from each.
    AllToAll,
    /// The root gets the parts of all.
    Gather,
    /// Each gets its part from the root.
    Scatter,
    /// To one peer.
    Send,
    /// From one peer.
    Recv,
}

impl Collective {
    /// All, in the order in which they are declared.
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

    /// What each hop of the rings carries in all, bytes, if a call of so many bytes among `ranks` goes over them; none if it does not.
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

/// A call: what, how large, and with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// What was asked for.
    pub collective: Collective,
    /// The size of the message, bytes: all ranks' parts together for all-gather and reduce-scatter, one part for all-to-all, gather and
    /// scatter.
    pub bytes: u64,
    /// The root, or the peer; 0 where there is none.
    pub root: u32,
}

impl Call {
    /// What was asked for among so many ranks, if that is known; none if the call or the type of its data is not known.
    pub(super) fn of(asked: &Asked<'_>, ranks: Option<u32>) -> Result<Option<Self>, String> {
        let known = Collective::ALL.into_iter().find(|own| own.to_string().eq_ignore_ascii_case(asked.name));
        let (Some(collective), Some(width)) = (known, width(asked.datatype)) else { return Ok(None) };
        let parts = match collective {
            Collective::AllGather | Collective::ReduceScatter => u64::from(ranks.unwrap_or(1)),
            _ => 1,
        };
        if ranks.is_some_and(|ranks| asked.root >= ranks) {
            return Err(format!("root {} of {} ranks: expected less", asked.root, ranks.unwrap_or(0)));
        }
        let bytes = asked.count.checked_mul(width).and_then(|bytes| bytes.checked_mul(parts));
        let bytes = bytes.ok_or_else(|| format!("count {}: expected fewer bytes than 2^64", asked.count))?;
        Ok(Some(Self { collective, bytes, root: asked.root }))
    }
}

/// The bytes of a data type (`ncclDataType_t` in nccl.h: bfloat16 since 2.10, the two of 8 bits since 2.24).
fn width(datatype: u32) -> Option<u64> {
    match datatype {
        0 | 1 | 10 | 11 => Some(1),
        6 | 9 => Some(2),
        2 | 3 | 7 => Some(4),
        4 | 5 | 8 => Some(8),
        _ => None,
    }
}
