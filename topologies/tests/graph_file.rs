//! Graph files: that nothing is lost on the way through. What is read and refused is in the corpus.

use mapa_core::testing::graphs;
use mapa_topologies::{read_graph, write_graph};
use proptest::prelude::*;

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
