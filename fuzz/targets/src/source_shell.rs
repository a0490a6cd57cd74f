//! Any text is read as a script that launches a job without a panic.

use mapa_patterns::Source;

use crate::input::text;
use crate::scanned::scanned;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    scanned("x.sh", text);
    assert!(
        Source::runs("x.sh", text)
            .iter()
            .all(|file| !file.is_empty())
    );
}
