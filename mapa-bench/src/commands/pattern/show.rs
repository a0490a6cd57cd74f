//! Patterns that are known already: by words, degrees of parallelism or a file.

use mapa_core::{ModelShape, Parallelism};
use mapa_patterns::Application;
use serde_json::Map;

use super::answer;
use crate::cli::{FromParallelism, ShowPattern};
use crate::failure::Failure;
use crate::job::job;
use crate::output::Output;

pub(super) fn from_parallelism(args: &FromParallelism, output: &mut Output) -> Result<(), Failure> {
    if !args.degrees.contains('=') {
        return Err(Failure::malformed(format_args!("`{}`: expected degrees such as tp=4,pp=2", args.degrees)));
    }
    let degrees: Parallelism = args.degrees.parse()?;
    let model = args.model.as_deref().map(str::parse::<ModelShape>).transpose()?;
    let job = model.map_or(Ok(degrees), |model| degrees.with_bytes_of_model(&model))?;
    let job = args.bytes.as_deref().map_or(Ok(job), |bytes| job.with_bytes_of(bytes))?;
    let mut own = Application::from(job);
    if let Some(shape) = &args.model {
        own.source = format!("degrees of parallelism, and a model of {shape}");
    }
    answer(own, None, &args.write, Default::default(), output)
}

pub(super) fn show(args: &ShowPattern, output: &mut Output) -> Result<(), Failure> {
    show_words(&args.pattern, args.gpus)
        .and_then(|own| answer(own, None, &args.write, (Map::new(), Vec::new()), output))
}

fn show_words(words: &str, gpus: Option<usize>) -> Result<Application, Failure> {
    let job = job(words, None, gpus)?;
    Ok(match (job.application, job.parallel) {
        (Some(application), _) => application,
        (None, Some(parallel)) => parallel.into(),
        (None, None) => Application::new(words, "given by words", job.pattern),
    })
}
