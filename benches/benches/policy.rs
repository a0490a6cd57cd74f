//! Whole decisions: from a request to a placement with its scores.

use std::hint::black_box;
use std::sync::{Arc, Mutex};

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::mig::Size;
use mapa_core::{
    Allocator, BuiltIn, Demand, DeviceSet, Foresight, HardwareGraph, MachineId, Next, Outlook,
    PCIE_GEN4_GBPS, Patience, Pattern, Policy, Reason, Refusal, Request, View, effective_gbps,
    fewest_warps, least_port_slowdown, packed, preserve_with, preserved_gbps, ring_packing_gbps,
};
use mapa_sched::{Fifo, Fleet};
use mapa_sim::{ByBandwidth, Generator, Simulation};
use mapa_topologies::mig::{self, Offer};
use mapa_topologies::{named, policies};

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

/// Rings of four and of five on the seven free devices of a DGX-1V, under every policy.
fn dgx_1v(c: &mut Criterion) {
    let graph = graph("dgx-1v");
    let free = &graph.all() - &DeviceSet::from([0]);
    for k in [4, 5] {
        let mut group = c.benchmark_group(format!("ring of {k}, 7 free of a DGX-1V"));
        for built_in in BuiltIn::ALL
            .iter()
            .filter(|built_in| !built_in.for_instances)
        {
            let policy = BuiltIn::named(built_in.name).expect("it is built in");
            for sensitive in [true, false] {
                // Only preserve depends on sensitivity.
                if !sensitive && !built_in.name.starts_with("preserve") {
                    continue;
                }
                let request = Request::new(Pattern::ring(k)).sensitive(sensitive);
                let expected = policy
                    .decide(&request, &graph.with_free(&free))
                    .expect("there are enough");
                let name = format!(
                    "{}{}",
                    built_in.name,
                    if sensitive { "" } else { ", insensitive" }
                );
                group.bench_function(name, |b| {
                    b.iter(|| {
                        let decision = policy
                            .decide(black_box(&request), &graph.with_free(&free))
                            .expect("as before");
                        assert_eq!(decision, expected);
                    });
                });
            }
        }
        group.finish();
    }
}

/// Decisions for which the released MAPA needs seconds, such as five devices of sixteen and seven
/// of eight.
fn larger(c: &mut Criterion) {
    let mut group = c.benchmark_group("preserve, sensitive, idle machine");
    // The seven-ring that Eq. 2 prefers has three PCIe hops: four single links and three times 12
    // GB/s.
    for (name, k, gbps) in [
        ("torus-2d", 5, 99.0),
        ("dgx-1v", 7, 136.0),
        ("dgx-2", 8, 1200.0),
    ] {
        let graph = graph(name);
        let free = graph.all();
        let policy = BuiltIn::named("preserve").expect("it is built in");
        let request = Request::new(Pattern::ring(k)).sensitive(true);
        group.bench_function(format!("ring of {k} of {name}"), |b| {
            b.iter(|| {
                let decision = policy
                    .decide(black_box(&request), &graph.with_free(&free))
                    .expect("the machine is idle");
                assert!(decision.search().complete());
                assert_eq!(decision.best().score("aggregate_gbps"), Some(gbps));
            });
        });
    }
    group.finish();
}

/// A machine of the catalogue whose devices are A100-40GB with MIG: each has 18 possible instances.
fn a100s(name: &str) -> HardwareGraph {
    let mut machine = named(name).expect("it is in the catalogue");
    let model = mig::named("a100-40gb")
        .and_then(|gpu| gpu.model(Offer::PLAIN))
        .expect("it is in the catalogue");
    machine.fabric.set_mig(Some(&model));
    machine.graph().expect("as in the catalogue")
}

/// A machine with every device partitioned into seven 1g instances.
fn in_sevenths(graph: Arc<HardwareGraph>, id: MachineId) -> Allocator {
    let mut allocator = Allocator::with_id(id, graph.clone());
    for whole in graph.wholes().iter() {
        let model = graph.model(whole).expect("it can be partitioned");
        let one = model.find("1g").expect("every table has it");
        let layout = model.fit(&[one; 7]).expect("it is the first layout");
        allocator.layout_is(whole, &layout).expect("it is idle");
    }
    allocator
}

/// Eight A100 partitioned into 56 instances, every second of which has a tenant. The graph has 152
/// vertices.
fn instances(c: &mut Criterion) {
    let mut allocator = in_sevenths(Arc::new(a100s("dgx-a100")), MachineId::default());
    let one = Size::new(1, 1);
    let job = Request::new(Pattern::single(Demand::slice(one).pcie_gbps(5.7)));
    let every_other: Vec<_> = allocator.view().present().iter().step_by(2).collect();
    for id in every_other {
        let request = job.clone().must_include([id.0].into());
        allocator
            .allocate(mapa_core::lowest_id(), &request)
            .expect("it is free");
    }
    let mut group = c.benchmark_group("8 A100 in 56 instances, 28 free");
    let mut bench = |name: &str, policy: &dyn Policy, request: &Request| {
        let expected = allocator.view().decide(policy, request);
        group.bench_function(name, |b| {
            b.iter(|| {
                assert_eq!(
                    allocator.view().decide(policy, black_box(request)),
                    expected
                )
            });
        });
        expected
    };
    let decision = bench(
        "least-port-slowdown, one",
        &least_port_slowdown(1.25, PCIE_GEN4_GBPS),
        &job,
    );
    assert_eq!(
        decision.expect("half are free").best().score("slowdown"),
        Some(1.0)
    );
    let task = Request::new(Pattern::single(
        Demand::any().shared().memory(1 << 30).warps(64),
    ));
    assert!(bench("fewest-warps, one task", &fewest_warps(), &task).is_ok());
    let four = Request::new(Pattern::independent(4).each(Demand::slice(one)));
    assert!(bench("packed, four", &packed(), &four).is_ok());
    let large = Request::new(Pattern::single(Demand::slice(Size::new(7, 8))));
    let refused = bench("a refusal: one of seven slices", &fewest_warps(), &large);
    assert!(
        matches!(refused, Err(Refusal::Busy(Reason::InUse { .. }))),
        "every device has tenants"
    );
    group.finish();
}

/// A fleet as Tang et al. simulate one: sixty devices, here fifteen machines of four.
fn fleet(c: &mut Criterion) {
    let mut machine = named("complete:4").expect("a formula");
    let model = mig::named("a100-40gb")
        .and_then(|gpu| gpu.model(Offer::PLAIN))
        .expect("it is in the catalogue");
    machine.fabric.set_mig(Some(&model));
    let graph = Arc::new(machine.graph().expect("as in the catalogue"));
    let mut fleet = Fleet::new(vec![graph.clone(); 15]);
    for machine in (0..15).map(MachineId) {
        for whole in graph.wholes().iter() {
            let layout = in_sevenths(graph.clone(), machine).view().layout_of(whole);
            fleet
                .layout_is(machine, whole, &layout)
                .expect("it is idle");
        }
    }
    let job = Request::new(Pattern::single(
        Demand::slice(Size::new(1, 1)).pcie_gbps(17.65),
    ));
    let policy = least_port_slowdown(1.07, PCIE_GEN4_GBPS);
    let mut group = c.benchmark_group("60 A100 in 420 instances");
    group.bench_function("least-port-slowdown, one, the best of 15 machines", |b| {
        b.iter(|| {
            let decision = fleet
                .decide(&policy, black_box(&job))
                .expect("all are free");
            assert_eq!(decision.stamp().machine, MachineId(0));
        });
    });
    group.finish();
}

/// The policies of vendors' device plugins on sixteen idle devices. The original plugins take up to
/// a minute for these.
fn peers(c: &mut Criterion) {
    for built_in in policies::BUILT_IN {
        for name in ["dgx-2", "cube-mesh-16"] {
            let graph = graph(name);
            let mut group = c.benchmark_group(format!("{}, 16 free of {name}", built_in.name));
            let policy = built_in.policy();
            for k in 1..=16 {
                let request = Request::new(Pattern::independent(k));
                let expected = policy
                    .decide(&request, &graph.with_free(&graph.all()))
                    .expect("the machine is idle");
                group.bench_function(k.to_string(), |b| {
                    b.iter(|| {
                        let decision =
                            policy.decide(black_box(&request), &graph.with_free(&graph.all()));
                        assert_eq!(decision.as_ref(), Ok(&expected));
                    });
                });
            }
            group.finish();
        }
    }
}

/// Decisions on machines under load. 300 jobs arrive at time 0, and each start gives one machine
/// state. One iteration makes a decision in every state.
fn under_load(c: &mut Criterion) {
    for name in ["dgx-1v", "torus-2d", "cube-mesh-16"] {
        let graph = Arc::new(graph(name));
        let workload = Generator::mapa_six().generate(1).expect("a mix");
        for (model, run_times) in [
            (effective_gbps(), ByBandwidth::eq_2()),
            (ring_packing_gbps(), ByBandwidth::ring_packing()),
        ] {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let policy = Foresight::new(model.clone());
            let (placing, seen) = (policy.clone(), asked.clone());
            let mut fifo = Fifo::choosing(move |job, turn| {
                let decision = turn.decide(&placing, &job.request)?;
                seen.lock()
                    .expect("no thread panics")
                    .push((turn.fleet().machines()[0].clone(), job.request.clone()));
                Ok(decision)
            });
            let simulation = Simulation::new(&workload, Fleet::new([graph.clone()]));
            let outcome = simulation
                .run(&mut fifo, &run_times)
                .expect("a workload that fits");
            let asked = std::mem::take(&mut *asked.lock().expect("no thread panics"));
            assert_eq!(asked.len(), outcome.runs.len());
            let patience = Patience::default();
            let preserve = preserve_with(model.clone(), preserved_gbps());
            let mut group =
                c.benchmark_group(format!("decisions under load, {name}, {}", model.name()));
            group.throughput(Throughput::Elements(asked.len() as u64));
            let mut bench = |what: &str, decide: &dyn Fn(&Request, &View<'_>) -> bool| {
                let all = || {
                    asked
                        .iter()
                        .filter(|(machine, request)| decide(request, &machine.view()))
                        .count()
                };
                let expected = all();
                group.bench_function(what, |b| b.iter(|| assert_eq!(black_box(all()), expected)));
            };
            bench("preserve", &|request, view| {
                preserve.decide(request, view).is_ok()
            });
            bench("foresight", &|request, view| {
                policy.decide(request, view).is_ok()
            });
            bench("foresight and patience", &|request, view| {
                let decision = policy.decide(request, view).expect("as before");
                policy
                    .worth_waiting(request, view, &decision, &patience)
                    .is_some()
            });
            let next = |(at, devices)| Next {
                devices,
                sensitive: at % 3 < 2,
                seconds: 10.0,
            };
            let outlook = Outlook {
                next: (0..).zip([3, 2, 5, 1, 4, 2]).map(next).collect(),
                ends: None,
            };
            let expecting = policy.expecting(outlook);
            bench("foresight, six next jobs", &|request, view| {
                expecting.decide(request, view).is_ok()
            });
            group.finish();
        }
    }
}

criterion_group!(benches, dgx_1v, larger, peers, under_load, instances, fleet);
