//! Calls of Linux for which no crate has a safe function: the policy of memory, and who is at the other
//! end of a socket.

#![allow(
    unsafe_code,
    reason = "no crate has a safe function for these calls of Linux; see ARCHITECTURE.md"
)]

use std::ffi::{c_long, c_ulong};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Linux's word for memory of these nodes and no others.
const BIND: c_long = 2;

/// The bits of one word of a set of nodes.
const BITS: usize = c_ulong::BITS as usize;

/// Has this thread, and all that it starts from now on, take memory of these NUMA nodes alone. The policy
/// is kept over `exec`.
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

/// The process at the other end of a Unix socket, and its user. The process is 0 if it is in another PID
/// namespace: rustix has a type without 0 for it, so its function may not be used.
///
/// # Errors
/// What the system says.
pub(crate) fn peer_of(socket: impl AsFd) -> io::Result<(i32, u32)> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the call writes at most `length` bytes to `peer`, which are numbers of any value.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if answer == 0 {
        Ok((peer.pid, peer.uid))
    } else {
        Err(io::Error::last_os_error())
    }
}
