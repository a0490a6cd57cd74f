//! The ledger within one transaction.

use mapa_live::{Identity, ProcessId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::chain::{self, ChainedFields};
use super::owner::OutsideOwner;
use super::rows::{
    AuditEntry, AuditKind, DeviceKey, Lease, LedgerFile, Requester, Ticket, UnixNanos, now,
    since_boot,
};
use super::{AuditRow, Tenant};
use crate::error::Error;

/// The ledger within one transaction. Whoever changes a table notes a decision with it.
#[derive(Clone, Copy, Debug)]
pub struct LedgerTx<'t> {
    pub(super) at: &'t Connection,
    id: &'t str,
    file: Option<LedgerFile>,
    writer: u32,
}

impl<'t> LedgerTx<'t> {
    pub(super) fn new(
        at: &'t Connection,
        id: &'t str,
        file: Option<LedgerFile>,
        writer: u32,
    ) -> Self {
        Self {
            at,
            id,
            file,
            writer,
        }
    }

    /// The same transaction, with this user as the one that writes.
    pub(crate) fn written_for(self, writer: u32) -> Self {
        Self { writer, ..self }
    }

    /// Does something of which, on an error, nothing stays, whatever becomes of the rest of the transaction.
    ///
    /// # Errors
    /// What `change` says; the ledger cannot be written.
    pub(crate) fn apart<T>(
        &self,
        change: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.at.execute_batch("SAVEPOINT apart")?;
        let done = change(self);
        self.at.execute_batch(match &done {
            Ok(_) => "RELEASE apart",
            Err(_) => "ROLLBACK TO apart; RELEASE apart",
        })?;
        done
    }

    /// The mark of the processes of a lease.
    #[must_use]
    pub fn mark(&self, lease: i64) -> String {
        mark(self.id, lease)
    }

    /// The ledger's file; none of one in memory.
    pub(crate) fn file(&self) -> Option<LedgerFile> {
        self.file
    }

    /// Adds a row to the audit, and returns its number.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn note(&self, note: AuditEntry<'_>) -> Result<i64, Error> {
        let mut insert = self.at.prepare_cached(
            "INSERT INTO decisions (at, kind, owner, lease, ticket, devices, reason, expires, uid, command, status, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        let devices = note.devices.join(" ");
        let fields = ChainedFields {
            at: now(),
            kind: note.kind.name(),
            owner: note.owner,
            lease: note.lease,
            ticket: note.ticket,
            devices: &devices,
            reason: note.reason,
            expires: note.expires,
            uid: Some(self.writer),
            command: note.command,
            status: note.status,
        };
        insert.execute(params![
            fields.at,
            fields.kind,
            fields.owner,
            fields.lease,
            fields.ticket,
            fields.devices,
            fields.reason,
            fields.expires,
            fields.uid,
            fields.command,
            fields.status,
            fields.hash(&chain::last(self.at)?),
        ])?;
        Ok(self.at.last_insert_rowid())
    }

    /// Whether the audit has a row of this kind on a lease, with this reason.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn is_noted(&self, kind: AuditKind, lease: i64, reason: &str) -> Result<bool, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT 1 FROM decisions WHERE lease = ?1 AND kind = ?2 AND reason = ?3",
        )?;
        Ok(select.exists(params![lease, kind.name(), reason])?)
    }

    /// The audit, latest first: at most so many rows, of this lease if one is named.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn decisions(&self, most: usize, lease: Option<i64>) -> Result<Vec<AuditRow>, Error> {
        // One statement for both questions: `?2` is NULL where every lease is meant.
        let mut select = self.at.prepare_cached(
            "SELECT id, at, kind, owner, lease, ticket, devices, reason, expires, uid, command, status
             FROM decisions WHERE ?2 IS NULL OR lease = ?2 ORDER BY id DESC LIMIT ?1",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = select.query_map(params![most, lease], |row| {
            let devices = printable(row, 6)?;
            Ok(AuditRow {
                id: row.get(0)?,
                time_ns: row.get(1)?,
                kind: printable(row, 2)?,
                owner: printable(row, 3)?,
                lease: row.get(4)?,
                ticket: row.get(5)?,
                devices: devices.split_whitespace().map(str::to_owned).collect(),
                reason: printable(row, 7)?,
                expires_ns: row.get(8)?,
                uid: row.get(9)?,
                command: row.get::<_, Option<String>>(10)?.map(|text| escaped(&text)),
                exit_status: row.get(11)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The machine to which the ledger is bound: its name, and the names of its devices.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn machine(&self) -> Result<Option<(String, Vec<String>)>, Error> {
        let mut select = self
            .at
            .prepare_cached("SELECT machine, devices FROM ledger")?;
        let (machine, devices): (Option<String>, Option<String>) =
            select.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let split = |devices: String| devices.split('\n').map(str::to_owned).collect();
        Ok(machine.zip(devices.map(split)))
    }

    /// Binds the ledger to a machine.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn bind(&self, owner: &str, name: &str, devices: &[String]) -> Result<(), Error> {
        self.at.execute(
            "UPDATE ledger SET machine = ?1, devices = ?2",
            params![name, devices.join("\n")],
        )?;
        self.note(AuditEntry {
            devices,
            ..AuditEntry::new(
                AuditKind::Machine,
                owner,
                &format!("the ledger is of {name}"),
            )
        })?;
        Ok(())
    }

    /// All leases, by number.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn leases(&self) -> Result<Vec<Lease>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT tenant, uid, boot, namespace, pid, start, command, policy, spec,
                    id, child, child_start, adopted, granted, expires, ticket, cgroup, limited, deadline, owner_kind, owner_name
             FROM leases ORDER BY id",
        )?;
        let rows = select.query_map([], |row| {
            let asker = asker(row)?;
            let child: Option<i32> = row.get(10)?;
            let child_start: Option<i64> = row.get(11)?;
            // The child was started by the holder, so it shares its boot and PID namespace. Only number and
            // start have columns of their own.
            let child = child.zip(child_start).map(|(pid, start)| Identity {
                id: ProcessId { pid, start },
                ..asker.process.clone()
            });
            let owner = match row.get_ref(19)? {
                ValueRef::Null => None,
                _ => Some(OutsideOwner::of_row(
                    printable(row, 19)?,
                    printable(row, 20)?,
                    asker.uid,
                )),
            };
            Ok(Lease {
                id: row.get(9)?,
                asker,
                owner,
                child,
                adopted: row.get(12)?,
                devices: Vec::new(),
                granted: row.get(13)?,
                expires: row.get(14)?,
                ticket: row.get(15)?,
                cgroup: row.get(16)?,
                limited: row.get(17)?,
                deadline: row.get(18)?,
            })
        })?;
        let mut leases = rows.collect::<Result<Vec<_>, _>>()?;
        let mut held = self
            .at
            .prepare_cached("SELECT whole, part FROM held WHERE lease = ?1 ORDER BY rank")?;
        for lease in &mut leases {
            let keys = held.query_map([lease.id], |row| {
                Ok(DeviceKey {
                    whole: row.get(0)?,
                    part: row.get(1)?,
                })
            })?;
            lease.devices = keys.collect::<Result<_, _>>()?;
        }
        Ok(leases)
    }

    /// Gives devices to whoever asks, in rank order, and returns the number of the lease.
    ///
    /// # Errors
    /// A device is held already; the ledger cannot be written.
    pub fn grant(
        &self,
        asker: &Requester,
        devices: &[DeviceKey],
        ticket: Option<i64>,
        expires: Option<UnixNanos>,
        reason: &str,
    ) -> Result<i64, Error> {
        self.grant_to(asker, &asker.audited(), devices, ticket, expires, reason)
    }

    /// As [`grant`](Self::grant), with the one who decided as the audit names it.
    pub(super) fn grant_to(
        &self,
        asker: &Requester,
        audited: &str,
        devices: &[DeviceKey],
        ticket: Option<i64>,
        expires: Option<UnixNanos>,
        reason: &str,
    ) -> Result<i64, Error> {
        // The tenant comes first, because the lease's row refers to it.
        self.register_tenant(asker)?;
        let names: Vec<String> = devices.iter().map(DeviceKey::to_string).collect();
        // The decision and the lease name each other. The lease's column is the foreign key, so the decision is
        // written first: under the lock of writers, the number of the next lease is known.
        let mut last = self
            .at
            .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'leases'")?;
        let last: Option<i64> = last.query_row([], |row| row.get(0)).optional()?;
        let lease = last.unwrap_or_default() + 1;
        let decision = self.note(AuditEntry {
            lease: Some(lease),
            ticket,
            devices: &names,
            expires,
            command: Some(&asker.command),
            ..AuditEntry::new(AuditKind::Grant, audited, reason)
        })?;
        let mut insert = self.at.prepare_cached(
            "INSERT INTO leases (tenant, uid, boot, namespace, pid, start, command, policy, spec, ticket, granted, expires, decision, id, deadline)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?;
        let process = &asker.process;
        let granted = now();
        // The clock of the wall may be set while the lease holds.
        let deadline = expires.map(|expires| since_boot().saturating_add(expires - granted));
        insert.execute(params![
            asker.tenant,
            asker.uid,
            process.boot,
            process.namespace,
            process.id.pid,
            process.id.start,
            asker.command,
            asker.policy,
            asker.spec,
            ticket,
            granted,
            expires,
            decision,
            lease,
            deadline
        ])?;
        let mut hold = self.at.prepare_cached(
            "INSERT INTO held (whole, part, lease, rank) VALUES (?1, ?2, ?3, ?4)",
        )?;
        // If a program has chosen a device that is held, the trigger `one_holder` fails this insert, and the
        // error rolls back the whole transaction.
        for (rank, key) in (0i64..).zip(devices) {
            hold.execute(params![key.whole, key.part, lease, rank])
                .map_err(|error| Error::at(key, error))?;
        }
        Ok(lease)
    }

    /// Notes the folder of the control group in which all processes of a lease are. False if the lease has
    /// ended.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn set_cgroup(&self, lease: i64, cgroup: &str) -> Result<bool, Error> {
        let mut update = self
            .at
            .prepare_cached("UPDATE leases SET cgroup = ?2 WHERE id = ?1")?;
        Ok(update.execute(params![lease, cgroup])? > 0)
    }

    /// Notes the folder of the control group into which a daemon moves processes of a lease to limit them.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn set_limit_cgroup(&self, lease: i64, cgroup: &str) -> Result<(), Error> {
        let mut update = self
            .at
            .prepare_cached("UPDATE leases SET limited = ?2 WHERE id = ?1")?;
        update.execute(params![lease, cgroup])?;
        Ok(())
    }

    /// Lets the time of a lease that has no command yet begin now: its job has only just learned of it.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn begin_time(&self, lease: i64) -> Result<(), Error> {
        let mut update = self.at.prepare_cached(
            "UPDATE leases SET deadline = ?2 + (expires - granted), expires = ?3 + (expires - granted), granted = ?3
             WHERE id = ?1 AND expires IS NOT NULL AND child IS NULL",
        )?;
        update.execute([lease, since_boot(), now()])?;
        Ok(())
    }

    /// Notes the process that does the work of a lease, and the folder of the control group that it is in, if one was
    /// made for it.
    ///
    /// # Errors
    /// The lease has ended; the ledger cannot be written.
    pub fn set_command_process(
        &self,
        lease: i64,
        child: &Identity,
        cgroup: Option<&str>,
    ) -> Result<(), Error> {
        let mut update = self.at.prepare_cached(
            "UPDATE leases SET child = ?2, child_start = ?3, cgroup = ?4 WHERE id = ?1",
        )?;
        let (pid, start) = (child.id.pid, child.id.start);
        if update.execute(params![lease, pid, start, cgroup])? == 0 {
            return Err(Error::at(
                format_args!("lease {lease}"),
                "it has ended meanwhile: its devices may be another's",
            ));
        }
        Ok(())
    }

    /// Ends a lease. False if it has ended already.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn release(&self, owner: &str, lease: &Lease, reason: &str) -> Result<bool, Error> {
        self.release_with(owner, lease, reason, None)
    }

    /// Ends a lease whose command has ended with this exit status. False if it has ended already.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn release_with(
        &self,
        owner: &str,
        lease: &Lease,
        reason: &str,
        status: Option<i32>,
    ) -> Result<bool, Error> {
        let mut delete = self.at.prepare_cached("DELETE FROM leases WHERE id = ?1")?;
        if delete.execute([lease.id])? == 0 {
            return Ok(false);
        }
        // The rows of `held` have gone with the lease (ON DELETE CASCADE).
        let names: Vec<String> = lease.devices.iter().map(DeviceKey::to_string).collect();
        self.note(AuditEntry {
            lease: Some(lease.id),
            devices: &names,
            command: Some(&lease.asker.command),
            status,
            ..AuditEntry::new(AuditKind::Release, owner, reason)
        })?;
        Ok(true)
    }

    /// Lets a lease go on under another process: the one that held it is gone.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn adopt(
        &self,
        owner: &str,
        lease: &Lease,
        by: &Identity,
        reason: &str,
    ) -> Result<(), Error> {
        // The number of the command's process is meant in the namespace of the holder.
        let mut update = self.at.prepare_cached(
            "UPDATE leases SET adopted = 1, pid = ?2, start = ?3, namespace = ?4,
                    child = CASE namespace WHEN ?4 THEN child END WHERE id = ?1",
        )?;
        update.execute(params![lease.id, by.id.pid, by.id.start, by.namespace])?;
        let names: Vec<String> = lease.devices.iter().map(DeviceKey::to_string).collect();
        self.note(AuditEntry {
            lease: Some(lease.id),
            devices: &names,
            expires: lease.expires,
            ..AuditEntry::new(AuditKind::Adopt, owner, reason)
        })?;
        Ok(())
    }

    /// How the connection syncs: SQLite's number.
    #[cfg(test)]
    pub(super) fn synchronous(&self) -> Result<i64, Error> {
        Ok(self
            .at
            .pragma_query_value(None, "synchronous", |row| row.get(0))?)
    }

    /// Makes the tenant known.
    fn register_tenant(&self, asker: &Requester) -> Result<(), Error> {
        let mut insert = self.at.prepare_cached(
            "INSERT OR IGNORE INTO tenants (name, uid, since) VALUES (?1, ?2, ?3)",
        )?;
        insert.execute(params![asker.tenant, asker.uid, now()])?;
        Ok(())
    }

    /// The queue, first come first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn queue(&self) -> Result<Vec<Ticket>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT tenant, uid, boot, namespace, pid, start, command, policy, spec,
                    ticket, scheduler, seconds, since, reason, lease, refusal FROM queue ORDER BY ticket",
        )?;
        let rows = select.query_map([], ticket)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The first who waits: one with neither a lease nor a refusal.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn head(&self) -> Result<Option<Ticket>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT tenant, uid, boot, namespace, pid, start, command, policy, spec,
                    ticket, scheduler, seconds, since, reason, lease, refusal FROM queue
             WHERE lease IS NULL AND refusal IS NULL ORDER BY ticket LIMIT 1",
        )?;
        Ok(select.query_row([], ticket).optional()?)
    }

    /// The numbers of those who wait, first come first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(crate) fn waiting_tickets(&self) -> Result<Vec<i64>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT ticket FROM queue WHERE lease IS NULL AND refusal IS NULL ORDER BY ticket",
        )?;
        let rows = select.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Those who wait, first come first, and why each does.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(crate) fn wait_reasons(&self) -> Result<Vec<(i64, String)>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT ticket, reason FROM queue WHERE lease IS NULL AND refusal IS NULL ORDER BY ticket",
        )?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, printable(row, 1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether all who wait do so for this reason.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(crate) fn all_wait_for(&self, reason: &str) -> Result<bool, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT 1 FROM queue WHERE lease IS NULL AND refusal IS NULL AND reason <> ?1",
        )?;
        Ok(!select.exists([reason])?)
    }

    /// Says of all who wait why they do.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub(crate) fn set_wait_reasons(&self, reason: &str) -> Result<(), Error> {
        let mut update = self.at.prepare_cached(
            "UPDATE queue SET reason = ?1 WHERE lease IS NULL AND refusal IS NULL AND reason <> ?1",
        )?;
        update.execute([reason])?;
        Ok(())
    }

    /// How many wait, and how many of them came before this ticket.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn waiting(&self, ticket: i64) -> Result<(usize, usize), Error> {
        let mut select = self.at.prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE ticket < ?1) FROM queue
             WHERE lease IS NULL AND refusal IS NULL",
        )?;
        let (all, before): (i64, i64) =
            select.query_row([ticket], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let number = |count| usize::try_from(count).unwrap_or_default();
        Ok((number(all), number(before)))
    }

    /// How many jobs of a user are in the queue, and how many bytes their requests and policies have.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(crate) fn waiting_of(&self, uid: u32) -> Result<(usize, usize), Error> {
        let mut select = self.at.prepare_cached(
            "SELECT count(*), coalesce(sum(octet_length(policy) + octet_length(spec)), 0)
             FROM queue WHERE uid = ?1",
        )?;
        let (jobs, bytes): (i64, i64) =
            select.query_row([uid], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let number = |count| usize::try_from(count).unwrap_or_default();
        Ok((number(jobs), number(bytes)))
    }

    /// One place of the queue.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn ticket(&self, id: i64) -> Result<Option<Ticket>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT tenant, uid, boot, namespace, pid, start, command, policy, spec,
                    ticket, scheduler, seconds, since, reason, lease, refusal FROM queue WHERE ticket = ?1",
        )?;
        Ok(select.query_row([id], ticket).optional()?)
    }

    /// Puts whoever asks at the end of the queue.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn enqueue(
        &self,
        asker: &Requester,
        scheduler: &str,
        seconds: Option<u64>,
        reason: &str,
    ) -> Result<i64, Error> {
        self.register_tenant(asker)?;
        let mut insert = self.at.prepare_cached(
            "INSERT INTO queue (tenant, uid, boot, namespace, pid, start, scheduler, policy, spec, command, seconds, since, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?;
        let process = &asker.process;
        insert.execute(params![
            asker.tenant,
            asker.uid,
            process.boot,
            process.namespace,
            process.id.pid,
            process.id.start,
            scheduler,
            asker.policy,
            asker.spec,
            asker.command,
            seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)),
            now(),
            reason
        ])?;
        let ticket = self.at.last_insert_rowid();
        self.note(AuditEntry {
            ticket: Some(ticket),
            command: Some(&asker.command),
            ..AuditEntry::new(AuditKind::Enqueue, &asker.audited(), reason)
        })?;
        Ok(ticket)
    }

    /// Says why a ticket waits now.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn set_wait_reason(&self, ticket: i64, reason: &str) -> Result<(), Error> {
        let mut update = self
            .at
            // Jobs that wait write why at each poll, mostly the same. An update without a row writes nothing.
            .prepare_cached("UPDATE queue SET reason = ?2 WHERE ticket = ?1 AND reason <> ?2")?;
        update.execute(params![ticket, reason])?;
        Ok(())
    }

    /// Notes in the queue that a ticket has its lease, for its owner to find.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn record_grant(&self, ticket: i64, lease: i64) -> Result<(), Error> {
        let mut update = self
            .at
            .prepare_cached("UPDATE queue SET lease = ?2 WHERE ticket = ?1")?;
        update.execute([ticket, lease])?;
        Ok(())
    }

    /// Notes in the queue that a ticket will never get a lease, for its owner to find.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn record_refusal(&self, ticket: i64, why: &str) -> Result<(), Error> {
        let mut update = self
            .at
            .prepare_cached("UPDATE queue SET refusal = ?2 WHERE ticket = ?1")?;
        update.execute(params![ticket, why])?;
        Ok(())
    }

    /// Takes a ticket out of the queue: it has its lease, which is noted.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn dequeue(&self, ticket: i64) -> Result<(), Error> {
        let mut delete = self
            .at
            .prepare_cached("DELETE FROM queue WHERE ticket = ?1")?;
        delete.execute([ticket])?;
        Ok(())
    }

    /// Takes a ticket out of the queue: it gets no lease.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn cancel(&self, owner: &str, ticket: i64, reason: &str) -> Result<(), Error> {
        self.dequeue(ticket)?;
        self.note(AuditEntry {
            ticket: Some(ticket),
            ..AuditEntry::new(AuditKind::Cancel, owner, reason)
        })?;
        Ok(())
    }

    /// All who have ever asked for devices, and what they hold, by name.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn tenants(&self) -> Result<Vec<Tenant>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT name, uid, since,
                    (SELECT count(*) FROM leases WHERE tenant = name),
                    (SELECT count(*) FROM held JOIN leases ON lease = id WHERE tenant = name),
                    (SELECT count(*) FROM queue WHERE tenant = name AND lease IS NULL)
             FROM tenants ORDER BY name",
        )?;
        let rows = select.query_map([], |row| {
            Ok(Tenant {
                name: printable(row, 0)?,
                uid: row.get(1)?,
                since_ns: row.get(2)?,
                leases: row.get(3)?,
                devices: row.get(4)?,
                waiting: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The layout of each partitioned device that was last seen, by device.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn layouts(&self) -> Result<Vec<(String, String)>, Error> {
        let mut select = self
            .at
            .prepare_cached("SELECT whole, layout FROM layouts ORDER BY whole")?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Notes the layout of a device.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn layout(&self, owner: &str, whole: &str, layout: &str) -> Result<(), Error> {
        let decision = self.note(AuditEntry {
            devices: &named(whole),
            ..AuditEntry::new(AuditKind::Layout, owner, layout)
        })?;
        self.at.execute(
            "INSERT OR REPLACE INTO layouts (whole, layout, at, decision) VALUES (?1, ?2, ?3, ?4)",
            params![whole, layout, now(), decision],
        )?;
        Ok(())
    }
}

/// The mark of the processes of a lease: the ledger's name, a colon, the lease's number.
pub(super) fn mark(ledger: &str, lease: i64) -> String {
    format!("{ledger}:{lease}")
}

/// The devices of a note: none stands for the machine.
pub(super) fn named(whole: &str) -> Vec<String> {
    if whole.is_empty() {
        Vec::new()
    } else {
        vec![whole.to_owned()]
    }
}

/// A text of the ledger, as people may see it: others may have written it, and a terminal obeys control characters.
pub(super) fn printable(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(escaped(row.get_ref(column)?.as_str()?))
}

/// A text with its control characters as Rust writes them: a line break is `\n`.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        // Marks that turn the direction of writing around can forge a line as well.
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The four columns of a process, from this one on.
pub(super) fn identity(row: &Row<'_>, from: usize) -> rusqlite::Result<Identity> {
    Ok(Identity {
        boot: row.get(from)?,
        namespace: row.get(from + 1)?,
        id: ProcessId {
            pid: row.get(from + 2)?,
            start: row.get(from + 3)?,
        },
    })
}

/// The first nine columns of a lease and of a ticket.
fn asker(row: &Row<'_>) -> rusqlite::Result<Requester> {
    Ok(Requester {
        tenant: printable(row, 0)?,
        uid: row.get(1)?,
        process: identity(row, 2)?,
        command: printable(row, 6)?,
        policy: row.get(7)?,
        spec: row.get(8)?,
    })
}

fn ticket(row: &Row<'_>) -> rusqlite::Result<Ticket> {
    let seconds: Option<i64> = row.get(11)?;
    Ok(Ticket {
        asker: asker(row)?,
        id: row.get(9)?,
        scheduler: row.get(10)?,
        seconds: seconds.and_then(|seconds| u64::try_from(seconds).ok()),
        since: row.get(12)?,
        reason: printable(row, 13)?,
        lease: row.get(14)?,
        refusal: row.get(15)?,
    })
}
