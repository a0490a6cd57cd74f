//! Public instances of subgraph matching whose counts other solvers agree on: every known count is
//! found.

use crate::common::real_data;
use std::fs;
use std::path::{Path, PathBuf};

use mapa_core::{Graph, MatchConfig, Pattern};
use mapa_topologies::read_graph;

/// The folder of instances.
fn instances() -> Option<PathBuf> {
    real_data().map(|data| data.join("match"))
}

fn graph(path: &Path) -> Graph {
    let bytes = fs::read(path).unwrap();
    read_graph(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A table's rows, without its headings.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let row = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(row)
        .collect()
}

fn count(config: MatchConfig, pattern: &Graph, target: &Graph) -> u64 {
    let stats = config.compile_graph(pattern).unwrap().on(target).count();
    assert!(stats.complete());
    stats.matches
}

/// How many automorphisms an unlabelled graph has.
fn symmetries(graph: &Graph) -> u128 {
    let edges = graph.edges().map(|(a, b)| (a as u16, b as u16, 1.0));
    Pattern::from_edges(graph.len(), edges)
        .unwrap()
        .matcher()
        .symmetries()
}

/// `known` is a number, or `-` where nobody knows.
fn check(
    name: &str,
    config: MatchConfig,
    (pattern, target): (&Graph, &Graph),
    known: &str,
) -> usize {
    if known == "-" {
        return 0;
    }
    assert_eq!(
        count(config, pattern, target).to_string(),
        known,
        "{name}, {config:?}"
    );
    1
}

/// Unlabelled instances of Solnon's benchmark for subgraph isomorphism; the counts of Glasgow and
/// RI.
fn sip(induced: bool, column: usize, expected: usize) {
    let Some(folder) = instances() else {
        return;
    };
    let config = MatchConfig::new().distinct(false).induced(induced);
    let mut checked = 0;
    for row in rows(&folder.join("sip/oracle.tsv")) {
        let [pattern, target] =
            [&row[2], &row[3]].map(|name| graph(&folder.join(format!("sip/edges/{name}.g"))));
        assert_eq!(
            [pattern.len(), pattern.edge_count()].map(|n| n.to_string()),
            row[4..6],
            "{}",
            row[1]
        );
        let known = check(&row[1], config, (&pattern, &target), &row[column]);
        if known > 0 {
            // Each class of equal matches has as many as the pattern has automorphisms.
            let distinct = config.distinct(true).compile_graph(&pattern).unwrap();
            let classes = distinct.on(&target).iter().count() as u64;
            assert_eq!(
                (u128::from(classes) * symmetries(&pattern)).to_string(),
                row[column],
                "{}",
                row[1]
            );
        }
        checked += known;
    }
    assert_eq!(checked, expected);
}

#[test]
fn sip_counts_are_those_of_two_other_solvers() {
    sip(false, 9, 64);
}

#[test]
fn sip_induced_counts_are_those_of_two_other_solvers() {
    sip(true, 10, 70);
}

/// Where only their existence is published: not so `g41-g49`, which takes too long.
#[test]
fn sip_patterns_lie_where_published() {
    let Some(folder) = instances() else {
        return;
    };
    for row in rows(&folder.join("sip/oracle.tsv"))
        .iter()
        .filter(|row| row[9] == "-" && row[1] != "g41-g49")
    {
        let [pattern, target] =
            [&row[2], &row[3]].map(|name| graph(&folder.join(format!("sip/edges/{name}.g"))));
        let matcher = MatchConfig::new()
            .distinct(false)
            .compile_graph(&pattern)
            .unwrap();
        assert_eq!(
            matcher.on(&target).is_match().to_string(),
            row[8],
            "{}",
            row[1]
        );
    }
}

/// A network of proteins, labelled; 120 of the queries have published counts.
#[test]
fn hprd_counts_are_those_published() {
    let Some(folder) = instances().map(|folder| folder.join("hprd")) else {
        return;
    };
    let target = graph(&folder.join("HPRD.graph"));
    assert_eq!((target.len(), target.edge_count()), (9460, 34_998));
    let config = MatchConfig::new().distinct(false);
    let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
    for line in expected.lines() {
        let (name, known) = line.split_once(':').unwrap();
        let pattern = graph(&folder.join(format!("{name}.graph")));
        assert_eq!(check(name, config, (&pattern, &target), known), 1);
    }
    assert_eq!(expected.lines().count(), 120);
}

#[test]
fn synthetic_counts_are_those_of_six_other_solvers() {
    let Some(folder) = instances() else {
        return;
    };
    for row in rows(&folder.join("synthetic/oracle.tsv")) {
        let [pattern, target] =
            [&row[0], &row[1]].map(|name| graph(&folder.join(format!("synthetic/{name}.g"))));
        let (distinct, raw) = (MatchConfig::new(), MatchConfig::new().distinct(false));
        let name = format!("{} in {}", row[0], row[1]);
        // 518,918,400 of them take seconds without optimisation.
        if name != "ring8 in K16" {
            check(&name, raw, (&pattern, &target), &row[2]);
        }
        check(&name, distinct, (&pattern, &target), &row[4]);
        check(&name, raw.induced(true), (&pattern, &target), &row[5]);
    }
}

/// `a,b`: an edge between two names.
fn named(path: &Path) -> Graph {
    let text = fs::read_to_string(path).unwrap();
    let mut names: Vec<&str> = text.lines().flat_map(|line| line.split(',')).collect();
    names.sort_unstable();
    names.dedup();
    let vertex = |name: &str| names.binary_search(&name).unwrap() as u32;
    let ends = text.lines().filter_map(|line| line.split_once(','));
    Graph::new(names.len(), ends.map(|(a, b)| (vertex(a), vertex(b)))).unwrap()
}

#[test]
fn the_small_instances_of_glasgow_have_their_counts() {
    let Some(folder) = instances() else {
        return;
    };
    let folder = folder.join("glasgow");
    let raw = MatchConfig::new().distinct(false);
    let [trident, longtrident] =
        ["trident.csv", "longtrident.csv"].map(|name| named(&folder.join(name)));
    assert_eq!(count(raw, &trident, &longtrident), 12);
    let [c3, c3c2] = ["c3.csv", "c3c2.csv"].map(|name| named(&folder.join(name)));
    assert_eq!(count(raw.induced(true), &c3, &c3c2), 6);
    // Glasgow puts loops on loops; here they are refused in patterns, so what it counts is picked
    // out.
    let [small, large] = ["small", "large"].map(|name| graph(&folder.join(name)));
    assert!(raw.compile_graph(&small).is_err());
    let loopless = Graph::new(small.len(), small.edges().filter(|(a, b)| a != b)).unwrap();
    let on_loops = |induced: bool| {
        let loops = |graph: &Graph, v: u32| graph.loops().contains(&v);
        let kept = |map: &Vec<u32>| {
            (0..).zip(map).all(|(u, &v)| {
                if loops(&small, u) {
                    loops(&large, v)
                } else {
                    !induced || !loops(&large, v)
                }
            })
        };
        raw.induced(induced)
            .compile_graph(&loopless)
            .unwrap()
            .on(&large)
            .iter()
            .filter(kept)
            .count()
    };
    assert_eq!((on_loops(false), on_loops(true)), (6, 0));
}
