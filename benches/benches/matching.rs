//! The matcher by each of its entry points, beside the crates `vf2` (raw matches) and petgraph
//! (induced raw matches) on the work that they support. Where these crates would take too long,
//! they find only the first matches. Throughput is matches per second, so compare by throughput
//! rather than time. `examples/doors.rs` is for counting instructions instead of time.

use std::hint::black_box;
use std::ops::ControlFlow;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group};
use mapa_benches::{complete, complete_edges, gnp_edges, joined, torus_edges};
use mapa_core::{DeviceId, MatchConfig, Pattern, Search};
use petgraph::graph::UnGraph;

type Group<'c> = BenchmarkGroup<'c, WallTime>;

fn group<'c>(c: &'c mut Criterion, name: &str) -> Group<'c> {
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    group
}

/// Passes every match to a closure that reads one of its devices.
fn visit(search: &Search<'_>) -> u64 {
    let mut sum = 0;
    let outcome = search.visit(|placement| {
        sum += u64::from(black_box(placement)[0].0);
        ControlFlow::<()>::Continue(())
    });
    black_box(sum);
    outcome.stats.matches
}

fn visit_leaves(search: &Search<'_>) -> u64 {
    let mut matches = 0;
    search.visit_leaves(|leaf| {
        matches += leaf.len() as u64;
        ControlFlow::<()>::Continue(())
    });
    matches
}

fn doors(group: &mut Group<'_>, name: &str, search: &Search<'_>, matches: u64) {
    group.throughput(Throughput::Elements(matches));
    group.bench_function(format!("{name}, visit each"), |b| {
        b.iter(|| assert_eq!(visit(search), matches))
    });
    group.bench_function(format!("{name}, leaves"), |b| {
        b.iter(|| assert_eq!(visit_leaves(search), matches))
    });
    group.bench_function(format!("{name}, count"), |b| {
        b.iter(|| assert_eq!(search.count().matches, matches))
    });
}

/// A graph in the forms that `vf2` and petgraph need.
struct Plain {
    around: Vec<Vec<usize>>,
    joined: Vec<Vec<bool>>,
    petgraph: UnGraph<(), ()>,
}

impl Plain {
    fn new(n: usize, edges: &[(usize, usize)]) -> Self {
        let mut plain = Self {
            around: vec![Vec::new(); n],
            joined: vec![vec![false; n]; n],
            petgraph: UnGraph::from_edges(edges.iter().map(|&(a, b)| (a as u32, b as u32))),
        };
        for &(a, b) in edges {
            for (a, b) in [(a, b), (b, a)] {
                plain.around[a].push(b);
                plain.joined[a][b] = true;
            }
        }
        plain
    }

    fn of(pattern: &Pattern) -> Self {
        let edges: Vec<_> = pattern
            .edges()
            .iter()
            .map(|edge| (edge.a.into(), edge.b.into()))
            .collect();
        Self::new(pattern.len(), &edges)
    }
}

impl vf2::Graph for Plain {
    type NodeLabel = ();
    type EdgeLabel = ();

    fn is_directed(&self) -> bool {
        false
    }

    fn node_count(&self) -> usize {
        self.around.len()
    }

    fn node_label(&self, _: usize) -> Option<&()> {
        Some(&())
    }

    fn neighbors(&self, node: usize, _: vf2::Direction) -> impl Iterator<Item = usize> {
        self.around[node].iter().copied()
    }

    fn contains_edge(&self, source: usize, target: usize) -> bool {
        self.joined[source][target]
    }

    fn edge_label(&self, source: usize, target: usize) -> Option<&()> {
        self.joined[source][target].then_some(&())
    }
}

/// The first of the raw matches, as `vf2` finds them.
fn vf2(group: &mut Group<'_>, small: &Plain, large: &Plain, matches: usize) {
    group.throughput(Throughput::Elements(matches as u64));
    group.bench_function("vf2", |b| {
        b.iter(|| {
            let mut all = ::vf2::subgraph_isomorphisms(small, large).iter();
            let mut seen = 0;
            while seen < matches
                && let Some(placement) = all.next_ref()
            {
                black_box(placement);
                seen += 1;
            }
            assert_eq!(seen, matches);
        });
    });
}

/// The raw induced matches, as petgraph finds them.
fn petgraph(group: &mut Group<'_>, small: &Plain, large: &Plain, matches: usize) {
    group.throughput(Throughput::Elements(matches as u64));
    group.bench_function("petgraph, induced", |b| {
        b.iter(|| {
            let (small, large) = (&&small.petgraph, &&large.petgraph);
            let (mut nodes, mut edges) = (|_: &(), _: &()| true, |_: &(), _: &()| true);
            let all =
                petgraph::algo::subgraph_isomorphisms_iter(small, large, &mut nodes, &mut edges);
            assert_eq!(all.map_or(0, Iterator::count), matches);
        });
    });
}

fn rings(c: &mut Criterion) {
    let ring = Pattern::ring(8);
    let graph = complete(16);
    let mut group = group(c, "8-rings of K16");
    let search = ring.matcher().on(&graph);
    doors(&mut group, "distinct", &search, 32_432_400);
    let threads = search.threads(2);
    group.bench_function("distinct, count on 2 threads", |b| {
        b.iter(|| assert_eq!(threads.count().matches, 32_432_400));
    });
    group.bench_function("distinct, fold on 2 threads", |b| {
        b.iter(|| {
            let lowest = |sum: &mut u64, placement: &[DeviceId]| {
                *sum += u64::from(black_box(placement)[0].0)
            };
            assert_eq!(
                threads.fold(|| 0, lowest, |a, b| a + b).1.matches,
                32_432_400
            );
        });
    });
    let by_rank = MatchConfig::new().by_rank(true).compile(&ring);
    group.bench_function("distinct by rank, visit each", |b| {
        b.iter(|| assert_eq!(visit(&by_rank.on(&graph)), 32_432_400));
    });
    vf2(
        &mut group,
        &Plain::of(&ring),
        &Plain::new(16, &complete_edges(16)),
        200_000,
    );
    group.finish();
    let small = complete(8);
    let mut group = c.benchmark_group("setup");
    for k in [4, 8] {
        let ring = Pattern::ring(k);
        let search = ring.matcher().on(&small);
        group.bench_function(format!("the first {k}-ring of K8"), |b| {
            b.iter(|| assert!(search.is_match()))
        });
    }
}

fn sparse(c: &mut Criterion) {
    let torus = Plain::new(256, &torus_edges(16));
    let machine = joined(256, &torus_edges(16));
    for (name, pattern, raw, induced) in [
        (
            "6-paths in a torus of 16 x 16",
            Pattern::chain(6),
            72_704,
            41_984,
        ),
        (
            "trees of 7 in a torus of 16 x 16",
            Pattern::binary_tree(7),
            77_824,
            45_056,
        ),
    ] {
        let small = Plain::of(&pattern);
        let mut group = group(c, name);
        let matcher = MatchConfig::new().distinct(false).compile(&pattern);
        doors(&mut group, "raw", &matcher.on(&machine), raw);
        let distinct = pattern.matcher();
        let order = distinct.symmetries() as u64;
        doors(&mut group, "distinct", &distinct.on(&machine), raw / order);
        let matcher = MatchConfig::new()
            .induced(true)
            .distinct(false)
            .compile(&pattern);
        doors(&mut group, "raw induced", &matcher.on(&machine), induced);
        vf2(&mut group, &small, &torus, raw as usize);
        petgraph(&mut group, &small, &torus, induced as usize);
    }
}

fn random(c: &mut Criterion) {
    let edges = gnp_edges(200);
    let (large, machine) = (Plain::new(200, &edges), joined(200, &edges));
    let star = Pattern::star(5);
    let raw = MatchConfig::new().distinct(false).compile(&star);
    let of_degree = |around: &Vec<usize>| (0..4).map(|i| around.len() as u64 - i).product::<u64>();
    let matches = large.around.iter().map(of_degree).sum();
    let mut stars = group(c, "5-stars in G(200, 0.1)");
    doors(&mut stars, "raw", &raw.on(&machine), matches);
    doors(
        &mut stars,
        "distinct",
        &star.matcher().on(&machine),
        matches / 24,
    );
    vf2(&mut stars, &Plain::of(&star), &large, 200_000);
    stars.finish();
    let clique = Pattern::all_to_all(4);
    let raw = MatchConfig::new().distinct(false).compile(&clique);
    let mut cliques = group(c, "4-cliques in G(200, 0.1)");
    doors(&mut cliques, "raw", &raw.on(&machine), 86 * 24);
    doors(&mut cliques, "distinct", &clique.matcher().on(&machine), 86);
    vf2(&mut cliques, &Plain::of(&clique), &large, 86 * 24);
    petgraph(&mut cliques, &Plain::of(&clique), &large, 86 * 24);
}

fn compile(c: &mut Criterion) {
    let mut group = group(c, "compile a pattern");
    let edges = gnp_edges(900)
        .into_iter()
        .step_by(17)
        .map(|(a, b)| (a as u16, b as u16, 1.0));
    for (name, pattern, symmetries) in [
        ("ring of 8", Pattern::ring(8), 16),
        ("all-to-all of 8", Pattern::all_to_all(8), 40_320),
        ("tree of 15", Pattern::binary_tree(15), 128),
        ("ring-tree of 8", Pattern::ring_tree(8), 1),
        ("ring of 512", Pattern::ring(512), 1024),
        ("star of 900", Pattern::star(900), u128::MAX),
        (
            "900 vertices, 2400 edges",
            Pattern::from_edges(900, edges).expect("no loops"),
            0,
        ),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let found = MatchConfig::new().compile(black_box(&pattern)).symmetries();
                assert!(found == symmetries || symmetries == 0);
            });
        });
    }
}

criterion_group!(benches, rings, sparse, random, compile);
