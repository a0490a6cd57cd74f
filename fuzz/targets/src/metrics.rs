//! Any text is metrics or rejected, and signals are found in them; any datagram has latencies or bad lines.

use mapa_live::Interrupts;
use mapa_live::telemetry::{Exporter, ScrapeTarget, read_latencies, read_metrics, signals_of};

/// One input.
pub fn run(bytes: &[u8]) {
    let (latencies, _) = read_latencies(bytes);
    assert!(latencies.iter().all(|latency| !latency.tenant.is_empty()));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(interrupts) = Interrupts::read(text) {
        let since = interrupts.since(&Interrupts::default());
        assert!(since.len() <= interrupts.cpus.len());
    }
    let Ok(metrics) = read_metrics(text) else {
        return;
    };
    for exporter in [Exporter::Dcgm, Exporter::Vllm, Exporter::Dynamo] {
        let target = ScrapeTarget {
            exporter,
            url: String::new(),
        };
        let (signals, missing) = signals_of(&target, &metrics);
        assert!(
            signals
                .values()
                .flat_map(|series| series.values())
                .all(|value| !value.is_nan())
        );
        // A name is told, or told as missing, and never both.
        assert!(
            missing
                .iter()
                .all(|missing| !signals.contains_key(missing.what.trim()))
        );
    }
}
