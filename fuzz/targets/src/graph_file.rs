//! Any bytes are a graph or refused; what is read is written and read again as it was, and lies on
//! itself.

use mapa_core::{Limits, MatchConfig};
use mapa_topologies::{read_graph, write_graph};

/// One input.
pub fn run(bytes: &[u8]) {
    // A graph without edges may announce millions of vertices, which only takes time.
    let Some(digits) = bytes.iter().position(|b| *b == b'\n') else {
        return;
    };
    if digits > 8 {
        return;
    }
    let Ok(graph) = read_graph(bytes) else { return };
    let again = read_graph(write_graph(&graph).as_bytes()).expect("what is written can be read");
    assert_eq!(again, graph);
    for induced in [false, true] {
        let Ok(matcher) = MatchConfig::new()
            .induced(induced)
            .distinct(false)
            .compile_graph(&graph)
        else {
            continue;
        };
        let search = matcher.on(&graph).limits(Limits::NONE.nodes(10_000));
        let stats = search.count();
        assert!(
            !stats.complete() || (stats.matches > 0) != graph.is_empty(),
            "a graph lies on itself"
        );
    }
}
