//! Latencies of requests, as programs that serve tell them over a Unix datagram socket.
//!
//! A datagram is text: lines `TENANT NANOSECONDS`, such as `chat 12500000`. Nothing is answered. The kernel keeps some ten
//! datagrams of a socket that nobody reads (`net.unix.max_dgram_qlen`), and holds up whoever sends the next one, unless it
//! sends with `MSG_DONTWAIT`.
//!
//! Whoever may write to the socket may say anything. A line that is not understood is counted.

/// The longest datagram that is read. The rest of a longer one is lost.
pub const LATENCY_BYTES: usize = 8192;
/// The longest latency that is taken, ns: an hour.
const MOST_NS: u64 = 3_600_000_000_000;

/// How long one request to a tenant took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The tenant's name: at most 128 letters, digits, `-`, `_` and `.`.
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
