//! What the daemon costs beside tenants that run: the time of the processor that it takes with so many
//! tenants, each with a lease, looked at once a second by `slo`. It ends with 1 if that is 1 % of a core or more.
//!
//! Every second tenant is promised a latency and tells ten a second, within the promise; the others count as
//! neighbours. On MIG instances of 16 devices, or on whole devices of a machine that is named:
//!
//! `cargo build --release -p mapa-node && cargo run --release -p mapa-node --example idle -- 100 30 [MACHINE]`
//!
//! With `--slo` it has `[slo]` too, which guards all of them beside ten neighbours, and no leases:
//!
//! `cargo run --release -p mapa-node --example idle -- --slo 100 30`

use std::fmt::Write;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use mapa_node::{DeviceKey, Durability, Ledger, Processes, Requester};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

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
    let of = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0)
    };
    of(11) + of(12)
}

/// The most of a core that it may take, percent.
const MOST: f64 = 1.0;

/// Tells ten latencies a second of each tenant, until the daemon has ended.
fn tell(socket: &Path, names: &[String], stop: &AtomicBool) {
    let Ok(to) = UnixDatagram::unbound() else {
        return;
    };
    while !stop.load(Ordering::Relaxed) {
        for name in names {
            // The daemon may not listen yet, or no more.
            drop(to.send_to(format!("{name} 4000000\n").as_bytes(), socket));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn sleeper() -> std::io::Result<Child> {
    Command::new("sleep").arg("100000").spawn()
}

/// `mapa-node` on a machine, with a lease for each tenant.
fn daemon(folder: &Path, tenants: usize, named: Option<&str>) -> Result<Beside> {
    let ledger = folder.join("ledger.db");
    // Sixteen devices in seven instances each: room for 112 tenants.
    let layout: &[&str] = match named {
        Some(_) => &[],
        None => &["--mig", "a100-40gb=1g,1g,1g,1g,1g,1g,1g"],
    };
    let names: Vec<String> = (0..tenants).map(|at| format!("t{at}")).collect();
    let mut config = format!(
        "[service]\nlatencies = \"{}\"\n",
        folder.join("told").display()
    );
    for (at, name) in names.iter().enumerate() {
        let own = if at % 2 == 0 {
            "latency_slo_ms = 15.0"
        } else {
            "pcie_mb_s = 8000"
        };
        writeln!(config, "[tenants.{name}]\n{own}")?;
    }
    fs::write(folder.join("node.toml"), config)?;
    let mut command = Command::new(program("mapa-node"));
    command
        .args(["--machine", named.unwrap_or("dgx-2")])
        .args(layout)
        .arg("--ledger")
        .arg(&ledger)
        .args(["--scheduler", "slo", "--config"])
        .arg(folder.join("node.toml"))
        .stderr(Stdio::null());
    // The first one binds the ledger to the machine.
    let mut first = command.spawn()?;
    thread::sleep(Duration::from_secs(1));
    drop(Command::new("kill").arg(first.id().to_string()).status());
    first.wait()?;

    let mut jobs: Vec<Child> = Vec::new();
    let processes = Processes::new()?;
    let mut books = Ledger::open(&ledger)?;
    for (at, name) in names.iter().enumerate() {
        let job = sleeper()?;
        let process = processes.identity(i32::try_from(job.id())?);
        jobs.push(job);
        let asker = Requester {
            tenant: name.clone(),
            uid: 0,
            process: process.ok_or("a process that has ended")?,
            command: "sleep".to_owned(),
            policy: "{}".to_owned(),
            spec: "{}".to_owned(),
        };
        books.change(Durability::Boot, |books| {
            let (_, devices) = books.machine()?.unwrap_or_default();
            let device = match layout {
                [] => DeviceKey::whole(&devices[at]),
                _ => DeviceKey {
                    whole: devices[at / 7].clone(),
                    part: format!("1g.5gb@{}", at % 7),
                },
            };
            books.grant(&asker, &[device], None, None, "a test")
        })?;
    }
    let promised = names.into_iter().step_by(2).collect();
    Ok(Beside {
        command,
        jobs,
        promised,
    })
}

/// `mapa-node` with `[slo]`: tenants that it guards, and ten neighbours.
fn guard(folder: &Path, tenants: usize) -> Result<Beside> {
    let promised: Vec<String> = (0..tenants).map(|at| format!("t{at}")).collect();
    let mut jobs = Vec::new();
    let path = |name: &str| folder.join(name).display().to_string();
    let mut config = format!("[service]\nlatencies = \"{}\"\n", path("told"));
    for name in &promised {
        writeln!(config, "[slo.tenants.{name}]\nlatency_slo_ms = 15")?;
    }
    for at in 0..10 {
        let job = sleeper()?;
        let file = path(&format!("pid-{at}"));
        fs::write(&file, job.id().to_string())?;
        jobs.push(job);
        writeln!(
            config,
            "[slo.neighbours.n{at}]\nactivity = \"copy\"\npid_file = \"{file}\""
        )?;
    }
    fs::write(folder.join("node.toml"), config)?;
    let mut command = Command::new(program("mapa-node"));
    command
        .args(["--machine", "dgx-2", "--ledger"])
        .arg(folder.join("ledger.db"))
        .arg("--config")
        .arg(folder.join("node.toml"))
        .stderr(Stdio::null());
    Ok(Beside {
        command,
        jobs,
        promised,
    })
}

/// What is measured, and who runs beside it.
struct Beside {
    command: Command,
    jobs: Vec<Child>,
    promised: Vec<String>,
}

fn main() -> Result<ExitCode> {
    let mut words: Vec<String> = env::args().skip(1).collect();
    let is_slo = words.first().is_some_and(|word| word == "--slo");
    words.drain(..usize::from(is_slo));
    let number = |at: usize, usual: u64| words.get(at).map_or(Ok(usual), |word| word.parse());
    let (tenants, seconds) = (usize::try_from(number(0, 100)?)?, number(1, 30)?);
    let folder = env::temp_dir().join(format!("mapa-idle-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let Beside {
        mut command,
        mut jobs,
        promised,
    } = if is_slo {
        guard(&folder, tenants)?
    } else {
        daemon(&folder, tenants, words.get(2).map(String::as_str))?
    };
    let (stop, socket) = (Arc::new(AtomicBool::new(false)), folder.join("told"));
    let mut daemon = command.spawn()?;
    let teller = {
        let (stop, promised) = (stop.clone(), promised.clone());
        thread::spawn(move || tell(&socket, &promised, &stop))
    };
    // What it does at its start is not counted.
    thread::sleep(Duration::from_secs(3));
    let (before, begun) = (ticks(daemon.id()), Instant::now());
    thread::sleep(Duration::from_secs(seconds));
    let ended = daemon.try_wait()?;
    let took = ticks(daemon.id()).saturating_sub(before) as f64 / 100.0;
    let share = 100.0 * took / begun.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    drop(teller.join());
    for child in jobs.iter_mut().chain([&mut daemon]) {
        drop(child.kill());
        drop(child.wait());
    }
    drop(fs::remove_dir_all(&folder));
    if let Some(status) = ended {
        return Err(format!("the daemon ended: {status}").into());
    }
    println!(
        "{tenants} tenants, {} with a promise, looked at once a second for {seconds} s: {took:.2} s of the processor, {share:.2} % of a core",
        promised.len()
    );
    if share >= MOST {
        eprintln!("{share:.2} % of a core: expected less than {MOST} %");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
