//! `reproduce`: repeats evaluations, published ones and our own.
//!
//! An experiment is a row of [`EXPERIMENTS`] and a folder. It makes a [`Report`], which is then
//! printed or written in the same way for all experiments. Nothing is fitted to a paper: where a
//! published figure is not reproduced, the report says so.

use std::path::Path;

use indicatif::ProgressBar;
use serde_json::json;

use crate::cli::ReproduceArgs;
use crate::failure::Failure;
use crate::files::{self, make_folder};
use crate::output::{Output, progress};
use mapa_front::text::table;

mod claim;
mod foresight;
mod mapa;
mod pcie;
mod picture;
mod plan;
mod report;

use plan::Plan;
use report::Report;

/// An evaluation that can be repeated.
struct Experiment {
    name: &'static str,
    /// The paper it repeats.
    paper: &'static str,
    /// Which parts of the paper.
    covers: &'static str,
    /// The default number of job files.
    files: usize,
    /// The default seed of the first job file.
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

/// The fewest job files for intervals to rely on. With fewer, a warning is printed.
const ENOUGH: usize = 50;

pub(crate) fn reproduce(args: &ReproduceArgs, output: &mut Output) -> Result<(), Failure> {
    let Some(name) = args.experiment.as_deref().filter(|_| !args.list) else {
        return list(output);
    };
    let experiment = EXPERIMENTS
        .iter()
        .find(|own| own.name == name)
        .ok_or_else(|| {
            Failure::malformed(format_args!(
                "no experiment is called `{name}`: expected one of: {}",
                EXPERIMENTS.map(|own| own.name).join(", ")
            ))
        })?;
    let plan = plan(args, experiment);
    if plan.files < 2 {
        return Err(Failure::malformed(
            "--files: expected at least 2, as an interval needs them, and 50 to be believed",
        ));
    }
    if plan.files < ENOUGH {
        output.warn(format_args!(
            "intervals are over {} files: expected at least {ENOUGH}",
            plan.files
        ));
    }
    let bar = progress(0, "{bar:30} {pos}/{len} {msg}", output)?;
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
    let Some(folder) = &args.into else {
        return Ok(());
    };
    let written = write(&report, folder)?;
    if output.json {
        return Ok(());
    }
    output.line("")?;
    written
        .iter()
        .try_for_each(|file| output.line(format_args!("written   {file}")))
}

/// Fills in the experiment's defaults.
fn plan(args: &ReproduceArgs, experiment: &Experiment) -> Plan {
    let files = args.files.unwrap_or(experiment.files);
    let seed = args.seed.unwrap_or(experiment.seed);
    let threads = args
        .threads
        .or(std::thread::available_parallelism().ok())
        .map_or(1, std::num::NonZeroUsize::get);
    let untimed = if args.untimed { " --untimed" } else { "" };
    let command = format!(
        "mapa-bench reproduce {} --files {files} --seed {seed}{untimed}",
        experiment.name
    );
    Plan {
        files,
        seed,
        threads,
        timed: !args.untimed,
        command,
    }
}

/// Prints every experiment.
fn list(output: &mut Output) -> Result<(), Failure> {
    if output.json {
        let all = EXPERIMENTS.map(|own| {
            json!({
                "name": own.name,
                "paper": own.paper,
                "covers": own.covers,
                "files": own.files,
                "seed": own.seed,
            })
        });
        return output.object(&json!({ "experiments": all }));
    }
    let mut rows = table(
        ["experiment", "paper", "covers", "files", "first seed"],
        [3, 4],
    );
    for own in &EXPERIMENTS {
        let [files, seed] = [own.files.to_string(), own.seed.to_string()];
        rows.add_row([own.name, own.paper, own.covers, &files, &seed]);
    }
    output.line(rows)
}

/// Writes the report as `NAME.md`, and all other files into the folder `NAME` beside it. Returns
/// the paths.
fn write(report: &Report, folder: &Path) -> Result<Vec<String>, Failure> {
    let beside = folder.join(report.name);
    make_folder(&beside)?;
    let numbers = serde_json::to_string(&report.json()).map_err(Failure::malformed)? + "\n";
    let mut written = vec![(
        folder.join(format!("{}.md", report.name)),
        report.markdown(),
    )];
    written.push((beside.join("claims.csv"), report.csv()?));
    written.push((beside.join("results.json"), numbers));
    written.extend(
        report
            .pictures()
            .map(|(name, svg)| (beside.join(name), svg)),
    );
    for (path, text) in &written {
        files::write(path, text)?;
    }
    Ok(written
        .into_iter()
        .map(|(path, _)| path.display().to_string())
        .collect())
}
