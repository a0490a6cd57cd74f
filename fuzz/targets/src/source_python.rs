//! Any text in Python is scanned without a panic.

use crate::input::text;
use crate::scanned::scanned;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    scanned("x.py", text);
}
