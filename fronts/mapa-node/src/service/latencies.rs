//! Where tenants tell how long their requests took: a Unix datagram socket. A datagram is one JSON
//! object a line: `{"tenant":"api","ms":12.5}`, or `{"tenant":"lease:17","progress":0.4}`.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::thread;

use serde::Deserialize;
use tracing::debug;

use super::socket::{clear, permit};
use crate::drive::{Message, Outside};
use crate::error::Error;

/// The most bytes of a datagram: of more, the rest is cut off by the kernel.
const MOST: usize = 64 * 1024;

/// What a tenant tells.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tenant: String,
    #[serde(default)]
    ms: Option<f64>,
    #[serde(default)]
    progress: Option<f64>,
}

/// Listens at a socket.
///
/// # Errors
/// The socket cannot be made.
pub(super) fn serve(path: &Path, group: Option<&str>, outside: &Outside) -> Result<(), Error> {
    clear(path)?;
    let socket = UnixDatagram::bind(path).map_err(|error| Error::at(path.display(), error))?;
    permit(path, group)?;
    let to = outside.clone();
    thread::spawn(move || {
        let mut buffer = vec![0; MOST];
        while let Ok(length) = socket.recv(&mut buffer) {
            for message in messages(&buffer[..length]) {
                match message {
                    Ok(message) => drop(to.tell(message)),
                    Err(what) => debug!(what, "a datagram that is none"),
                }
            }
        }
    });
    Ok(())
}

/// The messages of a datagram, line by line.
pub(crate) fn messages(bytes: &[u8]) -> Vec<Result<Message, String>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter(|own| !own.iter().all(u8::is_ascii_whitespace));
    lines.map(message).collect()
}

fn message(line: &[u8]) -> Result<Message, String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let tenant = line.tenant;
    if tenant.is_empty() || tenant.len() > 256 {
        return Err(format!(
            "a tenant's name of {} bytes: expected 1 to 256",
            tenant.len()
        ));
    }
    match (line.ms, line.progress) {
        (Some(ms), None) => {
            let took_ns = mapa_sched::slo::latency_ns(ms).map_err(|error| error.to_string())?;
            Ok(Message::Latency { tenant, took_ns })
        }
        (None, Some(share)) if (0.0..=1.0).contains(&share) => {
            Ok(Message::Progress { tenant, share })
        }
        (None, Some(share)) => Err(format!("progress {share}: expected 0 to 1")),
        _ => Err("expected `ms` or `progress`, and not both".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_message_or_says_what_was_expected() {
        let text = b"{\"tenant\":\"api\",\"ms\":12.5}\n\n{\"tenant\":\"lease:7\",\"progress\":0.5}\n{\"tenant\":\"api\",\"ms\":-1}\n{\"tenant\":\"api\"}\nx\n";
        let found = messages(text);
        assert_eq!(found.len(), 5);
        assert_eq!(
            found[0],
            Ok(Message::Latency {
                tenant: "api".to_owned(),
                took_ns: 12_500_000
            })
        );
        assert_eq!(
            found[1],
            Ok(Message::Progress {
                tenant: "lease:7".to_owned(),
                share: 0.5
            })
        );
        for (at, expected) in [
            (2, "expected 0 to 3600000"),
            (3, "expected `ms`"),
            (4, "expected"),
        ] {
            assert!(
                found[at].as_ref().unwrap_err().contains(expected),
                "{found:?}"
            );
        }
    }
}
