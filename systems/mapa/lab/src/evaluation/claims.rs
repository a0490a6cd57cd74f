//! The paper's claims about policies, tested under any setting and any measure of bandwidth.

use mapa_core::{Census, Coefficients};
use mapa_sim::{Interval, mean_interval, paired_interval, share_interval};

use super::setting::JobRunTimes;
use super::trials::{JobNumber, MapaTrial, MapaTrials, Who};
use mapa_lab::claim::{Claim, Verdict, number};

/// The measure by which allocations are judged.
#[derive(Clone, Copy)]
pub(super) struct ClaimMeasure {
    pub(super) name: &'static str,
    pub(super) of: JobNumber,
    by_packing: bool,
}

pub(super) const EQ_2: ClaimMeasure = ClaimMeasure {
    name: "Eq. 2",
    of: |job| job.effective,
    by_packing: false,
};
pub(super) const PACKING: ClaimMeasure = ClaimMeasure {
    name: "ring packing",
    of: |job| job.packing,
    by_packing: true,
};

/// A population of jobs, and its name.
pub(super) type Population = (Who, &'static str);

pub(super) const ALL: Population = (Who::All, "all jobs (one-GPU jobs pooled)");
pub(super) const POOLED: Population = (Who::Sensitive, "sensitive jobs (one-GPU jobs pooled)");
pub(super) const SEVERAL: Population = (Who::Several, "sensitive jobs (two GPUs and more)");
pub(super) const INSENSITIVE: Population =
    (Who::Insensitive, "insensitive jobs (one-GPU jobs pooled)");

/// The assumptions behind claims about bandwidth. Schedules depend on run times, so the assumptions
/// about run times are among them.
fn bandwidth_assumes(trials: &MapaTrials, measure: ClaimMeasure) -> &'static [usize] {
    match (&trials.setting.runs, measure.by_packing) {
        (JobRunTimes::Fixed, false) => &[1, 2, 3, 5],
        (JobRunTimes::Eq2(_), false) => &[1, 2, 3, 4],
        (JobRunTimes::Packing, false) => &[1, 2, 3, 4, 7],
        (JobRunTimes::Fixed, true) => &[1, 2, 5, 7],
        (JobRunTimes::Eq2(_), true) => &[1, 2, 3, 4, 7],
        (JobRunTimes::Packing, true) => &[1, 2, 4, 7],
    }
}

/// The assumptions behind claims about times and throughput.
pub(super) fn time_assumes(trials: &MapaTrials) -> &'static [usize] {
    match &trials.setting.runs {
        JobRunTimes::Fixed => &[1, 2, 5],
        JobRunTimes::Eq2(_) => &[1, 2, 3, 4],
        JobRunTimes::Packing => &[1, 2, 4, 7],
    }
}

/// What Eq. 2 predicts for a ring of three on two double links and a single one. The paper prints
/// 57.85, which is 57.857 cut off.
pub(super) fn best_of_three() -> f64 {
    Coefficients::FULL.predict(&Census::from_xyz(2, 1, 0))
}

pub(super) const QUARTILES: [&str; 5] = ["min", "25 %", "50 %", "75 %", "max"];

/// The quartiles in words.
const WORDS: [&str; 5] = [
    "minimum",
    "25th percentile",
    "median",
    "75th percentile",
    "maximum",
];

pub(super) const MEAN: &str = "interval of the mean";
const BELOW_45: &str = "interval of the mean against 45 (the 45 is ours)";
pub(super) const SHARE: &str = "interval of the share of files against 0.5";
pub(super) const GAP: &str = "interval of the mean gap against 0";
const NEAR: &str = "interval of the mean of ours - 0.9 theirs against 0 (the 0.9 is ours)";

pub(super) fn quartile(
    trials: &MapaTrials,
    name: &str,
    who: Who,
    measure: ClaimMeasure,
    at: usize,
) -> Vec<f64> {
    trials.per_file(name, |trial| trial.spread(who, measure.of)[at])
}

/// "Exactly 57.86 in more than half of the files."
pub(super) fn exact_median(
    trials: &MapaTrials,
    name: &str,
    (who, population): Population,
) -> Claim {
    let exact = best_of_three();
    let medians = quartile(trials, name, who, EQ_2, 2);
    let hits = medians
        .iter()
        .filter(|&&median| (median - exact).abs() < 1e-6)
        .count();
    let share = share_interval(hits, medians.len());
    let what = format!(
        "{name}: median Eq. 2 of {population} is exactly 57.86 GB/s in more than half of the files"
    );
    let ours = format!(
        "in {hits} of {} files; mean of the medians {}",
        medians.len(),
        number(mean_interval(&medians).mean)
    );
    let claim = Claim::new(what, "57.85", bandwidth_assumes(trials, EQ_2));
    claim.found(ours, Some(share), SHARE, Verdict::above(share, 0.5))
}

/// "Below 45 for lowest-id and topo-aware."
pub(super) fn low_median(trials: &MapaTrials, name: &str, (who, population): Population) -> Claim {
    let medians = quartile(trials, name, who, EQ_2, 2);
    let below = medians.iter().filter(|&&median| median < 45.0).count();
    let mean = mean_interval(&medians);
    let ours = format!(
        "{} on average; below in {below} of {} files",
        number(mean.mean),
        medians.len()
    );
    let what = format!("{name}: median Eq. 2 of {population} is below 45 GB/s");
    let claim = Claim::new(what, "below (Fig. 13c)", bandwidth_assumes(trials, EQ_2));
    claim.found(ours, Some(mean), BELOW_45, Verdict::below(mean, 45.0))
}

/// "The barplot of baseline and Topo-aware being nearly identical": medians within a tenth.
pub(super) fn nearly_identical(trials: &MapaTrials, (who, population): Population) -> Claim {
    let [low, topo] = ["lowest-id", "topo-aware"].map(|name| quartile(trials, name, who, EQ_2, 2));
    let ratios: Vec<f64> = low
        .iter()
        .zip(&topo)
        .map(|(low, topo)| topo / low)
        .collect();
    let ratio = mean_interval(&ratios);
    let [low, topo] = [low, topo].map(|medians| number(mean_interval(&medians).mean));
    let what =
        format!("lowest-id and topo-aware are nearly identical: median Eq. 2 of {population}");
    let ours = format!(
        "lowest-id {low}, topo-aware {topo} GB/s; ratio {}",
        number(ratio.mean)
    );
    let rule = "interval of the mean ratio within 0.9 to 1.1 (limits are ours)";
    let claim = Claim::new(
        what,
        "nearly identical (section 4.1)",
        bandwidth_assumes(trials, EQ_2),
    );
    claim.found(ours, Some(ratio), rule, Verdict::within(ratio, 0.9, 1.1))
}

/// A claim that a quartile of one policy is above quartiles of others.
pub(super) struct Above<'a> {
    pub(super) own: (&'a str, usize),
    pub(super) others: &'a [(&'a str, usize)],
    /// Whether a tenth below is close enough: "equivalent", "near", "nearly".
    pub(super) near: bool,
}

/// Judges the gaps, file by file. The worst gap decides the claim, and the finding names it.
pub(super) fn above(
    trials: &MapaTrials,
    what: &str,
    paper: &str,
    who: Who,
    measure: ClaimMeasure,
    claimed: &Above<'_>,
) -> Claim {
    let factor = if claimed.near { 0.9 } else { 1.0 };
    let values = quartile(trials, claimed.own.0, who, measure, claimed.own.1);
    // What the own quartile must exceed: theirs, or nine tenths of it.
    let limits: Vec<Vec<f64>> = claimed
        .others
        .iter()
        .map(|&(name, at)| {
            let values = quartile(trials, name, who, measure, at);
            values.iter().map(|value| factor * value).collect()
        })
        .collect();
    let worst = claimed
        .others
        .iter()
        .zip(&limits)
        .map(|(other, limits)| {
            let gap = paired_interval(&values, limits);
            (other, gap, verdict(gap, claimed.near))
        })
        .max_by(|a, b| {
            let by_verdict = a.2.weight().cmp(&b.2.weight());
            by_verdict.then(b.1.low.total_cmp(&a.1.low))
        });
    // File by file, the own quartile is compared with the highest of the others.
    let (mut above, mut level) = (0, 0);
    for (file, &value) in values.iter().enumerate() {
        let best = limits
            .iter()
            .map(|limits| limits[file])
            .fold(f64::NEG_INFINITY, f64::max);
        above += usize::from(value > best);
        level += usize::from(value == best);
    }
    let told: Vec<String> = claimed
        .others
        .iter()
        .map(|&(name, at)| named_mean(name, at, &quartile(trials, name, who, measure, at)))
        .collect();
    let (decides, gap, verdict) = worst.map_or(
        ("none".to_owned(), mean_interval(&[]), Verdict::NotHad),
        |(other, gap, verdict)| {
            let decides = format!("{}'s {}", other.0, QUARTILES[other.1]);
            (decides, gap, verdict)
        },
    );
    let ours = format!(
        "{}; {} GB/s; above in {above} of {} files, level in {level}; what decides: gap to {}{decides} {}",
        named_mean(claimed.own.0, claimed.own.1, &values),
        told.join(", "),
        values.len(),
        if claimed.near { "0.9 of " } else { "" },
        number(gap.mean)
    );
    let rule = if claimed.near { NEAR } else { GAP };
    let claim = Claim::new(what, paper, bandwidth_assumes(trials, measure));
    claim.found(ours, Some(gap), rule, verdict)
}

/// "NAME's QUARTILE MEAN".
fn named_mean(name: &str, at: usize, values: &[f64]) -> String {
    let mean = number(mean_interval(values).mean);
    format!("{name}'s {} {mean}", QUARTILES[at])
}

fn verdict(gap: Interval, near: bool) -> Verdict {
    if near {
        Verdict::at_least(gap, 0.0)
    } else {
        Verdict::above(gap, 0.0)
    }
}

/// "The median is nearly the maximum effective bandwidth of baseline and Topo-aware."
pub(super) fn nearly_the_maximum(
    trials: &MapaTrials,
    name: &str,
    (who, population): Population,
) -> Claim {
    let what = format!(
        "{name}: median Eq. 2 of {population} is nearly the maximum of lowest-id and topo-aware"
    );
    let claimed = Above {
        own: (name, 2),
        others: &[("lowest-id", 4), ("topo-aware", 4)],
        near: true,
    };
    above(
        trials,
        &what,
        "57.85 nearly the maximum (section 4.1)",
        who,
        EQ_2,
        &claimed,
    )
}

/// Medians of greedy and preserve above those of lowest-id and topo-aware.
pub(super) fn medians_apart(trials: &MapaTrials, who: Who, measure: ClaimMeasure) -> [Claim; 2] {
    ["greedy", "preserve"].map(|name| {
        let what = format!(
            "median by {}: {name} above lowest-id and topo-aware",
            measure.name
        );
        let claimed = Above {
            own: (name, 2),
            others: &[("lowest-id", 2), ("topo-aware", 2)],
            near: false,
        };
        above(
            trials,
            &what,
            "57.85 against lower (Fig. 13c)",
            who,
            measure,
            &claimed,
        )
    })
}

/// "Preserve's 25th percentile at least greedy's on average."
pub(super) fn lower_quartile(
    trials: &MapaTrials,
    (who, population): Population,
    measure: ClaimMeasure,
) -> Claim {
    let [greedy, preserve] =
        ["greedy", "preserve"].map(|name| quartile(trials, name, who, measure, 1));
    let gap = paired_interval(&preserve, &greedy);
    let level = greedy
        .iter()
        .zip(&preserve)
        .filter(|(greedy, preserve)| greedy == preserve)
        .count();
    let ours = format!(
        "greedy {}, preserve {} GB/s; gap {}; level in {level} of {} files",
        number(mean_interval(&greedy).mean),
        number(mean_interval(&preserve).mean),
        number(gap.mean),
        greedy.len()
    );
    let what = format!(
        "25th percentile by {} of {population}: preserve's at least greedy's on average",
        measure.name
    );
    let paper = "12.33, and preserve higher (Fig. 13c)";
    let claim = Claim::new(what, paper, bandwidth_assumes(trials, measure));
    claim.found(ours, Some(gap), GAP, Verdict::at_least(gap, 0.0))
}

/// Whether the published 25th percentile of greedy occurs in any file.
pub(super) fn unlucky(trials: &MapaTrials) -> Claim {
    let quarters = quartile(trials, "greedy", Who::Sensitive, EQ_2, 1);
    let hits = quarters
        .iter()
        .filter(|&&quarter| (12.33..12.34).contains(&quarter))
        .count();
    let lower = quarters.iter().filter(|&&quarter| quarter < 12.33).count();
    let share = share_interval(hits, quarters.len());
    let ours = format!(
        "12.33 to 12.34 in {hits} of {} files, lower in {lower}; on average {}",
        quarters.len(),
        number(mean_interval(&quarters).mean)
    );
    let what =
        "greedy: the 25th percentile of sensitive jobs can be 12.33 GB/s, that of one-GPU jobs";
    let claim = Claim::new(what, "12.33", bandwidth_assumes(trials, EQ_2));
    claim.found(
        ours,
        Some(share),
        "at least one file has it",
        Verdict::of(hits > 0),
    )
}

/// "Preserve's minimum and 25th percentile above all others": one of these quartiles, against the
/// best other policy of each file.
pub(super) fn above_all(
    trials: &MapaTrials,
    (who, population): Population,
    measure: ClaimMeasure,
    at: usize,
) -> Claim {
    let others = ["lowest-id", "topo-aware", "greedy"].map(|name| (name, at));
    let machine = trials.setting.machine.name;
    let what = format!(
        "{machine}: preserve's {} by {} of {population} is above all others'",
        WORDS[at], measure.name
    );
    above(
        trials,
        &what,
        "above (Fig. 18)",
        who,
        measure,
        &Above {
            own: ("preserve", at),
            others: &others,
            near: false,
        },
    )
}

/// The claims about a population on the DGX-1V, by Eq. 2.
pub(super) fn of_population(trials: &MapaTrials, population: Population) -> Vec<Claim> {
    let mut claims: Vec<Claim> = ["greedy", "preserve"]
        .map(|name| exact_median(trials, name, population))
        .into();
    if matches!(population.0, Who::All) {
        claims.extend(
            ["greedy", "preserve"].map(|name| nearly_the_maximum(trials, name, population)),
        );
    }
    if matches!(population.0, Who::Sensitive | Who::Several) {
        let low = ["lowest-id", "topo-aware", "topo-aware-released"];
        claims.extend(low.map(|name| low_median(trials, name, population)));
        claims.push(lower_quartile(trials, population, EQ_2));
    }
    if matches!(population.0, Who::Sensitive | Who::Insensitive) {
        claims.push(nearly_identical(trials, population));
    }
    if matches!(population.0, Who::Sensitive) {
        claims.push(unlucky(trials));
    }
    claims
}

/// The claims about bandwidths on the DGX-1V by Eq. 2.
pub(super) fn by_eq_2(trials: &MapaTrials) -> Vec<Claim> {
    let populations = [POOLED, SEVERAL, ALL, INSENSITIVE];
    populations
        .into_iter()
        .flat_map(|population| of_population(trials, population))
        .collect()
}

/// The claims about bandwidths by ring packing. Claims that include one-GPU jobs have no meaning there, since one
/// GPU has no ring.
pub(super) fn by_packing(trials: &MapaTrials) -> Vec<Claim> {
    let mut claims: Vec<Claim> = medians_apart(trials, Who::Several, PACKING).into();
    claims.push(lower_quartile(trials, SEVERAL, PACKING));
    claims
}

/// The number of jobs that did not finish.
pub(super) fn left(trials: &[MapaTrial]) -> usize {
    trials.iter().map(|trial| trial.left).sum()
}
