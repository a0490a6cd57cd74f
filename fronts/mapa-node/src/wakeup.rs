//! Bells: how whoever frees devices wakes whoever waits.
//!
//! A bell is a datagram socket in Linux's abstract namespace, named after the ledger and the place
//! in the queue. Ringing costs microseconds and leaves no file behind. A bell only makes somebody
//! look earlier: the ledger says what is true, and whoever waits looks now and then without a bell
//! too, so one that is lost or rung by a stranger does no harm.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

fn address(ledger: &str, ticket: i64) -> io::Result<SocketAddr> {
    // A name in the abstract namespace belongs to no user and has no mode: any local process may send here, so
    // a datagram carries no information.
    SocketAddr::from_abstract_name(format!("mapa-{ledger}-{ticket}"))
}

/// The bell of a place in the queue.
#[derive(Debug)]
pub(crate) struct Bell(UnixDatagram);

impl Bell {
    /// Hangs up the bell.
    ///
    /// # Errors
    /// What the system says: without a bell one waits a little longer.
    pub(crate) fn new(ledger: &str, ticket: i64) -> io::Result<Self> {
        Ok(Self(UnixDatagram::bind_addr(&address(ledger, ticket)?)?))
    }

    /// Waits until somebody rings.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn wait(&self) -> io::Result<()> {
        self.0.recv(&mut [0; 8]).map(drop)
    }
}

/// Rings the bell of a place in the queue. Nothing happens if nobody is there.
pub(crate) fn ring(ledger: &str, ticket: i64) {
    let rung = address(ledger, ticket).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        // A full queue of datagrams must not hold up the process that has just freed devices.
        socket.set_nonblocking(true)?;
        socket.send_to_addr(b"!", &address)
    });
    // A full bell has been rung already, and one that is gone needs none.
    drop(rung);
}
