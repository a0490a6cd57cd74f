//! Power loss, simulated: after every write the files are copied, and what a disk may have lost of
//! them is taken away. The ledger opens, what was promised is there, and what is there has happened.

use std::fs;
use std::path::{Path, PathBuf};

use mapa_node::{DeviceKey, Durability, Ledger, Processes, Requester, now, recover};

use super::common::{Place, asker};

/// What of a ledger is compared: the leases, and the cordons.
type State = (Vec<i64>, Vec<String>);

/// The bytes of a frame of the log: a page and its header.
const FRAME: usize = 4096 + 24;

/// The bytes before the first frame.
const HEADER: usize = 32;

/// Opens a ledger that may have lost writes.
fn state(path: &Path) -> State {
    let mut ledger = Ledger::open(path).unwrap();
    ledger.verify().unwrap();
    ledger
        .read(|books| {
            let leases = books.leases()?.iter().map(|lease| lease.id).collect();
            let cordons = books
                .cordons(now())?
                .into_iter()
                .map(|cordon| cordon.device)
                .collect();
            Ok((leases, cordons))
        })
        .unwrap()
}

fn log_of(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

/// How many writes there are: `MAPA_WRITES`, 24 if it is not set.
fn rounds() -> usize {
    std::env::var("MAPA_WRITES").map_or(24, |text| text.parse().unwrap())
}

/// One run: leases that come and go, and cordons. Returns after each write the state, and whether
/// it was promised to be on the disk. `each` sees the files after each.
fn writes(path: &Path, asker: &Requester, mut each: impl FnMut(usize, State, bool)) {
    let mut ledger = Ledger::open(path).unwrap();
    let mut held: Vec<i64> = Vec::new();
    for at in 0..rounds() {
        let on_disk = at % 6 == 3;
        if on_disk {
            let device = format!("GPU{}", at / 6 % 8);
            ledger
                .change(Durability::Disk, |books| {
                    books.cordon("tester", &device, "test", None)
                })
                .unwrap();
        } else if held.len() > 3 {
            let oldest = held.remove(0);
            ledger
                .change(Durability::Boot, |books| {
                    let lease = books
                        .leases()?
                        .into_iter()
                        .find(|lease| lease.id == oldest)
                        .unwrap();
                    books.release("tester", &lease, "test")
                })
                .unwrap();
        } else {
            let device = DeviceKey {
                whole: format!("GPU{at}"),
                part: String::new(),
            };
            held.push(
                ledger
                    .change(Durability::Boot, |books| {
                        books.grant(asker, &[device], None, None, "test")
                    })
                    .unwrap(),
            );
        }
        let now = ledger
            .read(|books| {
                let leases = books.leases()?.iter().map(|lease| lease.id).collect();
                let cordons = books
                    .cordons(now())?
                    .into_iter()
                    .map(|cordon| cordon.device)
                    .collect();
                Ok((leases, cordons))
            })
            .unwrap();
        each(at, now, on_disk);
    }
}

#[test]
fn a_log_that_lost_its_end_opens_with_a_past_that_has_all_that_was_promised() {
    let place = Place::new();
    let asker = asker(&Processes::new().unwrap());
    let path = place.ledger();
    let mut states: Vec<State> = Vec::new();
    // Of the last promise: which write, and how much of the log there was then.
    let mut promised: Option<(usize, usize)> = None;
    let mut checked = 0;
    writes(&path, &asker, |at, state_now, on_disk| {
        states.push(state_now);
        let (file, log) = (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap());
        if on_disk {
            promised = Some((at, log.len()));
        }
        let Some((first, safe)) = promised else {
            return;
        };
        // Every end of a frame beyond what was promised, and ends within frames.
        let ends = (HEADER..=log.len())
            .step_by(FRAME)
            .flat_map(|end| [end, end + 24, end + 2000]);
        for end in ends
            .chain([log.len()])
            .filter(|end| (safe..=log.len()).contains(end))
        {
            // What is lost is missing, or is there as zeros.
            for lost in [Vec::new(), vec![0; log.len() - end]] {
                let copy = place.path().join("copy.db");
                for old in ["copy.db", "copy.db-wal", "copy.db-shm"] {
                    drop(fs::remove_file(place.path().join(old)));
                }
                fs::write(&copy, &file).unwrap();
                fs::write(log_of(&copy), [&log[..end], &lost].concat()).unwrap();
                let found = state(&copy);
                assert!(
                    states[first..].contains(&found),
                    "write {at}, log of {} cut at {end}: {found:?}",
                    log.len()
                );
                checked += 1;
            }
        }
    });
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_copy_of_the_files_after_any_write_is_the_state_after_that_write() {
    let place = Place::new();
    let asker = asker(&Processes::new().unwrap());
    let path = place.ledger();
    writes(&path, &asker, |at, expected, _| {
        // Now and then the log is copied into the file, as it is after many writes.
        if at % 5 == 4 {
            let database = rusqlite::Connection::open(&path).unwrap();
            let row = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            assert_eq!(
                database
                    .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], row)
                    .unwrap(),
                0
            );
        }
        let copy = place.path().join(format!("copy{at}.db"));
        fs::copy(&path, &copy).unwrap();
        fs::copy(log_of(&path), log_of(&copy)).unwrap();
        assert_eq!(state(&copy), expected, "write {at}");
        // After a power cut there is another boot, and none of these leases counts in it.
        let mut ledger = Ledger::open(&copy).unwrap();
        let later = Processes::new().unwrap().of_boot("later");
        let found = ledger
            .change(Durability::Boot, |books| recover(books, &later, "tester"))
            .unwrap();
        assert_eq!(
            (found.leases.len(), found.released.len()),
            (0, expected.0.len())
        );
        assert_eq!(state(&copy), (Vec::new(), expected.1));
    });
}
