//! Numbers that JSON can write.

/// A number; `None`, which becomes null, for NaN and infinities.
pub(crate) fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
