//! The state of a fleet as data.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::{Allocator, DeviceId, HardwareGraph, LeaseId, MachineId, Snapshot};

use super::changes::ChangeLog;
use super::network::FleetNetwork;
use super::{Fleet, TenantLeases, WithheldCause};
use crate::error::{Error, ErrorKind};
use crate::job::Tenant;

/// The state of a [`Fleet`] as data: the leases and layouts of its machines, the tenants that hold
/// the leases, and the network. The machines themselves are not part of it. With the feature
/// `serde` it can be written and read.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct FleetSnapshot {
    version: u32,
    machines: Vec<Snapshot>,
    tenants: Vec<TenantSnapshot>,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    network: Option<FleetNetwork>,
    /// Why devices get no new tenants.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Vec::is_empty")
    )]
    withheld: Vec<(MachineId, DeviceId, WithheldCause)>,
}

/// A tenant and its leases, by rank.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
struct TenantSnapshot {
    tenant: Tenant,
    leases: Vec<(MachineId, LeaseId)>,
}

/// The version of the form of snapshots.
const VERSION: u32 = 1;

impl Fleet {
    /// The state as data. A fleet restored from it continues identically: the same events and the
    /// same decisions lead to the same orders, with the same ids of leases.
    ///
    /// The scheduler is not part of it. A driver that starts again makes its scheduler anew, tells
    /// it [`Event::Arrived`](crate::Event::Arrived) for every job that waits, and keeps telling it
    /// of the ends of those that run, whose leases the fleet has.
    ///
    /// # Complexity
    /// O(machines + leases).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use mapa_core::{Fabric, HardwareGraph};
    /// use mapa_sched::Fleet;
    ///
    /// let mut fabric = Fabric::new();
    /// fabric.add_device("GPU0")?;
    /// let graph = Arc::new(fabric.lower()?);
    /// let fleet = Fleet::new([graph.clone()]);
    /// let again = Fleet::restore([graph], fleet.snapshot())?;
    /// assert_eq!(again, fleet);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> FleetSnapshot {
        let tenants = self.holders.iter().map(|(&tenant, held)| TenantSnapshot {
            tenant,
            leases: held.all().collect(),
        });
        FleetSnapshot {
            version: VERSION,
            machines: self.machines.iter().map(Allocator::snapshot).collect(),
            tenants: tenants.collect(),
            network: self.network,
            withheld: self
                .withheld
                .iter()
                .flat_map(|(&(machine, whole), causes)| {
                    causes.iter().map(move |&cause| (machine, whole, cause))
                })
                .collect(),
        }
    }

    /// Restores a fleet of these machines, by id, from a snapshot. Every layout, lease and tenant is
    /// checked again.
    ///
    /// # Errors
    /// If the snapshot is of another version or of other machines, if a layout or a lease is not
    /// possible, if a lease has no tenant or two, or if a tenant holds a lease that does not exist.
    // Long, since it is one check after the other, in the order of the snapshot's fields.
    pub fn restore(
        graphs: impl IntoIterator<Item = Arc<HardwareGraph>>,
        snapshot: FleetSnapshot,
    ) -> Result<Self, Error> {
        let bad = |what: String| Error::from(ErrorKind::BadSnapshot(what));
        if snapshot.version != VERSION {
            return Err(bad(format!(
                "version {}: expected {VERSION}",
                snapshot.version
            )));
        }
        // Equal machines share one graph, as in a new fleet.
        let mut fleet = Self::new(graphs);
        let (there, said) = (fleet.machines.len(), snapshot.machines.len());
        if there != said {
            return Err(bad(format!(
                "{said} machines: expected the {there} of the fleet"
            )));
        }
        for (id, allocator) in (0..).map(MachineId).zip(snapshot.machines) {
            let machine = &mut fleet.machines[id.0 as usize];
            *machine = Allocator::restore(id, machine.graph().clone(), allocator)
                .map_err(|error| bad(format!("machine {id}: {error}")))?;
        }
        let mut held_by: BTreeMap<(MachineId, LeaseId), Tenant> = BTreeMap::new();
        for TenantSnapshot { tenant, leases } in snapshot.tenants {
            let mut leases = leases.into_iter();
            let Some(first) = leases.next() else {
                return Err(bad(format!("{tenant} holds nothing: expected a lease")));
            };
            let held = TenantLeases {
                first,
                rest: leases.collect(),
            };
            for (machine, lease) in held.all() {
                if fleet.machine(machine)?.lease(lease).is_none() {
                    return Err(bad(format!(
                        "{tenant} holds lease {lease} of machine {machine}: expected a lease of that machine"
                    )));
                }
                if let Some(other) = held_by.insert((machine, lease), tenant) {
                    return Err(bad(format!(
                        "lease {lease} of machine {machine}: held by {other} and by {tenant}: expected one tenant"
                    )));
                }
            }
            if fleet.holders.contains_key(&tenant) {
                return Err(bad(format!("{tenant} is listed twice: expected it once")));
            }
            fleet.hold(tenant, held);
        }
        for machine in &fleet.machines {
            let id = machine.id();
            if let Some(lease) = machine
                .leases()
                .find(|lease| !held_by.contains_key(&(id, lease.id)))
            {
                return Err(bad(format!(
                    "lease {} of machine {id} has no tenant: expected one",
                    lease.id
                )));
            }
        }
        fleet.held_by = held_by;
        fleet.network = snapshot.network.filter(FleetNetwork::is_possible);
        if fleet.network != snapshot.network {
            return Err(bad(
                "the network: expected a number of GB/s above 0".to_owned()
            ));
        }
        for (machine, whole, cause) in snapshot.withheld {
            let graph = fleet.machine(machine)?.graph();
            if !graph.wholes().contains(whole) {
                return Err(bad(format!(
                    "device {whole} of machine {machine} is withheld: expected a whole device"
                )));
            }
            let causes = fleet.withheld.entry((machine, whole)).or_default();
            causes.insert(cause);
        }
        // Snapshots of earlier releases name no cause: it was always a cordon.
        for machine in &fleet.machines {
            for whole in machine.cordoned().iter() {
                let causes = fleet.withheld.entry((machine.id(), whole)).or_default();
                if causes.is_empty() {
                    causes.insert(WithheldCause::Cordon);
                }
            }
        }
        // The machines were replaced without `Fleet::change`.
        fleet.changes = ChangeLog::of(&fleet.machines);
        Ok(fleet)
    }
}
