//! Latencies of requests, told over a Unix datagram socket.
//!
//! A datagram is text: lines `TENANT NANOSECONDS`, such as `chat 12500000`. Nothing is answered, so a program
//! that serves requests is never held up: a datagram for which there is no room is lost, and whoever sends it is
//! told so by its system.
//!
//! Whoever may write to the socket may say anything. A line that is not understood is counted and left out; a
//! tenant that is not expected is counted and left out; the lists have an end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::missing::Missing;

/// The longest datagram that is read. The rest of a longer one is lost.
pub const LATENCY_BYTES: usize = 8192;
/// The longest latency that is taken, ns: an hour, as in `mapa_sched::slo`.
const MOST_NS: u64 = 3_600_000_000_000;
/// The most datagrams of one look, so that a flood holds nobody up.
const MOST_DATAGRAMS: usize = 4096;
/// The most latencies of one tenant that are kept between two looks. The newest are kept.
const MOST_KEPT: usize = 65_536;

/// One latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The tenant.
    pub tenant: String,
    /// From the request to the answer, ns.
    pub ns: u64,
}

/// Reads the lines of a datagram, with how many were not understood.
#[must_use]
pub fn read_latencies(datagram: &[u8]) -> (Vec<Latency>, u64) {
    let (mut latencies, mut bad) = (Vec::new(), 0);
    for line in datagram.split(|&byte| byte == b'\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read_line(line) {
            Some(latency) => latencies.push(latency),
            None => bad += 1,
        }
    }
    (latencies, bad)
}

fn read_line(line: &[u8]) -> Option<Latency> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let (tenant, ns) = (words.next()?, words.next()?);
    let named = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ns = ns.parse().ok().filter(|ns| *ns <= MOST_NS)?;
    (words.next().is_none() && tenant.len() <= 128 && tenant.chars().all(named)).then(|| Latency {
        tenant: tenant.to_owned(),
        ns,
    })
}

/// What became of what was told, since the socket was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyCounts {
    /// Latencies that were taken.
    pub taken: u64,
    /// Lines that were not understood.
    pub bad: u64,
    /// Latencies of tenants that are not expected.
    pub strange: u64,
    /// Latencies for which there was no room any more.
    pub dropped: u64,
}

/// The socket.
#[derive(Debug)]
pub struct Latencies {
    socket: UnixDatagram,
    path: PathBuf,
    tenants: BTreeSet<String>,
    counts: LatencyCounts,
    room: Vec<u8>,
}

impl Latencies {
    /// Opens the socket at a path, for these tenants. One that is left over there is replaced; any other file stays.
    /// `mode` says who may write, such as `0o660`.
    ///
    /// # Errors
    /// Another program listens there, or a file that is no socket is in the way.
    pub fn open(
        path: &Path,
        mode: u32,
        tenants: impl IntoIterator<Item = String>,
    ) -> Result<Self, Missing> {
        let failed = |why: String| Missing::new(format!("latencies at {}", path.display()), why);
        let socket = match UnixDatagram::bind(path) {
            Ok(socket) => socket,
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                use std::os::unix::fs::FileTypeExt;
                let is_socket =
                    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
                if !is_socket {
                    return Err(failed("a file that is no socket is there".to_owned()));
                }
                let other = UnixDatagram::unbound().map_err(|error| failed(error.to_string()))?;
                if other.connect(path).is_ok() {
                    return Err(failed("another program listens there".to_owned()));
                }
                fs::remove_file(path).map_err(|error| failed(error.to_string()))?;
                UnixDatagram::bind(path).map_err(|error| failed(error.to_string()))?
            }
            Err(error) => return Err(failed(error.to_string())),
        };
        socket
            .set_nonblocking(true)
            .map_err(|error| failed(error.to_string()))?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            socket,
            path: path.to_owned(),
            tenants: tenants.into_iter().collect(),
            counts: LatencyCounts::default(),
            room: vec![0; LATENCY_BYTES],
        })
    }

    /// The latencies that were told since the last look, by tenant, in the order in which they came. It waits for
    /// none, and reads at most 4,096 datagrams.
    pub fn take(&mut self) -> BTreeMap<String, Vec<u64>> {
        let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for _ in 0..MOST_DATAGRAMS {
            // An error is the end of what is there; a socket has no other.
            let Ok(length) = self.socket.recv(&mut self.room) else {
                break;
            };
            let (latencies, bad) = read_latencies(&self.room[..length]);
            self.counts.bad += bad;
            for latency in latencies {
                if !self.tenants.contains(&latency.tenant) {
                    self.counts.strange += 1;
                    continue;
                }
                self.counts.taken += 1;
                all.entry(latency.tenant).or_default().push(latency.ns);
            }
        }
        for own in all.values_mut() {
            let beyond = own.len().saturating_sub(MOST_KEPT);
            own.drain(..beyond);
            self.counts.dropped += beyond as u64;
        }
        all
    }

    /// What became of what was told.
    #[must_use]
    pub fn counts(&self) -> LatencyCounts {
        self.counts
    }
}

impl Drop for Latencies {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
