//! Any text is read or refused; copies that are read are between two places and have a bandwidth.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_regress::read_copies;

fuzz_target!(|text: &str| {
    let Ok(copies) = read_copies(text) else {
        return;
    };
    for copy in copies {
        assert!(copy.gbps > 0.0 && copy.gbps.is_finite() && copy.from != copy.to && copy.line > 0);
    }
});
