//! Leases that no process holds: their owners are outside, such as pods of Kubernetes and jobs of Slurm.

use mapa_live::{Identity, ProcessId};
use rusqlite::params;

use super::owner::OutsideOwner;
use super::rows::{DeviceKey, Requester};
use super::transaction::LedgerTx;
use crate::error::Error;

impl LedgerTx<'_> {
    /// Gives devices to an owner outside, in rank order, and returns the number of the lease. Recovery never ends it,
    /// not in a later boot either, so the change must be one of [`Durability::Disk`](super::Durability::Disk).
    ///
    /// # Errors
    /// A device is held already; the ledger cannot be written.
    pub fn grant_outside(
        &self,
        owner: &OutsideOwner,
        devices: &[DeviceKey],
        reason: &str,
    ) -> Result<i64, Error> {
        let lease = self.grant_to(
            &requester(owner),
            &owner.audited(),
            devices,
            None,
            None,
            reason,
        )?;
        self.at.execute(
            "UPDATE leases SET owner_kind = ?2, owner_name = ?3 WHERE id = ?1",
            params![lease, owner.kind(), owner.name()],
        )?;
        Ok(lease)
    }
}

/// An owner as one who asks for devices. It has no process: the columns are empty and zero, which is no process of any
/// boot.
fn requester(owner: &OutsideOwner) -> Requester {
    let process = Identity {
        boot: String::new(),
        namespace: 0,
        id: ProcessId { pid: 0, start: 0 },
    };
    Requester {
        tenant: owner.kind().to_owned(),
        uid: owner.uid(),
        process,
        command: owner.to_string(),
        policy: "{}".to_owned(),
        spec: "{}".to_owned(),
    }
}
