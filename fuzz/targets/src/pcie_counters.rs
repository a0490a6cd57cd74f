//! Any text as samples of `nvidia-smi dmon`, beside counters of links in which two of four GPUs
//! talk.

use mapa_patterns::{Counters, PcieSamples, Reading};

use crate::input::text;

const LINKS: &str = "GPU 0: V\n Link 0: Rx0: 500 KBytes, Tx0: 600 KBytes\nGPU 1: V\n Link 0: Rx0: 600 KBytes, Tx0: 500 KBytes
GPU 2: V\n Link 0: Rx0: 0 KBytes, Tx0: 0 KBytes\nGPU 3: V\n Link 0: Rx0: 0 KBytes, Tx0: 0 KBytes\n";

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(samples) = PcieSamples::read(text, 1.0) else {
        return;
    };
    let links = Reading::read(LINKS).unwrap();
    let mut counters = Counters::new(&links);
    counters.pcie = Some(&samples);
    let application = counters.application().unwrap();
    assert!(
        application.pattern.len() >= 2
            && application
                .pattern
                .edges()
                .iter()
                .all(|edge| edge.traffic > 0.0)
    );
}
