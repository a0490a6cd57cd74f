//! Any text is read as a file of profiles or refused; what is read can be written and is read back
//! equal, and makes jobs.

use mapa_sched::{JobId, Time};
use mapa_sim::{read_profiles, write_profiles};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(profiles) = read_profiles(text) else {
        return;
    };
    let written = write_profiles(&profiles).expect("what a file holds can be written");
    assert_eq!(
        read_profiles(&written).expect("what is written can be read"),
        profiles
    );
    for profile in &profiles {
        for &size in profile.throughput.keys() {
            let _ = profile.submission(JobId(0), Time::ZERO, size, 100.0);
        }
    }
}
