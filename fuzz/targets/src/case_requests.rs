//! Any requests of any processes, with restarts between: the manager's table never holds more than
//! an instance has, and holds what was granted to those who live. And any bytes are a file of entries
//! or none, and a list of instances or none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use mapa_case::message::{Op, Request, Status, flags};
use mapa_node::{Processes, TaskFile, read_task_records};
use mapa_sched::Time;
use mapa_system_case::CaseSettings;
use mapa_system_case_manager::{ClientProcess, Instances, Manager, Settings, SharedInstance};

use crate::folder::folder;

/// One history at a time has the folder.
static FOLDER: LazyLock<Mutex<PathBuf>> = LazyLock::new(|| Mutex::new(folder("tasks")));

fn manager(folder: &Path, processes: &Processes) -> Manager {
    let shared = SharedInstance {
        cuda_visible_devices: "MIG-0".to_owned(),
        memory: 6_000_000_000,
        device: String::new(),
        mig_instance: String::new(),
        slices: std::num::NonZeroU8::new(1),
        gpu_slices: 4,
        mps: String::new(),
    };
    let entries = TaskFile::open(&folder.join("tasks"), processes).expect("a file of entries");
    let instances = Instances::new(vec![shared]).expect("an instance");
    let rule = CaseSettings::CORRECTED;
    Manager::new(instances, rule, Settings::default(), entries).expect("what it has written itself")
}

/// Few sessions, calls and tasks, so that requests meet; and sizes around what the instance has.
fn request(bytes: [u8; 7]) -> Request {
    let [op, session, seq, task, tenths, warps, flags] = bytes.map(u64::from);
    let ops = Op::ALL;
    Request {
        task: task % 4,
        bytes: tenths % 80 * 100_000_000,
        warps,
        flags: flags & flags::ALL,
        ..Request::new(ops[op as usize % ops.len()], session % 8, seq % 64)
    }
}

/// One input.
pub fn run(bytes: &[u8]) {
    let _ = read_task_records(bytes, "a boot");
    if let Some(instances) = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| Instances::parse("fuzz", text).ok())
    {
        assert!(
            instances
                .list()
                .iter()
                .all(|instance| instance.slices() <= instance.gpu_slices())
        );
    }
    let processes = Processes::new().expect("procfs");
    let this = processes.own().expect("this process");
    let root = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = root.join("history");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder");
    let mut all = manager(&folder, &processes);
    let mut replies = Vec::new();
    // What processes hold by what they were told, by session and task. A repeated call is told again,
    // until the manager is another.
    let mut held: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut heard: BTreeSet<(u64, u64, u64, Op)> = BTreeSet::new();
    let mut peers: BTreeMap<u64, ClientProcess> = BTreeMap::new();
    for (turn, &[choice, ref rest @ ..]) in (0..).zip(bytes.as_chunks::<8>().0) {
        let peer = ClientProcess {
            pid: this.id.pid,
            start: this.id.start,
            uid: u32::from(choice % 4),
        };
        match choice {
            250.. => {
                all = manager(&folder, &processes);
                heard.clear();
            }
            240.. => {
                let is_dead = |session: &u64| peers.get(session) == Some(&peer);
                held.retain(|(session, _)| !is_dead(session));
                heard.retain(|(session, ..)| !is_dead(session));
                peers.retain(|_, holder| *holder != peer);
                all.died(Time(turn), peer, &mut replies);
            }
            _ => {
                let request = request(*rest);
                all.ask(Time(turn), peer, &request, &mut replies);
                if all.owns(peer, request.session) {
                    peers.insert(request.session, peer);
                }
            }
        }
        for (session, reply) in replies.drain(..) {
            match reply.op.filter(|_| reply.status == Status::Done) {
                Some(op @ (Op::Begin | Op::Extend))
                    if heard.insert((session, reply.task, reply.seq, op)) =>
                {
                    held.insert((session, reply.task));
                }
                Some(Op::End) => held.retain(|held_task| *held_task != (session, reply.task)),
                Some(Op::Destroy) => held.retain(|held_task| held_task.0 != session),
                _ => {}
            }
        }
        let table: BTreeSet<(u64, u64)> = all.leases().map(|lease| (lease.0, lease.1)).collect();
        assert!(held.is_subset(&table), "{held:?} of {table:?}");
        // What the scheduler has booked is what the table says; an isolated job has all of its instance.
        let bytes: u64 = all.leases().map(|lease| lease.2).sum();
        for (held, contexts, is_isolated) in all.held() {
            assert!(held.saturating_add(contexts) <= 6_000_000_000);
            assert!(is_isolated || held == bytes, "{held} of {bytes}");
        }
    }
}
