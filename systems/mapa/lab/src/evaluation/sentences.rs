//! Sentences of section 4.1 that state an order without a number.

use mapa_sim::{Interval, mean_interval, paired_interval};

use super::claims::{Above, EQ_2, POOLED, QUARTILES, above, time_assumes};
use super::trials::{MapaTrials, Who};
use mapa_lab::claim::{Claim, Verdict, number};

/// The neural networks of Fig. 13.
const NETWORKS: [&str; 6] = [
    "AlexNet",
    "Inception-v3",
    "VGG-16",
    "ResNet-50",
    "CaffeNet",
    "GoogleNet",
];

const POLICIES: [&str; 4] = ["lowest-id", "topo-aware", "greedy", "preserve"];

/// "The Greedy policy nevertheless significantly improves the quality of allocation."
fn greedy_improves(trials: &MapaTrials) -> Claim {
    let claimed = Above {
        own: ("greedy", 2),
        others: &[("lowest-id", 2), ("topo-aware", 2)],
        near: false,
    };
    let what = format!(
        "greedy improves the quality of allocations: median Eq. 2 of {} above lowest-id's and topo-aware's",
        POOLED.1
    );
    let paper = "significantly improves (section 4.1)";
    above(trials, &what, paper, POOLED.0, EQ_2, &claimed)
}

/// "Similar median effective bandwidth as the Greedy policy."
fn similar_medians(trials: &MapaTrials) -> Claim {
    let claimed = Above {
        own: ("preserve", 2),
        others: &[("greedy", 2)],
        near: true,
    };
    let what = format!(
        "preserve's median Eq. 2 of {} is similar to greedy's",
        POOLED.1
    );
    let paper = "similar, 57.85 (section 4.1)";
    above(trials, &what, paper, POOLED.0, EQ_2, &claimed)
}

/// The sentences about medians of bandwidth.
pub(super) fn about_medians(trials: &MapaTrials) -> [Claim; 2] {
    [greedy_improves(trials), similar_medians(trials)]
}

/// The sentences about bandwidth.
pub(super) fn of_bandwidths(trials: &MapaTrials) -> Vec<Claim> {
    let mut claims: Vec<Claim> = about_medians(trials).into();
    // "In many cases, the 25th percentile [...] also significantly improved as in the case of
    // AlexNet and Inception-v3."
    claims.extend(["AlexNet", "Inception-v3"].map(|network| {
        let claimed = Above {
            own: ("preserve", 1),
            others: &[("greedy", 1)],
            near: false,
        };
        let what = format!("{network}: preserve improves the 25th percentile of Eq. 2 over greedy");
        let paper = "significantly improved (section 4.1)";
        above(trials, &what, paper, Who::Task(network), EQ_2, &claimed)
    }));
    claims
}

/// A quartile of execution times, per file.
fn seconds(trials: &MapaTrials, policy: &str, who: Who, at: usize) -> Vec<f64> {
    trials.per_file(policy, |trial| trial.spread(who, |job| job.ran)[at])
}

/// By how much a policy's quartile of times is below that of each other policy; the smallest lead
/// decides.
fn shortest(
    trials: &MapaTrials,
    own: &str,
    others: &[&str],
    at: usize,
) -> (String, Interval, Verdict) {
    let times = seconds(trials, own, Who::All, at);
    let mut worst: Option<(Interval, Verdict)> = None;
    let mut told = vec![format!("{own} {}", number(mean_interval(&times).mean))];
    for other in others {
        let theirs = seconds(trials, other, Who::All, at);
        told.push(format!("{other} {}", number(mean_interval(&theirs).mean)));
        let lead = paired_interval(&theirs, &times);
        let verdict = Verdict::above(lead, 0.0);
        let is_worse = |(known, of): &(Interval, Verdict)| {
            (verdict.weight(), -lead.low) > (of.weight(), -known.low)
        };
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some((lead, verdict));
        }
    }
    let (lead, verdict) = worst.unwrap_or((mean_interval(&[]), Verdict::NotHad));
    (format!("{} s", told.join(", ")), lead, verdict)
}

const LEAD: &str = "interval of the smallest mean lead over another policy against 0";

/// The sentences about times.
pub(super) fn of_times(trials: &MapaTrials) -> Vec<Claim> {
    let assumes = time_assumes(trials);
    let mut claims = vec![tails_of_lowest_id(trials), tail_of_inception(trials)];
    claims.extend([3, 4].map(|at| majority(trials, at)));
    let best = [
        (
            "greedy",
            2,
            "greedy performs best in the median case",
            "1.519 (Table 3)",
        ),
        (
            "preserve",
            3,
            "preserve has the best speedup at the 75th percentile",
            "1.124 (Table 3)",
        ),
        (
            "preserve",
            4,
            "preserve has the best speedup at the maximum",
            "1.352 (Table 3)",
        ),
    ];
    claims.extend(best.map(|(text, at, what, paper)| {
        let others: Vec<&str> = POLICIES.into_iter().filter(|name| *name != text).collect();
        let (ours, lead, verdict) = shortest(trials, text, &others, at);
        let what = format!("{what}: time of all jobs, {}", QUARTILES[at]);
        Claim::new(what, paper, assumes).found(ours, Some(lead), LEAD, verdict)
    }));
    claims
}

/// The lead of topo-aware over lowest-id in the maximum time of a network, per file.
fn tail(trials: &MapaTrials, network: &'static str) -> Interval {
    let [low, topo] =
        ["lowest-id", "topo-aware"].map(|name| seconds(trials, name, Who::Task(network), 4));
    paired_interval(&low, &topo)
}

/// "Suffers significantly [...] as demonstrated by the long tails of most bandwidth sensitive
/// workloads": the longest job is longer than under topo-aware.
fn tails_of_lowest_id(trials: &MapaTrials) -> Claim {
    let networks = ["AlexNet", "VGG-16", "ResNet-50"];
    let leads = networks.map(|network| tail(trials, network));
    let told: Vec<String> = networks
        .iter()
        .zip(leads)
        .map(|(network, lead)| format!("{network} {} s", number(lead.mean)))
        .collect();
    let least = leads.into_iter().min_by(|a, b| a.low.total_cmp(&b.low));
    let verdict = Verdict::all(leads.map(|lead| Verdict::above(lead, 0.0)));
    let what = "lowest-id has long tails: the longest job takes longer than under topo-aware";
    Claim::new(what, "most sensitive networks", time_assumes(trials)).found(
        told.join(", "),
        least,
        "intervals of the mean differences against 0",
        verdict,
    )
}

/// "Except Inception."
fn tail_of_inception(trials: &MapaTrials) -> Claim {
    let lead = tail(trials, "Inception-v3");
    let ours = format!(
        "{} s longer than under topo-aware; A4 gives it the ratio of ResNet-50",
        number(lead.mean)
    );
    let what = "lowest-id has no long tail for Inception-v3";
    Claim::new(what, "except Inception", time_assumes(trials)).found(
        ours,
        Some(lead),
        "interval of the mean difference against 0, at most",
        Verdict::at_most(lead, 0.0),
    )
}

/// "The lowest maximum tail execution time and 75th percentile execution time [...] across the
/// majority of the networks."
fn majority(trials: &MapaTrials, at: usize) -> Claim {
    let mut counts = vec![0.0; trials.policy("preserve").len()];
    for network in NETWORKS {
        let times = POLICIES.map(|name| seconds(trials, name, Who::Task(network), at));
        let [.., preserve] = &times;
        for (file, count) in counts.iter_mut().enumerate() {
            let least = times
                .iter()
                .map(|values| values[file])
                .fold(f64::INFINITY, f64::min);
            *count += f64::from(u8::from(preserve[file] <= least));
        }
    }
    let mean = mean_interval(&counts);
    let what = format!(
        "preserve has the lowest time in the majority of the six networks: {}",
        QUARTILES[at]
    );
    Claim::new(what, "the majority (section 4.1)", time_assumes(trials)).found(
        format!("{} of 6 on average, ties included", number(mean.mean)),
        Some(mean),
        "interval of the mean number of networks against 3",
        Verdict::above(mean, 3.0),
    )
}
