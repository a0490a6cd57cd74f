//! Running a command that may hang: after a time limit it is killed, with all that it started, and nothing here waits
//! longer.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::readers::MAX_BYTES;

/// How long a command that was killed may take to go. One that is stuck in the kernel does not.
const GRACE: Duration = Duration::from_millis(500);

/// Why there is no output.
pub(super) enum Failure {
    /// There is no such command.
    Missing,
    /// It did not end in time, and was killed.
    Hung(Duration),
    /// It ended badly; what it said.
    Failed(ExitStatus, String),
    /// The system did not let it run, or be watched.
    System(io::Error),
}

/// What a command prints, if it ends well within the limit. Its output may have [`MAX_BYTES`]; of more, so much and one
/// byte comes back, for readers to refuse.
pub(super) fn run(program: &Path, words: &[&str], limit: Duration) -> Result<Vec<u8>, Failure> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    alone(&mut command);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing,
        _ => Failure::System(error),
    })?;
    let deadline = Instant::now() + limit;
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let (out, status) = match finish(&mut child, &out, deadline) {
        Ok(Some(done)) => done,
        Ok(None) => {
            stop(&mut child);
            return Err(Failure::Hung(limit));
        }
        Err(error) => {
            stop(&mut child);
            return Err(Failure::System(error));
        }
    };
    if status.success() {
        return Ok(out);
    }
    // Something that it started may hold the other end still: what it said is not worth waiting for.
    let err = err.recv_timeout(GRACE).unwrap_or_default();
    Err(Failure::Failed(status, first_line(&err).or_else(|| first_line(&out)).unwrap_or_default()))
}

/// All that comes out of a pipe, once it is closed.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What could be read before an error is what there is.
        let _ = pipe.map(|pipe| pipe.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    });
    receiver
}

/// What it printed and how it ended; none if the time is over before.
fn finish(child: &mut Child, out: &Receiver<Vec<u8>>, deadline: Instant) -> io::Result<Option<(Vec<u8>, ExitStatus)>> {
    let Ok(out) = out.recv_timeout(deadline.saturating_duration_since(Instant::now())) else { return Ok(None) };
    Ok(ended(child, deadline)?.map(|status| (out, status)))
}

fn ended(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(100);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// In a process group of its own, to which belongs what it starts.
#[cfg(unix)]
fn alone(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn alone(_: &mut Command) {}

#[cfg(unix)]
fn kill(child: &mut Child) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process_group};
    Ok(kill_process_group(Pid::from_child(child), Signal::KILL)?)
}

#[cfg(not(unix))]
fn kill(child: &mut Child) -> io::Result<()> {
    child.kill()
}

/// Kills one whose end was not asked for yet, or was not there: its number is nobody else's so far.
fn stop(child: &mut Child) {
    // One that has gone already needs no killing.
    let _ = kill(child);
    let _ = ended(child, Instant::now() + GRACE);
}

fn first_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(200).collect())
}
