//! Running a command that may hang. After a time limit the command is killed together with every
//! process that it started, and the caller waits no longer. Those that have left its process group are found by a
//! variable of their environment.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use mapa_topologies::MAX_BYTES;

/// The variable that marks what a command starts.
const MARK: &str = "MAPA_CALL";

/// The number of a call in this process.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// How long a killed command may take to end. One that is stuck in the kernel never does.
const GRACE: Duration = Duration::from_millis(500);

/// Why a command gave no output.
pub(crate) enum CommandFailure {
    /// There is no such command.
    Missing,
    /// The command did not end within this time, and was killed.
    Hung(Duration),
    /// The command ended with an error, and printed this line.
    Failed(ExitStatus, String),
    /// The system did not start the command, or waiting for it failed.
    System(io::Error),
}

/// The input of a command besides its arguments.
#[derive(Default)]
pub(crate) struct CommandInput {
    /// Its standard input: some lines at most, which a pipe takes at once.
    pub(crate) input: Vec<u8>,
    /// What is added to its environment.
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// The output of a command, if it ends without an error within the limit. Output is cut off one
/// byte after [`MAX_BYTES`], so that a reader rejects longer output as too large.
pub(crate) fn run(
    program: &Path,
    words: &[&str],
    limit: Duration,
) -> Result<Vec<u8>, CommandFailure> {
    tell(program, words, CommandInput::default(), limit)
}

/// Runs a command that leaves a process behind, as a daemon does: nothing of it is read, so that the
/// process may keep what it was given.
#[cfg(target_os = "linux")]
pub(crate) fn detach(
    program: &Path,
    words: &[&str],
    env: &[(OsString, OsString)],
    limit: Duration,
) -> Result<(), CommandFailure> {
    let mut child = Command::new(program)
        .args(words)
        .envs(env.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CommandFailure::Missing,
            _ => CommandFailure::System(error),
        })?;
    let deadline = end_of(limit);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(CommandFailure::Failed(status, String::new())),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(CommandFailure::Hung(limit));
            }
            Err(error) => return Err(CommandFailure::System(error)),
        }
    }
}

/// When a time limit is over. One beyond what the clock can tell is a year.
fn end_of(limit: Duration) -> Instant {
    let now = Instant::now();
    let year = Duration::from_secs(365 * 24 * 3600);
    now.checked_add(limit).unwrap_or_else(|| now + year)
}

/// As [`run`], for a command that reads its standard input.
pub(crate) fn tell(
    program: &Path,
    words: &[&str],
    told: CommandInput,
    limit: Duration,
) -> Result<Vec<u8>, CommandFailure> {
    let input = if told.input.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}:{call}", std::process::id());
    let mut command = Command::new(program);
    command
        .args(words)
        .envs(told.env)
        .env(MARK, &mark)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // What the command starts belongs to its process group, and is killed with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CommandFailure::Missing,
        _ => CommandFailure::System(error),
    })?;
    let deadline = end_of(limit);
    if let Some(mut pipe) = child.stdin.take() {
        // A command that reads nothing closes the pipe, and says so by how it ends.
        let _ = pipe.write_all(&told.input);
    }
    // Both pipes are read at once. A command that fills the one while only the other is read would
    // never end.
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let (out, status) = match finish(&mut child, &out, deadline) {
        Ok(Some(done)) => done,
        Ok(None) => {
            stop(&mut child, &mark);
            return Err(CommandFailure::Hung(limit));
        }
        Err(error) => {
            stop(&mut child, &mark);
            return Err(CommandFailure::System(error));
        }
    };
    if status.success() {
        return Ok(out);
    }
    // A process that the command started may still hold the pipe open: do not wait for it long.
    let err = err.recv_timeout(GRACE).unwrap_or_default();
    let said = first_line(&err).or_else(|| first_line(&out));
    Err(CommandFailure::Failed(status, said.unwrap_or_default()))
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
    child: &mut Child,
    out: &Receiver<Vec<u8>>,
    deadline: Instant,
) -> io::Result<Option<(Vec<u8>, ExitStatus)>> {
    // The output first: it is complete when the pipe is closed, by the command and all processes
    // that it started.
    let Ok(out) = out.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
        return Ok(None);
    };
    Ok(ended(child, deadline)?.map(|status| (out, status)))
}

/// The exit status of the command; `None` if the deadline passes first. The pauses between two
/// polls grow, so that a short command is noticed soon and a long one costs little time.
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

/// Kills a command, on Unix with its process group, on Linux also what has left the group. Nothing may have waited for it
/// before: then its process id cannot belong to another process yet.
#[cfg_attr(
    not(target_os = "linux"),
    expect(unused_variables, reason = "no /proc")
)]
fn stop(child: &mut Child, mark: &str) {
    // A command that has ended already cannot be killed, which is no error here.
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    #[cfg(not(unix))]
    let _ = child.kill();
    #[cfg(target_os = "linux")]
    stop_marked(mark);
    let _ = ended(child, Instant::now() + GRACE);
}

/// Kills the processes of this mark, and those that they start meanwhile.
#[cfg(target_os = "linux")]
fn stop_marked(mark: &str) {
    // Each round kills whatever starts more, so few are needed.
    const ROUNDS: usize = 8;
    let Ok(processes) = crate::kernel::Processes::new() else {
        return;
    };
    for _ in 0..ROUNDS {
        let marked = processes.marked(MARK);
        let Some(own) = marked.found.get(mark) else {
            return;
        };
        for process in own {
            // One that has ended meanwhile, or that has become another user's, cannot be killed.
            let _ = processes.signal(process, rustix::process::Signal::KILL);
        }
    }
}

/// The first line that is not blank, at most 200 characters of it.
fn first_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(200).collect())
}
