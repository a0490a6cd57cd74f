//! The controller of tail latency against real processes: a tenant that serves requests over loopback
//! and reads a file for each, past the page cache; a neighbour that reads the same disk as fast as it
//! can; a daemon with `[slo]` between them, or not.
//!
//! `cargo build --release -p mapa-node && cargo run --release -p mapa-node --example tail -- SECONDS DISK [PROMISE_MS]`
//!
//! DISK is a number of `/proc/diskstats`, such as `254:0`, of the disk on which this runs. As root, on a
//! kernel that throttles block I/O. It prints one row for each configuration: quiet, with the neighbour,
//! with the neighbour and the controller. What it is not: a GPU. The disk stands for the path that two
//! tenants share, and the neighbour's block I/O for its copies.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes that a request reads.
const REQUEST: usize = 256 << 10;
/// Bytes of the file.
const FILE: u64 = 512 << 20;
/// Requests a second.
const RATE: u64 = 20;
/// `O_DIRECT` of Linux on x86-64 and others but Arm's 64 bits.
const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") {
    0o200_000
} else {
    0o40_000
};

/// A buffer at a multiple of a page, as reads past the cache need.
struct Page(Vec<u8>, usize);

impl Page {
    fn new(bytes: usize) -> Self {
        let own = vec![0; bytes + 4096];
        let at = own.as_ptr().align_offset(4096);
        Self(own, at)
    }

    fn bytes(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + bytes]
    }
}

fn direct(path: &Path) -> Result<File> {
    Ok(OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(path)?)
}

/// The next of a fixed stream of numbers.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// The tenant: answers each byte that comes with one, after it has read.
fn serve(path: &Path, port: &Path) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let number = listener.local_addr()?.port().to_string();
    fs::write(port.with_extension("new"), number)?;
    fs::rename(port.with_extension("new"), port)?;
    let file = direct(path)?;
    let mut page = Page::new(REQUEST);
    let mut state = 1;
    for stream in listener.incoming() {
        let mut stream = stream?;
        stream.set_nodelay(true)?;
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            let at = next(&mut state) % (FILE / REQUEST as u64) * REQUEST as u64;
            file.read_exact_at(page.bytes(REQUEST), at)?;
            stream.write_all(&byte)?;
        }
    }
    Ok(())
}

/// The neighbour: reads as fast as it can, sixteen at a time.
fn read_on(path: &Path) -> Result<()> {
    let threads: Vec<_> = (0..16u64)
        .map(|number| {
            let path = path.to_owned();
            thread::spawn(move || {
                let file = direct(&path).expect("the file");
                let mut page = Page::new(1 << 20);
                let mut state = number + 7;
                loop {
                    let at = (next(&mut state) % (FILE >> 20)) << 20;
                    if file.read_exact_at(page.bytes(1 << 20), at).is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        drop(thread.join());
    }
    Ok(())
}

/// A child of this program, which ends with it.
struct Own(Child);

impl Drop for Own {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn child(words: &[&str]) -> Result<Own> {
    let own = Command::new(env::current_exe()?)
        .args(words)
        .stdin(Stdio::null())
        .spawn()?;
    Ok(Own(own))
}

/// Asks for so long at the rate, an open loop, and tells how long each took, ms.
fn ask(port: &str, length: Duration, told: Option<&Path>) -> Result<Vec<f64>> {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))?;
    stream.set_nodelay(true)?;
    // What is told must not hold the requests up.
    let tell = UnixDatagram::unbound()?;
    tell.set_nonblocking(true)?;
    let begun = Instant::now();
    let mut all = Vec::new();
    for request in 0.. {
        let due = Duration::from_micros(request * 1_000_000 / RATE);
        if due >= length {
            break;
        }
        thread::sleep(due.saturating_sub(begun.elapsed()));
        stream.write_all(&[1])?;
        stream.read_exact(&mut [0])?;
        // From when it was due: a late server makes later requests late too.
        let took = begun.elapsed().saturating_sub(due);
        all.push(took.as_secs_f64() * 1e3);
        if let Some(path) = told {
            let line = format!("api {}\n", took.as_nanos());
            drop(tell.send_to(line.as_bytes(), path));
        }
    }
    Ok(all)
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil().max(1.0) as usize - 1;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

fn row(name: &str, mut took: Vec<f64>, promise_ms: f64) {
    took.sort_by(f64::total_cmp);
    let late = took.iter().filter(|value| **value > promise_ms).count();
    println!(
        "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} |",
        took.len(),
        quantile(&took, 0.5),
        quantile(&took, 0.95),
        quantile(&took, 0.99),
        100.0 * late as f64 / took.len().max(1) as f64
    );
}

fn main() -> Result<()> {
    let words: Vec<String> = env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("serve") => return serve(Path::new(&words[2]), Path::new(&words[3])),
        Some("read-on") => return read_on(Path::new(&words[2])),
        _ => {}
    }
    let seconds: u64 = words.get(1).ok_or("expected SECONDS DISK")?.parse()?;
    let disk = words.get(2).ok_or("expected SECONDS DISK")?;
    let promise_ms: f64 = words.get(3).map_or(Ok(4.0), |word| word.parse())?;
    let length = Duration::from_secs(seconds);
    let folder = env::current_dir()?.join(format!("mapa-tail-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = configurations(&folder, disk, promise_ms, length);
    fs::remove_dir_all(&folder)?;
    done
}

fn configurations(folder: &Path, disk: &str, promise_ms: f64, length: Duration) -> Result<()> {
    let data = folder.join("data");
    let mut file = File::create(&data)?;
    let mut state = 3;
    let block: Vec<u8> = (0..1 << 20).map(|_| next(&mut state) as u8).collect();
    for _ in 0..FILE >> 20 {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    let port = folder.join("port");
    let text = |path: &PathBuf| path.display().to_string();
    let _server = child(&["serve", &text(&data), &text(&port)])?;
    while !port.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let port = fs::read_to_string(&port)?;
    println!(
        "| configuration | requests | p50, ms | p95, ms | p99, ms | above {promise_ms} ms, % |"
    );
    println!("|---|---|---|---|---|---|");
    row("quiet", ask(&port, length, None)?, promise_ms);
    let neighbour = child(&["read-on", &text(&data)])?;
    let pid = folder.join("neighbour.pid");
    fs::write(&pid, neighbour.0.id().to_string())?;
    row(
        "beside the neighbour",
        ask(&port, length, None)?,
        promise_ms,
    );
    for controller in ["slo", "slo-replay"] {
        let socket = folder.join(format!("{controller}.socket"));
        let config = folder.join(format!("{controller}.toml"));
        fs::write(
            &config,
            format!(
                "[service]\nlatencies = \"{}\"\n[levers]\nblock_devices = [\"{disk}\"]\ngroup = \"mapa-tail\"\n[slo]\ncontroller = \"{controller}\"\n[slo.settings]\nio_mb_s = 100\ncool_down = 8\n[slo.tenants.api]\nlatency_slo_ms = {promise_ms:?}\n[slo.neighbours.etl]\nactivity = \"copy\"\npid_file = \"{}\"\n",
                socket.display(),
                pid.display()
            ),
        )?;
        let own = env::current_exe()?;
        let program = own
            .parent()
            .and_then(Path::parent)
            .ok_or("no folder above")?;
        let log = File::create(folder.join("log"))?;
        // No GPU is looked for: the disk stands for the path.
        let mut daemon = Command::new(program.join("mapa-node"))
            .args(["--machine", "dgx-1v", "--ledger"])
            .arg(folder.join(format!("{controller}.db")))
            .args(["--config", &text(&config)])
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()?;
        while !socket.exists() {
            if daemon.try_wait()?.is_some() {
                return Err(fs::read_to_string(folder.join("log"))?.into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        let took = ask(&port, length, Some(&socket))?;
        Command::new("kill").arg(daemon.id().to_string()).status()?;
        daemon.wait()?;
        row(&format!("the same, with {controller}"), took, promise_ms);
        let log = fs::read_to_string(folder.join("log"))?;
        if env::var_os("MAPA_LOG").is_some() {
            eprint!("{log}");
        }
        let count = |what: &str| log.matches(what).count();
        println!(
            "<!-- {controller}: {} throttles, {} lifts, {} refused -->",
            count("order=Throttle"),
            count("order=Lift"),
            count("was refused")
        );
    }
    drop(neighbour);
    Ok(())
}
