//! Any text is read or refused; what is read can be written and read again, and its graph decided
//! on.

use mapa_core::{Limits, Pattern, Policy, Request, preserve};
use mapa_topologies::Machine;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(machine) = Machine::from_toml(text) else {
        return;
    };
    let toml = machine.to_toml().expect("it came from TOML");
    assert_eq!(
        Machine::from_toml(&toml).expect("what is written can be read"),
        machine
    );
    // What a file can say and a graph cannot hold: too many links between two devices, too many
    // instances.
    let Ok(graph) = machine.graph() else { return };
    let free = graph.all();
    let request = Request::new(Pattern::ring(3))
        .sensitive(text.len().is_multiple_of(2))
        .limits(Limits::NONE.nodes(1000));
    if let Ok(decision) = preserve().decide(&request, &graph.with_free(&free)) {
        assert_eq!(decision.placement().set().len(), 3);
    }
}
