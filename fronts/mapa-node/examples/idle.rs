//! What the daemon costs while nothing happens: the time of the processor that it takes with so many
//! tenants, each with a lease, looked at once a second. It ends with 1 if that is 1 % of a core or more.
//!
//! On MIG instances of 16 devices, or on whole devices of a machine that is named:
//!
//! `cargo build --release -p mapa-node && cargo run --release -p mapa-node --example idle -- 100 30 [MACHINE]`

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use mapa_node::{Asker, Key, Ledger, Processes, Sync};

/// The program of this name, beside this example's folder.
fn program(name: &str) -> PathBuf {
    let own = env::current_exe().expect("the path of this program");
    let folder = own.parent().and_then(Path::parent).expect("its folder");
    folder.join(name)
}

/// The ticks of the processor that a process has taken, of 100 a second.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let of = |at: usize| fields.get(at).and_then(|own| own.parse().ok()).unwrap_or(0);
    of(11) + of(12)
}

/// The most of a core that it may take, percent.
const MOST: f64 = 1.0;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut words = env::args().skip(1);
    let tenants: usize = words.next().map_or(Ok(100), |own| own.parse())?;
    let seconds: u64 = words.next().map_or(Ok(30), |own| own.parse())?;
    let named = words.next();
    let folder = env::temp_dir().join(format!("mapa-idle-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the ledger");
    let ledger = folder.join("ledger.db");
    // Sixteen devices in seven instances each: room for 112 tenants.
    let layout: &[&str] = match named {
        Some(_) => &[],
        None => &["--mig", "a100-40gb=1g,1g,1g,1g,1g,1g,1g"],
    };
    let machine = named.as_deref().unwrap_or("dgx-2");
    let start = || -> Child {
        Command::new(program("mapa-node"))
            .args(["--machine", machine])
            .args(layout)
            .arg("--ledger")
            .arg(&ledger)
            .args(["--scheduler", "slo"])
            .stderr(Stdio::null())
            .spawn()
            .expect("mapa-node, built beside this example")
    };
    // The first one binds the ledger to the machine.
    let mut first = start();
    thread::sleep(Duration::from_secs(1));
    drop(Command::new("kill").arg(first.id().to_string()).status());
    drop(first.wait());

    let mut jobs: Vec<Child> = Vec::new();
    let processes = Processes::new().expect("procfs");
    let mut books = Ledger::open(&ledger).expect("the ledger");
    for at in 0..tenants {
        let job = Command::new("sleep").arg("100000").spawn().expect("sleep");
        let process = processes.identity(job.id() as i32).expect("a process");
        jobs.push(job);
        let asker = Asker {
            tenant: format!("t{at}"),
            uid: 0,
            process,
            command: "sleep".to_owned(),
            policy: "{}".to_owned(),
            spec: "{}".to_owned(),
        };
        books
            .change(Sync::Boot, |books| {
                let (_, devices) = books.machine()?.unwrap_or_default();
                let device = match layout {
                    [] => Key::whole(&devices[at]),
                    _ => Key {
                        whole: devices[at / 7].clone(),
                        part: format!("1g.5gb@{}", at % 7),
                    },
                };
                books.grant(&asker, &[device], None, None, "a test")
            })
            .expect("a lease");
    }
    let mut daemon = start();
    // What it does at its start is not counted.
    thread::sleep(Duration::from_secs(3));
    let (before, begun) = (ticks(daemon.id()), Instant::now());
    thread::sleep(Duration::from_secs(seconds));
    if let Some(status) = daemon.try_wait()? {
        return Err(format!("the daemon ended: {status}").into());
    }
    let took = (ticks(daemon.id()) - before) as f64 / 100.0;
    let share = 100.0 * took / begun.elapsed().as_secs_f64();
    println!(
        "{tenants} tenants, looked at once a second for {seconds} s: {took:.2} s of the processor, {share:.2} % of a core"
    );
    for child in jobs.iter_mut().chain([&mut daemon]) {
        drop(child.kill());
        drop(child.wait());
    }
    drop(fs::remove_dir_all(&folder));
    if share >= MOST {
        eprintln!("{share:.2} % of a core: expected less than {MOST} %");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
