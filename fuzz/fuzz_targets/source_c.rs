//! Any text in C, C++ and CUDA is scanned without a panic.
#![no_main]

#[path = "common/scanned.rs"]
mod common;

use common::scanned;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| ["x.c", "x.cu"].iter().for_each(|file| scanned(file, text)));
