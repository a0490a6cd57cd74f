//! The gate between a lease and its command.
//!
//! A program that is killed just after it has started a command must not leave a command of which
//! the ledger knows nothing. So it starts this program once more, as a gate: the gate waits until
//! the ledger has its process id, and only then becomes the command. If the program dies before,
//! the gate sees its end of the connection close, and ends.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, fs};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Error;
use crate::memory;
use crate::output::Output;
use crate::process::Processes;

/// The variable that makes this program a gate: the name of the socket.
pub(crate) const VARIABLE: &str = "MAPA_GATE";

/// The variable that tells the gate of which NUMA nodes the command takes memory: numbers, separated by
/// commas.
pub(crate) const MEMORY: &str = "MAPA_GATE_MEMORY";

/// The side of the gate that opens it.
#[derive(Debug)]
pub(crate) struct Gate {
    name: String,
    listener: UnixListener,
}

impl Gate {
    /// A gate that nobody has come to yet. Its name cannot be guessed.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new() -> Result<Self, Error> {
        let failed = |error: io::Error| Error::at("the gate of the command", error);
        let file = "/proc/sys/kernel/random/uuid";
        let drawn = fs::read_to_string(file).map_err(|error| Error::at(file, error))?;
        let name = format!("mapa-gate-{}", drawn.trim());
        let address = SocketAddr::from_abstract_name(&name).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { name, listener })
    }

    /// The name, for [`VARIABLE`].
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Waits until the process of this id has come to the gate; none if it has ended before.
    pub(crate) fn await_process(&self, pid: i32, processes: &Processes) -> Option<Opener> {
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        loop {
            match self.listener.accept() {
                // A stranger who has found the name gets nothing.
                Ok((stream, _)) => {
                    if memory::peer_of(&stream).is_ok_and(|(own, _)| own == pid) {
                        return Some(Opener(stream));
                    }
                }
                Err(_) => {
                    processes.identity(pid)?;
                    let mut waits = [PollFd::new(&self.listener, PollFlags::IN)];
                    // A wait that was interrupted is one more look.
                    let _ = poll(&mut waits, Some(&pause));
                }
            }
        }
    }
}

/// A gate at which a process waits. Dropped unopened, it ends the process.
#[derive(Debug)]
pub(crate) struct Opener(UnixStream);

impl Opener {
    /// Lets the process become the command.
    pub(crate) fn open(mut self) {
        // A process that has ended meanwhile needs no opening.
        drop(self.0.write_all(b"!"));
    }
}

/// The other side: waits at the gate of this name, then becomes the command.
pub(crate) fn pass(name: &OsString, words: &[OsString]) -> ExitCode {
    let output = Output { json: false };
    let opened = SocketAddr::from_abstract_name(name.as_encoded_bytes())
        .and_then(|address| UnixStream::connect_addr(&address))
        .and_then(|mut stream| stream.read_exact(&mut [0]));
    let (Ok(()), Some((program, arguments))) = (opened, words.split_first()) else {
        // Whoever started this is gone, and with it the lease.
        return ExitCode::from(125);
    };
    // A job that runs a little slower is better than one that does not run.
    let nodes = env::var(MEMORY).unwrap_or_default();
    let nodes: Vec<u32> = nodes
        .split(',')
        .filter_map(|own| own.parse().ok())
        .collect();
    if let Err(error) = memory::bind(&nodes) {
        output.aside(format!("the command's memory is not bound: {error}"));
    }
    let error = Command::new(program)
        .args(arguments)
        .env_remove(VARIABLE)
        .env_remove(MEMORY)
        .exec();
    let what = program.to_string_lossy();
    output.aside(format!("{what}: {error}"));
    let found = error.kind() != io::ErrorKind::NotFound;
    ExitCode::from(if found { 126 } else { 127 })
}

/// The name of the gate at which this program was started, if it was.
pub(crate) fn of_environment() -> Option<OsString> {
    env::var_os(VARIABLE)
}
