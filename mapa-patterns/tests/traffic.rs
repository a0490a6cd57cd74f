//! The traffic matrix against the plainest way to the same edges.

use std::collections::BTreeMap;

use mapa_core::MAX_DEVICES;
use mapa_patterns::TrafficMatrix;
use proptest::prelude::*;

#[test]
fn what_cannot_be_sent_changes_nothing() {
    let mut traffic = TrafficMatrix::new(3).unwrap();
    for (from, to, amount) in [
        (1, 1, 5.0),
        (0, 3, 5.0),
        (3, 0, 5.0),
        (usize::MAX, 0, 5.0),
        (0, 1, f64::NAN),
        (0, 1, -5.0),
        (0, 1, 0.0),
    ] {
        traffic.add(from, to, amount);
    }
    assert_eq!(traffic, TrafficMatrix::new(3).unwrap());
    assert_eq!(
        [
            traffic.sent(3, 0),
            traffic.sent(0, 3),
            traffic.sent(usize::MAX, 2),
            traffic.busiest()
        ],
        [0.0; 4]
    );
}

#[test]
fn an_edge_carries_what_its_busier_direction_does() {
    let mut traffic = TrafficMatrix::new(4).unwrap();
    // Fig. 9b of the paper, in kB: GPU 5 and GPU 6.
    traffic.add(0, 1, 6_417_636_280.0);
    traffic.add(1, 0, 5_242_973_340.0);
    let pattern = traffic.pattern().unwrap();
    assert_eq!(pattern.len(), 4);
    assert_eq!(
        pattern
            .edges()
            .iter()
            .map(|edge| (edge.a, edge.b, edge.traffic))
            .collect::<Vec<_>>(),
        [(0, 1, 6_417_636_280.0)]
    );
}

#[test]
fn sizes_are_those_of_patterns() {
    assert!(TrafficMatrix::new(MAX_DEVICES).is_ok());
    insta::assert_snapshot!(
        TrafficMatrix::new(MAX_DEVICES + 1).unwrap_err().to_string(),
        @"a pattern of 1025 vertices: expected at most 1024"
    );
    let none = TrafficMatrix::new(0).unwrap();
    assert!(none.is_empty() && none.pattern().unwrap().is_empty());
}

#[test]
fn sums_beyond_numbers_are_refused() {
    let mut traffic = TrafficMatrix::new(2).unwrap();
    traffic.add(0, 1, f64::MAX);
    traffic.add(0, 1, f64::MAX);
    assert!(traffic.pattern().is_err());
}

proptest! {
    #[test]
    fn edges_are_the_pairs_that_talked_and_none_is_lost(
        sent in prop::collection::vec((0..6usize, 0..6usize, -1.0..10.0f64), 0..40),
    ) {
        let mut traffic = TrafficMatrix::new(6).unwrap();
        let mut plain = BTreeMap::<(usize, usize), f64>::new();
        for (from, to, amount) in sent {
            traffic.add(from, to, amount);
            if from != to && amount > 0.0 {
                *plain.entry((from, to)).or_default() += amount;
            }
        }
        let mut expected = Vec::new();
        for a in 0..6 {
            for b in a + 1..6 {
                let way = |from, to| plain.get(&(from, to)).copied().unwrap_or(0.0);
                let most = way(a, b).max(way(b, a));
                if most > 0.0 {
                    expected.push((a as u16, b as u16, most));
                }
            }
        }
        let pattern = traffic.pattern().unwrap();
        let edges: Vec<_> = pattern.edges().iter().map(|edge| (edge.a, edge.b, edge.traffic)).collect();
        prop_assert_eq!(edges, expected);
    }
}
