//! The paper's way: memory that a process and the manager share, in place of the socket's messages.
//!
//! Each side makes a memory file, writes it, and lets the other read it. Files are sealed against
//! shrinking, so nobody can be stopped by a page that is gone. The manager waits for an eventfd, the
//! process for a word of the manager's file (futex). The socket stays: it tells of the manager's
//! death, which no word of memory does.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::thread::futex;
use rustix::time::Timespec;

use crate::message::{LENGTH, Malformed, Op, Reply, Request, Status};
use crate::segment::{MAGIC, SEGMENT, SLOTS, SharedWords, answer, post, reply, take};
use crate::transport::{Socket, Spin, Transport, retry};

/// Bytes of the process's segment, and of the manager's, which has text behind it.
const OURS: usize = 4096;
const THEIRS: usize = 8192;
/// Where the manager's text begins: its length, and then its bytes.
const TEXT_AT: usize = 4096;
/// The word that a process waits for, in the header.
const BELL_AT: usize = 32;

/// How often a waiting process checks whether the manager lives.
const LIVENESS_POLL: Duration = Duration::from_millis(50);

/// Seals of both files, as long as they are only mapped once with rights to write.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// A file that is mapped.
struct Map {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory is there until the map is dropped, and is only touched by atomic words.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    fn new(file: BorrowedFd<'_>, length: usize, protection: ProtFlags) -> io::Result<Self> {
        // SAFETY: the kernel chooses the place, so nothing that exists is replaced.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the map has so many bytes, begins at a page, and its file cannot shrink.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.length / 8) }
    }

    /// The word that is waited for. It is touched as 4 bytes alone.
    fn wakeup(&self) -> &AtomicU32 {
        // SAFETY: as above; the offset is a multiple of 4 within the first page.
        unsafe { &*self.start.as_ptr().add(BELL_AT).cast::<AtomicU32>() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: nothing borrowed from the map outlives it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

impl SharedWords for Map {
    fn load(&self, at: usize) -> u64 {
        // On memory that may only be read, Rust promises relaxed loads alone.
        let word = self.words().get(at);
        let word = word.map_or(0, |word| word.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        word
    }

    fn store(&self, at: usize, word: u64) {
        if let Some(own) = self.words().get(at) {
            own.store(word, Ordering::Relaxed);
        }
    }

    fn publish(&self, at: usize, word: u64) {
        if let Some(own) = self.words().get(at) {
            own.store(word, Ordering::Release);
        }
    }
}

/// Makes a file of so many bytes, and maps it to be written. The seals come last: one of them keeps
/// everybody from mapping it so again.
fn make(name: &str, length: usize, seals: SealFlags) -> io::Result<(OwnedFd, Map)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create(name, flags)?;
    ftruncate(&file, length as u64)?;
    let map = Map::new(file.as_fd(), length, ProtFlags::READ | ProtFlags::WRITE)?;
    fcntl_add_seals(&file, seals | SealFlags::SEAL)?;
    map.store(0, MAGIC);
    Ok((file, map))
}

/// Maps a file of the other side, to be read.
///
/// # Errors
/// It may shrink, has another length, or does not say what it is.
fn map_of_other(file: &OwnedFd, length: usize) -> io::Result<Map> {
    let seals = fcntl_get_seals(file)?;
    let size = fstat(file)?.st_size;
    if !seals.contains(SEALS) || usize::try_from(size) != Ok(length) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let map = Map::new(file.as_fd(), length, ProtFlags::READ)?;
    if map.load(0) != MAGIC {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(map)
}

/// Connects to the manager by shared memory.
pub struct SharedTransport {
    socket: Socket,
    ours: Map,
    theirs: Map,
    wakeup: OwnedFd,
    calls: Mutex<[Option<(u64, Op)>; SLOTS]>,
    freed: Condvar,
    spin: Spin,
}

impl SharedTransport {
    /// Connects, and exchanges the files.
    ///
    /// # Errors
    /// What the system says; the manager does not want it.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = Socket::connect(path)?;
        let (file, ours) = make("mapa-case-process", OURS, SEALS)?;
        let request = Request::new(Op::Memory, 0, 0).encode();
        send_files(socket.fd().as_fd(), &request, &[file.as_fd()])?;
        let mut bytes = [0; LENGTH];
        let (length, files) = receive_files(socket.fd().as_fd(), &mut bytes, RecvFlags::empty())?;
        let said = Reply::decode(&bytes[..length.min(LENGTH)]);
        let is_done = said.is_some_and(|reply| reply.status == Status::Done);
        let Ok([theirs, wakeup]) = <[OwnedFd; 2]>::try_from(files) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        if !is_done {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self {
            socket,
            ours,
            theirs: map_of_other(&theirs, THEIRS)?,
            wakeup,
            calls: Mutex::default(),
            freed: Condvar::new(),
            spin: Spin::default(),
        })
    }

    fn calls(&self) -> MutexGuard<'_, [Option<(u64, Op)>; SLOTS]> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply to any call, if there is one.
    fn find(&self) -> Option<(Reply, String)> {
        let mut calls = self.calls();
        for (slot, call) in calls.iter_mut().enumerate() {
            let Some((seq, op)) = *call else { continue };
            let Some(found) = reply(&self.theirs, slot, seq) else {
                continue;
            };
            *call = None;
            self.freed.notify_one();
            let text = if op == Op::Describe {
                text(&self.theirs)
            } else {
                String::new()
            };
            return Some((found, text));
        }
        None
    }

    /// Whether the manager has hung up.
    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(self.socket.fd(), PollFlags::IN)];
        let none = Timespec::default();
        // Nothing is said over the socket any more, so what can be read is its end.
        poll(&mut fds, Some(&none)).is_ok_and(|ready| ready > 0)
    }
}

impl Transport for SharedTransport {
    fn send(&self, request: &Request) -> io::Result<()> {
        let mut calls = self.calls();
        let slot = loop {
            if let Some(slot) = calls.iter().position(Option::is_none) {
                break slot;
            }
            let waited = self.freed.wait_timeout(calls, LIVENESS_POLL);
            calls = waited.unwrap_or_else(PoisonError::into_inner).0;
            if self.is_gone() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        };
        calls[slot] = Some((request.seq, request.op));
        post(&self.ours, slot, request);
        drop(calls);
        retry(|| rustix::io::write(&self.wakeup, &1u64.to_ne_bytes()))?;
        if self.is_gone() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }

    fn receive(&self) -> io::Result<(Reply, String)> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: LIVENESS_POLL.as_nanos() as _,
        };
        let receive = |sleeps: bool| loop {
            // Read before the slots: a reply that comes after them changes it, and the wait ends.
            let before = self.theirs.wakeup().load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if let Some(found) = self.find() {
                return Ok(found);
            }
            if !sleeps {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match futex::wait(
                self.theirs.wakeup(),
                futex::Flags::empty(),
                before,
                Some(&timeout),
            ) {
                Err(Errno::TIMEDOUT) if self.is_gone() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                _ => {}
            }
        };
        self.spin.wait(receive)
    }
}

impl std::fmt::Debug for SharedTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// The manager's side of shared memory.
pub struct SharedServer {
    ours: Map,
    theirs: Map,
    wakeup: OwnedFd,
    seen: [u64; SLOTS],
    /// The call that each slot was seen with last.
    calls: [Option<u64>; SLOTS],
}

impl SharedServer {
    /// Takes a process's file, and makes the manager's. Returns what the process must get: the
    /// manager's file, and the eventfd.
    ///
    /// # Errors
    /// The process's file may shrink, has another length or does not say what it is; what the system
    /// says.
    pub fn with(file: &OwnedFd) -> io::Result<(Self, [OwnedFd; 2])> {
        let theirs = map_of_other(file, OURS)?;
        let (file, ours) = make("mapa-case-manager", THEIRS, SEALS | SealFlags::FUTURE_WRITE)?;
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let for_them = [file, wakeup.try_clone()?];
        let shared = Self {
            ours,
            theirs,
            wakeup,
            seen: [0; SLOTS],
            calls: [None; SLOTS],
        };
        Ok((shared, for_them))
    }

    /// What the manager waits for, by edges: every ring is one. It must not be read. The process has the
    /// same open file, so it could make a read wait, and read first.
    #[must_use]
    pub fn wakeup(&self) -> BorrowedFd<'_> {
        self.wakeup.as_fd()
    }

    /// The requests that have come since the last read, at most one a slot.
    pub fn requests(&mut self) -> Vec<Result<Request, Malformed>> {
        let mut found = Vec::new();
        for slot in 0..SLOTS {
            let Some(request) = take(&self.theirs, slot, &mut self.seen[slot]) else {
                continue;
            };
            let seq = match &request {
                Ok(request) => request.seq,
                Err(what) => what.seq,
            };
            self.calls[slot] = Some(seq);
            found.push(request);
        }
        found
    }

    /// Answers a call.
    pub fn answer(&mut self, reply: &Reply, text: &str) {
        let Some(slot) = self.calls.iter().position(|call| *call == Some(reply.seq)) else {
            return;
        };
        self.calls[slot] = None;
        if !text.is_empty() {
            write_text(&self.ours, text);
        }
        answer(&self.ours, slot, reply);
        self.ours.wakeup().fetch_add(1, Ordering::Release);
        // Nobody may be waiting, which is no error.
        let _ = futex::wake(self.ours.wakeup(), futex::Flags::empty(), 1);
    }
}

impl std::fmt::Debug for SharedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

const _: () = assert!(SEGMENT * 8 <= OURS && OURS <= TEXT_AT);

fn write_text(map: &Map, text: &str) {
    let at = TEXT_AT / 8;
    let bytes = text.as_bytes();
    let bytes = &bytes[..bytes.len().min(THEIRS - TEXT_AT - 8)];
    map.store(at, bytes.len() as u64);
    for (offset, chunk) in (1..).zip(bytes.chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        map.store(at + offset, u64::from_le_bytes(word));
    }
}

fn text(map: &Map) -> String {
    let at = TEXT_AT / 8;
    let length = usize::try_from(map.load(at))
        .unwrap_or(0)
        .min(THEIRS - TEXT_AT - 8);
    let words = (1..=length.div_ceil(8)).map(|offset| map.load(at + offset).to_le_bytes());
    let bytes: Vec<u8> = words.flatten().take(length).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends a message with files.
///
/// # Errors
/// What the system says.
pub fn send_files(
    socket: BorrowedFd<'_>,
    message: &[u8],
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(files));
    let flags = SendFlags::NOSIGNAL;
    let sent = retry(|| sendmsg(socket, &[IoSlice::new(message)], &mut control, flags))?;
    if sent == message.len() {
        return Ok(());
    }
    Err(io::ErrorKind::WriteZero.into())
}

/// Receives a message, and the files that came with it: two at most, the kernel closes more.
///
/// # Errors
/// What the system says.
pub fn receive_files(
    socket: BorrowedFd<'_>,
    message: &mut [u8],
    flags: RecvFlags,
) -> rustix::io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(message)], &mut control, flags)?;
    let mut files = Vec::new();
    for recv_ancillary_message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(all) = recv_ancillary_message {
            files.extend(all);
        }
    }
    Ok((received.bytes, files))
}
