//! The cost of a choice of devices under the default policy and others, as one table:
//!
//! ```text
//! cargo run --release -p mapa-benches --example choices
//! cargo run --release -p mapa-benches --example choices torus    # rows whose name has this word
//! ```
//!
//! Times are CPU time of this process: the least of several runs, each warm unless the row says cold. A row asserts
//! that its answer is complete, and what the most is where that is known from elsewhere; a line above the row says how
//! far an answer may be from the best.

use std::hint::black_box;
use std::sync::Arc;

use mapa_core::{
    Allocator, Demand, DeviceSet, HardwareGraph, Parallelism, Pattern, Policy, Rates, Request,
    auto, distributed, max_bandwidth, min_step_time, packed, preserve,
};
use mapa_topologies::named;
use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of this process.
fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

/// The least CPU seconds of one call, over runs that take about a fifth of a second together.
fn least(mut run: impl FnMut()) -> f64 {
    let began = cpu();
    run();
    let one = (cpu() - began).max(1e-8);
    let batch = (2e-4 / one).ceil() as usize;
    let rounds = ((0.2 / (one * batch as f64)) as usize).clamp(2, 200);
    let measured = (0..rounds).map(|_| {
        let began = cpu();
        (0..batch).for_each(|_| run());
        (cpu() - began) / batch as f64
    });
    measured.fold(f64::INFINITY, f64::min)
}

/// The least of what `once` measures: short work is repeated for about a fifth of a second, long work three times,
/// so that an interrupt or a cold cache decides no row.
fn least_of(mut once: impl FnMut() -> f64) -> f64 {
    let (mut least, mut sum) = (f64::INFINITY, 0.0);
    for run in 0..100 {
        if run >= 3 && sum > 0.2 {
            break;
        }
        let took = once();
        sum += took;
        least = least.min(took);
    }
    least
}

fn shown(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Servers with eight A100, each partitioned into seven instances of one slice, and one such slice.
fn cut_servers(servers: usize) -> (Allocator, Demand) {
    let machine = named(&format!("fleet:{servers}xdgx-a100"))
        .and_then(|machine| machine.with_mig("a100-40gb"))
        .expect("it is in the catalogue");
    let mut allocator = Allocator::new(Arc::new(machine.graph().expect("it is small enough")));
    let wholes = allocator.graph().wholes();
    let model = allocator.graph().model(mapa_core::DeviceId(0)).cloned();
    let model = model.expect("it can be partitioned");
    let one = model.find("1g").expect("it is offered");
    let layout = model.fit(&[one; 7]).expect("seven fit");
    for whole in wholes.iter() {
        allocator.layout_is(whole, &layout).expect("it is idle");
    }
    let size = model.profiles()[usize::from(one.0)].size;
    (allocator, Demand::slice(size))
}

struct Table {
    only: Option<String>,
}

impl Table {
    fn row(&self, work: &str, goal: f64, measure: impl FnOnce() -> f64) {
        if self
            .only
            .as_ref()
            .is_some_and(|word| !work.contains(word.as_str()))
        {
            return;
        }
        let seconds = measure();
        println!(
            "{work:60} {:>10} {:>10} {:>8.2}",
            shown(goal),
            shown(seconds),
            seconds / goal
        );
    }

    /// One decision, again and again.
    fn warm(&self, machine: &str, shape: &str, pattern: Pattern, goal: f64) {
        self.row(&format!("auto, warm: {machine}, {shape}"), goal, || {
            let (graph, policy, request) = (graph(machine), auto(), Request::new(pattern));
            let free = graph.all();
            let first = policy
                .decide(&request, &graph.with_free(&free))
                .expect("it is idle");
            assert!(first.search().complete());
            least(|| {
                let again = policy
                    .decide(black_box(&request), &graph.with_free(&free))
                    .expect("as before");
                assert_eq!(again.placement(), first.placement());
            })
        });
    }

    /// The first decision on a machine.
    fn cold(&self, machine: &str, k: usize, goal: f64) {
        self.row(&format!("auto, cold: {machine}, ring of {k}"), goal, || {
            let (policy, request) = (auto(), Request::new(Pattern::ring(k)));
            least_of(|| {
                let graph = graph(machine);
                let free = graph.all();
                let began = cpu();
                let first = policy
                    .decide(&request, &graph.with_free(&free))
                    .expect("it is idle");
                let took = cpu() - began;
                assert!(first.search().complete());
                took
            })
        });
    }

    /// One decision on a machine that has nothing of earlier ones, by a policy; `left` is what Eq. 3 must
    /// then be.
    fn proven(
        &self,
        name: &str,
        policy: &dyn Policy,
        machine: &str,
        request: &Request,
        left: Option<f64>,
        goal: f64,
    ) {
        let work = format!("{name}: {machine}, {} devices", request.pattern.len());
        self.row(&work, goal, || {
            least_of(|| {
                let graph = graph(machine);
                let free = graph.all();
                let began = cpu();
                let first = policy.decide(request, &graph.with_free(&free));
                let took = cpu() - began;
                match first {
                    Ok(first) => {
                        let found = first.best().score("preserved_gbps");
                        let proof = match (first.search().complete(), first.at_most()) {
                            (true, _) => "proven".to_owned(),
                            (false, Some(most)) => format!("at most {most}"),
                            (false, None) => "no bound".to_owned(),
                        };
                        let (complete, nodes) = (first.search().complete(), first.search().nodes);
                        if let Some(left) = left {
                            assert!(
                                complete && found == Some(left),
                                "{work}: {proof}, {found:?}"
                            );
                        }
                        if !complete {
                            println!("  {work}: {proof}; {found:?} left; {nodes} nodes");
                        }
                    }
                    Err(refusal) => println!("  {work}: {refusal}"),
                }
                took
            })
        });
    }

    /// One decision for instances of partitioned devices, again and again; `links` is what AggBW must be.
    fn instances(
        &self,
        name: &str,
        policy: &dyn Policy,
        servers: usize,
        request: impl Fn(Pattern) -> Request,
        links: f64,
        goal: f64,
    ) {
        let work = format!("{name}: {servers} DGX A100, 8 x 1g");
        self.row(&work, goal, || {
            let (allocator, demand) = cut_servers(servers);
            let request = request(Pattern::ring(8).each(demand));
            let first = policy.decide(&request, &allocator.view());
            let first = first.expect("it is idle");
            assert!(first.search().complete(), "{work}");
            let pattern = &request.pattern;
            let candidate = mapa_core::Candidate {
                view: allocator.view(),
                pattern,
                placement: first.placement(),
            };
            assert_eq!(
                mapa_core::aggregate_gbps().score(&candidate),
                links,
                "{work}"
            );
            least(|| {
                let again = policy
                    .decide(black_box(&request), &allocator.view())
                    .expect("as before");
                assert_eq!(again.placement(), first.placement());
            })
        });
    }

    /// Building the graph of partitioned servers.
    fn graph_of_instances(&self, servers: usize, goal: f64) {
        self.row(
            &format!("graph: {servers} DGX A100 with instances"),
            goal,
            || {
                let machine = named(&format!("fleet:{servers}xdgx-a100"))
                    .and_then(|machine| machine.with_mig("a100-40gb"))
                    .expect("it is in the catalogue");
                least(|| drop(black_box(machine.graph().expect("it is small enough"))))
            },
        );
    }

    /// Jobs that come and go at random, three times the same ones: the mean and the longest of all decisions, each
    /// the least of its three times.
    fn history(&self, machine: &str, mean_goal: f64, worst_goal: f64) {
        let work = format!("auto, random history: {machine}");
        let mut worst = 0.0f64;
        self.row(&format!("{work}, mean"), mean_goal, || {
            let mut least = decisions(machine);
            for _ in 0..2 {
                for (least, again) in least.iter_mut().zip(decisions(machine)) {
                    *least = least.min(again);
                }
            }
            worst = least.iter().copied().fold(0.0, f64::max);
            least.iter().sum::<f64>() / least.len() as f64
        });
        self.row(&format!("{work}, worst"), worst_goal, || worst);
    }
}

/// The CPU seconds of each decision of one history of jobs on a machine, without the first ones, which make the
/// tables.
fn decisions(machine: &str) -> Vec<f64> {
    let (graph, policy) = (graph(machine), auto());
    let all = graph.all();
    let n = all.len();
    let mut free = all.clone();
    let mut held: Vec<DeviceSet> = Vec::new();
    let mut seed = 1u64;
    let mut draw = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut times = Vec::new();
    for step in 0..3_000 {
        let k = 1 + draw((n / 2).min(8));
        let shape = draw(3);
        let pattern = match shape {
            0 => Pattern::chain(k),
            1 => Pattern::all_to_all(k),
            _ => Pattern::ring(k),
        };
        if free.len() >= k && draw(3) > 0 {
            let request = Request::new(pattern);
            let began = cpu();
            let found = policy.decide(&request, &graph.with_free(&free));
            let took = cpu() - began;
            if let Ok(found) = found {
                let set = found.placement().set();
                free = &free - &set;
                held.push(set);
            }
            if step > 300 {
                times.push(took);
            }
        } else if !held.is_empty() {
            let back = held.swap_remove(draw(held.len()));
            free = &free | &back;
        }
    }
    times
}

fn main() {
    let table = Table {
        only: std::env::args().nth(1),
    };
    println!(
        "{:60} {:>10} {:>10} {:>8}",
        "work", "goal", "measured", "ratio"
    );
    const US: f64 = 1e-6;
    const MS: f64 = 1e-3;
    table.warm("dgx-1v", "ring of 4", Pattern::ring(4), 3.0 * US);
    table.warm("dgx-1v", "ring of 7", Pattern::ring(7), 3.0 * US);
    table.warm("dgx-1v", "chain of 4", Pattern::chain(4), 3.0 * US);
    table.warm("dgx-1v", "tree of 4", Pattern::star(4), 3.0 * US);
    table.warm("mi300x-x8", "ring of 4", Pattern::ring(4), 3.0 * US);
    table.warm("dgx-2", "ring of 8", Pattern::ring(8), 20.0 * US);
    table.warm("torus:4x4", "ring of 8", Pattern::ring(8), 20.0 * US);
    table.warm("cube-mesh-16", "ring of 8", Pattern::ring(8), 20.0 * US);
    table.warm("gb200-nvl72", "ring of 8", Pattern::ring(8), 100.0 * US);
    table.warm("torus:8x8", "ring of 4", Pattern::ring(4), 500.0 * US);
    for (machine, k) in [("dgx-1v", 4), ("dgx-1v", 7), ("mi300x-x8", 4)] {
        table.cold(machine, k, 30.0 * US);
    }
    for (machine, k) in [("dgx-2", 8), ("torus:4x4", 8), ("cube-mesh-16", 8)] {
        table.cold(machine, k, 15.0 * MS);
    }
    table.history("dgx-1v", 10.0 * US, 2.0 * MS);
    table.history("torus:4x4", 2.0 * MS, 2.0 * MS);
    table.history("gb200-nvl72", 2.0 * MS, 2.0 * MS);
    let left = preserve();
    for (machine, k, most, goal) in [
        ("torus:8x8", 4, Some(22_748.0), 5.0 * MS),
        ("torus:8x8", 8, Some(19_858.0), 50.0 * MS),
        ("torus:4x6", 8, None, 5.0 * MS),
        ("fleet:4xdgx-1v", 8, None, 10.0 * MS),
        ("fleet:8xdgx-1v", 8, Some(38_914.0), 50.0 * MS),
    ] {
        let request = Request::new(Pattern::ring(k)).sensitive(false);
        table.proven("Eq. 3", &left, machine, &request, most, goal);
    }
    let (bandwidth, default) = (max_bandwidth(), auto());
    for servers in [2, 16, 128] {
        let goal = if servers > 16 { 10.0 * MS } else { MS };
        let (plain, spared) = (Request::new, |pattern| {
            Request::new(pattern).sensitive(false)
        });
        // All instances of a server are joined by 12 GB/s, those of two servers by 25.
        table.instances("preserve", &left, servers, plain, 96.0, goal);
        table.instances("preserve, insensitive", &left, servers, spared, 200.0, goal);
        table.instances("auto", &default, servers, plain, 96.0, goal);
        table.instances("packed", &packed(), servers, plain, 96.0, goal);
        table.instances("distributed", &distributed(), servers, plain, 96.0, goal);
        table.graph_of_instances(servers, 100.0 * goal);
    }
    for machine in ["torus:8x8", "torus:4x6", "fleet:4xdgx-1v"] {
        let request = Request::new(Pattern::ring(8));
        table.proven(
            "max-bandwidth",
            &bandwidth,
            machine,
            &request,
            None,
            50.0 * MS,
        );
        table.proven("auto", &default, machine, &request, None, 50.0 * MS);
        table.proven(
            "auto, insensitive",
            &default,
            machine,
            &request.clone().sensitive(false),
            None,
            50.0 * MS,
        );
    }
    let tensor = Parallelism::new(8, 1, 1).expect("eight ranks are few enough");
    let fastest = min_step_time(&tensor, Rates::NOMINAL);
    for machine in ["fleet:4xdgx-1v", "fleet:8xdgx-1v"] {
        let request = Request::new(tensor.pattern());
        table.proven(
            "min-step-time",
            &fastest,
            machine,
            &request,
            None,
            50.0 * MS,
        );
    }
    for (k, goal) in [(58, 1.0), (64, 1.0)] {
        table.proven(
            "auto",
            &default,
            "torus:8x8",
            &Request::new(Pattern::ring(k)),
            None,
            goal,
        );
    }
    for (pattern, goal) in [
        (Pattern::ring(1), 20.0 * MS),
        (Pattern::ring(64), 1.0),
        (Pattern::all_to_all(100), 1.0),
    ] {
        table.proven(
            "auto",
            &default,
            "torus:32x32",
            &Request::new(pattern),
            None,
            goal,
        );
    }
    table.proven(
        "auto",
        &default,
        "mi250-x16",
        &Request::new(Pattern::ring(16)),
        None,
        10.0 * MS,
    );
}
