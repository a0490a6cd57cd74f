//! How late commands end at their time limit: the wall-clock time of each beyond it.
//!
//! `cargo run --release -p mapa-benches --example time_limits -- target/release/mapa-bench [LIMIT_MS]`

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

/// Work of at least seconds, a command line each, that the tests of the program run too.
const HARD: &str = include_str!("../../fronts/mapa-bench/tests/time_limit/hard.txt");

/// How often each is run.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args().skip(1);
    let program = words.next().ok_or("expected the path of mapa-bench")?;
    let program = fs::canonicalize(program)?;
    let limit: u64 = words.next().map_or(Ok(300), |limit| limit.parse())?;
    let folder = env::temp_dir().join(format!("mapa-time-limits-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    write_inputs(&folder)?;
    println!(
        "{:>8} {:>8} {:>8}  limit {limit} ms",
        "least", "most", "status"
    );
    let mut latest = f64::NEG_INFINITY;
    for line in HARD.lines() {
        let (mut times, mut status) = (Vec::new(), None);
        for _ in 0..RUNS {
            let begun = Instant::now();
            let done = Command::new(&program)
                .args(line.split(' '))
                .args(["--time-limit", &format!("{limit}ms")])
                .current_dir(&folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            times.push(begun.elapsed().as_secs_f64() * 1e3 - limit as f64);
            status = done.code();
        }
        assert!(matches!(status, Some(0 | 3)), "{line}: {status:?}");
        times.sort_by(f64::total_cmp);
        let (least, most) = (times[0], times[RUNS - 1]);
        latest = latest.max(most);
        println!(
            "{least:>5.0} ms {most:>5.0} ms {:>8}  {line}",
            status.unwrap_or(-1)
        );
    }
    println!("{latest:>5.0} ms at most, of {RUNS} runs each");
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The clique of 400 vertices, and a sweep of 1,000 cells.
fn write_inputs(folder: &Path) -> Result<(), Box<dyn Error>> {
    let n = 400;
    let mut clique = format!("{n} {}\n", n * (n - 1) / 2);
    for a in 0..n {
        for b in 0..a {
            writeln!(clique, "{a} {b}")?;
        }
    }
    fs::write(folder.join("clique.txt"), clique)?;
    let sweep = "machines = \"dgx-1v\"\ngenerate = \"mapa,jobs=2000\"\nseeds = \"1..1000\"\n";
    fs::write(folder.join("sweep.toml"), sweep)?;
    Ok(())
}
