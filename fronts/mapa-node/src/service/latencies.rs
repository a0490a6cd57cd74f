//! Where tenants tell how long their requests took: a Unix datagram socket. A datagram is text, a
//! message a line: `TENANT NANOSECONDS`, as [`mapa_live::telemetry`] reads them, or
//! `progress TENANT SHARE`. A lease is `lease-17` where a tenant's name would be more than one job.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use mapa_live::telemetry::{LATENCY_BYTES, read_latencies};
use tracing::debug;

use super::socket::{clear, permit};
use crate::daemon::{InboxMessage, InboxSender, Report, SharedStatus, Told};
use crate::error::Error;
use crate::memory::{receive_from, tell_senders};

/// Listens at a socket.
///
/// # Errors
/// The socket cannot be made.
pub(crate) fn serve(
    path: &Path,
    group: Option<&str>,
    outside: &InboxSender,
    shared: &Arc<SharedStatus>,
) -> Result<(), Error> {
    clear(path)?;
    let failed = |error: std::io::Error| Error::at(path.display(), error);
    let socket = UnixDatagram::bind(path).map_err(failed)?;
    tell_senders(&socket).map_err(failed)?;
    permit(path, group)?;
    let (to, shared) = (outside.clone(), shared.clone());
    thread::spawn(move || {
        // The kernel cuts off what does not fit.
        let mut buffer = vec![0; LATENCY_BYTES];
        while let Ok((length, uid)) = receive_from(&socket, &mut buffer) {
            // The kernel says it of each datagram; of one without a user nobody would be the owner.
            let Some(uid) = uid else { continue };
            for told in messages(&buffer[..length]) {
                // Senders wait for nothing, so a malformed line can only be logged.
                match told {
                    Ok((tenant, told)) => {
                        let report = Report { uid, tenant, told };
                        if !to.tell(InboxMessage::Report(report)) {
                            shared.metrics.dropped("full");
                        }
                    }
                    Err(what) => debug!(what, "a datagram that is none"),
                }
            }
        }
    });
    Ok(())
}

/// What the lines of a datagram tell, and of which tenant.
pub(crate) fn messages(bytes: &[u8]) -> Vec<Result<(String, Told), String>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter(|bytes| !bytes.iter().all(u8::is_ascii_whitespace));
    lines.map(message).collect()
}

/// Whether this is a tenant's name, by the very rule of latencies.
fn is_name(tenant: &str) -> bool {
    let (read, _) = read_latencies(format!("{tenant} 1").as_bytes());
    read.len() == 1
}

fn message(line: &[u8]) -> Result<(String, Told), String> {
    let text = String::from_utf8_lossy(line);
    if let Some(rest) = text.trim().strip_prefix("progress ") {
        let mut words = rest.split_ascii_whitespace();
        let (tenant, share) = (
            words.next(),
            words.next().and_then(|word| word.parse().ok()),
        );
        return match (tenant, share, words.next()) {
            (Some(tenant), Some(share), None)
                if (0.0..=1.0).contains(&share) && is_name(tenant) =>
            {
                Ok((tenant.to_owned(), Told::Progress(share)))
            }
            _ => Err(format!(
                "`{}`: expected `progress TENANT SHARE`, from 0 to 1",
                rest.chars().take(80).collect::<String>()
            )),
        };
    }
    let (latencies, _) = read_latencies(line);
    // One line has one message.
    let latency = latencies.into_iter().next();
    let latency = latency.ok_or_else(|| format!("`{text}`: expected `TENANT NANOSECONDS`"))?;
    Ok((latency.tenant, Told::Latency(latency.ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_message_or_says_what_was_expected() {
        let text = b"api 12500000\n\nprogress lease-7 0.5\napi -1\nprogress api 2\nx\n";
        let found = messages(text);
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], Ok(("api".to_owned(), Told::Latency(12_500_000))));
        assert_eq!(found[1], Ok(("lease-7".to_owned(), Told::Progress(0.5))));
        // A name is as short, and of as few characters, as that of a latency.
        for name in ["x".repeat(129), "a{b}".to_owned(), "caf\u{e9}".to_owned()] {
            let found = messages(format!("progress {name} 0.5").as_bytes());
            assert!(found[0].is_err(), "{found:?}");
        }
        for (at, expected) in [
            (2, "expected `TENANT"),
            (3, "expected `progress"),
            (4, "expected `TENANT"),
        ] {
            assert!(
                found[at].as_ref().unwrap_err().contains(expected),
                "{found:?}"
            );
        }
    }
}
