//! The worker: one process, one job.
//!
//! The worker writes each request to its standard output: the number of bytes to copy next, as four
//! bytes, least significant byte first. A 0 is not a request: it says that the worker is ready
//! (before the start) or done (at the end). A byte on its standard input grants a request. If that
//! input ends, the driver is gone, and the worker ends too.
//!
//! The worker computes on one chunk after the other while the next chunks are copied, as programs
//! that overlap copies and computation do. So a job that runs alone takes the time of its work. A
//! job that would use the bandwidth u but is granted only b takes u / b times as long.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Grants a request.
pub(super) const GO: [u8; 1] = *b"+";

/// The job of one worker process, in real bytes and seconds.
#[derive(Clone, Copy, Debug)]
pub struct WorkerJob {
    /// How long the worker computes.
    pub compute: Duration,
    /// How much it copies while it computes, bytes; 0 for nothing.
    pub bytes: u64,
    /// The size of one copy, bytes.
    pub chunk: u32,
    /// How many chunks it copies ahead of its computation.
    pub ahead: u32,
    /// The size of the source and of the target of its copies, bytes.
    pub buffer: usize,
}

/// Runs a task, as far as its requests are granted. They are written to standard output, and granted
/// on standard input.
///
/// # Errors
/// If the driver is gone: `BrokenPipe` or `UnexpectedEof`.
pub fn work(job: &WorkerJob) -> io::Result<()> {
    let mut memory = CopyBuffers::new(if job.bytes == 0 {
        0
    } else {
        job.buffer.max(job.chunk as usize)
    });
    ask(0)?;
    if job.bytes == 0 {
        compute(job.compute)?
    } else {
        copy(job, &mut memory)?
    }
    say(0)
}

/// Writes a request.
fn say(bytes: u32) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&bytes.to_le_bytes())?;
    out.flush()
}

/// Writes a request, and blocks until it is granted.
fn ask(bytes: u32) -> io::Result<()> {
    say(bytes)?;
    io::stdin().read_exact(&mut [0; GO.len()])
}

/// Computes without copying, and ends early if the driver is gone.
fn compute(time: Duration) -> io::Result<()> {
    let (gone, waits) = channel::<()>();
    thread::spawn(move || {
        let _ = io::stdin().read(&mut [0]);
        drop(gone);
    });
    match waits.recv_timeout(time) {
        Err(RecvTimeoutError::Timeout) => Ok(()),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Copies chunk by chunk, and computes on each chunk for its share of the time.
fn copy(job: &WorkerJob, memory: &mut CopyBuffers) -> io::Result<()> {
    let per_byte = job.compute.as_secs_f64() / job.bytes as f64;
    // When the computation on each of the last chunks begins, and when that on all chunks ends.
    let mut begun: VecDeque<Instant> = VecDeque::new();
    let mut over = Instant::now();
    let mut left = job.bytes;
    while left > 0 {
        if begun.len() >= job.ahead as usize
            && let Some(begun) = begun.pop_front()
        {
            thread::sleep(begun.saturating_duration_since(Instant::now()));
        }
        let bytes = u32::try_from(left).map_or(job.chunk, |left| left.min(job.chunk));
        ask(bytes)?;
        memory.copy(bytes as usize);
        left -= u64::from(bytes);
        let begins = over.max(Instant::now());
        begun.push_back(begins);
        over = begins + Duration::from_secs_f64(per_byte * f64::from(bytes));
    }
    thread::sleep(over.saturating_duration_since(Instant::now()));
    Ok(())
}

/// The memory that is copied, and its destination.
struct CopyBuffers {
    from: Vec<u8>,
    to: Vec<u8>,
    at: usize,
}

impl CopyBuffers {
    fn new(bytes: usize) -> Self {
        // Not zeros: the kernel maps all pages that were never written to the same page of zeros.
        Self {
            from: vec![1; bytes],
            to: vec![2; bytes],
            at: 0,
        }
    }

    /// Copies the next bytes, at most the whole memory.
    fn copy(&mut self, bytes: usize) {
        self.at = if self.at + bytes > self.from.len() {
            0
        } else {
            self.at
        };
        let until = self.from.len().min(self.at + bytes);
        self.to[self.at..until].copy_from_slice(black_box(&self.from[self.at..until]));
        black_box(&mut self.to);
        self.at = until;
    }
}
