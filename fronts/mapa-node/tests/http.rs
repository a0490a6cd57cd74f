//! `/metrics` over HTTP: whatever clients send, the daemon lives, answers others, and grows by neither memory nor threads.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::common::Place;
use super::daemon::Daemon;

/// A daemon that serves `/metrics` at an address.
fn serving(place: &Place) -> (Daemon, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let config = place.path().join("node.toml");
    std::fs::write(&config, format!("[service]\nmetrics = \"{address}\"\n")).unwrap();
    let words = ["--scheduler", "fifo", "--config", config.to_str().unwrap()];
    let daemon = Daemon::start(place, &words);
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody listens");
        thread::sleep(Duration::from_millis(5));
    }
    (daemon, address)
}

/// Sends these bytes, as far as they are taken, and reads the answer to its end.
fn send(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // Whoever has refused a request reads no more of it.
    let _ = stream.write_all(bytes);
    answer(&mut stream)
}

fn answer(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn is_well(address: SocketAddr) {
    let begun = Instant::now();
    let healthy = send(address, b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(
        healthy.starts_with("HTTP/1.1 200 ") && healthy.ends_with("\r\n\r\nok\n"),
        "{healthy}"
    );
    let metrics = send(address, b"GET /metrics?x HTTP/1.0\r\n\r\n");
    assert!(
        metrics.contains("\nmapa_devices ") && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
}

/// A line of `/proc/PID/status`: threads, or resident KiB.
fn status(daemon: &Daemon, key: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", daemon.0.id())).unwrap();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(key)).unwrap();
    value
        .split_ascii_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn no_request_ends_the_daemon_or_holds_others_up() {
    let place = Place::new();
    let (mut daemon, address) = serving(&place);
    is_well(address);
    let (threads, resident) = (status(&daemon, "Threads:"), status(&daemon, "VmRSS:"));

    let starts = |request: &[u8], expected: &str| {
        let found = send(address, request);
        assert!(found.starts_with(expected), "{expected}: {found}");
        is_well(address);
    };
    // This one ended a daemon that was served by another crate.
    starts(
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 405 ",
    );
    starts(
        b"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 ",
    );
    starts(
        b"GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "HTTP/1.1 200 ",
    );
    starts(b"HEAD /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ");
    starts(b"GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
    starts(
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "HTTP/1.1 400 ",
    );
    starts(b"GET /healthz\r\n\r\n", "HTTP/1.1 400 ");
    let many = "X: y\r\n".repeat(100);
    starts(
        format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes(),
        "HTTP/1.1 431 ",
    );

    // Huge: a head without an end, and a body that never comes to its end.
    let mut head = b"GET / HTTP/1.1\r\nX: ".to_vec();
    head.resize(64 << 20, b'x');
    let found = send(address, &head);
    assert!(
        found.is_empty() || found.starts_with("HTTP/1.1 431 "),
        "{found}"
    );
    let mut body = TcpStream::connect(address).unwrap();
    body.write_all(b"POST /metrics HTTP/1.1\r\nContent-Length: 400000000\r\n\r\n")
        .unwrap();
    let _ = body.write_all(&vec![0; 8 << 20]);
    is_well(address);

    // Slow: a byte at a time, for longer than anybody is waited for.
    let begun = Instant::now();
    let mut slow = TcpStream::connect(address).unwrap();
    while slow.write_all(b"G").is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody ends it");
        thread::sleep(Duration::from_millis(200));
    }
    is_well(address);

    let silent = send(address, b"GET /healthz HTTP/1.1\r\n");
    assert!(silent.starts_with("HTTP/1.1 408 "), "{silent}");

    // Many at once, who say nothing, and who go at once.
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(TcpStream::connect(address).unwrap());
        drop(TcpStream::connect(address).unwrap());
    }
    is_well(address);
    let most = status(&daemon, "Threads:");
    assert!(most <= threads + 17, "{threads} threads, then {most}");
    drop(idle);
    is_well(address);
    let grown = status(&daemon, "VmRSS:").saturating_sub(resident);
    assert!(grown < 32 << 10, "grown by {grown} KiB");
    assert!(
        daemon.0.try_wait().unwrap().is_none(),
        "{}",
        place.text("daemon.log")
    );
    assert_eq!(daemon.end("-TERM"), Some(0));
}
