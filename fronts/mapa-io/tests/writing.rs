//! Files that are written.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;

use mapa_io::{WholeFile, write};

use crate::reading::fifo;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_in_one_step_and_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut before = fs::File::open(&path).unwrap();
    let mut draft = WholeFile::at(&path).unwrap();
    draft.write_all(b"new").unwrap();
    draft.flush().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    draft.finish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    // Whoever has it open still sees the old one.
    let mut old = String::new();
    before.read_to_string(&mut old).unwrap();
    assert_eq!(old, "old");
    // One that is dropped leaves nothing.
    let mut dropped = WholeFile::at(&path).unwrap();
    dropped.write_all(b"half").unwrap();
    drop(dropped);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn links_are_followed_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("far")).unwrap();
    fs::write(place("far/file"), "old").unwrap();
    symlink("far/file", place("link")).unwrap();
    symlink("link", place("link-to-link")).unwrap();
    symlink("far/new", place("to-nothing")).unwrap();
    write(&place("link-to-link"), "new").unwrap();
    write(&place("to-nothing"), "made").unwrap();
    assert_eq!(fs::read_to_string(place("far/file")).unwrap(), "new");
    assert_eq!(fs::read_to_string(place("far/new")).unwrap(), "made");
    for link in ["link", "link-to-link", "to-nothing"] {
        assert!(fs::symlink_metadata(place(link)).unwrap().is_symlink());
    }
    symlink("round", place("round")).unwrap();
    let error = write(&place("round"), "x").unwrap_err();
    assert!(error.to_string().contains("too many"), "{error}");
}

#[test]
fn what_is_no_regular_file_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    // A link, so that a mistake would replace the link.
    symlink("/dev/null", place("null")).unwrap();
    write(&place("null"), "gone").unwrap();
    assert!(fs::symlink_metadata(place("null")).unwrap().is_symlink());
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );

    symlink("/dev/full", place("full")).unwrap();
    let error = write(&place("full"), "lost").unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");

    fifo(&place("fifo"));
    let error = write(&place("fifo"), "x").unwrap_err();
    assert!(error.to_string().contains("nothing reads"), "{error}");
    let path = place("fifo");
    let reader = thread::spawn(move || fs::read(path).unwrap());
    // The reader opens it in its own time. More than a pipe holds, so that the writer waits for it.
    let long = vec![7; 1 << 20];
    while write(&place("fifo"), &long).is_err() {
        thread::yield_now();
    }
    assert_eq!(reader.join().unwrap(), long);
    assert!(fs::metadata(place("fifo")).unwrap().file_type().is_fifo());

    let error = write(folder.path(), "x").unwrap_err();
    assert!(error.to_string().contains("is a folder"), "{error}");
    let error = write(&place("none/file"), "x").unwrap_err();
    assert!(error.to_string().contains("No such file"), "{error}");
}

#[test]
fn a_stream_that_is_a_file_is_not_cut_off() {
    use std::os::fd::AsRawFd;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    log.write_all(b"before\n").unwrap();
    let name = format!("/dev/fd/{}", log.as_raw_fd());
    write(Path::new(&name), "through\n").unwrap();
    log.write_all(b"after\n").unwrap();
    let all = fs::read_to_string(&path).unwrap();
    assert_eq!(all, "before\nthrough\nafter\n");
}

#[test]
fn a_file_in_a_folder_that_may_not_be_written_is_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let is_root = fs::write(folder.path().join("probe"), "").is_ok();
    let done = write(&path, "new");
    let none = write(&folder.path().join("another"), "new");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    done.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    // Root may write everywhere.
    assert_eq!(none.is_ok(), is_root);
}

#[test]
fn a_file_that_root_replaces_stays_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    if std::os::unix::fs::chown(&path, Some(1), Some(1)).is_err() {
        // Not root: a new file is the user's own.
        write(&path, "new").unwrap();
        return assert_eq!(fs::read(&path).unwrap(), b"new");
    }
    write(&path, "new").unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(
        (after.uid(), after.gid(), after.mode() & 0o777),
        (1, 1, 0o640)
    );
}
