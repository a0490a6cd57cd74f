//! `pattern`: application graphs from programs, one source each.

mod answer;
mod from_nccl;
mod from_nvlink;
#[cfg(feature = "source")]
mod from_source;

use mapa_front::commands::{ParallelismSource, PatternInput, PatternSource, WordSource};

use self::answer::{answer, request};
use crate::cli::{FromParallelism, PatternArgs, PatternFrom, ShowPattern};
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;

pub(crate) fn pattern(args: &PatternArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.from {
        PatternFrom::FromNvlink(args) => from_nvlink::from_nvlink(args, output),
        PatternFrom::FromNccl(args) => from_nccl::from_nccl(args, output),
        #[cfg(feature = "source")]
        PatternFrom::FromSource(args) => from_source::from_source(args, output),
        #[cfg(not(feature = "source"))]
        PatternFrom::FromSource(_) => crate::features::require("source", "pattern from-source"),
        PatternFrom::FromParallelism(args) => from_parallelism(args, output),
        PatternFrom::Show(args) => show(args, output),
    }
}

fn from_parallelism(args: &FromParallelism, output: &mut Output) -> Result<(), Failure> {
    let source = PatternSource::Parallelism(ParallelismSource {
        degrees: args.degrees.clone(),
        bytes: args.bytes.clone(),
        model: args.model.clone(),
    });
    let request = request(source, &args.write);
    let outcome = request.outcome(&LocalFiles, None, PatternInput::Files)?;
    answer(&outcome, Vec::new(), &args.write, output)
}

fn show(args: &ShowPattern, output: &mut Output) -> Result<(), Failure> {
    let source = PatternSource::Pattern(WordSource {
        pattern: args.pattern.clone(),
        gpus: args.gpus,
    });
    let request = request(source, &args.write);
    let outcome = request.outcome(&LocalFiles, None, PatternInput::Files)?;
    answer(&outcome, Vec::new(), &args.write, output)
}
