//! Files that are read.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use mapa_io::{open, read};

fn refusal(name: &str) -> String {
    read(name, 1 << 20).unwrap_err().to_string()
}

/// Makes a FIFO that nothing writes.
pub(crate) fn fifo(path: &std::path::Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn what_is_no_regular_file_is_an_error_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fifo(&place("fifo"));
    let _socket = UnixListener::bind(place("socket")).unwrap();
    symlink("/dev/zero", place("link")).unwrap();
    for (path, what) in [
        (place("fifo"), "a FIFO"),
        (place("socket"), "a socket"),
        (place("link"), "a device"),
        (folder.path().to_owned(), "a folder"),
        ("/dev/zero".into(), "a device"),
        ("/dev/tty".into(), "a device"),
    ] {
        assert_eq!(
            refusal(path.to_str().unwrap()),
            format!("is {what}, expected a regular file, or - for standard input")
        );
    }
    assert!(refusal(place("none").to_str().unwrap()).contains("No such file"));
    assert_eq!(read("/dev/null", 0).unwrap(), b"");
}

#[test]
fn no_more_is_read_than_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let name = path.to_str().unwrap();
    fs::write(&path, [7; 100]).unwrap();
    assert_eq!(read(name, 100).unwrap().len(), 100);
    assert!(refusal_of(name, 99).contains("more than 99 bytes"));
    // A file with a hole takes no room on disk, and would take a terabyte of memory.
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(refusal_of(name, 16 << 20).contains("more than 16 MiB"));
    // The kernel's files have no length.
    assert!(!read("/proc/self/status", 1 << 20).unwrap().is_empty());
    assert!(refusal_of("/proc/self/status", 8).contains("more than 8 bytes"));
}

fn refusal_of(name: &str, most: u64) -> String {
    read(name, most).unwrap_err().to_string()
}

#[test]
fn a_stream_is_read_where_it_is_named_as_one() {
    // This test's own standard input is not for it, so the stream is a file of this process.
    use std::os::fd::AsRawFd;
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"by a pipe").unwrap();
    drop(writer);
    let name = format!("/dev/fd/{}", reader.as_raw_fd());
    assert_eq!(read(&name, 100).unwrap(), b"by a pipe");

    let endless = Command::new("yes").stdout(Stdio::piped()).spawn();
    let mut endless = endless.unwrap();
    let name = format!(
        "/proc/self/fd/{}",
        endless.stdout.as_ref().unwrap().as_raw_fd()
    );
    assert!(refusal_of(&name, 1 << 20).contains("more than 1 MiB"));
    let mut some = [0; 2];
    open(&name).unwrap().read_exact(&mut some).unwrap();
    endless.kill().unwrap();
    endless.wait().unwrap();
}
