//! A flag by which a caller ends long work from outside, such as at a time limit.
//!
//! The library reads no clock. The caller's timer sets the flag, and whatever takes long looks at it now and then: a
//! search, the compilation of a pattern, a simulation. The flag belongs to a thread, and not to a request, since most
//! of this work has no request: a pattern is compiled before it is searched for, and a score may need a packing.
//! As long as the flag is not set, every answer is the one without a flag.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The flag of this thread.
    static CURRENT: RefCell<Option<StopFlag>> = const { RefCell::new(None) };
}

/// Ends long work of the threads that [watch](StopFlag::watch) it. Copies are the same flag.
///
/// # Examples
///
/// ```
/// use mapa_core::{MatchConfig, Pattern, StopFlag, StopReason};
///
/// let flag = StopFlag::new();
/// flag.set(); // A timer would do this.
/// let graph = mapa_core::Fabric::new().lower()?;
/// let ring = Pattern::ring(300);
/// // The symmetries of the ring are not computed.
/// let matcher = flag.watch(|| MatchConfig::new().compile(&ring));
/// assert!(!matcher.is_whole());
/// assert_eq!(matcher.on(&graph).count().stopped, StopReason::TimeLimit);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the work of whoever watches this flag. It stays set.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `work` on this thread, which watches this flag meanwhile, and no other. Threads that `work` starts do not,
    /// unless they are given the [current](StopFlag::current) flag.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// The flag that this thread watches; `None` if there is none. Give it to threads that do a part of the work.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Whether the flag that this thread watches is set. It takes some nanoseconds.
    #[must_use]
    pub fn is_current_set() -> bool {
        CURRENT.with_borrow(|current| current.as_ref().is_some_and(Self::is_set))
    }

    /// Whether this thread watches a flag.
    pub(crate) fn is_watched() -> bool {
        CURRENT.with_borrow(Option::is_some)
    }

    /// Runs `work` under a flag that another thread watches, if it watches one.
    pub fn pass_on<T>(flag: Option<&Self>, work: impl FnOnce() -> T) -> T {
        match flag {
            Some(flag) => flag.watch(work),
            None => work(),
        }
    }
}

/// The flag that a thread watched before, which it watches again when this is dropped, also by a panic.
struct Before(Option<StopFlag>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
