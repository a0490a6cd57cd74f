//! A real manager and a real process, in wall-clock time.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mapa_case::{Declared, Session};

/// Tasks that are begun and ended.
const TASKS: u64 = 5000;

/// Sessions that are begun: with that of the tasks as many as a process may have.
const SESSIONS: usize = 7;

/// What a process waits for, in microseconds.
pub(super) struct ProbeWaits {
    /// A probe: the median, and the 99th of a hundred.
    pub(super) probe: [f64; 2],
    /// The manager: from a further session of a process that arrives until it may ask for memory. The
    /// median, and the longest.
    pub(super) manager: [f64; 2],
}

/// The program `mapa-case`, if it is built beside this program or installed.
fn program() -> Option<PathBuf> {
    let own = env::current_exe().ok();
    // Tests are built one folder below programs.
    let beside: Vec<PathBuf> = own
        .iter()
        .flat_map(|path| path.ancestors().skip(1).take(2))
        .map(Path::to_owned)
        .collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = beside.into_iter().chain(env::split_paths(&path));
    folders.find_map(|folder| {
        let file = folder.join("mapa-case");
        file.is_file().then_some(file)
    })
}

/// A manager that is ended with the measurement.
struct ManagerProcess(Child);

impl Drop for ManagerProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Measures with a manager of one large instance. `None` if there is no `mapa-case`.
pub(crate) fn measure() -> Result<Option<ProbeWaits>> {
    let Some(program) = program() else {
        return Ok(None);
    };
    let folder = env::temp_dir().join(format!("mapa-lab-case-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let measured = measure_in(&folder, &program);
    fs::remove_dir_all(&folder)?;
    measured.map(Some)
}

fn measure_in(folder: &Path, program: &Path) -> Result<ProbeWaits> {
    let list = "[[instance]]\ncuda_visible_devices = \"GPU-0\"\nmemory = 80000000000\n";
    fs::write(folder.join("instances.toml"), list)?;
    let child = Command::new(program)
        .current_dir(folder)
        .args([
            "manager",
            "--ledger",
            "ledger.db",
            "--instances",
            "instances.toml",
        ])
        .args(["--socket", "case.sock", "--processes-per-slice", "255"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut manager = ManagerProcess(child);
    // It says a line once it listens.
    if let Some(errors) = manager.0.stderr.take() {
        BufReader::new(errors).read_line(&mut String::new())?;
    }
    let socket = folder.join("case.sock");
    let session = Session::new(socket.clone(), Declared::default());
    let (mut probes, mut sessions) = (Vec::new(), Vec::new());
    for task in 0..TASKS {
        probes.push(timed(|| session.begin(task, 1 << 20, 32, 0).map(drop))?);
        probes.push(timed(|| session.end(task).map(drop))?);
    }
    for _ in 0..SESSIONS {
        let session = Session::new(socket.clone(), Declared::default());
        sessions.push(timed(|| session.init())?);
    }
    Ok(ProbeWaits {
        probe: quantiles(probes, [50, 99]),
        manager: quantiles(sessions, [50, 100]),
    })
}

fn timed(call: impl FnOnce() -> std::result::Result<(), mapa_case::Error>) -> Result<Duration> {
    let begun = Instant::now();
    call().map_err(Error::other)?;
    Ok(begun.elapsed())
}

/// The values below which these hundredths lie, in microseconds.
fn quantiles(mut all: Vec<Duration>, shares: [usize; 2]) -> [f64; 2] {
    all.sort();
    shares.map(|share| {
        let at = (all.len().saturating_sub(1)) * share / 100;
        all.get(at)
            .map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e6)
    })
}
