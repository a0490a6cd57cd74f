//! What a probe costs: round trips of a task's begin and end, to a manager of its own.
//!
//! Build the program first: `cargo build --release -p mapa-node`. Then
//! `cargo run --release -p mapa-node --example case -- 20000`, with the number of tasks; a second
//! number is that of sessions that ask at once, 8 at most: a process has no more.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mapa_case::{Declared, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let numbers = numbers?;
    let [tasks, clients] = [numbers.first(), numbers.get(1)].map(|own| own.copied());
    let (tasks, clients) = (tasks.unwrap_or(2000), clients.unwrap_or(1).clamp(1, 8));
    let folder = tempfile::tempdir()?;
    let mut manager = start(folder.path())?;
    let socket = folder.path().join("case.sock");
    let begun = Instant::now();
    let mut all: Vec<Duration> = thread::scope(|scope| {
        let own: Vec<_> = (0..clients)
            .map(|_| scope.spawn(|| round_trips(&socket, tasks)))
            .collect();
        own.into_iter()
            .flat_map(|own| own.join().unwrap_or_default())
            .collect()
    });
    let took = begun.elapsed();
    manager.kill()?;
    manager.wait()?;
    all.sort();
    if all.len() as u64 != 2 * tasks * clients {
        return Err("expected every call to be answered".into());
    }
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    println!(
        "round trip, us: p50 {:.1}, p99 {:.1}, longest {:.0}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    println!("calls/s: {:.0}", all.len() as f64 / took.as_secs_f64());
    Ok(())
}

/// A manager of one large instance.
fn start(folder: &Path) -> Result<Child, Box<dyn Error>> {
    let list = "[[instance]]\nvisible = \"MIG-0\"\nmemory = 80000000000\n";
    std::fs::write(folder.join("instances.toml"), list)?;
    let own = std::env::current_exe()?;
    let program = own
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("mapa-node"));
    let program = program.filter(|path| path.exists());
    let program =
        program.ok_or("expected mapa-node in the target folder: cargo build -p mapa-node")?;
    let mut manager = Command::new(program)
        .current_dir(folder)
        .args([
            "--ledger",
            "ledger.db",
            "case",
            "--instances",
            "instances.toml",
        ])
        .args(["--socket", "case.sock", "--workers", "256"])
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    let errors = manager.stderr.take().ok_or("expected its errors")?;
    BufReader::new(errors).read_line(&mut said)?;
    Ok(manager)
}

/// A session of its own: so many tasks, each begun and ended.
fn round_trips(socket: &Path, tasks: u64) -> Vec<Duration> {
    let session = Session::new(socket.to_owned(), Declared::default());
    let mut all = Vec::new();
    for task in 0..tasks {
        let begun = Instant::now();
        let answered = session.begin(task, 1 << 20, 32, 0);
        all.push(begun.elapsed());
        let begun = Instant::now();
        if answered.is_err() || session.end(task).is_err() {
            return Vec::new();
        }
        all.push(begun.elapsed());
    }
    all
}
