//! Partitioning one device: building the model from a table, and the queries that an arrival or
//! departure needs.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group};
use mapa_core::mig::{Model, ProfileId};
use mapa_core::{
    Allocator, Demand, DeviceId, Pattern, Policy, Request, distributed, packed, preserve,
};
use mapa_topologies::mig::{Gpu, Offer, named};

fn gpu(name: &str) -> Gpu {
    named(name).expect("it is in the catalogue")
}

fn find<const N: usize>(model: &Model, names: [&str; N]) -> [ProfileId; N] {
    names.map(|name| model.find(name).expect("it is offered"))
}

fn tables(c: &mut Criterion) {
    let mut group = c.benchmark_group("model of a table");
    for (name, offer, what, legal) in [
        ("a100-40gb", Offer::PLAIN, "plain", 297),
        ("a100-40gb", Offer::ALL, "all", 2318),
        ("rtx-pro-6000", Offer::ALL, "all", 1248),
    ] {
        let gpu = gpu(name);
        group.bench_function(format!("{name}, {what} profiles"), |b| {
            b.iter(|| {
                assert_eq!(
                    black_box(&gpu)
                        .model(offer)
                        .expect("as before")
                        .layouts()
                        .len(),
                    legal
                )
            });
        });
    }
    group.finish();
}

/// Queries on a device with two badly placed `1g` instances in use and an idle `2g`.
fn questions(c: &mut Criterion) {
    for (offer, what) in [(Offer::PLAIN, "plain"), (Offer::ALL, "all")] {
        let model = gpu("a100-40gb").model(offer).expect("the table is sound");
        let [one, two, three, four] = find(&model, ["1g", "2g", "3g", "4g"]);
        let at = |start, profile| mapa_core::mig::Instance { start, profile };
        let busy = [at(2, one), at(6, one)];
        let now = model
            .layout(&[busy[0], busy[1], at(0, two)])
            .expect("they do not overlap");
        let mut group = c.benchmark_group(format!("an A100 with {what} profiles"));
        group.bench_function("fit 3g 2g 1g 1g", |b| {
            let wanted = [three, two, one, one];
            b.iter(|| assert!(model.fit(black_box(&wanted)).is_some()));
        });
        group.bench_function("fit 3g 3g 1g: refused", |b| {
            let wanted = [three, three, one];
            b.iter(|| assert!(model.fit(black_box(&wanted)).is_none()));
        });
        group.bench_function("best layout", |b| {
            let expected = model
                .layout(&[busy[0], busy[1], at(0, two), at(4, two)])
                .expect("they do not overlap");
            b.iter(|| {
                let best = model
                    .best_layout(black_box(&now), &busy, &[two, two, four])
                    .expect("the tenants are there");
                assert_eq!(best, expected);
            });
        });
        group.bench_function("create", |b| {
            b.iter(|| {
                assert_eq!(
                    model.create(black_box(&now), two).expect("there is room").1,
                    at(4, two)
                )
            });
        });
        group.bench_function("fragmentation", |b| {
            let tenants = model.layout(&busy).expect("they do not overlap");
            let expected = model
                .fragmentation(&tenants)
                .expect("it is a layout of this model");
            assert!(expected > 0.2);
            b.iter(|| {
                assert_eq!(
                    model.fragmentation(black_box(&tenants)).expect("as before"),
                    expected
                )
            });
        });
        group.finish();
    }
}

/// Sixteen servers of eight devices, each partitioned into seven instances: 896 to choose from.
fn decisions(c: &mut Criterion) {
    let machine = mapa_topologies::named("fleet:16xdgx-a100")
        .and_then(|machine| machine.with_mig("a100-40gb"))
        .expect("it is in the catalogue");
    let mut allocator = Allocator::new(Arc::new(machine.graph().expect("it is small enough")));
    let model = allocator.graph().model(DeviceId(0)).cloned();
    let model = model.expect("it can be partitioned");
    let [one] = find(&model, ["1g"]);
    let layout = model.fit(&[one; 7]).expect("seven fit");
    for whole in allocator.graph().wholes().iter() {
        allocator.layout_is(whole, &layout).expect("it is idle");
    }
    let ring = Pattern::ring(8).each(Demand::slice(model.profiles()[usize::from(one.0)].size));
    let request = Request::new(ring).sensitive(false);
    let mut group = c.benchmark_group("8 x 1g of 896 instances");
    let policies: [(&dyn Policy, usize); 3] =
        [(&preserve(), 2), (&packed(), 2), (&distributed(), 8)];
    for (policy, devices) in policies {
        group.bench_function(policy.name(), |b| {
            b.iter(|| {
                let decision = policy.decide(black_box(&request), &allocator.view());
                let decision = decision.expect("there is room");
                assert!(decision.search().complete());
                let parent = |&id: &DeviceId| allocator.graph().device(id).parent;
                let used: std::collections::BTreeSet<DeviceId> =
                    decision.placement().iter().map(parent).collect();
                assert_eq!(used.len(), devices);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, tables, questions, decisions);
