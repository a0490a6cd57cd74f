//! `reproduce`: published evaluations, run again.
//!
//! An experiment is a row of [`EXPERIMENTS`] and a folder: it makes a [`Report`], and what becomes of that, text, JSON or files,
//! is the same for all. Nothing in it is fitted to the paper: where a published figure does not come out, the report says so.

use std::fs;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::cli::ReproduceArgs;
use crate::failure::Failure;
use crate::output::{Output, table};

mod claim;
mod mapa;
mod picture;
mod report;

use report::Report;

/// An evaluation that can be run again.
struct Experiment {
    name: &'static str,
    /// Which paper.
    paper: &'static str,
    /// What of it.
    covers: &'static str,
    run: fn(&Plan, &ProgressBar) -> Result<Report, Failure>,
}

/// Every experiment.
const EXPERIMENTS: [Experiment; 1] = [Experiment {
    name: mapa::NAME,
    paper: mapa::PAPER,
    covers: "Fig. 2b, 4, 5, 6, 11, 13, 15, 16, 18, 19 and Table 3, and where the paper contradicts itself",
    run: mapa::run,
}];

/// What is to be run.
struct Plan {
    files: usize,
    seed: u64,
    threads: usize,
    timed: bool,
    /// The command that runs it again.
    command: String,
}

impl Plan {
    /// The seeds of the job files.
    fn seeds(&self) -> impl ExactSizeIterator<Item = u64> + Clone + use<> {
        let first = self.seed;
        (0..self.files).map(move |file| first.wrapping_add(file as u64))
    }
}

/// Fewer files than this make intervals that are not worth much.
const ENOUGH: usize = 50;

pub(crate) fn reproduce(args: &ReproduceArgs, output: &mut Output) -> Result<(), Failure> {
    let Some(name) = args.experiment.as_deref().filter(|_| !args.list) else { return list(output) };
    let known = || EXPERIMENTS.map(|own| own.name).join(", ");
    let experiment = EXPERIMENTS.iter().find(|own| own.name == name).ok_or_else(|| {
        Failure::malformed(format_args!("no experiment is called `{name}`: expected one of: {}", known()))
    })?;
    if args.files < 2 {
        return Err(Failure::malformed(
            "--files: expected at least 2, as an interval needs them, and 50 to be believed",
        ));
    }
    if args.files < ENOUGH {
        output.warn(format_args!("intervals are over {} files: expected at least {ENOUGH}", args.files));
    }
    let plan = plan(args, name);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").map_err(Failure::malformed)?);
    let report = (experiment.run)(&plan, &bar);
    bar.finish_and_clear();
    let report = report?;
    if output.json {
        output.object(&report.json())?
    } else if args.into.is_some() {
        output.line(report.summary())?
    } else {
        output.line(report.text())?
    }
    let Some(folder) = &args.into else { return Ok(()) };
    let written = write(&report, folder)?;
    if output.json {
        return Ok(());
    }
    output.line("")?;
    written.iter().try_for_each(|file| output.line(format_args!("written   {file}")))
}

fn plan(args: &ReproduceArgs, name: &str) -> Plan {
    let there = std::thread::available_parallelism();
    let threads = args.threads.or(there.ok()).map_or(1, std::num::NonZeroUsize::get);
    let untimed = if args.untimed { " --untimed" } else { "" };
    let command = format!("mapa-bench reproduce {name} --files {} --seed {}{untimed}", args.files, args.seed);
    Plan { files: args.files, seed: args.seed, threads, timed: !args.untimed, command }
}

fn list(output: &mut Output) -> Result<(), Failure> {
    if output.json {
        let all = EXPERIMENTS.map(|own| json!({ "name": own.name, "paper": own.paper, "covers": own.covers }));
        return output.object(&json!({ "experiments": all }));
    }
    let mut rows = table(["experiment", "paper", "covers"], []);
    for own in &EXPERIMENTS {
        rows.add_row([own.name, own.paper, own.covers]);
    }
    output.line(rows)
}

/// Writes the files that every experiment has: `NAME.md`, and beside it in the folder `NAME` all others.
fn write(report: &Report, folder: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |path: &Path, error: std::io::Error| Failure::malformed(format_args!("{}: {error}", path.display()));
    let beside = folder.join(report.name);
    fs::create_dir_all(&beside).map_err(|error| wrong(&beside, error))?;
    let numbers = serde_json::to_string(&report.json()).map_err(Failure::malformed)? + "\n";
    let mut files = vec![(folder.join(format!("{}.md", report.name)), report.markdown())];
    files.push((beside.join("claims.csv"), report.csv()?));
    files.push((beside.join("results.json"), numbers));
    files.extend(report.pictures().map(|(name, svg)| (beside.join(name), svg)));
    for (path, text) in &files {
        fs::write(path, text).map_err(|error| wrong(path, error))?;
    }
    Ok(files.into_iter().map(|(path, _)| path.display().to_string()).collect())
}
