//! `sweep`: every combination of machines, workloads, schedulers, execution models and policies.
//!
//! A sweep is a list of independent cells. Each is written to a file of its own as soon as it is
//! finished, and a cell that has a file is not run again. So a killed sweep loses only the cells
//! that were running, and its parts can run anywhere.

mod results;
mod store;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};

use mapa_front::answer::Streamed;
use mapa_front::answer::sweep::{FailedCell, RowsOf, Sweep, SweepCells};
use mapa_front::commands::{SweepPlan, SweepPoint, SweepRequest, SweepRows, SweepTables};
use mapa_sim::Table;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use self::store::{CellState, CellStore, number, what_is};
use crate::cli::{Shard, SweepArgs};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::files::{LocalFiles, text};
use mapa_cli::{Output, in_order, progress, time_limit};
use mapa_front::FileKind;
use mapa_front::text::table;

/// The most rows of a table of cells.
const TABLE_ROWS: usize = 5000;

/// The most cells that a message names.
const NAMED: usize = 10;

pub(crate) fn sweep(args: &SweepArgs, output: &mut Output) -> Result<(), Failure> {
    let plan = plan(args, output)?;
    let cells: Vec<SweepPoint<'_>> = plan.cells().collect();
    let Some(folder) = args.into.as_deref().filter(|_| !args.list) else {
        return list(args, &cells, output);
    };
    let store = CellStore::at(folder);
    // Cells get their new numbers before foreign cells are looked for: under an old number a cell would be
    // taken for one.
    let moved = store.renumber(&cells)?;
    if moved > 0 {
        output.warn(format_args!(
            "{}: {moved} cells of this sweep had other numbers: renamed",
            folder.display()
        ));
    }
    clear(args, folder, &store, &cells, output)?;
    store.make()?;
    let done = if args.merge.is_empty() {
        run(args, &store, &cells, output)
    } else {
        gather(args, &store, &cells, output)
    }?;
    let report = finish(args, folder, &store, &cells, done, output)?;
    if output.json {
        output.object(&report.answer(args, folder))?
    } else {
        report.print(output)?
    }
    report.verdict(args, output)
}

/// The cells of the sweep file. All that it names is read.
fn plan(args: &SweepArgs, output: &Output) -> Result<SweepPlan, Failure> {
    let place = args.file.display();
    let text = text(&place.to_string(), FileKind::Settings)?;
    let warn = &mut |warning: String| output.warn(warning);
    let plan = SweepRequest::from_toml(&text)
        .and_then(|request| SweepPlan::new(&NAMES, &LocalFiles, &request, warn));
    Ok(plan.map_err(|error| error.within(&place))?)
}

/// How many cells existed already, how many are new, and how many were damaged.
#[derive(Default)]
struct CellsDone {
    there: usize,
    new: usize,
    damaged: usize,
}

/// Checks that a folder has only cells of this sweep. With `--discard`, deletes the others and the
/// results that contain them.
fn clear(
    args: &SweepArgs,
    folder: &Path,
    store: &CellStore,
    cells: &[SweepPoint<'_>],
    output: &Output,
) -> Result<(), Failure> {
    let strangers = store.strangers(cells)?;
    if strangers.is_empty() {
        return Ok(());
    }
    if args.discard {
        output.warn(format_args!(
            "{}: {} cells that are not of this sweep are deleted",
            folder.display(),
            strangers.len()
        ));
        // The results go too: they are of the cells that are deleted.
        for path in strangers.into_iter().chain(results_in(folder)) {
            // Fails if another process of the sweep has deleted it already.
            let _ = fs::remove_file(path);
        }
        return Ok(());
    }
    Err(foreign(&strangers, cells))
}

/// The error for cells that are not of this sweep. It describes the first of them.
fn foreign(strangers: &[PathBuf], cells: &[SweepPoint<'_>]) -> Failure {
    let Some(first) = strangers.first() else {
        return Failure::malformed("no cells");
    };
    let has = what_is(first).unwrap_or_else(|| "nothing readable".to_owned());
    let index = first.file_name().and_then(|name| number(name.to_str()?));
    let differs = match index.and_then(|index| cells.get(index)) {
        None => "the sweep has no cell of this number".to_owned(),
        Some(cell) if cell.to_string() == has => {
            "its machine, jobs or version have changed since".to_owned()
        }
        Some(cell) => format!("the sweep's cell of this number is {cell}"),
    };
    let (path, count) = (first.display(), strangers.len());
    Failure::malformed(format_args!(
        "{path} contains {has}, and {differs}; {count} such files: expected cells of this sweep only, another folder, \
         or --discard to delete those"
    ))
}

/// Runs the missing cells of the shard.
fn run(
    args: &SweepArgs,
    store: &CellStore,
    cells: &[SweepPoint<'_>],
    output: &Output,
) -> Result<CellsDone, Failure> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let mut done = CellsDone::default();
    let mut left = Vec::new();
    for cell in cells.iter().filter(|cell| shard.has(cell.index)) {
        match store.find(cell, args.rows)? {
            CellState::Whole(_) => done.there += 1,
            CellState::Nothing => left.push(cell),
            CellState::Damaged(what) => {
                output.warn(format_args!("{what}: run again"));
                done.damaged += 1;
                left.push(cell);
            }
        }
    }
    // 0 lets the pool take all cores.
    let threads = args.threads.map_or(0, |threads| threads.get());
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(Failure::malformed)?;
    time_limit::keeps("the same command goes on with the rest");
    let bar = progress(
        left.len(),
        "cells",
        "{bar:30} {pos}/{len} cells, {eta} left",
        output,
    )?;
    // Tasks of one cell each, nearly in order: a killed sweep then loses the fewest cells.
    let new = pool.install(|| {
        left.par_iter()
            .with_max_len(1)
            .map(|cell| {
                let is_new = run_one(cell, store, args.rows)?;
                bar.step();
                Ok::<_, Failure>(usize::from(is_new))
            })
            .try_reduce(|| 0, |a, b| Ok(a + b))
    });
    bar.clear();
    done.new = new?;
    // Another process has finished the rest meanwhile.
    done.there += left.len() - done.new;
    Ok(done)
}

/// Runs a cell and keeps its outcome, unless another process has done so meanwhile; returns whether
/// it ran.
fn run_one(cell: &SweepPoint<'_>, store: &CellStore, rows: bool) -> Result<bool, Failure> {
    // The cell was missing when the list was made. Since then another process may have finished it.
    if let CellState::Whole(_) = store.find(cell, rows)? {
        return Ok(false);
    }
    store.keep(cell, &cell.run(&NAMES, rows))?;
    Ok(true)
}

/// Copies cells of other folders.
fn gather(
    args: &SweepArgs,
    store: &CellStore,
    cells: &[SweepPoint<'_>],
    output: &Output,
) -> Result<CellsDone, Failure> {
    let mut done = CellsDone::default();
    let others: Vec<CellStore> = args
        .merge
        .iter()
        .map(|folder| CellStore::at(folder))
        .collect();
    // All folders are checked before the first cell is copied.
    for (folder, other) in args.merge.iter().zip(&others) {
        if !folder.is_dir() {
            return Err(Failure::malformed(format_args!(
                "{}: expected a folder that a sweep wrote",
                folder.display()
            )));
        }
        let strangers = other.strangers(cells)?;
        if !strangers.is_empty() {
            return Err(foreign(&strangers, cells));
        }
    }
    for cell in cells {
        // This folder comes first: cells that it has are not copied.
        for (place, other) in [store].into_iter().chain(&others).enumerate() {
            match other.find(cell, args.rows)? {
                CellState::Nothing => continue,
                CellState::Damaged(what) => {
                    output.warn(format_args!("{what}: skipped"));
                    done.damaged += 1;
                    continue;
                }
                CellState::Whole(_) if place == 0 => done.there += 1,
                CellState::Whole(kept) => {
                    store.keep(cell, &kept)?;
                    done.new += 1;
                }
            }
            break;
        }
    }
    Ok(done)
}

/// The state of the sweep after this run.
struct SweepReport {
    cells: usize,
    /// The number of cells of this part, with `--shard`.
    part: Option<usize>,
    done: CellsDone,
    /// The numbers of missing cells, of all parts.
    missing: Vec<usize>,
    /// The finished cells of this part that have no numbers: number, words and error.
    failed: Vec<(usize, String, String)>,
    written: Vec<PathBuf>,
    /// Results in the folder of an earlier state of the sweep.
    older: Vec<PathBuf>,
    /// The table of all cells, where none is missing.
    summary: Option<comfy_table::Table>,
}

/// Looks up all cells, and writes the results if none is missing.
fn finish(
    args: &SweepArgs,
    folder: &Path,
    store: &CellStore,
    cells: &[SweepPoint<'_>],
    done: CellsDone,
    output: &Output,
) -> Result<SweepReport, Failure> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    // All cells are looked up again, those of other parts too: other processes may have finished some.
    let (mut whole, mut missing, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = SweepRows::default();
    for &cell in cells {
        match store.find(&cell, args.rows)? {
            CellState::Whole(kept) => {
                // A part tells of its own cells only, or each task of a cluster would tell of those of all.
                if let Some(error) = kept.error().filter(|_| shard.has(cell.index)) {
                    failed.push((cell.index, cell.to_string(), error.to_owned()));
                }
                rows.learn(&kept);
                // The rows of jobs stay on disk: a night's sweep has millions.
                whole.push((cell, kept.without_jobs()));
            }
            CellState::Nothing => missing.push(cell.index),
            CellState::Damaged(what) => {
                output.warn(what);
                missing.push(cell.index);
            }
        }
    }
    let mut written = Vec::new();
    if missing.is_empty() {
        let table = SweepTables::new(&whole, false)?.cells;
        written = results::write(folder, RowsOf::Cells, std::iter::once(Ok(table)))?;
        if args.rows {
            let tables = cells.iter().map(|cell| jobs_of(cell, &rows, store));
            written.extend(results::write(folder, RowsOf::Jobs, tables)?);
        }
    }
    // With all cells the files have just been written, so they are out of date only if cells are missing.
    let older = results_in(folder)
        .filter(|path| !missing.is_empty() && path.exists())
        .collect();
    let part = args
        .shard
        .map(|shard| cells.iter().filter(|cell| shard.has(cell.index)).count());
    let summary = (missing.is_empty() && !output.json).then(|| summary::summary(&whole));
    Ok(SweepReport {
        summary,
        cells: cells.len(),
        part,
        done,
        missing,
        failed,
        written,
        older,
    })
}

/// The rows of the jobs of one cell, which was there a moment ago.
fn jobs_of(cell: &SweepPoint<'_>, rows: &SweepRows, store: &CellStore) -> Result<Table, Failure> {
    match store.find(cell, true)? {
        CellState::Whole(kept) => Ok(rows.table(&[(*cell, *kept)])?),
        CellState::Damaged(what) => Err(Failure::malformed(what)),
        CellState::Nothing => Err(Failure::malformed(format_args!(
            "cell {} ({cell}) was deleted while the results were written: expected it to stay",
            cell.index
        ))),
    }
}

/// The paths of all result files, whether they exist or not.
fn results_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    [
        "results.csv",
        "results.json",
        // A build without the feature `parquet` writes none, but another build may have done so in this folder.
        "results.parquet",
        "rows.csv",
        "rows.json",
        "rows.parquet",
    ]
    .into_iter()
    .map(|name| folder.join(name))
}

impl SweepReport {
    fn answer(&self, args: &SweepArgs, folder: &Path) -> Sweep {
        let names = |paths: &[PathBuf]| {
            let names = paths.iter().map(|path| path.display().to_string());
            names.collect()
        };
        let failed = self.failed.iter().map(|(cell, what, error)| FailedCell {
            cell: *cell,
            what: what.clone(),
            error: error.clone(),
        });
        let is_merge = !args.merge.is_empty();
        Sweep {
            sweep: args.file.display().to_string(),
            folder: folder.display().to_string(),
            shard: args.shard.map(|shard| shard.to_string()),
            cells: self.cells,
            of_part: self.part,
            there: self.done.there,
            ran: (!is_merge).then_some(self.done.new),
            taken_over: is_merge.then_some(self.done.new),
            damaged: self.done.damaged,
            missing: self.missing.len(),
            failed: failed.collect(),
            results: names(&self.written),
            older_results: names(&self.older),
        }
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let Self {
            cells,
            part,
            done: CellsDone { there, new, .. },
            missing,
            failed,
            written,
            older,
            summary,
        } = self;
        let missing = missing.len();
        match part {
            None => output.line(format_args!(
                "{cells} cells: {there} existed, {new} are new, {missing} missing"
            ))?,
            Some(own) => {
                output.line(format_args!(
                    "{own} cells of this part: {there} existed, {new} are new"
                ))?;
                output.line(format_args!(
                    "{cells} cells of all parts: {} exist, {missing} missing",
                    cells - missing
                ))?;
            }
        }
        for (cell, what, error) in failed.iter().take(NAMED) {
            output.line(format_args!("cell {cell} ({what}) failed: {error}"))?;
        }
        written
            .iter()
            .try_for_each(|path| output.line(path.display()))?;
        if written.is_empty() {
            output.line("no results yet: they are written once one folder has every cell")?;
        }
        for path in older {
            output.line(format_args!(
                "{}: out of date, of an earlier state of this sweep",
                path.display()
            ))?;
        }
        if let Some(summary) = summary {
            output.line("")?;
            output.line("Means over seeds ± half of the 95 % interval; rings: of sensitive jobs of two or more devices.")?;
            output.line("")?;
            output.line(summary)?;
        }
        Ok(())
    }

    /// Fails if a merge is incomplete, or if a cell of a whole sweep failed. A part succeeds once
    /// its cells have run: an error status would make a cluster run it again, to the same result.
    fn verdict(&self, args: &SweepArgs, output: &Output) -> Result<(), Failure> {
        if !args.merge.is_empty() && !self.missing.is_empty() {
            let mut named: Vec<String> = self
                .missing
                .iter()
                .take(NAMED)
                .map(ToString::to_string)
                .collect();
            if self.missing.len() > NAMED {
                named.push("..".to_owned());
            }
            return Err(Failure::Answered(format!(
                "{} cells are in none of the folders: {}; expected all, so that the results can be written",
                self.missing.len(),
                named.join(", ")
            )));
        }
        let failed = self.failed.len();
        let what = format!(
            "{failed} of {} cells failed: see column `error`",
            self.part.unwrap_or(self.cells)
        );
        match (failed, self.part) {
            (0, _) => Ok(()),
            // The status stays 0: a batch system must not give up or repeat a task whose cells are all finished, if
            // badly.
            (_, Some(_)) => {
                output.warn(what);
                Ok(())
            }
            (_, None) => Err(Failure::Answered(what)),
        }
    }
}

/// Lists the cells of the shard, and with `--into` whether each is finished.
fn list(args: &SweepArgs, cells: &[SweepPoint<'_>], output: &mut Output) -> Result<(), Failure> {
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let store = args.into.as_deref().map(CellStore::at);
    let of_shard = cells.iter().filter(|cell| shard.has(cell.index));
    let mut listed: Vec<(&SweepPoint<'_>, Option<bool>)> = Vec::new();
    for cell in of_shard {
        let there = match &store {
            Some(store) => Some(matches!(store.find(cell, args.rows)?, CellState::Whole(_))),
            None => None,
        };
        listed.push((cell, there));
    }
    if output.json {
        let cells = cells.len();
        let mut answer = Streamed::object(in_order(&SweepCells {
            cells,
            listed: Vec::new(),
        })?);
        let rows = || {
            let answers = listed.iter().map(|(cell, there)| cell.answer(*there));
            answers.map(|cell| serde_json::to_value(cell).unwrap_or_default())
        };
        answer.insert("listed".to_owned(), Streamed::long(rows));
        return output.streamed(&Streamed::Object(answer));
    }
    output.page();
    // A table holds all its cells, so a long list is several.
    for part in listed.chunks(TABLE_ROWS) {
        output.line(cell_table(part))?;
    }
    if listed.is_empty() {
        output.line(cell_table(&[]))?;
    }
    output.line(format_args!("{} of {} cells", listed.len(), cells.len()))
}

/// A table of cells, and whether they are finished.
fn cell_table(listed: &[(&SweepPoint<'_>, Option<bool>)]) -> comfy_table::Table {
    let mut rows = table(
        [
            "cell",
            "machine",
            "workload",
            "scheduler",
            "execution",
            "policy",
            "finished",
        ],
        [0],
    );
    for (cell, there) in listed {
        let there = there.map_or("", |there| if there { "yes" } else { "no" });
        rows.add_row([
            &cell.index.to_string(),
            cell.machine,
            &cell.jobs.to_string(),
            cell.scheduler.words(),
            cell.execution.words(),
            cell.policy,
            there,
        ]);
    }
    rows
}
