//! Any text is read or refused; copies that are read are between two places and have a bandwidth.

use mapa_regress::read_copies;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(copies) = read_copies(text) else {
        return;
    };
    for copy in copies {
        assert!(copy.gbps > 0.0 && copy.gbps.is_finite() && copy.from != copy.to && copy.line > 0);
    }
}
