//! `simulate`: a workload under one policy or several, side by side.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, io};

use indicatif::ProgressBar;
use mapa_core::Policy;
use mapa_sched::Fleet;
use mapa_sim::{Column, Execution, Fragmentation, GENERATOR, Outcome, OverTime, Row, Scorer, Summary, Table, Workload};

use crate::cli::{Preserved, SimulateArgs};
use crate::failure::Failure;
use crate::machine::load;
use crate::model::Model;
use crate::output::Output;
use crate::plots;
use crate::request::{policy, takes_model};
use crate::simulation::{
    WorkloadArgs, execution, fleet, own_policy, policy_names, scheduler, servers, simulation, workload,
};

mod answer;
mod jobs;
mod progress;

use progress::{Counted, Watched};

pub(crate) fn simulate(args: &SimulateArgs, output: &mut Output) -> Result<(), Failure> {
    if args.network.is_some() && args.servers.is_empty() {
        return Err(Failure::malformed("--network: it joins servers: expected --servers too"));
    }
    let mut files = [&args.output, &args.series].into_iter().flatten();
    files.try_for_each(|file| Format::of(file).map(drop))?;
    let machines = args.machine.iter().flat_map(|machine| &machine.machine).chain(&args.servers);
    if reads_standard_input(&args.workload) && machines.into_iter().any(|name| name == "-") {
        return Err(Failure::malformed("--machine - and the jobs both read standard input: expected one of them"));
    }
    let model = args.model.as_ref().map(|word| Model::named(word, None)).transpose()?;
    let own = own_policy(&args.scheduler).map_or_else(|| vec!["paper".to_owned()], |own| vec![own.to_owned()]);
    let policies = policies(args.policy.as_ref().unwrap_or(&own), model.as_ref())?;
    // An unknown word is told before anything is read.
    execution(&args.execution, &Workload::default())?;
    let (machine, fleet) = machines_of(args, output)?;
    let workload = workload(&args.workload)?;
    let execution = execution(&args.execution, &workload)?;
    let bar = progress::bar(workload.jobs.len() * policies.len(), output.json)?;
    let runs = runs(args, policies, &workload, &fleet, &*execution, &bar);
    bar.finish_and_clear();
    let mut answer = Answer {
        machine,
        servers: args.servers.clone(),
        scheduler: args.scheduler.clone(),
        execution: args.execution.clone(),
        fleet,
        workload,
        runs: runs?,
        written: Vec::new(),
    };
    answer.write(args)?;
    if output.json { output.object(&answer.json()?) } else { answer.print(output) }
}

/// What is simulated, in words, and as a fleet that nobody is on.
fn machines_of(args: &SimulateArgs, output: &Output) -> Result<(String, Fleet), Failure> {
    if let Some(gbps) = args.network.filter(|gbps| !(gbps.is_finite() && *gbps > 0.0)) {
        return Err(Failure::malformed(format_args!("--network {gbps}: expected a number of GB/s above 0")));
    }
    match &args.machine {
        Some(machine) => {
            let loaded = load(machine, output)?;
            Ok((loaded.machine.name.clone(), fleet(&loaded)?))
        }
        None => {
            let fleet = servers(&args.servers, output)?;
            let joined = args.network.map(|gbps| format!(", {gbps} GB/s each between them")).unwrap_or_default();
            let name = format!("{} servers: {}{joined}", fleet.machines().len(), args.servers.join(", "));
            Ok((name, if let Some(gbps) = args.network { fleet.with_network(gbps) } else { fleet }))
        }
    }
}

fn reads_standard_input(args: &WorkloadArgs) -> bool {
    let trace = args.trace.as_deref().map(|trace| trace.rsplit('=').next().unwrap_or(trace));
    [args.jobs.as_deref(), trace, args.run_times.as_deref()].contains(&Some("-"))
}

/// What came of a workload under each policy.
struct Answer {
    machine: String,
    /// The words for a fleet of separate servers; none of one machine.
    servers: Vec<String>,
    scheduler: String,
    execution: String,
    fleet: Fleet,
    workload: Workload,
    runs: Vec<PolicyRun>,
    written: Vec<String>,
}

/// What came of it under one.
pub(crate) struct PolicyRun {
    pub(crate) policy: String,
    pub(crate) outcome: Outcome,
    pub(crate) rows: Vec<Row>,
    pub(crate) summary: Summary,
    pub(crate) over_time: OverTime,
    /// Decisions whose search stopped at its limit.
    pub(crate) cut: usize,
}

fn policies(words: &[String], model: Option<&Model>) -> Result<Vec<Box<dyn Policy>>, Failure> {
    let names = policy_names(words);
    if names.is_empty() {
        return Err(Failure::malformed("--policy names none: expected names, `paper` or `all`"));
    }
    if model.is_some() && !names.iter().any(|name| takes_model(name)) {
        return Err(Failure::malformed(
            "--model is for the policies preserve, max-bandwidth and foresight: none of them is simulated",
        ));
    }
    names.into_iter().map(|name| policy(name, model.filter(|_| takes_model(name)), Preserved::All)).collect()
}

fn runs(
    args: &SimulateArgs,
    policies: Vec<Box<dyn Policy>>,
    workload: &Workload,
    fleet: &Fleet,
    execution: &dyn Execution,
    bar: &ProgressBar,
) -> Result<Vec<PolicyRun>, Failure> {
    let mut scorer = Scorer::new();
    let mut fragmentation = Fragmentation::default();
    let run = |policy: Box<dyn Policy>| {
        let name = policy.name().to_owned();
        bar.set_message(name.clone());
        let mut over_time = OverTime::default();
        let observe = |now, fleet: &Fleet| over_time.observe(now, fleet, &mut fragmentation);
        let cut = Arc::new(AtomicUsize::new(0));
        let watched = Box::new(Watched { policy, cut: cut.clone() });
        let mut scheduler = Counted { scheduler: scheduler(&args.scheduler, watched, &args.execution)?, bar };
        let simulation = simulation(workload, fleet.clone()).observe(observe);
        let outcome = simulation.run(&mut scheduler, execution).map_err(Failure::malformed)?;
        let rows = Row::of(&outcome, workload, fleet, &mut scorer);
        let summary = Summary::of(&outcome, &rows, fleet);
        let cut = cut.load(Ordering::Relaxed);
        Ok(PolicyRun { policy: name, outcome, rows, summary, over_time, cut })
    };
    policies.into_iter().map(run).collect()
}

impl Answer {
    /// The files that were asked for.
    fn write(&mut self, args: &SimulateArgs) -> Result<(), Failure> {
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        if let Some(file) = &args.output {
            files.push((file.clone(), Format::of(file)?.bytes(&self.jobs()?)?));
        }
        if let Some(file) = &args.series {
            files.push((file.clone(), Format::of(file)?.bytes(&self.series()?)?));
        }
        if let Some(folder) = &args.plot {
            fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
            let pictures = plots::simulation(&self.runs, &self.workload, &self.title(), &self.fleet);
            files.extend(pictures.into_iter().map(|(name, picture)| (folder.join(name), picture.into_bytes())));
        }
        for (file, bytes) in files {
            fs::write(&file, bytes).map_err(|error| wrong(&file, &error))?;
            self.written.push(file.display().to_string());
        }
        Ok(())
    }

    /// What pictures are of; how random numbers are made is told by the text.
    fn title(&self) -> String {
        let source = self.workload.source.replace(&format!(", {GENERATOR}"), "");
        format!("{}, {source}", self.machine)
    }

    /// A row for each job under each policy.
    fn jobs(&self) -> Result<Table, Failure> {
        self.stacked(|run| jobs::table(run, &self.workload, &self.fleet))
    }

    /// A row for each moment under each policy.
    fn series(&self) -> Result<Table, Failure> {
        self.stacked(|run| Ok(run.over_time.table()))
    }

    /// The tables of all policies below each other, the policy's name before the other columns.
    fn stacked(&self, table: impl Fn(&PolicyRun) -> Result<Table, Failure>) -> Result<Table, Failure> {
        let mut all = Table::default();
        for run in &self.runs {
            let table = table(run)?;
            let names = Column::Texts(vec![Some(run.policy.clone()); table.rows()]);
            let columns = std::iter::once(("policy".to_owned(), names)).chain(table.columns().iter().cloned());
            let named = Table::new(columns).map_err(Failure::malformed)?;
            all.append(&named).map_err(Failure::malformed)?;
        }
        Ok(all)
    }
}

fn wrong(path: &Path, error: &io::Error) -> Failure {
    Failure::malformed(format_args!("{}: {error}", path.display()))
}

/// How a table is written, by the end of its file's name.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Json,
    Parquet,
}

impl Format {
    fn of(file: &Path) -> Result<Self, Failure> {
        match file.extension().and_then(|end| end.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(Failure::malformed(format_args!(
                "{}: expected a name that ends in .csv, .json or .parquet",
                file.display()
            ))),
        }
    }

    fn bytes(self, table: &Table) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Csv => table.to_csv().map(String::into_bytes).map_err(Failure::malformed),
            Self::Json => Ok(format!("{}\n", table.to_json()).into_bytes()),
            Self::Parquet => table.to_parquet().map_err(Failure::malformed),
        }
    }
}

/// Seconds, for people.
fn seconds(of: Duration) -> String {
    crate::output::seconds(of.as_secs_f64())
}
