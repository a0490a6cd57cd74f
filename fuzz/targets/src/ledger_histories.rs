//! Any history of a ledger: leases, the queue, cordons and layouts, with programs that end, are killed, or lose what was not
//! synchronised. After each step it says what a simple list says, no device is held twice, and its audit is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use mapa_node::{DeviceKey, Durability, Ledger, Liveness, Processes, Requester, recover};

use crate::folder::folder;
use crate::input::Choices;

/// One history at a time has the folder.
static FOLDER: LazyLock<Mutex<PathBuf>> = LazyLock::new(|| Mutex::new(folder("ledger")));

/// What is to be in the ledger.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Books {
    /// The devices of each lease, and who has it.
    leases: BTreeMap<i64, (usize, Vec<DeviceKey>)>,
    /// Who has each ticket.
    queue: BTreeMap<i64, usize>,
    cordons: BTreeSet<String>,
    layouts: BTreeMap<String, String>,
}

/// Whether two devices cannot be held at once.
fn collide(a: &DeviceKey, b: &DeviceKey) -> bool {
    a.whole == b.whole && (a.part == b.part || a.part.is_empty() || b.part.is_empty())
}

impl Books {
    fn of(ledger: &mut Ledger, askers: &[Requester]) -> Self {
        let of = |asker: &Requester| {
            let own = askers.iter().position(|own| own.process == asker.process);
            own.expect("somebody who asked")
        };
        let read = ledger.read(|books| {
            let leases = books.leases()?.into_iter();
            let layouts = books.layouts()?;
            Ok(Self {
                leases: leases
                    .map(|lease| (lease.id, (of(&lease.asker), lease.devices)))
                    .collect(),
                queue: books
                    .queue()?
                    .iter()
                    .map(|ticket| (ticket.id, of(&ticket.asker)))
                    .collect(),
                cordons: books
                    .cordons(mapa_node::now())?
                    .into_iter()
                    .map(|cordon| cordon.device)
                    .collect(),
                layouts: layouts.into_iter().collect(),
            })
        });
        let read = read.expect("it can be read");
        let held: Vec<&DeviceKey> = read
            .leases
            .values()
            .flat_map(|(_, devices)| devices)
            .collect();
        for (at, device) in held.iter().enumerate() {
            assert!(
                !held[..at].iter().any(|other| collide(device, other)),
                "{device} is held twice"
            );
        }
        read
    }

    fn nth<V>(of: &BTreeMap<i64, V>, choices: &mut Choices<'_>) -> Option<i64> {
        let at = choices.below(of.len().max(1));
        of.keys().nth(at).copied()
    }
}

struct History {
    ledger: Ledger,
    books: Books,
    /// What the books were after each step: what a power cut can leave, as the log is never put into the file here.
    earlier: Vec<Books>,
    askers: [Requester; 3],
    processes: Processes,
    /// How often the ledger was moved.
    moves: usize,
}

impl History {
    fn open(folder: &Path) -> Self {
        let processes = Processes::new().expect("procfs");
        let alive = Requester {
            tenant: "alive".to_owned(),
            uid: 0,
            process: processes.own().expect("this process"),
            command: "true".to_owned(),
            policy: "{}".to_owned(),
            spec: "{}".to_owned(),
        };
        let (mut dead, mut earlier) = (alive.clone(), alive.clone());
        dead.process.id.start += 1;
        earlier.process.boot = "earlier".to_owned();
        (dead.tenant, earlier.tenant) = ("dead".to_owned(), "earlier".to_owned());
        Self {
            ledger: Ledger::open(folder.join("ledger.db")).expect("a new ledger"),
            books: Books::default(),
            earlier: vec![Books::default()],
            askers: [alive, dead, earlier],
            processes,
            moves: 0,
        }
    }

    fn step(&mut self, folder: &Path, choices: &mut Choices<'_>) {
        let sync = [Durability::Boot, Durability::Disk][choices.below(2)];
        match choices.below(12) {
            0..3 => self.grant(sync, choices),
            3 => {
                let Some(id) = Books::nth(&self.books.leases, choices) else {
                    return;
                };
                let released = self.ledger.change(sync, |books| {
                    let lease = books.leases()?.into_iter().find(|lease| lease.id == id);
                    let lease = lease.expect("it holds");
                    Ok((
                        books.release("fuzz", &lease, "ends")?,
                        books.release("fuzz", &lease, "ends")?,
                    ))
                });
                assert_eq!(released.expect("it can be written"), (true, false), "once");
                self.books.leases.remove(&id);
            }
            4 => {
                let who = choices.below(self.askers.len());
                let seconds = (choices.below(2) == 1).then_some(u64::MAX);
                let asker = &self.askers[who];
                let ticket = self
                    .ledger
                    .change(sync, |books| books.enqueue(asker, "fifo", seconds, "waits"));
                let ticket = ticket.expect("it can be written");
                assert!(
                    self.books.queue.keys().all(|other| *other < ticket),
                    "the last of all"
                );
                self.books.queue.insert(ticket, who);
            }
            5 => {
                let Some(ticket) = Books::nth(&self.books.queue, choices) else {
                    return;
                };
                let cancelled = self
                    .ledger
                    .change(sync, |books| books.cancel("fuzz", ticket, "leaves"));
                cancelled.expect("it can be written");
                self.books.queue.remove(&ticket);
            }
            6 => {
                let whole = ["A", "B", "C"][choices.below(3)].to_owned();
                let lifted = self.books.cordons.remove(&whole);
                let changed = self.ledger.change(sync, |books| {
                    if lifted {
                        return books.uncordon("fuzz", &whole, "is well");
                    }
                    books.cordon("fuzz", &whole, "is ill", None)?;
                    Ok(true)
                });
                assert!(changed.expect("it can be written"));
                if !lifted {
                    self.books.cordons.insert(whole);
                }
            }
            7 => {
                let (whole, layout) = (
                    ["A", "B"][choices.below(2)],
                    ["1g@0", "2g@0,1g@2", "whole"][choices.below(3)],
                );
                let noted = self
                    .ledger
                    .change(sync, |books| books.layout("fuzz", whole, layout));
                noted.expect("it can be written");
                self.books
                    .layouts
                    .insert(whole.to_owned(), layout.to_owned());
            }
            8 => self.recover(sync),
            // A change that fails half way has not happened.
            9 => {
                let key = DeviceKey::whole("Z");
                let asker = &self.askers[0];
                let failed = self.ledger.change(sync, |books| {
                    books.grant(asker, &[key], None, None, "fails")?;
                    books.enqueue(asker, "fifo", None, "fails")?;
                    Err::<(), _>(mapa_node::Error::at("fuzz", "it fails"))
                });
                assert!(failed.is_err());
            }
            // The program is killed: what it has committed is there, closed or not.
            10 => drop(self.copy(folder, None)),
            // The machine loses power: what was not synchronised may be gone, from the end.
            _ => self.cut(folder, choices),
        }
        self.earlier.push(self.books.clone());
    }

    fn grant(&mut self, sync: Durability, choices: &mut Choices<'_>) {
        let key = |choices: &mut Choices<'_>| DeviceKey {
            whole: ["A", "B", "C"][choices.below(3)].to_owned(),
            part: ["", "1g@0", "1g@1"][choices.below(3)].to_owned(),
        };
        let keys: Vec<DeviceKey> = (0..=choices.below(3)).map(|_| key(choices)).collect();
        let who = choices.below(self.askers.len());
        let asker = &self.askers[who];
        let ticket = Books::nth(&self.books.queue, choices).filter(|_| choices.below(2) == 1);
        let granted = self.ledger.change(sync, |books| {
            let lease = books.grant(asker, &keys, ticket, None, "grants")?;
            if let Some(ticket) = ticket {
                books.record_grant(ticket, lease)?;
                books.dequeue(ticket)?;
            }
            Ok(lease)
        });
        let held = self.books.leases.values().flat_map(|(_, devices)| devices);
        let is_held = keys
            .iter()
            .any(|key| held.clone().any(|other| collide(key, other)));
        let is_doubled =
            (1..keys.len()).any(|at| keys[..at].iter().any(|other| collide(&keys[at], other)));
        assert_eq!(
            granted.is_err(),
            is_held || is_doubled,
            "{granted:?} of {keys:?}"
        );
        if let Ok(lease) = granted {
            assert!(
                self.books.leases.insert(lease, (who, keys)).is_none(),
                "a number once"
            );
            self.books.queue.retain(|other, _| Some(*other) != ticket);
        }
    }

    /// What a crash has left is found: the dead's, of this boot or an earlier one.
    fn recover(&mut self, sync: Durability) {
        let processes = &self.processes;
        let found = self
            .ledger
            .change(sync, |books| recover(books, processes, "fuzz"));
        let found = found.expect("it can be written");
        assert!(found.adopted.is_empty(), "nobody has started anything");
        for (lease, _) in found.released {
            let (who, _) = self.books.leases.remove(&lease.id).expect("it held");
            assert_ne!(who, 0, "the living keep theirs");
        }
        for (ticket, _) in found.cancelled {
            assert_ne!(self.books.queue.remove(&ticket), Some(0), "the living stay");
        }
        // The dead's lease may be kept where another user's processes hide.
        assert!(
            self.books.leases.values().all(|(who, _)| *who != 2),
            "nobody of an earlier boot"
        );
        assert!(
            self.books.queue.values().all(|who| *who == 0),
            "only the living wait"
        );
        assert_eq!(processes.life(&self.askers[0].process), Liveness::Runs);
    }

    /// Goes on with a copy of the files, or opens one whose log was cut, as a crash leaves them.
    fn copy(&mut self, folder: &Path, cut: Option<u64>) -> Option<Ledger> {
        self.moves += 1;
        let (from, to) = (
            self.ledger.path().to_owned(),
            folder.join(format!("{}.db", self.moves)),
        );
        let name = |path: &Path, end: &str| PathBuf::from(format!("{}{end}", path.display()));
        fs::copy(&from, &to).expect("a file");
        let log = name(&from, "-wal");
        if log.exists() {
            let copied = name(&to, "-wal");
            fs::copy(&log, &copied).expect("a file");
            if let Some(length) = cut {
                let file = OpenOptions::new()
                    .write(true)
                    .open(&copied)
                    .expect("a file");
                let whole = file.metadata().expect("a file").len();
                file.set_len(whole.saturating_sub(length)).expect("a file");
            }
        }
        let opened = Ledger::open(&to).expect("what a crash leaves can be opened");
        if cut.is_some() {
            return Some(opened);
        }
        self.ledger = opened;
        None
    }

    fn cut(&mut self, folder: &Path, choices: &mut Choices<'_>) {
        let length = (choices.below(256) as u64) << choices.below(8);
        let mut left = self.copy(folder, Some(length)).expect("it is cut");
        left.verify().expect("it is whole");
        left.verify_audit().expect("its audit is whole");
        let found = Books::of(&mut left, &self.askers);
        assert!(self.earlier.contains(&found), "{found:?} was at no time");
    }

    fn check(&mut self) {
        assert_eq!(Books::of(&mut self.ledger, &self.askers), self.books);
    }
}

/// One input.
pub fn run(data: &[u8]) {
    let root = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = root.join("history");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder");
    let mut choices = Choices(data);
    let mut history = History::open(&folder);
    for _ in 0..24 {
        if choices.is_empty() {
            break;
        }
        history.step(&folder, &mut choices);
        history.check();
    }
    history.ledger.verify().expect("it is whole");
    history.ledger.verify_audit().expect("its audit is whole");
}
