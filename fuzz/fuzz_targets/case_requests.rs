//! Any requests of any processes, with restarts between: the manager's table never holds more than
//! an instance has, and holds what was granted to those who live. And any bytes are a file of entries
//! or none.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};

use libfuzzer_sys::fuzz_target;
use mapa_case::message::{LENGTH, Op, Request, Status};
use mapa_node::{Entries, Instances, Manager, Peer, Processes, Settings, Shared, read_entries};
use mapa_sched::{CaseSettings, Time};

fn manager(folder: &std::path::Path, processes: &Processes) -> Manager {
    let shared = Shared {
        visible: "MIG-0".to_owned(),
        memory: 6_000_000_000,
        device: String::new(),
        part: String::new(),
        slices: 1,
        of: 4,
        mps: String::new(),
    };
    let entries = Entries::open(&folder.join("tasks"), processes).expect("a file of entries");
    let instances = Instances::new(vec![shared]).expect("an instance");
    let rule = CaseSettings::CORRECTED;
    Manager::new(instances, rule, Settings::default(), entries).expect("what it has written itself")
}

fuzz_target!(|bytes: &[u8]| {
    let _ = read_entries(bytes, "a boot");
    let processes = Processes::new().expect("procfs");
    let own = processes.own().expect("this process");
    let folder = std::env::temp_dir().join(format!("mapa-fuzz-{}", own.pid));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut all = manager(&folder, &processes);
    let mut replies = Vec::new();
    // What processes hold by what they were told, by session and task. A repeated call is told again,
    // until the manager is another.
    let mut held: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut heard = BTreeSet::new();
    let mut peers: BTreeMap<u64, Peer> = BTreeMap::new();
    for (turn, chunk) in (0..).zip(bytes.chunks(LENGTH + 1)) {
        let Some((choice, message)) = chunk.split_first() else {
            continue;
        };
        let peer = Peer {
            pid: own.pid,
            start: own.start,
            uid: u32::from(choice % 4),
        };
        match (choice, Request::decode(message)) {
            (250.., _) => {
                all = manager(&folder, &processes);
                heard.clear();
            }
            (240.., _) => {
                let is_dead = |session: &u64| peers.get(session) == Some(&peer);
                held.retain(|(session, _)| !is_dead(session));
                heard.retain(|(session, ..)| !is_dead(session));
                peers.retain(|_, own| *own != peer);
                all.died(Time(turn), peer, &mut replies);
            }
            (_, Ok(request)) => {
                all.ask(Time(turn), peer, &request, &mut replies);
                if all.owns(peer, request.session) {
                    peers.insert(request.session, peer);
                }
            }
            (_, Err(_)) => {}
        }
        for (session, reply) in replies.drain(..) {
            match reply.op.filter(|_| reply.status == Status::Done) {
                Some(op @ (Op::Begin | Op::Extend)) => {
                    if heard.insert((session, reply.task, reply.seq, op)) {
                        held.insert((session, reply.task));
                    }
                }
                Some(Op::End) => held.retain(|own| *own != (session, reply.task)),
                Some(Op::Destroy) => held.retain(|own| own.0 != session),
                _ => {}
            }
        }
        let table: BTreeSet<(u64, u64)> = all.leases().map(|own| (own.0, own.1)).collect();
        assert!(held.is_subset(&table), "{held:?} of {table:?}");
        for (held, contexts, _) in all.held() {
            assert!(held.saturating_add(contexts) <= 6_000_000_000);
        }
    }
    drop(all);
    std::fs::remove_dir_all(&folder).expect("the folder");
});
