//! How requests reach the manager: a socket, or memory that both have mapped.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
        .filter(|text| !text.is_empty())
        .map(PathBuf::from)
}

/// For how long a thread polls for a reply before it sleeps. To wake it takes as long.
const SPIN: Duration = Duration::from_micros(20);

/// The longest wait after which the next one is looked for again: with many who ask at once, replies take longer, and
/// a thread that polls takes time from those that work.
const SOON: Duration = Duration::from_micros(50);

/// Whether a thread polls for a reply before it sleeps: if the last one came soon, and the manager can run meanwhile.
#[derive(Debug)]
pub(crate) struct Spin {
    has_one_cpu: bool,
    was_late: AtomicBool,
}

impl Default for Spin {
    fn default() -> Self {
        Self {
            has_one_cpu: thread::available_parallelism().is_ok_and(|non_zero| non_zero.get() == 1),
            was_late: AtomicBool::new(false),
        }
    }
}

impl Spin {
    /// What `receive` gets. It is told whether to sleep until there is something; without, it says
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing.
    pub(crate) fn wait<T>(&self, mut receive: impl FnMut(bool) -> io::Result<T>) -> io::Result<T> {
        let begun = Instant::now();
        if !self.has_one_cpu && !self.was_late.load(Ordering::Relaxed) {
            // At least once: a thread that was put off meanwhile takes what has come.
            loop {
                match receive(false) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        std::hint::spin_loop();
                    }
                    done => return done,
                }
                if begun.elapsed() >= SPIN {
                    break;
                }
            }
        }
        let done = receive(true);
        let is_late = begun.elapsed() > SOON;
        self.was_late.store(is_late, Ordering::Relaxed);
        done
    }
}

/// A Unix socket of whole messages (SOCK_SEQPACKET).
#[derive(Debug)]
pub struct Socket(OwnedFd, Spin);

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
        Ok(Self(fd, Spin::default()))
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
        let mut receive = || {
            self.1.wait(|sleeps| {
                let flags = if sleeps {
                    RecvFlags::empty()
                } else {
                    RecvFlags::DONTWAIT
                };
                retry(|| recv(&self.0, bytes.as_mut_slice(), flags))
            })
        };
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

#[cfg(test)]
mod tests {
    use rustix::net::socketpair;

    use super::*;
    use crate::message::{Op, Status};

    #[test]
    fn the_longest_reply_is_received_on_a_small_stack() {
        let kind = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let (own, manager) = socketpair(kind.0, kind.1, SocketFlags::CLOEXEC, None).unwrap();
        let reply = Reply::to(&Request::new(Op::Describe, 1, 2), Status::Done);
        let text = "x".repeat(TEXT);
        let message = [reply.encode().as_slice(), text.as_bytes()].concat();
        send(&manager, &message, SendFlags::NOSIGNAL).unwrap();
        // Programs have threads of little more than that.
        let thread = thread::Builder::new().stack_size(64 << 10);
        let received = thread.spawn(move || Socket(own, Spin::default()).receive());
        assert_eq!(received.unwrap().join().unwrap().unwrap(), (reply, text));
    }

    #[test]
    fn a_reply_is_looked_for_unless_the_last_one_was_late() {
        let spin = Spin {
            has_one_cpu: false,
            was_late: AtomicBool::new(false),
        };
        let nothing = || Err(io::ErrorKind::WouldBlock.into());
        // What is there is taken at once.
        let mut asked = Vec::new();
        let got = spin.wait(|sleeps| {
            asked.push(sleeps);
            Ok(7)
        });
        assert_eq!((got.unwrap(), asked), (7, vec![false]));
        // What is not is waited for, and was late.
        let mut polls = 0;
        let got = spin.wait(|sleeps| {
            if !sleeps {
                polls += 1;
                return nothing();
            }
            thread::sleep(2 * SOON);
            Ok(8)
        });
        assert_eq!(got.unwrap(), 8);
        assert!(polls > 0);
        // So the next one is not looked for; an error is passed on.
        let mut asked = Vec::new();
        let got: io::Result<u8> = spin.wait(|sleeps| {
            asked.push(sleeps);
            Err(io::ErrorKind::BrokenPipe.into())
        });
        assert_eq!(got.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(asked, [true]);
        // With one CPU the manager would not run meanwhile.
        let alone = Spin {
            has_one_cpu: true,
            was_late: AtomicBool::new(false),
        };
        assert!(alone.wait(Ok).unwrap());
    }
}
