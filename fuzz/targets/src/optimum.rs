//! The matcher, the optimum and the oracle agree on any small machine, pattern, free set, request
//! and criteria.

use std::collections::BTreeSet;

use mapa_core::testing::oracle;
use mapa_core::{
    Fabric, HardwareGraph, LinkClass, MatchConfig, Objective, Pattern, Policy, Request, Rules,
    Shape, Tiers, aggregate_gbps, criteria::max, effective_gbps, preserved_gbps,
};

use crate::input::Choices;

impl Choices<'_> {
    /// Links of every class, gaps among them, two NUMA nodes.
    pub(crate) fn machine(&mut self) -> HardwareGraph {
        let classes = [
            (LinkClass::Sys, 12.0),
            (LinkClass::Direct(1), 25.0),
            (LinkClass::Direct(2), 50.0),
            (LinkClass::Pix, 12.0),
            (LinkClass::Direct(4), 100.0),
            (LinkClass::Node, 8.0),
        ];
        let (n, gaps) = (1 + self.below(6), self.below(2));
        let mut fabric = Fabric::new();
        let numa = [0, 1].map(|i| {
            fabric
                .add_numa(format!("numa{i}"), i)
                .expect("names differ")
        });
        let devices: Vec<_> = (0..n)
            .map(|i| fabric.add_device(format!("GPU{i}")).expect("names differ"))
            .collect();
        for (i, &device) in devices.iter().enumerate() {
            fabric
                .attach(device, numa[i % 2], 12.0)
                .expect("no parent yet");
        }
        for b in 0..n {
            for a in 0..b {
                if let Some(&(class, gbps)) = classes.get(self.below(classes.len() + gaps)) {
                    fabric
                        .link(devices[a], devices[b], class, gbps)
                        .expect("each pair once");
                }
            }
        }
        fabric.lower().expect("a few devices")
    }

    pub(crate) fn pattern(&mut self, most: usize) -> Pattern {
        let n = 1 + self.below(most);
        if let Some(shape) = Shape::ALL.get(self.below(9)) {
            return shape.pattern(n);
        }
        let traffic = [1.0, 1.0, 2.5];
        let edge = |input: &mut Self| {
            (
                input.below(n) as u16,
                input.below(n) as u16,
                traffic[input.below(3)],
            )
        };
        let edges: Vec<_> = (0..self.below(8))
            .map(|_| edge(self))
            .filter(|(a, b, _)| a != b)
            .collect();
        Pattern::from_edges(n, edges).expect("ends in range, no loops")
    }

    pub(crate) fn objective(&mut self) -> Objective<'static> {
        let seed = self.below(256) as u64;
        match self.below(5) {
            0 => aggregate_gbps(),
            1 => effective_gbps(),
            2 => preserved_gbps(),
            3 => Objective::edges("weighted", |edge| edge.traffic * edge.link.gbps),
            _ => Objective::links("any", Tiers::PAPER, move |census| {
                let (x, y, z) = census.xyz();
                let mix = |hash: u64, &v: &u32| {
                    (hash ^ u64::from(v))
                        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                        .rotate_left(29)
                };
                ([x, y, z].iter().fold(seed, mix) % 17) as f64
            }),
        }
    }

    pub(crate) fn request(&mut self, devices: usize) -> Request {
        let mut request = Request::new(self.pattern(4));
        let options = self.below(32);
        if options & 1 == 1 {
            request.avoid = self.set(devices);
        }
        if options & 2 == 2 {
            request.only = Some(self.set(devices));
        }
        if options & 4 == 4 {
            request.must_include = self.set(devices).iter().take(2).collect();
        }
        if options & 8 == 8 {
            request.min_link = [LinkClass::Node, LinkClass::Direct(1)][self.below(2)];
        }
        request.same_numa(options & 16 == 16)
    }
}

/// One input.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let graph = choices.machine();
    let free = choices.set(graph.len());
    let pattern = choices.pattern(5);
    for induced in [false, true] {
        let raw = oracle::raw_matches(&pattern, &graph, &free, induced);
        let distinct = oracle::distinct(&pattern, &raw);
        let raw: BTreeSet<_> = raw.into_iter().collect();
        for (once, expected) in [(false, &raw), (true, &distinct)] {
            let matcher = MatchConfig::new()
                .induced(induced)
                .distinct(once)
                .compile(&pattern);
            let search = matcher.on(&graph).within(&free);
            let listed: BTreeSet<_> = search.iter().map(|placement| placement.to_vec()).collect();
            assert_eq!(&listed, expected);
            assert_eq!(search.count().matches, expected.len() as u64);
        }
    }
    let request = choices.request(graph.len());
    let objectives: Vec<_> = (0..choices.below(3)).map(|_| choices.objective()).collect();
    let policy = objectives
        .iter()
        .fold(Rules::new("fuzz"), |rules, objective| {
            rules.prefer(max(objective.clone()))
        });
    let view = graph.with_free(&free);
    let decision = policy.decide(&request, &view);
    let expected = oracle::best(&request, &view, &objectives);
    assert_eq!(
        decision.ok().map(|decision| decision.placement().to_vec()),
        expected
    );
}
