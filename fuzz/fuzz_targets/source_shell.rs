//! Any text is read as a script that launches a job without a panic.
#![no_main]

#[path = "common/scanned.rs"]
mod common;

use common::scanned;
use libfuzzer_sys::fuzz_target;
use mapa_patterns::Source;

fuzz_target!(|text: &str| {
    scanned("x.sh", text);
    assert!(
        Source::runs("x.sh", text)
            .iter()
            .all(|file| !file.is_empty())
    );
});
