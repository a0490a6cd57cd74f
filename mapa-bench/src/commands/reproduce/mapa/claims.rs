//! The claims on policies, put to the test under any setting and any measure of bandwidth.

use mapa_core::{Census, Coefficients};
use mapa_sim::{Interval, mean_interval, paired_interval, share_interval};

use super::super::claim::{Claim, Verdict, number};
use super::trials::{Of, Trial, Trials, Who};

/// By what allocations are judged.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) of: Of,
}

pub(super) const EQ_2: Measure = Measure { name: "Eq. 2", of: |job| job.effective };
pub(super) const PACKING: Measure = Measure { name: "ring packing", of: |job| job.packing };

/// What Eq. 2 predicts for a ring of three on two double links and a single one: the paper's 57.85 (cut off; 57.857).
pub(super) fn best_of_three() -> f64 {
    Coefficients::FULL.predict(&Census::from_xyz(2, 1, 0))
}

pub(super) const QUARTILES: [&str; 5] = ["min", "25 %", "50 %", "75 %", "max"];

pub(super) fn quartile(trials: &Trials, name: &str, who: Who, measure: Measure, at: usize) -> Vec<f64> {
    trials.per_file(name, |trial| trial.spread(who, measure.of)[at])
}

/// "Exactly 57.86 in more than half of the files."
pub(super) fn exact_median(trials: &Trials, name: &str, who: Who, population: &str) -> Claim {
    let exact = best_of_three();
    let medians = quartile(trials, name, who, EQ_2, 2);
    let hits = medians.iter().filter(|&&median| (median - exact).abs() < 1e-6).count();
    let share = share_interval(hits, medians.len());
    let what = format!(
        "{name}: median Eq. 2 of sensitive jobs {population} is exactly 57.86 GB/s in more than half of the files"
    );
    let ours =
        format!("in {hits} of {} files; mean of the medians {}", medians.len(), number(mean_interval(&medians).mean));
    Claim::new(what, "57.85", &[1, 2, 3]).found(ours, Some(share), Verdict::above(share, 0.5))
}

/// "Below 45 for lowest-id and topo-aware."
pub(super) fn low_median(trials: &Trials, name: &str, who: Who, population: &str) -> Claim {
    let medians = quartile(trials, name, who, EQ_2, 2);
    let below = medians.iter().filter(|&&median| median < 45.0).count();
    let mean = mean_interval(&medians);
    let ours = format!("{} on average; below in {below} of {} files", number(mean.mean), medians.len());
    let what = format!("{name}: median Eq. 2 of sensitive jobs {population} is below 45 GB/s");
    Claim::new(what, "below (Fig. 13c)", &[1, 2, 3]).found(ours, Some(mean), Verdict::below(mean, 45.0))
}

/// Medians of greedy and preserve above those of lowest-id and topo-aware.
pub(super) fn medians_apart(trials: &Trials, who: Who, measure: Measure) -> Claim {
    let median = |name| quartile(trials, name, who, measure, 2);
    let pairs = ["greedy", "preserve"].map(|high| ["lowest-id", "topo-aware"].map(|low| (high, low)));
    let gaps: Vec<Interval> =
        pairs.iter().flatten().map(|(high, low)| paired_interval(&median(high), &median(low))).collect();
    let least = gaps.iter().copied().min_by(|a, b| a.low.total_cmp(&b.low));
    let means = ["lowest-id", "topo-aware", "greedy", "preserve"].map(|name| number(mean_interval(&median(name)).mean));
    let verdict = Verdict::all(gaps.iter().map(|&gap| Verdict::above(gap, 0.0)));
    let what = format!("medians by {}: greedy and preserve above lowest-id and topo-aware", measure.name);
    let ours = format!(
        "lowest-id {}, topo-aware {}, greedy {}, preserve {} GB/s; smallest gap",
        means[0], means[1], means[2], means[3]
    );
    Claim::new(what, "57.85 against lower (Fig. 13c)", &[1, 2, 3]).found(ours, least, verdict)
}

/// "Throughput order lowest-id < topo-aware < greedy <= preserve", step by step.
pub(super) fn throughput_steps(trials: &Trials) -> Vec<Claim> {
    let printed = [("lowest-id", "topo-aware", "1.00, 1.07"), ("topo-aware", "greedy", "1.07, 1.08")];
    let strict = printed.into_iter().map(|(low, high, paper)| (low, high, "<", paper));
    let steps = strict.chain([("greedy", "preserve", "<=", "1.08, 1.12")]);
    let claim = |(low, high, sign, paper)| {
        let [a, b] = [low, high].map(|name| trials.throughput(name));
        let gap = paired_interval(&b, &a);
        let verdict = if sign == "<" { Verdict::above(gap, 0.0) } else { Verdict::at_least(gap, 0.0) };
        let [a, b] = [a, b].map(|values| mean_interval(&values).mean);
        let ours = format!("{a:.3}, {b:.3}; gap {:.3}", gap.mean);
        Claim::new(format!("throughput: {low} {sign} {high}"), paper, &[1, 2, 4]).found(ours, Some(gap), verdict)
    };
    steps.map(claim).collect()
}

/// "Preserve within 1.06-1.16 of lowest-id."
pub(super) fn throughput_range(trials: &Trials) -> Claim {
    let ratio = mean_interval(&trials.throughput("preserve"));
    let what = "throughput of preserve is 1.06 to 1.16 times that of lowest-id";
    let verdict = Verdict::within(ratio, 1.06, 1.16);
    Claim::new(what, "1.12 (text: 11.7 %)", &[1, 2, 4]).found(format!("{:.3}", ratio.mean), Some(ratio), verdict)
}

/// "Preserve's 25th percentile at least greedy's on average."
pub(super) fn lower_quartile(trials: &Trials, who: Who, population: &str, measure: Measure) -> Claim {
    let [greedy, preserve] = ["greedy", "preserve"].map(|name| quartile(trials, name, who, measure, 1));
    let gap = paired_interval(&preserve, &greedy);
    let ours = format!(
        "greedy {}, preserve {} GB/s; gap {}",
        number(mean_interval(&greedy).mean),
        number(mean_interval(&preserve).mean),
        number(gap.mean)
    );
    let what = format!(
        "25th percentile by {} of sensitive jobs {population}: preserve's at least greedy's on average",
        measure.name
    );
    let paper = "12.33, and preserve higher (Fig. 13c)";
    Claim::new(what, paper, &[1, 2, 3]).found(ours, Some(gap), Verdict::at_least(gap, 0.0))
}

/// "Preserve's minimum and 25th percentile above all others": one quartile of them, for each file against the best other.
pub(super) fn above_all(trials: &Trials, who: Who, population: &str, measure: Measure, at: usize) -> Claim {
    let own = quartile(trials, "preserve", who, measure, at);
    let others = ["lowest-id", "topo-aware", "greedy"].map(|name| (name, quartile(trials, name, who, measure, at)));
    let gaps: Vec<(&str, Interval)> =
        others.iter().map(|(name, values)| (*name, paired_interval(&own, values))).collect();
    let above = |file: usize| others.iter().all(|(_, values)| own[file] > values[file]);
    let files = (0..own.len()).filter(|&file| above(file)).count();
    let nearest = gaps.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).copied();
    let verdict = Verdict::all(gaps.iter().map(|(_, gap)| Verdict::above(*gap, 0.0)));
    let means: Vec<String> =
        others.iter().map(|(name, values)| format!("{name} {}", number(mean_interval(values).mean))).collect();
    let (nearest_name, gap) = nearest.unwrap_or(("none", mean_interval(&[])));
    let ours = format!(
        "preserve {}, {} GB/s; above all in {files} of {} files; gap to {nearest_name} {}",
        number(mean_interval(&own).mean),
        means.join(", "),
        own.len(),
        number(gap.mean)
    );
    let what = format!(
        "{}: preserve's {} by {} of sensitive jobs {population} is above all others'",
        trials.setting.machine.name,
        ["minimum", "25th percentile", "median", "75th percentile", "maximum"][at],
        measure.name
    );
    Claim::new(what, "above (Fig. 18)", &[1, 3, 5]).found(ours, Some(gap), verdict)
}

/// The claims on the DGX-1V by Eq. 2.
pub(super) fn by_eq_2(trials: &Trials) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (who, population) in [(Who::Sensitive, "(one-GPU jobs pooled)"), (Who::Several, "(two GPUs and more)")] {
        claims.extend(["greedy", "preserve"].map(|name| exact_median(trials, name, who, population)));
        let low = ["lowest-id", "topo-aware", "topo-aware-released"];
        claims.extend(low.map(|name| low_median(trials, name, who, population)));
        claims.push(lower_quartile(trials, who, population, EQ_2));
    }
    claims.extend(throughput_steps(trials));
    claims.push(throughput_range(trials));
    claims
}

/// The same by ring packing, as far as they have a meaning there: one GPU has no ring.
pub(super) fn by_packing(trials: &Trials) -> Vec<Claim> {
    let mut claims = vec![medians_apart(trials, Who::Several, PACKING)];
    claims.push(lower_quartile(trials, Who::Several, "(two GPUs and more)", PACKING));
    claims.extend(throughput_steps(trials));
    claims.push(throughput_range(trials));
    claims
}

/// How many jobs of a file were left.
pub(super) fn left(trials: &[Trial]) -> usize {
    trials.iter().map(|trial| trial.left).sum()
}
