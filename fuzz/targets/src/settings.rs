//! Any text is read as settings or refused, by itself and behind every name that takes some; what
//! is read can be written and is read back equal.

use mapa_core::{ModelShape, Parallelism, Settings, lowest_id};
use mapa_sched::{NamedScheduler, SCHEDULERS};
use mapa_sim::{Generator, Selection};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    match Settings::read(text.split(','), "KEY=VALUE", Some) {
        Ok(settings) => {
            let words: Vec<String> = settings
                .iter()
                .map(|(key, setting)| format!("{key}={}", setting.value()))
                .collect();
            let written = words.join(",");
            let again = Settings::read(written.split(','), "KEY=VALUE", Some).expect("it was read");
            let pairs = settings.iter().zip(again.iter());
            assert_eq!(settings.iter().len(), again.iter().len());
            for ((key, setting), (again, same)) in pairs {
                assert_eq!((key, setting.value()), (again, same.value()));
            }
        }
        Err(error) => assert!(error.to_string().contains("`: ")),
    }
    for row in SCHEDULERS {
        let _ = NamedScheduler::among(
            &SCHEDULERS,
            &format!("{},{text}", row.name),
            Box::new(lowest_id()),
        );
    }
    for name in ["mapa", "mapa-six", "mapa-released"] {
        let _ = format!("{name},{text}").parse::<Generator>();
    }
    let _ = text.parse::<Selection>();
    let _ = text.parse::<ModelShape>();
    if let Ok(job) = text.parse::<Parallelism>() {
        assert_eq!(job.to_string().parse::<Parallelism>().ok(), Some(job));
    }
}
