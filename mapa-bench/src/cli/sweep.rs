//! The words of `sweep`.

use clap::Args;

pub(crate) const HELP: &str = "";

#[derive(Args)]
pub(crate) struct SweepArgs {}
