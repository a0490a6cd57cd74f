//! Any text is read as a log of decisions or refused; what is read can be decided again. Any text is
//! read as a job file of tenants or refused.

use mapa_system_slo_log::{read_log, replay_log};
use mapa_system_slo_sim::read_tenants;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    if let Ok(log) = read_log(text) {
        let replayed = replay_log(&log).expect("numbers that were read can be written");
        assert_eq!(replayed.decisions, log.len());
    }
    let _ = read_tenants(text);
}
