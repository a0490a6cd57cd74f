//! `simulate`: a workload under one policy or several, side by side.

use mapa_front::PolicySpec;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use mapa_core::{ModelUse, Policy};
use mapa_sched::Fleet;
use mapa_sim::{Column, Execution, Table, Workload, write_jobs};

use crate::features;
use crate::names::NAMES;
use crate::systems;
use mapa_cli::Failure;
use mapa_cli::args::SimulateArgs;
use mapa_cli::files::{Disk, write};
use mapa_cli::load;
use mapa_cli::{Output, progress};
use mapa_front::Model;
use mapa_front::names::Choice;
use mapa_front::simulation::{PolicyRun, Runner, fleet, servers};

mod answer;

use answer::Answer;

pub(crate) fn simulate(args: &SimulateArgs, output: &mut Output) -> Result<(), Failure> {
    if let Some(row) = systems::simulation(args.scheduler.name()) {
        return row.run(args, output);
    }
    if args.log.is_some() {
        let schedulers = systems::SIMULATIONS.iter().flat_map(|row| row.schedulers);
        let schedulers: Vec<&str> = schedulers.copied().collect();
        return Err(Failure::malformed(format_args!(
            "--log is for the schedulers {}: expected one of them",
            schedulers.join(" and ")
        )));
    }
    if args.machine.is_none() && args.servers.is_empty() {
        return Err(Failure::malformed(
            "no machine is named: expected --machine, --live or --servers",
        ));
    }
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
    if args.svg.is_some() {
        features::require("plots", "--svg")?;
    }
    if args.svg.as_deref() == Some("-") && output.json {
        return Err(Failure::malformed(
            "--svg - prints the picture in place of the answer: expected a file with --json",
        ));
    }
    let machines = args
        .machine
        .iter()
        .flat_map(|machine| &machine.machine)
        .chain(&args.servers);
    let jobs = args.workload.spec();
    if jobs.reads_standard_input() && machines.into_iter().any(|name| name == "-") {
        return Err(Failure::malformed(
            "--machine - and the jobs both read standard input: expected one of them",
        ));
    }
    let model = args.model.as_ref();
    let model = model.map(|own| own.load(&NAMES, None, &Disk)).transpose()?;
    let own = NAMES
        .own_policy(&args.scheduler)
        .map_or_else(|| PolicySpec::default().policy, str::to_owned);
    let own = vec![own];
    let policies = policies(args.policy.as_ref().unwrap_or(&own), model.as_ref())?;
    if args.svg.is_some() && policies.len() > 1 {
        return Err(Failure::malformed(format_args!(
            "--svg draws one simulation, and --policy names {}: expected one policy, or --plot",
            policies.len()
        )));
    }
    // An unknown execution model is reported before the machine and the jobs are read.
    NAMES.execution(&args.execution, &Workload::default())?;
    let (machine, fleet) = machines_of(args, output)?;
    let workload = jobs.load(&Disk)?;
    let execution = NAMES.execution(&args.execution, &workload)?;
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
    #[cfg(feature = "plots")]
    if args.svg.as_deref() == Some("-") {
        if let Some(picture) = answer.instances(0)? {
            output.line(picture.trim_end())?;
        }
        return Ok(());
    }
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
    let warn = &mut |warning: String| output.warn(warning);
    let mut fleet = servers(&args.servers, &Disk, warn)?;
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

/// The policies to simulate.
fn policies(words: &[String], model: Option<&Model>) -> Result<Vec<Box<dyn Policy>>, Failure> {
    let names = NAMES.policy_names(words);
    if names.is_empty() {
        return Err(Failure::malformed(
            "--policy names no policy: expected names, `paper` or `all`",
        ));
    }
    let takes_model = |name: &str| {
        NAMES
            .policies
            .get(name)
            .is_some_and(|row| row.model != ModelUse::Never)
    };
    if model.is_some() && !names.iter().any(|name| takes_model(name)) {
        return Err(Failure::malformed(
            "--model is for the policies auto, preserve, max-bandwidth and foresight: none of them is simulated",
        ));
    }
    let mut policies = Vec::new();
    for name in names {
        let choice = Choice {
            model: model.filter(|_| takes_model(name)),
            ..Choice::default()
        };
        policies.push(NAMES.policy(name, &choice)?);
    }
    Ok(policies)
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
    let execution = (&args.execution, execution);
    let mut runner = Runner::new(&NAMES, (workload, fleet), &args.scheduler, execution);
    runner.records_occupancy = args.svg.is_some() || args.plot.is_some();
    let mut runs = Vec::new();
    for policy in policies {
        bar.set_message(policy.name().to_owned());
        runs.push(runner.under(policy, &mut || bar.inc(1))?);
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
        if let Some(file) = &args.save_jobs {
            let text = write_jobs(&self.workload).map_err(Failure::malformed)?;
            files.push((file.clone(), text.into_bytes()));
        }
        #[cfg(feature = "plots")]
        if let Some(folder) = &args.plot {
            mapa_cli::files::make_folder(folder)?;
            let title = format!("{}, {}", args.scheduler, self.title());
            for (name, picture) in
                crate::plots::simulation(&self.runs, &self.workload, &title, &self.fleet)
            {
                files.push((folder.join(name), picture.into_bytes()));
            }
            if crate::plots::is_for(&self.fleet, &self.workload) {
                for (at, run) in self.runs.iter().enumerate() {
                    let file = folder.join(format!("instances-{}.svg", run.policy));
                    let picture = self.instances(at)?;
                    files.extend(picture.map(|picture| (file, picture.into_bytes())));
                }
            }
        }
        #[cfg(feature = "plots")]
        if let Some(file) = args.svg.as_ref().filter(|file| *file != "-") {
            let picture = self.instances(0)?;
            files.extend(picture.map(|picture| (file.into(), picture.into_bytes())));
        }
        for (file, bytes) in files {
            write(&file, bytes)?;
            self.written.push(file.display().to_string());
        }
        Ok(())
    }

    /// The picture of who was on which instance when, under one of the policies, if that was recorded.
    #[cfg(feature = "plots")]
    fn instances(&self, run: usize) -> Result<Option<String>, Failure> {
        let Some(run) = self.runs.get(run) else {
            return Ok(None);
        };
        let picture = run.occupancy.as_ref().map(|occupancy| {
            crate::plots::draw(&crate::plots::Shown {
                occupancy,
                fleet: &self.fleet,
                workload: &self.workload,
                title: format!("{} on {}", run.outcome.scheduler, self.machine),
                subtitle: self.source(),
                end: run.outcome.end,
            })
        });
        picture.transpose()
    }

    /// The title of pictures: the machine and the workload, without the name of the random number
    /// generator.
    #[cfg(feature = "plots")]
    fn title(&self) -> String {
        format!("{}, {}", self.machine, self.source())
    }

    #[cfg(feature = "plots")]
    fn source(&self) -> String {
        let generator = format!(", {}", mapa_sim::GENERATOR);
        self.workload.source.replace(&generator, "")
    }

    /// A row for each job under each policy.
    fn jobs(&self) -> Result<Table, Failure> {
        let what = self.simulated();
        self.stacked(|run| run.jobs_table(what).map_err(Failure::malformed))
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
