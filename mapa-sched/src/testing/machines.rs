//! Machines to try things on, and what must be true of a fleet at any time.

use std::sync::Arc;

use mapa_core::mig::{Layout, Model, Profile, Size};
use mapa_core::testing::machines;
use mapa_core::{
    DeviceId, DeviceInfo, Fabric, FabricNode, HardwareGraph, LeaseId, MachineId, NodeKind, Usage,
};

use proptest::collection::vec;
use proptest::prelude::*;

use crate::fleet::Fleet;
use crate::job::{JobId, Tenant};

/// Four slices of 6 GiB, in quarters, halves or one piece.
#[must_use]
pub fn quarters() -> Arc<Model> {
    let profile = |name: &str, slices: u8, starts: &[u8], max_instances| Profile {
        name: name.to_owned(),
        size: Size::new(slices, slices),
        memory_bytes: u64::from(slices) * (6 << 30),
        starts: starts.to_vec(),
        max_instances,
    };
    let table = vec![
        profile("1g", 1, &[0, 1, 2, 3], 4),
        profile("2g", 2, &[0, 2], 2),
        profile("4g", 4, &[0], 1),
    ];
    Arc::new(Model::new("quarters", Size::new(4, 4), table).unwrap())
}

/// A model of which no device here is.
#[must_use]
pub fn other_model() -> Arc<Model> {
    let memory_bytes = 1 << 30;
    let starts = vec![0, 1, 2, 3, 4];
    let whole = Size::new(5, 5);
    let table = vec![Profile {
        name: "1f".to_owned(),
        size: Size::new(1, 1),
        memory_bytes,
        starts,
        max_instances: 5,
    }];
    Arc::new(Model::new("fifths", whole, table).unwrap())
}

/// The layout of these profiles.
#[must_use]
pub fn layout(profiles: &[&str]) -> Layout {
    let model = quarters();
    let wanted: Vec<_> = profiles
        .iter()
        .map(|name| model.find(name).unwrap())
        .collect();
    model.fit(&wanted).unwrap()
}

/// So many devices of [`quarters`] and 24 GiB below one host bridge.
#[must_use]
pub fn cuttable(devices: usize) -> Arc<HardwareGraph> {
    cuttable_as(&quarters(), devices)
}

/// The same of another model.
#[must_use]
pub fn cuttable_as(model: &Arc<Model>, devices: usize) -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let bridge = fabric
        .add(FabricNode {
            name: "bridge".to_owned(),
            kind: NodeKind::HostBridge,
        })
        .unwrap();
    for i in 0..devices {
        let info = DeviceInfo {
            memory_bytes: Some(24 << 30),
            mig: Some(model.clone()),
            ..DeviceInfo::default()
        };
        let device = fabric
            .add(FabricNode {
                name: format!("GPU{i}"),
                kind: NodeKind::Device(info),
            })
            .unwrap();
        fabric.attach(device, bridge, 30.0).unwrap();
    }
    Arc::new(fabric.lower().unwrap())
}

/// A machine of one device per bandwidth, each joined to all before it by links of that bandwidth.
#[must_use]
pub fn joined(gbps: &[f64]) -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let mut devices = Vec::new();
    for (i, &gbps) in gbps.iter().enumerate() {
        let device = fabric.add_device(format!("GPU{i}")).unwrap();
        for &other in &devices {
            fabric
                .link(other, device, mapa_core::LinkClass::Direct(1), gbps)
                .unwrap();
        }
        devices.push(device);
    }
    Arc::new(fabric.lower().unwrap())
}

/// One to three machines of whole devices.
pub fn whole_machines() -> impl Strategy<Value = Vec<Arc<HardwareGraph>>> {
    vec(machines(1..=5).prop_map(Arc::new), 1..=3)
}

/// One to three machines, some with devices that can be partitioned.
pub fn any_machines() -> impl Strategy<Value = Vec<Arc<HardwareGraph>>> {
    let one = prop_oneof![
        machines(1..=4).prop_map(Arc::new),
        (1usize..=2).prop_map(cuttable)
    ];
    vec(one, 1..=3)
}

/// What a lease holds, rank by rank.
fn seats(fleet: &Fleet) -> Vec<(MachineId, LeaseId, DeviceId, bool, u64)> {
    let machines = fleet.machines().iter();
    let leases =
        machines.flat_map(|machine| machine.leases().map(move |lease| (machine.id(), lease)));
    leases
        .flat_map(|(machine, lease)| {
            let ranks = lease.placement.iter().zip(lease.pattern.demands());
            ranks.map(move |(&id, demand)| {
                (
                    machine,
                    lease.id,
                    id,
                    demand.is_shared(),
                    demand.memory_bytes,
                )
            })
        })
        .collect()
}

/// Every holder's lease is there, every lease has one holder, and what is held is there once, as
/// its demands allow.
pub fn check(fleet: &Fleet) {
    let leases = fleet
        .machines()
        .iter()
        .map(|machine| machine.leases().count())
        .sum::<usize>();
    assert_eq!(fleet.tenants().count(), leases, "as many holders as leases");
    for (tenant, machine, lease) in fleet.tenants() {
        assert!(
            fleet
                .leases_of(tenant)
                .any(|(at, held)| (at, held.id) == (machine, lease)),
            "{tenant}"
        );
        assert_eq!(
            fleet.tenant_of(machine, lease),
            Some(tenant),
            "one holder a lease"
        );
    }
    let seats = seats(fleet);
    for (i, &(machine, lease, id, shared, _)) in seats.iter().enumerate() {
        let view = fleet.machine(machine).unwrap().view();
        assert!(view.present().contains(id), "{id} is held, so it exists");
        assert!(!view.free().contains(id) && view.tenants(id).contains(&lease));
        for &(_, _, other, other_shares, _) in seats[..i].iter().filter(|other| other.0 == machine)
        {
            assert!(
                id != other || shared && other_shares,
                "{id} of machine {machine} twice"
            );
            assert!(
                !view.graph().overlap(id).contains(other),
                "{id} and {other} cannot both exist"
            );
        }
    }
    for view in fleet.views() {
        for id in view.present().iter() {
            let here: Vec<_> = seats
                .iter()
                .filter(|seat| (seat.0, seat.2) == (view.machine(), id))
                .collect();
            let Usage {
                tenants,
                memory_bytes,
                ..
            } = *view.usage(id);
            assert_eq!(tenants as usize, here.len(), "booked and released exactly");
            assert_eq!(memory_bytes, here.iter().map(|seat| seat.4).sum::<u64>());
            assert!(
                view.graph()
                    .device(id)
                    .memory_bytes
                    .is_none_or(|limit| limit >= memory_bytes),
                "memory given twice"
            );
            let is_free = here.is_empty() && !view.is_cordoned(id);
            assert_eq!(view.free().contains(id), is_free);
        }
        assert!(view.free().is_subset(view.present()));
    }
}

/// The tenant that the job of this number is.
#[must_use]
pub fn job(id: u64) -> Tenant {
    Tenant::Job(JobId(id))
}
