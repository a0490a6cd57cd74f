//! The ledger as a library: no device is held twice, versions, several programs at once.

use std::fs;
use std::sync::Barrier;
use std::thread;

use mapa_node::{DeviceKey, Durability, Identity, Ledger, Liveness, Processes, recover};

use super::common::{Place, asker};

fn key(whole: &str, part: &str) -> DeviceKey {
    DeviceKey {
        whole: whole.to_owned(),
        part: part.to_owned(),
    }
}

#[test]
fn no_device_is_held_twice_not_as_a_whole_and_in_parts_either() {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let asker = asker(&Processes::new().unwrap());
    let mut take = |keys: &[DeviceKey]| {
        ledger
            .change(Durability::Boot, |books| {
                books.grant(&asker, keys, None, None, "test")
            })
            .map_err(|error| error.to_string())
    };
    assert!(take(&[key("A", ""), key("B", "1g@0")]).is_ok());
    for taken in [
        key("A", ""),
        key("A", "1g@0"),
        key("B", ""),
        key("B", "1g@0"),
    ] {
        let error = take(&[key("C", ""), taken.clone()]).unwrap_err();
        assert!(error.contains("held already"), "{taken}: {error}");
    }
    // What failed has left nothing behind: C is free, and other parts of B are.
    assert!(take(&[key("C", ""), key("B", "1g@1")]).is_ok());
    let (leases, decisions) = ledger
        .read(|books| Ok((books.leases()?, books.decisions(9, None)?)))
        .unwrap();
    assert_eq!((leases.len(), decisions.len()), (2, 2));
}

#[test]
fn the_same_change_by_many_threads_is_made_once_each() {
    let place = Place::new();
    let (path, programs) = (place.ledger(), 8);
    let start = Barrier::new(programs);
    let given: Vec<bool> = thread::scope(|scope| {
        let threads: Vec<_> = (0..programs)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    // Opening, migrating and taking the one device all happen at once.
                    let mut ledger = Ledger::open(&path).unwrap();
                    let asker = asker(&Processes::new().unwrap());
                    let took = ledger.change(Durability::Boot, |books| {
                        books.grant(&asker, &[key("A", "")], None, None, "test")
                    });
                    took.is_ok()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(given.iter().filter(|flag| **flag).count(), 1);
}

#[test]
fn newer_ledger_and_foreign_file_give_different_errors() {
    let place = Place::new();
    drop(Ledger::open(place.ledger()).unwrap());
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let error = Ledger::open(place.ledger()).unwrap_err().to_string();
    assert!(
        error.contains("version 99") && error.contains("expected 7 or less"),
        "{error}"
    );

    let other = place.path().join("other.db");
    fs::write(&other, "no database at all, but longer than a header of a database is: one hundred bytes or more, so that it is read").unwrap();
    let error = Ledger::open(&other).unwrap_err().to_string();
    assert!(
        error.contains("other.db") && error.contains("expected a ledger of mapa"),
        "{error}"
    );
}

#[test]
fn recovery_keeps_the_living_frees_the_dead_and_forgets_earlier_boots() {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let alive = asker(&processes);
    let with = |change: &dyn Fn(&mut Identity)| {
        let mut other = alive.clone();
        change(&mut other.process);
        other
    };
    let dead = with(&|identity| identity.id.start += 1);
    let earlier = with(&|identity| identity.boot = "earlier".to_owned());
    let elsewhere = with(&|identity| identity.namespace += 1);
    let mut ids = Vec::new();
    for (name, asker) in [
        ("A", &alive),
        ("B", &dead),
        ("C", &earlier),
        ("D", &elsewhere),
    ] {
        let id = ledger.change(Durability::Boot, |books| {
            books.grant(asker, &[key(name, "")], None, None, "test")
        });
        ids.push(id.unwrap());
    }
    let mut found = |processes: &Processes| {
        ledger
            .change(Durability::Boot, |books| {
                recover(books, processes, "tester")
            })
            .unwrap()
    };
    let first = found(&processes);
    // Who sees all processes of the machine knows that no such process of another namespace runs.
    let sees_all = processes.namespaces().life(&elsewhere.process) == Liveness::Ended;
    let (holding, released) = if sees_all {
        (&ids[..1], &ids[1..])
    } else {
        (&[ids[0], ids[3]][..], &ids[1..3])
    };
    let holds: Vec<i64> = first.leases.iter().map(|lease| lease.id).collect();
    assert_eq!(holds, holding);
    let freed: Vec<i64> = first.released.iter().map(|(lease, _)| lease.id).collect();
    assert_eq!(freed, released);
    assert!(
        first.released[1].1.contains("restarted"),
        "{:?}",
        first.released[1].1
    );
    assert!(found(&processes).is_clean());
    // After a restart nothing of the earlier boot counts.
    let after = found(&processes.clone().of_boot("later"));
    assert_eq!(
        (after.leases.len(), after.released.len()),
        (0, holding.len())
    );
}

/// Root recovers too, and others may write the ledger.
#[test]
fn a_folder_that_is_no_control_group_is_not_removed() {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let mut dead = asker(&processes);
    dead.process.id.start += 1;
    let lease = ledger.change(Durability::Boot, |books| {
        let lease = books.grant(&dead, &[key("A", "")], None, None, "test")?;
        let name = format!("mapa-{}", books.mark(lease).replace(':', "-"));
        let folder = place.path().join(name);
        fs::create_dir_all(folder.join("empty")).unwrap();
        books.set_cgroup(lease, folder.to_str().unwrap())?;
        Ok(folder)
    });
    let found = ledger.change(Durability::Boot, |books| {
        recover(books, &processes, "tester")
    });
    assert_eq!(found.unwrap().released.len(), 1);
    assert!(lease.unwrap().join("empty").exists());
}

/// Whom a daemon limits has left the group of the lease, where version 2 of groups limits.
#[test]
fn whoever_was_moved_to_be_limited_is_found() {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let mut dead = asker(&processes);
    dead.process.id.start += 1;
    let name = format!("mapa-{}", ledger.mark(1).replace(':', "-"));
    let root = std::path::Path::new("/sys/fs/cgroup");
    let mut made = Vec::new();
    for folder in ["pids", "freezer", "blkio", "unified", "."] {
        let group = root.join(folder).join(&name);
        if root.join(folder).join("cgroup.procs").exists() && fs::create_dir(&group).is_ok() {
            made.push(group);
        }
    }
    let [own, limited] = made.iter().take(2).collect::<Vec<_>>()[..] else {
        made.iter().for_each(|path| drop(fs::remove_dir(path)));
        eprintln!("skipped: no control groups of two hierarchies can be made here");
        return;
    };
    let mut job = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    fs::write(limited.join("cgroup.procs"), job.id().to_string()).unwrap();
    let lease = ledger.change(Durability::Boot, |books| {
        let lease = books.grant(&dead, &[key("A", "")], None, None, "test")?;
        books.set_cgroup(lease, own.to_str().unwrap())?;
        books.set_limit_cgroup(lease, limited.to_str().unwrap())?;
        Ok(lease)
    });
    assert_eq!(lease.unwrap(), 1);
    let mut found = || {
        let found = ledger.change(Durability::Boot, |books| {
            recover(books, &processes, "tester")
        });
        found.unwrap()
    };
    let first = found();
    job.kill().unwrap();
    job.wait().unwrap();
    let then = found();
    made.iter().for_each(|path| drop(fs::remove_dir(path)));
    assert_eq!(first.adopted.len(), 1, "{first:?}");
    assert_eq!(then.released.len(), 1, "{then:?}");
}

/// A group into which a program has put its command before it was killed, and which it could not note any more.
#[test]
fn a_group_that_nobody_has_noted_is_found_by_its_name() {
    // A container notes the path that it sees.
    for noted in [None, Some("/sys/fs/cgroup/../mapa-x-1")] {
        found_by_its_name(noted);
    }
}

fn found_by_its_name(noted: Option<&str>) {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let mut dead = asker(&processes);
    dead.process.id.start += 1;
    let name = format!("mapa-{}", ledger.mark(1).replace(':', "-"));
    let Some(group) = mapa_live::cgroup::Cgroups::default()
        .home()
        .map(|home| home.join(&name))
        .filter(|group| fs::create_dir(group).is_ok())
    else {
        eprintln!("skipped: no control group can be made here");
        return;
    };
    let mut job = std::process::Command::new("sleep")
        .arg("600")
        .env_clear()
        .spawn()
        .unwrap();
    fs::write(group.join("cgroup.procs"), job.id().to_string()).unwrap();
    ledger
        .change(Durability::Boot, |books| {
            let lease = books.grant(&dead, &[key("A", "")], None, None, "test")?;
            noted.map_or(Ok(true), |path| books.set_cgroup(lease, path))
        })
        .unwrap();
    let mut found = || {
        let found = ledger.change(Durability::Boot, |books| {
            recover(books, &processes, "tester")
        });
        found.unwrap()
    };
    let first = found();
    job.kill().unwrap();
    job.wait().unwrap();
    let then = found();
    let is_left = group.exists();
    drop(fs::remove_dir(&group));
    assert_eq!(first.adopted.len(), 1, "{first:?}");
    assert_eq!(then.released.len(), 1, "{then:?}");
    assert!(!is_left, "{name}");
}

/// A job that learns late of its lease still has its whole time.
#[test]
fn the_time_of_a_lease_begins_when_its_job_learns_of_it() {
    let place = Place::new();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let asker = asker(&Processes::new().unwrap());
    let expires = mapa_node::now() + 1_000_000_000;
    let seen = |ledger: &mut Ledger| ledger.read(|books| books.leases()).unwrap().remove(0);
    let lease = ledger
        .change(Durability::Boot, |books| {
            books.grant(&asker, &[key("A", "")], None, Some(expires), "test")
        })
        .unwrap();
    let before = seen(&mut ledger);
    std::thread::sleep(std::time::Duration::from_millis(30));
    let begin = |ledger: &mut Ledger| {
        ledger
            .change(Durability::Boot, |books| books.begin_time(lease))
            .unwrap();
    };
    begin(&mut ledger);
    let after = seen(&mut ledger);
    assert!(after.deadline > before.deadline && after.expires > before.expires);
    assert_eq!(
        after.expires.unwrap() - after.granted,
        before.expires.unwrap() - before.granted
    );
    // Not once its command runs.
    ledger
        .change(Durability::Boot, |books| {
            books.set_command_process(lease, &asker.process, None)
        })
        .unwrap();
    begin(&mut ledger);
    assert_eq!(seen(&mut ledger).deadline, after.deadline);
}
