//! Patterns that are known already: by words, degrees of parallelism or a file.

use mapa_core::{Dimension, ModelShape, Parallelism};
use mapa_patterns::{Application, Note};
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
    // A job of other bytes tells which were told.
    let probe = with_all_bytes(degrees, PROBE)?;
    let probe = model.map_or(Ok(probe), |model| probe.with_bytes_of_model(&model))?;
    let probe = args.bytes.as_deref().map_or(Ok(probe), |bytes| probe.with_bytes_of(bytes))?;
    own.notes.extend(assumed(&probe));
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
        (None, Some(parallel)) => {
            let note = assumed(&with_all_bytes(parallel, PROBE)?);
            let mut own = Application::from(parallel);
            own.notes.extend(note);
            own
        }
        (None, None) => Application::new(words, "given by words", job.pattern),
    })
}

/// Bytes that nobody tells.
const PROBE: f64 = 0.123_456_789;

fn with_all_bytes(job: Parallelism, bytes: f64) -> Result<Parallelism, Failure> {
    Ok(Dimension::ALL.into_iter().try_fold(job, |job, dimension| job.with_bytes(dimension, bytes))?)
}

/// What says that bytes are made up, of the dimensions in which ranks talk and this job has the bytes that nobody tells.
fn assumed(probe: &Parallelism) -> Option<Note> {
    let is_made_up = |own: &Dimension| probe.group_size(*own) > 1 && probe.bytes(*own) == PROBE;
    let own: Vec<_> = Dimension::ALL.into_iter().filter(is_made_up).map(|own| own.letters()).collect();
    let what = "as neither --bytes nor --model tells them: times and a verdict that follow from them are assumed too";
    (!own.is_empty())
        .then(|| Note::assumed(format!("{:e} bytes each for {}, {what}", Parallelism::BYTES, own.join(", "))))
}
