//! Matching in plain graphs: public instances with known counts, from the folder that the
//! environment variable `MAPA_DATA` names; without it, a random graph. Times include compiling,
//! filtering and counting.

use crate::real_data::real_data;
use std::fs;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group};
use mapa_core::{Graph, MatchConfig};
use mapa_topologies::read_graph;

/// Name, pattern, target, and the counts of raw matches: non-induced, induced.
const TIMED: [(&str, &str, &str, u64, u64); 5] = [
    ("LV g2-g8", "LV__g2", "LV__g8", 148_000, 340),
    (
        "si2_b03m_m400.05",
        "si__si2_bvg_b03m_400__si2_b03m_m400.05__pattern",
        "si__si2_bvg_b03m_400__si2_b03m_m400.05__target",
        36_864,
        9216,
    ),
    (
        "si2_b09m_m400.06",
        "si__si2_bvg_b09m_400__si2_b09m_m400.06__pattern",
        "si__si2_bvg_b09m_400__si2_b09m_m400.06__target",
        18_432,
        8064,
    ),
    (
        "si2_m4Dr6_m256.08",
        "si__si2_m4D_m4Dr6_256__si2_m4Dr6_m256.08__pattern",
        "si__si2_m4D_m4Dr6_256__si2_m4Dr6_m256.08__target",
        5760,
        5760,
    ),
    (
        "si6_r001_m400.03",
        "si__si6_rand_r001_400__si6_r001_m400.03__pattern",
        "si__si6_rand_r001_400__si6_r001_m400.03__target",
        298_512,
        1,
    ),
];

fn instances() -> Option<PathBuf> {
    real_data().map(|data| data.join("match"))
}

fn graph(path: &Path) -> Graph {
    read_graph(&fs::read(path).expect("it is in the folder")).expect("it is well-formed")
}

fn count(config: MatchConfig, pattern: &Graph, target: &Graph) -> u64 {
    config
        .compile_graph(pattern)
        .expect("it has no loops")
        .on(target)
        .count()
        .matches
}

fn known(c: &mut Criterion) {
    let Some(folder) = instances() else {
        return random(c);
    };
    sip(c, &folder.join("sip/edges"));
    hprd(c, &folder.join("hprd"));
}

fn sip(c: &mut Criterion, folder: &Path) {
    let raw = MatchConfig::new().distinct(false);
    for (name, pattern, target, matches, induced) in TIMED {
        let [pattern, target] =
            [pattern, target].map(|name| graph(&folder.join(format!("{name}.g"))));
        let mut group = c.benchmark_group(name);
        group.bench_function("count", |b| {
            b.iter(|| assert_eq!(count(raw, &pattern, &target), matches))
        });
        let visit = || {
            raw.compile_graph(&pattern)
                .expect("it has no loops")
                .on(&target)
                .iter()
                .count() as u64
        };
        group.bench_function("iterator", |b| b.iter(|| assert_eq!(visit(), matches)));
        let config = raw.induced(true);
        group.bench_function("induced", |b| {
            b.iter(|| assert_eq!(count(config, &pattern, &target), induced))
        });
        group.finish();
    }
}

fn hprd(c: &mut Criterion, folder: &Path) {
    let raw = MatchConfig::new().distinct(false);
    let target = graph(&folder.join("HPRD.graph"));
    let expected = fs::read_to_string(folder.join("expected.txt")).expect("it is in the folder");
    let query = |line: &str| {
        let (name, matches) = line.split_once(':').expect("a name and a count");
        (
            graph(&folder.join(format!("{name}.graph"))),
            matches.parse::<u64>().expect("a count"),
        )
    };
    let queries: Vec<(Graph, u64)> = expected.lines().map(query).collect();
    c.bench_function(&format!("hprd, {} queries", queries.len()), |b| {
        b.iter(|| {
            queries
                .iter()
                .for_each(|(query, matches)| assert_eq!(count(raw, query, &target), *matches))
        });
    });
}

/// A random graph of 2,000 vertices with a fixed seed: each pair is joined with probability 1/200.
/// The expected count is the one that the first run found.
fn random(c: &mut Criterion) {
    let mut state = 42u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let pairs = (0..2000u32).flat_map(|b| (0..b).map(move |a| (a, b)));
    let edges: Vec<(u32, u32)> = pairs.filter(|_| draw() % 200 == 0).collect();
    let target = Graph::new(2000, edges).expect("ends in range");
    let house =
        Graph::new(5, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]).expect("ends in range");
    c.bench_function("MAPA_DATA is not set: houses in a random graph", |b| {
        b.iter(|| assert_eq!(count(MatchConfig::new(), &house, &target), HOUSES));
    });
}

const HOUSES: u64 = 217;

criterion_group!(benches, known);
