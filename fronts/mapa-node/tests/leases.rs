//! Leases of owners outside: only their word ends them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fake_nvml::Process;
use mapa_core::testing::seed;
use mapa_front::{JobSpec, MachineSpec, PolicySpec};
use mapa_live::Live;
use mapa_node::{DeviceKey, Durability, Error, Leases, Ledger, OutsideOwner, Processes, recover};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::common::{Machine, Place, asker, error, text};
use super::daemon::Daemon;
use super::served::{self, Connection};

fn open(place: &Place) -> Leases {
    let machine = MachineSpec::named("dgx-a100");
    Leases::open(place.ledger(), &machine, &Default::default()).unwrap()
}

fn pod(name: &str) -> OutsideOwner {
    OutsideOwner::new("kubernetes", name).unwrap()
}

fn gpus(count: usize) -> JobSpec {
    JobSpec {
        gpus: Some(count),
        ..JobSpec::default()
    }
}

fn is_busy(error: &Error) -> bool {
    error.exit_status() == 75
}

#[test]
fn a_kind_and_a_name_have_few_characters_and_an_end() {
    let longest = "a".repeat(256);
    for (kind, name) in [
        ("kubernetes", "0b2f7c1e-11aa_x.y/z:1"),
        ("s", &longest),
        (&longest[..32], "1"),
    ] {
        OutsideOwner::new(kind, name).unwrap();
    }
    let long = "a".repeat(257);
    for (kind, name, at) in [
        ("", "a", "kind"),
        (&long[..33], "a", "kind"),
        ("Kubernetes", "a", "kind"),
        ("k8s pod", "a", "kind"),
        ("slurm", "", "name"),
        ("slurm", &long, "name"),
        ("slurm", "job\n7", "name"),
        ("slurm", "j\u{e4}ger", "name"),
        ("slurm", "a\"b", "name"),
    ] {
        let error = OutsideOwner::new(kind, name).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        let said = error.to_string();
        assert!(
            said.contains(at) && said.contains("expected 1 to"),
            "{said}"
        );
    }
}

#[test]
fn every_command_shows_the_owner_and_no_process() {
    let place = Place::new();
    open(&place)
        .grant(&pod("pod-1"), &["GPU2", "GPU0"], "the pod starts")
        .unwrap();
    let owner = serde_json::json!({"kind": "kubernetes", "name": "pod-1"});

    let row = place.json(&["ps"])["leases"][0].clone();
    assert_eq!(row["owner"], owner, "{row}");
    assert!(
        row["pid"].is_null() && row["command_pid"].is_null(),
        "{row}"
    );
    assert_eq!(row["devices"], serde_json::json!(["GPU2", "GPU0"]));
    let shown = text(&place.run(&["ps"]));
    assert!(
        shown.contains("kubernetes pod-1") && shown.contains("held"),
        "{shown}"
    );

    let free = place.json(&["free"]);
    assert_eq!(free["free"], 6);
    assert_eq!(free["devices"][2]["owner"], owner);
    assert!(free["devices"][1]["owner"].is_null());
    let shown = text(&place.run(&["free"]));
    assert!(shown.contains("lease 1 of kubernetes pod-1"), "{shown}");

    let log = place.log();
    let grant = log.iter().find(|row| row["kind"] == "grant").unwrap();
    let said = grant["owner"].as_str().unwrap();
    assert!(said.ends_with("for kubernetes pod-1"), "{said}");
    // A job is not given what a pod has.
    let all = place.run(&["run", "-n", "7", "--", "true"]);
    assert_eq!(all.status.code(), Some(75), "{}", error(&all));
}

#[test]
fn only_the_same_owner_ends_a_lease_and_may_say_so_twice() {
    let place = Place::new();
    let mut leases = open(&place);
    let one = leases.grant(&pod("a"), &["GPU0"], "test").unwrap().id;
    let job = OutsideOwner::new("slurm", "a").unwrap();
    let user = pod("a").registered_by(4711);
    for other in [&pod("b"), &job, &user] {
        let error = leases.end(other, one).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        let said = error.to_string();
        assert!(
            said.contains("kubernetes a") && said.contains("expected its owner"),
            "{said}"
        );
    }
    assert_eq!(leases.of("kubernetes").unwrap().len(), 1);
    assert_eq!(leases.of("slurm").unwrap(), []);
    assert!(leases.end(&pod("a"), one).unwrap());
    assert!(!leases.end(&pod("a"), one).unwrap());
    assert!(!leases.end(&pod("a"), 999).unwrap());
    // Root may end what a user has registered.
    let theirs = leases.grant(&user, &["GPU0"], "test").unwrap();
    assert!(leases.end(&pod("a").registered_by(0), theirs.id).unwrap());
    // The lease of a process is no owner's.
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let asker = asker(&Processes::new().unwrap());
    let device = DeviceKey::whole("GPU0");
    let own = ledger.change(Durability::Boot, |books| {
        books.grant(&asker, &[device], None, None, "test")
    });
    let said = leases.end(&pod("a"), own.unwrap()).unwrap_err().to_string();
    let pid = std::process::id();
    assert!(said.contains(&format!("(process {pid})")), "{said}");
    ledger.verify_audit().unwrap();
}

#[test]
fn what_is_held_is_busy_and_what_is_not_there_is_malformed() {
    check_busy(&Place::new());
}

/// All of it once more where the ledger is a daemon's: there, the program asks at its socket.
#[test]
fn a_daemon_registers_and_ends_leases_for_operators() {
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    Connection::of(&place);
    check_busy(&place);
    let mut leases = open(&place);
    let policy = PolicySpec::default();
    let two = leases.acquire(&pod("c"), &gpus(2), &policy).unwrap();
    assert_eq!(two.devices.len(), 2);
    let never = leases.acquire(&pod("c"), &gpus(9), &policy).unwrap_err();
    assert_eq!(never.exit_status(), 69, "{never}");
    let error = leases.end(&pod("a"), two.id).unwrap_err().to_string();
    assert!(error.contains("kubernetes c"), "{error}");
    let before = leases.of("kubernetes").unwrap();
    assert_eq!(before.len(), 3);
    // It outlives the daemon, and the next one leaves it to its owner.
    assert_eq!(daemon.end("-KILL"), None);
    let _daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    Connection::of(&place);
    assert_eq!(leases.of("kubernetes").unwrap(), before);
    let row = place.json(&["ps"])["leases"].clone();
    let owners = row
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["owner"]["name"]);
    assert_eq!(owners.filter(|name| **name == "c").count(), 1, "{row}");
    assert!(leases.end(&pod("c"), two.id).unwrap());
    assert!(!leases.end(&pod("c"), two.id).unwrap());
}

/// A user who is no operator may not register what outlives its processes.
#[test]
fn a_daemon_registers_no_lease_for_a_user() {
    let Some((place, _daemon)) = served::shared() else {
        return;
    };
    let query = serde_json::json!({"query": "register", "owner": {"kind": "k", "name": "n"},
        "devices": ["GPU0"], "reason": ""});
    let answer = served::ask_as(&place, 0, &query);
    assert_eq!(answer["answer"], "error", "{answer}");
    let said = answer["error"].as_str().unwrap();
    assert!(said.contains("expected root"), "{said}");
    assert_eq!(place.json(&["free"])["free"], 8);
}

fn check_busy(place: &Place) {
    let mut leases = open(place);
    leases.grant(&pod("a"), &["GPU0"], "test").unwrap();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let asker = asker(&Processes::new().unwrap());
    let device = DeviceKey::whole("GPU1");
    ledger
        .change(Durability::Boot, |books| {
            books.grant(&asker, &[device], None, None, "test")
        })
        .unwrap();
    let pid = format!("(process {})", std::process::id());
    for (device, by) in [("GPU0", "for kubernetes a"), ("GPU1", pid.as_str())] {
        let error = leases.grant(&pod("b"), &["GPU5", device], "test");
        let error = error.unwrap_err();
        assert!(is_busy(&error), "{error}");
        let said = error.to_string();
        assert!(said.contains(device) && said.contains(by), "{said}");
    }
    let none: [&str; 0] = [];
    for (devices, said) in [
        (&["GPU9"][..], "GPU9"),
        (&["GPU5", "5"], "named twice"),
        (&none, "at least one"),
    ] {
        let error = leases.grant(&pod("b"), devices, "test").unwrap_err();
        assert_eq!(error.exit_status(), 2, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    // Nothing of that is left.
    assert_eq!(leases.of("kubernetes").unwrap().len(), 1);
    leases.grant(&pod("b"), &["GPU5"], "test").unwrap();
}

#[test]
fn an_owner_that_lets_choose_gets_what_a_job_would_get() {
    let place = Place::new();
    let mut leases = open(&place);
    let policy = PolicySpec::default();
    let cordon = place.run(&["cordon", "GPU0", "--reason", "fan"]);
    assert!(cordon.status.success());
    let error = leases.acquire(&pod("a"), &gpus(8), &policy).unwrap_err();
    assert!(is_busy(&error), "{error}");
    assert!(error.to_string().contains("fan"), "{error}");
    let seven = leases.acquire(&pod("a"), &gpus(7), &policy).unwrap();
    assert!(!seven.devices.contains(&DeviceKey::whole("GPU0")));
    // Who has chosen it itself is not asked why.
    let own = leases.grant(&pod("b"), &["GPU0"], "it runs already");
    assert!(leases.end(&pod("b"), own.unwrap().id).unwrap());
    assert!(leases.end(&pod("a"), seven.id).unwrap());

    for (count, status) in [(9, 69), (0, 2)] {
        let error = leases.acquire(&pod("a"), &gpus(count), &policy);
        assert_eq!(error.unwrap_err().exit_status(), status);
    }
    // Whoever waits comes first, though devices are free.
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let asker = asker(&Processes::new().unwrap());
    for order in ["first-come", "easy-backfill"] {
        let ticket = ledger.change(Durability::Boot, |books| {
            books.enqueue(&asker, order, None, "test")
        });
        let error = leases.acquire(&pod("a"), &gpus(1), &policy).unwrap_err();
        assert!(is_busy(&error), "{error}");
        assert!(error.to_string().contains("1 job waits"), "{error}");
        let never = leases.acquire(&pod("a"), &gpus(9), &policy).unwrap_err();
        assert_eq!(never.exit_status(), 69);
        ledger
            .change(Durability::Boot, |books| {
                books.cancel("tester", ticket?, "test")
            })
            .unwrap();
    }
    leases.acquire(&pod("a"), &gpus(1), &policy).unwrap();
}

#[test]
fn release_ends_the_lease_of_an_owner_outside_by_force_only() {
    let place = Place::new();
    let mut leases = open(&place);
    let id = leases.grant(&pod("a"), &["GPU0"], "test").unwrap().id;
    let id = id.to_string();
    let refused = place.run(&["release", &id]);
    assert_eq!(refused.status.code(), Some(2));
    let said = error(&refused);
    let uid = rustix::process::geteuid().as_raw();
    for part in [
        "is of kubernetes a",
        "expected kubernetes to end it",
        &format!("--force by root or user {uid}"),
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(place.leases().len(), 1);
    place.json(&["release", "--force", &id]);
    assert_eq!(place.leases().len(), 0);
    let log = place.log();
    let row = log.last().unwrap();
    assert_eq!(row["kind"], "release");
    let why = row["reason"].as_str().unwrap();
    assert!(why.starts_with("ended by force"), "{why}");
    assert!(!leases.end(&pod("a"), 1).unwrap());
}

#[test]
fn recovery_and_a_restart_leave_the_lease_of_an_owner_outside_alone() {
    let place = Place::new();
    let mut leases = open(&place);
    let held = leases.grant(&pod("a"), &["GPU0"], "test").unwrap();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let now = Processes::new().unwrap();
    for processes in [now.clone(), now.of_boot("later")] {
        let found = ledger.change(Durability::Boot, |books| {
            recover(books, &processes, "tester")
        });
        let found = found.unwrap();
        assert!(found.is_clean(), "{found:?}");
        let [lease] = &found.leases[..] else {
            panic!("{found:?}");
        };
        let of = (lease.id, lease.owner.as_ref(), &lease.devices);
        assert_eq!(of, (held.id, Some(&held.owner), &held.devices));
        assert_eq!(lease.process(), None);
    }
    assert!(text(&place.run(&["recover"])).contains("1 lease hold"));
    assert_eq!(leases.of("kubernetes").unwrap(), [held]);
}

/// The ledger of a helper, which registers an owner and is killed: see the next test.
const HELPER: &str = "MAPA_TEST_REGISTERS";

#[test]
fn a_program_that_registers_an_owner_and_waits() {
    let Some(folder) = std::env::var_os(HELPER).map(PathBuf::from) else {
        return;
    };
    let machine = MachineSpec::named("dgx-a100");
    let leases = Leases::open(folder.join("ledger.db"), &machine, &Default::default());
    leases.unwrap().grant(&pod("a"), &["GPU3"], "test").unwrap();
    std::fs::write(folder.join("registered"), "").unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_lease_outlives_kill_9_of_the_program_that_registered_it() {
    let place = Place::new();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "leases::a_program_that_registers_an_owner_and_waits",
        ])
        .env(HELPER, place.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !place.path().join("registered").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(place.run(&["recover"]).status.success());
    let row = place.json(&["ps"])["leases"][0].clone();
    assert_eq!(row["owner"]["name"], "a", "{row}");
    // Another that is started in its place finds it, and ends it.
    let mut leases = open(&place);
    let found = leases.of("kubernetes").unwrap();
    let [lease] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(leases.end(&pod("a"), lease.id).unwrap());
    assert_eq!(place.json(&["free"])["free"], 8);
}

#[test]
fn processes_on_the_devices_of_an_owner_outside_are_neither_foreign_nor_strays() {
    let machine = Machine::of("dgx-a100");
    let mut computes = Command::new("sleep").arg("600").spawn().unwrap();
    let running = Process::running(computes.id()).unwrap();
    machine.fake.start_process(0, running).unwrap();
    assert_eq!(machine.json(&["free"])["free"], 7, "it is foreign so far");
    // The ledger is bound to a machine with the UUIDs of this one.
    let mut ledger = Ledger::open(machine.ledger()).unwrap();
    let device = DeviceKey::whole(machine.fake.uuid(0).unwrap());
    let change = |ledger: &mut Ledger| {
        ledger.change(Durability::Disk, |books| {
            books.grant_outside(&pod("a"), &[device], "test")
        })
    };
    let lease = change(&mut ledger).unwrap();
    let free = machine.json(&["free"]);
    assert_eq!(free["free"], 7, "{free}");
    assert!(free["devices"][0]["withheld"].is_null(), "{free}");
    assert_eq!(free["devices"][0]["lease"], lease);
    let all = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert_eq!(all.status.code(), Some(75), "{}", error(&all));
    assert!(!error(&all).contains("withheld"), "{}", error(&all));
    // A lease that has ended covers nobody.
    ledger
        .change(Durability::Disk, |books| {
            let leases = books.leases()?;
            books.release("tester", &leases[0], "test")
        })
        .unwrap();
    let free = machine.json(&["free"]);
    let why = free["devices"][0]["withheld"].as_str().unwrap();
    assert!(why.contains("mapa did not start it"), "{why}");
    computes.kill().unwrap();
    computes.wait().unwrap();
    let log = machine.json(&["log", "-n", "100"]);
    let kinds = log["decisions"].as_array().unwrap().iter();
    assert!(!{ kinds }.any(|row| row["kind"] == "stray"), "{log}");
}

#[test]
fn instances_are_granted_and_acquired_and_their_device_is_not_there() {
    let machine = Machine::of("dgx-a100");
    machine.fake.set_mig(0, true).unwrap();
    for profile in ["3g.20gb", "1g.5gb"] {
        machine.fake.create_instance(0, profile, None).unwrap();
    }
    let mut live = Live::default();
    live.nvml = machine.path().join("driver/libnvidia-ml.so.1");
    live.cache = None;
    let mut leases = Leases::open(machine.ledger(), &MachineSpec::default(), &live).unwrap();
    let slice = JobSpec {
        slice: Some("1g.5gb".to_owned()),
        ..gpus(1)
    };
    let policy = PolicySpec::default();
    let one = leases.acquire(&pod("a"), &slice, &policy).unwrap();
    let free = machine.json(&["free"]);
    let rows = free["devices"].as_array().unwrap().iter();
    let held: Vec<_> = rows.filter(|row| row["lease"] == one.id).collect();
    assert_eq!(held.len(), 1, "{free}");
    // By its UUID, and as the ledger names it.
    let uuid = one.devices[0].part.clone();
    for word in [uuid, one.devices[0].to_string()] {
        let error = leases.grant(&pod("b"), &[word], "test").unwrap_err();
        assert!(is_busy(&error), "{error}");
    }
    assert!(is_busy(
        &leases.acquire(&pod("b"), &slice, &policy).unwrap_err()
    ));
    let whole = leases.grant(&pod("b"), &["GPU0"], "test").unwrap_err();
    assert_eq!(whole.exit_status(), 2, "{whole}");
    // An instance that comes while this program runs.
    machine.fake.create_instance(0, "1g.5gb", None).unwrap();
    leases.acquire(&pod("b"), &slice, &policy).unwrap();
    leases.grant(&pod("b"), &["GPU7"], "test").unwrap();
}

/// A ledger of the version before leases could have owners.
#[test]
fn ledger_of_version_6_keeps_its_leases_which_have_processes() {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let asker = asker(&Processes::new().unwrap());
    let key = DeviceKey::whole("GPU0");
    let lease = ledger.change(Durability::Boot, |books| {
        books.grant(&asker, &[key], None, None, "test")
    });
    let lease = lease.unwrap();
    drop(ledger);
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    database
        .execute_batch(
            "DROP INDEX waiting; ALTER TABLE leases DROP COLUMN owner_name; ALTER TABLE leases DROP COLUMN owner_kind; PRAGMA user_version = 6;",
        )
        .unwrap();
    drop(database);
    let mut leases = open(&place);
    let other = leases.grant(&pod("a"), &["GPU1"], "test").unwrap();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let found = ledger.read(|books| books.leases()).unwrap();
    let [old, new] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((old.id, old.process()), (lease, Some(&asker.process)));
    assert_eq!((new.id, &new.devices), (other.id, &other.devices));
    ledger.verify().unwrap();
    ledger.verify_audit().unwrap();
}

/// What holds, as a test keeps it: lease to devices.
#[derive(Default)]
struct Model {
    /// Of this process, which lives.
    living: BTreeMap<i64, BTreeSet<usize>>,
    /// Of a process that is dead.
    dead: BTreeMap<i64, BTreeSet<usize>>,
    /// Of owners outside, with their names.
    outside: BTreeMap<i64, (String, BTreeSet<usize>)>,
}

impl Model {
    fn held(&self) -> impl Iterator<Item = usize> {
        let outside = self.outside.values().map(|(_, devices)| devices);
        let all = self
            .living
            .values()
            .chain(self.dead.values())
            .chain(outside);
        all.flatten().copied()
    }

    fn is_free(&self, devices: &BTreeSet<usize>) -> bool {
        self.held().all(|device| !devices.contains(&device))
    }
}

fn numbers(devices: &[DeviceKey]) -> BTreeSet<usize> {
    let names = devices
        .iter()
        .map(|key| key.whole.trim_start_matches("GPU"));
    names.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn no_order_of_grants_ends_and_recoveries_gives_a_device_twice_or_loses_one() {
    for own in 0..4 {
        interleave(seed(own));
    }
}

fn interleave(seed: u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let place = Place::new();
    let mut leases = open(&place);
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let later = processes.clone().of_boot("later");
    let alive = asker(&processes);
    let mut dead = alive.clone();
    dead.process.id.start += 1;
    let mut model = Model::default();
    for step in 0..150 {
        let at = format!("seed {seed}, step {step}");
        let count = random.random_range(1..=3);
        let devices: BTreeSet<usize> = (0..count).map(|_| random.random_range(0..8)).collect();
        let names: Vec<String> = devices
            .iter()
            .map(|number| format!("GPU{number}"))
            .collect();
        let name = format!("pod-{}", random.random_range(0..4));
        let any = model.outside.keys().nth(random.random_range(0..4)).copied();
        match random.random_range(0..10) {
            // A job, whose process lives, or has been killed.
            0..=2 => {
                let is_dead = random.random_bool(0.5);
                let asker = if is_dead { &dead } else { &alive };
                let keys: Vec<DeviceKey> =
                    names.iter().map(|name| DeviceKey::whole(name)).collect();
                let given = ledger.change(Durability::Boot, |books| {
                    recover(books, &processes, "tester")?;
                    books.grant(asker, &keys, None, None, "test")
                });
                // A change that fails undoes its recovery too.
                let mut after = std::mem::take(&mut model.dead);
                let is_free = model.is_free(&devices);
                assert_eq!(given.is_ok(), is_free, "{at}: {given:?}");
                if let Ok(id) = given {
                    after.clear();
                    let of = if is_dead {
                        &mut after
                    } else {
                        &mut model.living
                    };
                    of.insert(id, devices);
                }
                model.dead = after;
            }
            3..=5 => {
                let given = leases.grant(&pod(&name), &names, "test");
                model.dead.clear();
                assert_eq!(given.is_ok(), model.is_free(&devices), "{at}: {given:?}");
                match given {
                    Ok(lease) => drop(model.outside.insert(lease.id, (name, devices))),
                    Err(error) => assert!(is_busy(&error), "{at}: {error}"),
                }
            }
            6 => {
                let given = leases.acquire(&pod(&name), &gpus(count), &PolicySpec::default());
                model.dead.clear();
                let free = 8 - model.held().count();
                assert_eq!(given.is_ok(), count <= free, "{at}: {given:?}");
                if let Ok(lease) = given {
                    assert!(model.is_free(&numbers(&lease.devices)), "{at}: {lease:?}");
                    model
                        .outside
                        .insert(lease.id, (name, numbers(&lease.devices)));
                }
            }
            // Sometimes by the right name, mostly not.
            7 => {
                let Some(id) = any else { continue };
                let is_owner = model.outside[&id].0 == name;
                let ended = leases.end(&pod(&name), id);
                assert_eq!(ended.is_ok(), is_owner, "{at}: {ended:?}");
                if is_owner {
                    model.outside.remove(&id);
                    assert!(!leases.end(&pod(&name), id).unwrap(), "{at}");
                }
            }
            8 => {
                let Some(&id) = model.living.keys().next() else {
                    continue;
                };
                // Nobody outside ends the lease of a process.
                assert!(leases.end(&pod(&name), id).is_err(), "{at}");
                let ended = ledger.change(Durability::Boot, |books| {
                    let all = books.leases()?;
                    let own = all.iter().find(|lease| lease.id == id).unwrap();
                    books.release("tester", own, "test")
                });
                assert!(ended.unwrap(), "{at}");
                model.living.remove(&id);
            }
            _ => {
                let is_later = random.random_bool(0.3);
                let of = if is_later { &later } else { &processes };
                let done = ledger.change(Durability::Boot, |books| recover(books, of, "tester"));
                done.unwrap();
                model.dead.clear();
                if is_later {
                    model.living.clear();
                }
            }
        }
        let found = ledger.read(|books| books.leases()).unwrap();
        let expected = (model.living.iter().chain(&model.dead))
            .chain(model.outside.iter().map(|(id, (_, devices))| (id, devices)));
        let expected: BTreeMap<i64, BTreeSet<usize>> = expected
            .map(|(id, devices)| (*id, devices.clone()))
            .collect();
        let held: BTreeMap<i64, BTreeSet<usize>> = found
            .iter()
            .map(|lease| (lease.id, numbers(&lease.devices)))
            .collect();
        assert_eq!(held, expected, "{at}");
        let all: Vec<usize> = held.values().flatten().copied().collect();
        let different: BTreeSet<usize> = all.iter().copied().collect();
        assert_eq!(all.len(), different.len(), "{at}: {held:?}");
        for lease in &found {
            let name = lease.owner.as_ref().map(OutsideOwner::name);
            let known = model.outside.get(&lease.id).map(|(name, _)| name.as_str());
            assert_eq!(name, known, "{at}");
        }
    }
    ledger.verify_audit().unwrap();
}
