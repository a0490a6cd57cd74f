//! What was worked out about a machine once, for whoever asks again.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fnv::FnvBuildHasher;

/// The most memory that is kept for one machine; what came first goes first.
const MOST_BYTES: usize = 192 << 20;

/// The most tables that are kept: objectives made anew for every decision must not pile up.
const MOST_ENTRIES: usize = 1 << 10;

/// Tables by key. It changes no answer, only how soon it comes: what is kept is a pure function of the machine and the key.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Kept>);

/// How many bytes it takes, and it.
type Value = (usize, Arc<dyn Any + Send + Sync>);

#[derive(Default)]
struct Kept {
    values: HashMap<Box<[u64]>, Value, FnvBuildHasher>,
    /// Keys, the oldest first.
    order: VecDeque<Box<[u64]>>,
    bytes: usize,
}

impl Kept {
    fn get<T: Any + Send + Sync>(&self, key: &[u64]) -> Option<Arc<T>> {
        Arc::clone(&self.values.get(key)?.1).downcast().ok()
    }

    fn is_full(&self) -> bool {
        self.order.len() > 1 && (self.bytes > MOST_BYTES || self.order.len() > MOST_ENTRIES)
    }
}

impl Memo {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept under a key.
    pub(crate) fn get<T: Any + Send + Sync>(&self, key: &[u64]) -> Option<Arc<T>> {
        self.lock().get(key)
    }

    /// Keeps a value, unless another was faster; the one that is kept.
    pub(crate) fn put<T: Any + Send + Sync>(&self, key: &[u64], bytes: usize, value: T) -> Arc<T> {
        let mut kept = self.lock();
        if let Some(earlier) = kept.get(key) {
            return earlier;
        }
        let value = Arc::new(value);
        let bytes = bytes + 2 * size_of_val(key);
        kept.values.insert(key.into(), (bytes, value.clone()));
        kept.order.push_back(key.into());
        kept.bytes += bytes;
        while kept.is_full() {
            let Some(oldest) = kept.order.pop_front() else { break };
            kept.bytes -= kept.values.remove(&oldest).map_or(0, |(bytes, _)| bytes);
        }
        value
    }

    /// How much memory is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
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
        assert_eq!((memo.get::<u32>(&[1]).as_deref(), memo.get::<u64>(&[1]), memo.bytes()), (Some(&5), None, 26));
        memo.put(&[2], MOST_BYTES - 5, 7u32);
        assert_eq!((memo.get::<u32>(&[1]), memo.get::<u32>(&[2]).as_deref()), (None, Some(&7)));
        memo.put(&[3], 2 * MOST_BYTES, 8u32);
        assert_eq!((memo.get::<u32>(&[2]), memo.get::<u32>(&[3]).as_deref()), (None, Some(&8)), "the newest stays");
        for key in 10..20_000 {
            memo.put(&[key], 0, key);
        }
        assert!(memo.get::<u64>(&[10]).is_none() && memo.get::<u64>(&[19_999]).is_some() && memo.bytes() < 1 << 20);
    }
}
