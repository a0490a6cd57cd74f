//! Heuristics for instances of different sizes, by the sizes of the free ones.

use super::rules::Rules;
use crate::mig::Size;
use crate::optimum::{least, most};
use crate::score::Seat;

fn compute_slices(seat: &Seat<'_>) -> u8 {
    seat.device().size.map_or(0, |size| size.compute)
}

/// Largest-first: the free instance with most compute slices.
#[must_use]
pub fn largest_first() -> Rules<'static> {
    Rules::new("largest-first").prefer(most("compute slices", compute_slices).blind_to_ids())
}

/// Smallest-first: the free instance with fewest compute slices.
#[must_use]
pub fn smallest_first() -> Rules<'static> {
    Rules::new("smallest-first").prefer(least("compute slices", compute_slices).blind_to_ids())
}

/// Earliest finish: the free instance with the shortest run time of the job. `run_time` gives the
/// run time on each size, in any unit. An instance without a run time (NaN, or a device of unknown
/// size) comes last. If run times never grow with size, the choice is that of [`largest_first`],
/// ties in run time aside.
///
/// # Examples
/// ```
/// use mapa_core::{earliest_finish, mig::Size};
///
/// // A job that gains nothing beyond three slices.
/// let policy = earliest_finish(|size: Size| 60.0 / f64::from(size.compute.min(3)));
/// # let _ = policy;
/// ```
#[must_use]
pub fn earliest_finish<'a>(run_time: impl Fn(Size) -> f64 + Send + Sync + 'a) -> Rules<'a> {
    Rules::new("earliest-finish").prefer(
        least("run time", move |seat| {
            seat.device().size.map_or(f64::NAN, &run_time)
        })
        .blind_to_ids(),
    )
}
