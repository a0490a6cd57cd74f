//! Any text is read or refused; rows that are read can be written and read again, and each asks the model
//! or says why not.

use std::collections::BTreeMap;

use mapa_core::Efficiency;
use mapa_front::measured::{observation, question};
use mapa_regress::{measured_topology, read_measured, write_measured};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(rows) = read_measured(text) else {
        return;
    };
    let written = write_measured(&rows).expect("plain cells");
    assert_eq!(
        read_measured(&written).expect("what is written can be read"),
        rows
    );
    let file = |name: &str| measured_topology(name).map(|text| text.as_bytes().to_vec());
    let mut earlier = BTreeMap::new();
    for row in rows.iter().take(8) {
        if let Ok(asked) = question(row, &file, &mut earlier) {
            let own = observation(row, &asked, Efficiency::shipped());
            assert!(own.is_none_or(|observation| observation.gbps > 0.0));
        }
    }
}
