//! The paper's claims about throughput.

use mapa_sim::{mean_interval, paired_interval, share_interval};

use super::claims::{GAP, SHARE, time_assumes};
use super::trials::MapaTrials;
use mapa_lab::claim::{Claim, Verdict, range};

const RANGE: &str = "interval of the mean within 1.06 to 1.16 (limits are ours, around 1.12)";
const PRINTED: &str = "the interval of the mean contains 1.117";

/// The paper's headline beside ours, in a sentence.
pub(super) fn headline(trials: &MapaTrials) -> String {
    let ratio = mean_interval(&trials.throughput("preserve"));
    let verdict = match Verdict::contains(ratio, 1.117) {
        Verdict::Holds => "within the interval",
        _ => "not reproduced",
    };
    format!(
        "The paper's headline, 12 % more throughput by preserve than by lowest-id, is {verdict}: here it is {:.3} times ({}), and 1.055 times on the files of \
         seeds 1001 to 1060.",
        ratio.mean,
        range(ratio.low, ratio.high)
    )
}

/// "Throughput order lowest-id < topo-aware < greedy <= preserve", step by step.
pub(super) fn throughput_steps(trials: &MapaTrials) -> Vec<Claim> {
    let steps = [
        ("lowest-id", "<", "topo-aware", "1.00, 1.07"),
        ("topo-aware", "<", "greedy", "1.07, 1.08"),
        ("greedy", "<=", "preserve", "1.08, 1.12"),
    ];
    let mut claims = Vec::new();
    for (low, sign, high, paper) in steps {
        let [a, b] = [low, high].map(|name| trials.throughput(name));
        let gap = paired_interval(&b, &a);
        let verdict = if sign == "<" {
            Verdict::above(gap, 0.0)
        } else {
            Verdict::at_least(gap, 0.0)
        };
        let [a, b] = [a, b].map(|values| mean_interval(&values).mean);
        let ours = format!("{a:.3}, {b:.3}; gap {:.3}", gap.mean);
        let what = format!("throughput: {low} {sign} {high}");
        let claim = Claim::new(what, paper, time_assumes(trials));
        claims.push(claim.found(ours, Some(gap), GAP, verdict));
    }
    claims
}

/// The whole order within one job file, since the paper had one.
pub(super) fn throughput_order(trials: &MapaTrials) -> Claim {
    let [low, topo, greedy, preserve] =
        ["lowest-id", "topo-aware", "greedy", "preserve"].map(|name| trials.throughput(name));
    let hits = (0..low.len())
        .filter(|&file| {
            low[file] < topo[file] && topo[file] < greedy[file] && greedy[file] <= preserve[file]
        })
        .count();
    let share = share_interval(hits, low.len());
    let what = "throughput: lowest-id < topo-aware < greedy <= preserve in more than half of the single files";
    let claim = Claim::new(
        what,
        "1.00, 1.07, 1.08, 1.12 in one file",
        time_assumes(trials),
    );
    claim.found(
        format!("in {hits} of {} files", low.len()),
        Some(share),
        SHARE,
        Verdict::above(share, 0.5),
    )
}

/// Preserve within 1.06 to 1.16 of lowest-id: a range around the printed figure.
pub(super) fn throughput_range(trials: &MapaTrials) -> Claim {
    let ratio = mean_interval(&trials.throughput("preserve"));
    let what = "throughput of preserve is 1.06 to 1.16 times that of lowest-id";
    let claim = Claim::new(what, "1.12 (text: 11.7 %)", time_assumes(trials));
    claim.found(
        format!("{:.3}", ratio.mean),
        Some(ratio),
        RANGE,
        Verdict::within(ratio, 1.06, 1.16),
    )
}

/// "The Preserve policy is able to improve throughput by 11.7 %."
pub(super) fn throughput_printed(trials: &MapaTrials) -> Claim {
    let ratio = mean_interval(&trials.throughput("preserve"));
    let what = "throughput of preserve is that of lowest-id and 11.7 %";
    let claim = Claim::new(
        what,
        "1.117 (section 4.1), 1.12 (Table 3)",
        time_assumes(trials),
    );
    claim.found(
        format!("{:.3}", ratio.mean),
        Some(ratio),
        PRINTED,
        Verdict::contains(ratio, 1.117),
    )
}

/// The claims about throughput.
pub(super) fn of_throughput(trials: &MapaTrials) -> Vec<Claim> {
    let mut claims = throughput_steps(trials);
    claims.extend([
        throughput_order(trials),
        throughput_range(trials),
        throughput_printed(trials),
    ]);
    claims
}
