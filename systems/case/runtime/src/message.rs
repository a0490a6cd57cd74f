//! Messages between a process and the manager: 64 bytes each, little endian.
//!
//! | bytes | request | reply |
//! |---|---|---|
//! | 0..4 | magic | magic |
//! | 4..6 | version | version |
//! | 6..8 | operation | operation, with the highest bit set |
//! | 8..16 | session | session |
//! | 16..24 | sequence number | that of the request |
//! | 24..32 | task | task |
//! | 32..40 | bytes | status |
//! | 40..48 | warps | instance, 0 for none |
//! | 48..56 | flags | 0 |
//! | 56..64 | 0 | 0 |
//!
//! A request of another length, version or operation, or with an absurd size, gets the status
//! [`Status::Malformed`]. So does one whose unused bytes are not zero: they are kept for later
//! versions.

use std::fmt;

/// The number of bytes of a message.
pub const LENGTH: usize = 64;

/// The first four bytes of a message: `CASE`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"CASE");

/// The version of the protocol.
pub const VERSION: u16 = 1;

/// The most bytes and warps that a request may name. Larger numbers are malformed: their sums could
/// overflow.
pub const MOST: u64 = 1 << 48;

/// Set in the operation of a reply.
const REPLY: u16 = 1 << 15;

/// Numbers with names: an enum, the list of all, and the one of a number.
macro_rules! numbers {
    ($(#[$of:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum $name {
            $($(#[$each])* $variant = $number,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The one of this number.
            #[must_use]
            pub fn of(number: u64) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| *op as u64 == number)
            }
        }
    };
}

numbers! {
    /// What a request wants.
    Op {
        /// A session: `bytes` is the most that the process will hold at once, as far as it knows.
        Init = 1,
        /// Memory for a task.
        Begin = 2,
        /// The task is over.
        End = 3,
        /// More memory for a task.
        Extend = 4,
        /// The session is over.
        Destroy = 5,
        /// The session goes on, over a new connection.
        Reattach = 6,
        /// How the process finds the instance whose number is in `task`. The reply has text behind it.
        Describe = 7,
        /// Memory files in place of the socket, for all later requests. They come with the message.
        Memory = 8,
    }
}

numbers! {
    /// How a request went.
    Status {
        /// It is done.
        Done = 0,
        /// So much memory can never be had there.
        OutOfMemory = 1,
        /// More calls, leases, sessions or connections than one process or user may have.
        Quota = 2,
        /// No request, or one that makes no sense now.
        Malformed = 3,
        /// No session of this number, or one of another process.
        NoSession = 4,
        /// The process cannot be identified: it is in another PID namespace.
        Foreign = 5,
        /// The manager cannot keep its books.
        Failed = 6,
    }
}

impl fmt::Display for Status {
    /// What it means for the process that asked, and what is expected.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::OutOfMemory => "so much memory can never be had there",
            Self::Quota => {
                "more calls, leases, sessions or connections than one process or user may have"
            }
            Self::Malformed => "a call that makes no sense now",
            Self::NoSession => "no session of this number, or one of another process",
            Self::Foreign => {
                "this process cannot be identified: expected one in the manager's PID namespace"
            }
            Self::Failed => "it cannot keep its books: expected room in the folder of its tasks",
        })
    }
}

/// Bits that say more about a request.
pub mod flags {
    /// The process may ask for more while it holds this.
    pub const GROWS: u64 = 1;
    /// The number of warps is not known.
    pub const UNKNOWN_WARPS: u64 = 2;
    /// A session that must be alone on its instance.
    pub const ISOLATED: u64 = 8;
    /// Memory is wanted now or not at all: where it would be waited for, the answer is
    /// [`Status::OutOfMemory`](super::Status::OutOfMemory).
    pub const AT_ONCE: u64 = 16;
    /// All that have a meaning on the wire.
    pub const ALL: u64 = GROWS | UNKNOWN_WARPS | ISOLATED | AT_ONCE;
}

/// Something that a process wants from the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is wanted.
    pub op: Op,
    /// The session; 0 for none yet.
    pub session: u64,
    /// The number of the call in its session. A request that is repeated has the same number, and
    /// changes nothing.
    pub seq: u64,
    /// The task, numbered by the process; of [`Op::Describe`] the instance.
    pub task: u64,
    /// Bytes.
    pub bytes: u64,
    /// Warps.
    pub warps: u64,
    /// See [`flags`].
    pub flags: u64,
}

impl Request {
    /// A request with zeros for all else.
    #[must_use]
    pub const fn new(op: Op, session: u64, seq: u64) -> Self {
        Self {
            op,
            session,
            seq,
            task: 0,
            bytes: 0,
            warps: 0,
            flags: 0,
        }
    }

    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> [u8; LENGTH] {
        let words = [
            head(self.op as u16),
            self.session,
            self.seq,
            self.task,
            self.bytes,
            self.warps,
            self.flags,
            0,
        ];
        join(words)
    }

    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with it, and the number of the call if it can be told.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let words = split(message).ok_or(Malformed { seq: 0 })?;
        let [head, session, seq, task, bytes, warps, flags, reserved] = words;
        let malformed = Malformed { seq };
        let op = operation(head).map(u64::from).and_then(Op::of);
        let op = op.ok_or(malformed)?;
        let is_sane = bytes <= MOST && warps <= MOST && flags & !flags::ALL == 0 && reserved == 0;
        if !is_sane {
            return Err(malformed);
        }
        Ok(Self {
            op,
            session,
            seq,
            task,
            bytes,
            warps,
            flags,
        })
    }
}

/// A message that is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The number of the call; 0 if it cannot be told.
    pub seq: u64,
}

/// The manager's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The operation of the request; none if it had none.
    pub op: Option<Op>,
    /// The session.
    pub session: u64,
    /// The number of the call.
    pub seq: u64,
    /// The task.
    pub task: u64,
    /// How it went.
    pub status: Status,
    /// The instance to which the process is bound, counted from 1; 0 for none.
    pub instance: u64,
}

impl Reply {
    /// The answer to a request.
    #[must_use]
    pub const fn to(request: &Request, status: Status) -> Self {
        Self {
            op: Some(request.op),
            session: request.session,
            seq: request.seq,
            task: request.task,
            status,
            instance: 0,
        }
    }

    /// The answer to what is no request.
    #[must_use]
    pub const fn malformed(what: Malformed) -> Self {
        Self {
            op: None,
            session: 0,
            seq: what.seq,
            task: 0,
            status: Status::Malformed,
            instance: 0,
        }
    }

    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> [u8; LENGTH] {
        let op = self.op.map_or(0, |op| op as u16);
        join([
            head(op | REPLY),
            self.session,
            self.seq,
            self.task,
            self.status as u64,
            self.instance,
            0,
            0,
        ])
    }

    /// Reads a message. `None` if it is no reply.
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Self> {
        let [head, session, seq, task, status, instance, _, _] = split(message)?;
        let op = operation(head).filter(|op| op & REPLY != 0)? & !REPLY;
        let status = Status::of(status)?;
        Some(Self {
            op: Op::of(u64::from(op)),
            session,
            seq,
            task,
            status,
            instance,
        })
    }
}

fn head(op: u16) -> u64 {
    u64::from(MAGIC) | u64::from(VERSION) << 32 | u64::from(op) << 48
}

/// The operation in the first word of a message of this version.
fn operation(head: u64) -> Option<u16> {
    let is_ours = head as u32 == MAGIC && (head >> 32) as u16 == VERSION;
    is_ours.then_some((head >> 48) as u16)
}

fn join(words: [u64; 8]) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    bytes
}

fn split(message: &[u8]) -> Option<[u64; 8]> {
    let (words, rest) = message.as_chunks();
    let words: [_; 8] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_le_bytes))
}
