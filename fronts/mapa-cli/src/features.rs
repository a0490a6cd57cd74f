//! Parts of a program that a build can leave out.

use crate::failure::Failure;

/// Checks that this build has the feature that a command or option needs: `is_there` is
/// `cfg!(feature = ..)`, which only the crate of the feature can ask.
///
/// # Errors
/// If the build leaves it out: names the feature.
pub fn require(is_there: bool, feature: &str, what: &str) -> Result<(), Failure> {
    if is_there {
        return Ok(());
    }
    Err(Failure::at(
        what,
        format_args!("not in this build: expected a build with --features {feature}"),
    ))
}
