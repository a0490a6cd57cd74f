//! Which streams were closed when the program began.
//!
//! Rust opens `/dev/null` in place of a closed standard stream before `main`, and ignores that a stream cannot be
//! written. An answer would be lost, and the program would say that all is well.

#![allow(
    unsafe_code,
    reason = "the loader calls it before Rust opens the streams that were closed; see ARCHITECTURE.md"
)]

use std::sync::atomic::{AtomicBool, Ordering};

static STANDARD_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the program began. Always false where it cannot be told: elsewhere than on Linux.
pub(crate) fn standard_output_was_closed() -> bool {
    STANDARD_OUTPUT.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
extern "C" fn look() {
    // SAFETY: `fcntl` with `F_GETFD` only reads the descriptor's flags, and says so if there is no such descriptor.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    STANDARD_OUTPUT.store(is_closed, Ordering::Relaxed);
}

/// The loader calls the functions of this section before `main`.
// SAFETY: the section holds pointers to C functions, and `look` needs nothing that Rust prepares before `main`.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
