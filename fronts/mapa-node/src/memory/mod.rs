//! The policy of memory of this thread: it is kept over `exec`, and inherited by all that is started.

#![allow(
    unsafe_code,
    reason = "no crate has a safe function for this call of Linux; see ARCHITECTURE.md"
)]

use std::ffi::{c_long, c_ulong};
use std::io;

/// Linux's word for memory of these nodes and no others.
const BIND: c_long = 2;

/// The bits of one word of a set of nodes.
const BITS: usize = c_ulong::BITS as usize;

/// Has this thread, and all that it starts from now on, take memory of these NUMA nodes alone.
///
/// # Errors
/// What the system says: a node that is not there or not allowed, or a kernel without such policies.
pub(crate) fn bind(nodes: &[u32]) -> io::Result<()> {
    let Some(last) = nodes.iter().max() else {
        return Ok(());
    };
    let mut set: Vec<c_ulong> = vec![0; *last as usize / BITS + 1];
    for &node in nodes {
        set[node as usize / BITS] |= 1 << (node as usize % BITS);
    }
    // The kernel leaves the last of so many bits alone: set_mempolicy(2), in its notes on bugs.
    let bits = (set.len() * BITS + 1) as c_ulong;
    // SAFETY: the call reads as many bits as are said, rounded up to words, less one: all of `set`. It
    // changes nothing but this thread's policy.
    let answer = unsafe { libc::syscall(libc::SYS_set_mempolicy, BIND, set.as_ptr(), bits) };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
