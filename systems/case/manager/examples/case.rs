//! What a probe costs: round trips of a task's begin and end, to a manager of its own; first of one
//! process, and then the calls of many processes at once.
//!
//! Build the program first: `cargo build --release -p mapa-system-case-manager`. Then
//! `cargo run --release -p mapa-system-case-manager --example case -- 20000`, with the number of tasks of the one. A
//! second number is that of processes that ask at once, 64 by default and 94 at most; they share five times as many
//! tasks. `MAPA_CASE_TRANSPORT=memory` measures shared memory in place of the socket.
//!
//! Beside them stands an echo: a process that sends each message back, over a socket of the same kind. Both of its sides
//! sleep until a message comes, so it says what it takes on this machine to wake two processes. It ends with 1 if half of the calls of the one
//! process take 20 us or more, or one in a hundred 50 us or more.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_case::{Declared, Session, SharedTransport, TRANSPORT};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

/// Says to this program, started again, which socket it is a client of.
const CLIENT: &str = "MAPA_EXAMPLE_SOCKET";
/// Says to this program, started again, to send back what comes by its standard input, a socket.
const ECHO: &str = "MAPA_EXAMPLE_ECHO";
/// The most processes that ask at once: one instance admits 48, as MPS does. This program is one of them, and the last
/// place is kept for another user.
const MOST: u64 = 2 * 48 - 2;
/// The length of a message of a task.
const MESSAGE: usize = 64;

/// What half of the calls, and all but one in a hundred, shall be faster than, us.
const EXPECTED: [f64; 2] = [20.0, 50.0];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let numbers = numbers?;
    let [tasks, clients] = [numbers.first(), numbers.get(1)].map(|number| number.copied());
    let (tasks, clients) = (tasks.unwrap_or(2000), clients.unwrap_or(64).clamp(1, MOST));
    if let Some(socket) = std::env::var_os(CLIENT) {
        client(Path::new(&socket), tasks)?;
        return Ok(ExitCode::SUCCESS);
    }
    if std::env::var_os(ECHO).is_some() {
        echo()?;
        return Ok(ExitCode::SUCCESS);
    }
    let echoed = echoes(2 * tasks)?;
    let folder = tempfile::tempdir()?;
    let mut manager = start(folder.path())?;
    let socket = folder.path().join("case.sock");
    let session = session(&socket);
    let alone = round_trips(&session, tasks, Duration::ZERO);
    // Then the manager sleeps, and has to wake for each.
    let rested = round_trips(&session, tasks.min(2000), Duration::from_millis(1));
    drop(session);
    let crowd = crowd(&socket, clients, (5 * tasks).div_ceil(clients));
    manager.kill()?;
    manager.wait()?;
    show("echo", echoed);
    let [half, most] = show("begin or end", alone?);
    show("begin or end, each 1 ms after the last", rested?);
    println!("calls/s of {clients} processes: {:.0}", crowd?);
    let [of_half, of_most] = EXPECTED;
    if half >= of_half || most >= of_most {
        eprintln!("expected p50 below {of_half} us and p99 below {of_most} us");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what calls took, and returns p50 and p99, us.
fn show(what: &str, mut all: Vec<Duration>) -> [f64; 2] {
    all.sort();
    let at = |share: f64| {
        let place = (all.len().saturating_sub(1) as f64 * share) as usize;
        all.get(place)
            .map_or(0.0, |duration| duration.as_secs_f64() * 1e6)
    };
    println!(
        "{what}, us: p50 {:.1}, p99 {:.1}, longest {:.0}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    [at(0.5), at(0.99)]
}

/// Sends back what comes.
fn echo() -> Result<(), Box<dyn Error>> {
    let socket = std::io::stdin();
    let mut message = [0; MESSAGE];
    while recv(&socket, &mut message, RecvFlags::empty())?.0 > 0 {
        send(&socket, &message, SendFlags::empty())?;
    }
    Ok(())
}

/// How long so many messages take to a process that sends them back.
fn echoes(count: u64) -> Result<Vec<Duration>, Box<dyn Error>> {
    let pair = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let (here, there) = pair;
    let mut other = Command::new(std::env::current_exe()?)
        .env(ECHO, "1")
        .stdin(there)
        .spawn()?;
    let mut all = Vec::new();
    let mut message = [0; MESSAGE];
    for _ in 0..count {
        let begun = Instant::now();
        send(&here, &message, SendFlags::empty())?;
        recv(&here, &mut message, RecvFlags::empty())?;
        all.push(begun.elapsed());
    }
    drop(here);
    other.wait()?;
    Ok(all)
}

fn session(socket: &Path) -> Session {
    let by_memory = std::env::var_os(TRANSPORT).is_some_and(|way| way == "memory");
    if !by_memory {
        return Session::new(socket.to_owned(), Declared::default());
    }
    Session::over(socket.to_owned(), Declared::default(), |path| {
        Ok(Arc::new(SharedTransport::connect(path)?))
    })
}

/// What one of many does: it says that it is there, waits for the word to go, and says that it has
/// done its tasks.
fn client(socket: &Path, tasks: u64) -> Result<(), Box<dyn Error>> {
    let session = session(socket);
    session.begin(u64::MAX, 1 << 20, 32, 0)?;
    session.end(u64::MAX)?;
    println!("ready");
    std::io::stdin().read_exact(&mut [0])?;
    round_trips(&session, tasks, Duration::ZERO)?;
    println!("done");
    Ok(())
}

/// The calls a second of so many processes, each of which begins and ends so many tasks.
fn crowd(socket: &Path, clients: u64, tasks: u64) -> Result<f64, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let mut all = Vec::new();
    for _ in 0..clients {
        let child = Command::new(&own)
            .arg(tasks.to_string())
            .env(CLIENT, socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        all.push(child);
    }
    let mut outputs = Vec::new();
    for child in &mut all {
        let output = child.stdout.take().ok_or("expected its output")?;
        outputs.push(BufReader::new(output).lines());
    }
    let mut heard = |word: &str| -> Result<(), Box<dyn Error>> {
        for lines in &mut outputs {
            let line = lines.next().ok_or("expected every call to be answered")??;
            if line != word {
                return Err(format!("{line}: expected {word}").into());
            }
        }
        Ok(())
    };
    heard("ready")?;
    let begun = Instant::now();
    for child in &mut all {
        let mut input = child.stdin.take().ok_or("expected its input")?;
        input.write_all(b"g")?;
    }
    heard("done")?;
    let took = begun.elapsed();
    for mut child in all {
        child.wait()?;
    }
    Ok((2 * tasks * clients) as f64 / took.as_secs_f64())
}

/// A manager of two whole devices: one admits no more than 48 processes, as MPS does.
fn start(folder: &Path) -> Result<Child, Box<dyn Error>> {
    let list: String = (0..2)
        .map(|at| {
            format!("[[instance]]\ncuda_visible_devices = \"GPU-{at}\"\nmemory = 80000000000\n")
        })
        .collect();
    std::fs::write(folder.join("instances.toml"), list)?;
    let own = std::env::current_exe()?;
    let program = own
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("mapa-case"));
    let program = program.filter(|path| path.exists());
    let program = program.ok_or(
        "expected mapa-case in the target folder: cargo build -p mapa-system-case-manager",
    )?;
    let mut manager = Command::new(program)
        .current_dir(folder)
        .args([
            "manager",
            "--ledger",
            "ledger.db",
            "--instances",
            "instances.toml",
        ])
        .args(["--socket", "case.sock", "--processes-per-slice", "256"])
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    let errors = manager.stderr.take().ok_or("expected its errors")?;
    BufReader::new(errors).read_line(&mut said)?;
    Ok(manager)
}

/// How long each call takes of so many tasks, each begun and ended, with a pause before each call.
fn round_trips(
    session: &Session,
    tasks: u64,
    pause: Duration,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut all = Vec::new();
    let mut timed = |call: &dyn Fn() -> Result<(), Box<dyn Error>>| {
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        let begun = Instant::now();
        call()?;
        all.push(begun.elapsed());
        Ok::<(), Box<dyn Error>>(())
    };
    for task in 0..tasks {
        timed(&|| Ok(session.begin(task, 1 << 20, 32, 0).map(drop)?))?;
        timed(&|| Ok(session.end(task).map(drop)?))?;
    }
    Ok(all)
}
