//! A program that depends on `mapa` alone finds what it needs, under one name.

use std::sync::Arc;

use mapa::{
    Allocator, DeviceSet, Pattern, Policy, Request, greedy, named, read, ring_packing_gbps,
};

/// `nvidia-smi topo -m` of four GPUs: two pairs with NVLinks.
const PAIRS: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n\
                     GPU0\t X \tNV2\tSYS\tSYS\t0-7\n\
                     GPU1\tNV2\t X \tSYS\tSYS\t0-7\n\
                     GPU2\tSYS\tSYS\t X \tNV2\t8-15\n\
                     GPU3\tSYS\tSYS\tNV2\t X \t8-15\n";

#[test]
fn a_pasted_machine_is_read_and_a_job_gets_a_pair() {
    let machine = read(PAIRS.as_bytes()).unwrap().into_machine().unwrap();
    let mut allocator = Allocator::new(Arc::new(machine.graph().unwrap()));
    let job = Request::new(Pattern::ring(2)).avoid(DeviceSet::from([0]));
    let lease = allocator.allocate(greedy(), &job).unwrap();
    assert_eq!(lease.placement.set(), DeviceSet::from([2, 3]));
    allocator.release(lease.id).unwrap();
    assert_eq!(allocator.view().free().len(), 4);
}

#[test]
fn a_policy_of_ones_own_is_made_of_re_exported_parts() {
    let graph = named("dgx-1v").unwrap().graph().unwrap();
    let all = graph.all();
    let best =
        mapa::core::Rules::new("most-rings").prefer(mapa::criteria::max(ring_packing_gbps()));
    let job = Request::new(Pattern::ring(4));
    let decision = best.decide(&job, &graph.with_free(&all)).unwrap();
    assert_eq!(decision.policy(), "most-rings");
    let same = mapa::max_bandwidth()
        .decide(&job, &graph.with_free(&all))
        .unwrap();
    assert_eq!(
        decision.best().score("ring_packing_gbps"),
        same.best().score("ring_packing_gbps")
    );
}
