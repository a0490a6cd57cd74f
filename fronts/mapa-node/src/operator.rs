//! `mapa ps`, `free`, `cordon`, `uncordon`, `log` and `recover`.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use mapa_core::DeviceId;
use mapa_front::MachineSpec;
use mapa_front::answer::mapa::{
    AdoptedLease, Audit, Cordoned, DeviceAvailability, Free, LeaseRow, Ps, Recovered,
    ReleasedLease, Tenants, TicketRow, Uncordoned, VerifiedAudit,
};
use mapa_front::text::{counted, duration, table};
use mapa_live::{DriverSnapshot, Live, Processes};

use crate::acquire::{snapshot, wait_reason, wake_head};
use crate::degraded::record_degraded;
use crate::error::Error;
use crate::foreign::driver_snapshot;
use crate::health::{self, HealthTargets};
use crate::job_process::RunEvents;
use crate::ledger::{
    DeviceFault, DeviceKey, Durability, FaultKind, Lease, Ledger, OutsideOwner, UnixNanos, now,
};
use crate::memory::user;
use crate::node::Node;
use crate::output::Output;
use crate::recover::recover;

/// Prints who holds which devices, who waits, what is cordoned.
pub(crate) fn show_ps(answer: &Ps, name: &dyn Fn(&DeviceKey) -> String, output: Output) {
    let at = now();
    print_leases(&answer.leases, at, output);
    if !answer.queue.is_empty() {
        print_queue(&answer.queue, at, output);
    }
    for cordon in &answer.cordons {
        let what = if cordon.device.is_empty() {
            "the machine"
        } else {
            &cordon.device
        };
        output.line(format!(
            "cordoned: {what}, by {}: {}",
            cordon.owner, cordon.reason
        ));
    }
    for fault in &answer.health {
        let word = if FaultKind::is_of_links(&fault.kind) {
            "degraded"
        } else {
            "unhealthy"
        };
        output.line(format!(
            "{word}: {}: {}",
            name(&DeviceKey::whole(&fault.device)),
            fault.detail
        ));
    }
}

/// Who holds which devices, who waits, what is cordoned. The machine is for names alone: without it, keys stand for
/// themselves. Listing recovers first, so that it says what holds now, and not what a crash left.
///
/// # Errors
/// The ledger cannot be used.
pub(crate) fn ps(
    ledger: &mut Ledger,
    node: Option<&Node>,
    drivers: &DriverSnapshot,
    owner: &str,
) -> Result<Ps, Error> {
    let name = &|key: &DeviceKey| node.map_or_else(|| key.to_string(), |node| node.name(key));
    let processes = Processes::new()?;
    let mut is_clean = true;
    let answer = ledger.change(Durability::Boot, |books| {
        let (recovered, lost) = match node {
            Some(node) => {
                let seen = snapshot(books, node, &processes, owner, drivers)?;
                (seen.recovered, seen.state.lost)
            }
            None => (recover(books, &processes, owner)?, Vec::new()),
        };
        is_clean = recovered.is_clean();
        let leases = recovered.leases;
        let health = books.faults(processes.boot())?;
        let queue = books.queue()?;
        let holders = leases.iter().map(|lease| {
            let lost = lost.iter().filter(|(id, _)| *id == lease.id);
            let lost = lost.flat_map(|(_, keys)| keys);
            LeaseRow {
                lease: lease.id,
                tenant: lease.asker.tenant.clone(),
                pid: lease.process().map(|process| process.id.pid),
                owner: lease.owner.as_ref().map(OutsideOwner::answer),
                command_pid: lease.child.as_ref().map(|identity| identity.id.pid),
                adopted: lease.adopted,
                devices: lease.devices.iter().map(name).collect(),
                fault: troubles_of(lease, &health, lost, name),
                granted_ns: lease.granted,
                expires_ns: lease.expires,
                command: lease.asker.command.clone(),
            }
        });
        let waiters = queue.iter().enumerate().map(|(before, ticket)| TicketRow {
            position: before + 1,
            ticket: ticket.id,
            tenant: ticket.asker.tenant.clone(),
            pid: ticket.asker.process.id.pid,
            scheduler: ticket.scheduler.clone(),
            since_ns: ticket.since,
            reason: wait_reason(&ticket.reason, before),
            command: ticket.asker.command.clone(),
        });
        Ok(Ps {
            leases: holders.collect(),
            queue: waiters.collect(),
            cordons: books.cordons(now())?,
            health,
        })
    })?;
    // Recovery has freed devices or removed tickets: a waiting job may start now.
    if !is_clean {
        wake_head(ledger)?;
    }
    Ok(answer)
}

/// What is wrong with the devices of a lease, of which these are gone.
fn troubles_of<'a>(
    lease: &Lease,
    health: &[DeviceFault],
    lost: impl Iterator<Item = &'a DeviceKey>,
    name: &dyn Fn(&DeviceKey) -> String,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for trouble in health {
        if lease.devices.iter().any(|key| key.whole == trouble.device) {
            found.push(format!(
                "{}: {}",
                name(&DeviceKey::whole(&trouble.device)),
                trouble.detail
            ));
        }
    }
    for key in lost {
        // A fault says more than that the device is gone.
        let known = health.iter().any(|trouble| trouble.device == key.whole);
        if !known {
            found.push(format!("{} is gone", name(key)));
        }
    }
    found
}

/// Prints who holds devices.
fn print_leases(leases: &[LeaseRow], at: UnixNanos, output: Output) {
    let rows = leases.iter().map(|lease| {
        let state = match (lease.pid, lease.adopted) {
            (None, _) => "held",
            (_, true) => "adopted",
            _ => "runs",
        };
        let state = match lease.fault.as_slice() {
            [] => state.to_owned(),
            trouble => format!("{state}; {}", trouble.join("; ")),
        };
        vec![
            lease.lease.to_string(),
            lease.tenant.clone(),
            lease.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            lease.devices.join(","),
            state,
            length(at - lease.granted_ns),
            lease.command.clone(),
        ]
    });
    let header = [
        "lease", "tenant", "pid", "devices", "state", "for", "command",
    ];
    print(output, &header, &[0, 2], rows);
}

/// Prints who waits.
fn print_queue(queue: &[TicketRow], at: UnixNanos, output: Output) {
    let rows = queue.iter().map(|waiter| {
        vec![
            waiter.position.to_string(),
            waiter.tenant.clone(),
            waiter.pid.to_string(),
            waiter.scheduler.clone(),
            length(at - waiter.since_ns),
            waiter.reason.clone(),
            waiter.command.clone(),
        ]
    });
    let header = ["place", "tenant", "pid", "order", "for", "why", "command"];
    print(output, &header, &[0, 2], rows);
}

/// All who have ever asked for devices, and what they hold now.
///
/// # Errors
/// The ledger cannot be used.
pub(crate) fn tenants(ledger: &mut Ledger, owner: &str) -> Result<Tenants, Error> {
    let processes = Processes::new()?;
    let tenants = ledger.change(Durability::Boot, |books| {
        recover(books, &processes, owner)?;
        books.tenants()
    })?;
    Ok(Tenants { tenants })
}

/// Prints all tenants.
pub(crate) fn show_tenants(answer: &Tenants, output: Output) {
    let rows = answer.tenants.iter().map(|tenant| {
        vec![
            tenant.name.clone(),
            tenant.uid.to_string(),
            date(tenant.since_ns),
            tenant.leases.to_string(),
            tenant.devices.to_string(),
            tenant.waiting.to_string(),
        ]
    });
    let header = ["tenant", "uid", "since", "leases", "devices", "waiting"];
    print(output, &header, &[1, 3, 4, 5], rows);
}

/// Notes in the ledger what becomes of devices, until a signal ends this program.
///
/// # Errors
/// The machine is only described; there is no driver that tells changes; the ledger cannot be written.
pub(crate) fn monitor(
    ledger: &Ledger,
    node: Node,
    (machine, live): (&MachineSpec, &Live),
    output: Output,
) -> Result<(), Error> {
    if !node.is_live() {
        return Err(Error::malformed(
            "nothing can become of a machine that is only described: expected no --machine",
        ));
    }
    let happenings = RunEvents::new(&Processes::new()?)?;
    let devices = HealthTargets::new(&node);
    let links = RefCell::new(LinkMonitor {
        ledger: Ledger::open(ledger.path())?,
        node,
        machine,
        live,
        processes: Processes::new()?,
        next: Instant::now(),
        faults: None,
        failure: None,
    });
    // Signals may have come together with other events, so all of them are examined.
    let goes_on = || {
        links.borrow_mut().look(output);
        let ends = std::iter::from_fn(|| happenings.next(Duration::ZERO))
            .any(|happening| RunEvents::ends(happening).is_some());
        !ends && output.is_read()
    };
    let tell = |what| output.line(what);
    health::monitor(live, &devices, ledger.path(), &user(), goes_on, tell)
}

/// How often `mapa monitor` looks at links, of which NVML reports no events.
const LINK_INTERVAL: Duration = Duration::from_secs(1);

/// The part of `mapa monitor` that polls: it notes in the ledger which links are down, and prints changes.
struct LinkMonitor<'a> {
    ledger: Ledger,
    node: Node,
    machine: &'a MachineSpec,
    live: &'a Live,
    processes: Processes,
    /// When it looks next.
    next: Instant,
    /// The faults of links in the ledger at the last poll; `None` before the first.
    faults: Option<Vec<DeviceFault>>,
    /// Why it failed last.
    failure: Option<String>,
}

impl LinkMonitor<'_> {
    /// Looks, if it is time. The same failure is printed once.
    fn look(&mut self, output: Output) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + LINK_INTERVAL;
        let failure = self.note(output).err().map(|error| error.to_string());
        if failure != self.failure
            && let Some(why) = &failure
        {
            output.aside(format!("links are not watched for a while: {why}"));
        }
        self.failure = failure;
    }

    fn note(&mut self, output: Output) -> Result<(), Error> {
        let drivers = driver_snapshot(&self.node, self.live)?;
        if !self.node.is_current(&drivers) {
            self.node = Node::load(self.machine, self.live, &mut |_| {})?;
        }
        let (node, boot) = (&self.node, self.processes.boot());
        let mut now = self.ledger.change(Durability::Boot, |books| {
            record_degraded(books, node, &user(), boot, &drivers)?;
            books.faults(boot)
        })?;
        now.retain(|fault| FaultKind::is_of_links(&fault.kind));
        let same = |a: &DeviceFault, b: &DeviceFault| (&a.device, &a.kind) == (&b.device, &b.kind);
        let name = |fault: &DeviceFault| node.name(&DeviceKey::whole(&fault.device));
        for fault in self.faults.iter().flatten() {
            if !now.iter().any(|other| same(fault, other)) {
                output.line(format!("{}: no longer: {}", name(fault), fault.detail));
            }
        }
        for fault in &now {
            let mut before = self.faults.iter().flatten();
            if !before.any(|other| other == fault) {
                output.line(format!("{}: {}", name(fault), fault.detail));
            }
        }
        self.faults = Some(now);
        Ok(())
    }
}

/// Prints a table with these columns, some of them numbers.
fn print(
    output: Output,
    header: &[&str],
    numbers: &[usize],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let mut lines = table(header.iter().copied(), numbers.iter().copied());
    for row in rows {
        lines.add_row(row);
    }
    output.line(lines.to_string());
}

/// Which devices are free, and what holds the others.
///
/// # Errors
/// The ledger cannot be used; the drivers cannot be asked.
pub(crate) fn free(
    ledger: &mut Ledger,
    node: &Node,
    live: &Live,
    owner: &str,
) -> Result<Free, Error> {
    let processes = Processes::new()?;
    let drivers = driver_snapshot(node, live)?;
    let (seen, health) = ledger.change(Durability::Boot, |books| {
        let seen = snapshot(books, node, &processes, owner, &drivers)?;
        Ok((seen, books.faults(processes.boot())?))
    })?;
    if !seen.recovered.is_clean() {
        wake_head(ledger)?;
    }
    let view = seen.state.allocator.view();
    let mut rows: Vec<DeviceAvailability> = view
        .present()
        .iter()
        .map(|id| {
            // The key of the device or of the instance itself: leases name exactly what they were given.
            let key = node.keys(&[id]);
            let holds = |lease: &&Lease| lease.devices.iter().any(|one| key.contains(one));
            let parent = node.graph().device(id).parent;
            let mut withheld = seen.state.withheld.iter();
            let whole = node
                .keys(&[parent])
                .pop()
                .unwrap_or_else(|| DeviceKey::whole(""));
            let faults = health
                .iter()
                .filter(|fault| fault.device == whole.whole && FaultKind::is_of_links(&fault.kind));
            let lacks: Vec<&str> = faults.map(|fault| fault.detail.as_str()).collect();
            // A device that is withheld withholds its instances.
            let withheld = withheld.find(|device| device.device == parent || device.device == id);
            let lease = seen.recovered.leases.iter().find(holds);
            let owner = lease.and_then(|lease| lease.owner.as_ref());
            DeviceAvailability {
                device: node.graph().device(id).name.clone(),
                free: view.free().contains(id) && !view.is_cordoned(id),
                lease: lease.map(|lease| lease.id),
                owner: owner.map(OutsideOwner::answer),
                withheld: withheld.map(|device| device.why.clone()),
                degraded: (!lacks.is_empty()).then(|| lacks.join(", ")),
            }
        })
        .collect();
    // Of a device that is lost, a machine that was discovered since has nothing.
    let gone = |fault: &&DeviceFault| {
        let is_known = node.device(&DeviceKey::whole(&fault.device)).is_some();
        !is_known && !FaultKind::is_of_links(&fault.kind)
    };
    rows.extend(health.iter().filter(gone).map(|fault| DeviceAvailability {
        device: fault.device.clone(),
        free: false,
        lease: None,
        owner: None,
        withheld: Some(format!("unhealthy: {}", fault.detail)),
        degraded: None,
    }));
    Ok(Free {
        free: rows.iter().filter(|row| row.free).count(),
        total: rows.len(),
        devices: rows,
    })
}

/// Prints which devices are free.
pub(crate) fn show_free(answer: &Free, output: Output) {
    let lines = answer.devices.iter().map(|row| {
        let owner = row.owner.as_ref();
        let owner = owner.map(|owner| format!(" of {} {}", owner.kind, owner.name));
        let owner = owner.unwrap_or_default();
        let lease = row.lease.map(|lease| format!("lease {lease}{owner}"));
        let degraded = row
            .degraded
            .as_ref()
            .map(|lack| format!("degraded: {lack}"));
        let is_unexplained = lease.is_none() && row.withheld.is_none() && !row.free;
        let in_use = is_unexplained.then(|| "in use".to_owned());
        let why = [lease, row.withheld.clone(), in_use, degraded];
        let why: Vec<String> = why.into_iter().flatten().collect();
        let why = why.join("; ");
        let state = if row.free { "free" } else { "-" };
        vec![row.device.clone(), state.to_owned(), why]
    });
    print(output, &["device", "", "held by"], &[], lines);
}

/// The whole devices that these words name, as the ledger knows them. No words stand for the machine.
fn wholes(words: &[String], node: &Node) -> Result<Vec<String>, Error> {
    if words.is_empty() {
        return Ok(vec![String::new()]);
    }
    let mut found = Vec::new();
    for word in words {
        let id: DeviceId = node.graph().find(word)?;
        let parent = node.graph().device(id).parent;
        if parent != id {
            return Err(Error::malformed(format_args!(
                "{word} is an instance: expected its device, {}",
                node.graph().device(parent).name
            )));
        }
        found.extend(node.keys(&[id]).into_iter().map(|key| key.whole));
    }
    Ok(found)
}

/// Cordons devices. What is cordoned survives a restart of the machine.
///
/// # Errors
/// A device is unknown; the ledger cannot be written.
pub(crate) fn cordon(
    ledger: &mut Ledger,
    (devices, node): (&[String], &Node),
    (owner, reason): (&str, &str),
    seconds: Option<u64>,
) -> Result<Cordoned, Error> {
    let cordoned = wholes(devices, node)?;
    let duration = seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    let until = duration.map(|length| now().saturating_add(length.saturating_mul(1_000_000_000)));
    ledger.change(Durability::Disk, |books| {
        let mut wholes = cordoned.iter();
        wholes.try_for_each(|whole| books.cordon(owner, whole, reason, until))
    })?;
    Ok(Cordoned { cordoned })
}

/// Lifts cordons.
///
/// # Errors
/// A device is unknown or not cordoned; the ledger cannot be written.
pub(crate) fn uncordon(
    ledger: &mut Ledger,
    (devices, node): (&[String], &Node),
    (owner, reason): (&str, &str),
) -> Result<Uncordoned, Error> {
    let uncordoned = wholes(devices, node)?;
    ledger.change(Durability::Disk, |books| {
        for whole in &uncordoned {
            // Whoever gives it to new tenants again says that it is sound.
            let was_ill = books.clear_fault(owner, whole, None, reason)?;
            // Both are tried: a device may be cordoned, unhealthy, or both.
            if !books.uncordon(owner, whole, reason)? && !was_ill {
                let what = if whole.is_empty() {
                    "the machine as a whole"
                } else {
                    whole
                };
                return Err(Error::malformed(format_args!(
                    "{what} is not cordoned: expected one of what `mapa ps` lists as cordoned or unhealthy"
                )));
            }
        }
        Ok(())
    })?;
    // The queue's head may be waiting for just these devices.
    wake_head(ledger)?;
    Ok(Uncordoned { uncordoned })
}

/// Says what was done to devices.
pub(crate) fn show_done(what: &str, wholes: &[String], output: Output) {
    let named = |whole: &String| {
        if whole.is_empty() {
            "the machine".to_owned()
        } else {
            whole.clone()
        }
    };
    let names: Vec<String> = wholes.iter().map(named).collect();
    output.line(format!("{what}: {}", names.join(", ")));
}

/// The audit, latest last: so many decisions at most, of one lease if one is named.
///
/// # Errors
/// The ledger cannot be read; a row of the audit was changed, if that is asked.
pub(crate) fn log(
    ledger: &mut Ledger,
    (last, lease): (usize, Option<i64>),
    verify: bool,
) -> Result<Audit, Error> {
    let verified = if verify {
        let (rows, hash) = ledger.verify_audit()?;
        Some(VerifiedAudit { rows, hash })
    } else {
        None
    };
    let mut decisions = ledger.read(|books| books.decisions(last, lease))?;
    // The query is latest first so that its limit keeps the latest rows.
    decisions.reverse();
    Ok(Audit {
        decisions,
        verified,
    })
}

/// Prints the audit.
pub(crate) fn show_log(answer: &Audit, output: Output) {
    for decision in &answer.decisions {
        let named = [("ticket", decision.ticket), ("lease", decision.lease)];
        let named = named.map(|(what, id)| id.map_or(String::new(), |id| format!(" {what} {id}")));
        let lease = named.concat();
        let devices = if decision.devices.is_empty() {
            String::new()
        } else {
            format!(" [{}]", decision.devices.join(" "))
        };
        let until = decision
            .expires_ns
            .map_or(String::new(), |expire| format!(" until {}", date(expire)));
        output.line(format!(
            "{} {:<9} {}{lease}{devices}{until}: {}",
            date(decision.time_ns),
            decision.kind,
            decision.owner,
            decision.reason
        ));
    }
    if let Some(VerifiedAudit { rows, hash }) = &answer.verified {
        output.line(format!(
            "{}, none changed; hash {hash}",
            counted(*rows as usize, "row")
        ));
    }
}

/// Checks the ledger, recovers, and says what was found.
///
/// # Errors
/// The ledger cannot be used, or is damaged.
pub(crate) fn recovered(ledger: &mut Ledger, owner: &str) -> Result<Recovered, Error> {
    // A damaged ledger is not written to.
    ledger.verify()?;
    let processes = Processes::new()?;
    let found = ledger.change(Durability::Disk, |books| recover(books, &processes, owner))?;
    wake_head(ledger)?;
    let released = found.released.iter().map(|(lease, why)| ReleasedLease {
        lease: lease.id,
        tenant: lease.asker.tenant.clone(),
        reason: why.clone(),
    });
    let adopted = found.adopted.iter().map(|(lease, by)| AdoptedLease {
        lease: lease.id,
        tenant: lease.asker.tenant.clone(),
        pid: by.id.pid,
    });
    Ok(Recovered {
        released: released.collect(),
        adopted: adopted.collect(),
        cancelled: found.cancelled.iter().map(|(ticket, _)| *ticket).collect(),
        leases: found.leases.iter().map(|lease| lease.id).collect(),
    })
}

/// Prints what recovery has found.
pub(crate) fn show_recovered(answer: &Recovered, output: Output) {
    for row in &answer.released {
        output.line(format!(
            "released lease {} of {}: {}",
            row.lease, row.tenant, row.reason
        ));
    }
    for row in &answer.adopted {
        output.line(format!(
            "adopted lease {} of {}: process {} goes on",
            row.lease, row.tenant, row.pid
        ));
    }
    for ticket in &answer.cancelled {
        output.line(format!("ticket {ticket} is gone: its process has ended"));
    }
    output.line(format!(
        "{}, the ledger is sound",
        holders(answer.leases.len())
    ));
}

/// How many leases hold, in words.
fn holders(count: usize) -> String {
    let verb = if count == 1 { "holds" } else { "hold" };
    format!("{} {verb}", counted(count, "lease"))
}

/// A length of time for people.
pub(crate) fn length(nanoseconds: UnixNanos) -> String {
    duration((nanoseconds.max(0) / 1_000_000_000) as f64)
}

/// A moment in UTC, as RFC 3339 writes it, to the second.
///
/// Days to dates by Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years that begin
/// in March, so that a leap day is the last of its year.
pub(crate) fn date(at: UnixNanos) -> String {
    let seconds = at.div_euclid(1_000_000_000);
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // 719468 days lie between March 1 of year 0 and 1970; 146097 days are 400 years.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    // 153 days are five months from March on: 31, 30, 31, 30, 31.
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds: i64| date(seconds * 1_000_000_000);
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_539_661), "2026-11-24T17:01:01Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn each_day_is_the_one_after_the_day_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        // Nanoseconds of 64 bits end in 2262.
        for days in 0..=i64::MAX / 86_400_000_000_000 {
            assert_eq!(
                date(days * 86_400_000_000_000),
                format!("{year:04}-{month:02}-{day:02}T00:00:00Z")
            );
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i32::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > last {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
