//! Any text is read or refused; what is read can be written and read again, is drawn, and is placed
//! or refused on a machine.

use mapa_core::{Policy, Request, lowest_id};
use mapa_patterns::{likeness, read_pattern, write_pattern};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(application) = read_pattern(text) else {
        return;
    };
    let again = read_pattern(&write_pattern(&application)).expect("what is written can be read");
    assert_eq!(again, application);
    let _ = application.to_dot();
    let _ = likeness(&application.pattern);
    let graph = mapa_topologies::named("dgx-1v")
        .expect("in the catalogue")
        .graph()
        .expect("a sound machine");
    let free = graph.all();
    // Small ones only: time is for the reader here.
    if (1..=4).contains(&application.pattern.len()) {
        let request = Request::new(application.pattern.clone());
        assert!(
            lowest_id()
                .decide(&request, &graph.with_free(&free))
                .is_ok()
        );
    }
}
