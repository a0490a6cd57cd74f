//! Running a command that may hang. After a time limit the command is killed together with every
//! process that it started, and the caller waits no longer.

use std::io::{self, Read};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use mapa_topologies::MAX_BYTES;
use process_wrap::std::{ChildWrapper, CommandWrap};

/// How long a killed command may take to end. One that is stuck in the kernel never does.
const GRACE: Duration = Duration::from_millis(500);

/// Why a command gave no output.
pub(crate) enum Failure {
    /// There is no such command.
    Missing,
    /// The command did not end within this time, and was killed.
    Hung(Duration),
    /// The command ended with an error, and printed this line.
    Failed(ExitStatus, String),
    /// The system did not start the command, or waiting for it failed.
    System(io::Error),
}

/// The output of a command, if it ends without an error within the limit. Output is cut off one
/// byte after [`MAX_BYTES`], so that a reader rejects longer output as too large.
pub(crate) fn run(program: &Path, words: &[&str], limit: Duration) -> Result<Vec<u8>, Failure> {
    let mut command = CommandWrap::with_new(program, |command| {
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    });
    // What the command starts belongs to its process group, and is killed with it.
    #[cfg(unix)]
    command.wrap(process_wrap::std::ProcessGroup::leader());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing,
        _ => Failure::System(error),
    })?;
    let deadline = Instant::now() + limit;
    let (out, err) = (
        collect(child.stdout().take()),
        collect(child.stderr().take()),
    );
    let (out, status) = match finish(&mut *child, &out, deadline) {
        Ok(Some(done)) => done,
        Ok(None) => {
            stop(&mut *child);
            return Err(Failure::Hung(limit));
        }
        Err(error) => {
            stop(&mut *child);
            return Err(Failure::System(error));
        }
    };
    if status.success() {
        return Ok(out);
    }
    // A process that the command started may still hold the pipe open: do not wait for it long.
    let err = err.recv_timeout(GRACE).unwrap_or_default();
    let said = first_line(&err).or_else(|| first_line(&out));
    Err(Failure::Failed(status, said.unwrap_or_default()))
}

/// Reads a pipe on a thread of its own. The receiver gets everything once the pipe is closed.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, what was read before it is all there is.
        let _ = pipe.map(|pipe| pipe.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    });
    receiver
}

/// What the command printed and how it ended; `None` if the deadline passes first.
fn finish(
    child: &mut dyn ChildWrapper,
    out: &Receiver<Vec<u8>>,
    deadline: Instant,
) -> io::Result<Option<(Vec<u8>, ExitStatus)>> {
    let Ok(out) = out.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
        return Ok(None);
    };
    Ok(ended(child, deadline)?.map(|status| (out, status)))
}

/// The exit status of the command; `None` if the deadline passes first. The pauses between two
/// polls grow, so that a short command is noticed soon and a long one costs little time.
fn ended(child: &mut dyn ChildWrapper, deadline: Instant) -> io::Result<Option<ExitStatus>> {
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

/// Kills a command. Nothing may have waited for it before: then its process id cannot belong to
/// another process yet.
fn stop(child: &mut dyn ChildWrapper) {
    // A command that has ended already cannot be killed, which is no error here.
    let _ = child.start_kill();
    let _ = ended(child, Instant::now() + GRACE);
}

/// The first line that is not blank, at most 200 characters of it.
fn first_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(200).collect())
}
