//! Every method of a search, on some ten thousand random searches, compared with plain backtracking
//! over ranks 0, 1, 2, ...

use std::ops::ControlFlow;

use mapa_core::testing::oracle;
use mapa_core::{
    Demand, DeviceId, DeviceSet, Edge, Fabric, HardwareGraph, Limits, Link, LinkClass, MatchConfig,
    Matcher, Pattern, Placement, Search, SearchStats, Verifier,
};

use crate::common::gpus;

/// Pseudo-random numbers, the same on every run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }

    fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    fn set(&mut self, n: usize) -> DeviceSet {
        (0..n as u32)
            .map(DeviceId)
            .filter(|_| self.percent(75))
            .collect()
    }

    /// Up to twelve devices, from hardly any pair joined to all.
    fn machine(&mut self) -> HardwareGraph {
        let n = 1 + self.below(12);
        let joined = [20, 45, 70, 100][self.below(4)];
        let mut fabric = Fabric::new();
        let nodes = gpus(&mut fabric, n);
        for b in 0..n {
            for a in 0..b {
                if self.percent(joined) {
                    let class = [
                        LinkClass::Sys,
                        LinkClass::Pix,
                        LinkClass::Direct(1),
                        LinkClass::Direct(2),
                    ];
                    fabric
                        .link(nodes[a], nodes[b], class[self.below(4)], 12.0)
                        .unwrap();
                }
            }
        }
        fabric.lower().unwrap()
    }

    /// Up to seven ranks, of two roles at times; edges of two kinds, some twice.
    fn pattern(&mut self) -> Pattern {
        let n = 1 + self.below(7);
        let shapes = mapa_core::Shape::ALL;
        let pattern = if self.percent(50) {
            shapes[self.below(shapes.len())].pattern(n)
        } else {
            let joined = [25, 50, 80][self.below(3)];
            let pairs = (0..n as u16).flat_map(|b| (0..b).map(move |a| (a, b)));
            let edges: Vec<_> = pairs.filter(|_| self.percent(joined)).collect();
            let weighted = edges
                .into_iter()
                .map(|(a, b)| (a, b, if self.percent(15) { 2.0 } else { 1.0 }));
            Pattern::from_edges(n, weighted).unwrap()
        };
        let roles = self.percent(25);
        (0..n).filter(|_| roles).fold(pattern, |pattern, rank| {
            pattern.with_demand(
                rank,
                Demand {
                    role: self.below(2) as u16,
                    ..Demand::default()
                },
            )
        })
    }
}

/// The settings of a search.
struct Case<'c> {
    pattern: &'c Pattern,
    /// The pattern's automorphisms, by brute force.
    group: &'c [Vec<usize>],
    graph: &'c HardwareGraph,
    within: DeviceSet,
    domains: Option<Vec<DeviceSet>>,
    predicate: bool,
    induced: bool,
    distinct: bool,
    by_rank: bool,
}

/// The more traffic the better the link.
fn is_good_enough(edge: &Edge, link: Link) -> bool {
    link.class
        >= if edge.traffic > 1.0 {
            LinkClass::Direct(1)
        } else {
            LinkClass::Pix
        }
}

impl Case<'_> {
    /// All raw matches, by backtracking; none if there are too many to compare.
    fn raw(&self) -> Option<Vec<Vec<DeviceId>>> {
        let mut found = Vec::new();
        self.extend(&mut Vec::new(), &mut found).then_some(found)
    }

    fn extend(&self, map: &mut Vec<DeviceId>, found: &mut Vec<Vec<DeviceId>>) -> bool {
        let rank = map.len();
        if rank == self.pattern.len() {
            found.push(map.clone());
            return found.len() < 3000;
        }
        self.within.iter().all(|device| {
            let allowed = self
                .domains
                .as_ref()
                .is_none_or(|domains| domains[rank].contains(device));
            if !allowed
                || map.contains(&device)
                || !(0..rank).all(|other| self.fits(map[other], device, other, rank))
            {
                return true;
            }
            map.push(device);
            let go_on = self.extend(map, found);
            map.pop();
            go_on
        })
    }

    fn fits(&self, a: DeviceId, b: DeviceId, lower: usize, higher: usize) -> bool {
        let link = self.graph.link(a, b);
        let ends = |edge: &&Edge| (usize::from(edge.a), usize::from(edge.b)) == (lower, higher);
        let mut edges = self.pattern.edges().iter().filter(ends).peekable();
        match edges.peek() {
            None => !(self.induced && link.exists()),
            Some(_) => {
                link.exists() && (!self.predicate || edges.all(|edge| is_good_enough(edge, link)))
            }
        }
    }

    /// Whether no automorphism leads to a smaller match.
    fn is_smallest(&self, map: &[DeviceId]) -> bool {
        self.group
            .iter()
            .all(|image| map.iter().copied().le(image.iter().map(|&rank| map[rank])))
    }

    fn matcher(&self) -> Matcher {
        MatchConfig::new()
            .induced(self.induced)
            .distinct(self.distinct)
            .by_rank(self.by_rank)
            .compile(self.pattern)
    }

    fn check(&self, random: &mut Seeded) -> bool {
        let Some(mut expected) = self.raw() else {
            return false;
        };
        if !self.predicate && self.domains.is_none() {
            self.check_verifier(&expected, random);
        }
        if self.distinct {
            expected.retain(|map| self.is_smallest(map));
        }
        let matcher = self.matcher();
        let order: Vec<usize> = matcher.placing_order().collect();
        expected.sort_by_key(|map| order.iter().map(|&rank| map[rank]).collect::<Vec<_>>());
        let mut search = matcher.on(self.graph).within(&self.within);
        if let Some(domains) = &self.domains {
            search = search.domains(domains);
        }
        if self.predicate {
            search = search.links(&is_good_enough);
        }
        let stats = self.check_doors(&search, &expected);
        for limits in [
            Limits::NONE,
            Limits::NONE.matches(random.below(expected.len() + 2) as u64),
            Limits::NONE.nodes(random.below(stats.nodes as usize + 2) as u64),
        ] {
            let complete = limits.nodes >= stats.nodes && limits.matches >= stats.matches;
            self.check_limits(&search.limits(limits), limits, &expected, complete);
        }
        true
    }

    fn check_doors(&self, search: &Search<'_>, expected: &[Vec<DeviceId>]) -> SearchStats {
        let mut visited = Vec::new();
        let outcome = search.visit(|placement| {
            visited.push(placement.to_vec());
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(visited, expected, "{self}");
        assert!(
            outcome.stats.complete() && outcome.stats.matches == expected.len() as u64,
            "{self}"
        );
        assert_eq!(
            search
                .iter()
                .map(|placement| placement.to_vec())
                .collect::<Vec<_>>(),
            expected,
            "{self}"
        );
        let mut leaves = Vec::new();
        search.visit_leaves(|leaf| {
            assert!(leaf.len() == leaf.devices().count() && !leaf.is_empty());
            for device in leaf.devices() {
                let mut placement = leaf.placement.to_vec();
                placement[leaf.rank] = device;
                leaves.push(placement);
            }
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(leaves, expected, "{self}");
        assert_eq!(search.count().matches, expected.len() as u64, "{self}");
        assert_eq!(
            search.first().as_deref(),
            expected.first().map(Vec::as_slice),
            "{self}"
        );
        assert_eq!(search.is_match(), !expected.is_empty(), "{self}");
        outcome.stats
    }

    /// Checks that limits are kept, and that three threads give the answer of one.
    fn check_limits(
        &self,
        search: &Search<'_>,
        limits: Limits,
        expected: &[Vec<DeviceId>],
        complete: bool,
    ) {
        let mut visited = Vec::new();
        let one = search.visit(|placement| {
            visited.push(Placement::from(placement));
            ControlFlow::<()>::Continue(())
        });
        assert!(
            one.stats.matches <= limits.matches && one.stats.nodes <= limits.nodes,
            "{self}"
        );
        assert!(
            visited
                .iter()
                .map(|placement| &placement[..])
                .eq(expected[..visited.len()].iter().map(|map| &map[..]))
        );
        assert_eq!(one.stats.complete(), complete, "{self}");
        let threads = search.threads(3);
        let all = threads.fold(
            Vec::new,
            |all, placement| all.push(Placement::from(placement)),
            |mut all, more| {
                all.extend(more);
                all
            },
        );
        assert_eq!(all, (visited, one.stats), "{self}");
        assert_eq!(threads.count(), search.count(), "{self}");
        // Raw matches may be counted by classes, which takes fewer nodes.
        let counted = search.count();
        if counted.complete() {
            assert_eq!(counted.matches, expected.len() as u64, "{self}");
        } else {
            assert_eq!(counted, one.stats, "{self}");
        }
        let mut iter = search.iter();
        let streamed = iter.by_ref().count() as u64;
        assert_eq!(
            (streamed, iter.stats()),
            (one.stats.matches, one.stats),
            "{self}"
        );
    }

    fn check_verifier(&self, raw: &[Vec<DeviceId>], random: &mut Seeded) {
        let verifier = Verifier::new(self.pattern, self.graph)
            .within(&self.within)
            .induced(self.induced);
        assert!(raw.iter().all(|map| verifier.check(map).is_ok()), "{self}");
        for _ in 0..20 {
            let device = |_| DeviceId(random.below(self.graph.len() + 1) as u32);
            let map: Vec<DeviceId> = (0..self.pattern.len()).map(device).collect();
            assert_eq!(
                verifier.check(&map).is_ok(),
                raw.contains(&map),
                "{map:?}: {self}"
            );
        }
    }
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            pattern,
            graph,
            within,
            domains,
            predicate,
            induced,
            distinct,
            by_rank,
            ..
        } = self;
        let ids = || (0..graph.len() as u32).map(DeviceId);
        let rows: Vec<_> = ids().map(|id| graph.neighbours(id)).collect();
        write!(
            f,
            "{pattern:?} on {rows:?} within {within:?}, domains {domains:?}, predicate {predicate}, "
        )?;
        write!(
            f,
            "induced {induced}, distinct {distinct}, by rank {by_rank}"
        )
    }
}

#[test]
fn every_method_shows_what_backtracking_finds() {
    let mut random = Seeded(0x2545_f491_4f6c_dd1d);
    let patterns: Vec<_> = (0..100).map(|_| random.pattern()).collect();
    let patterns: Vec<_> = patterns
        .into_iter()
        .map(|pattern| (oracle::automorphisms(&pattern), pattern))
        .collect();
    let mut checked = 0;
    for _ in 0..120 {
        let graph = random.machine();
        for (group, pattern) in &patterns {
            let within = if random.percent(50) {
                graph.all()
            } else {
                random.set(graph.len())
            };
            let mut case = Case {
                pattern,
                group,
                graph: &graph,
                within,
                domains: None,
                predicate: random.percent(25),
                induced: random.percent(35),
                distinct: random.percent(60),
                by_rank: random.percent(35),
            };
            if random.percent(30) {
                // Ranks of one orbit have one domain; for raw matches, at times each has its own.
                let own: Vec<_> = (0..pattern.len())
                    .map(|_| random.set(graph.len()))
                    .collect();
                let keep = !case.distinct && random.percent(50);
                let first =
                    |rank: usize| group.iter().map(|image| image[rank]).min().unwrap_or(rank);
                let domain = |rank| own[if keep { rank } else { first(rank) }].clone();
                case.domains = Some((0..pattern.len()).map(domain).collect());
            }
            checked += usize::from(case.check(&mut random));
        }
    }
    assert!(checked > 10_000, "{checked}");
}
