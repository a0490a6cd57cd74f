//! `pattern`: application graphs from programs, one source each.

mod answer;
mod from_nccl;
mod from_nvlink;
#[cfg(feature = "source")]
mod from_source;
mod show;

use crate::cli::{PatternArgs, PatternFrom};
use mapa_cli::Failure;
use mapa_cli::Output;

pub(crate) fn pattern(args: &PatternArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.from {
        PatternFrom::FromNvlink(args) => from_nvlink::from_nvlink(args, output),
        PatternFrom::FromNccl(args) => from_nccl::from_nccl(args, output),
        #[cfg(feature = "source")]
        PatternFrom::FromSource(args) => from_source::from_source(args, output),
        #[cfg(not(feature = "source"))]
        PatternFrom::FromSource(_) => crate::features::require("source", "pattern from-source"),
        PatternFrom::FromParallelism(args) => show::from_parallelism(args, output),
        PatternFrom::Show(args) => show::show(args, output),
    }
}
