//! Requests and replies in memory that a process and the manager share.
//!
//! Each side writes a segment of its own and reads the other's. Both have 16 slots of 64 bytes, in
//! words of 8. The words of a slot are written first, and its number last: the number of the call,
//! which no two calls have. Whoever sees a number that it has not seen finds the words below it.
//! A word is read once and then judged: the other side may change it at any time.
//!
//! | word | request | reply |
//! |---|---|---|
//! | 0 | number of the call | number of the call |
//! | 1 | operation | status |
//! | 2 | session | instance |
//! | 3 | task | task |
//! | 4 | bytes | session |
//! | 5 | warps | operation |
//! | 6 | flags | |
//!
//! The words of a call are those of its message, so both ways lead through the same reader.

use crate::message::{LENGTH, Malformed, Op, Reply, Request, Status};

/// Calls that may be under way at a time.
pub const SLOTS: usize = 16;

/// Words of a slot.
const WORDS: usize = LENGTH / 8;

/// The first word of a segment: `CASEMEM1`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CASEMEM1");

/// Words before the slots: the first is the magic; the rest is kept for later.
pub const HEADER: usize = 8;

/// Words of a segment, without text.
pub const SEGMENT: usize = HEADER + SLOTS * WORDS;

/// Words that two processes share.
pub trait SharedWords {
    /// Reads a word; what was written before it by a [`publish`](Self::publish) is seen.
    fn load(&self, at: usize) -> u64;
    /// Writes a word.
    fn store(&self, at: usize, word: u64);
    /// Writes a word after all those before it.
    fn publish(&self, at: usize, word: u64);
}

fn place(slot: usize) -> usize {
    HEADER + slot * WORDS
}

/// Writes a request into a slot that no call is in.
pub fn post(words: &impl SharedWords, slot: usize, request: &Request) {
    let at = place(slot);
    let rest = [
        request.op as u64,
        request.session,
        request.task,
        request.bytes,
        request.warps,
        request.flags,
    ];
    for (offset, word) in rest.into_iter().enumerate() {
        words.store(at + 1 + offset, word);
    }
    words.publish(at, call(request.seq));
}

/// The request in a slot, if it is not the one that was seen there last. `seen` is brought up to
/// date.
///
/// # Errors
/// What is there is no request.
pub fn take(
    words: &impl SharedWords,
    slot: usize,
    seen: &mut u64,
) -> Option<Result<Request, Malformed>> {
    let at = place(slot);
    let number = words.load(at);
    if number == *seen || number == 0 {
        return None;
    }
    *seen = number;
    let seq = number - 1;
    let [op, session, task, bytes, warps, flags] =
        std::array::from_fn(|offset| words.load(at + 1 + offset));
    let read = Op::of(op).ok_or(Malformed { seq }).and_then(|op| {
        let request = Request {
            task,
            bytes,
            warps,
            flags,
            ..Request::new(op, session, seq)
        };
        // The reader of messages judges sizes and flags.
        Request::decode(&request.encode())
    });
    Some(read)
}

/// Writes the reply to the call in a slot.
pub fn answer(words: &impl SharedWords, slot: usize, reply: &Reply) {
    let at = place(slot);
    let rest = [
        reply.status as u64,
        reply.instance,
        reply.task,
        reply.session,
        reply.op.map_or(0, |op| op as u64),
    ];
    for (offset, word) in rest.into_iter().enumerate() {
        words.store(at + 1 + offset, word);
    }
    words.publish(at, call(reply.seq));
}

/// The reply to the call of this number in a slot, once it is there.
pub fn reply(words: &impl SharedWords, slot: usize, seq: u64) -> Option<Reply> {
    let at = place(slot);
    if words.load(at) != call(seq) {
        return None;
    }
    let [status, instance, task, session, op] =
        std::array::from_fn(|offset| words.load(at + 1 + offset));
    Some(Reply {
        op: Op::of(op),
        session,
        seq,
        task,
        status: Status::of(status)?,
        instance,
    })
}

/// The number of a call in a slot: 0 is that of none.
fn call(seq: u64) -> u64 {
    seq.wrapping_add(1)
}
