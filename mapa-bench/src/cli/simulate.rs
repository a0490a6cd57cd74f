//! The words of `simulate`.

use clap::Args;

pub(crate) const HELP: &str = "";

#[derive(Args)]
pub(crate) struct SimulateArgs {}
