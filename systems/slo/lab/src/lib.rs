//! A controller that keeps tail latency by placement, MIG and guardrails: the published tables, what
//! they depend on, and what is better.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

use mapa_front::Error;
use mapa_lab::Experiment;
use mapa_lab::plan::Plan;
use mapa_lab::progress::Progress;
use mapa_lab::report::Report;

mod beyond;
mod claim_1;
mod contradictions;
mod figures;
mod policies;
mod setting;
mod tables;
mod trials;

const NAME: &str = "slo";
const PAPER: &str = "Darzi, Bharadwaj, Balija, Predictable LLM Serving on GPU Clusters";

const OPENING: &str = "\
A controller beside each host keeps the tail latency of one tenant: it throttles neighbours, moves the tenant to a quieter PCIe switch and enlarges its MIG \
slice, with dwell, cool-down and rollback. Its rules are run here as a state machine on simulated requests, and MAPA's own controller, `slo-replay`, beside them. \
The rules of the claims were written down by a prototype on other seeds, before this program ran. The paper has no code and no data, so the model behind Table 3 is fitted: \
seven numbers against eight published ones. A claim *holds* or *does not hold* if the whole 95 % interval over the seeds (Student's t, of differences per seed; Wilson's for shares of seeds) says \
so by the rule beside it; it is *undecided* if the interval contains the limit. A *miss* is an answered request that is late, as the paper counts. A *failure* is a request \
that is late or was shed in a pause. Each \"job file\" is a seed: four hours of requests and neighbours, the same for every policy.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 8] = [
    "Machine: two hosts of four PCIe switches with two A100s each. Only the ratio of transfers to a link's capacity matters; it is 25 GB/s where a figure needs one. The paper \
     names A100-80GB and p4d.24xlarge, which has 40 GB; nothing here depends on it.",
    "Requests: a Poisson process of one a second; log-normal transfers of 6.93 ms on a free link (variation .175, fitted) and compute times of 6.65 ms on 2g (.02). A request waits for \
     the copy engine, is copied, waits for the multiprocessors, and is computed, first in, first out.",
    "Neighbours: on each host one that copies and one that trains, busy for 30 s of 600 on average (exponential; the share is fitted). A busy phase on the first host is on the \
     tenant's first switch with probability .41 (fitted). They are toggled by time, not by work.",
    "Slowdowns: a link is shared max-min fairly. A larger slice has a larger share (power 1, assumed; measured splits are equal: see the table of sensitivities). Training beside \
     adds 39 % to compute times on 2g (fitted), less on larger slices; compute times fall with slices by a power of .05 (fitted). A throttle leaves 2 % of the link and half of the \
     multiprocessors to neighbours.",
    "Controller: an observation is a tick of one second; the window has 32 latencies; averages weigh the new value by half; a throttle lasts 30 s; a relaunch pauses the tenant for \
     18 s with a deviation of 3, and requests that arrive meanwhile are shed.",
    "The placement score weighs a slowdown of transfers by 1, training by .5 and another host by .01. The paper prints no weights.",
    "First token: promised within 200 ms; compute times vary by .3, and a transfer is a tenth of the compute time.",
    "F1: five requests a second, transfers of 4.5 ms (.25) and compute times of 6, a power of .3 for slices, training adds 37 %, neighbours busy 60 of 240 s, at home with \
     .6; windows of 128. F2: two copying neighbours a host, and bursts of four times the rate in 10 of 100 s at the same mean. Counters: see the section beyond; NVML documents \
     that a reading of PCIe throughput covers 20 ms, the other numbers are assumed.",
];

/// Control of tail latency, run again: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "Tables 2 to 4, Fig. 3 and 4, E1 to E3 and Claim 1 of a controller of tail latency; what it depends on; MAPA's own by replay, with bounds",
    files: 50,
    seed: 95_001,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let all = trials::run(plan, bar)?;
    bar.doing("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.sections = vec![
        tables::table_3(&all)?,
        tables::table_2(&all)?,
        tables::table_4(&all)?,
        figures::fig_3(plan, &all)?,
        figures::fig_4(plan)?,
        tables::sensitivity(&all)?,
        claim_1::section(),
        beyond::section(&all)?,
        contradictions::section(&all)?,
    ];
    report.per_file = beyond::per_file(&all)?;
    Ok(report)
}
