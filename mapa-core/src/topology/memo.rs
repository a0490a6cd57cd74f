//! What was worked out about a machine once, for whoever asks again.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// The most memory that is kept for one machine; what came first goes first.
const MOST_BYTES: usize = 192 << 20;

/// Tables by key. It changes no answer, only how soon it comes: what is kept is a pure function of the machine and the key.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Vec<Kept>>);

struct Kept {
    key: Box<[u64]>,
    bytes: usize,
    value: Arc<dyn Any + Send + Sync>,
}

impl Memo {
    /// What is kept under a key.
    pub(crate) fn get<T: Any + Send + Sync>(&self, key: &[u64]) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = Arc::clone(&kept.iter().rev().find(|kept| *kept.key == *key)?.value);
        value.downcast().ok()
    }

    /// Keeps a value, unless another was faster; the one that is kept.
    pub(crate) fn put<T: Any + Send + Sync>(&self, key: &[u64], bytes: usize, value: T) -> Arc<T> {
        if let Some(earlier) = self.get(key) {
            return earlier;
        }
        let value = Arc::new(value);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Kept { key: key.into(), bytes, value: value.clone() });
        let mut total: usize = kept.iter().map(|kept| kept.bytes).sum();
        let mut gone = 0;
        while total > MOST_BYTES && gone + 1 < kept.len() {
            total -= kept[gone].bytes;
            gone += 1;
        }
        kept.drain(..gone);
        value
    }

    /// How much memory is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|kept| kept.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_stays_and_the_oldest_goes_when_memory_is_full() {
        let memo = Memo::default();
        assert_eq!(*memo.put(&[1], 10, 5u32), 5);
        assert_eq!(*memo.put(&[1], 10, 6u32), 5, "whoever came first");
        assert_eq!((memo.get::<u32>(&[1]).as_deref(), memo.get::<u64>(&[1]), memo.bytes()), (Some(&5), None, 10));
        memo.put(&[2], MOST_BYTES - 5, 7u32);
        assert_eq!((memo.get::<u32>(&[1]), memo.get::<u32>(&[2]).as_deref()), (None, Some(&7)));
        memo.put(&[3], 2 * MOST_BYTES, 8u32);
        assert_eq!((memo.get::<u32>(&[2]), memo.get::<u32>(&[3]).as_deref()), (None, Some(&8)), "the newest stays");
    }
}
