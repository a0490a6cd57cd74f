//! The controller on a fleet: it throttles whoever copies behind the same port, moves the tenant,
//! and lifts what it has set.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    Demand, DeviceId, Fabric, FabricNode, HardwareGraph, LeaseId, MachineId, NodeKind, Pattern,
    PortId, Request, lowest_id,
};
use mapa_sched::{
    Action, Assignment, Event, Fleet, Job, JobId, JobLimit, Latency, Scheduler, Signals, Tenant,
    Time, step,
};
use mapa_system_slo::replay::{ByReplay, ReplaySettings, SloReplayScheduler};
use mapa_system_slo::{EnabledLevers, Settings, SloScheduler};

use super::settings;

/// Two host bridges with two devices each.
fn machine() -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    for port in 0..2 {
        let name = format!("bridge {port}");
        let bridge = fabric
            .add(FabricNode {
                name,
                kind: NodeKind::HostBridge,
            })
            .unwrap();
        for at in 0..2 {
            let device = fabric.add_device(format!("GPU{}", 2 * port + at)).unwrap();
            fabric.attach(device, bridge, 25.0).unwrap();
        }
    }
    Arc::new(fabric.lower().unwrap())
}

struct Run {
    fleet: Fleet,
    scheduler: Box<dyn Scheduler>,
    told: Vec<(u64, Action)>,
}

impl Run {
    fn new(levers: EnabledLevers) -> Self {
        let own = Settings {
            window: 8,
            dwell: 10,
            ..settings(levers)
        };
        Self::of(Box::new(SloScheduler::new(lowest_id(), own)))
    }

    /// By replay.
    fn by_replay(levers: EnabledLevers) -> Self {
        let own = Settings {
            window: 8,
            dwell: 10,
            ..settings(levers)
        };
        let own = ReplaySettings::new(own).unwrap();
        let scheduler = SloReplayScheduler::new(lowest_id(), own, ByReplay::TRANSFER);
        Self::of(Box::new(scheduler.unwrap()))
    }

    fn of(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            fleet: Fleet::new([machine()]),
            scheduler,
            told: Vec::new(),
        }
    }

    /// One instant at a second; wake-ups that were ordered for it are told too.
    fn at(&mut self, second: u64, events: Vec<Event>) {
        let woken = self.told.iter().filter_map(|pair| match pair.1 {
            Action::Wake { at, token } if at.0 == second * 1_000_000_000 => {
                Some(Event::Woken(token))
            }
            _ => None,
        });
        let events: Vec<Event> = events.into_iter().chain(woken.take(1)).collect();
        let mut orders = Vec::new();
        let now = Time(second * 1_000_000_000);
        step(
            &mut *self.scheduler,
            &mut self.fleet,
            now,
            events,
            &mut orders,
        )
        .unwrap();
        self.told
            .extend(orders.into_iter().map(|order| (second, order)));
    }

    fn orders(&self, of: impl Fn(&Action) -> bool) -> Vec<(u64, Action)> {
        self.told
            .iter()
            .filter(|pair| of(&pair.1))
            .cloned()
            .collect()
    }
}

fn job(id: u64, pcie_mb_s: u32, slo_ms: Option<u64>) -> Event {
    let demand = Demand {
        pcie_mb_s,
        ..Demand::default()
    };
    let pattern = Pattern::ring(1).with_demand(0, demand);
    let mut job = Job::new(JobId(id), Request::new(pattern));
    job.slo = slo_ms.map(Duration::from_millis);
    Event::Arrived(job)
}

fn signals() -> Event {
    Event::Signals(Signals {
        machine: MachineId(0),
        pcie_mb_s: BTreeMap::from([(PortId(0), 20_000)]),
        ..Signals::default()
    })
}

fn slow(ms: u64) -> Event {
    Event::Latency(Latency {
        tenant: Tenant::Job(JobId(1)),
        took: Duration::from_millis(ms),
    })
}

#[test]
fn it_throttles_then_moves_and_lifts() {
    let mut run = Run::new(EnabledLevers::ALL);
    run.at(0, vec![job(1, 0, Some(15)), job(2, 12_000, None)]);
    for second in 1..60 {
        run.at(second, vec![signals(), slow(25), slow(26)]);
    }
    let throttles = run.orders(|action| {
        matches!(
            action,
            Action::Throttle {
                job: JobId(2),
                guard: JobLimit::PcieMbPerS(Some(500))
            }
        )
    });
    let moves = run.orders(|action| matches!(action, Action::Move { .. }));
    assert!(
        !throttles.is_empty() && throttles[0].0 < moves[0].0,
        "{throttles:?} {moves:?}"
    );
    let Action::Move { tenant, at } = &moves[0].1 else {
        panic!()
    };
    assert_eq!(
        (*tenant, at.placement.set().iter().next()),
        (Tenant::Job(JobId(1)), Some(DeviceId(2)))
    );
    let lifted = run.orders(|action| {
        matches!(
            action,
            Action::Throttle {
                job: JobId(2),
                guard: JobLimit::PcieMbPerS(None)
            }
        )
    });
    assert!(lifted[0].0 - throttles[0].0 <= 30, "{lifted:?}");
    assert!(
        !run.orders(|action| matches!(
            action,
            Action::Throttle {
                guard: JobLimit::AvoidInterruptCores(true),
                ..
            }
        ))
        .is_empty()
    );
}

#[test]
fn without_signals_nothing_is_ordered() {
    let mut run = Run::new(EnabledLevers::ALL);
    run.at(0, vec![job(1, 0, Some(15)), job(2, 12_000, None)]);
    for second in 1..60 {
        run.at(second, vec![slow(25), slow(26)]);
    }
    assert!(
        run.orders(|action| matches!(action, Action::Throttle { .. } | Action::Move { .. }))
            .is_empty()
    );
}

#[test]
fn throttles_end_with_the_job_they_protect() {
    let mut run = Run::new(EnabledLevers::GUARDS);
    run.at(0, vec![job(1, 0, Some(15)), job(2, 12_000, None)]);
    for second in 1..12 {
        run.at(second, vec![signals(), slow(25), slow(26)]);
    }
    let on = |action: &Action| {
        matches!(
            action,
            Action::Throttle {
                guard: JobLimit::PcieMbPerS(Some(_)),
                ..
            }
        )
    };
    assert_eq!(run.orders(on).len(), 1);
    run.at(12, vec![Event::Finished(JobId(1))]);
    let off = run.orders(|action| {
        matches!(
            action,
            Action::Throttle {
                job: JobId(2),
                guard: JobLimit::PcieMbPerS(None)
            }
        )
    });
    assert_eq!(off.len(), 1);
    assert_eq!(off[0].0, 12);
    assert!(run.scheduler.name().starts_with("slo"));
}

/// A job that is adopted with a promise is guarded, and its neighbour throttled, as if both had come.
fn adopted(id: u64, device: u32, pcie_mb_s: u32, slo_ms: Option<u64>) -> Event {
    let Event::Arrived(job) = job(id, pcie_mb_s, slo_ms) else {
        unreachable!();
    };
    Event::Adopted {
        job,
        at: Assignment {
            machine: MachineId(0),
            lease: LeaseId::default(),
            placement: [DeviceId(device)].into_iter().collect(),
            rest: Vec::new(),
        },
        since: Time::ZERO,
    }
}

fn is_throttle(own: &Action) -> bool {
    let guard = |guard: &JobLimit| matches!(guard, JobLimit::BlockIoMbPerS(Some(500)));
    matches!(own, Action::Throttle { job: JobId(2), guard: own } if guard(own))
}

#[test]
fn by_replay_a_neighbour_is_throttled_in_the_first_tick() {
    let mut run = Run::by_replay(EnabledLevers::ALL);
    run.at(
        0,
        vec![adopted(1, 0, 0, Some(15)), adopted(2, 1, 12_000, None)],
    );
    for second in 1..10 {
        run.at(second, vec![signals(), slow(20)]);
    }
    let throttles = run.orders(is_throttle);
    assert_eq!(throttles.len(), 1);
    assert!(throttles[0].0 <= 2, "{throttles:?}");
}

/// Half of a request is taken as its transfer, which the neighbour doubles: 20 ms beside it are 13.3
/// alone, below the promise; 30 ms are 20 alone, above it wherever the job is.
#[test]
fn by_replay_a_job_moves_only_where_that_keeps_its_promise() {
    for (took, is_moved) in [(20, true), (30, false)] {
        let mut run = Run::by_replay(EnabledLevers::PLACEMENT);
        run.at(
            0,
            vec![adopted(1, 0, 0, Some(15)), adopted(2, 1, 12_000, None)],
        );
        for second in 1..40 {
            run.at(second, vec![signals(), slow(took)]);
        }
        let moves = run.orders(|action| matches!(action, Action::Move { .. }));
        assert_eq!(!moves.is_empty(), is_moved, "{took} ms: {moves:?}");
        for (_, action) in &moves {
            let Action::Move { at, .. } = action else {
                unreachable!();
            };
            assert!(at.placement.set().iter().all(|id| id.0 >= 2), "{moves:?}");
        }
    }
}

#[test]
fn the_paper_s_controller_guards_whoever_is_adopted() {
    let mut run = Run::new(EnabledLevers::GUARDS);
    run.at(
        0,
        vec![adopted(1, 0, 0, Some(15)), adopted(2, 1, 12_000, None)],
    );
    for second in 1..12 {
        run.at(second, vec![signals(), slow(25), slow(26)]);
    }
    assert_eq!(run.orders(is_throttle).len(), 1);
}

#[test]
fn a_share_of_transfer_that_is_none_is_refused() {
    let own = ReplaySettings::new(settings(EnabledLevers::ALL)).unwrap();
    let error = SloReplayScheduler::new(lowest_id(), own, 1.5).unwrap_err();
    assert!(
        error.to_string().contains("transfer=1.5: expected 0 to 1"),
        "{error}"
    );
}
