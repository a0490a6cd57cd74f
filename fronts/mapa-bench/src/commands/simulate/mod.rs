//! `simulate`: a workload under one policy or several, side by side.

use std::path::{Path, PathBuf};

use mapa_sim::{Column, Table, Workload, write_jobs};

use crate::features;
use crate::names::NAMES;
use crate::systems;
use mapa_cli::Failure;
use mapa_cli::args::{MachineArgs, SimulateArgs};
use mapa_cli::files::{LocalFiles, write};
use mapa_cli::load;
use mapa_cli::{Output, progress};
use mapa_front::commands::{SimulateRequest, SimulateStep};
use mapa_front::simulation::{PolicyRun, fleet};

mod answer;

use answer::SimulateAnswer;

pub(crate) fn simulate(args: &SimulateArgs, output: &mut Output) -> Result<(), Failure> {
    // A system that simulates by itself checks its options by itself.
    if let Some(row) = systems::simulation(args.scheduler.name()) {
        return row.run(args, output);
    }
    check_options(args, output)?;
    let request = SimulateRequest {
        machine: args.machine.as_ref().map(|machine| machine.spec()),
        servers: args.servers.clone(),
        network: args.network,
        workload: args.workload.spec(),
        scheduler: args.scheduler.clone(),
        execution: args.execution.clone(),
        policies: args.policy.clone(),
        model: args.model.clone(),
    };
    let policies = request.policies(&NAMES, &LocalFiles)?;
    if args.svg.is_some() && policies.len() > 1 {
        return Err(Failure::malformed(format_args!(
            "--svg draws one simulation, and --policy names {}: expected one policy, or --plot",
            policies.len()
        )));
    }
    // An unknown execution model is reported before the machine and the jobs are read.
    NAMES.execution(&request.execution, &Workload::default())?;
    request.check_network()?;
    let machines = match args.machine.as_ref().filter(|_| args.servers.is_empty()) {
        Some(machine) => {
            let loaded = load(machine, output)?;
            (loaded.machine.name.clone(), fleet(&loaded)?)
        }
        None => request.fleet(&LocalFiles, &mut |warning| output.warn(warning))?,
    };
    // The length of the bar is known once the jobs are read.
    let bar = progress(0, "jobs", "{bar:30} {pos}/{len} jobs, {msg}", output)?;
    let records_occupancy = args.svg.is_some() || args.plot.is_some();
    let outcome = request.outcome(
        &NAMES,
        &LocalFiles,
        policies,
        machines,
        records_occupancy,
        &mut |step| match step {
            SimulateStep::Jobs(steps) => bar.set_length(steps as u64),
            SimulateStep::Policy(name) => bar.say(name),
            // Jobs that are rejected or wait for ever do not end, so the bar may stop before its end.
            _ => bar.step(),
        },
    );
    bar.clear();
    let mut answer = SimulateAnswer {
        outcome: outcome?,
        written: Vec::new(),
    };
    answer.write(args)?;
    #[cfg(feature = "plots")]
    if args.svg.as_deref() == Some("-") {
        // There is one simulation: several policies were refused above.
        if let Some(picture) = answer.instances(0)? {
            output.line(picture.trim_end())?;
        }
        return Ok(());
    }
    if output.json {
        output.streamed(&answer.json()?)
    } else {
        answer.print(output)
    }
}

/// Checks options that do not go together, before anything is read.
fn check_options(args: &SimulateArgs, output: &Output) -> Result<(), Failure> {
    if args.log.is_some() {
        let schedulers = systems::SIMULATIONS.iter().flat_map(|row| row.schedulers);
        let schedulers: Vec<&str> = schedulers.copied().collect();
        return Err(Failure::malformed(format_args!(
            "--log is for the schedulers {}: expected one of them",
            schedulers.join(" and ")
        )));
    }
    // Options may say what to change of a description without naming a machine.
    let is_machine = |machine: &MachineArgs| machine.live || !machine.machine.is_empty();
    if args.servers.is_empty() && !args.machine.as_ref().is_some_and(is_machine) {
        return Err(Failure::malformed(
            "no machine is named: expected --machine, --live or --servers",
        ));
    }
    if args.network.is_some() && args.servers.is_empty() {
        return Err(Failure::malformed(
            "--network is for fleets of servers: expected --servers too",
        ));
    }
    for file in [&args.output, &args.series].into_iter().flatten() {
        TableFormat::of(file)?;
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
    if args.workload.spec().reads_standard_input() && machines.into_iter().any(|name| name == "-") {
        return Err(Failure::malformed(
            "--machine - and the jobs both read standard input: expected one of them",
        ));
    }
    Ok(())
}

impl SimulateAnswer<'_> {
    /// Writes the files that the options name.
    fn write(&mut self, args: &SimulateArgs) -> Result<(), Failure> {
        // All files are made before the first is written, so an error leaves none.
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        if let Some(file) = &args.output {
            files.push((file.clone(), TableFormat::of(file)?.bytes(&self.jobs()?)?));
        }
        if let Some(file) = &args.series {
            files.push((file.clone(), TableFormat::of(file)?.bytes(&self.series()?)?));
        }
        if let Some(file) = &args.save_jobs {
            let text = write_jobs(&self.outcome.workload).map_err(Failure::malformed)?;
            files.push((file.clone(), text.into_bytes()));
        }
        #[cfg(feature = "plots")]
        if let Some(folder) = &args.plot {
            mapa_cli::files::make_folder(folder)?;
            let title = format!("{}, {}", args.scheduler, self.title());
            let simulate_outcome = &self.outcome;
            for (name, picture) in crate::plots::simulation(
                &simulate_outcome.runs,
                &simulate_outcome.workload,
                &title,
                &simulate_outcome.fleet,
            ) {
                files.push((folder.join(name), picture.into_bytes()));
            }
            if crate::plots::is_for(&simulate_outcome.fleet, &simulate_outcome.workload) {
                for (at, run) in simulate_outcome.runs.iter().enumerate() {
                    let file = folder.join(format!(
                        "instances-{}.svg",
                        mapa_cli::files::part(&run.policy)
                    ));
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
        let Some(run) = self.outcome.runs.get(run) else {
            return Ok(None);
        };
        let picture = run.occupancy.as_ref().map(|occupancy| {
            crate::plots::draw(&crate::plots::ShownOccupancy {
                occupancy,
                fleet: &self.outcome.fleet,
                workload: &self.outcome.workload,
                title: format!("{} on {}", run.outcome.scheduler, self.outcome.machine),
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
        format!("{}, {}", self.outcome.machine, self.source())
    }

    #[cfg(feature = "plots")]
    fn source(&self) -> String {
        let generator = format!(", {}", mapa_sim::GENERATOR);
        self.outcome.workload.source.replace(&generator, "")
    }

    /// A row for each job under each policy.
    fn jobs(&self) -> Result<Table, Failure> {
        let what = self.outcome.simulated();
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
        for run in &self.outcome.runs {
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
enum TableFormat {
    Csv,
    Json,
    Parquet,
}

impl TableFormat {
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
            // `of` has refused the name of such a file already.
            Self::Parquet => features::require("parquet", "parquet").map(|()| Vec::new()),
        }
    }
}
