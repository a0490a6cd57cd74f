//! A flag by which a caller ends long work from outside, such as at a time limit.
//!
//! The library reads no clock. The caller's timer sets the flag, or its closure says when it is set. Whatever takes long
//! looks at it now and then: a search, the compilation of a pattern. The flag belongs to a thread, and not to a request,
//! since much of this work has no request: a pattern is compiled before it is searched for. As long as the flag is not
//! set, every answer is the one without a flag.

use std::cell::RefCell;
use std::fmt;
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
/// use mapa_core::{MatchConfig, Pattern, StopFlag};
///
/// let flag = StopFlag::new();
/// flag.set(); // A timer would do this.
/// let ring = Pattern::ring(300);
/// // The symmetries of the ring are not computed.
/// let matcher = flag.watch(|| MatchConfig::new().compile(&ring));
/// assert!(!matcher.is_whole());
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<FlagState>);

#[derive(Default)]
struct FlagState {
    is_set: AtomicBool,
    /// Says when the flag sets itself.
    when: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl StopFlag {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that is set once `is_over` returns true, for instance since an end has come by the caller's clock. It is called
    /// at each look.
    #[must_use]
    pub fn when(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(FlagState {
            when: Some(Box::new(is_over)),
            ..FlagState::default()
        }))
    }

    /// Ends the work of whoever watches this flag. It stays set.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        if self.0.is_set.load(Ordering::Relaxed) {
            return true;
        }
        let is_over = self.0.when.as_ref().is_some_and(|is_over| is_over());
        if is_over {
            self.set();
        }
        is_over
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

impl fmt::Debug for FlagState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlagState")
            .field("is_set", &self.is_set)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_watches_the_innermost_flag_and_none_afterwards() {
        let (outer, inner) = (StopFlag::new(), StopFlag::new());
        inner.set();
        assert!(!StopFlag::is_watched());
        outer.watch(|| {
            assert!(!StopFlag::is_current_set());
            inner.watch(|| assert!(StopFlag::is_current_set()));
            assert!(!StopFlag::is_current_set() && StopFlag::is_watched());
            let unwind = || inner.watch(|| panic!("on purpose"));
            let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(unwind));
            assert!(unwound.is_err() && !StopFlag::is_current_set());
        });
        assert!(!StopFlag::is_watched());
    }

    #[test]
    fn a_flag_that_has_set_itself_stays_set() {
        let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let seen = Arc::clone(&asked);
        let flag = StopFlag::when(move || seen.fetch_add(1, Ordering::Relaxed) == 2);
        let looks: Vec<bool> = (0..5).map(|_| flag.is_set()).collect();
        assert_eq!(looks, [false, false, true, true, true]);
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }
}
