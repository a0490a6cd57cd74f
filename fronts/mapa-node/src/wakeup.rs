//! Wake-ups: a process that releases devices ends the sleep of a waiting job early.
//!
//! A wake-up is a datagram to a socket in Linux's abstract namespace, named after the ledger and the
//! ticket. It costs microseconds and leaves no file behind. Correctness never depends on it: a
//! waiting job polls the ledger anyway, so a wake-up that is lost or forged does no harm.

use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

fn address(ledger: &str, ticket: i64) -> io::Result<SocketAddr> {
    // A name in the abstract namespace belongs to no user and has no mode: any local process may send here, so
    // a datagram carries no information.
    SocketAddr::from_abstract_name(format!("mapa-{ledger}-{ticket}"))
}

/// The socket on which a ticket receives wake-ups.
#[derive(Debug)]
pub(crate) struct WakeupSocket(UnixDatagram);

impl WakeupSocket {
    /// Binds the socket.
    ///
    /// # Errors
    /// What the system says: without the socket, the job relies on polling.
    pub(crate) fn new(ledger: &str, ticket: i64) -> io::Result<Self> {
        Ok(Self(UnixDatagram::bind_addr(&address(ledger, ticket)?)?))
    }

    /// Waits for a wake-up.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn wait(&self) -> io::Result<()> {
        self.0.recv(&mut [0; 8]).map(drop)
    }

    /// The socket, for whoever waits for several things at once.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn forward(&self) -> io::Result<OwnedFd> {
        self.0.set_nonblocking(true)?;
        Ok(self.0.try_clone()?.into())
    }

    /// Reads the wake-ups that have come.
    pub(crate) fn clear(&self) {
        while self.0.recv(&mut [0; 8]).is_ok() {}
    }
}

/// Wakes the process of a ticket. Does nothing unless it listens.
pub(crate) fn wake(ledger: &str, ticket: i64) {
    let sent = address(ledger, ticket).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        // A full queue of datagrams must not hold up the process that has just freed devices.
        socket.set_nonblocking(true)?;
        socket.send_to_addr(b"!", &address)
    });
    // A full socket wakes its process anyway, and one that is gone needs no wake-up.
    drop(sent);
}
