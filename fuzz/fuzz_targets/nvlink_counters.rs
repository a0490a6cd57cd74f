//! Any two texts as readings of counters: an application of no more ranks than devices, whose file reads back, or an error
//! that names a line of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_patterns::{Counters, Reading, Unit, read_pattern, write_pattern};

fuzz_target!(|texts: (&str, &str, bool)| {
    let (before, after, resets) = texts;
    let Ok(after) = Reading::read(after) else { return };
    let before = Reading::read(before).ok();
    for machine in [None, Some(mapa_topologies::named("dgx-1v").unwrap().graph().unwrap())] {
        let mut counters = Counters::new(&after);
        counters.before = before.as_ref();
        counters.resets = resets;
        counters.machine = machine.as_ref();
        match counters.application() {
            Ok(application) => {
                assert_eq!(application.unit, Unit::Bytes);
                assert_eq!(application.labels.len(), application.pattern.len());
                assert!(application.pattern.edges().iter().all(|edge| edge.traffic > 0.0));
                assert_eq!(read_pattern(&write_pattern(&application)).unwrap(), application);
                assert_eq!(counters.application().unwrap(), application);
            }
            Err(error) => assert!(error.line().is_none_or(|line| line >= 1)),
        }
    }
});
