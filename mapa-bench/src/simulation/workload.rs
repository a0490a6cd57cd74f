//! The workload that the words of the command line mean.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use clap::Args;
use mapa_sim::{Generator, RunTimes, Selection, TraceKind, Workload, read_jobs, read_run_times, read_trace_part};

use crate::failure::Failure;

/// Which jobs. Without any of these, `--generate mapa`.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkloadArgs {
    /// Jobs from a file, MAPA's or our own (docs/job-files.md); - is standard input.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["trace", "generate"])]
    pub(crate) jobs: Option<String>,
    /// Jobs from the log of a real cluster: alibaba-openb, gavel-philly or tiresias; its header tells, if no KIND does.
    #[arg(long, value_name = "[KIND=]FILE|-", conflicts_with = "generate")]
    pub(crate) trace: Option<String>,
    /// Which jobs of the trace, and what is assumed of them: such as first=1000,max-gpus=8,vc=23dbec,compress=10.
    #[arg(long, value_name = "WORDS", requires = "trace")]
    pub(crate) select: Option<String>,
    /// Jobs that are drawn: mapa, mapa-six or mapa-released, and what is different, such as
    /// mapa,jobs=1000,arrivals=poisson:120/h,times=lognormal:60s:1.5.
    #[arg(long, value_name = "WORDS")]
    pub(crate) generate: Option<String>,
    /// Draw run times from a file of them, one a line under the header runtime_s.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["jobs", "trace"])]
    pub(crate) run_times: Option<String>,
    /// The seed of what is drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// All jobs there from the beginning, whatever their arrivals: as MAPA's released simulator has it.
    #[arg(long)]
    pub(crate) at_once: bool,
}

/// The workload that is meant; its source names the file, or the generator and its seed.
pub(crate) fn workload(args: &WorkloadArgs) -> Result<Workload, Failure> {
    let workload = match (&args.jobs, &args.trace) {
        (Some(file), _) => of_file(file, &read_jobs)?,
        (_, Some(words)) => trace(words, args.select.as_deref().unwrap_or_default())?,
        _ => drawn(args)?,
    };
    Ok(if args.at_once { workload.all_at_once() } else { workload })
}

/// The workload that a generator's words mean, drawn from this seed.
pub(crate) fn generated(words: &str, seed: u64) -> Result<Workload, Failure> {
    words.parse::<Generator>().and_then(|generator| generator.generate(seed)).map_err(Failure::malformed)
}

fn drawn(args: &WorkloadArgs) -> Result<Workload, Failure> {
    let words = args.generate.as_deref().unwrap_or("mapa");
    let Some(file) = &args.run_times else { return generated(words, args.seed) };
    let mut generator: Generator = words.parse().map_err(Failure::malformed)?;
    let times = read_run_times(&text(file)?).map_err(|error| wrong(file, &error))?;
    generator.run_times = RunTimes::Empirical(times.into());
    let mut workload = generator.generate(args.seed).map_err(Failure::malformed)?;
    workload.source.push_str(&format!(", run times of {file}"));
    Ok(workload)
}

/// `[KIND=]FILE`, and which part of it.
fn trace(words: &str, select: &str) -> Result<Workload, Failure> {
    let (kind, file) = match words.split_once('=') {
        Some((kind, file)) if !Path::new(words).exists() => (Some(kind), file),
        _ => (None, words),
    };
    let selection: Selection = select.parse().map_err(|error| Failure::malformed(format_args!("--select: {error}")))?;
    let kind: Option<TraceKind> = kind.map(str::parse).transpose().map_err(Failure::malformed)?;
    of_file(file, &|text| {
        let kind = kind.map_or_else(|| TraceKind::recognise(text), Ok)?;
        read_trace_part(kind, text, &selection)
    })
}

fn of_file(file: &str, read: &dyn Fn(&str) -> Result<Workload, mapa_sim::Error>) -> Result<Workload, Failure> {
    let mut workload = read(&text(file)?).map_err(|error| wrong(file, &error))?;
    let name = if file == "-" { "standard input" } else { file };
    workload.source = format!("{}, {name}", workload.source);
    Ok(workload)
}

/// What is in a file, or `-`: it is text.
fn text(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = match file {
        "-" => io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        _ => fs::read(file),
    };
    let bytes = read.map_err(|error| wrong(file, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        wrong(file, &format_args!("line {line}: expected text in UTF-8"))
    })
}

fn wrong(file: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::malformed(format_args!("{file}: {error}"))
}
