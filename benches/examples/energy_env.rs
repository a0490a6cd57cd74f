//! The environment of `mapa-system-energy-rl` beside one in NumPy, in one run on one core: first a day step for
//! step, then steps per second with observations. Seconds are those of the processor, so that other
//! work on the machine does not count.
//!
//! ```sh
//! python3 -m pip install numpy
//! cargo run --release -p mapa-benches --example energy_env
//! ```
//!
//! `PYTHON` names another Python.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use mapa_system_energy::learned::{Formulation, Observation};
use mapa_system_energy::{Power, SliceJob, SlicedGpus};
use mapa_system_energy_rl::{Batch, Day, Reward, Source};
use mapa_system_energy_sim::Draw;

/// How long each measurement takes at least, seconds of the processor.
const SECONDS: f64 = 5.0;

type Failure = Box<dyn std::error::Error>;

/// A free slice by the number of the step: the same on both sides.
fn choose(step: usize, mask: impl Iterator<Item = bool>) -> usize {
    let free: Vec<usize> = mask
        .enumerate()
        .filter(|pair| pair.1)
        .map(|pair| pair.0)
        .collect();
    free[step * 7919 % free.len()]
}

fn source() -> Result<Source, Failure> {
    let machine = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100)?;
    Ok(Source {
        observation: Observation::new(Formulation::Enhanced, &machine),
        machine,
        draw: Draw::default(),
        reward: Reward::Code,
        seed: 1,
    })
}

/// Runs the script on these jobs: its file, and the two rates that it prints.
fn numpy(jobs: &[SliceJob]) -> Result<(Vec<u8>, Vec<f64>), Failure> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/energy_env.py");
    let folder = std::env::temp_dir().join(format!("mapa-energy-env-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (from, to) = (folder.join("jobs"), folder.join("day"));
    let numbers = jobs.iter().flat_map(|job| {
        let head = [job.arrives(), job.deadline()];
        head.into_iter().chain(job.minutes()).collect::<Vec<_>>()
    });
    std::fs::write(
        &from,
        numbers.flat_map(f64::to_le_bytes).collect::<Vec<_>>(),
    )?;
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    // One core for both: NumPy's products have threads, which nothing here uses.
    let done = Command::new(python)
        .arg(script)
        .args([from.as_os_str(), to.as_os_str()])
        .arg(SECONDS.to_string())
        .env("OMP_NUM_THREADS", "1")
        .output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
    }
    let file = std::fs::read(&to)?;
    std::fs::remove_dir_all(&folder)?;
    let rates = String::from_utf8(done.stdout)?;
    let rates = rates.split_whitespace().map(str::parse);
    Ok((file, rates.collect::<Result<_, _>>()?))
}

/// Compares the day that the script wrote with ours.
fn compare(jobs: &[SliceJob], file: &[u8]) -> Result<(), Failure> {
    let source = source()?;
    let mut day = Day::new(jobs, source.machine.clone())?;
    let (seen, rest) = file.split_at(jobs.len() * 88 * 4);
    let numbers: Vec<f64> = rest
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| f64::from_le_bytes(bytes))
        .collect();
    let mut worst = 0.0_f64;
    for step in 0..jobs.len() {
        let mut own = Vec::new();
        source.observation.append(day.state(), &mut own);
        let theirs = seen[step * 352..]
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes));
        for (at, (ours, theirs)) in own.iter().zip(theirs).enumerate() {
            assert!(
                (ours - theirs).abs() <= 1e-6 * ours.abs(),
                "step {step}, number {at}: {ours}, {theirs}"
            );
        }
        let slice = choose(step, day.state().running().iter().map(Option::is_none));
        assert_eq!(numbers[2 * step], slice as f64, "step {step}");
        let passed = day.start(slice)?;
        let reward = Reward::Code.of(&passed, day.totals());
        worst = worst.max((numbers[2 * step + 1] - reward).abs());
    }
    let totals = day.totals();
    let [late, tardiness, energy] = [0, 1, 2].map(|at| numbers[2 * jobs.len() + at]);
    assert!(day.is_over() && totals.late as f64 == late && totals.tardiness == tardiness);
    assert!((totals.watt_minutes / energy - 1.0).abs() < 1e-12);
    println!(
        "{} steps agree: 88 numbers each, rewards to {worst:.0e}; late {:.2} %, tardiness {:.3} min, energy {:.4e} W min",
        jobs.len(),
        100.0 * totals.late_share(),
        totals.mean_tardiness(),
        totals.watt_minutes
    );
    Ok(())
}

/// The processor's time of this program, by Linux; elsewhere the time that passes.
struct Clock {
    cpu: Option<f64>,
    start: Instant,
}

fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

impl Clock {
    fn start() -> Self {
        Self {
            cpu: cpu_seconds(),
            start: Instant::now(),
        }
    }

    fn seconds(&self) -> f64 {
        let used = self.cpu.and_then(|from| Some(cpu_seconds()? - from));
        used.unwrap_or_else(|| self.start.elapsed().as_secs_f64())
    }
}

/// Steps per second of eight days side by side.
fn rate() -> Result<f64, Failure> {
    let mut batch = Batch::new(source()?, 8)?;
    let (mut seen, mut masks, mut actions) = (Vec::new(), Vec::new(), Vec::new());
    let clock = Clock::start();
    let mut steps = 0_usize;
    while clock.seconds() < SECONDS {
        for _ in 0..1000 {
            seen.clear();
            masks.clear();
            actions.clear();
            batch.observe(&mut seen);
            batch.masks(&mut masks);
            let each = masks.chunks_exact(20);
            actions.extend(each.enumerate().map(|(day, mask)| pick(steps + day, mask)));
            batch.step(&actions)?;
            steps += 8;
        }
    }
    Ok(steps as f64 / clock.seconds())
}

/// As [`choose`], without a list.
fn pick(step: usize, mask: &[bool]) -> usize {
    let free = mask.iter().filter(|is_legal| **is_legal).count();
    let place = step * 7919 % free;
    let mut each = mask.iter().enumerate().filter(|action| *action.1);
    each.nth(place).map_or(0, |action| action.0)
}

fn main() -> Result<(), Failure> {
    let jobs = Draw::default().jobs(1)?;
    let (file, theirs) = numpy(&jobs)?;
    compare(&jobs, &file)?;
    let ours = rate()?;
    println!("mapa-system-energy-rl                            {ours:>10.0} steps/s");
    let names = ["NumPy, numpy.histogram", "NumPy, searchsorted and bincount"];
    for (name, theirs) in names.iter().zip(theirs) {
        println!(
            "{name:<34} {theirs:>10.0} steps/s, {:.0} times slower",
            ours / theirs
        );
    }
    Ok(())
}
