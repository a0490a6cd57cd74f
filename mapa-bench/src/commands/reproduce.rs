//! `reproduce`.

use crate::cli::ReproduceArgs;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn reproduce(_: &ReproduceArgs, _: &mut Output) -> Result<(), Failure> {
    Err(Failure::malformed("not yet"))
}
