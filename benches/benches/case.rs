//! Task decisions of the manager of shared instances: 12 processes for each of 100 and of 1,000
//! instances of A30s, whose tasks begin and end one after another. The paper calls the cost
//! quadratic; by tasks and instances it is their product, and tasks of bound processes cost less.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group};
use mapa_core::{
    Demand, DeviceId, DeviceInfo, Fabric, FabricNode, MachineId, NodeKind, Pattern, Request,
    lowest_id,
};
use mapa_sched::{Action, Event, Fleet, Job, JobId, TaskId, Tenant, Time, step};
use mapa_system_case::{Case, CaseSettings, ProcessBinding};
use mapa_topologies::mig::{Offer, named};

/// Machines of five A30s, each in four instances.
fn fleet(machines: u32) -> Fleet {
    let model = named("a30")
        .and_then(|gpu| gpu.model(Offer::PLAIN))
        .expect("a table");
    let mut fabric = Fabric::new();
    for id in 0..5 {
        let info = DeviceInfo {
            memory_bytes: Some(24 << 30),
            mig: Some(model.clone()),
            ..DeviceInfo::default()
        };
        let kind = NodeKind::Device(info);
        let name = format!("GPU{id}");
        fabric.add(FabricNode { name, kind }).expect("a new name");
    }
    let graph = Arc::new(fabric.lower().expect("a machine"));
    let mut fleet = Fleet::new((0..machines).map(|_| graph.clone()));
    let layout = model
        .fit(&[model.find("1g").expect("a profile"); 4])
        .expect("a layout");
    for machine in 0..machines {
        for id in 0..5 {
            fleet
                .layout_is(MachineId(machine), DeviceId(id), &layout)
                .expect("a legal layout");
        }
    }
    fleet
}

fn request(bytes: u64) -> Request {
    Request::new(Pattern::single(
        Demand::any().shared().memory(bytes).warps(1),
    ))
}

/// A manager whose processes are launched.
fn launched(fleet: &mut Fleet, count: u64, binding: ProcessBinding) -> Case {
    let settings = CaseSettings {
        binding,
        ..CaseSettings::CORRECTED
    };
    let mut case = Case::new(settings, lowest_id());
    let job = |id| Event::Arrived(Job::new(JobId(id), request(1_000_000_000)));
    let mut orders = Vec::new();
    step(
        &mut case,
        fleet,
        Time::ZERO,
        (0..count).map(job),
        &mut orders,
    )
    .expect("good events");
    case
}

/// A task of each process begins, then each ends; returns how many were placed.
fn round(case: &mut Case, fleet: &mut Fleet, count: u64) -> usize {
    let mut orders = Vec::new();
    for id in 0..count {
        let (job, task) = (JobId(id), TaskId(0));
        let request = request(500_000_000 + id % 7 * 100_000_000);
        let begin = Event::TaskBegin { job, task, request };
        step(case, fleet, Time(id), [begin], &mut orders).expect("good events");
    }
    for id in 0..count {
        let (job, task) = (JobId(id), TaskId(0));
        let end = Event::TaskEnd { job, task };
        step(case, fleet, Time(count + id), [end], &mut orders).expect("good events");
    }
    let is_task = |action: &&Action| {
        matches!(
            action,
            Action::Place {
                tenant: Tenant::Task(..),
                ..
            }
        )
    };
    orders.iter().filter(is_task).count()
}

fn decisions(c: &mut Criterion) {
    for (name, binding) in [
        ("bound", ProcessBinding::Once),
        ("free", ProcessBinding::Free),
    ] {
        let mut group = c.benchmark_group(format!("CASE, processes {name}, a task of each"));
        group.sample_size(10);
        for machines in [5, 50] {
            // Three for each instance, so that every task finds room at once.
            let count = u64::from(machines) * 20 * 3;
            let mut fleet = fleet(machines);
            let case = launched(&mut fleet, count, binding);
            let name = format!("{count} tasks on {} instances", machines * 20);
            assert_eq!(case.workers() as u64, count, "all are launched");
            let case = std::cell::RefCell::new(case);
            group.bench_function(name, |b| {
                b.iter_batched(
                    || fleet.clone(),
                    |mut fleet| {
                        let placed = round(&mut case.borrow_mut(), &mut fleet, count);
                        assert_eq!(placed as u64, count, "every task has a place");
                        black_box(fleet)
                    },
                    BatchSize::LargeInput,
                );
            });
        }
        group.finish();
    }
}

criterion_group!(benches, decisions);
