//! `contention`: the jobs that share each PCIe path to the host, and how much this slows them down.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::answer::contention::{ContendedJob, Contention, Slowdowns};
use mapa_core::mig::Size;
use mapa_core::{
    Decision, Demand, Device, DeviceId, HardwareGraph, MachineId, Pattern, Refusal, Request,
};
use mapa_sched::{Assignment, Event, Fleet, Job, JobId, Scheduler, Tenant, Time, Turn, step};
use mapa_sim::{Execution, Profile, Submission, Workload, read_profiles};
use mapa_system_pcie::pcie_aware;
use mapa_system_pcie_sim::{PcieEqualShare, PcieMaxMin};
use mapa_table::{Comments, Sheet, below_comments, columns, optional_text};
use serde::Deserialize;

use super::args::ContentionArgs;
use mapa_cli::Failure;
use mapa_cli::files::text;
use mapa_cli::load;
use mapa_cli::{Output, SystemCommand};
use mapa_front::simulation::fleet;
use mapa_front::text::{gbps, table};
use mapa_front::{FileKind, Loaded};

impl SystemCommand for ContentionArgs {
    const NAME: &'static str = "contention";
    const ABOUT: &'static str = "Show which jobs share which PCIe path to the host, and how much each is slowed down, by two models";

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
        contention(self, output)
    }
}

fn contention(args: &ContentionArgs, output: &mut Output) -> Result<(), Failure> {
    if !(args.max_gbps.is_finite() && args.max_gbps > 0.0) {
        return Err(Failure::malformed(format_args!(
            "--max-gbps {}: expected a positive number",
            args.max_gbps
        )));
    }
    let loaded = load(&args.machine, output)?;
    let given = read_jobs(args, loaded.graph())?;
    let jobs = slowdowns(&loaded, &given, args)?;
    let machine = &loaded.machine.name;
    let answer = Contention::new(machine, args.max_gbps, loaded.graph(), jobs);
    if let Some(file) = &args.svg {
        if answer.jobs.is_empty() {
            return Err(Failure::at(
                &args.jobs,
                "no jobs, so there is nothing to draw: expected at least one for --svg",
            ));
        }
        let drawn: Vec<_> = answer
            .jobs
            .iter()
            .map(|job| super::plots::Contended {
                job: &job.job,
                device: &job.device,
                equal_share: job.slowdown.equal_share,
                max_min: job.slowdown.max_min,
            })
            .collect();
        mapa_cli::files::write(file, super::plots::contention(&drawn, machine))?;
    }
    if output.json {
        return output.object(&answer);
    }
    print(&answer, output)?;
    args.svg
        .iter()
        .try_for_each(|file| output.line(format_args!("\nwritten   {}", file.display())))
}

/// A job of the file.
struct FixedJob {
    line: usize,
    name: String,
    gbps: f64,
    alpha: f64,
    slice: Option<Size>,
    device: Option<DeviceId>,
}

/// The cells of a row of the file of jobs.
#[derive(Deserialize)]
struct JobCells {
    #[serde(default)]
    job: Option<String>,
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    pcie_gbps: Option<String>,
    #[serde(default)]
    pcie_alpha: Option<String>,
    #[serde(default, with = "optional_text")]
    slice: Option<Size>,
    #[serde(default)]
    device: Option<String>,
}

/// Reads the jobs of the file. Names and devices must be known, and names distinct.
fn read_jobs(args: &ContentionArgs, graph: &HardwareGraph) -> Result<Vec<FixedJob>, Failure> {
    let profiles = profiles(args)?;
    let text = text(&args.jobs, FileKind::Jobs)?;
    jobs_of(&text, &profiles, graph).map_err(|error| Failure::at(&args.jobs, error))
}

fn jobs_of(
    text: &str,
    profiles: &[Profile],
    graph: &HardwareGraph,
) -> Result<Vec<FixedJob>, mapa_table::Error> {
    if below_comments(text).0.trim().is_empty() {
        return Ok(Vec::new());
    }
    let sheet = Sheet::read(text, Comments::Anywhere, "jobs")?;
    sheet.check(&[], &columns::<JobCells>())?;
    let (mut jobs, mut names) = (Vec::new(), BTreeSet::new());
    for row in sheet.rows() {
        let given = row.read::<JobCells>()?.given(row.line(), profiles, graph);
        let job = given.map_err(|what| row.error(what))?;
        if !names.insert(job.name.clone()) {
            let what = format!("job `{}` again: expected names that differ", job.name);
            return Err(row.error(what));
        }
        jobs.push(job);
    }
    Ok(jobs)
}

/// The number in a cell; none if the cell is missing or empty.
fn number(
    name: &str,
    cell: Option<&str>,
    is_valid: fn(f64) -> bool,
    expected: &str,
) -> Result<Option<f64>, String> {
    let Some(text) = cell else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) if is_valid(number) => Ok(Some(number)),
        _ => Err(format!("{name} `{text}`: expected {expected}")),
    }
}

impl JobCells {
    /// The job of this row.
    fn given(
        self,
        line: usize,
        profiles: &[Profile],
        graph: &HardwareGraph,
    ) -> Result<FixedJob, String> {
        let gbps = number(
            "pcie_gbps",
            self.pcie_gbps.as_deref(),
            is_counted,
            "GB/s from 0 to 4294967.295, at most three digits after the point",
        )?;
        let alpha = number(
            "pcie_alpha",
            self.pcie_alpha.as_deref(),
            |alpha| alpha.is_finite() && alpha >= 0.0,
            "a number not below 0",
        )?;
        let profile = match &self.profile {
            None => None,
            Some(name) => {
                let found = profiles.iter().find(|profile| profile.name == *name);
                Some(found.ok_or_else(|| {
                    let known: Vec<&str> = profiles
                        .iter()
                        .map(|profile| profile.name.as_str())
                        .collect();
                    let known = known.join(", ");
                    format!("no profile is called `{name}`: expected {known}")
                })?)
            }
        };
        let name = self
            .job
            .ok_or("no job: expected its name in the column `job`")?;
        // The row's own numbers take precedence over those of its profile.
        let gbps = gbps
            .or(profile.map(|profile| profile.pcie_gbps))
            .ok_or("expected a profile, or pcie_gbps")?;
        let alpha = alpha
            .or(profile.map(|profile| profile.pcie_alpha))
            .unwrap_or(1.0);
        let device = match &self.device {
            None => None,
            Some(device) => Some(graph.find(device).map_err(|error| error.to_string())?),
        };
        Ok(FixedJob {
            line,
            name,
            gbps,
            alpha,
            slice: self.slice,
            device,
        })
    }
}

/// Whether a bandwidth is a whole number of MB/s within 32 bits, the unit in which it is booked.
fn is_counted(gbps: f64) -> bool {
    (f64::from(Demand::any().pcie_gbps(gbps).pcie_mb_s) / 1000.0 - gbps).abs() < 1e-9
}

fn profiles(args: &ContentionArgs) -> Result<Vec<Profile>, Failure> {
    let Some(file) = &args.profiles else {
        return Ok(Profile::tang().to_vec());
    };
    let place = file.display();
    let text = text(&place.to_string(), FileKind::Table)?;
    read_profiles(&text).map_err(|error| Failure::at(&place, error))
}

/// A scheduler that places jobs on their given devices, and the others by the policy pcie-aware. It
/// records the placements, and the first job that was refused.
struct FixedPlacement<'t> {
    given: &'t [FixedJob],
    jobs: Vec<Job>,
    max_gbps: f64,
    placed: Vec<Option<Assignment>>,
    refused: Option<(usize, Refusal)>,
}

impl Scheduler for FixedPlacement<'_> {
    fn name(&self) -> &str {
        "given"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        if let Event::Arrived(job) = event {
            self.jobs.push(job);
        }
    }

    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&at| self.given[at].device.is_none());
        for at in order {
            let job = &self.jobs[at];
            let tenant = Tenant::Job(job.id);
            let decided = match (self.given[at].device, turn.fleet().machine(MachineId(0))) {
                (Some(device), Ok(machine)) => {
                    Decision::checked("given", &job.request, &machine.view(), [device])
                }
                _ => turn.decide(pcie_aware(job.pcie_alpha, self.max_gbps), &job.request),
            };
            match decided.and_then(|decision| turn.place(tenant, decision)) {
                Ok(placed) => self.placed[at] = Some(placed),
                Err(refusal) => return self.refused = Some((at, refusal)),
            }
        }
    }
}

/// Places the jobs, and computes their slowdowns, in the order of the file. Each has the whole
/// device that it runs on or in.
fn slowdowns(
    loaded: &Loaded,
    jobs: &[FixedJob],
    args: &ContentionArgs,
) -> Result<Vec<(DeviceId, ContendedJob)>, Failure> {
    let (graph, max_gbps) = (loaded.graph(), args.max_gbps);
    let mut fleet = fleet(loaded)?;
    let mut submissions = Vec::new();
    for (id, candidate) in (0..).zip(jobs) {
        let demand = candidate
            .slice
            .map_or(Demand::any(), Demand::slice)
            .pcie_gbps(candidate.gbps);
        let request = Request::new(Pattern::independent(1).each(demand));
        let mut job = Job::new(JobId(id), request);
        job.pcie_alpha = candidate.alpha;
        submissions.push(Submission::new(job, Duration::from_secs(1)));
    }
    let workload = Workload::new("contention", submissions);
    let mut scheduler = FixedPlacement {
        given: jobs,
        jobs: Vec::new(),
        max_gbps,
        placed: vec![None; jobs.len()],
        refused: None,
    };
    let arrivals: Vec<Event> = workload
        .jobs
        .iter()
        .map(|job| Event::Arrived(job.job.clone()))
        .collect();
    // All jobs arrive at once, so one turn of the scheduler places them.
    step(
        &mut scheduler,
        &mut fleet,
        Time::ZERO,
        arrivals,
        &mut Vec::new(),
    )
    .map_err(Failure::malformed)?;
    if let Some((at, refusal)) = &scheduler.refused {
        let FixedJob { line, name, .. } = &jobs[*at];
        let why = conflict(&scheduler, *at, &fleet, graph)
            .unwrap_or_else(|| format!("it cannot be placed: {refusal}"));
        return Err(Failure::malformed(format_args!(
            "{}: line {line}: job `{name}`: {why}",
            args.jobs
        )));
    }
    let models: [&dyn Execution; 2] = [&PcieEqualShare::new(max_gbps), &PcieMaxMin::new(&workload)];
    let mut slowdowns = Vec::new();
    for ((candidate, submission), placed) in jobs.iter().zip(&workload.jobs).zip(&scheduler.placed)
    {
        let Some(placed) = placed else { continue };
        let device = placed.placement.first().copied().unwrap_or_default();
        let Device { name, parent, .. } = graph.device(device);
        let [equal_share, max_min] = models.map(|model| model.slowdown(submission, placed, &fleet));
        if max_min.is_nan() {
            return Err(Failure::malformed(format_args!(
                "job `{}`: {name} has no known path to the host: expected a machine whose description has one",
                candidate.name
            )));
        }
        let demand = submission.job.request.pattern.demands()[0];
        let gbps = f64::from(demand.pcie_mb_s) / 1000.0;
        let slowdown = Slowdowns {
            equal_share,
            max_min,
        };
        let job = ContendedJob::new(&candidate.name, name, gbps, candidate.alpha, slowdown);
        slowdowns.push((*parent, job));
    }
    Ok(slowdowns)
}

/// Why a job cannot run on its given device, if another job is there or the device is not in the
/// layout.
fn conflict(
    scheduler: &FixedPlacement<'_>,
    at: usize,
    fleet: &Fleet,
    graph: &HardwareGraph,
) -> Option<String> {
    let id = scheduler.given[at].device?;
    let (device, view) = (graph.device(id), fleet.views().next()?);
    let other = scheduler.placed.iter().position(|placed| {
        placed
            .as_ref()
            .is_some_and(|placed| placed.placement.contains(&id))
    });
    if let Some(other) = other {
        return Some(format!(
            "{} is in use by `{}`",
            device.name, scheduler.given[other].name
        ));
    }
    if view.present().contains(id) {
        return None;
    }
    let there = graph.vertices(device.parent) & view.present();
    let names: Vec<&str> = there
        .iter()
        .map(|device| graph.device(device).name.as_str())
        .collect();
    Some(format!(
        "{} is not in the current layout: expected {}",
        device.name,
        names.join(", ")
    ))
}

/// Prints the hops, then the jobs.
fn print(answer: &Contention, output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["from", "GB/s", "wanted", "carried", "jobs"], 1..4);
    for hop in &answer.hops {
        rows.add_row([
            hop.from.clone(),
            gbps(hop.gbps),
            gbps(hop.wanted_gbps),
            gbps(hop.carried_gbps),
            hop.jobs.join(", "),
        ]);
    }
    output.line(rows)?;
    output.line("")?;
    let mut rows = table(
        [
            "job",
            "device",
            "GB/s",
            "alpha",
            "wants",
            "gets",
            "equal share",
            "max-min",
        ],
        2..8,
    );
    for job in &answer.jobs {
        let bound = |text: String| if job.is_bound() { text } else { "-".to_owned() };
        rows.add_row([
            job.job.clone(),
            job.device.clone(),
            gbps(job.pcie_gbps),
            bound(job.pcie_alpha.to_string()),
            bound(gbps(job.wants_gbps)),
            bound(gbps(job.gets_gbps)),
            format!("{:.3}", job.slowdown.equal_share),
            format!("{:.3}", job.slowdown.max_min),
        ]);
    }
    output.line(rows)?;
    output.line(
        "Slowdowns by Eq. 2 (equal share) and by max-min sharing. \"Gets\" is by max-min, GB/s.",
    )
}
