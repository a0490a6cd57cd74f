//! Intent, apply, confirm: what a journal keeps, and what a manager makes of it after kill -9.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use mapa_live::levers::{
    Bounds, FolderJournal, Journal, LeverChange, LeverError, LeverEvent, LeverManager, LeverSet,
    Lifetime, ProgramSpec,
};
use mapa_live::{Cpus, Live, ProcessId};

use super::machine;

fn apply(percent: u32) -> LeverChange {
    LeverChange::MpsPercent {
        server: mapa_live::levers::MpsServer("/mps".into()),
        percent,
    }
}

#[test]
fn a_change_with_time_left_is_held_on_after_a_restart_and_one_of_a_session_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let before = twin.state();
    let open = |now| {
        let journal = FolderJournal::open(folder.path()).unwrap();
        LeverManager::open(twin.levers(), journal, now).unwrap()
    };
    let (mut manager, events) = open(0);
    assert_eq!(events, []);
    let timed = Lifetime::Until { ms: 30_000 };
    let event = manager.apply(&apply(60), timed, 0);
    assert!(
        matches!(event, LeverEvent::Applied { id: 1, .. }),
        "{event:?}"
    );
    // The same again is extended, and another value waits.
    let event = manager.apply(&apply(60), Lifetime::Until { ms: 40_000 }, 20_000);
    assert!(
        matches!(event, LeverEvent::Extended { id: 1, .. }),
        "{event:?}"
    );
    let event = manager.apply(&apply(70), timed, 0);
    assert!(
        matches!(
            &event,
            LeverEvent::Refused {
                why: LeverError::Busy { .. },
                ..
            }
        ),
        "{event:?}"
    );
    let session = LeverChange::Run {
        program: ProgramSpec::new("new", ["serve"]),
    };
    manager.apply(&session, Lifetime::Session, 0);
    // A kept change is nobody's to revert.
    let kept = LeverChange::Stop {
        program: ProgramSpec::new("old", ["serve"]),
    };
    manager.apply(&kept, Lifetime::Kept, 0);
    assert_eq!(manager.active().count(), 2);
    // The program is killed; the kernel closes its lock.
    let (journal, held) = (FolderJournal::open(folder.path()), manager.active().count());
    assert_eq!((journal.unwrap_err().reason(), held), ("busy", 2));
    drop_without_revert(manager, folder.path());
    let (mut manager, events) = open(35_000);
    assert!(
        matches!(events[..], [LeverEvent::Reverted { id: 2, .. }]),
        "{events:?}"
    );
    assert_eq!(manager.active().count(), 1, "extended to 40 s");
    assert_eq!(manager.close().len(), 1);
    drop(manager);
    let mut after = twin.state();
    assert!(!after.programs.contains("old"), "kept");
    after.programs.insert("old".to_owned());
    assert_eq!(after, before);
    assert_eq!(
        FolderJournal::open(folder.path())
            .unwrap()
            .entries()
            .unwrap(),
        []
    );
}

/// Drops a manager as kill -9 does: the journal stays, and its lock goes. The files are kept aside meanwhile.
fn drop_without_revert(manager: LeverManager<FolderJournal>, folder: &std::path::Path) {
    let kept: Vec<(std::path::PathBuf, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|text| text == "json"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    let mut manager = manager;
    *manager.levers() = super::machine().levers();
    drop(manager);
    for (path, bytes) in kept {
        fs::write(path, bytes).unwrap();
    }
}

/// Whoever can write a journal can have its user revert anything.
#[test]
fn a_journal_that_others_can_write_is_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/own");
    drop(FolderJournal::open(&path).unwrap());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for open in [0o770, 0o702] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
        let error = FolderJournal::open(&path).unwrap_err().to_string();
        assert!(error.contains("that nobody else can write"), "{error}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    // A name that is led elsewhere later is not followed, nor is one that leads elsewhere.
    let mut journal = FolderJournal::open(&path).unwrap();
    let away = folder.path().join("away");
    fs::rename(&path, &away).unwrap();
    symlink("/", &path).unwrap();
    journal.remove(1).unwrap();
    assert_eq!(journal.entries().unwrap(), []);
    drop(journal);
    let error = FolderJournal::open(&path).unwrap_err().to_string();
    let folder = folder.path().to_str().unwrap();
    insta::assert_snapshot!(
        error.replace(folder, "FOLDER"),
        @"journal FOLDER/a/own: Not a directory (os error 20)"
    );
    // Only root can give a folder away.
    if std::os::unix::fs::chown(&away, Some(12_345), None).is_ok() {
        let error = FolderJournal::open(&away).unwrap_err().to_string();
        insta::assert_snapshot!(
            error.replace(folder, "FOLDER"),
            @"journal FOLDER/away: it belongs to user 12345 and has mode 755: expected a folder of user 0 that nobody else can write"
        );
    }
}

/// A folder that was open to a group once may have kept what somebody of it has put there.
#[test]
fn an_entry_that_others_have_written_or_can_write_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let mut journal = FolderJournal::open(folder.path()).unwrap();
    let (mut manager, _) = LeverManager::open(
        machine().levers(),
        mapa_live::levers::MemoryJournal::default(),
        0,
    )
    .unwrap();
    manager.apply(&apply(60), Lifetime::Session, 0);
    let entry = manager.active().next().unwrap();
    journal.put(entry).unwrap();
    assert_eq!(journal.entries().unwrap(), std::slice::from_ref(entry));
    let file = folder.path().join("00000000000000000001.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    let error = journal.entries().unwrap_err().to_string();
    assert!(
        error.contains("0001.json") && error.contains("expected a file of user"),
        "{error}"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(journal.entries().is_ok());
    // Only root can give a file away.
    if chown(&file, Some(12_345), None).is_ok() {
        let error = journal.entries().unwrap_err().to_string();
        let folder = folder.path().to_str().unwrap();
        insta::assert_snapshot!(
            error.replace(folder, "FOLDER"),
            @"journal FOLDER/00000000000000000001.json: it belongs to user 12345 and has mode 600: expected a file of user 0 that nobody else can write"
        );
    }
}

#[test]
fn a_broken_journal_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FolderJournal::open(folder.path()).unwrap();
    fs::write(folder.path().join("00000000000000000007.json"), "{").unwrap();
    fs::write(folder.path().join(".tmpXYZ"), "half of a file").unwrap();
    let error = journal.entries().unwrap_err().to_string();
    let folder = folder.path().to_str().unwrap();
    insta::assert_snapshot!(
        error.replace(folder, "FOLDER"),
        @"journal FOLDER/00000000000000000007.json: EOF while parsing an object at line 1 column 1"
    );
}

/// A journal that says when its first entry is written, and writes no other if it is to stop there.
struct Telling {
    journal: FolderJournal,
    has_told: bool,
    stops: bool,
}

impl Journal for Telling {
    fn put(&mut self, entry: &mapa_live::levers::JournalEntry) -> Result<(), LeverError> {
        self.journal.put(entry)?;
        if !self.has_told {
            self.has_told = true;
            println!("written");
        }
        if self.stops {
            // Until it is killed.
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
        Ok(())
    }

    fn remove(&mut self, id: u64) -> Result<(), LeverError> {
        self.journal.remove(id)
    }

    fn entries(&self) -> Result<Vec<mapa_live::levers::JournalEntry>, LeverError> {
        self.journal.entries()
    }
}

/// What the killed program does: this test binary, run once more with `MAPA_TEST_KILLED` set. It applies changes to
/// this machine until it is killed.
#[test]
fn killed_program() {
    let Ok(folder) = std::env::var("MAPA_TEST_KILLED") else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    let journal = Telling {
        journal: FolderJournal::open(folder.join("journal")).unwrap(),
        has_told: false,
        stops: std::env::var_os("MAPA_TEST_STOPS").is_some(),
    };
    let levers = LeverSet::by_command(&Live::default(), Bounds::default());
    let (mut manager, _) = LeverManager::open(levers, journal, 0).unwrap();
    let pid: i32 = std::env::var("MAPA_TEST_VICTIM").unwrap().parse().unwrap();
    let process = ProcessId::of("/proc".as_ref(), pid).unwrap().unwrap();
    let first = cpus_of(pid).iter().next().unwrap();
    for round in 0.. {
        let affinity = LeverChange::Affinity {
            process,
            cpus: [first].into_iter().collect(),
        };
        let mut program = ProgramSpec::new(format!("mapa-test-{pid}"), ["sleep", "100000"]);
        program.stop_s = 1;
        let a = manager.apply(&affinity, Lifetime::Session, round);
        let b = manager.apply(&LeverChange::Run { program }, Lifetime::Session, round);
        for event in [a, b] {
            if let LeverEvent::Applied { id, .. } = event {
                manager.revert(id);
            }
        }
    }
}

/// The CPUs on which a process may run.
fn cpus_of(pid: impl std::fmt::Display) -> Cpus {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap().parse().unwrap()
}

#[test]
fn a_program_that_is_killed_while_it_applies_a_change_leaves_nothing_behind() {
    let rounds: u32 = std::env::var("MAPA_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap());
    if cpus_of(std::process::id()).len() == 1 {
        eprintln!("skipped: one CPU, and so no affinity to set");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut victim = Command::new("sleep").arg("100000").spawn().unwrap();
    let before = cpus_of(victim.id());
    let mark = format!("MAPA_LAUNCH=mapa-test-{}", victim.id());
    let mut left_behind = 0;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["levers::journal::killed_program", "--exact", "--nocapture"])
            .env("MAPA_TEST_KILLED", folder.path())
            .env("MAPA_TEST_VICTIM", victim.id().to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if round == 0 {
            // One is killed in the midst of a change, however slow the machine is.
            child.env("MAPA_TEST_STOPS", "");
        }
        let mut child = child.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("written") {
            line.clear();
            assert!(
                out.read_line(&mut line).unwrap() > 0,
                "it applies no changes"
            );
        }
        // Kills come at any step: the times are spread over two rounds of changes.
        let micros = u64::from(round) * 7919 % 60_000;
        std::thread::sleep(std::time::Duration::from_micros(micros));
        child.kill().unwrap();
        child.wait().unwrap();
        let journal = FolderJournal::open(folder.path().join("journal")).unwrap();
        left_behind += journal.entries().unwrap().len();
        let levers = LeverSet::by_command(&Live::default(), Bounds::default());
        let (manager, events) = LeverManager::open(levers, journal, 0).unwrap();
        assert!(
            events
                .iter()
                .all(|event| matches!(event, LeverEvent::Reverted { .. })),
            "{events:?}"
        );
        assert_eq!(manager.active().count(), 0);
        drop(manager);
        assert_eq!(cpus_of(victim.id()), before);
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let mut words = environment.split(|&byte| byte == 0);
            assert!(
                !words.any(|word| word == mark.as_bytes()),
                "{:?} lives",
                entry.path()
            );
        }
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(left_behind > 0, "no kill came in the midst of a change");
}

/// What was put in a folder while it was open to others is neither followed, nor truncated, nor waited for.
#[test]
fn links_and_pipes_that_were_planted_in_a_journal_are_refused() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    fs::write(&target, "precious").unwrap();
    let pipe = |path: &std::path::Path| {
        let made = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    let path = folder.path().join("own");
    drop(FolderJournal::open(&path).unwrap());
    // In place of its lock.
    let lock = path.join("lock");
    fs::remove_file(&lock).unwrap();
    symlink(&target, &lock).unwrap();
    assert!(FolderJournal::open(&path).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    fs::remove_file(&lock).unwrap();
    pipe(&lock);
    assert!(FolderJournal::open(&path).is_err());
    fs::remove_file(&lock).unwrap();
    // In place of an entry: this user's own file elsewhere is none.
    let journal = FolderJournal::open(&path).unwrap();
    let entry = path.join("00000000000000000001.json");
    symlink(&target, &entry).unwrap();
    let refused = || {
        let error = journal.entries().unwrap_err().to_string();
        assert!(error.contains("0001.json"), "{error}");
        fs::remove_dir(&entry)
            .or_else(|_| fs::remove_file(&entry))
            .unwrap();
        error
    };
    refused();
    pipe(&entry);
    refused();
    fs::create_dir(&entry).unwrap();
    assert!(refused().contains("expected a file"));
    let large = fs::File::create(&entry).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    assert!(refused().contains("at most 16777216 bytes"));
    assert_eq!(journal.entries().unwrap(), []);
}
