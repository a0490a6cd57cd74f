//! The worker: one process, one job.
//!
//! It says on its standard output how many bytes it wants to copy next, four bytes each, the lowest first; 0 means that it waits for
//! nothing: it is ready, before the start, and done, at the end. A byte on its standard input lets it go on. When that ends, so does
//! the worker: whoever gave it work is gone.
//!
//! The device computes on one chunk after the other while the next ones are copied, as programs that overlap the two do. Alone
//! a job so runs for its work; where its port gives it a share b of what it would copy, u, it runs u / b times as long.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::failure::Failure;

/// What a worker does.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkerArgs {
    /// How long it computes, seconds.
    #[arg(long, value_parser = seconds)]
    pub(crate) compute: Duration,
    /// What it copies meanwhile, bytes; 0 is nothing.
    #[arg(long)]
    pub(crate) bytes: u64,
    /// What it copies at once, bytes.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunk: u32,
    /// How many chunks it copies ahead of what it computes on.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ahead: u32,
    /// From and to how much memory, bytes.
    #[arg(long)]
    pub(crate) buffer: usize,
}

/// A number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let expected = |_| "expected a number of seconds, not below 0".to_owned();
    text.parse()
        .map_err(|_| ())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).map_err(drop))
        .map_err(expected)
}

/// Lets a worker go on.
pub(super) const GO: [u8; 1] = *b"+";

/// Works, as it is let.
pub(crate) fn work(job: &WorkerArgs) -> Result<(), Failure> {
    let mut memory = Memory::new(if job.bytes == 0 { 0 } else { job.buffer.max(job.chunk as usize) });
    ask(0)?;
    if job.bytes == 0 {
        compute(job.compute)?
    } else {
        copy(job, &mut memory)?
    }
    say(0)
}

/// Says how many bytes it wants to copy.
fn say(bytes: u32) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(&bytes.to_le_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::writing(&error))
}

/// The same, and waits until it may.
fn ask(bytes: u32) -> Result<(), Failure> {
    say(bytes)?;
    io::stdin().read_exact(&mut [0; GO.len()]).map_err(|_| Failure::Closed)
}

/// Only computes, and notices if nobody waits for it any more.
fn compute(time: Duration) -> Result<(), Failure> {
    let (gone, waits) = channel::<()>();
    thread::spawn(move || {
        let _ = io::stdin().read(&mut [0]);
        drop(gone);
    });
    match waits.recv_timeout(time) {
        Err(RecvTimeoutError::Timeout) => Ok(()),
        _ => Err(Failure::Closed),
    }
}

/// Copies chunk by chunk, and computes on each as long as its share of the bytes is.
fn copy(job: &WorkerArgs, memory: &mut Memory) -> Result<(), Failure> {
    let per_byte = job.compute.as_secs_f64() / job.bytes as f64;
    // When computing on the last chunks began, and when it will be over on all.
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

/// What is copied, and where to.
struct Memory {
    from: Vec<u8>,
    to: Vec<u8>,
    at: usize,
}

impl Memory {
    fn new(bytes: usize) -> Self {
        // Not zeros: pages of zeros that nobody has written to are all one page.
        Self { from: vec![1; bytes], to: vec![2; bytes], at: 0 }
    }

    /// Copies the next bytes, at most all there are.
    fn copy(&mut self, bytes: usize) {
        self.at = if self.at + bytes > self.from.len() { 0 } else { self.at };
        let until = self.from.len().min(self.at + bytes);
        self.to[self.at..until].copy_from_slice(black_box(&self.from[self.at..until]));
        black_box(&mut self.to);
        self.at = until;
    }
}
