//! Foresight compared with its definition, over all orders in which leases can end.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::testing::{free_sets, machines, requests};
use mapa_core::{
    Allocator, Candidate, Decision, DeviceId, DeviceSet, Ends, Foresight, HardwareGraph, LinkClass,
    Next, Objective, Outlook, Patience, Pattern, Request, Shape, effective_gbps, foresight,
    preserve_with, preserved_gbps, ring_packing_gbps,
};
use proptest::prelude::*;

/// The largest jobs that are expected.
const LARGEST: usize = 5;

fn set(mask: u32) -> DeviceSet {
    (0..16)
        .filter(|at| mask >> at & 1 == 1)
        .map(DeviceId)
        .collect()
}

fn mask(set: &DeviceSet) -> u32 {
    set.iter().map(|id| 1 << id.0).sum()
}

/// The subsets of `free` of `k` devices, lowest ids first.
fn sets(free: u32, k: usize) -> Vec<u32> {
    let mut sets: Vec<u32> = (0..=free)
        .filter(|part| part & !free == 0 && part.count_ones() as usize == k)
        .collect();
    sets.sort_by_key(|part| set(*part));
    sets
}

/// The best value of the pattern on a set, over all rank orders; every link is good enough.
fn best_order(
    graph: &HardwareGraph,
    model: &Objective<'_>,
    pattern: &Pattern,
    least: LinkClass,
    on: u32,
) -> Option<f64> {
    let mut best: Option<f64> = None;
    let mut devices: Vec<DeviceId> = set(on).iter().collect();
    let all = graph.all();
    orders(&mut devices, 0, &mut |placement| {
        let link =
            |a: u16, b: u16| graph.link(placement[usize::from(a)], placement[usize::from(b)]);
        if pattern
            .edges()
            .iter()
            .all(|edge| link(edge.a, edge.b).exists() && link(edge.a, edge.b).class >= least)
        {
            let value = model.score(&Candidate {
                view: graph.with_free(&all),
                pattern,
                placement,
            });
            best = Some(best.map_or(value, |best| best.max(value)));
        }
    });
    best
}

fn orders(devices: &mut [DeviceId], from: usize, f: &mut impl FnMut(&[DeviceId])) {
    if from == devices.len() {
        return f(devices);
    }
    for other in from..devices.len() {
        devices.swap(from, other);
        orders(devices, from + 1, f);
        devices.swap(from, other);
    }
}

/// The values of rings of each size on each set of a machine.
struct Oracle<'o> {
    graph: &'o HardwareGraph,
    model: Objective<'static>,
    rings: BTreeMap<u32, f64>,
}

impl<'o> Oracle<'o> {
    fn new(graph: &'o HardwareGraph, model: Objective<'static>) -> Self {
        let everything = mask(&graph.all());
        let ring = |on: u32| {
            let ring = Pattern::ring(on.count_ones() as usize);
            Some((on, best_order(graph, &model, &ring, LinkClass::None, on)?))
        };
        let rings = (2..=LARGEST)
            .flat_map(|k| sets(everything, k))
            .filter_map(ring)
            .collect();
        Self {
            graph,
            model,
            rings,
        }
    }

    fn best_ring(&self, free: u32, k: usize) -> f64 {
        let within = self
            .rings
            .iter()
            .filter(|(on, _)| *on & !free == 0 && on.count_ones() as usize == k);
        let best = within
            .map(|(_, value)| *value)
            .fold(f64::NEG_INFINITY, f64::max);
        if best.is_finite() { best } else { 0.0 }
    }

    /// The value that a ring of `k` will find, over all orders in which these leases can end.
    fn found(&self, k: usize, free: u32, leases: &[u32]) -> f64 {
        if free.count_ones() as usize >= k {
            return self.best_ring(free, k);
        }
        let after = |at: usize| {
            self.found(
                k,
                free | leases[at],
                &[&leases[..at], &leases[at + 1..]].concat(),
            )
        };
        let sum: f64 = (0..leases.len()).map(after).sum();
        sum / leases.len().max(1) as f64
    }

    fn future(&self, free: u32, leases: &[u32]) -> f64 {
        (2..=LARGEST.min(self.graph.len()))
            .map(|k| self.found(k, free, leases) / LARGEST as f64)
            .sum()
    }

    fn preserved(&self, free: u32) -> f64 {
        self.graph.bandwidth_within(&set(free), |_| true)
    }

    /// The least cost of the job from here on, over all orders in which leases end.
    fn least_cost(
        &self,
        k: usize,
        patience: &Patience,
        state: (u32, &[u32]),
        may_start: bool,
    ) -> f64 {
        let (free, leases) = state;
        let start = k as f64 * patience.slowdown_at(self.best_ring(free, k));
        let after = |at: usize| {
            let rest = [&leases[..at], &leases[at + 1..]].concat();
            self.least_cost(k, patience, (free | leases[at], &rest), true)
        };
        let l = leases.len() as f64;
        let wait = if leases.is_empty() {
            f64::INFINITY
        } else {
            patience.kappa * f64::from(free.count_ones()) / l
                + (0..leases.len()).map(after).sum::<f64>() / l
        };
        if may_start { start.min(wait) } else { wait }
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e7).round()
}

/// A machine, and a few jobs on it that hold these devices.
fn in_use(graph: Arc<HardwareGraph>, held: &[DeviceSet]) -> (Allocator, Vec<u32>) {
    let mut machine = Allocator::new(graph);
    let mut leases = Vec::new();
    for devices in held {
        let free: DeviceSet = devices & machine.view().free();
        if !free.is_empty() {
            let request = Request::new(Pattern::independent(free.len()));
            let decision =
                Decision::checked("held", &request, &machine.view(), free.iter()).unwrap();
            machine.commit(decision).unwrap();
            leases.push(mask(&free));
        }
    }
    (machine, leases)
}

fn states() -> impl Strategy<Value = (Arc<HardwareGraph>, Vec<DeviceSet>)> {
    (
        machines(2..=7).prop_map(Arc::new),
        proptest::collection::vec(free_sets(7), 0..4),
    )
        .prop_map(|(graph, held)| {
            let held = held.iter().map(|held| held & &graph.all()).collect();
            (graph, held)
        })
}

fn models() -> impl Strategy<Value = Objective<'static>> {
    prop_oneof![3 => Just(effective_gbps()), 1 => Just(ring_packing_gbps())]
}

/// The sets that a request may have, with what the job has there.
fn candidates(oracle: &Oracle<'_>, request: &Request, free: &DeviceSet) -> Vec<(u32, f64)> {
    let graph = oracle.graph;
    let allowed = request
        .only
        .as_ref()
        .map_or_else(|| free.clone(), |only| free & only);
    let allowed = &allowed - &request.avoid;
    let one_node = |on: &DeviceSet| {
        let nodes: Vec<_> = on.iter().map(|id| graph.device(id).numa).collect();
        nodes.iter().all(|node| node.is_some() && *node == nodes[0])
    };
    let of = |on: u32| {
        let devices = set(on);
        let admitted =
            request.must_include.is_subset(&devices) && (!request.same_numa || one_node(&devices));
        let own = best_order(graph, &oracle.model, &request.pattern, request.min_link, on)
            .filter(|_| admitted)?;
        let counts = request.is_sensitive() && request.pattern.len() > 1;
        Some((on, if counts { own } else { 0.0 }))
    };
    sets(mask(&allowed), request.pattern.len())
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Whether the policy looks ahead for such jobs at all.
fn is_known(pattern: &Pattern) -> bool {
    let k = pattern.len();
    let is = |shape: Shape| {
        let ends = |pattern: &Pattern| {
            let mut ends: Vec<_> = pattern
                .edges()
                .iter()
                .map(|edge| (edge.a, edge.b))
                .collect();
            ends.sort_unstable();
            ends
        };
        ends(&shape.pattern(k)) == ends(pattern)
    };
    let plain = pattern
        .edges()
        .iter()
        .all(|edge| edge.traffic == pattern.edges()[0].traffic);
    let shapes = [Shape::Ring, Shape::Chain, Shape::Star, Shape::AllToAll];
    plain && k <= LARGEST && (pattern.edges().is_empty() || k == 2 || shapes.into_iter().any(is))
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(150))]

    #[test]
    fn the_set_is_the_best_by_definition(
        (graph, held) in states(),
        request in requests(7, 1..=5),
        model in models(),
        weight in proptest::sample::select(vec![0.0, 0.5, 2.0]),
    ) {
        let (machine, leases) = in_use(graph.clone(), &held);
        let view = machine.view();
        let request = request.runners_up(1);
        let policy = Foresight::new(model.clone()).weight(weight);
        let preserve = preserve_with(model.clone(), preserved_gbps());
        let answer = view.decide(&policy, &request);
        let expected = view.decide(&preserve, &request);
        if answer.is_err() || expected.is_err() {
            prop_assert_eq!(answer.unwrap_err(), expected.unwrap_err());
            return Ok(());
        }
        let (answer, expected) = (answer.unwrap(), expected.unwrap());
        if !is_known(&request.pattern) {
            prop_assert_eq!(answer.placement(), expected.placement());
            return Ok(());
        }
        let oracle = Oracle::new(&graph, model);
        let free = mask(view.free());
        let key = |&(on, value): &(u32, f64)| {
            let leases = [&leases[..], &[on]].concat();
            let worth = value + weight * oracle.future(free & !on, &leases);
            (rounded(worth), rounded(oracle.preserved(free & !on)))
        };
        let mut keyed: Vec<_> =
            candidates(&oracle, &request, view.free()).into_iter().map(|on| (key(&on), on.0)).collect();
        // A stable sort: of equals the lowest ids stay first.
        keyed.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap());
        let named = std::iter::once(answer.best()).chain(answer.runners_up().iter().map(|other| &other.scored));
        let named: Vec<u32> = named.map(|scored| mask(&scored.placement().set())).collect();
        let best: Vec<u32> = keyed.iter().take(2).map(|(_, on)| *on).collect();
        prop_assert_eq!(&named, &best, "by definition {:?}", &keyed[..keyed.len().min(4)]);
        let worth = answer.best().score("foresight_gbps").unwrap();
        prop_assert!((rounded(worth) - keyed[0].0.0).abs() <= 1.0);
        let there = request.clone().only(answer.placement().set()).runners_up(0);
        let laid = view.decide(&preserve, &there).unwrap();
        prop_assert_eq!(answer.placement(), laid.placement(), "laid as preserve does");
        prop_assert_eq!(answer.policy(), "foresight");
        prop_assert!(answer.search().complete());
    }

    #[test]
    fn waiting_is_worth_what_all_orders_of_ends_say(
        (graph, held) in states(),
        k in 2usize..=5,
        model in models(),
        kappa in 0.0f64..2.0,
        slowdown in 0.5f64..4.0,
    ) {
        let (machine, leases) = in_use(graph.clone(), &held);
        let view = machine.view();
        let request = Request::new(Pattern::ring(k)).sensitive(true);
        let policy = Foresight::new(model.clone());
        let Ok(decision) = view.decide(&policy, &request) else { return Ok(()) };
        let patience = Patience { kappa, slowdown, ..Patience::default() };
        let wait = policy.worth_waiting(&request, &view, &decision, &patience);
        let oracle = Oracle::new(&graph, model);
        let ring = oracle.rings[&mask(&decision.placement().set())];
        let starting = k as f64 * patience.slowdown_at(ring);
        let waiting = oracle.least_cost(k, &patience, (mask(view.free()), &leases), false);
        if (waiting - starting).abs() > 1e-9 {
            prop_assert_eq!(wait.is_some(), waiting < starting, "{} or {}", waiting, starting);
        }
        if let Some(wait) = wait {
            prop_assert!((wait.waiting - waiting).abs() < 1e-9 && (wait.starting - starting).abs() < 1e-9);
            prop_assert!(slowdown > 1.0 && !leases.is_empty());
        }
        let insensitive = request.clone().sensitive(false);
        prop_assert_eq!(policy.worth_waiting(&insensitive, &view, &decision, &patience), None);
    }

    #[test]
    fn what_comes_next_is_tried_out_in_the_order_of_known_ends(
        (graph, held) in states(),
        k in 1usize..=4,
        sensitive in any::<bool>(),
        next in proptest::collection::vec((1usize..=5, any::<bool>(), 1u32..20), 1..6),
        ends in proptest::collection::vec(1u32..20, 4),
        known in any::<bool>(),
    ) {
        let (machine, leases) = in_use(graph.clone(), &held);
        let view = machine.view();
        let request = Request::new(Pattern::ring(k)).sensitive(sensitive).runners_up(40);
        let next: Vec<Next> = next
            .into_iter()
            .map(|(devices, sensitive, seconds)| Next { devices, sensitive, seconds: seconds.into() })
            .collect();
        let ends: Vec<f64> = ends[..leases.len()].iter().map(|end| f64::from(*end)).collect();
        let slowdown = Patience::default();
        let running = machine.leases().map(|lease| lease.id).zip(ends.iter().copied()).collect();
        let outlook = Outlook { next: next.clone(), ends: known.then_some(Ends { running, seconds: 7.0, slowdown }) };
        let Ok(decision) = view.decide(foresight().expecting(outlook.clone()), &request) else { return Ok(()) };
        prop_assert_eq!(&decision, &view.decide(foresight().expecting(outlook), &request).unwrap(), "no state");
        let oracle = Oracle::new(&graph, effective_gbps());
        let all = std::iter::once(decision.best()).chain(decision.runners_up().iter().map(|other| &other.scored));
        let mut before = f64::INFINITY;
        for scored in all {
            let on = mask(&scored.placement().set());
            let ring = oracle.rings.get(&on).copied().filter(|_| sensitive);
            let seconds = |job: f64, gbps_alone: Option<f64>| job * gbps_alone.map_or(1.0, |gbps| slowdown.slowdown_at(gbps));
            let mut there: Vec<(f64, u32)> = ends.iter().copied().zip(leases.iter().copied()).collect();
            there.push((seconds(7.0, ring), on));
            let course = Course { oracle: &oracle, next: &next, known, seconds: &seconds };
            let (least, most) = course.run(0, (mask(view.free()) & !on, there, 0.0));
            let worth = scored.score("foresight_gbps").unwrap() - ring.unwrap_or(0.0);
            prop_assert!((least - 1e-6..=most + 1e-6).contains(&worth), "{} not in {}..={}", worth, least, most);
            prop_assert!(worth + ring.unwrap_or(0.0) <= before, "best first");
            before = worth + ring.unwrap_or(0.0);
        }
    }
}

/// The next jobs one by one, each on the set that the criteria of `preserve` choose.
struct Course<'c> {
    oracle: &'c Oracle<'c>,
    next: &'c [Next],
    known: bool,
    seconds: &'c dyn Fn(f64, Option<f64>) -> f64,
}

impl Course<'_> {
    /// The least and the most that they can have from job `at` on: in the order of known ends, or
    /// in any order.
    fn run(&self, at: usize, (free, leases, now): (u32, Vec<(f64, u32)>, f64)) -> (f64, f64) {
        let Some(next) = self.next.get(at) else {
            return (0.0, 0.0);
        };
        if next.devices > self.oracle.graph.len() {
            // As if the job did not exist.
            let rest: Vec<Next> = [&self.next[..at], &self.next[at + 1..]].concat();
            return Course {
                next: &rest,
                ..*self
            }
            .run(at, (free, leases, now));
        }
        if (free.count_ones() as usize) < next.devices {
            let together = |end: f64| {
                (0..leases.len())
                    .filter(|at| leases[*at].0 == end)
                    .collect()
            };
            let first = leases.iter().map(|lease| lease.0).min_by(f64::total_cmp);
            let ends: Vec<Vec<usize>> = if self.known {
                first.map(together).into_iter().collect()
            } else {
                (0..leases.len()).map(|at| vec![at]).collect()
            };
            let after = |ends: &Vec<usize>| {
                let moment = leases[ends[0]].0;
                let on = ends.iter().fold(0, |on, at| on | leases[*at].1);
                let kept = (0..leases.len())
                    .filter(|at| !ends.contains(at))
                    .map(|at| leases[at])
                    .collect();
                self.run(at, (free | on, kept, f64::max(now, moment)))
            };
            let both = ends
                .iter()
                .map(after)
                .reduce(|a, b| (f64::min(a.0, b.0), f64::max(a.1, b.1)));
            return both.unwrap_or((0.0, 0.0));
        }
        let counts = next.sensitive && next.devices > 1;
        let pattern = Pattern::ring(next.devices);
        let worth = |on: &u32| {
            let own = best_order(
                self.oracle.graph,
                &self.oracle.model,
                &pattern,
                LinkClass::None,
                *on,
            )?;
            let own = counts.then_some(own);
            Some((
                rounded(own.unwrap_or(0.0)),
                rounded(self.oracle.preserved(free & !on)),
                *on,
                own,
            ))
        };
        let mut found: Vec<_> = sets(free, next.devices).iter().filter_map(worth).collect();
        found.sort_by(|a, b| (b.0, b.1).partial_cmp(&(a.0, a.1)).unwrap());
        let Some((.., on, own)) = found.first().copied() else {
            return self.run(at + 1, (free, leases, now));
        };
        let lease = (now + (self.seconds)(next.seconds, own), on);
        let rest = self.run(at + 1, (free & !on, [&leases[..], &[lease]].concat(), now));
        let share = 0.9f64.powi(i32::try_from(at + 1).unwrap()) * own.unwrap_or(0.0);
        (rest.0 + share, rest.1 + share)
    }
}

#[test]
fn nobody_waits_on_an_idle_machine_or_where_bandwidth_does_not_matter() {
    let fabric = mapa_core::testing::machines(4..=4);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    runner
        .run(&fabric, |graph| {
            let graph = Arc::new(graph);
            let request = Request::new(Pattern::ring(2)).sensitive(true);
            let idle = Allocator::new(graph.clone());
            let impatient = Patience {
                slowdown: 1.0,
                kappa: 0.0,
                ..Patience::default()
            };
            let keen = Patience {
                slowdown: 100.0,
                kappa: 0.0,
                ..Patience::default()
            };
            let worth = |machine: &Allocator, patience: &Patience| {
                let view = machine.view();
                let decision = view.decide(foresight(), &request).ok()?;
                foresight().worth_waiting(&request, &view, &decision, patience)
            };
            prop_assert_eq!(worth(&idle, &keen), None);
            let (in_use, _) = in_use(graph, &[DeviceSet::from([0]), DeviceSet::from([1])]);
            prop_assert_eq!(worth(&in_use, &impatient), None);
            Ok(())
        })
        .unwrap();
}
