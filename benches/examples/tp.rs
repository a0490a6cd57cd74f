#![allow(missing_docs)]
use mapa_core::{effective_gbps, ring_packing_gbps};
use mapa_sched::*;
use mapa_sim::{Arrivals, ByBandwidth, Generator, Simulation};
use mapa_topologies::named;
use std::sync::Arc;
use std::time::{Duration, Instant};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let files: u64 = args[1].parse().unwrap();
    let only = args.get(2).cloned().unwrap_or_default();
    let seed0: u64 = std::env::var("SEED0")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(50001);
    let sigma: f64 = std::env::var("SIGMA")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(0.0);
    for machine in ["dgx-1v", "torus-2d", "cube-mesh-16"] {
        let graph = Arc::new(named(machine).unwrap().graph().unwrap());
        let m = graph.wholes().len();
        for (judge, model) in [("E", effective_gbps()), ("R", ring_packing_gbps())] {
            for (coming, arrivals) in [
                ("t0", Arrivals::AtOnce),
                (
                    "l7",
                    Arrivals::Load {
                        load: 0.7,
                        devices: m,
                    },
                ),
                (
                    "l9",
                    Arrivals::Load {
                        load: 0.9,
                        devices: m,
                    },
                ),
                (
                    "b",
                    Arrivals::Bursts {
                        jobs: 30,
                        gap_s: 190.0 * 8.0 / m as f64,
                    },
                ),
            ] {
                let name = format!("{machine}/{judge}/{coming}");
                if !only.split(',').any(|o| name.contains(o)) {
                    continue;
                }
                let mut drawn = Generator::mapa_six();
                drawn.arrivals = arrivals.clone();
                let exec = if judge == "E" {
                    ByBandwidth::eq_2()
                } else {
                    ByBandwidth::ring_packing()
                };
                let plan = |goal| {
                    TopologyPlan::new()
                        .model(LinkModel::By(model.clone()))
                        .goal(goal)
                };
                let budget: usize = std::env::var("BUDGET")
                    .ok()
                    .and_then(|v| v.parse().ok())
                    .unwrap_or(TopologyPlan::SEARCH);
                let phi = || {
                    FirstFit::new(ListOrder::Shortest)
                        .model(LinkModel::By(model.clone()))
                        .ageing(Duration::MAX, Duration::from_secs(1))
                        .overtaking(Duration::MAX)
                };
                let lpt = || {
                    FirstFit::new(ListOrder::Largest)
                        .model(LinkModel::By(model.clone()))
                        .ageing(Duration::MAX, Duration::from_secs(1))
                        .overtaking(Duration::MAX)
                };
                let trust = if sigma > 0.0 {
                    Trust::Rough
                } else {
                    Trust::Exact
                };
                let mut rows: Vec<(&str, Box<dyn Fn() -> Box<dyn Scheduler>>)> = vec![
                    ("phi", Box::new(|| Box::new(phi()))),
                    ("phi largest", Box::new(|| Box::new(lpt()))),
                    (
                        "plan",
                        Box::new(|| {
                            Box::new(plan(PlanGoal::Completion).trust(trust).search(budget))
                        }),
                    ),
                ];
                if std::env::var("ALL").is_ok() {
                    rows.push((
                        "plan, no ageing",
                        Box::new(|| {
                            Box::new(plan(PlanGoal::Completion).ageing(false).search(budget))
                        }),
                    ));
                    rows.push((
                        "makespan",
                        Box::new(|| Box::new(plan(PlanGoal::Makespan).search(budget))),
                    ));
                    rows.push((
                        "slowdown",
                        Box::new(|| Box::new(plan(PlanGoal::Slowdown).search(budget))),
                    ));
                }
                let mut base = 0.0;
                for (at, (row, make)) in rows.iter().enumerate() {
                    let (mut c, mut mk, mut us, mut longest, mut p99) =
                        (0.0, 0.0, 0.0, 0.0f64, 0.0);
                    for f in 0..files {
                        let mut jobs = drawn.generate(seed0 + f).unwrap();
                        if sigma > 0.0 {
                            let mut r = 88172645463325252u64.wrapping_add(f * 7919);
                            for j in &mut jobs.jobs {
                                let mut n = || {
                                    r ^= r << 13;
                                    r ^= r >> 7;
                                    r ^= r << 17;
                                    (r >> 11) as f64 / (1u64 << 53) as f64
                                };
                                let z =
                                    (-2.0 * n().max(1e-12).ln()).sqrt() * (6.283185307 * n()).cos();
                                j.job.run_time = RunTime::Fixed(j.work.mul_f64((sigma * z).exp()));
                            }
                        }
                        let mut s = make();
                        let t = Instant::now();
                        let o = Simulation::new(&jobs, Fleet::new([graph.clone()]))
                            .run(&mut *s, &exec)
                            .unwrap();
                        us += t.elapsed().as_secs_f64() * 1e6 / jobs.jobs.len() as f64;
                        assert_eq!(o.runs.len(), jobs.jobs.len());
                        let n = o.runs.len() as f64;
                        c += o
                            .runs
                            .iter()
                            .map(|r| (r.ended() - r.arrived).as_secs_f64())
                            .sum::<f64>()
                            / n;
                        mk += o
                            .runs
                            .iter()
                            .map(|r| r.ended().0 as f64 / 1e9)
                            .fold(0.0, f64::max);
                        longest += o
                            .runs
                            .iter()
                            .map(|r| r.waited().as_secs_f64())
                            .fold(0.0, f64::max);
                        let mut sl: Vec<f64> = o
                            .runs
                            .iter()
                            .map(|r| {
                                (r.ended() - r.arrived).as_secs_f64()
                                    / jobs.jobs[r.index].work.as_secs_f64()
                            })
                            .collect();
                        sl.sort_by(f64::total_cmp);
                        p99 += sl[sl.len() * 99 / 100];
                    }
                    let n = files as f64;
                    if at == 0 {
                        base = c;
                    }
                    println!(
                        "{name:22} {row:16} completion {:8.1} ({:+6.1} %) makespan {:8.1} p99 {:6.1} longest {:7.1}  {:6.1} us/job",
                        c / n,
                        100.0 * (c / base - 1.0),
                        mk / n,
                        p99 / n,
                        longest / n,
                        us / n
                    );
                }
            }
        }
    }
}
