//! Claim 1 of the paper, stability, and queues whose tails are known.

use mapa_lab::claim::{Claim, Verdict, number};
use mapa_lab::report::Section;
use mapa_sim::stream;
use mapa_system_slo_sim::TenantServers;
use rand_distr::{Distribution, Exp1};

/// A queue with one server of exponential service: the largest number of requests in it within
/// each of these times, s, at a load.
fn largest_queues(load: f64, times_s: [f64; 3]) -> [usize; 3] {
    let mut gaps = stream(1, "slo claim 1 arrivals");
    let mut sizes = stream(1, "slo claim 1 sizes");
    let mut servers = TenantServers::default();
    let mean_ms = 10.0;
    let (mut at, mut most, mut found) = (0.0, 0, [0; 3]);
    for (slot, until) in found.iter_mut().zip(times_s) {
        while at < until * 1e3 {
            let gap: f64 = Exp1.sample(&mut gaps);
            let size: f64 = Exp1.sample(&mut sizes);
            at += gap * mean_ms / load;
            servers.advance(at, [1.0, 1.0], |_, _| ());
            servers.push(0, at, 0.0, size * mean_ms);
            most = most.max(servers.len());
        }
        *slot = most;
    }
    found
}

const TIMES: [f64; 3] = [500.0, 2000.0, 8000.0];

pub(super) fn section() -> Section {
    let stable = largest_queues(0.95, TIMES);
    let unstable = largest_queues(1.05, TIMES);
    let words = |values: [usize; 3]| values.map(|number| number.to_string()).join(" / ");
    // Half of the link goes to throttled neighbours. The tenant alone would use 60 % of it.
    let (link, throttled, wanted) = (1.0, 0.5, 0.6);
    let printed = throttled < link && wanted < link;
    let left = wanted / (link - throttled);
    let counter = largest_queues(left, TIMES);
    Section::new("claim-1", "Claim 1: bounded throttles keep the queue stable")
        .numbers("load .95", stable)
        .numbers("load 1.05", unstable)
        .numbers("counterexample", counter)
        .claims([
            Claim::new("Below full load the queue stays bounded, above it does not", "Claim 1", &[]).found(
                format!("largest queue within 500 / 2000 / 8000 s: {} at .95, {} at 1.05", words(stable), words(unstable)),
                None,
                "less than doubles from 500 s on below; more than doubles each time above",
                Verdict::of(stable[2] < 2 * stable[0].max(100) && unstable.windows(2).all(|pair| pair[1] > 2 * pair[0])),
            ),
            Claim::new("The printed conditions suffice: throttles sum to less than B, and the tenant's rate is below mu(B)", "Claim 1", &[]).found(
                format!(
                    "no: with throttles of .5 B and a tenant that uses .6 B both hold ({printed}), its load is {} on what is left, and the largest queue grows: {}. \
                     The rate must be below mu(B - sum of g)",
                    number(left),
                    words(counter)
                ),
                None,
                "the queue stays bounded where both hold",
                Verdict::of(counter[2] < 2 * counter[0]),
            ),
        ])
}
