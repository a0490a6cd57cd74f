//! `reproduce`: repeats evaluations, published ones and our own. The experiments are rows that systems bring.

use std::path::Path;

use mapa_front::answer::report::{self as answer, Experiments};
use mapa_front::text::table;
use mapa_front::{FileKind, Files as _};
use mapa_lab::{ENOUGH, Experiment, GivenRows, Plan, Progress, Report};

use crate::cli::ReproduceArgs;
use crate::systems::EXPERIMENTS;
use mapa_cli::Failure;
use mapa_cli::files::{self, LocalFiles, make_folder};
use mapa_cli::{Bar, Output, in_order, progress};

/// A progress bar that an experiment moves.
struct ExperimentBar<'a>(&'a Bar);

impl Progress for ExperimentBar<'_> {
    fn tasks(&self, number: u64) {
        self.0.set_length(number);
    }

    fn more(&self, number: u64) {
        self.0.add_length(number);
    }

    fn done(&self) {
        self.0.step();
    }

    fn doing(&self, what: &str) {
        self.0.say(what);
    }
}

pub(crate) fn reproduce(args: &ReproduceArgs, output: &mut Output) -> Result<(), Failure> {
    let Some(name) = args.experiment.as_deref().filter(|_| !args.list) else {
        return list(output);
    };
    let experiment = Experiment::named(EXPERIMENTS, name)?;
    let plan = plan(args, &experiment)?;
    // Whether the plan can be run is reported before a doubt about it.
    // One file has no interval, and an experiment of no files draws no jobs.
    if plan.files < ENOUGH && plan.files > 1 {
        output.warn(format_args!(
            "intervals are over {} files: expected at least {ENOUGH}",
            plan.files
        ));
    }
    if plan.rows.is_some() && !experiment.reads_rows {
        let readers = EXPERIMENTS.iter().filter(|row| row.reads_rows);
        let readers: Vec<&str> = readers.map(|row| row.name).collect();
        return Err(Failure::malformed(format_args!(
            "--rows is for the experiment {}: expected that, or no --rows",
            readers.join(" or ")
        )));
    }
    let bar = progress(0, "tasks", "{bar:30} {pos}/{len} {msg}", output)?;
    let report = experiment.run(&plan, &ExperimentBar(&bar));
    bar.clear();
    let report = report?;
    if output.json {
        output.object(&report.answer())?
    // The whole report is in the files then.
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
fn plan(args: &ReproduceArgs, experiment: &Experiment) -> Result<Plan, Failure> {
    let files = args.files.unwrap_or(experiment.files);
    let seed = args.seed.unwrap_or(experiment.seed);
    let threads = args
        .threads
        .or(std::thread::available_parallelism().ok())
        .map_or(1, std::num::NonZeroUsize::get);
    let untimed = if args.untimed { " --untimed" } else { "" };
    let rows = args.rows.as_deref().map(given_rows).transpose()?;
    // An experiment of 0 files draws no jobs, so neither files nor seed are part of its command.
    let drawn = match (experiment.files, &rows) {
        (0, None) => String::new(),
        (0, Some(rows)) => format!(" --rows {}", rows.name),
        _ => format!(" --files {files} --seed {seed}"),
    };
    let command = format!("mapa-bench reproduce {}{drawn}{untimed}", experiment.name);
    Ok(Plan {
        files,
        seed,
        threads,
        timed: !args.untimed,
        command,
        rows,
    })
}

/// Rows of a file, with the files beside it and in the folder `topologies` there.
fn given_rows(path: &Path) -> Result<GivenRows, Failure> {
    let name = path.display().to_string();
    let mut given = GivenRows {
        rows: LocalFiles.text(&name, FileKind::Table)?,
        name,
        topologies: std::collections::BTreeMap::new(),
    };
    // The parent of a bare name is empty, and no folder is called so.
    let beside = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    for folder in [beside.to_path_buf(), beside.join("topologies")] {
        // The rows may name no topology, so a folder that is missing is no error. A topology that a row names and
        // that is not found is reported with that row.
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.extension().is_some_and(|text| text == "txt") && path.is_file() {
                let bytes = LocalFiles.bytes(&path.display().to_string(), FileKind::Machine)?;
                given.topologies.insert(name, bytes);
            }
        }
    }
    Ok(given)
}

/// Prints every experiment.
fn list(output: &mut Output) -> Result<(), Failure> {
    if output.json {
        let experiments = EXPERIMENTS.iter().map(|experiment| answer::Experiment {
            name: experiment.name.to_owned(),
            paper: experiment.paper.to_owned(),
            covers: experiment.covers.to_owned(),
            files: experiment.files,
            seed: experiment.seed,
        });
        return output.object(&Experiments {
            experiments: experiments.collect(),
        });
    }
    let mut rows = table(
        ["experiment", "paper", "covers", "files", "first seed"],
        [3, 4],
    );
    for experiment in EXPERIMENTS {
        let [files, seed] = [experiment.files.to_string(), experiment.seed.to_string()];
        rows.add_row([
            experiment.name,
            experiment.paper,
            experiment.covers,
            &files,
            &seed,
        ]);
    }
    output.line(rows)
}

/// Writes the report as `NAME.md`, and all other files into the folder `NAME` beside it. Returns
/// the paths.
fn write(report: &Report, folder: &Path) -> Result<Vec<String>, Failure> {
    let beside = folder.join(report.name);
    make_folder(&beside)?;
    let numbers = format!("{}\n", in_order(&report.answer())?);
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
