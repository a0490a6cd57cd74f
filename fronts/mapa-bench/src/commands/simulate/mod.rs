//! `simulate`: a workload under one policy or several, side by side.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::ProgressBar;
use mapa_core::Policy;
use mapa_sched::Fleet;
use mapa_sim::{Column, Execution, Fragmentation, OverTime, Row, Scorer, Summary, Table, Workload};

use crate::cli::{Preserved, SimulateArgs, WorkloadArgs};
use crate::failure::Failure;
use crate::features;
use crate::files::write;
use crate::machine::load;
use crate::model::Model;
use crate::output::{Output, progress};
use crate::policy::{policy, takes_model};
use crate::simulation::PolicyRun;
use crate::simulation::{
    execution, fleet, own_policy, policy_names, scheduler, servers, simulation, workload,
};

mod answer;
mod watch;

use answer::{Answer, under};
use watch::{Counted, Watched};

pub(crate) fn simulate(args: &SimulateArgs, output: &mut Output) -> Result<(), Failure> {
    if args.network.is_some() && args.servers.is_empty() {
        return Err(Failure::malformed(
            "--network is for fleets of servers: expected --servers too",
        ));
    }
    // The names of output files are checked before anything is read.
    for file in [&args.output, &args.series].into_iter().flatten() {
        Format::of(file)?;
    }
    if args.plot.is_some() {
        features::require("plots", "--plot")?;
    }
    let machines = args
        .machine
        .iter()
        .flat_map(|machine| &machine.machine)
        .chain(&args.servers);
    if reads_standard_input(&args.workload) && machines.into_iter().any(|name| name == "-") {
        return Err(Failure::malformed(
            "--machine - and the jobs both read standard input: expected one of them",
        ));
    }
    let model = args
        .model
        .as_ref()
        .map(|word| Model::named(word, None))
        .transpose()?;
    let own = own_policy(&args.scheduler)
        .map_or_else(|| vec!["paper".to_owned()], |own| vec![own.to_owned()]);
    let policies = policies(args.policy.as_ref().unwrap_or(&own), model.as_ref())?;
    // An unknown execution model is reported before the machine and the jobs are read.
    execution(&args.execution, &Workload::default())?;
    let (machine, fleet) = machines_of(args, output)?;
    let workload = workload(&args.workload)?;
    let execution = execution(&args.execution, &workload)?;
    let steps = workload.jobs.len() * policies.len();
    let bar = progress(steps, "{bar:30} {pos}/{len} jobs, {msg}", output)?;
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
    if output.json {
        output.object(&answer.json()?)
    } else {
        answer.print(output)
    }
}

/// The simulated machines: their description, and an idle fleet.
fn machines_of(args: &SimulateArgs, output: &Output) -> Result<(String, Fleet), Failure> {
    if let Some(gbps) = args.network
        && !(gbps.is_finite() && gbps > 0.0)
    {
        return Err(Failure::malformed(format_args!(
            "--network {gbps}: expected a number of GB/s above 0"
        )));
    }
    if let Some(machine) = &args.machine {
        let loaded = load(machine, output)?;
        return Ok((loaded.machine.name.clone(), fleet(&loaded)?));
    }
    let mut fleet = servers(&args.servers, output)?;
    let mut name = format!(
        "{} servers: {}",
        fleet.machines().len(),
        args.servers.join(", ")
    );
    if let Some(gbps) = args.network {
        name += &format!(", {gbps} GB/s each between them");
        fleet = fleet.with_network(gbps);
    }
    Ok((name, fleet))
}

/// Whether a workload is read from standard input.
fn reads_standard_input(args: &WorkloadArgs) -> bool {
    let trace = args
        .trace
        .as_deref()
        .map(|trace| trace.rsplit('=').next().unwrap_or(trace));
    [args.jobs.as_deref(), trace, args.run_times.as_deref()].contains(&Some("-"))
}

/// The policies to simulate.
fn policies(words: &[String], model: Option<&Model>) -> Result<Vec<Box<dyn Policy>>, Failure> {
    let names = policy_names(words);
    if names.is_empty() {
        return Err(Failure::malformed(
            "--policy names no policy: expected names, `paper` or `all`",
        ));
    }
    if model.is_some() && !names.iter().any(|name| takes_model(name)) {
        return Err(Failure::malformed(
            "--model is for the policies preserve, max-bandwidth and foresight: none of them is simulated",
        ));
    }
    names
        .into_iter()
        .map(|name| policy(name, model.filter(|_| takes_model(name)), Preserved::All))
        .collect()
}

/// Simulates the workload under each policy.
fn runs(
    args: &SimulateArgs,
    policies: Vec<Box<dyn Policy>>,
    workload: &Workload,
    fleet: &Fleet,
    execution: &dyn Execution,
    bar: &ProgressBar,
) -> Result<Vec<PolicyRun>, Failure> {
    // Both cache what they compute for sets of devices, which recur between policies.
    let mut scorer = Scorer::new();
    let mut fragmentation = Fragmentation::default();
    let mut runs = Vec::new();
    for policy in policies {
        let name = policy.name().to_owned();
        bar.set_message(name.clone());
        let mut over_time = OverTime::default();
        let cut = Arc::new(AtomicUsize::new(0));
        let watched = Box::new(Watched {
            policy,
            cut: cut.clone(),
        });
        let mut scheduler = Counted {
            scheduler: scheduler(&args.scheduler, watched, &args.execution)?,
            bar,
        };
        let outcome = simulation(workload, fleet.clone())
            .observe(|now, fleet| over_time.observe(now, fleet, &mut fragmentation))
            .run(&mut scheduler, execution)
            .map_err(Failure::malformed)?;
        let rows = Row::of(&outcome, workload, fleet, &mut scorer);
        let summary = Summary::of(&outcome, &rows, fleet);
        let cut = cut.load(Ordering::Relaxed);
        runs.push(PolicyRun {
            policy: name,
            outcome,
            rows,
            summary,
            over_time,
            cut,
        });
    }
    Ok(runs)
}

impl Answer {
    /// Writes the files that the options name.
    fn write(&mut self, args: &SimulateArgs) -> Result<(), Failure> {
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        if let Some(file) = &args.output {
            files.push((file.clone(), Format::of(file)?.bytes(&self.jobs()?)?));
        }
        if let Some(file) = &args.series {
            files.push((file.clone(), Format::of(file)?.bytes(&self.series()?)?));
        }
        #[cfg(feature = "plots")]
        if let Some(folder) = &args.plot {
            crate::files::make_folder(folder)?;
            let title = self.title();
            for (name, picture) in
                crate::plots::simulation(&self.runs, &self.workload, &title, &self.fleet)
            {
                files.push((folder.join(name), picture.into_bytes()));
            }
        }
        for (file, bytes) in files {
            write(&file, bytes)?;
            self.written.push(file.display().to_string());
        }
        Ok(())
    }

    /// The title of pictures: the machine and the workload, without the name of the random number
    /// generator.
    #[cfg(feature = "plots")]
    fn title(&self) -> String {
        let source = self
            .workload
            .source
            .replace(&format!(", {}", mapa_sim::GENERATOR), "");
        format!("{}, {source}", self.machine)
    }

    /// A row for each job under each policy.
    fn jobs(&self) -> Result<Table, Failure> {
        let what = self.simulated();
        self.stacked(|run| under(run).jobs_table(what).map_err(Failure::malformed))
    }

    /// A row for each moment under each policy.
    fn series(&self) -> Result<Table, Failure> {
        self.stacked(|run| Ok(run.over_time.table()))
    }

    /// The tables of all policies below one another, with a first column `policy`.
    fn stacked(
        &self,
        table: impl Fn(&PolicyRun) -> Result<Table, Failure>,
    ) -> Result<Table, Failure> {
        let mut all = Table::default();
        for run in &self.runs {
            let table = table(run)?;
            let names = Column::Texts(vec![Some(run.policy.clone()); table.rows()]);
            let columns = std::iter::once(("policy".to_owned(), names))
                .chain(table.columns().iter().cloned());
            let named = Table::new(columns).map_err(Failure::malformed)?;
            all.append(&named).map_err(Failure::malformed)?;
        }
        Ok(all)
    }
}

/// The format of a table's file, by the end of its name.
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
            Some("parquet") => {
                features::require("parquet", &file.display().to_string()).map(|()| Self::Parquet)
            }
            _ => Err(Failure::malformed(format_args!(
                "{}: expected a name that ends in .csv, .json or .parquet",
                file.display()
            ))),
        }
    }

    fn bytes(self, table: &Table) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Csv => table
                .to_csv()
                .map(String::into_bytes)
                .map_err(Failure::malformed),
            Self::Json => Ok(format!("{}\n", table.to_json()).into_bytes()),
            #[cfg(feature = "parquet")]
            Self::Parquet => table.to_parquet().map_err(Failure::malformed),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => features::require("parquet", "parquet").map(|()| Vec::new()),
        }
    }
}
