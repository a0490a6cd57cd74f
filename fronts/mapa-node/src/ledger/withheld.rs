//! What is withheld, in the ledger: cordons, and what is wrong with devices.

use rusqlite::params;

use super::rows::{AuditEntry, AuditKind, FaultKind, UnixNanos, now};
use super::transaction::{LedgerTx, named, printable};
use super::{Cordon, DeviceFault};
use crate::error::Error;

impl LedgerTx<'_> {
    /// The cordons that hold at this moment, by device.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn cordons(&self, at: UnixNanos) -> Result<Vec<Cordon>, Error> {
        // Cordons that have expired are skipped, not deleted, since a read may not write.
        let mut select = self.at.prepare_cached(
            "SELECT whole, at, owner, reason, expires FROM cordons
             WHERE expires IS NULL OR expires > ?1 ORDER BY whole",
        )?;
        let rows = select.query_map([at], |row| {
            Ok(Cordon {
                device: printable(row, 0)?,
                time_ns: row.get(1)?,
                owner: printable(row, 2)?,
                reason: printable(row, 3)?,
                expires_ns: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Cordons a device, or with an empty name the machine. A second cordon replaces the first.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn cordon(
        &self,
        owner: &str,
        whole: &str,
        reason: &str,
        expires: Option<UnixNanos>,
    ) -> Result<(), Error> {
        let decision = self.note(AuditEntry {
            devices: &named(whole),
            expires,
            ..AuditEntry::new(AuditKind::Cordon, owner, reason)
        })?;
        self.at.execute(
            "INSERT OR REPLACE INTO cordons (whole, at, owner, reason, expires, decision) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![whole, now(), owner, reason, expires, decision],
        )?;
        Ok(())
    }

    /// Lifts a cordon. False if there is none.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn uncordon(&self, owner: &str, whole: &str, reason: &str) -> Result<bool, Error> {
        let gone = self
            .at
            .execute("DELETE FROM cordons WHERE whole = ?1", [whole])?;
        if gone == 0 {
            return Ok(false);
        }
        self.note(AuditEntry {
            devices: &named(whole),
            ..AuditEntry::new(AuditKind::Uncordon, owner, reason)
        })?;
        Ok(true)
    }

    /// What is wrong with devices in this boot, by device.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn faults(&self, boot: &str) -> Result<Vec<DeviceFault>, Error> {
        let mut select = self.at.prepare_cached(
            // Faults of an earlier boot do not count: the restart may have mended the device.
            "SELECT whole, kind, what, at FROM health WHERE boot = ?1 ORDER BY whole, kind",
        )?;
        let rows = select.query_map([boot], |row| {
            Ok(DeviceFault {
                device: printable(row, 0)?,
                kind: printable(row, 1)?,
                detail: printable(row, 2)?,
                time_ns: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Notes that something is wrong with a device. False if the ledger says so already.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn record_fault(
        &self,
        owner: &str,
        boot: &str,
        whole: &str,
        fault: FaultKind,
        what: &str,
    ) -> Result<bool, Error> {
        let mut known = self.at.prepare_cached(
            "SELECT 1 FROM health WHERE whole = ?1 AND kind = ?2 AND boot = ?3 AND what = ?4",
        )?;
        // Each poll finds the same fault. It is written, and put into the audit, once.
        if known.exists(params![whole, fault.name(), boot, what])? {
            return Ok(false);
        }
        let noted = match FaultKind::is_of_links(fault.name()) {
            true => AuditKind::Degraded,
            false => AuditKind::Unhealthy,
        };
        let decision = self.note(AuditEntry {
            devices: &named(whole),
            ..AuditEntry::new(noted, owner, what)
        })?;
        self.at.execute(
            "INSERT OR REPLACE INTO health (whole, kind, what, boot, at, decision) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![whole, fault.name(), what, boot, now(), decision],
        )?;
        Ok(true)
    }

    /// Notes that a device is sound again: as to this fault, or as to all but what its links lack, which nobody can
    /// declare mended. False if nothing was wrong.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn clear_fault(
        &self,
        owner: &str,
        whole: &str,
        fault: Option<FaultKind>,
        reason: &str,
    ) -> Result<bool, Error> {
        let gone = self.at.execute(
            "DELETE FROM health WHERE whole = ?1 AND
             (kind = ?2 OR ?2 IS NULL AND kind NOT IN ('links_down', 'pcie_lanes', 'pcie_generation'))",
            params![whole, fault.map(FaultKind::name)],
        )?;
        if gone == 0 {
            return Ok(false);
        }
        let noted = match fault.is_some_and(|fault| FaultKind::is_of_links(fault.name())) {
            true => AuditKind::Restored,
            false => AuditKind::Healthy,
        };
        self.note(AuditEntry {
            devices: &named(whole),
            ..AuditEntry::new(noted, owner, reason)
        })?;
        Ok(true)
    }
}
