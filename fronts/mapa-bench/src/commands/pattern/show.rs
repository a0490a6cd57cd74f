//! `pattern from-parallelism` and `pattern show`: patterns from words or a file.

use mapa_core::{Dimension, ModelShape, Parallelism};
use mapa_patterns::{Application, Note};

use super::answer::{More, answer};
use crate::cli::{FromParallelism, ShowPattern};
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::Disk;
use mapa_front::job::job;

pub(super) fn from_parallelism(args: &FromParallelism, output: &mut Output) -> Result<(), Failure> {
    if !args.degrees.contains('=') {
        return Err(Failure::malformed(format_args!(
            "`{}`: expected degrees such as tp=4,pp=2",
            args.degrees
        )));
    }
    let degrees: Parallelism = args.degrees.parse()?;
    let model = args
        .model
        .as_deref()
        .map(str::parse::<ModelShape>)
        .transpose()?;
    let job = model.map_or(Ok(degrees), |model| degrees.with_bytes_of_model(&model))?;
    // `--bytes` comes last, so that it wins over the model's.
    let job = args
        .bytes
        .as_deref()
        .map_or(Ok(job), |bytes| job.with_bytes_of(bytes))?;
    let mut own = Application::from(job);
    // Bytes that neither option sets can be recognised in a job that starts with a value of its
    // own.
    let probe = with_all_bytes(degrees, PROBE)?;
    let probe = model.map_or(Ok(probe), |model| probe.with_bytes_of_model(&model))?;
    let probe = args
        .bytes
        .as_deref()
        .map_or(Ok(probe), |bytes| probe.with_bytes_of(bytes))?;
    own.notes.extend(assumed(&probe));
    if let Some(shape) = &args.model {
        own.source = format!("degrees of parallelism, and a model of {shape}");
    }
    answer(own, None, &args.write, More::default(), output)
}

pub(super) fn show(args: &ShowPattern, output: &mut Output) -> Result<(), Failure> {
    let own = application(&args.pattern, args.gpus)?;
    answer(own, None, &args.write, More::default(), output)
}

/// The application that a pattern describes.
fn application(words: &str, gpus: Option<usize>) -> Result<Application, Failure> {
    let job = job(words, None, gpus, &Disk)?;
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

/// A number of bytes that no user gives.
const PROBE: f64 = 0.123_456_789;

fn with_all_bytes(job: Parallelism, bytes: f64) -> Result<Parallelism, Failure> {
    Ok(Dimension::ALL
        .into_iter()
        .try_fold(job, |job, dimension| job.with_bytes(dimension, bytes))?)
}

/// A note on the dimensions whose bytes are assumed: those in which ranks communicate and the job
/// still has the bytes of [`PROBE`].
fn assumed(probe: &Parallelism) -> Option<Note> {
    let assumed: Vec<_> = Dimension::ALL
        .into_iter()
        .filter(|dimension| probe.group_size(*dimension) > 1 && probe.bytes(*dimension) == PROBE)
        .map(|dimension| dimension.letters())
        .collect();
    if assumed.is_empty() {
        return None;
    }
    Some(Note::assumed(format!(
        "{:e} bytes each for {}, as neither --bytes nor --model gives them: times and a verdict derived from them are \
         assumed too",
        Parallelism::BYTES,
        assumed.join(", ")
    )))
}
