//! What `mapa run` costs over the bare command: medians of as many runs as the first argument says.
//! Build the program first: `cargo build --release -p mapa-node`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs: usize = std::env::args().nth(1).map_or(Ok(200), |arg| arg.parse())?;
    let folder = tempfile::tempdir()?;
    let ledger = folder.path().join("ledger.db");
    // Examples lie in a folder beside the program.
    let own = std::env::current_exe()?;
    let program = own
        .parent()
        .and_then(Path::parent)
        .ok_or("no folder above")?
        .join("mapa");
    let mut bare = Vec::new();
    let mut held = Vec::new();
    for _ in 0..runs {
        bare.push(time(&mut Command::new("true"))?);
        let mut mapa = Command::new(&program);
        mapa.args(["--machine", "dgx-a100", "--ledger"])
            .arg(&ledger);
        held.push(time(mapa.args(["run", "-n", "4", "--", "true"]))?);
    }
    let [bare, held] = [bare, held].map(median);
    println!(
        "bare {bare:?}, by mapa run {held:?}, difference {:?}",
        held.saturating_sub(bare)
    );
    Ok(())
}

fn time(command: &mut Command) -> Result<Duration, Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let status = command.status()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}: expected success").into());
    }
    Ok(begun.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
