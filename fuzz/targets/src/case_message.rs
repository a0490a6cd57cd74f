//! Any bytes are a request, a reply or neither; what is read is written as it was.

use mapa_case::message::{Reply, Request};

/// One input.
pub fn run(bytes: &[u8]) {
    if let Ok(request) = Request::decode(bytes) {
        assert_eq!(request.encode(), bytes);
        assert_eq!(Reply::decode(bytes), None);
    }
    if let Some(reply) = Reply::decode(bytes) {
        assert_eq!(Reply::decode(&reply.encode()), Some(reply));
    }
}
