//! Which policy it is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that a policy and its copies share, and no other policy of this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(u64);

impl PolicyId {
    /// A number that nobody has had.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Relaxed))
    }
}
