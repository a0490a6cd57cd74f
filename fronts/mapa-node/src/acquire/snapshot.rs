//! The state of the machine at one moment of the ledger, after recovery.

use mapa_live::{DriverSnapshot, Processes};

use crate::error::Error;
use crate::foreign::{Stray, foreign, record_strays};
use crate::health;
use crate::ledger::LedgerTx;
use crate::node::{Node, NodeState};
use crate::recover::{Recovered, recover};

/// The state of the machine at one moment of the ledger.
pub(crate) struct NodeSnapshot {
    /// What recovery did and what holds.
    pub recovered: Recovered,
    /// The machine with the leases that hold, and what is withheld.
    pub state: NodeState,
    /// The processes of leases that compute where their lease has nothing.
    pub strays: Vec<Stray>,
}

/// Recovers, notes what the drivers say of devices, and reads the state of the machine.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) fn snapshot(
    books: &LedgerTx<'_>,
    node: &Node,
    processes: &Processes,
    owner: &str,
    drivers: &DriverSnapshot,
) -> Result<NodeSnapshot, Error> {
    // The order matters: recovery first, since what it frees must not withhold a device, and its leases tell
    // whose processes are foreign.
    let recovered = recover(books, processes, owner)?;
    snapshot_of(books, node, processes, owner, (drivers, recovered))
}

/// As [`snapshot`], after this recovery.
pub(crate) fn snapshot_of(
    books: &LedgerTx<'_>,
    node: &Node,
    processes: &Processes,
    owner: &str,
    (drivers, recovered): (&DriverSnapshot, Recovered),
) -> Result<NodeSnapshot, Error> {
    let mark = |lease| books.mark(lease);
    let (mut others, strays) = foreign(node, drivers, &recovered.leases, processes, mark);
    record_strays(books, node, owner, &strays)?;
    others.extend(health::record_health(
        books, node, processes, owner, drivers,
    )?);
    let state = node.state(books, &recovered.leases, &others)?;
    Ok(NodeSnapshot {
        recovered,
        state,
        strays,
    })
}
