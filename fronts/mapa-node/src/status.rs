//! `mapa-node status`: how the daemon of this machine is, asked at its socket.

use std::path::Path;

use mapa_front::answer::node::{NODE_VERSION, NodeAnswer, NodeQuery, SocketAnswer, Status};
use mapa_front::text::counted;

use crate::client::{Client, socket_of};
use crate::error::Error;
use crate::ledger::now;
use crate::operator::{date, length};
use crate::output::Output;

/// Asks the daemon of a ledger, and prints the answer.
///
/// # Errors
/// Nobody answers, or somebody else than the daemon.
pub(crate) fn status(ledger: &Path, output: Output) -> Result<(), Error> {
    let Some(mut client) = Client::connect(ledger)? else {
        return Err(Error::at(
            socket_of(ledger).display(),
            "nobody answers there: expected a daemon of this ledger (systemctl start mapa-node), and a user who may enter its folder",
        ));
    };
    let asked = client.ask(&NodeQuery::Status {}, &mut |text| output.aside(text));
    match asked.map_err(|error| error.told_at(client.socket()))? {
        NodeAnswer::Status { status } if output.json => output.object(&SocketAnswer {
            version: NODE_VERSION,
            result: NodeAnswer::Status { status },
        }),
        NodeAnswer::Status { status } => show(&status, output),
        _ => return Err(client.unexpected()),
    }
    Ok(())
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
