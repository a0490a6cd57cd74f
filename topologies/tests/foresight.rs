//! Looking ahead on real machines: the exact decision process of a DGX-1V, and what no policy can
//! do.

use std::collections::HashMap;
use std::sync::Arc;

use mapa_core::{
    Allocator, Candidate, Decision, DeviceId, DeviceSet, Foresight, HardwareGraph, Objective,
    Pattern, Request, aggregate_gbps, effective_gbps, ring_packing_gbps,
};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

fn members(set: u32) -> impl Iterator<Item = usize> {
    (0..16).filter(move |at| set >> at & 1 == 1)
}

fn devices(set: u32) -> DeviceSet {
    members(set).map(|at| DeviceId(at as u32)).collect()
}

/// The best value of a ring on these devices, over all rank orders.
fn best_ring(graph: &HardwareGraph, model: &Objective<'_>, set: u32) -> f64 {
    let mut ring: Vec<DeviceId> = devices(set).iter().collect();
    let (all, pattern) = (graph.all(), Pattern::ring(ring.len()));
    let value = |placement: &[DeviceId]| {
        model.score(&Candidate {
            view: graph.with_free(&all),
            pattern: &pattern,
            placement,
        })
    };
    let mut best = f64::NEG_INFINITY;
    orders(&mut ring, 1, &mut |placement| {
        best = best.max(value(placement))
    });
    best
}

fn orders(devices: &mut [DeviceId], from: usize, f: &mut impl FnMut(&[DeviceId])) {
    if from >= devices.len() {
        return f(devices);
    }
    for other in from..devices.len() {
        devices.swap(from, other);
        orders(devices, from + 1, f);
        devices.swap(from, other);
    }
}

/// The largest jobs.
const LARGEST: usize = 5;
/// The share of jobs that are sensitive.
const SENSITIVE: f64 = 4.0 / 6.0;

/// A machine of eight devices and a model of bandwidth, by set.
struct Judge {
    own: Vec<f64>,
    /// AggBW.
    aggregate: Vec<f64>,
    /// The best ring of each size within a set; 0 where there is none.
    best: Vec<[f64; LARGEST + 1]>,
    /// PreservedBW over all links, and over direct links only.
    preserved: Vec<[f64; 2]>,
}

impl Judge {
    fn new(graph: &HardwareGraph, model: &Objective<'_>) -> Self {
        let value = |model: &Objective<'_>, set: u32| match set.count_ones() as usize {
            2..=LARGEST => best_ring(graph, model, set),
            _ => 0.0,
        };
        let of =
            |model: &Objective<'_>| -> Vec<f64> { (0..256).map(|set| value(model, set)).collect() };
        let own = of(model);
        let best = |set: u32| {
            let mut best = [0.0; LARGEST + 1];
            for part in (1..256u32).filter(|part| part & !set == 0) {
                let k = part.count_ones() as usize;
                if (2..=LARGEST).contains(&k) {
                    best[k] = f64::max(best[k], own[part as usize]);
                }
            }
            best
        };
        let preserved = |set: u32| {
            let set = devices(set);
            [
                graph.bandwidth_within(&set, |_| true),
                graph.bandwidth_within(&set, |link| link.class.is_direct()),
            ]
        };
        Self {
            best: (0..256).map(best).collect(),
            aggregate: of(&aggregate_gbps()),
            preserved: (0..256).map(preserved).collect(),
            own,
        }
    }

    /// The mean over sizes of the best ring of so many devices, at the first moment at which they
    /// are free.
    fn future(&self, free: u32, leases: &[u32]) -> f64 {
        (2..=LARGEST)
            .map(|k| self.first(k, free, leases) / LARGEST as f64)
            .sum()
    }

    /// All orders in which leases can end.
    fn first(&self, k: usize, free: u32, leases: &[u32]) -> f64 {
        if free.count_ones() as usize >= k || leases.is_empty() {
            return self.best[free as usize][k];
        }
        let without = |at: usize| [&leases[..at], &leases[at + 1..]].concat();
        let after = |at: usize| self.first(k, free | leases[at], &without(at));
        (0..leases.len()).map(after).sum::<f64>() / leases.len() as f64
    }
}

/// The states of a machine in use: who lies together.
struct Process {
    states: Vec<Vec<u32>>,
    free: Vec<u32>,
    /// By state, what is left when each of its leases has ended.
    ends: Vec<Vec<u32>>,
    /// By state and size, where a job can be placed, in order of ids, and what state follows.
    starts: Vec<[Vec<(u32, u32)>; LARGEST + 1]>,
}

impl Process {
    fn new() -> Self {
        let mut states: Vec<Vec<u32>> = Vec::new();
        partial_partitions(255, &mut Vec::new(), &mut states);
        states.sort_by_key(Vec::len);
        let number: HashMap<Vec<u32>, u32> = (0..)
            .zip(&states)
            .map(|(at, state)| (state.clone(), at))
            .collect();
        let free: Vec<u32> = states
            .iter()
            .map(|state| 255 & !state.iter().sum::<u32>())
            .collect();
        let ends = |state: &Vec<u32>| {
            let without = |at: usize| number[&[&state[..at], &state[at + 1..]].concat()];
            (0..state.len()).map(without).collect()
        };
        let mut by_ids: Vec<u32> = (1..256)
            .filter(|set: &u32| set.count_ones() as usize <= LARGEST)
            .collect();
        by_ids.sort_by_key(|set| members(*set).collect::<Vec<_>>());
        let starts = |(state, free): (&Vec<u32>, &u32)| {
            let mut starts: [Vec<(u32, u32)>; LARGEST + 1] = Default::default();
            for &set in by_ids.iter().filter(|set| *set & !free == 0) {
                let mut next = state.clone();
                next.insert(next.partition_point(|other| *other < set), set);
                starts[set.count_ones() as usize].push((set, number[&next]));
            }
            starts
        };
        Self {
            ends: states.iter().map(ends).collect(),
            starts: states.iter().zip(&free).map(starts).collect(),
            free,
            states,
        }
    }

    /// The mean bandwidth of sensitive jobs of two devices and more, in the long run, where
    /// `choose` picks the start for each state, size and sensitivity; or at best.
    fn mean(&self, judge: &Judge, choices: Option<&[Vec<[usize; 2]>]>) -> f64 {
        let n = self.states.len();
        let mut after = vec![0.0; n];
        loop {
            let mut next = vec![0.0; n];
            for k in 1..=LARGEST {
                for (sensitive, share) in [(0, 1.0 - SENSITIVE), (1, SENSITIVE)] {
                    let mut value = vec![0.0; n];
                    for state in 0..n {
                        let starts = &self.starts[state][k];
                        let of = |&(set, next): &(u32, u32)| {
                            (if sensitive == 1 {
                                judge.own[set as usize]
                            } else {
                                0.0
                            }) + after[next as usize]
                        };
                        value[state] = if starts.is_empty() {
                            let ends = &self.ends[state];
                            ends.iter().map(|end| value[*end as usize]).sum::<f64>()
                                / ends.len() as f64
                        } else if let Some(choices) = choices {
                            of(&starts[choices[state][k - 1][sensitive]])
                        } else {
                            starts.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
                        };
                        next[state] += share / LARGEST as f64 * value[state];
                    }
                }
            }
            let gains = || next.iter().zip(&after).map(|(next, after)| next - after);
            let (low, high) = (
                gains().fold(f64::INFINITY, f64::min),
                gains().fold(f64::NEG_INFINITY, f64::max),
            );
            if high - low < 1e-5 {
                return (low + high) / 2.0 / (SENSITIVE * (LARGEST - 1) as f64 / LARGEST as f64);
            }
            let first = next[0];
            next.iter_mut().for_each(|value| *value -= first);
            after = next;
        }
    }

    /// The first start of the highest keys, by state, size and sensitivity.
    fn choices(&self, key: impl Fn(usize, u32, bool) -> [f64; 2]) -> Vec<Vec<[usize; 2]>> {
        let best = |state: usize, k: usize, sensitive: bool| {
            let mut best = (0, [f64::NEG_INFINITY; 2]);
            for (at, (set, _)) in self.starts[state][k].iter().enumerate() {
                let key = key(state, *set, sensitive).map(|value| (value * 1e8).round());
                if key > best.1 {
                    best = (at, key);
                }
            }
            best.0
        };
        let of = |state| {
            (1..=LARGEST)
                .map(|k| [best(state, k, false), best(state, k, true)])
                .collect()
        };
        (0..self.states.len()).map(of).collect()
    }
}

/// All sets of disjoint sets of up to five of these devices, each as an ascending list.
fn partial_partitions(free: u32, state: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
    let mut sorted = state.clone();
    sorted.sort_unstable();
    found.push(sorted);
    // Lists ascend by their lowest devices, so each comes once.
    let after = state.last().map_or(0, |last| last.trailing_zeros() + 1);
    for set in (1..=free).filter(|set| set & !free == 0 && set.count_ones() as usize <= LARGEST) {
        if set.trailing_zeros() >= after {
            state.push(set);
            partial_partitions(free & !set, state, found);
            state.pop();
        }
    }
}

#[test]
fn the_ten_long_run_means_of_a_dgx_1v() {
    let (graph, process) = (Arc::new(graph("dgx-1v")), Process::new());
    assert_eq!(process.states.len(), 20_990);
    let published = [
        (effective_gbps(), [56.464, 57.062, 56.247, 57.240, 57.387]),
        (
            ring_packing_gbps(),
            [53.116, 53.582, 52.812, 54.311, 54.677],
        ),
    ];
    for (model, expected) in published {
        let judge = Judge::new(&graph, &model);
        let own = |set: u32, sensitive: bool| {
            if sensitive {
                judge.own[set as usize]
            } else {
                0.0
            }
        };
        let left = |state: usize, set: u32| judge.preserved[(process.free[state] & !set) as usize];
        // The published ones count direct links where they ask what is left.
        let insensitive = |state, set: u32| [left(state, set)[1], judge.aggregate[set as usize]];
        let is_sensitive = |set: u32, sensitive: bool| sensitive && set.count_ones() > 1;
        let released = process.choices(|state, set, sensitive| {
            if is_sensitive(set, sensitive) {
                [own(set, true), 0.0]
            } else {
                insensitive(state, set)
            }
        });
        let preserve = process.choices(|state, set, sensitive| {
            if is_sensitive(set, sensitive) {
                [own(set, true), left(state, set)[1]]
            } else {
                insensitive(state, set)
            }
        });
        let free_set = process.choices(|state, set, sensitive| {
            [
                own(set, sensitive) + 0.5 * judge.future(process.free[state] & !set, &[]),
                left(state, set)[0],
            ]
        });
        let leases = process.choices(|state, set, sensitive| {
            let leases = [&process.states[state][..], &[set]].concat();
            [
                own(set, sensitive) + 0.5 * judge.future(process.free[state] & !set, &leases),
                left(state, set)[0],
            ]
        });
        let policies = [
            Some(&released),
            Some(&preserve),
            Some(&free_set),
            Some(&leases),
            None,
        ];
        let means =
            policies.map(|choices| process.mean(&judge, choices.map(|choices| &choices[..])));
        for (mean, expected) in means.into_iter().zip(expected) {
            assert!(
                (mean - expected).abs() < 0.001,
                "{}: {means:?}, not {expected}",
                model.name()
            );
        }
        the_policy_is_the_lease_aware_one(&graph, &model, &process, &leases);
    }
}

/// On every 50th state, for every size.
fn the_policy_is_the_lease_aware_one(
    graph: &Arc<HardwareGraph>,
    model: &Objective<'static>,
    process: &Process,
    choices: &[Vec<[usize; 2]>],
) {
    let policy = Foresight::new(model.clone());
    for (state, leases) in process.states.iter().enumerate().step_by(50) {
        let mut machine = Allocator::new(graph.clone());
        for &lease in leases {
            let held = Request::new(Pattern::independent(lease.count_ones() as usize));
            let decision = Decision::checked("held", &held, &machine.view(), devices(lease).iter());
            machine
                .commit(decision.expect("disjoint"))
                .expect("on the present state");
        }
        for k in (1..=LARGEST).filter(|k| !process.starts[state][*k].is_empty()) {
            for sensitive in [false, true] {
                let request = Request::new(Pattern::ring(k)).sensitive(sensitive);
                let decision = machine
                    .view()
                    .decide(&policy, &request)
                    .expect("there is room");
                let (expected, _) =
                    process.starts[state][k][choices[state][k - 1][usize::from(sensitive)]];
                assert_eq!(
                    decision.placement().set(),
                    devices(expected),
                    "{k} beside {leases:?}, {}",
                    model.name()
                );
            }
        }
    }
}

#[test]
fn no_odd_ring_closes_on_the_links_of_a_torus() {
    let graph = graph("torus-2d");
    let direct = |a: DeviceId, b: DeviceId| graph.link(a, b).class.is_direct();
    for (k, sets) in [(3, 560), (5, 4368)] {
        let all: Vec<u32> = (0..1u32 << 16)
            .filter(|set| set.count_ones() == k)
            .collect();
        assert_eq!(all.len(), sets);
        for set in all {
            let mut placement: Vec<DeviceId> = devices(set).iter().collect();
            orders(&mut placement, 1, &mut |ring| {
                let closes =
                    (0..ring.len()).all(|at| direct(ring[at], ring[(at + 1) % ring.len()]));
                assert!(!closes, "{ring:?}");
            });
        }
    }
    // So jobs of three or five devices have what the host carries, whatever set they get.
    for set in [0b111, 0b1_0001_0001, 0b1_1111, 0b1000_0100_0010_0011] {
        assert_eq!(
            best_ring(&graph, &ring_packing_gbps(), set),
            12.0,
            "{set:b}"
        );
    }
}
