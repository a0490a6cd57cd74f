//! The manager alone, driven by random requests and restarts. After each the table is counted anew.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;

use mapa_case::message::{Op, Reply, Request, Status, flags};
use mapa_node::{Processes, TaskFile, read_task_records};
use mapa_sched::Time;
use mapa_system_case::{CaseSettings, ContextMemory};
use mapa_system_case_manager::{
    CONTEXT, ClientProcess, Instances, Manager, Settings, SharedInstance,
};
use proptest::collection::vec;
use proptest::prelude::*;

const UNIT: u64 = 100_000_000;

/// The instance of this number, counted from 0: of one slice, two, three, one again.
fn instance(at: u8, tenths: u64) -> SharedInstance {
    SharedInstance {
        cuda_visible_devices: format!("MIG-{at}"),
        memory: tenths * UNIT,
        device: String::new(),
        mig_instance: String::new(),
        slices: NonZeroU8::new(at % 3 + 1),
        gpu_slices: 4,
        mps: String::new(),
    }
}

/// A manager in a folder, and what it has answered.
struct World {
    folder: tempfile::TempDir,
    processes: Processes,
    memory: Vec<u64>,
    rule: CaseSettings,
    manager: Manager,
    peers: Vec<ClientProcess>,
    now: u64,
    answered: Vec<(u64, Reply)>,
    clients: Clients,
}

/// The replies that the processes have got, without a query of the manager.
#[derive(Default)]
struct Clients {
    /// What they hold: session, task and call.
    held: BTreeSet<(u64, u64, u64)>,
    /// Whose each session is.
    peers: BTreeMap<u64, usize>,
    /// Grants that they have heard of, which a repeated call hears of again. A manager that is started
    /// anew has forgotten them.
    heard: BTreeSet<(u64, u64, u64, Op)>,
}

impl Clients {
    fn hear(&mut self, session: u64, reply: &Reply) {
        let Some(op) = reply.op.filter(|_| reply.status == Status::Done) else {
            return;
        };
        match op {
            Op::Begin | Op::Extend if self.heard.insert((session, reply.task, reply.seq, op)) => {
                self.held.insert((session, reply.task, reply.seq));
            }
            Op::End => self
                .held
                .retain(|row| (row.0, row.1) != (session, reply.task)),
            Op::Destroy => self.held.retain(|row| row.0 != session),
            _ => {}
        }
    }

    fn die(&mut self, peer: usize) {
        let peers = &self.peers;
        let is_of = |session: u64| peers.get(&session) == Some(&peer);
        self.held.retain(|row| !is_of(row.0));
        self.heard.retain(|row| !is_of(row.0));
        self.peers.retain(|_, number| *number != peer);
    }
}

impl World {
    fn new(memory: &[u64], rule: CaseSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let processes = Processes::new().unwrap();
        let own = processes.own().unwrap();
        // All live, as this process does; they differ by their users.
        let peers = (0..4)
            .map(|uid| ClientProcess {
                pid: own.id.pid,
                start: own.id.start,
                uid,
            })
            .collect();
        let manager = Self::start(&folder, &processes, memory, rule).unwrap();
        Self {
            folder,
            processes,
            memory: memory.to_vec(),
            rule,
            manager,
            peers,
            now: 0,
            answered: Vec::new(),
            clients: Clients::default(),
        }
    }

    fn start(
        folder: &tempfile::TempDir,
        processes: &Processes,
        memory: &[u64],
        rule: CaseSettings,
    ) -> Result<Manager, mapa_node::Error> {
        let list = (0..).zip(memory);
        let list = list.map(|(at, &tenths)| instance(at, tenths));
        let entries = TaskFile::open(&folder.path().join("tasks"), processes)?;
        let instances = Instances::new(list.collect())?;
        Manager::new(instances, rule, Settings::default(), entries)
    }

    /// What a context takes on an instance, by its number.
    fn context(&self, number: u64) -> u64 {
        let own = self.rule.context;
        own.base_bytes + own.device_bytes * ((number - 1) % 3 + 1) / 4
    }

    fn restart(&mut self) {
        let made = Self::start(&self.folder, &self.processes, &self.memory, self.rule);
        self.manager = made.unwrap();
        self.clients.heard.clear();
    }

    fn ask(&mut self, peer: usize, request: Request) {
        self.now += 1_000_000;
        let before = self.answered.len();
        let (now, of) = (Time(self.now), self.peers[peer]);
        self.manager.ask(now, of, &request, &mut self.answered);
        if self.manager.owns(of, request.session) {
            self.clients.peers.insert(request.session, peer);
        }
        for (session, reply) in &self.answered[before..] {
            // A stranger is told that there is no such session.
            self.clients.hear(*session, reply);
        }
    }

    fn die(&mut self, peer: usize) {
        self.clients.die(peer);
        let before = self.answered.len();
        let (now, of) = (Time(self.now), self.peers[peer]);
        self.manager.died(now, of, &mut self.answered);
        for (session, reply) in &self.answered[before..] {
            self.clients.hear(*session, reply);
        }
    }

    /// The answer to the last request, if there was one.
    fn answer(&mut self, peer: usize, request: Request) -> Option<Status> {
        self.answered.clear();
        self.ask(peer, request);
        self.said(request.session, request.seq)
    }

    fn said(&self, session: u64, seq: u64) -> Option<Status> {
        let mut own = self.answered.iter();
        own.find(|(id, reply)| *id == session && reply.seq == seq)
            .map(|(_, reply)| reply.status)
    }

    /// Counts the file of entries, without the manager.
    fn check(&self) {
        let bytes = std::fs::read(self.folder.path().join("tasks")).unwrap();
        let all = read_task_records(&bytes, self.processes.boot()).unwrap();
        let all = all.unwrap_or_default();
        let mut bytes: BTreeMap<u64, u64> = BTreeMap::new();
        let mut alone: BTreeSet<u64> = BTreeSet::new();
        let mut tasks: BTreeSet<u64> = BTreeSet::new();
        let mut held = BTreeSet::new();
        for (_, entry) in &all {
            if entry.is_session && entry.flags & flags::ISOLATED != 0 {
                assert!(alone.insert(entry.instance), "two isolated jobs: {all:?}");
            } else if entry.is_session {
                if entry.instance > 0 {
                    *bytes.entry(entry.instance).or_default() += self.context(entry.instance);
                }
            } else {
                tasks.insert(entry.instance);
                held.insert((entry.session, entry.task, entry.seq));
                *bytes.entry(entry.instance).or_default() += entry.bytes;
                let mut sessions = all.iter().filter(|(_, other)| other.is_session);
                assert!(
                    sessions.any(|(_, other)| other.session == entry.session
                        && other.instance == entry.instance),
                    "{entry:?} is not where its process is"
                );
            }
        }
        assert!(
            alone.is_disjoint(&tasks),
            "a task beside an isolated job: {all:?}"
        );
        for (instance, used) in bytes {
            let capacity = self.memory[instance as usize - 1] * UNIT;
            assert!(
                used <= capacity,
                "instance {instance}: {used} of {capacity}"
            );
        }
        // What was granted to those who live, and not given back, is theirs.
        assert_eq!(held, self.clients.held);
        let table: u64 = all
            .iter()
            .filter(|pair| !pair.1.is_session)
            .map(|pair| pair.1.bytes)
            .sum();
        let held: u64 = self.manager.held().iter().map(|row| row.0).sum();
        let isolated = self.manager.held().iter().filter(|row| row.2).count();
        assert_eq!(isolated, alone.len());
        // An isolated job has all of its instance, whatever it declares.
        if isolated == 0 {
            assert_eq!(held, table, "{all:?}");
        }
    }
}

fn init(session: u64, bytes: u64, flags: u64) -> Request {
    Request {
        bytes,
        flags,
        ..Request::new(Op::Init, session, 0)
    }
}

fn of(op: Op, session: u64, seq: u64, task: u64, bytes: u64) -> Request {
    Request {
        task,
        bytes,
        ..Request::new(op, session, seq)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Ask(usize, Request),
    Dies(usize),
    Restart,
}

fn steps() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![4 => 0u64..70, 1 => 60u64..200].prop_map(|tenths| tenths * UNIT);
    let flag = prop::sample::select(vec![0, 0, 0, flags::GROWS, flags::ISOLATED, flags::AT_ONCE]);
    let ops = prop::sample::select(vec![
        Op::Init,
        Op::Init,
        Op::Begin,
        Op::Begin,
        Op::Begin,
        Op::End,
        Op::End,
        Op::Extend,
        Op::Destroy,
        Op::Reattach,
        Op::Describe,
        Op::Memory,
    ]);
    let request = (ops, 0u64..10, 0u64..40, 0u64..4, bytes, flag);
    let request = request.prop_map(|(op, session, seq, task, bytes, flags)| Request {
        task,
        bytes,
        flags,
        ..Request::new(op, session, seq)
    });
    // Mostly the owner of a session asks; sometimes a stranger does.
    let ask = (request, 0usize..20).prop_map(|(request, stranger)| {
        let owner = request.session as usize % 4;
        let peer = if stranger == 0 {
            (owner + 1) % 4
        } else {
            owner
        };
        Step::Ask(peer, request)
    });
    prop_oneof![
        40 => ask,
        1 => (0usize..4).prop_map(Step::Dies),
        1 => Just(Step::Restart),
    ]
}

fn rules() -> impl Strategy<Value = CaseSettings> {
    let balanced = CaseSettings {
        reprovision: false,
        ..CaseSettings::BALANCED
    };
    let rule = prop::sample::select(vec![CaseSettings::CORRECTED, balanced]);
    (rule, 0u64..8, 0u64..8).prop_map(|(rule, base, device)| CaseSettings {
        context: ContextMemory {
            base_bytes: base * UNIT,
            device_bytes: device * UNIT,
        },
        ..rule
    })
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    /// Never over memory, never a task beside an isolated job, in any order of requests, deaths and
    /// restarts; and what the manager believes is what the table says and what processes were told.
    #[test]
    fn the_table_never_breaks(
        memory in vec(40u64..110, 1..4),
        rule in rules(),
        steps in vec(steps(), 1..120),
    ) {
        let mut world = World::new(&memory, rule);
        for step in steps {
            match step {
                Step::Ask(peer, request) => world.ask(peer, request),
                Step::Dies(peer) => world.die(peer),
                Step::Restart => world.restart(),
            }
            world.check();
        }
        for peer in 0..world.peers.len() {
            world.die(peer);
        }
        world.check();
        prop_assert_eq!(world.manager.leases().count(), 0);
        prop_assert!(world.manager.held().iter().all(|row| *row == (0, 0, false)));
    }
}

fn small() -> World {
    let rule = CaseSettings {
        context: ContextMemory::fixed(3 * UNIT),
        ..CaseSettings::CORRECTED
    };
    World::new(&[60], rule)
}

/// A call that must not wait is refused in place of that, and then is as if it had never been.
#[test]
fn what_is_wanted_at_once_or_not_at_all_keeps_nobody_out() {
    let mut world = small();
    for peer in 0..3 {
        let session = peer as u64 + 1;
        assert_eq!(world.answer(peer, init(session, 0, 0)), Some(Status::Done));
    }
    let at_once = |request: Request| Request {
        flags: flags::AT_ONCE,
        ..request
    };
    let held = world.answer(0, of(Op::Begin, 1, 1, 1, 30 * UNIT));
    assert_eq!(held, Some(Status::Done));
    let other = world.answer(1, of(Op::Begin, 2, 1, 1, 10 * UNIT));
    assert_eq!(other, Some(Status::Done));
    // It would fit if the other gave its memory back.
    let padded = at_once(of(Op::Begin, 1, 2, 2, 23 * UNIT));
    assert_eq!(world.answer(0, padded), Some(Status::OutOfMemory));
    // Neither its place in a queue nor its size keeps a new process out.
    let third = world.answer(2, of(Op::Begin, 3, 1, 1, 5 * UNIT));
    assert_eq!(third, Some(Status::Done));
    let less = at_once(of(Op::Begin, 1, 3, 3, 5 * UNIT));
    assert_eq!(world.answer(0, less), Some(Status::Done));
    world.check();
}

/// The instances on which programs are bound that name no warps, and what they declare.
fn bound(declared: [u64; 4]) -> [u64; 4] {
    let rule = CaseSettings {
        context: ContextMemory::fixed(3 * UNIT),
        ..CaseSettings::CORRECTED
    };
    // A small one first, then a big one.
    let mut world = World::new(&[60, 200], rule);
    let mut peer = 0;
    declared.map(|tenths| {
        let session = peer as u64 + 1;
        world.answer(peer, init(session, tenths * UNIT, 0));
        let touch = Request {
            flags: flags::UNKNOWN_WARPS,
            ..of(Op::Begin, session, 1, 1, 0)
        };
        assert_eq!(world.answer(peer, touch), Some(Status::Done));
        let (_, reply) = world.answered.last().unwrap();
        let instance = reply.instance;
        world.answer(peer, of(Op::End, session, 2, 1, 0));
        world.check();
        peer += 1;
        instance
    })
}

#[test]
fn programs_without_warps_are_spread_and_what_they_declare_fits() {
    assert_eq!(bound([0; 4]), [2, 1, 2, 1]);
    assert_eq!(bound([0, 100, 0, 100]), [2, 2, 1, 2]);
    assert_eq!(bound([100; 4]), [2; 4]);
}

#[test]
fn a_repeated_call_changes_nothing() {
    let mut world = small();
    assert_eq!(world.answer(1, init(1, 0, 0)), Some(Status::Done));
    assert_eq!(world.answer(1, init(1, 0, 0)), Some(Status::Done));
    let begin = of(Op::Begin, 1, 1, 7, 10 * UNIT);
    assert_eq!(world.answer(1, begin), Some(Status::Done));
    let more = of(Op::Extend, 1, 2, 7, 5 * UNIT);
    for _ in 0..2 {
        assert_eq!(world.answer(1, more), Some(Status::Done));
        assert_eq!(world.answer(1, begin), Some(Status::Done));
        assert_eq!(world.manager.held(), [(15 * UNIT, 3 * UNIT, false)]);
        world.restart();
    }
    let end = of(Op::End, 1, 3, 7, 0);
    for _ in 0..2 {
        assert_eq!(world.answer(1, end), Some(Status::Done));
        assert_eq!(world.manager.held(), [(0, 3 * UNIT, false)]);
    }
    // A begin that is repeated after its end got its answer before.
    world.restart();
    assert_eq!(world.answer(1, end), Some(Status::Done));
    world.check();
}

#[test]
fn a_second_task_waits_for_the_first_and_gets_its_answer_then() {
    let mut world = small();
    for session in [1, 2] {
        world.ask(session as usize, init(session, 30 * UNIT, 0));
    }
    assert_eq!(
        world.answer(1, of(Op::Begin, 1, 1, 1, 30 * UNIT)),
        Some(Status::Done)
    );
    assert_eq!(world.answer(2, of(Op::Begin, 2, 1, 1, 30 * UNIT)), None);
    // A waiting call that is repeated waits on, and one with the same number for another does not.
    assert_eq!(world.answer(2, of(Op::Begin, 2, 1, 1, 30 * UNIT)), None);
    assert_eq!(
        world.answer(2, of(Op::Begin, 2, 1, 1, 20 * UNIT)),
        Some(Status::Malformed)
    );
    world.answered.clear();
    world.ask(1, of(Op::End, 1, 2, 1, 0));
    assert_eq!(world.said(2, 1), Some(Status::Done));
}

#[test]
fn what_can_never_be_had_is_refused_and_the_process_keeps_what_it_has() {
    let mut world = small();
    // Strictly below: 57 of 60 beside a context of 3.
    assert_eq!(
        world.answer(0, init(4, 57 * UNIT, 0)),
        Some(Status::OutOfMemory)
    );
    assert_eq!(
        world.answer(1, init(1, 0, flags::GROWS)),
        Some(Status::Done)
    );
    let too_much = of(Op::Begin, 1, 1, 1, 57 * UNIT);
    assert_eq!(world.answer(1, too_much), Some(Status::OutOfMemory));
    let fits = of(Op::Begin, 1, 2, 1, 30 * UNIT);
    assert_eq!(world.answer(1, fits), Some(Status::Done));
    let more = of(Op::Extend, 1, 3, 1, 27 * UNIT);
    assert_eq!(world.answer(1, more), Some(Status::OutOfMemory));
    assert_eq!(world.manager.held(), [(30 * UNIT, 3 * UNIT, false)]);
    let less = of(Op::Extend, 1, 4, 1, 26 * UNIT);
    assert_eq!(world.answer(1, less), Some(Status::Done));
}

#[test]
fn two_that_hold_and_ask_do_not_wait_for_each_other() {
    let mut world = small();
    // Both say that they grow: the second waits until the first is gone from the instance.
    for session in [1, 2] {
        assert_eq!(
            world.answer(session as usize, init(session, 0, flags::GROWS)),
            Some(Status::Done)
        );
    }
    assert_eq!(
        world.answer(1, of(Op::Begin, 1, 1, 1, 20 * UNIT)),
        Some(Status::Done)
    );
    assert_eq!(world.answer(2, of(Op::Begin, 2, 1, 1, 20 * UNIT)), None);
    assert_eq!(
        world.answer(1, of(Op::Extend, 1, 2, 1, 20 * UNIT)),
        Some(Status::Done)
    );
    world.answered.clear();
    world.die(1);
    assert_eq!(world.said(2, 1), Some(Status::Done));

    // Neither says so: whoever asks second, holding, is told that there is no memory.
    let mut world = small();
    for session in [1, 2] {
        world.ask(session as usize, init(session, 0, 0));
        let begin = of(Op::Begin, session, 1, 1, 25 * UNIT);
        assert_eq!(world.answer(session as usize, begin), Some(Status::Done));
    }
    assert_eq!(world.answer(1, of(Op::Extend, 1, 2, 1, 10 * UNIT)), None);
    let second = of(Op::Extend, 2, 2, 1, 10 * UNIT);
    assert_eq!(world.answer(2, second), Some(Status::OutOfMemory));
    world.answered.clear();
    world.ask(2, of(Op::End, 2, 3, 1, 0));
    assert_eq!(world.said(1, 2), Some(Status::Done));
}

#[test]
fn who_waits_is_not_outdone_by_who_is_bound_later() {
    for restarts in [false, true] {
        let mut world = small();
        for session in [1, 2, 3] {
            world.ask(session as usize, init(session, 0, 0));
        }
        // The first is bound and holds nothing; the second holds 20.
        world.answer(1, of(Op::Begin, 1, 1, 1, 10 * UNIT));
        world.answer(1, of(Op::End, 1, 2, 1, 0));
        world.answer(2, of(Op::Begin, 2, 1, 1, 20 * UNIT));
        let most = of(Op::Begin, 1, 3, 2, 53 * UNIT);
        assert_eq!(world.answer(1, most), None);
        if restarts {
            world.restart();
        }
        // With a third context the 53 would never fit.
        assert_eq!(world.answer(3, of(Op::Begin, 3, 1, 1, UNIT)), None);
        if restarts {
            assert_eq!(world.answer(1, most), None);
        }
        world.answered.clear();
        world.ask(2, of(Op::End, 2, 2, 1, 0));
        assert_eq!(world.said(1, 3), Some(Status::Done));
        world.check();
    }
}

#[test]
fn what_two_threads_wait_for_is_judged_together() {
    let mut world = small();
    for session in [1, 2] {
        world.ask(session as usize, init(session, 0, 0));
    }
    world.answer(2, of(Op::Begin, 2, 1, 1, 50 * UNIT));
    assert_eq!(world.answer(1, of(Op::Begin, 1, 1, 1, 20 * UNIT)), None);
    let second = of(Op::Begin, 1, 2, 2, 50 * UNIT);
    assert_eq!(world.answer(1, second), Some(Status::OutOfMemory));
    world.answered.clear();
    world.ask(2, of(Op::End, 2, 2, 1, 0));
    assert_eq!(world.said(1, 1), Some(Status::Done));
    // It still has its session, and its 20.
    assert_eq!(world.answer(1, of(Op::End, 1, 3, 1, 0)), Some(Status::Done));
    world.check();
}

#[test]
fn of_two_that_wait_one_does_not_grow_beside_another_that_grows() {
    let mut world = small();
    for session in [1, 2] {
        world.ask(session as usize, init(session, 0, 0));
        world.answer(session as usize, of(Op::Begin, session, 1, 1, 20 * UNIT));
    }
    world.answer(1, of(Op::End, 1, 2, 1, 0));
    // The second holds 20 and waits for nobody; the first waits for 35 and would then grow by 5.
    assert_eq!(world.answer(1, of(Op::Begin, 1, 3, 2, 35 * UNIT)), None);
    assert_eq!(
        world.answer(1, of(Op::Begin, 1, 4, 3, 5 * UNIT)),
        Some(Status::Done)
    );
    // So the second may not grow.
    assert_eq!(
        world.answer(2, of(Op::Extend, 2, 2, 1, 30 * UNIT)),
        Some(Status::OutOfMemory)
    );
    world.answered.clear();
    world.ask(2, of(Op::End, 2, 3, 1, 0));
    assert_eq!(world.said(1, 3), Some(Status::Done));
    world.check();
}

#[test]
fn a_task_that_ends_takes_the_calls_along_that_wait_for_it() {
    for ends in [Op::End, Op::Destroy] {
        let mut world = small();
        for session in [1, 2] {
            world.ask(session as usize, init(session, 0, 0));
            world.answer(session as usize, of(Op::Begin, session, 1, 1, 20 * UNIT));
        }
        assert_eq!(world.answer(1, of(Op::Extend, 1, 2, 1, 20 * UNIT)), None);
        assert_eq!(world.answer(1, of(ends, 1, 3, 1, 0)), Some(Status::Done));
        assert_eq!(world.said(1, 2), Some(Status::Malformed));
        world.answer(2, of(Op::End, 2, 2, 1, 0));
        assert_eq!(world.manager.held(), [(0, 6 * UNIT, false)]);
    }
}

#[test]
fn workers_are_of_processes_and_nobody_takes_the_last_but_who_has_none() {
    // 4 workers for one slice.
    let mut world = World::new(&[100], CaseSettings::CORRECTED);
    let own = world.peers[0];
    // Six processes of user 0, then one of user 1.
    world.peers = (0..7)
        .map(|at| ClientProcess {
            pid: own.pid,
            start: own.start + at,
            uid: u32::from(at == 6),
        })
        .collect();
    for session in 1..=8 {
        assert_eq!(world.answer(0, init(session, 0, 0)), Some(Status::Done));
    }
    for (peer, session) in [(1, 11), (2, 12)] {
        assert_eq!(world.answer(peer, init(session, 0, 0)), Some(Status::Done));
    }
    for (peer, session) in [(3, 13), (4, 14), (5, 15)] {
        assert_eq!(world.answer(peer, init(session, 0, 0)), None);
    }
    assert_eq!(world.answer(6, init(21, 0, 0)), Some(Status::Done));
    // Those that wait come in their order.
    world.answered.clear();
    world.die(1);
    assert_eq!(world.said(13, 0), None);
    world.die(6);
    assert_eq!(world.said(13, 0), Some(Status::Done));
    assert_eq!(world.said(14, 0), None);
    // Further sessions are of the same worker in the next manager too.
    world.die(3);
    world.die(4);
    world.die(5);
    world.answer(2, init(16, 0, 0));
    assert_eq!(world.answer(6, init(21, 0, 0)), Some(Status::Done));
}

#[test]
fn one_session_of_a_process_says_nothing_of_another() {
    let mut world = small();
    for session in [1, 2] {
        world.ask(1, init(session, 0, 0));
        let begin = of(Op::Begin, session, 1, 1, 10 * UNIT);
        assert_eq!(world.answer(1, begin), Some(Status::Done));
    }
    assert_eq!(
        world.answer(1, of(Op::Destroy, 1, 2, 0, 0)),
        Some(Status::Done)
    );
    // The context of the first stays: its process lives.
    assert_eq!(world.manager.held(), [(10 * UNIT, 6 * UNIT, false)]);
    // A stranger cannot name it.
    assert_eq!(
        world.answer(2, of(Op::End, 2, 3, 1, 0)),
        Some(Status::NoSession)
    );
    assert_eq!(
        world.answer(2, of(Op::Reattach, 2, 3, 0, 0)),
        Some(Status::NoSession)
    );
    assert_eq!(world.answer(2, init(2, 0, 0)), Some(Status::NoSession));
    assert_eq!(world.manager.leases().count(), 1);
}

#[test]
fn quotas_bound_what_a_session_may_have() {
    let mut world = small();
    for session in 1..=8 {
        assert_ne!(world.answer(1, init(session, 0, 0)), Some(Status::Quota));
    }
    assert_eq!(world.answer(1, init(9, 0, 0)), Some(Status::Quota));
    let begin = |seq| of(Op::Begin, 1, seq, seq, 0);
    for seq in 1..=64 {
        assert_eq!(world.answer(1, begin(seq)), Some(Status::Done));
    }
    assert_eq!(world.answer(1, begin(65)), Some(Status::Quota));
}

#[test]
fn entries_are_dropped_with_their_boot_and_their_process() {
    let mut world = small();
    world.ask(1, init(1, 0, 0));
    world.ask(1, of(Op::Begin, 1, 1, 1, 10 * UNIT));
    let path = world.folder.path().join("tasks");
    let bytes = std::fs::read(&path).unwrap();
    let boot = world.processes.boot().to_owned();
    assert_eq!(read_task_records(&bytes, &boot).unwrap().unwrap().len(), 2);
    assert_eq!(read_task_records(&bytes, "another").unwrap(), None);
    assert!(TaskFile::has_live(&path, &world.processes));
    // The same number with another start is another process.
    let mut other = bytes.clone();
    other[128 + 10 * 8] ^= 1;
    other[256 + 10 * 8] ^= 1;
    std::fs::write(&path, &other).unwrap();
    assert!(!TaskFile::has_live(&path, &world.processes));
    world.restart();
    assert_eq!(world.manager.leases().count(), 0);
    // What is no file of entries is not overwritten.
    std::fs::write(&path, b"something else that is longer than a flag").unwrap();
    let error = TaskFile::open(&path, &world.processes).unwrap_err();
    assert!(error.to_string().contains("--task-file FILE"), "{error}");
}

/// What a context takes depends on its own instance alone, so what is held fits whatever else is listed.
#[test]
fn a_manager_with_larger_instances_beside_goes_on_with_what_is_held() {
    let rule = CaseSettings {
        context: CONTEXT,
        ..CaseSettings::CORRECTED
    };
    let mut world = World::new(&[60], rule);
    assert_eq!(world.answer(0, init(1, 0, 0)), Some(Status::Done));
    let all_but_a_context = 60 * UNIT - CONTEXT.on(1, 4) - 1;
    let begin = of(Op::Begin, 1, 1, 1, all_but_a_context);
    assert_eq!(world.answer(0, begin), Some(Status::Done));
    world.memory.extend([100, 400]);
    world.restart();
    world.check();
    let held = world.manager.held();
    assert_eq!(held[0], (all_but_a_context, CONTEXT.on(1, 4), false));
    assert_eq!(CONTEXT.on(1, 4), 225_000_000);
}

/// A whole device would else have as few processes as its smallest instance.
#[test]
fn slices_are_those_of_a_whole_device_or_of_the_smallest_instance_if_nobody_says() {
    let text = "[[instance]]\ncuda_visible_devices = \"GPU-1\"\nmemory = 1\n\
                [[instance]]\ncuda_visible_devices = \"GPU-2\"\nmemory = 1\ngpu_slices = 4\n\
                [[instance]]\ncuda_visible_devices = \"GPU-3\"\nmemory = 1\nslices = 2\n\
                [[instance]]\ncuda_visible_devices = \"MIG-4\"\nmemory = 1\ngpu_slices = 7\n\
                [[instance]]\ncuda_visible_devices = \"5\"\nmemory = 1\ndevice = \"A\"\nmig_instance = \"3g.20gb@0\"\n";
    let instances = Instances::parse("test", text).unwrap();
    let slices: Vec<u8> = instances
        .list()
        .iter()
        .map(SharedInstance::slices)
        .collect();
    assert_eq!(slices, [7, 4, 2, 1, 3]);
    let of: Vec<u8> = instances
        .list()
        .iter()
        .map(SharedInstance::gpu_slices)
        .collect();
    assert_eq!(of, [7, 4, 2, 7, 7]);
    let none = text.replace("slices = 2", "slices = 0");
    let error = Instances::parse("test", &none).unwrap_err().to_string();
    assert!(error.contains("nonzero"), "{error}");
}
