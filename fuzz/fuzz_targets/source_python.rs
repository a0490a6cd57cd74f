//! Any text in Python is scanned without a panic.
#![no_main]

#[path = "common/scanned.rs"]
mod common;

use common::scanned;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| scanned("x.py", text));
