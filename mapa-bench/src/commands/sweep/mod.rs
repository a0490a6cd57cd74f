//! `sweep`: every combination of machines, workloads, schedulers, execution models and policies.
//!
//! A sweep is a list of cells that do not know each other. Each is kept in a file of its own as soon as it is there, and a
//! cell that has its file is not run again: so a killed sweep loses what was under way and no more, and parts of it can run
//! anywhere.

mod cell;
mod file;
mod plan;
mod results;
mod store;
mod values;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use serde_json::{Value, json};

use self::file::SweepFile;
use self::plan::{Cell, Plan};
use self::store::{Found, Store, what_is};
use crate::cli::{Shard, SweepArgs};
use crate::failure::Failure;
use crate::output::{Output, table};

/// So many of a kind are named, where all would be too many.
const NAMED: usize = 10;

pub(crate) fn sweep(args: &SweepArgs, output: &mut Output) -> Result<(), Failure> {
    let file = SweepFile::read(&args.file)?;
    let in_file = |failure| match failure {
        Failure::Malformed(what) => Failure::Malformed(format!("{}: {what}", args.file.display())),
        other => other,
    };
    let plan = Plan::new(&file, output).map_err(in_file)?;
    let cells: Vec<Cell<'_>> = plan.cells().collect();
    let Some(folder) = args.into.as_deref().filter(|_| !args.list) else { return list(args, &cells, output) };
    let store = Store::at(folder);
    let moved = store.renumber(&cells)?;
    if moved > 0 {
        output.warn(format_args!("{}: {moved} cells of this sweep have other numbers now: renamed", folder.display()));
    }
    clear(args, folder, &store, &cells, output)?;
    store.make()?;
    let done =
        if args.merge.is_empty() { run(args, &store, &cells, output) } else { gather(args, &store, &cells, output) }?;
    let report = finish(args, folder, &store, &cells, done, output)?;
    if output.json {
        output.object(&report.json(args, folder))?
    } else {
        report.print(output)?
    }
    report.verdict(args, output)
}

/// How many cells were there already, and how many have come.
#[derive(Default)]
struct Done {
    there: usize,
    new: usize,
    damaged: usize,
}

/// Refuses a folder that has cells of something else; deletes them, if that is wanted, with the results that have them.
fn clear(args: &SweepArgs, folder: &Path, store: &Store, cells: &[Cell<'_>], output: &Output) -> Result<(), Failure> {
    let strangers = store.strangers(cells)?;
    if strangers.is_empty() {
        return Ok(());
    }
    if args.discard {
        output.warn(format_args!("{}: {} cells of something else are deleted", folder.display(), strangers.len()));
        // Another process may be at it too.
        strangers.into_iter().chain(results_in(folder)).for_each(|path| drop(fs::remove_file(path)));
        return Ok(());
    }
    Err(foreign(&strangers, cells))
}

/// Says what is odd about a folder's cells, by the first of them.
fn foreign(strangers: &[PathBuf], cells: &[Cell<'_>]) -> Failure {
    let Some(first) = strangers.first() else { return Failure::malformed("no cells") };
    let has = what_is(first).unwrap_or_else(|| "nothing readable".to_owned());
    let index = first.file_name().and_then(|name| name.to_str()?.split('-').next()?.parse::<usize>().ok());
    let differs = match index.and_then(|index| cells.get(index)) {
        None => "the sweep has no cell of this number".to_owned(),
        Some(cell) if cell.to_string() == has => "its machine, jobs or version have changed since".to_owned(),
        Some(cell) => format!("the sweep's is {cell}"),
    };
    let (path, count) = (first.display(), strangers.len());
    Failure::malformed(format_args!(
        "{path} is of {has}, and {differs}; {count} such files: expected cells of this sweep only, another folder, \
         or --discard to delete those"
    ))
}

/// Runs the cells of the shard that are not there.
fn run(args: &SweepArgs, store: &Store, cells: &[Cell<'_>], output: &Output) -> Result<Done, Failure> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let mut done = Done::default();
    let mut left = Vec::new();
    for cell in cells.iter().filter(|cell| shard.has(cell.index)) {
        match store.find(cell, args.rows)? {
            Found::Whole(_) => done.there += 1,
            Found::Nothing => left.push(cell),
            Found::Damaged(what) => {
                output.warn(format_args!("{what}: run again"));
                done.damaged += 1;
                left.push(cell);
            }
        }
    }
    let threads = args.threads.map_or(0, |threads| threads.get());
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::malformed)?;
    let bar = progress(left.len(), output)?;
    let one = |cell: &&Cell<'_>| -> Result<usize, Failure> {
        // Another process may have been here meanwhile.
        let there = matches!(store.find(cell, args.rows)?, Found::Whole(_));
        if !there {
            store.keep(cell, &cell::run(cell, args.rows))?;
        }
        bar.inc(1);
        Ok(usize::from(!there))
    };
    // One at a time and in order, as nearly as threads can: what is killed has then lost the fewest.
    let new = pool.install(|| left.par_iter().with_max_len(1).map(one).try_reduce(|| 0, |a, b| Ok(a + b)));
    bar.finish_and_clear();
    done.new = new?;
    done.there += left.len() - done.new;
    Ok(done)
}

fn progress(cells: usize, output: &Output) -> Result<ProgressBar, Failure> {
    let target = if output.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(cells as u64), target);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} cells, {eta} left").map_err(Failure::malformed)?;
    bar.set_style(style);
    Ok(bar)
}

/// Takes over cells of other folders.
fn gather(args: &SweepArgs, store: &Store, cells: &[Cell<'_>], output: &Output) -> Result<Done, Failure> {
    let mut done = Done::default();
    let others: Vec<Store> = args.merge.iter().map(|folder| Store::at(folder)).collect();
    for (folder, other) in args.merge.iter().zip(&others) {
        if !folder.is_dir() {
            return Err(Failure::malformed(format_args!("{}: expected a folder that a sweep wrote", folder.display())));
        }
        let strangers = other.strangers(cells)?;
        if !strangers.is_empty() {
            return Err(foreign(&strangers, cells));
        }
    }
    for cell in cells {
        for (place, other) in [store].into_iter().chain(&others).enumerate() {
            match other.find(cell, args.rows)? {
                Found::Nothing => continue,
                Found::Damaged(what) => {
                    output.warn(format_args!("{what}: passed over"));
                    done.damaged += 1;
                    continue;
                }
                Found::Whole(_) if place == 0 => done.there += 1,
                Found::Whole(kept) => {
                    store.keep(cell, &kept)?;
                    done.new += 1;
                }
            }
            break;
        }
    }
    Ok(done)
}

/// What is said in the end.
struct Report {
    cells: usize,
    /// How many of them are this part's, if it is one.
    part: Option<usize>,
    done: Done,
    /// Numbers of cells, of all parts, that are not there.
    missing: Vec<usize>,
    /// Cells of this part that are there and have no numbers: which, and why.
    failed: Vec<(usize, String, String)>,
    written: Vec<PathBuf>,
    /// Results in the folder that are of fewer cells or of others.
    older: Vec<PathBuf>,
}

/// Looks at what there is now of all cells, and writes the results if nothing is missing.
fn finish(
    args: &SweepArgs,
    folder: &Path,
    store: &Store,
    cells: &[Cell<'_>],
    done: Done,
    output: &Output,
) -> Result<Report, Failure> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let (mut whole, mut missing, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for &cell in cells {
        match store.find(&cell, args.rows)? {
            Found::Whole(kept) => {
                if let Some(error) = kept.error.as_ref().filter(|_| shard.has(cell.index)) {
                    failed.push((cell.index, cell.to_string(), error.clone()));
                }
                whole.push((cell, kept));
            }
            Found::Nothing => missing.push(cell.index),
            Found::Damaged(what) => {
                output.warn(what);
                missing.push(cell.index);
            }
        }
    }
    let written = if missing.is_empty() { results::write(folder, &whole, args.rows)? } else { Vec::new() };
    let older = results_in(folder).filter(|path| !missing.is_empty() && path.exists()).collect();
    let part = args.shard.map(|shard| cells.iter().filter(|cell| shard.has(cell.index)).count());
    Ok(Report { cells: cells.len(), part, done, missing, failed, written, older })
}

/// Where results are, if there are any.
fn results_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = |name: &str| ["csv", "json", "parquet"].map(|extension| format!("{name}.{extension}"));
    ["results", "rows"].into_iter().flat_map(names).map(move |name| folder.join(name))
}

impl Report {
    fn json(&self, args: &SweepArgs, folder: &Path) -> Value {
        let failed =
            self.failed.iter().map(|(cell, what, error)| json!({ "cell": cell, "what": what, "error": error }));
        json!({
            "sweep": args.file.display().to_string(),
            "folder": folder.display().to_string(),
            "shard": args.shard.map(|shard| shard.to_string()),
            "cells": self.cells,
            "of_part": self.part,
            "there": self.done.there,
            (if args.merge.is_empty() { "ran" } else { "taken_over" }): self.done.new,
            "damaged": self.done.damaged,
            "missing": self.missing.len(),
            "failed": failed.collect::<Vec<_>>(),
            "results": self.written.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "older_results": self.older.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        })
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let Self { cells, part, done: Done { there, new, .. }, missing, failed, written, older } = self;
        let missing = missing.len();
        match part {
            None => output.line(format_args!("{cells} cells: {there} were there, {new} are new, {missing} missing"))?,
            Some(own) => {
                output.line(format_args!("{own} cells of this part: {there} were there, {new} are new"))?;
                output.line(format_args!(
                    "{cells} cells of all parts: {} are there, {missing} missing",
                    cells - missing
                ))?;
            }
        }
        for (cell, what, error) in failed.iter().take(NAMED) {
            output.line(format_args!("cell {cell} ({what}) failed: {error}"))?;
        }
        written.iter().try_for_each(|path| output.line(path.display()))?;
        if written.is_empty() {
            output.line("no results yet: they are written once every cell is in one folder")?;
        }
        for path in older {
            output.line(format_args!("{}: older, not of this sweep as it is now", path.display()))?;
        }
        Ok(())
    }

    /// An error, if a cell failed, or nothing came of a merge. A part has done its own once its cells were run, whatever came of
    /// them: to run it again, as clusters would, brings nothing.
    fn verdict(&self, args: &SweepArgs, output: &Output) -> Result<(), Failure> {
        if !args.merge.is_empty() && !self.missing.is_empty() {
            let named: Vec<String> = self.missing.iter().take(NAMED).map(ToString::to_string).collect();
            let more = if self.missing.len() > NAMED { ", .." } else { "" };
            let (missing, named) = (self.missing.len(), named.join(", "));
            return Err(Failure::Answered(format!(
                "{missing} cells are in none of the folders: {named}{more}; expected all, so that the results can be written"
            )));
        }
        let failed = self.failed.len();
        let what = format!("{failed} of {} cells failed: see column `error`", self.part.unwrap_or(self.cells));
        match (failed, self.part) {
            (0, _) => Ok(()),
            (_, Some(_)) => {
                output.warn(what);
                Ok(())
            }
            (_, None) => Err(Failure::Answered(what)),
        }
    }
}

/// Lists the cells.
fn list(args: &SweepArgs, cells: &[Cell<'_>], output: &mut Output) -> Result<(), Failure> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let store = args.into.as_deref().map(Store::at);
    let is_there = |cell: &Cell<'_>| match &store {
        Some(store) => store.find(cell, args.rows).map(|found| Some(matches!(found, Found::Whole(_)))),
        None => Ok(None),
    };
    let mut lines = Vec::new();
    let mut rows = table(["cell", "machine", "workload", "scheduler", "execution", "policy", "finished"], [0]);
    for cell in cells.iter().filter(|cell| shard.has(cell.index)) {
        let there = is_there(cell)?;
        let Cell { index, machine, jobs, scheduler, execution, policy, .. } = *cell;
        lines.push(json!({
            "cell": index, "machine": machine, "workload": jobs.word, "seed": jobs.seed, "scheduler": scheduler,
            "execution": execution, "policy": policy, "finished": there,
        }));
        let there = there.map_or("", |there| if there { "yes" } else { "no" });
        rows.add_row([&index.to_string(), machine, &jobs.to_string(), scheduler, execution, policy, there]);
    }
    if output.json {
        return output.object(&json!({ "cells": cells.len(), "listed": lines }));
    }
    output.line(&rows)?;
    output.line(format_args!("{} of {} cells", lines.len(), cells.len()))
}
