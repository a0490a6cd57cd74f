//! Any two texts as readings of counters: an application of no more ranks than devices, whose file
//! reads back, or an error that names a line of the text.

use std::sync::OnceLock;

use mapa_core::HardwareGraph;
use mapa_patterns::{Counters, Reading, Unit, read_pattern, write_pattern};

use crate::input::{parts, text};

static MACHINE: OnceLock<HardwareGraph> = OnceLock::new();

/// One input.
pub fn run(data: &[u8]) {
    let [resets, before, after] = parts(data);
    let (resets, before, after) = (!resets.is_empty(), text(before), text(after));
    let Ok(after) = Reading::read(after) else {
        return;
    };
    let before = Reading::read(before).ok();
    let machine =
        MACHINE.get_or_init(|| mapa_topologies::named("dgx-1v").unwrap().graph().unwrap());
    for machine in [None, Some(machine)] {
        let mut counters = Counters::new(&after);
        counters.before = before.as_ref();
        counters.resets = resets;
        counters.machine = machine;
        match counters.application() {
            Ok(application) => {
                assert_eq!(application.unit, Unit::Bytes);
                assert_eq!(application.labels.len(), application.pattern.len());
                assert!(
                    application
                        .pattern
                        .edges()
                        .iter()
                        .all(|edge| edge.traffic > 0.0)
                );
                assert_eq!(
                    read_pattern(&write_pattern(&application)).unwrap(),
                    application
                );
                assert_eq!(counters.application().unwrap(), application);
            }
            Err(error) => assert!(error.line().is_none_or(|line| line >= 1)),
        }
    }
}
