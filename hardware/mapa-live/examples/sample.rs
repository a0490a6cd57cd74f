//! What this machine does, a JSON line a second: `sample [SECONDS]`, five by default.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::{Duration, Instant};

    use mapa_live::Live;
    use mapa_live::telemetry::{Sampler, SamplerConfig};

    let seconds: u64 = match std::env::args().nth(1) {
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text}: expected a number of seconds"))?,
        None => 5,
    };
    let mut sampler = Sampler::new(Live::default(), SamplerConfig::default());
    let begin = Instant::now();
    for turn in 0..=seconds {
        let due = Duration::from_secs(turn);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
        let sample = sampler.sample(u64::try_from(begin.elapsed().as_millis())?);
        println!("{}", serde_json::to_string(&sample)?);
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
