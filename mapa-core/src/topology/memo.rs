//! Tables about a machine, made by one decision and kept for later ones.

use std::any::{Any, TypeId};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fnv::FnvBuildHasher;

/// The most memory that is kept for one machine. The oldest tables are dropped first.
const MOST_BYTES: usize = 192 << 20;

/// The most tables that are kept. Without a limit, the tables of objectives that are made anew for
/// every decision would pile up.
const MOST_ENTRIES: usize = 1 << 10;

/// The key of a table. Each kind of table has a key type of its own, so keys of different kinds are
/// never compared.
pub(crate) trait MemoKey: Clone + Eq + Hash + Send + 'static {
    /// The table: a pure function of the machine and the key. So a table changes no answer, only
    /// how soon the answer comes.
    type Table: Send + Sync + 'static;
}

/// Tables by key.
#[derive(Default)]
pub(crate) struct TableMemo(Mutex<MemoState>);

/// By the type of their keys, the [`TablesByKey`] of each kind.
type TablesByKind = HashMap<TypeId, Box<dyn Any + Send>, FnvBuildHasher>;

/// The tables of one kind, each with how many bytes it takes.
type TablesByKey<K> = HashMap<K, (usize, Arc<<K as MemoKey>::Table>), FnvBuildHasher>;

/// Drops one table; returns how many bytes that frees.
type DropOne = Box<dyn FnOnce(&mut TablesByKind) -> usize + Send>;

#[derive(Default)]
struct MemoState {
    kinds: TablesByKind,
    /// How to drop each table, the oldest first.
    order: VecDeque<DropOne>,
    bytes: usize,
}

impl MemoState {
    fn get<K: MemoKey>(&self, key: &K) -> Option<Arc<K::Table>> {
        let tables = self.kinds.get(&TypeId::of::<K>())?;
        let (_, table) = tables.downcast_ref::<TablesByKey<K>>()?.get(key)?;
        Some(Arc::clone(table))
    }

    fn put<K: MemoKey>(&mut self, key: &K, bytes: usize, table: Arc<K::Table>) {
        let tables = self
            .kinds
            .entry(TypeId::of::<K>())
            .or_insert_with(|| Box::<TablesByKey<K>>::default());
        if let Some(tables) = tables.downcast_mut::<TablesByKey<K>>() {
            tables.insert(key.clone(), (bytes, table));
        }
        let key = key.clone();
        self.order.push_back(Box::new(move |kinds| {
            kinds
                .get_mut(&TypeId::of::<K>())
                .and_then(|tables| tables.downcast_mut::<TablesByKey<K>>()?.remove(&key))
                .map_or(0, |(bytes, _)| bytes)
        }));
        self.bytes += bytes;
    }

    /// Whether a table must be dropped. The newest table stays, however large it is.
    fn is_full(&self) -> bool {
        self.order.len() > 1 && (self.bytes > MOST_BYTES || self.order.len() > MOST_ENTRIES)
    }
}

impl TableMemo {
    fn lock(&self) -> MutexGuard<'_, MemoState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table under a key, if it is kept.
    pub(crate) fn get<K: MemoKey>(&self, key: &K) -> Option<Arc<K::Table>> {
        self.lock().get(key)
    }

    /// Keeps a table of so many bytes, unless another thread was faster; returns the one that is
    /// kept.
    pub(crate) fn put<K: MemoKey>(&self, key: &K, bytes: usize, table: K::Table) -> Arc<K::Table> {
        let mut kept = self.lock();
        if let Some(earlier) = kept.get(key) {
            return earlier;
        }
        let table = Arc::new(table);
        // The key is kept twice: beside the table and in the order of age. What a long key has on
        // the heap is not counted: some kB at most, for each of at most `MOST_ENTRIES` tables.
        kept.put(key, bytes + 2 * size_of::<K>(), Arc::clone(&table));
        while kept.is_full() {
            let Some(drop_oldest) = kept.order.pop_front() else {
                break;
            };
            let freed = drop_oldest(&mut kept.kinds);
            kept.bytes -= freed;
        }
        table
    }

    /// The table under a key. If there is none, `make` makes one and returns it with its size in
    /// bytes, and it is kept.
    pub(crate) fn get_or_make<K: MemoKey>(
        &self,
        key: &K,
        make: impl FnOnce() -> (usize, K::Table),
    ) -> Arc<K::Table> {
        // Tables take long to make, and making one may ask for another: the lock is not held.
        self.get(key).unwrap_or_else(|| {
            let (bytes, table) = make();
            self.put(key, bytes, table)
        })
    }

    /// The memory of all tables that are kept, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Small(u64);

    impl MemoKey for Small {
        type Table = u32;
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Large(u64);

    impl MemoKey for Large {
        type Table = u64;
    }

    #[test]
    fn the_first_value_stays_and_the_oldest_goes_when_memory_is_full() {
        let memo = TableMemo::default();
        assert_eq!(*memo.put(&Small(1), 10, 5), 5);
        assert_eq!(*memo.put(&Small(1), 10, 6), 5, "whichever came first");
        assert_eq!(
            (
                memo.get(&Small(1)).as_deref(),
                memo.get(&Large(1)),
                memo.bytes()
            ),
            (Some(&5), None, 26)
        );
        memo.put(&Small(2), MOST_BYTES - 5, 7);
        assert_eq!(
            (memo.get(&Small(1)), memo.get(&Small(2)).as_deref()),
            (None, Some(&7))
        );
        memo.put(&Small(3), 2 * MOST_BYTES, 8);
        assert_eq!(
            (memo.get(&Small(2)), memo.get(&Small(3)).as_deref()),
            (None, Some(&8)),
            "the newest stays"
        );
        for key in 10..20_000 {
            memo.put(&Large(key), 0, key);
        }
        assert!(
            memo.get(&Large(10)).is_none()
                && memo.get(&Large(19_999)).is_some()
                && memo.bytes() < 1 << 20
        );
    }

    #[test]
    fn a_table_is_made_once() {
        let memo = TableMemo::default();
        assert_eq!(*memo.get_or_make(&Small(1), || (0, 1)), 1);
        assert_eq!(*memo.get_or_make(&Small(1), || (0, 2)), 1);
        assert_eq!(*memo.get_or_make(&Large(1), || (0, 3)), 3);
    }
}
