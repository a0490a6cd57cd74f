//! The words of `reproduce`.

use clap::Args;

pub(crate) const HELP: &str = "";

#[derive(Args)]
pub(crate) struct ReproduceArgs {}
