//! `reproduce`: evaluations that anybody can run again, published ones and our own.
//!
//! An experiment is a row of [`EXPERIMENTS`] and a folder: it makes a [`Report`], and what becomes of that, text, JSON or files,
//! is the same for all. Nothing in it is fitted to the paper: where a published figure does not come out, the report says so.

use std::fs;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use serde_json::json;

use crate::cli::ReproduceArgs;
use crate::failure::Failure;
use crate::output::{Output, table};

mod claim;
mod foresight;
mod mapa;
mod pcie;
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
    /// How many job files it takes if nothing else is said, and the seed of the first.
    files: usize,
    seed: u64,
    run: fn(&Plan, &ProgressBar) -> Result<Report, Failure>,
}

/// Every experiment.
const EXPERIMENTS: [Experiment; 3] = [
    Experiment {
        name: mapa::NAME,
        paper: mapa::PAPER,
        covers: "Fig. 2b, 4, 5, 6, 11, 13, 15, 16, 18, 19 and Table 3, and where the paper contradicts itself",
        files: 60,
        seed: 1,
        run: mapa::run,
    },
    Experiment {
        name: foresight::NAME,
        paper: foresight::PAPER,
        covers: "foresight beside preserve on three machines, by two models of bandwidth, and what patience costs",
        files: 200,
        seed: 20_001,
        run: foresight::run,
    },
    Experiment {
        name: pcie::NAME,
        paper: pcie::PAPER,
        covers: "Fig. 1, 2 and 4 to 9, what the gain depends on, and where the paper contradicts itself",
        files: 50,
        seed: 30_001,
        run: pcie::run,
    },
];

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

/// What comes of every setting on every job file, each under all policies of the setting: by setting, by policy, by file. Which thread
/// runs what changes no number.
fn on_files<T: Send>(
    plan: &Plan,
    bar: &ProgressBar,
    settings: usize,
    one: impl Fn(usize, u64) -> Result<Vec<T>, Failure> + Sync,
) -> Result<Vec<Vec<Vec<T>>>, Failure> {
    let seeds: Vec<u64> = plan.seeds().collect();
    let tasks: Vec<(usize, u64)> = (0..settings).flat_map(|at| seeds.iter().map(move |&seed| (at, seed))).collect();
    bar.set_length(tasks.len() as u64);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(plan.threads).build().map_err(Failure::malformed)?;
    let task = |&(at, seed): &(usize, u64)| one(at, seed).inspect(|_| bar.inc(1));
    let done: Vec<Vec<T>> = pool.install(|| tasks.par_iter().map(task).collect::<Result<_, _>>())?;
    let mut done = done.into_iter();
    let mut by_policy = || {
        let mut of: Vec<Vec<T>> = Vec::new();
        for file in done.by_ref().take(seeds.len()) {
            of.resize_with(file.len(), Vec::new);
            of.iter_mut().zip(file).for_each(|(all, own)| all.push(own));
        }
        of
    };
    Ok((0..settings).map(|_| by_policy()).collect())
}

/// Fewer files than this make intervals that are not worth much.
const ENOUGH: usize = 50;

pub(crate) fn reproduce(args: &ReproduceArgs, output: &mut Output) -> Result<(), Failure> {
    let Some(name) = args.experiment.as_deref().filter(|_| !args.list) else { return list(output) };
    let known = || EXPERIMENTS.map(|own| own.name).join(", ");
    let experiment = EXPERIMENTS.iter().find(|own| own.name == name).ok_or_else(|| {
        Failure::malformed(format_args!("no experiment is called `{name}`: expected one of: {}", known()))
    })?;
    let plan = plan(args, experiment);
    if plan.files < 2 {
        return Err(Failure::malformed(
            "--files: expected at least 2, as an interval needs them, and 50 to be believed",
        ));
    }
    if plan.files < ENOUGH {
        output.warn(format_args!("intervals are over {} files: expected at least {ENOUGH}", plan.files));
    }
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

fn plan(args: &ReproduceArgs, experiment: &Experiment) -> Plan {
    let (files, seed) = (args.files.unwrap_or(experiment.files), args.seed.unwrap_or(experiment.seed));
    let there = std::thread::available_parallelism();
    let threads = args.threads.or(there.ok()).map_or(1, std::num::NonZeroUsize::get);
    let untimed = if args.untimed { " --untimed" } else { "" };
    let command = format!("mapa-bench reproduce {} --files {files} --seed {seed}{untimed}", experiment.name);
    Plan { files, seed, threads, timed: !args.untimed, command }
}

fn list(output: &mut Output) -> Result<(), Failure> {
    if output.json {
        let all = EXPERIMENTS.map(|own| {
            json!({
                "name": own.name, "paper": own.paper, "covers": own.covers, "files": own.files, "seed": own.seed,
            })
        });
        return output.object(&json!({ "experiments": all }));
    }
    let mut rows = table(["experiment", "paper", "covers", "files", "first seed"], [3, 4]);
    for own in &EXPERIMENTS {
        let [files, seed] = [own.files.to_string(), own.seed.to_string()];
        rows.add_row([own.name, own.paper, own.covers, &files, &seed]);
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
