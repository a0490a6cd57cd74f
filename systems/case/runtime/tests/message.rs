//! Messages: what is written is what is read, and nothing else is.

use mapa_case::message::{LENGTH, MOST, Op, Reply, Request, Status, flags};
use proptest::prelude::*;

fn ops() -> impl Strategy<Value = Op> {
    prop::sample::select(Op::ALL.to_vec())
}

proptest! {
    #[test]
    fn a_request_is_read_as_it_was_written(
        op in ops(), ids in any::<[u64; 3]>(), bytes in 0..=MOST, warps in 0..=MOST, flag in 0u64..32,
    ) {
        let [session, seq, task] = ids;
        let flags = flag & flags::ALL;
        let request = Request { task, bytes, warps, flags, ..Request::new(op, session, seq) };
        prop_assert_eq!(Request::decode(&request.encode()), Ok(request));
        prop_assert_eq!(Reply::decode(&request.encode()), None);
    }

    #[test]
    fn a_reply_is_read_as_it_was_written(
        op in ops(), ids in any::<[u64; 4]>(), status in prop::sample::select(Status::ALL.to_vec()),
    ) {
        let [session, seq, task, instance] = ids;
        let reply = Reply { task, instance, ..Reply::to(&Request::new(op, session, seq), status) };
        prop_assert_eq!(Reply::decode(&reply.encode()), Some(reply));
    }

    #[test]
    fn what_is_read_is_written_as_it_was(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
        match Request::decode(&bytes) {
            Ok(request) => prop_assert_eq!(&request.encode()[..], &bytes[..]),
            Err(what) => prop_assert!(bytes.len() == LENGTH || what.seq == 0),
        }
    }

    /// Every bit of a request has one meaning.
    #[test]
    fn a_request_with_another_bit_is_another_or_none(at in 0..LENGTH * 8) {
        let request = Request { task: 3, bytes: 5, warps: 7, ..Request::new(Op::Begin, 11, 13) };
        let mut bytes = request.encode();
        bytes[at / 8] ^= 1 << (at % 8);
        prop_assert_ne!(Request::decode(&bytes), Ok(request));
    }
}
