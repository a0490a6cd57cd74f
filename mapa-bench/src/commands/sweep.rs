//! `sweep`.

use crate::cli::SweepArgs;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn sweep(_: &SweepArgs, _: &mut Output) -> Result<(), Failure> {
    Err(Failure::malformed("not yet"))
}
