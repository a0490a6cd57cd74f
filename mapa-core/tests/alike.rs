//! On a machine with devices of several products a job gets like ones, unless it allows others.

use std::sync::Arc;

use mapa_core::{
    Decision, Demand, DeviceId, DeviceInfo, Fabric, FabricNode, HardwareGraph, LinkClass, NodeKind,
    Pattern, Policy, Refusal, Request, View, auto, foresight, greedy, lowest_id, preserve,
    topo_aware,
};
use proptest::prelude::*;

/// Devices of these products, each pair with a path through the host, or joined by this many links.
fn machine(products: &[Option<u8>], links: &[u8]) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let ids: Vec<_> = products
        .iter()
        .enumerate()
        .map(|(at, product)| {
            let info = DeviceInfo {
                product: product.map(|product| format!("product {product}")),
                ..DeviceInfo::default()
            };
            let (name, kind) = (format!("GPU{at}"), NodeKind::Device(info));
            fabric.add(FabricNode { name, kind }).unwrap()
        })
        .collect();
    let mut counts = links.iter().cycle();
    for b in 0..ids.len() {
        for a in 0..b {
            fabric.link(ids[a], ids[b], LinkClass::Phb, 12.0).unwrap();
            let count = *counts.next().unwrap_or(&0);
            if count > 0 {
                let gbps = 25.0 * f64::from(count);
                fabric
                    .link(ids[a], ids[b], LinkClass::Direct(count), gbps)
                    .unwrap();
            }
        }
    }
    fabric.lower().unwrap()
}

fn policies() -> Vec<Box<dyn Policy>> {
    vec![
        Box::new(auto()),
        Box::new(lowest_id()),
        Box::new(greedy()),
        Box::new(preserve()),
        Box::new(topo_aware()),
        Box::new(foresight()),
    ]
}

proptest! {
    #[test]
    fn ranks_get_one_product_and_the_best_of_those(
        products in proptest::collection::vec(0u8..3, 2..7),
        links in proptest::collection::vec(0u8..3, 1..20),
        ranks in 2usize..5,
    ) {
        let named: Vec<Option<u8>> = products.iter().copied().map(Some).collect();
        let graph = Arc::new(machine(&named, &links));
        let allocator = mapa_core::Allocator::new(graph.clone());
        let view: View<'_> = allocator.view();
        let request = Request::new(Pattern::ring(ranks)).sensitive(true);
        let most = (0..3).map(|p| products.iter().filter(|&&other| other == p).count()).max();
        for policy in policies() {
            match policy.decide(&request, &view) {
                Ok(decision) => {
                    let of = |id: &DeviceId| products[id.index()];
                    let set = decision.placement();
                    prop_assert!(set.iter().all(|id| of(id) == of(&set[0])), "{}: {set}", policy.name());
                    // Whichever product is taken, the policy itself would have chosen these among its devices.
                    let only = set.iter().map(of).next().map(|p| {
                        (0u32..).map(DeviceId).zip(&products).filter(|(_, other)| **other == p).map(|(id, _)| id).collect()
                    });
                    let alone = Request { only, ..request.clone() };
                    let alone = policy.decide(&alone, &view).unwrap();
                    prop_assert_eq!(alone.placement(), set);
                }
                Err(refusal) => {
                    prop_assert!(matches!(refusal, Refusal::Infeasible(_)), "{refusal}");
                    prop_assert!(most < Some(ranks), "{}: {refusal}", policy.name());
                }
            }
            // A request that allows unlike devices gets the answer of a machine without names.
            let unnamed = mapa_core::Allocator::new(Arc::new(machine(&vec![None; products.len()], &links)));
            let (any, plain) = (
                policy.decide(&request.clone().unlike(true), &view).map(|d| d.placement().clone()),
                policy.decide(&request, &unnamed.view()).map(|d| d.placement().clone()),
            );
            prop_assert_eq!(any.ok(), plain.ok(), "{}", policy.name());
        }
    }
}

#[test]
fn a_refusal_says_which_products_there_are() {
    let graph = Arc::new(machine(&[Some(0), Some(1), Some(1)], &[0]));
    let allocator = mapa_core::Allocator::new(graph);
    let refused = auto()
        .decide(&Request::new(Pattern::ring(3)), &allocator.view())
        .unwrap_err();
    insta::assert_snapshot!(refused, @"not met: 3 devices of one product: the machine has 1 x product 0, 2 x product 1; a request for unlike devices may mix them");
}

#[test]
fn decisions_made_by_hand_keep_the_rule_but_those_of_devices_in_use() {
    let graph = Arc::new(machine(&[Some(0), Some(1), Some(1)], &[0]));
    let allocator = mapa_core::Allocator::new(graph.clone());
    let view = allocator.view();
    let request = Request::new(Pattern::ring(2));
    let mixed = [DeviceId(0), DeviceId(1)];
    let checked = |request: &Request| Decision::checked("by hand", request, &view, mixed);
    insta::assert_snapshot!(checked(&request).unwrap_err(), @"not met: devices of one product");
    let any = checked(&request.clone().unlike(true)).unwrap();
    assert!(any.answers(&request, &graph).is_err());
    assert!(any.answers(&request.clone().unlike(true), &graph).is_ok());
    assert!(Decision::of_use("running", &request, &view, mixed).is_ok());
}

#[test]
fn the_hosts_own_parts_are_of_no_product() {
    let mut fabric = machine(&[Some(0), Some(1), Some(1)], &[0]).fabric().clone();
    let node = fabric.add_numa("cpu0", 0).unwrap();
    let devices: Vec<_> = fabric.nodes().map(|(id, _)| id).collect();
    for device in devices.into_iter().filter(|id| *id != node) {
        fabric.attach(device, node, 12.0).unwrap();
    }
    let graph = Arc::new(fabric.lower_with_host().unwrap());
    let host = DeviceId(3);
    let allocator = mapa_core::Allocator::new(graph);
    let pattern = Pattern::chain(3).with_demand(2, Demand::numa());
    let decision = auto()
        .decide(&Request::new(pattern), &allocator.view())
        .unwrap();
    assert_eq!(decision.placement().set(), [1, 2, host.0].into());
}
