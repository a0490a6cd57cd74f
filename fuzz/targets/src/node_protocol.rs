//! Any sequence of queries over a few connections to a daemon in this process, whole, broken or cut off: each is answered in time,
//! no device is granted twice, and when all is given back the machine is free and the daemon as it was.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mapa_front::answer::mapa::LeaseOwner;
use mapa_front::answer::node::{Grant, NodeAnswer, NodeQuery, RunQuery, SocketAnswer};
use mapa_front::{JobSpec, PolicySpec};

use crate::folder::folder;
use crate::input::Choices;

/// How long an answer may take. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

const MACHINE: &str = "dgx-1v";

/// The socket of the daemon of this process, which lives as long as the process. One history at a time has it.
static SOCKET: LazyLock<Mutex<PathBuf>> = LazyLock::new(|| {
    let folder = folder("node");
    let ledger = folder.join("ledger.db");
    let words = [
        "mapa-node",
        "--machine",
        MACHINE,
        "--scheduler",
        "fifo",
        "--dry-run",
        "--log",
        "json",
    ];
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    // No sensors and no control groups.
    words.extend([
        "--root".into(),
        folder.clone().into(),
        "--ledger".into(),
        ledger.into(),
    ]);
    thread::spawn(|| mapa_node::daemon(words));
    Mutex::new(folder.join("ledger.db.sock"))
});

struct Connection {
    stream: BufReader<UnixStream>,
    /// Whether what was sent last has no end of a line.
    is_torn: bool,
    /// The job that waits.
    ticket: Option<i64>,
}

impl Connection {
    fn new(socket: &Path) -> Self {
        let begun = Instant::now();
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "nobody listens: {error}"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        Self {
            stream: BufReader::new(stream),
            is_torn: false,
            ticket: None,
        }
    }

    /// Sends bytes. False if the daemon has hung up.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// The next answer; none if the daemon has hung up.
    fn next(&mut self) -> Option<NodeAnswer> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                let answer: SocketAnswer = serde_json::from_str(&line).expect("an answer in JSON");
                Some(answer.result)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("no answer in {PATIENCE:?}")
            }
            Err(_) => None,
        }
    }

    fn ask(&mut self, query: &NodeQuery) -> Option<NodeAnswer> {
        let mut line = serde_json::to_vec(query).expect("plain data");
        line.push(b'\n');
        if self.send(&line) { self.next() } else { None }
    }
}

fn owner(choices: &mut Choices<'_>) -> LeaseOwner {
    LeaseOwner {
        kind: "kubernetes".to_owned(),
        name: ["a", "b", ""][choices.below(3)].to_owned(),
    }
}

fn some_devices(choices: &mut Choices<'_>) -> Vec<String> {
    let name =
        |choices: &mut Choices<'_>| ["GPU0", "GPU1", "7", "GPU9", ""][choices.below(5)].to_owned();
    (0..choices.below(4)).map(|_| name(choices)).collect()
}

fn run_query(choices: &mut Choices<'_>) -> RunQuery {
    let spec = JobSpec {
        gpus: Some(choices.below(10)),
        pattern: ["ring", "tree", "0-1,1-2", "tp=2,dp=2", "x"][choices.below(5)].to_owned(),
        sensitive: Some(choices.below(2) == 1),
        ..JobSpec::default()
    };
    let json = |text: String, odd: usize| if odd == 7 { "{".to_owned() } else { text };
    let odd = choices.below(16);
    RunQuery {
        tenant: [None, Some("t".to_owned()), Some(String::new())][choices.below(3)].clone(),
        command: "job".to_owned(),
        machine: if odd == 5 {
            "other".to_owned()
        } else {
            MACHINE.to_owned()
        },
        policy: json(
            serde_json::to_string(&PolicySpec::default()).expect("plain data"),
            odd.wrapping_sub(1),
        ),
        spec: json(serde_json::to_string(&spec).expect("plain data"), odd),
        scheduler: "first-come".to_owned(),
        // The processes of a lease whose time is up are signalled: this process itself.
        seconds: [None, Some(u64::MAX), Some(86_400)][choices.below(3)],
        wait: choices.below(2) == 1,
        dry_run: choices.below(8) == 1,
        check_drivers: false,
        again: choices.below(8) == 1,
    }
}

/// What a history has been granted, by lease.
type Held = BTreeMap<i64, Vec<String>>;

/// A number of a lease or ticket: one that is there, or another.
fn number(choices: &mut Choices<'_>, there: &mut dyn Iterator<Item = i64>) -> i64 {
    let at = choices.below(8);
    there.nth(at).unwrap_or(i64::MAX - at as i64)
}

fn query(choices: &mut Choices<'_>, held: &Held, tickets: &[i64]) -> NodeQuery {
    let (devices, reason) = (
        some_devices(choices),
        ["why", ""][choices.below(2)].to_owned(),
    );
    let lease = number(choices, &mut held.keys().copied());
    let ticket = number(choices, &mut tickets.iter().copied());
    match choices.below(18) {
        0 => NodeQuery::Status {},
        1 => NodeQuery::Metrics {},
        2 => NodeQuery::Resume { ticket },
        3 => NodeQuery::Cancel { ticket, reason },
        // No process is this one: a lease with a process that runs could not be ended.
        4 => NodeQuery::Started {
            lease,
            pid: -1,
            start: -1,
            namespace: 0,
            cgroup: None,
        },
        5 => NodeQuery::Grouped {
            lease,
            cgroup: reason,
        },
        6 | 7 => NodeQuery::Ended {
            lease,
            reason,
            status: Some(choices.byte()),
        },
        8 => NodeQuery::Ps {},
        9 => NodeQuery::Free {},
        10 => NodeQuery::Tenants {},
        11 => NodeQuery::Log {
            last: choices.below(256),
            lease: Some(lease),
            verify: choices.below(2) == 1,
        },
        // Of no lease that holds: its processes would be ended, which are this one.
        12 => NodeQuery::Release {
            lease: -1,
            force: choices.below(2) == 1,
        },
        13 => NodeQuery::Cordon {
            devices,
            reason,
            seconds: Some(choices.below(256) as u64),
        },
        14 => NodeQuery::Uncordon { devices, reason },
        15 => NodeQuery::Recover {},
        16 => NodeQuery::Register {
            owner: owner(choices),
            devices,
            reason,
        },
        _ => NodeQuery::Registered {
            kind: "kubernetes".to_owned(),
        },
    }
}

/// Notes what was granted: nothing that is held.
fn note(held: &mut Held, grant: &Grant) {
    let devices: Vec<String> = grant
        .devices
        .iter()
        .map(|device| format!("{} {}", device.whole, device.part))
        .collect();
    for device in &devices {
        let other = held
            .iter()
            .find(|(lease, other)| **lease != grant.lease && other.contains(device));
        assert_eq!(other, None, "{device} is granted to {} too", grant.lease);
    }
    held.insert(grant.lease, devices);
}

struct History<'s> {
    socket: &'s Path,
    connections: [Option<Connection>; 3],
    held: Held,
    tickets: Vec<i64>,
}

impl History<'_> {
    fn hear(&mut self, at: usize, answer: Option<NodeAnswer>) {
        let Some(answer) = answer else {
            self.connections[at] = None;
            return;
        };
        let connection = self.connections[at].as_mut().expect("it has answered");
        match answer {
            NodeAnswer::Granted { grant } => {
                connection.ticket = None;
                note(&mut self.held, &grant);
            }
            NodeAnswer::Queued {
                ticket,
                position,
                length,
                ..
            } => {
                assert!(
                    (1..=length).contains(&position),
                    "place {position} of {length}"
                );
                connection.ticket = Some(ticket);
                self.tickets.push(ticket);
            }
            NodeAnswer::Registered { leases } => {
                for row in leases {
                    let devices = row
                        .devices
                        .iter()
                        .map(|device| format!("{} {}", device.whole, device.part));
                    self.held
                        .entry(row.lease)
                        .or_insert_with(|| devices.collect());
                }
            }
            NodeAnswer::Error { error, .. } => assert!(!error.is_empty()),
            _ => {}
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let at = choices.below(self.connections.len());
        let socket = self.socket;
        let connection = self.connections[at].get_or_insert_with(|| Connection::new(socket));
        // While a job waits, or a line has no end, no answer need come.
        let is_quiet = connection.ticket.is_some() || connection.is_torn;
        match choices.below(8) {
            0 if is_quiet => self.connections[at] = None,
            _ if is_quiet => {}
            0 => {
                let rest = choices.0;
                let end = rest
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(rest.len());
                choices.0 = &rest[(end + 1).min(rest.len())..];
                let mut bytes = rest[..end].to_vec();
                // What ends this process, in the fuzzer's own words.
                if bytes
                    .windows(3)
                    .any(|part| matches!(part, b"rel" | b"sec" | b"run"))
                    || bytes.contains(&b'\\')
                {
                    return;
                }
                bytes.retain(|byte| *byte != b'\n');
                bytes.push(b'\n');
                let answer = if connection.send(&bytes) {
                    connection.next()
                } else {
                    None
                };
                self.hear(at, answer);
            }
            1 => {
                connection.is_torn = true;
                if !connection.send(b"{\"query\":\"sta") {
                    self.connections[at] = None;
                }
            }
            2..5 => {
                let request = Box::new(run_query(choices));
                let answer = connection.ask(&NodeQuery::Run { request });
                self.hear(at, answer);
            }
            _ => {
                let query = query(choices, &self.held, &self.tickets);
                let answer = connection.ask(&query);
                if let (NodeQuery::Ended { lease, .. }, Some(NodeAnswer::Noted {})) =
                    (&query, &answer)
                {
                    self.held.remove(lease);
                }
                self.hear(at, answer);
            }
        }
    }

    /// Gives back all that anybody holds, and finds the machine free.
    fn end(self) {
        drop(self.connections);
        let mut last = Connection::new(self.socket);
        let ps = |last: &mut Connection| match last.ask(&NodeQuery::Ps {}) {
            Some(NodeAnswer::Ps { ps }) => ps,
            other => panic!("ps: {other:?}"),
        };
        let reason = || "the history is over".to_owned();
        // A job that waited may get its devices meanwhile.
        for _ in 0..64 {
            let now = ps(&mut last);
            if now.queue.is_empty() && now.leases.is_empty() {
                break;
            }
            for ticket in now.queue {
                last.ask(&NodeQuery::Cancel {
                    ticket: ticket.ticket,
                    reason: reason(),
                });
            }
            for lease in now.leases {
                let query = match lease.owner {
                    Some(owner) => NodeQuery::Unregister {
                        owner,
                        lease: lease.lease,
                    },
                    None => NodeQuery::Ended {
                        lease: lease.lease,
                        reason: reason(),
                        status: None,
                    },
                };
                last.ask(&query);
            }
        }
        last.ask(&NodeQuery::Uncordon {
            devices: Vec::new(),
            reason: reason(),
        });
        for cordon in ps(&mut last).cordons {
            last.ask(&NodeQuery::Uncordon {
                devices: vec![cordon.device],
                reason: reason(),
            });
        }
        let now = ps(&mut last);
        assert!(
            now.leases.is_empty() && now.queue.is_empty() && now.cordons.is_empty(),
            "{now:?}"
        );
        match last.ask(&NodeQuery::Free {}) {
            Some(NodeAnswer::Free { free }) => assert_eq!(free.free, 8, "{free:?}"),
            other => panic!("free: {other:?}"),
        }
    }
}

/// One input.
pub fn run(data: &[u8]) {
    let socket = SOCKET.lock().unwrap_or_else(PoisonError::into_inner);
    let mut history = History {
        socket: &socket,
        connections: [None, None, None],
        held: Held::new(),
        tickets: Vec::new(),
    };
    let mut choices = Choices(data);
    for _ in 0..32 {
        if choices.is_empty() {
            break;
        }
        history.step(&mut choices);
    }
    history.end();
}
