//! The driver's side of a worker: the process, and a thread that serves its requests.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Instant;
use std::{env, fmt};

use super::bucket::SharedPort;
use super::worker::GO;
use super::worker::WorkerJob;
use mapa_front::Error;

/// A worker's process. Dropping this kills it.
pub(super) struct WorkerProcess {
    child: Child,
    pipes: Option<(ChildStdin, ChildStdout)>,
    server: Option<JoinHandle<()>>,
}

/// The end of a worker.
pub(super) struct EndedWorker {
    /// The number that the worker got at its start.
    pub(super) index: usize,
    pub(super) at: Instant,
    /// The bytes that the worker has copied, or why it stopped early.
    pub(super) copied: io::Result<u64>,
}

impl WorkerProcess {
    /// Starts the process, which waits.
    pub(super) fn spawn(work: &WorkerJob) -> Result<Self, Error> {
        let program = env::current_exe().map_err(wrong)?;
        let WorkerJob {
            compute,
            bytes,
            chunk,
            ahead,
            buffer,
        } = work;
        let mut child = Command::new(program)
            .args([
                "workers",
                "work",
                "--compute",
                &compute.as_secs_f64().to_string(),
            ])
            .args(["--bytes", &bytes.to_string(), "--chunk", &chunk.to_string()])
            .args([
                "--ahead",
                &ahead.to_string(),
                "--buffer",
                &buffer.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(wrong)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        Ok(Self {
            child,
            pipes,
            server: None,
        })
    }

    /// Blocks until the process is ready.
    pub(super) fn ready(&mut self) -> Result<(), Error> {
        match self.pipes.as_mut().map(|(_, out)| wants(out)) {
            Some(Ok(0)) => Ok(()),
            Some(Ok(_)) => Err(wrong("it wants to copy before it may")),
            Some(Err(error)) => Err(wrong(error)),
            None => Err(wrong("it was started twice")),
        }
    }

    /// Lets the process run on a device behind this port. When the process ends, its [`EndedWorker`] is
    /// sent to `tell` with this number.
    pub(super) fn start(
        &mut self,
        index: usize,
        port: Arc<SharedPort>,
        tell: Sender<EndedWorker>,
    ) -> Result<(), Error> {
        let (input, output) = self
            .pipes
            .take()
            .ok_or_else(|| wrong("it was started twice"))?;
        let serve = move || {
            let copied = serve(input, output, &port);
            // The receiver is gone if the replay has failed already.
            let _ = tell.send(EndedWorker {
                index,
                at: Instant::now(),
                copied,
            });
        };
        self.server = Some(thread::Builder::new().spawn(serve).map_err(wrong)?);
        Ok(())
    }
}

/// No process outlives its driver.
impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// Lets a worker start, and serves its requests until it is done.
fn serve(mut input: ChildStdin, mut output: ChildStdout, port: &SharedPort) -> io::Result<u64> {
    let mut copied = 0;
    loop {
        input.write_all(&GO)?;
        match wants(&mut output)? {
            0 => return Ok(copied),
            bytes => {
                port.wait(bytes);
                copied += u64::from(bytes);
            }
        }
    }
}

/// Reads the next request: the number of bytes to copy, 0 for none.
fn wants(output: &mut ChildStdout) -> io::Result<u32> {
    let mut bytes = [0; 4];
    output.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

pub(super) fn wrong(what: impl fmt::Display) -> Error {
    Error::malformed(format_args!("a worker process: {what}"))
}
