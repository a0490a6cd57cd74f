//! Jobs on MIG instances of partitioned GPUs. Two jobs need larger instances, so one GPU is
//! repartitioned while its tenants stay where they are.

use std::error::Error;
use std::sync::Arc;

use mapa_core::{
    Allocator, Demand, DeviceId, DeviceInfo, Fabric, FabricNode, Lease, NodeKind, PCIE_GEN4_GBPS,
    Pattern, Reason, Refusal, Request, least_port_slowdown,
};
use mapa_topologies::mig::{Offer, named};

fn main() -> Result<(), Box<dyn Error>> {
    // Two A100s, each behind its own PCIe host bridge and partitioned into seven 1g instances.
    let gpu = named("a100-40gb")?;
    let model = gpu.model(Offer::PLAIN)?;
    let mut fabric = Fabric::new();
    for i in 0..2 {
        let bridge = fabric.add(FabricNode {
            name: format!("bridge{i}"),
            kind: NodeKind::HostBridge,
        })?;
        let info = DeviceInfo {
            memory_bytes: Some(gpu.memory_bytes()),
            mig: Some(model.clone()),
            ..DeviceInfo::default()
        };
        let device = fabric.add(FabricNode {
            name: format!("GPU{i}"),
            kind: NodeKind::Device(info),
        })?;
        fabric.attach(device, bridge, PCIE_GEN4_GBPS)?;
    }
    let mut allocator = Allocator::new(Arc::new(fabric.lower()?));
    let [one, two, three] = [model.find("1g")?, model.find("2g")?, model.find("3g")?];
    let sevenths = model.fit(&[one; 7]).ok_or("seven fit")?;
    for whole in allocator.graph().wholes().iter() {
        allocator.layout_is(whole, &sevenths)?;
    }

    // Jobs on one slice: the policy spreads the three that copy much over PCIe; the one that does
    // not goes to the fuller GPU.
    let job = |profile, gbps| {
        let demand = Demand::slice(model.profile(profile).size).pcie_gbps(gbps);
        Request::new(Pattern::ring(1).each(demand))
    };
    let policy = || least_port_slowdown(1.07, PCIE_GEN4_GBPS);
    let show = |allocator: &Allocator, name: &str, lease: &Lease| {
        println!(
            "{name} on {}",
            allocator.graph().device(lease.placement[0]).name
        );
    };
    for (name, gbps) in [
        ("bloom-a", 17.65),
        ("bloom-b", 17.65),
        ("bloom-c", 17.65),
        ("resnet", 0.0),
    ] {
        let lease = allocator.allocate(policy(), &job(one, gbps))?;
        show(&allocator, name, &lease);
    }

    // Two more jobs need larger instances: there are enough free slices, but not in this layout.
    let waiting = [("large", job(three, 0.0)), ("medium", job(two, 0.0))];
    for (name, request) in &waiting {
        match allocator.view().decide(policy(), request) {
            Err(Refusal::Busy(reason @ Reason::NeedsRepartition)) => {
                println!("{name} waits: {reason}")
            }
            other => return Err(format!("{other:?}").into()),
        }
    }

    // The GPU with fewest tenants is repartitioned around them.
    let view = allocator.view();
    let tenants = |whole: &DeviceId| view.usage_of_whole(*whole).tenants;
    let whole = view
        .graph()
        .wholes()
        .iter()
        .min_by_key(tenants)
        .ok_or("there are two")?;
    let keep = view.instances_in_use(whole);
    let next = model.best_layout(&view.layout_of(whole), &keep, &[three, two])?;
    println!("GPU{whole}: {}", model.print(&next));
    let before: Vec<Lease> = allocator.leases().cloned().collect();
    allocator.begin_repartition(whole, next.clone())?;
    // During the repartition, only instances that exist in both layouts can be used on this GPU;
    // the other GPU is not affected.
    let late = allocator.allocate(policy(), &job(one, 0.0))?;
    show(&allocator, "late", &late);
    allocator.layout_is(whole, &next)?;
    for (name, request) in &waiting {
        let lease = allocator.allocate(policy(), request)?;
        show(&allocator, name, &lease);
    }
    assert!(
        before
            .iter()
            .all(|lease| allocator.lease(lease.id) == Some(lease)),
        "no job was moved"
    );
    Ok(())
}
