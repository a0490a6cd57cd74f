//! Runs one search through one entry point ("door"), for tools that count instructions:
//!
//! ```text
//! cargo build --release -p mapa-benches --example doors
//! valgrind --tool=none target/release/examples/doors ring:8 complete:16 visit
//! ```
//!
//! Patterns are `SHAPE:N`, targets `complete:N`, `torus:N` (N x N) and `gnp:N` (each pair joined
//! with probability 0.1, by a seeded rule). Entry points are `visit`, `leaves`, `count`, `iter` and
//! `setup` (the first match, a hundred thousand times).

use std::ops::ControlFlow;
use std::time::Instant;

use mapa_benches::{complete, gnp, torus};
use mapa_core::{MatchConfig, Pattern};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, target, door, rest @ ..] = &words[..] else {
        panic!("expected PATTERN TARGET DOOR [raw]")
    };
    let sized = |text: &str| {
        text.split_once(':')
            .and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)))
    };
    let (shape, k) = sized(pattern).expect("a pattern is SHAPE:N");
    let shape = *mapa_core::Shape::ALL
        .iter()
        .find(|known| known.to_string() == shape)
        .expect("a known shape");
    let (kind, n) = sized(target).expect("a target is KIND:N");
    let graph = match kind.as_str() {
        "complete" => complete(n),
        "torus" => torus(n),
        _ => gnp(n),
    };
    let pattern: Pattern = shape.pattern(k);
    let config = MatchConfig::new().distinct(rest.is_empty());
    let matcher = config.compile(&pattern);
    let search = matcher.on(&graph);
    let start = Instant::now();
    let mut sum = 0u64;
    let matches = match door.as_str() {
        "none" => 1,
        "setup" => (0..100_000).filter(|_| search.first().is_some()).count() as u64,
        "iter" => search
            .iter()
            .map(|placement| sum += u64::from(placement[k - 1].0))
            .count() as u64,
        "count" => search.count().matches,
        "leaves" => {
            let mut matches = 0;
            search.visit_leaves(|leaf| {
                matches += leaf.len() as u64;
                ControlFlow::<()>::Continue(())
            });
            matches
        }
        _ => {
            let each = |placement: &[mapa_core::DeviceId]| {
                sum += u64::from(placement[k - 1].0);
                ControlFlow::<()>::Continue(())
            };
            search.visit(each).stats.matches
        }
    };
    let ns = start.elapsed().as_nanos() as f64 / matches as f64;
    println!("{matches} matches, {ns:.2} ns each; {sum}");
}
