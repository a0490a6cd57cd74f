//! What Linux does for this program that no crate has a safe function for: the policy of memory, who is at
//! the other end of a socket, and what a process does between `fork` and `exec`.

#![allow(
    unsafe_code,
    reason = "no crate has a safe function for these calls of Linux; see ARCHITECTURE.md"
)]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_long, c_ulong};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Linux's word for memory of these nodes and no others.
const BIND: c_long = 2;

/// clone3(2): the copy is born in the group of the field `cgroup`. The constant of the crate `libc` has 32 bits, into
/// which it does not go.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The bits of one word of a set of nodes.
const BITS: usize = c_ulong::BITS as usize;

/// The NUMA nodes of which a process takes memory.
struct Nodes(Vec<c_ulong>);

impl Nodes {
    /// The set of these nodes.
    fn of(nodes: &[u32]) -> Self {
        let words = nodes
            .iter()
            .max()
            .map_or(0, |last| *last as usize / BITS + 1);
        let mut set = vec![0; words];
        for &node in nodes {
            set[node as usize / BITS] |= 1 << (node as usize % BITS);
        }
        Self(set)
    }

    /// Has this thread, and all that it starts from now on, take memory of these nodes alone; of all if
    /// the set is empty. The policy is kept over `exec`. Allocates nothing.
    fn bind(&self) -> io::Result<()> {
        let Self(set) = self;
        if set.is_empty() {
            return Ok(());
        }
        // The kernel leaves the last of so many bits alone: set_mempolicy(2), in its notes on bugs.
        let bits = (set.len() * BITS + 1) as c_ulong;
        // SAFETY: the call reads as many bits as are said, rounded up to words, less one: all of `set`.
        // It changes nothing but this thread's policy.
        let answer = unsafe { libc::syscall(libc::SYS_set_mempolicy, BIND, set.as_ptr(), bits) };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// What the process of a command says at its gate: its process id, the error of the system if it could not be bound
/// to memory, else 0, and whether it is in the group that was made for it.
pub(crate) struct GateReport {
    /// The number of the process, in this program's PID namespace.
    pub pid: i32,
    /// Why it is not bound to memory.
    pub unbound: Option<io::Error>,
    /// Whether it was born in the group that was made for it.
    pub is_grouped: bool,
}

impl GateReport {
    /// Waits until the process has come to its gate.
    ///
    /// # Errors
    /// It has ended before.
    pub(crate) fn wait(mut gate: &UnixStream) -> io::Result<Self> {
        let mut word = [0; 9];
        gate.read_exact(&mut word)?;
        // Process id, error and group, in the byte order of this machine: both ends are this program.
        let [a, b, c, d, e, f, g, h, group] = word;
        let error = i32::from_ne_bytes([e, f, g, h]);
        Ok(Self {
            pid: i32::from_ne_bytes([a, b, c, d]),
            unbound: (error != 0).then(|| io::Error::from_raw_os_error(error)),
            is_grouped: group != 0,
        })
    }

    fn word(error: i32, is_grouped: bool) -> [u8; 9] {
        let [a, b, c, d] = std::process::id().to_ne_bytes();
        let [e, f, g, h] = error.to_ne_bytes();
        [a, b, c, d, e, f, g, h, u8::from(is_grouped)]
    }
}

/// Signals that a thread holds back.
#[derive(Clone, Copy)]
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    /// Those that this thread holds back now.
    ///
    /// # Errors
    /// What the system says.
    fn now() -> io::Result<Self> {
        Self::change(libc::SIG_BLOCK, None)
    }

    /// Changes what this thread holds back, and returns what it held back before.
    fn change(how: c_int, by: Option<&Self>) -> io::Result<Self> {
        let by = by.map_or(ptr::null(), |Self(set)| ptr::from_ref(set));
        let mut before = MaybeUninit::uninit();
        // SAFETY: the call reads a set, or nothing, and writes one.
        let error = unsafe { libc::pthread_sigmask(how, by, before.as_mut_ptr()) };
        if error == 0 {
            // SAFETY: the call has written it.
            Ok(Self(unsafe { before.assume_init() }))
        } else {
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// The numbers of the signals of real time that programs may use.
pub(crate) fn real_time_signals() -> RangeInclusive<c_int> {
    libc::SIGRTMIN()..=libc::SIGRTMAX()
}

/// Sends a signal of any number, those of real time among them, to the process of a handle; of a number where there is
/// no handle. One that has ended gets none.
pub(crate) fn send_signal(pid: c_int, handle: Option<BorrowedFd<'_>>, number: c_int) {
    // SAFETY: the calls read numbers alone, and no information on the signal.
    unsafe {
        match handle {
            Some(handle) => {
                let none = ptr::null::<libc::siginfo_t>();
                let handle = handle.as_raw_fd();
                libc::syscall(libc::SYS_pidfd_send_signal, handle, number, none, 0);
            }
            None => {
                libc::kill(pid, number);
            }
        }
    }
}

/// Stops this program as SIGTSTP does, which it has caught, and returns once it is continued. Where no shell could
/// continue it, the kernel does not stop it (a process group that is orphaned), nor its command.
pub(crate) fn stop_self() {
    // SAFETY: all bytes of it may be zero: the default action, no flags, and an empty set of signals.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    let mut handler = default;
    // SAFETY: the calls read and write actions on the stack; the handler that was there is put back.
    unsafe {
        if libc::sigaction(libc::SIGTSTP, &raw const default, &raw mut handler) == 0 {
            libc::raise(libc::SIGTSTP);
            libc::sigaction(libc::SIGTSTP, &raw const handler, ptr::null_mut());
        }
    }
}

/// Has this thread hold these signals back. A process that it starts holds them back too.
///
/// # Errors
/// What the system says.
pub(crate) fn block_signals(signals: &[c_int]) -> io::Result<()> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the calls write a set, and change it.
    let set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    };
    BlockedSignals::change(libc::SIG_BLOCK, Some(&BlockedSignals(set))).map(drop)
}

/// Has the process of a command wait at a gate before it becomes the command. It binds itself to memory
/// of these NUMA nodes (to none, if none is named), says who it is ([`GateReport`]), and goes on once a byte
/// comes; if the gate closes first, it ends.
///
/// `caught` are the signals that this program catches. The process does not catch them. If the thread
/// that spawns the command [holds them back](block_signals), the process loses none: what comes before it has
/// stopped catching ends it at the gate.
///
/// If a group is given (the folder of a control group of version 2), the process is born in it, where the kernel
/// lets it: then it is not the one that `spawn` tells of, but its sibling. The report tells its number.
///
/// Returns this program's side of the gate. Whoever spawns the command waits until the gate is open.
///
/// # Errors
/// The system gives no sockets.
pub(crate) fn gate(
    command: &mut Command,
    nodes: &[u32],
    caught: Vec<c_int>,
    group: Option<RawFd>,
) -> io::Result<UnixStream> {
    let nodes = Nodes::of(nodes);
    let held = BlockedSignals::now()?;
    let (ours, mut theirs) = UnixStream::pair()?;
    let copy = ours.as_raw_fd();
    let program = std::process::id() as i32;
    // SAFETY: the closure runs in a process that has this thread alone, so it makes system calls and
    // allocates nothing. `copy` is that process's copy of this program's side, of which nobody else there
    // knows: unclosed, it would keep the gate from closing when this program ends.
    unsafe {
        command.pre_exec(move || {
            libc::close(copy);
            // A handler of this program would run in the copy of its memory, where no thread reads what it
            // stores.
            for &signal in &caught {
                libc::signal(signal, libc::SIG_DFL);
            }
            // Now that all have their default action, the signals that were held back may come.
            BlockedSignals::change(libc::SIG_SETMASK, Some(&held))?;
            // The copy in the group goes on from here, and this process ends; without one, this process goes on.
            let is_grouped = group.is_some_and(|group| reborn_in(group).is_ok());
            let bound = nodes.bind();
            let error = bound.err().and_then(|error| error.raw_os_error());
            theirs.write_all(&GateReport::word(error.unwrap_or(0), is_grouped))?;
            // Reading blocks until the byte comes. If the gate closes, the error makes `spawn` fail, and this
            // process ends. If this program has ended, the standard library could not report the error,
            // and would print that on the command's standard error.
            let opened = theirs.read_exact(&mut [0]);
            if opened.is_err() && libc::getppid() != program {
                libc::_exit(1);
            }
            opened
        });
    }
    Ok(ours)
}

/// Has the process of a command be a child of a process that ends at once, in a session of its own: it outlives this
/// program, which is not its parent.
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: the closure runs in a process that has this thread alone. It makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            match libc::fork() {
                -1 => return Err(io::Error::last_os_error()),
                0 => {}
                _ => libc::_exit(0),
            }
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// The user of this program, as the kernel knows it: `name(number)`.
#[must_use]
pub fn user() -> String {
    user_of(rustix::process::geteuid().as_raw())
}

/// A user as the audit names it: `name(number)`, or the number alone if the system knows no name.
pub(crate) fn user_of(uid: u32) -> String {
    // Nearly every name is asked for again.
    static KNOWN: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = known.entry(uid).or_insert_with(|| {
        user_name(uid).map_or_else(|| uid.to_string(), |name| format!("{name}({uid})"))
    });
    name.clone()
}

/// The name of a user, by whatever the system asks: files, LDAP.
fn user_name(uid: u32) -> Option<String> {
    let mut buffer = vec![0; 16 << 10];
    // SAFETY: all bytes of it may be zero: numbers and pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: the call writes the entry, its texts into the buffer of that length, and where the entry is.
    let error = unsafe {
        let texts = buffer.as_mut_ptr();
        libc::getpwuid_r(uid, &raw mut entry, texts, buffer.len(), &raw mut found)
    };
    if error != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call has found an entry, whose name is a text with a zero at its end in the buffer.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    Some(name.to_str().ok()?.to_owned())
}

/// Copies this process into a control group of version 2 of which this is the folder, as a child of its own parent, and
/// ends this process: the copy returns. A process that moves there instead would wait milliseconds for all processors.
/// Allocates nothing. For a process of one thread.
///
/// # Errors
/// The kernel does not know the call (before Linux 5.7), or does not let this process: it goes on where it is.
fn reborn_in(group: RawFd) -> io::Result<()> {
    // SAFETY: all bytes of it may be zero: numbers, of which zero says that nothing is asked for.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    // With CLONE_PARENT the copy tells its end by the signal of this process; another may not be named.
    args.flags = CLONE_INTO_CGROUP | libc::CLONE_PARENT as u64;
    args.cgroup = group as u64;
    // SAFETY: without CLONE_VM the copy has memory of its own, and goes on here as after fork(2).
    let answer = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    match answer {
        0 => Ok(()),
        1.. => {
            // SAFETY: ends this process without running anything of the program whose copy it is.
            unsafe { libc::_exit(0) }
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// The process at the other end of a Unix socket, and its user. The process is 0 if it is in another PID
/// namespace: rustix has a type without 0 for it, so its function may not be used.
///
/// # Errors
/// What the system says.
pub fn peer_of(socket: impl AsFd) -> io::Result<(i32, u32)> {
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

/// Has the kernel say with each datagram of a Unix socket whose it is: see [`receive_from`].
///
/// # Errors
/// What the system says.
pub(crate) fn tell_senders(socket: &UnixDatagram) -> io::Result<()> {
    let on: c_int = 1;
    // SAFETY: the call reads an integer, of that size.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PASSCRED,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The next datagram of a socket, and the user who has sent it; `None` if the kernel does not say. rustix has a type
/// without 0 for the sender's process, which is 0 if it is in another PID namespace, so its function may not be used.
///
/// # Errors
/// What the system says.
pub(crate) fn receive_from(
    socket: &UnixDatagram,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<u32>)> {
    // Room for the sender, which the kernel writes first, and for nothing else: files that somebody passes on would stay
    // open here, and without room the kernel closes them. Words, so that the header lies where it may.
    let mut control = [0u64; (size_of::<libc::cmsghdr>() + size_of::<libc::ucred>()).div_ceil(8)];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all bytes of it may be zero: no address, no parts, no room.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header names two rooms with their sizes, which live until the call returns.
    let length =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: null, or the first of the headers that the kernel has written there.
    let first = unsafe { libc::CMSG_FIRSTHDR(&raw const header).as_ref() };
    let sender = first.filter(|first| {
        (first.cmsg_level, first.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_CREDENTIALS)
    });
    let uid = sender.map(|sender| {
        // SAFETY: what follows a header of this kind is a `ucred`, wherever it lies.
        let sender: libc::ucred = unsafe { ptr::read_unaligned(libc::CMSG_DATA(sender).cast()) };
        sender.uid
    });
    Ok((length, uid))
}
