//! Claims: what a paper states, what this program finds, and whether the finding supports it.

use std::fmt;

use mapa_front::answer::report as answer;
use mapa_sim::Interval;

/// Whether the finding supports the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval supports the claim.
    Holds,
    /// The whole interval lies above the published figure, so the figure is not reproduced.
    Exceeds,
    /// The claim follows from what is assumed, so no run can contradict it.
    ByConstruction,
    /// The whole interval contradicts the claim.
    Fails,
    /// The interval contains the limit.
    Open,
    /// The claim needs hardware or records that only the authors have.
    NotHad,
    /// The finding is a time of one run on a shared machine, which another run need not repeat.
    NotJudged,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Exceeds => "exceeds",
            Self::ByConstruction => "by construction",
            Self::Fails => "does not hold",
            Self::Open => "undecided",
            Self::NotHad => "cannot be had",
            Self::NotJudged => "not judged",
        })
    }
}

impl From<Verdict> for answer::Verdict {
    fn from(own: Verdict) -> Self {
        match own {
            Verdict::Holds => Self::Holds,
            Verdict::Exceeds => Self::Exceeds,
            Verdict::ByConstruction => Self::ByConstruction,
            Verdict::Fails => Self::DoesNotHold,
            Verdict::Open => Self::Undecided,
            Verdict::NotHad => Self::CannotBeHad,
            Verdict::NotJudged => Self::NotJudged,
        }
    }
}

impl Verdict {
    /// Every verdict, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Holds,
        Self::Exceeds,
        Self::ByConstruction,
        Self::Fails,
        Self::Open,
        Self::NotHad,
        Self::NotJudged,
    ];

    /// The verdict on a fact without spread.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Whether `value` is above `limit`.
    pub fn above(value: Interval, limit: f64) -> Self {
        match () {
            () if value.low > limit => Self::Holds,
            () if value.high < limit => Self::Fails,
            // Intervals of values that are all equal have no width.
            () if value.low == value.high => Self::Fails,
            () => Self::Open,
        }
    }

    /// Whether `value` is `limit` or more.
    pub fn at_least(value: Interval, limit: f64) -> Self {
        if value.low >= limit {
            Self::Holds
        } else {
            Self::above(value, limit)
        }
    }

    /// Whether `value` is below `limit`.
    pub fn below(value: Interval, limit: f64) -> Self {
        Self::above(negative(value), -limit)
    }

    /// Whether `value` is `limit` or less.
    pub fn at_most(value: Interval, limit: f64) -> Self {
        Self::at_least(negative(value), -limit)
    }

    /// Whether `value` is at least `low` and below `high`.
    pub fn within(value: Interval, low: f64, high: f64) -> Self {
        Self::all([Self::at_least(value, low), Self::below(value, high)])
    }

    /// Whether a figure that is published as "up to `limit`", or as `limit`, is reproduced: the
    /// interval contains it. An interval wholly above it exceeds it.
    pub fn reaches(value: Interval, limit: f64) -> Self {
        match () {
            () if value.low > limit => Self::Exceeds,
            () if value.high >= limit => Self::Holds,
            () => Self::Fails,
        }
    }

    /// Whether `limit` lies within the interval.
    pub fn contains(value: Interval, limit: f64) -> Self {
        Self::of((value.low..=value.high).contains(&limit))
    }

    /// The verdict on a claim that cannot fail, since it follows from what is assumed. Another
    /// verdict than [`Self::Holds`] stays: then the program is wrong.
    pub fn by_construction(self) -> Self {
        if self == Self::Holds {
            Self::ByConstruction
        } else {
            self
        }
    }

    /// The verdict on a claim that has several parts: the weightiest one.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        parts
            .into_iter()
            .max_by_key(|part| part.weight())
            .unwrap_or(Self::Holds)
    }

    /// The rank of a verdict among several, of which the highest decides.
    pub fn weight(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::ByConstruction => 1,
            Self::Exceeds => 2,
            Self::Open => 3,
            Self::NotHad | Self::NotJudged => 4,
            Self::Fails => 5,
        }
    }
}

fn negative(value: Interval) -> Interval {
    Interval {
        mean: -value.mean,
        low: -value.high,
        high: -value.low,
    }
}

/// A statement that is tested.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The statement.
    pub what: String,
    /// The published figure, in words.
    pub paper: String,
    /// Our figure, in words.
    pub ours: String,
    /// The number that is judged, if the claim is about one.
    pub value: Option<Interval>,
    /// The rule by which the verdict is reached; empty if nothing can be judged.
    pub rule: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// The assumptions that the claim rests on, by their numbers in the report.
    pub assumes: &'static [usize],
}

impl Claim {
    /// A claim without a finding: the verdict is [`Verdict::NotHad`].
    pub fn new(
        what: impl Into<String>,
        paper: impl Into<String>,
        assumes: &'static [usize],
    ) -> Self {
        Self {
            what: what.into(),
            paper: paper.into(),
            ours: String::new(),
            value: None,
            rule: "",
            verdict: Verdict::NotHad,
            assumes,
        }
    }

    /// Adds the finding, and the rule by which it is judged.
    pub fn found(
        self,
        ours: impl Into<String>,
        value: Option<Interval>,
        rule: &'static str,
        verdict: Verdict,
    ) -> Self {
        Self {
            ours: ours.into(),
            value,
            rule,
            verdict,
            ..self
        }
    }

    /// Adds the reason why there is no finding.
    pub fn not_had(self, why: impl Into<String>) -> Self {
        Self {
            ours: why.into(),
            ..self
        }
    }

    /// Adds a time that one run took, which is shown without a verdict.
    pub fn timed(self, ours: impl Into<String>) -> Self {
        Self {
            ours: ours.into(),
            verdict: Verdict::NotJudged,
            ..self
        }
    }

    /// The cells of a row under [`HEADER`].
    pub fn cells(&self) -> [String; 7] {
        let interval = self
            .value
            .map(|value| range(value.low, value.high))
            .unwrap_or_default();
        let assumes = self
            .assumes
            .iter()
            .map(|number| format!("A{number}"))
            .collect::<Vec<_>>()
            .join(", ");
        [
            self.what.clone(),
            self.paper.clone(),
            self.ours.clone(),
            interval,
            self.rule.to_owned(),
            self.verdict.to_string(),
            assumes,
        ]
    }

    /// The claim as a report answers with it.
    pub fn answer(&self) -> answer::Claim {
        answer::Claim {
            claim: self.what.clone(),
            paper: self.paper.clone(),
            ours: self.ours.clone(),
            value: self.value.map(Into::into),
            rule: self.rule.to_owned(),
            verdict: self.verdict.into(),
            assumes: self.assumes.to_vec(),
        }
    }
}

/// The header of a table of claims.
pub const HEADER: [&str; 7] = [
    "claim", "paper", "ours", "95 %", "rule", "verdict", "assumes",
];

/// The rule of a fact without spread.
pub const EXACT: &str = "exact";

/// An interval as a report answers with it.
pub fn bounds(value: Interval) -> answer::Interval {
    value.into()
}

/// Formats with four digits, without zeros at the end.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = if value == 0.0 {
        0.0
    } else {
        value.abs().log10().floor()
    };
    let decimals = (3.0 - size).clamp(0.0, 3.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    if text == "-0" { "0".to_owned() } else { text }
}

/// Formats the ends of an interval.
pub fn range(low: f64, high: f64) -> String {
    format!("{} to {}", number(low), number(high))
}

/// Formats a mean and half the width of its interval.
pub fn mean_pm(value: Interval) -> String {
    let half = (value.high - value.low) / 2.0;
    if half.is_finite() && half > 0.0 {
        format!("{:.2} ± {half:.2}", value.mean)
    } else {
        format!("{:.2}", value.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> Interval {
        Interval {
            mean: (low + high) / 2.0,
            low,
            high,
        }
    }

    #[test]
    fn an_interval_across_the_limit_decides_nothing() {
        let verdicts = [between(0.6, 0.8), between(0.4, 0.6), between(0.2, 0.4)]
            .map(|it| Verdict::above(it, 0.5));
        assert_eq!(verdicts, [Verdict::Holds, Verdict::Open, Verdict::Fails]);
        assert_eq!(Verdict::below(between(0.6, 0.8), 0.5), Verdict::Fails);
        assert_eq!(
            Verdict::within(between(1.07, 1.1), 1.06, 1.16),
            Verdict::Holds
        );
        assert_eq!(
            Verdict::within(between(1.05, 1.1), 1.06, 1.16),
            Verdict::Open
        );
        assert_eq!(
            Verdict::within(between(1.0, 1.05), 1.06, 1.16),
            Verdict::Fails
        );
    }

    #[test]
    fn equal_is_not_above_and_is_at_least() {
        assert_eq!(Verdict::above(between(1.0, 1.0), 1.0), Verdict::Fails);
        assert_eq!(Verdict::at_least(between(1.0, 1.0), 1.0), Verdict::Holds);
    }

    #[test]
    fn an_interval_above_an_up_to_figure_exceeds_it() {
        let verdicts = [
            between(19.0, 21.0),
            between(17.0, 19.0),
            between(15.0, 17.0),
        ]
        .map(|it| Verdict::reaches(it, 18.0));
        assert_eq!(verdicts, [Verdict::Exceeds, Verdict::Holds, Verdict::Fails]);
        let verdicts = [
            between(19.0, 21.0),
            between(17.0, 19.0),
            between(15.0, 17.0),
        ]
        .map(|it| Verdict::contains(it, 18.0));
        assert_eq!(verdicts, [Verdict::Fails, Verdict::Holds, Verdict::Fails]);
    }

    #[test]
    fn what_cannot_fail_does_not_hold_either() {
        let verdicts =
            [Verdict::Holds, Verdict::Open, Verdict::Fails].map(Verdict::by_construction);
        assert_eq!(
            verdicts,
            [Verdict::ByConstruction, Verdict::Open, Verdict::Fails]
        );
    }

    #[test]
    fn a_verdict_has_one_name_in_every_form() {
        for verdict in Verdict::ALL {
            let json = serde_json::to_value(answer::Verdict::from(verdict)).unwrap();
            assert_eq!(json, verdict.to_string());
        }
    }

    #[test]
    fn one_part_that_fails_decides() {
        assert_eq!(
            Verdict::all([Verdict::Holds, Verdict::Open, Verdict::Holds]),
            Verdict::Open
        );
        assert_eq!(
            Verdict::all([Verdict::Fails, Verdict::Open]),
            Verdict::Fails
        );
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [57.857_1, 1.0, 0.123_46, 1234.5, f64::NAN].map(number),
            ["57.86", "1", "0.123", "1234", "-"]
        );
    }
}
