//! `mapa-node status`: how the daemon of this machine is, asked at its socket.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mapa_front::answer::node::{NodeAnswer, NodeQuery, SocketAnswer, Status};
use mapa_front::text::counted;

use crate::error::Error;
use crate::ledger::now;
use crate::operator::{date, length};
use crate::output::Output;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer.
const ANSWER: u64 = 16 << 20;

/// It serves so many at once and hangs up on others.
const CROWD: &str = "no answer: too many ask at once, ask again";

/// Which daemon is asked.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The socket of the daemon: `service.socket` of its configuration.
    #[arg(long, value_name = "FILE", default_value = "/run/mapa/node")]
    pub socket: PathBuf,
}

/// Asks, and prints the answer.
///
/// # Errors
/// Nobody answers there.
pub(crate) fn status(args: &StatusArgs, output: Output) -> Result<(), Error> {
    let answer = ask(&args.socket)?;
    match answer.result {
        NodeAnswer::Status { .. } if output.json => output.object(&answer),
        NodeAnswer::Status { status } => show(&status, output),
        NodeAnswer::Error { error, .. } => return Err(Error::at(args.socket.display(), error)),
        _ => {
            return Err(Error::at(
                args.socket.display(),
                "it answers another question: expected its status",
            ));
        }
    }
    Ok(())
}

fn ask(socket: &Path) -> Result<SocketAnswer, Error> {
    let at = |what: &dyn std::fmt::Display| Error::at(socket.display(), what);
    let failed = |error: io::Error| match error.kind() {
        // It hangs up on one more before that has said anything.
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => at(&CROWD),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            at(&format_args!("no answer within {} s", PATIENCE.as_secs()))
        }
        _ => at(&error),
    };
    let mut stream = UnixStream::connect(socket).map_err(|error| {
        at(&format_args!(
            "{error}: expected a daemon with this `service.socket`, and leave to ask there"
        ))
    })?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(&failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(&failed)?;
    let question = serde_json::to_string(&NodeQuery::Status {}).map_err(|error| at(&error))?;
    writeln!(stream, "{question}").map_err(&failed)?;
    let mut line = String::new();
    // One line, and no more than this: what answers there need not be a daemon.
    let read = BufReader::new(stream.take(ANSWER)).read_line(&mut line);
    match read.map_err(&failed)? {
        // End of file before an answer.
        0 => Err(at(&CROWD)),
        _ => serde_json::from_str(&line).map_err(|error| at(&error)),
    }
}

fn show(status: &Status, output: Output) {
    let dry = if status.dry_run { ", a dry run" } else { "" };
    output.line(format!(
        "mapa-node {}, process {}, for {}{dry}",
        status.release,
        status.pid,
        length(now() - status.since_ns)
    ));
    output.line(format!("machine    {}", status.machine));
    output.line(format!("scheduler  {}", status.scheduler));
    if status.devices == 0 {
        output.line("now        it has not looked at the machine yet");
    } else {
        output.line(format!(
            "now        {}, {} waiting, {} of {} free",
            counted(status.leases, "lease"),
            counted(status.waiting, "job"),
            status.free,
            counted(status.devices, "device"),
        ));
    }
    output.line(format!(
        "events     {} in {} turns",
        status.events, status.turns
    ));
    for (kind, count) in &status.action_failures {
        output.line(format!("failed     {kind}: {count}"));
    }
    for tenant in &status.latency {
        let throttled = if tenant.throttling {
            "; its neighbours are throttled"
        } else {
            ""
        };
        output.line(format!(
            "latency    {}: {} of {} late, promised {} ms, at place {}{throttled}",
            tenant.tenant,
            tenant.late,
            counted(
                usize::try_from(tenant.requests).unwrap_or(usize::MAX),
                "request"
            ),
            tenant.latency_slo_ms,
            tenant.place,
        ));
    }
    for unread in &status.missing {
        output.line(format!("missing    {}: {}", unread.signal, unread.reason));
    }
    for recent in &status.errors {
        output.line(format!(
            "error      {} {}: {}",
            date(recent.time_ns),
            recent.component,
            recent.error
        ));
    }
}
