//! The command line of `slo`.

use clap::{Parser, Subcommand};

const HELP: &str = "\
Examples:
  mapa-bench simulate --scheduler slo --jobs tenants.csv --log decisions.jsonl
  mapa-bench slo replay decisions.jsonl";

/// The arguments of `slo`.
#[derive(Parser)]
#[command(after_long_help = HELP)]
pub(crate) struct SloArgs {
    #[command(subcommand)]
    pub(crate) action: SloDo,
}

/// What is done with a log.
#[derive(Subcommand)]
pub(crate) enum SloDo {
    /// Make every decision of a log again, and say which are not the same bit for bit.
    Replay {
        /// The log, one JSON object a line; `-` is standard input.
        #[arg(value_name = "LOG|-")]
        log: String,
    },
}
