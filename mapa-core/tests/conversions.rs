//! Graphs, patterns and fabrics to graphs of petgraph and back; what patterns and layouts are printed as.

use std::hash::{BuildHasher, RandomState};

use mapa_core::testing::{
    demanding_patterns, drawn_machines, graphs, mig_models, patterns, switched_machines,
};
use mapa_core::{Demand, Fabric, FabricNode, FabricWire, Graph, Pattern, Shape};
use petgraph::graph::UnGraph;
use proptest::prelude::*;

/// The fabric without what is known beside its wires.
fn wires_alone(fabric: &Fabric) -> Fabric {
    Fabric::try_from(&UnGraph::from(fabric)).unwrap()
}

proptest! {
    #[test]
    fn a_pattern_comes_back_from_petgraph_as_it_was(pattern in demanding_patterns(1..=6)) {
        let graph: UnGraph<Demand, f64> = (&pattern).into();
        prop_assert_eq!((graph.node_count(), graph.edge_count()), (pattern.len(), pattern.edges().len()));
        prop_assert_eq!(Pattern::try_from(&graph).unwrap(), pattern);
    }

    #[test]
    fn a_graph_comes_back_from_petgraph_as_it_was(graph in graphs(1..=12, 3, true)) {
        let other: UnGraph<u32, ()> = (&graph).into();
        prop_assert_eq!(Graph::try_from(&other).unwrap(), graph);
    }

    #[test]
    fn a_fabric_comes_back_from_petgraph_with_its_wires(
        graph in prop_oneof![drawn_machines(1..=6).boxed(), switched_machines(1..=6).boxed()],
    ) {
        let fabric = graph.fabric();
        let other: UnGraph<FabricNode, FabricWire> = fabric.into();
        prop_assert_eq!(other.node_count(), fabric.nodes().count());
        let back = wires_alone(fabric);
        let wires = |fabric: &Fabric| fabric.wires().map(|(.., wire)| wire).collect::<Vec<_>>();
        prop_assert_eq!(wires(&back), wires(fabric));
        let lowered = back.clone().lower().unwrap();
        let all = graph.all();
        for (a, b) in all.iter().flat_map(|b| all.iter().take_while(move |a| *a < b).map(move |a| (a, b))) {
            prop_assert_eq!(lowered.pair(a, b), graph.pair(a, b));
        }
    }

    #[test]
    fn equal_patterns_have_equal_hashes(a in patterns(1..=4), b in patterns(1..=4)) {
        let state = RandomState::new();
        let again = Pattern::from_edges(a.len(), a.edges().iter().map(|e| (e.b, e.a, e.traffic))).unwrap();
        prop_assert_eq!(state.hash_one(&a), state.hash_one(&again));
        prop_assert_eq!(state.hash_one(&a) == state.hash_one(&b), a == b);
    }

    #[test]
    fn a_pattern_is_printed_as_its_shape_or_its_numbers(pattern in patterns(1..=6)) {
        let printed = pattern.to_string();
        if let Some((shape, ranks)) = printed.split_once(" of ") {
            let shape: Shape = shape.parse().unwrap();
            prop_assert_eq!(shape.pattern(ranks.parse().unwrap()), pattern);
        } else {
            let own = Shape::ALL.iter().all(|shape| shape.pattern(pattern.len()) != pattern);
            prop_assert!(own || pattern.edges().is_empty(), "{}", printed);
        }
    }

    #[test]
    fn layouts_of_a_model_are_printed_apart(model in mig_models()) {
        let mut printed: Vec<String> = model.layouts().map(|layout| layout.to_string()).collect();
        let all = printed.len();
        printed.sort_unstable();
        printed.dedup();
        prop_assert_eq!(printed.len(), all);
    }
}

#[test]
fn petgraph_s_graphs_are_checked() {
    let mut graph: UnGraph<Demand, f64> = UnGraph::default();
    let [a, b] = [(); 2].map(|()| graph.add_node(Demand::whole()));
    graph.add_edge(a, b, -1.0);
    let refused = Pattern::try_from(&graph).unwrap_err().to_string();
    insta::assert_snapshot!(refused, @"edge 0 has traffic -1: expected a positive number");
    let mut fabric: UnGraph<FabricNode, FabricWire> = UnGraph::default();
    let node = |name: &str| FabricNode {
        name: name.to_owned(),
        kind: mapa_core::NodeKind::PcieSwitch,
    };
    fabric.add_node(node("switch"));
    fabric.add_node(node("switch"));
    insta::assert_snapshot!(Fabric::try_from(&fabric).unwrap_err(), @"two components are named `switch`: expected a name of its own for each");
}

#[test]
fn patterns_and_layouts_have_names_for_people() {
    let named = [
        Pattern::ring(4),
        Pattern::ring(1),
        Pattern::chain(3),
        Pattern::independent(2),
        Pattern::from_edges(3, [(0, 1, 2.5)]).unwrap(),
    ];
    assert_eq!(
        named.map(|pattern| pattern.to_string()),
        [
            "ring of 4",
            "1 rank",
            "chain of 3",
            "2 independent ranks",
            "3 ranks, 1 edge"
        ]
    );
}

#[test]
fn a_pattern_is_printed_with_its_demands_if_one_is_not_for_a_whole_device() {
    let printed = |demand| format!("{:?}", Pattern::single(demand));
    assert_eq!(
        printed(Demand::whole()),
        "Pattern { vertices: 1, edges: [] }"
    );
    let shared = Demand::any().shared();
    assert_eq!(
        printed(shared),
        format!(
            "Pattern {{ vertices: 1, edges: [], demands: {:?} }}",
            [shared]
        )
    );
}
