//! The command line of a command that this build leaves out.

use clap::Args;

/// Any arguments, so that the answer is which feature is missing, and not which argument is
/// unknown.
#[derive(Args)]
pub(crate) struct LeftOut {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}
