//! The paper's claims about its scheduler, tested.

use mapa_sim::{Interval, mean_interval, paired_interval};

use super::setting::{
    FIXED, INSTANCES, LARGE, Lengths, PcieChooser, PcieSetting, PortSharing, SHARES,
};
use super::trials::{PcieResults, PcieTrial, PcieTrials};
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict, number};

const ABOVE: &str = "mean, above 0";
const STEPS: &str = "means of the differences, all above 0";
const NOT_FALLING: &str = "means of the differences, all at least 0";
const WITHIN_5: &str = "mean, between 0 and 5";
const REACHES: &str = "the interval contains it; exceeds if wholly above";
const WITHIN_10: &str = "difference of the means, between -10 and 10";

/// The assumptions of simulations, by their numbers in the report.
const ASSUMES: &[usize] = &[1, 2, 3, 4, 5];

fn percent(value: Interval) -> String {
    format!("{} %", number(value.mean))
}

fn list(values: impl IntoIterator<Item = Interval>) -> String {
    let means: Vec<String> = values.into_iter().map(|value| number(value.mean)).collect();
    format!("{} %", means.join(", "))
}

/// The interval that reaches lowest.
fn lowest(values: &[Interval]) -> Option<Interval> {
    values
        .iter()
        .copied()
        .min_by(|a, b| a.low.total_cmp(&b.low))
}

/// The claims about a system of this size, for one arrival pattern and one physics.
pub(super) fn of_system(shares: [&PcieTrials; 3], at_most: f64) -> Vec<Claim> {
    let [few, .., many] = shares;
    let place = format!("{} GPUs, {}", few.setting.gpus, few.setting.variant());
    let claim = |what: String, paper: &str| {
        Claim::new(format!("{place}: {what}"), paper.to_owned(), ASSUMES)
    };
    let gains = shares.map(PcieTrials::gain);
    let better = claim(
        "JCT below the baseline's at 20, 40 and 60 %".to_owned(),
        "consistently outperforms",
    );
    let better = better.found(
        list(gains),
        lowest(&gains),
        ABOVE,
        Verdict::all(gains.map(|gain| Verdict::above(gain, 0.0))),
    );
    let steps: Vec<Interval> = shares
        .windows(2)
        .map(|pair| paired_interval(&pair[1].gains(), &pair[0].gains()))
        .collect();
    let grows = claim(
        "the gain grows with the share of PCIe-bound jobs".to_owned(),
        "more pronounced",
    );
    let verdict = Verdict::all(steps.iter().map(|step| Verdict::above(*step, 0.0)));
    let grows = grows.found(list(gains), lowest(&steps), STEPS, verdict);
    let slight = claim(
        "20 % PCIe-bound".to_owned(),
        "slightly better; taken as 0 to 5 %",
    );
    let slight = slight.found(
        percent(gains[0]),
        Some(gains[0]),
        WITHIN_5,
        Verdict::within(gains[0], 0.0, 5.0),
    );
    let most = claim("60 % PCIe-bound".to_owned(), &format!("up to {at_most} %"));
    let most = most.found(
        percent(many.gain()),
        Some(many.gain()),
        REACHES,
        Verdict::reaches(many.gain(), at_most),
    );
    vec![better, grows, slight, most]
}

/// The claim that the large system gains as much as the small one.
pub(super) fn alike(small: &PcieTrials, large: &PcieTrials) -> Claim {
    let value = paired_interval(&large.gains(), &small.gains());
    let what = format!(
        "{} and {} GPUs, {}: gains at 60 % are within 10 points of each other",
        small.setting.gpus,
        large.setting.gpus,
        small.setting.variant()
    );
    let ours = format!("{} and {}", percent(small.gain()), percent(large.gain()));
    Claim::new(what, "18 and 17 %", ASSUMES).found(
        ours,
        Some(value),
        WITHIN_10,
        Verdict::within(value, -10.0, 10.0),
    )
}

/// The claims about more instances per GPU, at 60 %.
pub(super) fn of_instances(all: &PcieResults, variant: PcieSetting) -> Result<[Claim; 2], Error> {
    let trials = INSTANCES
        .into_iter()
        .map(|instances| {
            all.of(PcieSetting {
                instances,
                ..variant
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let gains: Vec<Interval> = trials.iter().map(|trial| trial.gain()).collect();
    let steps: Vec<Interval> = trials
        .windows(2)
        .map(|pair| paired_interval(&pair[1].gains(), &pair[0].gains()))
        .collect();
    let place = format!("{}, 60 %", variant.variant());
    let what =
        format!("{place}: the gain does not fall with the most instances of a GPU, {INSTANCES:?}");
    let falls = Claim::new(what, "more evident", ASSUMES).found(
        list(gains.iter().copied()),
        lowest(&steps),
        NOT_FALLING,
        Verdict::all(steps.iter().map(|step| Verdict::at_least(*step, 0.0))),
    );
    let most = gains
        .iter()
        .copied()
        .max_by(|a, b| a.mean.total_cmp(&b.mean))
        .unwrap_or(FEW);
    let highest = Claim::new(format!("{place}: the highest gain"), "up to 20 %", ASSUMES);
    Ok([
        falls,
        highest.found(
            percent(most),
            Some(most),
            REACHES,
            Verdict::reaches(most, 20.0),
        ),
    ])
}

/// The interval of no file.
const FEW: Interval = Interval {
    mean: f64::NAN,
    low: f64::NAN,
    high: f64::NAN,
};

/// The paper's density at its peak, over the baseline's there.
const MORE: f64 = 1.5;

/// The claim that a number per file is [`MORE`] times the baseline's.
fn half_as_many_again(
    trials: &PcieTrials,
    what: &str,
    unit: &str,
    of: impl Fn(&PcieTrial) -> f64,
) -> Claim {
    let [first, aware] = PcieChooser::ALL.map(|chooser| trials.per_file(chooser, &of));
    let claimed: Vec<f64> = first.iter().map(|value| MORE * value).collect();
    let above = paired_interval(&aware, &claimed);
    let [first, aware] = [first, aware].map(|values| mean_interval(&values).mean);
    let place = format!(
        "{}, {}",
        trials.setting.physics.name(),
        trials.setting.lengths.name()
    );
    let claim = Claim::new(
        format!("{place}: {what}, beside the baseline's"),
        "50 % more jobs of low execution time (50 seconds)",
        ASSUMES,
    );
    let told = format!(
        "{} and {} {unit}: {} times",
        number(aware),
        number(first),
        number(aware / first)
    );
    claim.found(
        told,
        Some(above),
        "own less 1.5 times the baseline's: the interval contains 0; exceeds if wholly above",
        Verdict::reaches(above, 0.0),
    )
}

/// The claims about the peak of Fig. 5: jobs at full speed, and, where all jobs take 50 s, the
/// density there.
pub(super) fn of_density(trials: &PcieTrials) -> Vec<Claim> {
    let unslowed = half_as_many_again(
        trials,
        "PCIe-bound jobs at full speed throughout",
        "%",
        |trial| trial.unslowed,
    );
    let mut claims = vec![unslowed];
    if trials.setting.lengths == Lengths::Alike {
        claims.push(half_as_many_again(
            trials,
            "density at 50 s",
            "per 1,000 s",
            |trial| 1e3 * density(&trial.ran, 50.0),
        ));
    }
    claims
}

/// Bandwidth of the Gaussian kernels of Fig. 5, s: a fifth of the 50 s at which the paper compares
/// densities, the same for both schedulers.
pub(super) const KERNEL_S: f64 = 10.0;

/// Returns the kernel density of `values` at `at`, per second, as the picture of Fig. 5 draws it.
fn density(values: &[f64], at: f64) -> f64 {
    let kernels: f64 = values
        .iter()
        .map(|value| (-((value - at) / KERNEL_S).powi(2) / 2.0).exp())
        .sum();
    kernels / (values.len() as f64 * KERNEL_S * std::f64::consts::TAU.sqrt())
}

/// The claims that no job is slower than Eq. 2 predicts. Under Eq. 2 that is what the simulation
/// computes, and max-min leaves no job less than an equal share.
pub(super) fn not_slower(all: &PcieResults) -> [Claim; 2] {
    PortSharing::ALL.map(|physics| {
        let (mut slower, mut jobs) = (0, 0);
        for trials in all
            .iter()
            .filter(|trials| trials.setting.physics == physics)
        {
            slower += trials.sum(|trial: &PcieTrial| trial.slower);
            jobs +=
                trials.setting.jobs * PcieChooser::ALL.len() * trials.of(PcieChooser::Aware).len();
        }
        let what = format!(
            "{}: jobs that run longer than Eq. 2 says of those that ran beside them",
            physics.name()
        );
        let claim = Claim::new(what, "none", &[3]);
        claim.found(
            format!("{slower} of {jobs}"),
            None,
            EXACT,
            Verdict::of(slower == 0).by_construction(),
        )
    })
}

/// The claim that every job ends.
pub(super) fn all_run(all: &PcieResults) -> Claim {
    let left: usize = all
        .iter()
        .map(|trials| trials.sum(|trial| trial.left))
        .sum();
    let claim = Claim::new("jobs that never end, in all settings", "none", &[]);
    claim.found(left.to_string(), None, EXACT, Verdict::of(left == 0))
}

/// The claims about the paper's two systems, for each variant.
pub(super) fn of_both(all: &PcieResults) -> Result<[Vec<Claim>; 2], Error> {
    let [mut small, mut large] = [Vec::new(), Vec::new()];
    for (setting, other) in FIXED.variants().into_iter().zip(LARGE.variants()) {
        small.extend(of_system(all.shares(setting)?, 18.0));
        large.extend(of_system(all.shares(other)?, 17.0));
        large.push(alike(all.of(setting)?, all.of(other)?));
    }
    Ok([small, large])
}

/// The shares in words.
pub(super) fn share_names() -> [String; 3] {
    SHARES.map(|share| format!("{share} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_density_of_many_values_is_that_of_their_distribution() {
        let uniform: Vec<f64> = (0..2000).map(|at| f64::from(at) / 2.0).collect();
        assert!((density(&uniform, 500.0) - 1e-3).abs() < 1e-6);
        assert!((density(&uniform, 0.0) - 5e-4).abs() < 1e-5);
    }
}
