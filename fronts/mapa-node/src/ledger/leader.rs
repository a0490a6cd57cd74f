//! The queue leader in the ledger: its process and its heartbeat.

use mapa_live::Identity;
use rusqlite::{OptionalExtension, params};

use super::rows::{AuditEntry, AuditKind, QueueLeader, UnixNanos, now};
use super::transaction::{LedgerTx, identity};
use crate::error::Error;

impl LedgerTx<'_> {
    /// The registered daemon, dead or alive.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn leader(&self) -> Result<Option<QueueLeader>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT boot, namespace, pid, start, scheduler, since, heartbeat FROM leader",
        )?;
        let found = select.query_row([], |row| {
            Ok(QueueLeader {
                process: identity(row, 0)?,
                scheduler: row.get(4)?,
                since: row.get(5)?,
                heartbeat: row.get(6)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Registers a daemon in place of any other. Waiting jobs get its scheduler.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn acquire_leadership(
        &self,
        owner: &str,
        by: &Identity,
        scheduler: &str,
    ) -> Result<(), Error> {
        let at = now();
        // The column `one` is 1 in every row, so a second daemon replaces the first.
        self.at.execute(
            "INSERT OR REPLACE INTO leader (one, boot, namespace, pid, start, scheduler, since, heartbeat)
             VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            params![by.boot, by.namespace, by.id.pid, by.id.start, scheduler, at],
        )?;
        // Tickets with a lease or a refusal are decided; their jobs only have to fetch the answer.
        self.at.execute(
            "UPDATE queue SET scheduler = ?1 WHERE lease IS NULL AND refusal IS NULL",
            [scheduler],
        )?;
        let reason = format!("process {} orders the queue by {scheduler}", by.id.pid);
        self.record_leader(owner, &reason)
    }

    /// Records a heartbeat of the daemon. False if another daemon is registered.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn record_heartbeat(&self, by: &Identity, at: UnixNanos) -> Result<bool, Error> {
        // The whole identity must match: a daemon that another has replaced changes no row, and learns it this
        // way.
        let mut update = self.at.prepare_cached(
            "UPDATE leader SET heartbeat = ?5 WHERE boot = ?1 AND namespace = ?2 AND pid = ?3 AND start = ?4",
        )?;
        let done = update.execute(params![by.boot, by.namespace, by.id.pid, by.id.start, at])?;
        Ok(done > 0)
    }

    /// Removes a daemon, if it is the registered one.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn resign(&self, owner: &str, by: &Identity, reason: &str) -> Result<(), Error> {
        if self.leader()?.is_some_and(|leader| leader.process == *by) {
            self.at.execute("DELETE FROM leader", [])?;
            self.record_leader(owner, reason)?;
        }
        Ok(())
    }

    fn record_leader(&self, owner: &str, reason: &str) -> Result<(), Error> {
        self.note(AuditEntry::new(AuditKind::Leader, owner, reason))
            .map(drop)
    }
}
