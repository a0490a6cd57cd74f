//! Any requests of any processes, with restarts between: the manager's table never holds more than
//! an instance has. And any bytes are a file of entries or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_case::message::{LENGTH, Request};
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
            (250.., _) => all = manager(&folder, &processes),
            (240.., _) => all.died(Time(turn), peer, &mut replies),
            (_, Ok(request)) => all.ask(Time(turn), peer, &request, &mut replies),
            (_, Err(_)) => {}
        }
        for (held, contexts, _) in all.held() {
            assert!(held.saturating_add(contexts) <= 6_000_000_000);
        }
    }
    drop(all);
    std::fs::remove_dir_all(&folder).expect("the folder");
});
