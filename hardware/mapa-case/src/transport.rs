//! How requests reach the manager: a socket, or memory that both have mapped.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};

use crate::message::{LENGTH, Reply, Request};

/// The variable that names the manager's socket. Without it there is no manager.
pub const SOCKET: &str = "MAPA_CASE_SOCKET";

/// The variable that says how requests travel: `memory`, otherwise over the socket.
pub const TRANSPORT: &str = "MAPA_CASE_TRANSPORT";

/// The longest text behind a reply.
pub(crate) const TEXT: usize = 4096;

/// A connection to the manager. Several threads may send at once; one at a time receives.
pub trait Transport: Send + Sync {
    /// Sends a request.
    ///
    /// # Errors
    /// The connection is broken.
    fn send(&self, request: &Request) -> io::Result<()>;

    /// Waits for the next reply, to whichever request, and the text behind it.
    ///
    /// # Errors
    /// The connection is broken.
    fn receive(&self) -> io::Result<(Reply, String)>;
}

/// The socket that the environment names.
#[must_use]
pub fn socket_of_environment() -> Option<PathBuf> {
    env::var_os(SOCKET)
        .filter(|own| !own.is_empty())
        .map(PathBuf::from)
}

/// A Unix socket of whole messages (SOCK_SEQPACKET).
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Connects to the manager.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let fd = socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        connect(&fd, &SocketAddrUnix::new(path)?)?;
        Ok(Self(fd))
    }

    /// The descriptor.
    #[must_use]
    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

impl Transport for Socket {
    fn send(&self, request: &Request) -> io::Result<()> {
        // Without the flag a manager that is gone would end this process by SIGPIPE.
        let sent = retry(|| send(&self.0, &request.encode(), SendFlags::NOSIGNAL))?;
        if sent == LENGTH {
            return Ok(());
        }
        Err(io::ErrorKind::WriteZero.into())
    }

    fn receive(&self) -> io::Result<(Reply, String)> {
        let mut bytes = [0; LENGTH + TEXT];
        let mut receive = || retry(|| recv(&self.0, bytes.as_mut_slice(), RecvFlags::empty()));
        let (_, length) = match receive() {
            // A request was not read, which Linux says before it gives what was sent before.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => receive(),
            done => done,
        }?;
        let Some((head, text)) = bytes[..length].split_at_checked(LENGTH) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let reply = Reply::decode(head).ok_or(io::ErrorKind::InvalidData)?;
        Ok((reply, String::from_utf8_lossy(text).into_owned()))
    }
}

/// A call again for as long as a signal interrupts it.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
