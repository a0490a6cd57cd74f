//! `simulate`.

use crate::cli::SimulateArgs;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn simulate(_: &SimulateArgs, _: &mut Output) -> Result<(), Failure> {
    Err(Failure::malformed("not yet"))
}
