//! Criteria: which of two placements is better.

use std::borrow::Cow;

use crate::score::{Direction, Objective, Seat};

/// One criterion of [`Rules`](crate::Rules): an objective to maximise or minimise, or the lowest
/// ids.
#[derive(Clone, Debug)]
pub struct Criterion<'a> {
    pub(super) kind: CriterionKind<'a>,
    /// Values within one step are equal.
    step: Option<f64>,
}

#[derive(Clone, Debug)]
pub(super) enum CriterionKind<'a> {
    Max(Objective<'a>),
    Min(Objective<'a>),
    LowestIds,
}

impl<'a> Criterion<'a> {
    /// The objective that is maximised or minimised; `None` for the lowest ids.
    pub(crate) fn objective(&self) -> Option<&Objective<'a>> {
        match &self.kind {
            CriterionKind::Max(objective) | CriterionKind::Min(objective) => Some(objective),
            CriterionKind::LowestIds => None,
        }
    }

    fn new(kind: CriterionKind<'a>) -> Self {
        Self { kind, step: None }
    }

    /// Makes values within one step equal, so that the next criterion decides. With steps of 10,
    /// the values 23 and 27 are equal, but 27 and 31 are not. A step that is not a positive number
    /// changes nothing.
    #[must_use]
    pub fn in_steps_of(self, step: f64) -> Self {
        Self {
            step: Some(step).filter(|step| step.is_finite() && *step > 0.0),
            ..self
        }
    }

    /// Applies [`Objective::blind_to_ids`] to the objective. Useful for a criterion made by
    /// [`most`] or [`least`].
    #[must_use]
    pub fn blind_to_ids(self) -> Self {
        let kind = match self.kind {
            CriterionKind::Max(objective) => CriterionKind::Max(objective.blind_to_ids()),
            CriterionKind::Min(objective) => CriterionKind::Min(objective.blind_to_ids()),
            CriterionKind::LowestIds => CriterionKind::LowestIds,
        };
        Self { kind, ..self }
    }

    /// The objective and the sign with which its exact value is compared; `None` for steps and for
    /// ids.
    pub(super) fn exact_sum(&self) -> Option<(&Objective<'a>, f64)> {
        match (&self.kind, self.step) {
            (CriterionKind::Max(objective), None) => Some((objective, 1.0)),
            (CriterionKind::Min(objective), None) => Some((objective, -1.0)),
            _ => None,
        }
    }

    /// An identifier that copies of a criterion share, and that no other criterion has.
    pub(super) fn identity(&self) -> [u64; 2] {
        let step = self.step.map_or(0, f64::to_bits);
        match &self.kind {
            CriterionKind::Max(objective) => [objective.id() << 1, step],
            CriterionKind::Min(objective) => [objective.id() << 1 | 1, step],
            CriterionKind::LowestIds => [0, 0],
        }
    }

    /// The key by which placements are compared; the higher the better.
    pub(super) fn key(&self, value: f64) -> f64 {
        self.signed_key(if matches!(self.kind, CriterionKind::Min(_)) {
            -value
        } else {
            value
        })
    }

    /// The key of a value that is already signed so that higher is better.
    pub(super) fn signed_key(&self, signed: f64) -> f64 {
        match (self.step, &self.kind) {
            (None, _) => settle(signed),
            (Some(step), CriterionKind::Min(_)) => settle(settle(signed / step).ceil()),
            (Some(step), _) => settle(settle(signed / step).floor()),
        }
    }
}

/// Maximises an objective. NaN ranks last.
#[must_use]
pub fn max(objective: Objective<'_>) -> Criterion<'_> {
    Criterion::new(CriterionKind::Max(objective.directed(Direction::Highest)))
}

/// Minimises an objective. NaN ranks last.
#[must_use]
pub fn min(objective: Objective<'_>) -> Criterion<'_> {
    Criterion::new(CriterionKind::Min(objective.directed(Direction::Lowest)))
}

/// Maximises the sum of `f` over the ranks' devices: `max(Objective::devices(..))`.
///
/// # Examples
/// ```
/// use mapa_core::{Rules, criteria::most};
///
/// let policy = Rules::new("largest-first").prefer(most("compute slices", |s| s.device().size.map_or(0, |size| size.compute)));
/// # let _ = policy;
/// ```
pub fn most<'a, T: Into<f64>>(
    name: impl Into<Cow<'static, str>>,
    f: impl Fn(&Seat<'_>) -> T + Send + Sync + 'a,
) -> Criterion<'a> {
    max(Objective::devices(name, move |seat| f(seat).into()))
}

/// Minimises the sum of `f` over the ranks' devices: `min(Objective::devices(..))`.
pub fn least<'a, T: Into<f64>>(
    name: impl Into<Cow<'static, str>>,
    f: impl Fn(&Seat<'_>) -> T + Send + Sync + 'a,
) -> Criterion<'a> {
    min(Objective::devices(name, move |seat| f(seat).into()))
}

/// Prefers the set of devices that comes first when sets are compared as sorted lists of ids.
#[must_use]
pub fn lowest_ids() -> Criterion<'static> {
    Criterion::new(CriterionKind::LowestIds)
}

/// Rounds a value for comparison: drops the lowest twelve of its 52 bits, and turns NaN into the
/// lowest value. So the order in which a sum was added up decides only if the sum straddles a
/// rounding step. That is rare, and never happens for whole numbers.
pub(crate) fn settle(value: f64) -> f64 {
    const NOISE: u64 = 1 << 12;
    if value.is_nan() {
        return f64::NEG_INFINITY;
    }
    if !value.is_finite() {
        return value;
    }
    // Adding 0 turns -0 into 0, which `total_cmp` distinguishes.
    f64::from_bits((value.to_bits() + NOISE / 2) & !(NOISE - 1)) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_in_the_last_digits_is_settled() {
        assert_eq!(settle(0.1 + 0.2), settle(0.3));
        assert_eq!(settle(-0.0).to_bits(), settle(0.0).to_bits());
        assert_eq!(settle(f64::NAN), f64::NEG_INFINITY);
        assert!(settle(57.85) < settle(57.86));
    }

    #[test]
    fn steps_make_values_equal_and_keep_their_order() {
        let objective = || Objective::chosen("", |_| 0.0);
        let (up, down) = (
            max(objective()).in_steps_of(10.0),
            min(objective()).in_steps_of(10.0),
        );
        for (a, b) in [(23.0, 27.0), (-23.0, -27.0), (20.0, 29.9)] {
            assert_eq!(up.key(a), up.key(b));
            assert_eq!(down.key(a), down.key(b));
        }
        assert!(up.key(31.0) > up.key(27.0) && down.key(31.0) < down.key(27.0));
        assert_eq!(
            max(objective()).in_steps_of(0.1).key(0.1 + 0.2),
            3.0,
            "noise does not cross a step"
        );
        assert_eq!(max(objective()).in_steps_of(f64::NAN).key(1.5), 1.5);
        assert_eq!(up.key(f64::NAN), f64::NEG_INFINITY);
    }
}
