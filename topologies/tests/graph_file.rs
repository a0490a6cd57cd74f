//! Graph files: what is read, what is refused and where, and that nothing is lost on the way
//! through.

use mapa_core::testing::graphs;
use mapa_topologies::{read_graph, write_graph};
use proptest::prelude::*;

fn refused(text: &str, message: &str) {
    assert_eq!(
        read_graph(text.as_bytes()).unwrap_err().to_string(),
        message,
        "{text:?}"
    );
}

#[test]
fn the_three_forms_say_the_same() {
    let graph = read_graph(b"4 4\n0 1\n2 0\n\n1 2\n 2\t3\r\n").unwrap();
    assert_eq!(
        graph.edges().collect::<Vec<_>>(),
        [(0, 1), (0, 2), (1, 2), (2, 3)]
    );
    assert_eq!(
        read_graph(b"4\n2 1 2\n2 0 2\n3 0 1 3\n1 2\n").unwrap(),
        graph
    );
    let labelled = b"t 4 4\nv 0 0 2\nv 2 0 3\nv 1 0 2\nv 3 0 1\ne 0 1\ne 1 2\ne 2 0\ne 3 2\n";
    assert_eq!(read_graph(labelled).unwrap(), graph);
    assert_eq!(read_graph(b"0 0").unwrap().len(), 0);
    let looped = read_graph(b"2\n2 0 1\n1 0\n").unwrap();
    assert_eq!((looped.loops(), looped.edge_count()), (&[0][..], 2));
    assert_eq!(read_graph("\u{feff}1 0\n".as_bytes()).unwrap().len(), 1);
}

#[test]
fn mistakes_are_named_with_their_line() {
    refused(
        "",
        "no graph: expected `n m`, `n`, or `t n m` in the first line",
    );
    refused(
        "a,b\n",
        "line 1: number of vertices `a,b`: expected a number, not too large",
    );
    refused(
        "1 2 3\n",
        "line 1: `1 2 3`: expected `n m`, `n`, or `t n m` in the first line",
    );
    refused(
        "t # 0\n",
        "line 1: number of vertices `#`: expected a number, not too large",
    );
    refused(
        "99999999 0\n",
        "line 1: 99999999 vertices: expected at most 16777216",
    );
    refused(
        "3 1\n0 1\n1 2\n",
        "line 1: 1 edges announced: expected 2, as many as are given",
    );
    refused(
        "3 2\n0 1\n1 0\n",
        "line 3: edge 1-0 is in line 2 already: expected each edge once",
    );
    refused(
        "3 1\n0 3\n",
        "line 2: vertex `3`: expected a number below 3",
    );
    refused(
        "3 1\n0 +1\n",
        "line 2: vertex `+1`: expected a number below 3",
    );
    refused(
        "3 1\n0 1 5\n",
        "line 2: `0 1 5`: expected `u v`, the two ends of an edge",
    );
}

#[test]
fn mistakes_in_adjacency_lists_are_named_with_their_line() {
    refused(
        "2\n1 1\n",
        "line 1: 2 vertices announced: expected 1, as many as lists",
    );
    refused("1\n0\n0\n", "line 3: `0`: expected nothing after 1 lists");
    refused(
        "2\n2 1\n1 0\n",
        "line 2: 2 neighbours announced: expected 1, as many as are given",
    );
    refused("2\n1 1\n0\n", "line 2: 0 lists 1: expected 1 to list 0 too");
    refused(
        "2\n2 1 1\n1 0\n",
        "line 2: edge 0-1 is in line 2 already: expected each edge once",
    );
    refused(
        "2\n1 1\n2 0 0\n",
        "line 3: edge 1-0 is in line 2 already: expected each edge once",
    );
}

#[test]
fn mistakes_in_labelled_graphs_are_named_with_their_line() {
    let of_two = |rest: &str| format!("t 2 1\nv 0 5 1\n{rest}");
    refused(
        &of_two("e 0 1\n"),
        "line 1: vertex 1 of 2 is missing: expected a line `v` for each",
    );
    refused(
        &of_two("v 0 5 1\n"),
        "line 3: vertex 0 is in line 2 already: expected each once",
    );
    refused(
        &of_two("v 1 5 2\ne 0 1\n"),
        "line 3: vertex 1 has degree 2: expected 1, as its edges have it",
    );
    refused(
        &of_two("v 1 5 1\n"),
        "line 1: 1 edges announced: expected 0, as many as are given",
    );
    refused(
        &of_two("v 1 5\n"),
        "line 3: `v 1 5`: expected `v id label degree` or `e u v`",
    );
    refused(
        &of_two("v 1 -5 1\n"),
        "line 3: label `-5`: expected a number, not too large",
    );
    refused(
        &of_two("e 0 1 3\n"),
        "line 3: `e 0 1 3`: expected `v id label degree` or `e u v`",
    );
    refused(
        "t 2\n",
        "line 1: `t 2`: expected `t n m`, the numbers of vertices and edges",
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(graph in (1u32..4).prop_flat_map(|labels| graphs(0..=12, labels, true))) {
        let text = write_graph(&graph);
        prop_assert_eq!(read_graph(text.as_bytes()).unwrap(), graph, "{}", text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = read_graph(&bytes);
    }

    #[test]
    fn any_lines_of_small_numbers_are_read_as_they_stand_or_refused(text in "(t )?[0-4]( [0-4])?\n([ve]?( [0-3]){1,3}\n){0,6}") {
        if let Ok(graph) = read_graph(text.as_bytes()) {
            prop_assert_eq!(read_graph(write_graph(&graph).as_bytes()).unwrap(), graph);
        }
    }
}
