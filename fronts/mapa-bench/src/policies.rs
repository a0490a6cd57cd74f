//! The names of policies.

use mapa_core::BuiltIn;
use mapa_topologies::policies::BUILT_IN;

/// The policy for patterns whose edges have a known time: a training job, or a file with bytes. It
/// needs the job, so it is not among [`policies`].
pub(crate) const MIN_STEP_TIME: &str = "min-step-time";

/// What [`MIN_STEP_TIME`] does, for help texts.
pub(crate) const MIN_STEP_TIME_SUMMARY: &str =
    "the least communication time, for a pattern such as tp=4,pp=2 or a pattern file in bytes";

/// The built-in policies: MAPA's, then those of vendors' device plugins.
pub(crate) fn policies() -> impl Iterator<Item = BuiltIn> {
    BuiltIn::ALL.into_iter().chain(BUILT_IN)
}
