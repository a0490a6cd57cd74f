//! `/metrics` over HTTP, on this machine.
//!
//! Requests are read by [`httparse`], which `ureq` links too; the rest is a listener with limits, and no crate that was
//! looked at has them. `tiny_http` is kept by nobody, and aborts on a request whose body it cannot hold. `oxhttp` 0.3
//! limits how long a read may take but not a request, reads whatever is sent to its end, and writes to standard error.
//! `hyper` and what stands on it bring an asynchronous runtime.
//!
//! A connection is one request and one answer. A request has no body here, so none is read: it is answered once its
//! head is there.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use httparse::{EMPTY_HEADER, Request, Status};
use tracing::warn;

use crate::daemon::SharedStatus;
use crate::error::Error;

/// The most who are answered at one time. Whoever comes then takes the place of the one that came first: one who asks is
/// answered at once, so whoever is there for long asks nothing.
const CLIENTS: usize = 16;

/// How long a client may take in all: to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of that is left for an answer when a request has not come.
const FOR_ANSWER: Duration = Duration::from_secs(1);

/// The most bytes of a request's head.
const HEAD: usize = 8 << 10;

/// The most headers of a request.
const HEADERS: usize = 64;

/// How many bytes after a request are read and dropped before the connection is closed: one that is closed with bytes
/// that nobody has read is reset, and the answer with it.
const DROPPED: u64 = 64 << 10;

/// How long such bytes are waited for.
const LINGER: Duration = Duration::from_millis(200);

/// How long nothing is accepted after the kernel has given no connection: there may be no descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves counters at an address of this machine.
///
/// # Errors
/// The address is another machine's to reach, or is taken.
pub(super) fn serve(address: SocketAddr, shared: &Arc<SharedStatus>) -> Result<(), Error> {
    // There is no authentication here, so only programs of this machine may connect.
    if !address.ip().is_loopback() {
        return Err(Error::malformed(format_args!(
            "service.metrics = \"{address}\": expected an address of this machine alone, such as 127.0.0.1:9464; a proxy can serve it further"
        )));
    }
    let listener = TcpListener::bind(address).map_err(|error| Error::at(address, error))?;
    let shared = shared.clone();
    thread::Builder::new()
        .name("http".to_owned())
        .spawn(move || accept(&listener, &Arc::default(), &shared))
        .map_err(|error| Error::at(address, error))?;
    Ok(())
}

/// Who is answered now, those that came first in front.
#[derive(Debug, Default)]
struct Clients {
    inside: Mutex<ClientList>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct ClientList {
    open: VecDeque<(u64, TcpStream)>,
    /// The clients that have left, whose threads have not been joined.
    left: Vec<u64>,
}

impl Clients {
    fn inside(&self) -> MutexGuard<'_, ClientList> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one in, once there is room. Returns who has left since the last call.
    fn enter(&self, number: u64, stream: TcpStream) -> Vec<u64> {
        let mut inside = self.inside();
        while inside.open.len() >= CLIENTS {
            if let Some((_, first)) = inside.open.front() {
                // Its thread reads and writes no more, and leaves. One that has gone is what is wanted.
                drop(first.shutdown(Shutdown::Both));
            }
            // Its thread notices at its next read or write, and leaves.
            inside = (self.left.wait(inside)).unwrap_or_else(PoisonError::into_inner);
        }
        inside.open.push_back((number, stream));
        mem::take(&mut inside.left)
    }

    fn leave(&self, number: u64) {
        let mut inside = self.inside();
        inside.open.retain(|(index, _)| *index != number);
        inside.left.push(number);
        self.left.notify_all();
    }
}

/// Answers whoever comes, for as long as the daemon lives.
fn accept(listener: &TcpListener, clients: &Arc<Clients>, shared: &Arc<SharedStatus>) {
    let mut threads = BTreeMap::<u64, JoinHandle<()>>::new();
    for (number, stream) in (0..).zip(listener.incoming()) {
        // Two handles of one socket: this one goes to the list, from which it can be shut down while its thread
        // reads.
        let both = stream.and_then(|tcp_stream| Ok((tcp_stream.try_clone()?, tcp_stream)));
        let (handle, mut stream) = match both {
            Ok(both) => both,
            Err(_) => {
                thread::sleep(PAUSE);
                continue;
            }
        };
        // Waiting here holds up further connections; the kernel keeps those in its backlog.
        for left in clients.enter(number, handle) {
            // A thread that has left may not have ended. Joined before the next begins, so that there are never more
            // threads than places; one that panicked has lost its own client alone.
            if let Some(thread) = threads.remove(&left) {
                drop(thread.join());
            }
        }
        let (open_clients, shared) = (clients.clone(), shared.clone());
        let work = move || {
            // Whoever has gone, or was sent away, needs no answer.
            drop(converse(&mut stream, &shared));
            // The socket closes before the place is free.
            drop(stream);
            open_clients.leave(number);
        };
        let name = "http client".to_owned();
        match thread::Builder::new().name(name).spawn(work) {
            Ok(thread) => {
                threads.insert(number, thread);
            }
            Err(error) => {
                warn!(%error, "a client of /metrics is not answered");
                // The thread's closure is dropped, and its stream with it. The place must be given up here.
                clients.leave(number);
            }
        }
    }
}

/// Reads one request and answers it.
fn converse(stream: &mut TcpStream, shared: &SharedStatus) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    // A second is left to write the answer to a request that came too late.
    let answer = match asked(stream, until - FOR_ANSWER) {
        Ok((method, path)) => of(&method, &path, shared),
        Err(error) => match refused(&error) {
            Some(answer) => answer,
            None => return Err(error),
        },
    };
    let mut left: &[u8] = &answer;
    while !left.is_empty() {
        // Each write gets the time that is left of the whole, so that a client which reads byte by byte cannot
        // stay.
        stream.set_write_timeout(Some(remaining(until)?))?;
        let written = stream.write(left)?;
        left = left.get(written..).unwrap_or_default();
    }
    // The end of the answer. The rest of what the client sends is read first, or closing would reset the
    // connection.
    stream.shutdown(Shutdown::Write)?;
    let until = until.min(Instant::now() + LINGER);
    let mut dropped = 0;
    while dropped < DROPPED {
        stream.set_read_timeout(Some(remaining(until)?))?;
        match stream.read(&mut [0; 4096])? {
            0 => break,
            more => dropped += more as u64,
        }
    }
    Ok(())
}

/// What is left of the time.
///
/// # Errors
/// Nothing is.
fn remaining(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// The method and the path that a client asks for.
///
/// # Errors
/// What it sends is no request, is too long, or takes too long; it has gone.
fn asked(stream: &mut TcpStream, until: Instant) -> io::Result<(String, String)> {
    let mut head = Vec::new();
    loop {
        let mut more = [0; 1024];
        stream.set_read_timeout(Some(remaining(until)?))?;
        let length = match stream.read(&mut more)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => length,
        };
        head.extend_from_slice(more.get(..length).unwrap_or_default());
        let mut headers = [EMPTY_HEADER; HEADERS];
        // Parsed from the start after each read: a head is at most 8 KiB.
        let mut request = Request::new(&mut headers);
        match request.parse(&head) {
            Ok(Status::Complete(_)) => {
                let word = |text: Option<&str>| text.unwrap_or_default().to_owned();
                return Ok((word(request.method), word(request.path)));
            }
            Ok(Status::Partial) if head.len() < HEAD => {}
            Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Err(ErrorKind::FileTooLarge.into());
            }
            Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
        }
    }
}

/// The answer to a malformed request; `None` if the client is gone.
fn refused(error: &io::Error) -> Option<Vec<u8>> {
    let (status, expected) = match error.kind() {
        // The name of what is over on a socket depends on the system.
        ErrorKind::TimedOut | ErrorKind::WouldBlock => (
            "408 Request Timeout",
            format!(
                "expected a request within {} s\n",
                (PATIENCE - FOR_ANSWER).as_secs()
            ),
        ),
        ErrorKind::FileTooLarge => (
            "431 Request Header Fields Too Large",
            format!("expected a head of at most {HEAD} bytes and {HEADERS} headers\n"),
        ),
        ErrorKind::InvalidData => ("400 Bad Request", format!("{error}: expected HTTP/1.1\n")),
        _ => return None,
    };
    Some(response(status, "text/plain", &expected, true))
}

/// The answer to a request.
fn of(method: &str, path: &str, shared: &SharedStatus) -> Vec<u8> {
    let path = path.split('?').next().unwrap_or_default();
    // HEAD has the head of GET, its length included, without the body.
    let has_body = method != "HEAD";
    let (status, kind, text) = match (matches!(method, "GET" | "HEAD"), path) {
        (true, "/metrics") => (
            "200 OK",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            shared.metrics.text(),
        ),
        (true, "/healthz") => ("200 OK", "text/plain", "ok\n".to_owned()),
        (true, _) => (
            "404 Not Found",
            "text/plain",
            "expected /metrics or /healthz\n".to_owned(),
        ),
        (false, _) => (
            "405 Method Not Allowed",
            "text/plain",
            "expected GET\n".to_owned(),
        ),
    };
    response(status, kind, &text, has_body)
}

fn response(status: &str, kind: &str, text: &str, has_body: bool) -> Vec<u8> {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let body = if has_body { text } else { "" };
    [head.as_bytes(), body.as_bytes()].concat()
}
