//! Any shared memory holds requests that messages may be, or none.

use mapa_case::message::Request;
use mapa_case::segment::{SLOTS, SharedWords, reply, take};

struct Plain(Vec<u64>);

impl SharedWords for Plain {
    fn load(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }
    fn store(&self, _: usize, _: u64) {}
    fn publish(&self, _: usize, _: u64) {}
}

/// One input.
pub fn run(data: &[u8]) {
    let words = data.as_chunks::<8>().0;
    let words = Plain(words.iter().map(|word| u64::from_le_bytes(*word)).collect());
    for slot in 0..SLOTS {
        let mut seen = 0;
        if let Some(Ok(request)) = take(&words, slot, &mut seen) {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        assert!(take(&words, slot, &mut seen).is_none());
        let _ = reply(&words, slot, seen.wrapping_sub(1));
    }
}
