//! Records of daemons: every event and order is what it was after it was written and read, and a
//! record that was changed is found out.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::{
    Demand, DeviceId, LeaseId, MachineId, Pattern, PortId, Reason, Refusal, Request, SearchStats,
    mig,
};
use mapa_front::drive_log::{
    ActionLine, EventLine, RECORD_VERSION, RecordHead, RecordLine, Replayer, TurnLine, replay,
};
use mapa_front::{Files, MachineSpec, Names};
use mapa_sched::{
    Action, Assignment, Event, Job, JobId, JobLimit, Latency, RunTime, Signals, TaskId, Tenant,
    Time, Token,
};
use proptest::prelude::*;

use super::common::InMemory;

fn head(scheduler: &str) -> RecordHead {
    let loaded = MachineSpec::named("dgx-a100")
        .load(&InMemory::default(), &mut |_| {})
        .unwrap();
    RecordHead {
        version: RECORD_VERSION,
        release: "0".to_owned(),
        scheduler: scheduler.into(),
        policy: "preserve".parse().unwrap(),
        execution: "effective-bandwidth".into(),
        machine: loaded.machine.to_toml().unwrap(),
        changes: MachineSpec::default(),
        began: 0,
    }
}

fn place(devices: &[u32]) -> Assignment {
    Assignment {
        machine: MachineId(0),
        lease: LeaseId(7),
        placement: devices.iter().copied().map(DeviceId).collect(),
        rest: Vec::new(),
    }
}

prop_compose! {
    fn jobs()(
        id in 0..u64::MAX,
        k in 1..8usize,
        kind in 0..5u8,
        traffic in 1e-6..1e12f64,
        memory in 0..u64::MAX,
        flags in 0..32u8,
        ns in 0..u64::MAX,
        ids in proptest::collection::btree_set(0..8u32, 0..4),
    ) -> Job {
        let demand = match kind {
            0 => Demand::whole(),
            1 => Demand::slice(mig::Size::new(1, 2)),
            2 => Demand::at_least(mig::Size::new(2, 2)).shared(),
            3 => Demand::any().warps(9),
            _ => Demand::profile(mig::ProfileId(3)).pcie_gbps(1.5),
        };
        let edges = (1..k).map(|rank| (0, rank as u16, traffic));
        let mut pattern = Pattern::from_edges(k, edges).unwrap();
        for rank in 0..k {
            pattern = pattern.with_demand(rank, demand.memory(memory));
        }
        let mut request = Request::new(pattern).same_numa(flags & 1 > 0).runners_up(2);
        if flags & 2 > 0 {
            request = request.sensitive(flags & 4 > 0).avoid(ids.iter().copied().map(DeviceId).collect());
        }
        if flags & 4 > 0 {
            request = request.only(ids.iter().copied().map(DeviceId).collect());
            request.min_link = mapa_core::LinkClass::Direct(flags);
        }
        let mut job = Job::new(JobId(id), request);
        job.arrived = Time(ns / 3);
        job.run_time = match flags % 3 {
            0 => RunTime::Unknown,
            1 => RunTime::Fixed(Duration::from_nanos(ns)),
            _ => RunTime::BySize(BTreeMap::from([(mig::Size::new(1, 1), Duration::from_nanos(ns))])),
        };
        job.deadline = (flags & 8 > 0).then_some(Time(ns));
        job.slo = (flags & 16 > 0).then(|| Duration::from_nanos(ns));
        job.isolated = flags & 1 > 0;
        job.pcie_alpha = traffic;
        job
    }
}

/// An event of every kind.
fn events(job: &Job) -> Vec<Event> {
    let whole = DeviceId(3);
    let machine = MachineId(0);
    let failed = |order| Event::ActionFailed {
        order,
        why: "it \"failed\"\n".to_owned(),
    };
    let tenant = Tenant::Task(JobId(1), TaskId(2));
    let layout = mig::Layout::whole();
    vec![
        Event::Arrived(job.clone()),
        Event::Finished(job.id),
        Event::Failed(job.id),
        Event::Cancelled(job.id),
        Event::TaskBegin {
            job: job.id,
            task: TaskId(1),
            request: job.request.clone(),
        },
        Event::TaskEnd {
            job: job.id,
            task: TaskId(1),
        },
        Event::LayoutIs {
            machine,
            whole,
            layout: layout.clone(),
        },
        Event::Cordoned {
            machine,
            whole: None,
            cordoned: true,
        },
        Event::Occupied {
            machine,
            whole,
            occupied: true,
        },
        Event::Health {
            machine,
            whole,
            trouble: Some("Xid 79".to_owned()),
        },
        Event::Adopted {
            job: job.clone(),
            at: place(&[1, 0]),
            since: Time(5),
        },
        failed(Action::Place {
            tenant,
            at: place(&[2]),
        }),
        failed(Action::Move {
            tenant: Tenant::Job(job.id),
            at: place(&[2]),
        }),
        failed(Action::Suspend { tenant }),
        failed(Action::Launch { job: job.id }),
        failed(Action::Repartition {
            machine,
            whole,
            layout,
        }),
        failed(Action::Throttle {
            job: job.id,
            guard: JobLimit::MpsPercent(Some(50)),
        }),
        failed(Action::Throttle {
            job: job.id,
            guard: JobLimit::AvoidInterruptCores(true),
        }),
        failed(Action::Wake {
            at: Time(9),
            token: Token(3),
        }),
        failed(Action::Reject {
            job: job.id,
            why: Refusal::Infeasible(Reason::Rule("so".into())),
        }),
        failed(Action::Reject {
            job: job.id,
            why: Refusal::Busy(Reason::Rule("so".into())),
        }),
        failed(Action::Reject {
            job: job.id,
            why: Refusal::LimitReached(SearchStats::default()),
        }),
        Event::Progress {
            job: job.id,
            share: 0.1 + 0.2,
        },
        Event::Latency(Latency {
            tenant,
            took: Duration::from_nanos(17),
        }),
        Event::Signals(Signals {
            machine,
            block_io_mb_s: BTreeMap::from([(0, 1)]),
            interrupts: BTreeMap::from([(1, 2)]),
            pcie_mb_s: BTreeMap::from([(PortId(3), 4)]),
        }),
        Event::Woken(Token(u64::MAX)),
    ]
}

/// Why a job is rejected, if that is the order that has failed.
fn rejected(event: &Event) -> Option<&Refusal> {
    match event {
        Event::ActionFailed {
            order: Action::Reject { why, .. },
            ..
        } => Some(why),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..mapa_core::testing::cases(64) })]

    #[test]
    fn events_and_actions_survive_writing_and_reading(job in jobs()) {
        let loaded = MachineSpec::named("dgx-a100").load(&InMemory::default(), &mut |_| {}).unwrap();
        for event in events(&job) {
            let written = serde_json::to_string(&EventLine::of(&event).unwrap()).unwrap();
            let read: EventLine = serde_json::from_str(&written).unwrap();
            let again = read.event(loaded.graph()).unwrap();
            match (rejected(&again), rejected(&event)) {
                // The reason of a rejection is kept as its text.
                (Some(again), Some(why)) => prop_assert_eq!(again.kind(), why.kind()),
                _ => prop_assert_eq!(&again, &event),
            }
        }
    }
}

/// A record of some jobs under a scheduler.
fn record(scheduler: &str) -> Vec<RecordLine> {
    let head = head(scheduler);
    let mut now = Replayer::new(&head, &Names::built_in(), &InMemory::default()).unwrap();
    let mut lines = vec![RecordLine::Head(Box::new(head))];
    for at in 0..40u64 {
        let mut job = Job::new(JobId(at), Request::new(Pattern::ring(1 + at as usize % 5)));
        job.arrived = Time(at);
        let mut events = vec![EventLine::of(&Event::Arrived(job)).unwrap()];
        if at > 10 {
            events.push(EventLine::Finished { job: at - 11 });
        }
        let mut turn = TurnLine {
            now: at,
            events,
            actions: Vec::new(),
        };
        turn.actions = now.turn(&turn).unwrap();
        lines.push(RecordLine::Turn(turn));
    }
    lines
}

fn text(lines: &[RecordLine]) -> String {
    let line = |record_line: &RecordLine| serde_json::to_string(record_line).unwrap() + "\n";
    lines.iter().map(line).collect()
}

#[test]
fn replayed_record_gives_the_same_actions_unless_it_was_changed() {
    let names = Names::built_in();
    let mut lines = record("easy-backfill");
    let files: &dyn Files = &InMemory::default();
    let done = replay(text(&lines).as_bytes(), &names, files).unwrap();
    assert_eq!((done.differ, done.turns), (0, 40));
    assert!(done.actions > 20, "{done:?}");

    // Two daemons, one after the other; the second was killed while it wrote.
    let twice = text(&lines) + &text(&lines);
    let done = replay(&twice.as_bytes()[..twice.len() - 9], &names, files).unwrap();
    assert_eq!((done.daemons, done.differ, done.turns), (2, 0, 79));
    assert!(done.is_cut_off);

    let RecordLine::Turn(first) = &mut lines[1] else {
        panic!("expected a turn");
    };
    let Some(ActionLine::Place { at, .. }) = first.actions.first_mut() else {
        panic!("expected a placement: {first:?}");
    };
    at.devices = [DeviceId(7)].into_iter().collect();
    let done = replay(text(&lines).as_bytes(), &names, files).unwrap();
    assert_eq!((done.differ, done.differs[0].line), (1, 2));
}

#[test]
fn malformed_record_is_an_error_with_its_line() {
    let names = Names::built_in();
    let error = |text: &str| {
        let replayed = replay(text.as_bytes(), &names, &InMemory::default());
        replayed.unwrap_err().to_string()
    };
    insta::assert_snapshot!(error(""), @"an empty record: expected a head");
    insta::assert_snapshot!(error("{}\n"), @"line 1: missing field `line` at line 1 column 2");
    insta::assert_snapshot!(
        error("{\"line\":\"turn\",\"is\":{\"now\":0,\"events\":[],\"actions\":[]}}\n"),
        @"line 1: a turn: expected the head of the record"
    );
    // A device, or a file without lines.
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let replayed = replay(endless, &names, &InMemory::default());
    insta::assert_snapshot!(replayed.unwrap_err(), @"line 1: it is longer than 256 MiB: expected a record");
    let mut later = head("fifo");
    later.version = 9;
    let text = text(&[RecordLine::Head(Box::new(later))]);
    insta::assert_snapshot!(error(&text), @"line 1: version 9: expected 2");
    let unknown = self::text(&[RecordLine::Head(Box::new(head("fifa")))]);
    // The names that follow are also of systems that are built in.
    insta::assert_snapshot!(
        error(&unknown).split(", ").next().unwrap(),
        @"line 1: no scheduler is called `fifa` (did you mean fifo?): expected fifo"
    );
}
