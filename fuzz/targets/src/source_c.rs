//! Any text in C, C++ and CUDA is scanned without a panic.

use crate::input::text;
use crate::scanned::scanned;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    ["x.c", "x.cu"].iter().for_each(|file| scanned(file, text));
}
