//! The daemon in the ledger: who it is, and that it is there.

use mapa_live::Identity;
use rusqlite::{OptionalExtension, params};

use super::rows::{Kind, Note, Steward, UnixNanos, now};
use super::transaction::{LedgerTx, identity};
use crate::error::Error;

impl LedgerTx<'_> {
    /// The daemon that is entered, dead or alive.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn steward(&self) -> Result<Option<Steward>, Error> {
        let mut select = self.at.prepare_cached(
            "SELECT boot, namespace, pid, start, scheduler, since, beat FROM steward",
        )?;
        let found = select.query_row([], |row| {
            Ok(Steward {
                process: identity(row, 0)?,
                scheduler: row.get(4)?,
                since: row.get(5)?,
                beat: row.get(6)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Enters a daemon in place of any other, and gives those who wait its order.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn enter(&self, owner: &str, by: &Identity, scheduler: &str) -> Result<(), Error> {
        let at = now();
        // The column `one` is 1 in every row, so a second daemon replaces the first.
        self.at.execute(
            "INSERT OR REPLACE INTO steward (one, boot, namespace, pid, start, scheduler, since, beat)
             VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            params![by.boot, by.namespace, by.id.pid, by.id.start, scheduler, at],
        )?;
        // Tickets with a lease or a refusal are decided; their jobs only have to fetch the answer.
        self.at.execute(
            "UPDATE queue SET scheduler = ?1 WHERE lease IS NULL AND refusal IS NULL",
            [scheduler],
        )?;
        let reason = format!("process {} orders the queue by {scheduler}", by.id.pid);
        self.note_steward(owner, &reason)
    }

    /// Says that the daemon is there. False if it is not the one that is entered.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn beat(&self, by: &Identity, at: UnixNanos) -> Result<bool, Error> {
        // The whole identity must match: a daemon that another has replaced changes no row, and learns it this
        // way.
        let mut update = self.at.prepare_cached(
            "UPDATE steward SET beat = ?5 WHERE boot = ?1 AND namespace = ?2 AND pid = ?3 AND start = ?4",
        )?;
        let done = update.execute(params![by.boot, by.namespace, by.id.pid, by.id.start, at])?;
        Ok(done > 0)
    }

    /// Takes a daemon out, if it is the one that is entered.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn resign(&self, owner: &str, by: &Identity, reason: &str) -> Result<(), Error> {
        if self
            .steward()?
            .is_some_and(|steward| steward.process == *by)
        {
            self.at.execute("DELETE FROM steward", [])?;
            self.note_steward(owner, reason)?;
        }
        Ok(())
    }

    fn note_steward(&self, owner: &str, reason: &str) -> Result<(), Error> {
        self.note(Note::new(Kind::Leader, owner, reason)).map(drop)
    }
}
