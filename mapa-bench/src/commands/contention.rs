//! `contention`: who shares which way to the host, and how slow each job is for it.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use csv::{ReaderBuilder, Trim};
use mapa_core::mig::Size;
use mapa_core::{Decision, Demand, Device, DeviceId, HardwareGraph, MachineId, Pattern, Refusal, Request, pcie_aware};
use mapa_sched::{Event, Fleet, Job, JobId, Placed, Scheduler, Tenant, Time, Turn, step};
use mapa_sim::{Execution, PcieEqualShare, PcieMaxMin, Profile, Submission, Workload, read_profiles};
use serde_json::{Value, json};

use crate::cli::ContentionArgs;
use crate::failure::Failure;
use crate::input::text;
use crate::machine::{Loaded, load};
use crate::output::{Output, gbps, table};
use crate::plots;
use crate::simulation::fleet;

/// A job where it runs, and how slow it is.
pub(crate) struct Slowdown {
    pub(crate) job: String,
    pub(crate) device: String,
    whole: DeviceId,
    gbps: f64,
    alpha: f64,
    pub(crate) equal_share: f64,
    pub(crate) max_min: f64,
}

impl Slowdown {
    /// What it can use, GB/s.
    fn wants(&self) -> f64 {
        self.alpha * self.gbps
    }

    fn is_bound(&self) -> bool {
        self.gbps > 0.0
    }
}

/// A hop that PCIe-bound jobs cross.
struct Hop {
    name: String,
    gbps: f64,
    /// Places in the list of jobs.
    jobs: Vec<usize>,
}

pub(crate) fn contention(args: &ContentionArgs, output: &mut Output) -> Result<(), Failure> {
    if !(args.max_gbps.is_finite() && args.max_gbps > 0.0) {
        return Err(Failure::malformed(format_args!("--max-gbps {}: expected a positive number", args.max_gbps)));
    }
    let loaded = load(&args.machine, output)?;
    let told = read_jobs(args, loaded.graph())?;
    let jobs = slowdowns(&loaded, &told, args)?;
    let hops = hops(loaded.graph(), &jobs);
    let machine = &loaded.machine.name;
    if let Some(file) = &args.svg {
        let wrong = |error| Failure::malformed(format_args!("{}: {error}", file.display()));
        fs::write(file, plots::contention(&jobs, machine)).map_err(wrong)?;
    }
    if output.json {
        return output.object(&as_json(machine, args.max_gbps, &jobs, &hops));
    }
    print(&jobs, &hops, output)?;
    args.svg.iter().try_for_each(|file| output.line(format_args!("\nwritten   {}", file.display())))
}

/// A job as the file tells it.
struct Told {
    line: u64,
    name: String,
    gbps: f64,
    alpha: f64,
    slice: Option<Size>,
    device: Option<DeviceId>,
}

fn read_jobs(args: &ContentionArgs, graph: &HardwareGraph) -> Result<Vec<Told>, Failure> {
    const COLUMNS: [&str; 6] = ["job", "profile", "pcie_gbps", "pcie_alpha", "slice", "device"];
    let profiles = profiles(args)?;
    let text = text(&args.jobs)?;
    let in_file = |what: &dyn std::fmt::Display| Failure::malformed(format_args!("{}: {what}", args.jobs));
    let mut reader = ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().map_err(|error| in_file(&error))?.iter().map(str::to_ascii_lowercase).collect();
    if let Some(strange) = header.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
        return Err(in_file(&format_args!("column `{strange}`: expected {}", COLUMNS.join(", "))));
    }
    let (mut told, mut names) = (Vec::new(), BTreeSet::new());
    for record in reader.records() {
        let record = record.map_err(|error| in_file(&error))?;
        let line = record.position().map_or(0, |at| at.line());
        let wrong = |what: &dyn std::fmt::Display| in_file(&format_args!("line {line}: {what}"));
        let get = |name: &str| {
            let cell = header.iter().position(|own| own == name).and_then(|at| record.get(at));
            cell.filter(|text| !text.is_empty())
        };
        let number = |name: &str, is_it: fn(f64) -> bool, expected: &str| {
            let number = |text: &str| text.parse().ok().filter(|&number| is_it(number));
            let bad = |text: &str| wrong(&format_args!("{name} `{text}`: expected {expected}"));
            get(name).map(|text| number(text).ok_or_else(|| bad(text))).transpose()
        };
        let told_gbps = "GB/s from 0 to 4294967.295, at most three digits after the point";
        let told_gbps = number("pcie_gbps", is_counted, told_gbps)?;
        let told_alpha = number("pcie_alpha", |alpha| alpha.is_finite() && alpha >= 0.0, "a number not below 0")?;
        let profile = |name: &str| {
            let known = || profiles.iter().map(|own| own.name.as_str()).collect::<Vec<_>>().join(", ");
            let found = profiles.iter().find(|own| own.name == name);
            found.ok_or_else(|| wrong(&format_args!("no profile is called `{name}`: expected {}", known())))
        };
        let profile = get("profile").map(profile).transpose()?;
        let name = get("job").ok_or_else(|| wrong(&"no job: expected its name in the column `job`"))?.to_owned();
        if !names.insert(name.clone()) {
            return Err(wrong(&format_args!("job `{name}` again: expected names that differ")));
        }
        let gbps = told_gbps.or(profile.map(|own| own.pcie_gbps));
        told.push(Told {
            line,
            gbps: gbps.ok_or_else(|| wrong(&"expected a profile, or pcie_gbps"))?,
            alpha: told_alpha.or(profile.map(|own| own.pcie_alpha)).unwrap_or(1.0),
            slice: get("slice").map(str::parse).transpose().map_err(|error: mapa_core::Error| wrong(&error))?,
            device: get("device").map(|device| graph.find(device)).transpose().map_err(|error| wrong(&error))?,
            name,
        });
    }
    Ok(told)
}

/// Whether so many GB/s are what is booked of them.
fn is_counted(gbps: f64) -> bool {
    (f64::from(Demand::any().pcie_gbps(gbps).pcie_mb_s) / 1000.0 - gbps).abs() < 1e-9
}

fn profiles(args: &ContentionArgs) -> Result<Vec<Profile>, Failure> {
    let Some(file) = &args.profiles else { return Ok(Profile::tang().to_vec()) };
    let wrong = |error: &dyn std::fmt::Display| Failure::malformed(format_args!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
    read_profiles(&text).map_err(|error| wrong(&error))
}

/// Puts jobs where they are told to run, the others where there is most of PCIe left; remembers where, and who got no place.
struct Given<'t> {
    told: &'t [Told],
    jobs: Vec<Job>,
    max_gbps: f64,
    placed: Vec<Option<Placed>>,
    refused: Option<(usize, Refusal)>,
}

impl Scheduler for Given<'_> {
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
        order.sort_by_key(|&at| self.told[at].device.is_none());
        for at in order {
            let job = &self.jobs[at];
            let tenant = Tenant::Job(job.id);
            let decided = match (self.told[at].device, turn.fleet().machine(MachineId(0))) {
                (Some(device), Ok(machine)) => Decision::checked("given", &job.request, &machine.view(), [device]),
                _ => turn.decide(pcie_aware(job.pcie_alpha, self.max_gbps), &job.request),
            };
            match decided.and_then(|decision| turn.place(tenant, decision)) {
                Ok(placed) => self.placed[at] = Some(placed),
                Err(refusal) => return self.refused = Some((at, refusal)),
            }
        }
    }
}

/// Each job where it runs, in the file's order.
fn slowdowns(loaded: &Loaded, told: &[Told], args: &ContentionArgs) -> Result<Vec<Slowdown>, Failure> {
    let (graph, max_gbps) = (loaded.graph(), args.max_gbps);
    let mut fleet = fleet(loaded)?;
    let submission = |(id, own): (u64, &Told)| {
        let demand = own.slice.map_or(Demand::any(), Demand::slice).pcie_gbps(own.gbps);
        let mut job = Job::new(JobId(id), Request::new(Pattern::independent(1).each(demand)));
        job.pcie_alpha = own.alpha;
        Submission::new(job, Duration::from_secs(1))
    };
    let workload = Workload::new("contention", (0..).zip(told).map(submission));
    let placed = vec![None; told.len()];
    let mut given = Given { told, jobs: Vec::new(), max_gbps, placed, refused: None };
    let arrivals: Vec<Event> = workload.jobs.iter().map(|own| Event::Arrived(own.job.clone())).collect();
    step(&mut given, &mut fleet, Time::ZERO, arrivals, &mut Vec::new()).map_err(Failure::malformed)?;
    if let Some((at, refusal)) = &given.refused {
        let at = *at;
        let Told { line, name, .. } = &told[at];
        let why = in_the_way(&given, at, &fleet, graph).unwrap_or_else(|| format!("it has no place: {refusal}"));
        return Err(Failure::malformed(format_args!("{}: line {line}: job `{name}`: {why}", args.jobs)));
    }
    let models: [&dyn Execution; 2] = [&PcieEqualShare::new(max_gbps), &PcieMaxMin::new(&workload)];
    let placed = told.iter().zip(&workload.jobs).zip(given.placed).filter_map(|(job, at)| Some((job, at?)));
    let slowdown = |((own, job), at): ((&Told, &Submission), Placed)| {
        let device = at.placement.iter().next().map_or(DeviceId::default(), |device| *device);
        let [equal_share, max_min] = models.map(|model| model.slowdown(job, &at, &fleet));
        let Device { name, parent, .. } = graph.device(device);
        if max_min.is_nan() {
            let lacks = "expected a machine whose description says how it reaches the host";
            return Err(Failure::malformed(format_args!("job `{}`: no way of {name} to the host: {lacks}", own.name)));
        }
        let (gbps, alpha) = (f64::from(job.job.request.pattern.demands()[0].pcie_mb_s) / 1000.0, own.alpha);
        Ok(Slowdown { job: own.name.clone(), device: name.clone(), whole: *parent, gbps, alpha, equal_share, max_min })
    };
    placed.map(slowdown).collect()
}

/// Why a job cannot be on the device where it is told to run, if that is because of who else is there or of its layout.
fn in_the_way(given: &Given<'_>, at: usize, fleet: &Fleet, graph: &HardwareGraph) -> Option<String> {
    let id = given.told[at].device?;
    let (device, view) = (graph.device(id), fleet.views().next()?);
    let is_there = |placed: &&Option<Placed>| placed.as_ref().is_some_and(|own| own.placement.contains(&id));
    if let Some(other) = given.placed.iter().position(|own| is_there(&own)) {
        return Some(format!("{} is taken by `{}`", device.name, given.told[other].name));
    }
    if view.present().contains(id) {
        return None;
    }
    let there = graph.vertices(device.parent) & view.present();
    let names: Vec<&str> = there.iter().map(|own| graph.device(own).name.as_str()).collect();
    Some(format!("{} is not there: expected {}", device.name, names.join(", ")))
}

/// The hops that PCIe-bound jobs cross, from devices up.
fn hops(graph: &HardwareGraph, jobs: &[Slowdown]) -> Vec<Hop> {
    let links = graph.host_links();
    let crossing = |hop: u32| {
        let crosses = |own: &Slowdown| own.is_bound() && links.path(own.whole).is_some_and(|path| path.contains(&hop));
        (0..jobs.len()).filter(|&at| crosses(&jobs[at])).collect::<Vec<_>>()
    };
    let hop =
        |(hop, (name, gbps)): (u32, (&String, &f64))| Hop { name: name.clone(), gbps: *gbps, jobs: crossing(hop) };
    let all = (0..).zip(links.names().iter().zip(links.capacities())).map(hop);
    all.filter(|hop| !hop.jobs.is_empty()).collect()
}

/// What jobs want of a hop, and what they get of it by max-min, GB/s.
fn use_of(hop: &Hop, jobs: &[Slowdown]) -> [f64; 2] {
    let sum = |of: fn(&Slowdown) -> f64| hop.jobs.iter().map(|&at| of(&jobs[at])).sum();
    [sum(Slowdown::wants), sum(|own| own.wants() / own.max_min)]
}

fn print(jobs: &[Slowdown], hops: &[Hop], output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["from", "GB/s", "wanted", "carried", "jobs"], 1..4);
    for hop in hops {
        let [wanted, carried] = use_of(hop, jobs);
        let names: Vec<&str> = hop.jobs.iter().map(|&at| jobs[at].job.as_str()).collect();
        rows.add_row([hop.name.clone(), gbps(hop.gbps), gbps(wanted), gbps(carried), names.join(", ")]);
    }
    output.line(rows)?;
    output.line("")?;
    let mut rows = table(["job", "device", "GB/s", "alpha", "wants", "gets", "equal share", "max-min"], 2..8);
    for own in jobs {
        let bound = |text: String| if own.is_bound() { text } else { "-".to_owned() };
        rows.add_row([
            own.job.clone(),
            own.device.clone(),
            gbps(own.gbps),
            bound(own.alpha.to_string()),
            bound(gbps(own.wants())),
            bound(gbps(own.wants() / own.max_min)),
            format!("{:.3}", own.equal_share),
            format!("{:.3}", own.max_min),
        ]);
    }
    output.line(rows)?;
    output.line("Slowdowns by Eq. 2 (equal share) and by max-min sharing; what is got is by the latter, GB/s.")
}

fn as_json(machine: &str, max_gbps: f64, jobs: &[Slowdown], hops: &[Hop]) -> Value {
    let hop = |hop: &Hop| {
        let [wanted, carried] = use_of(hop, jobs);
        let names: Vec<&String> = hop.jobs.iter().map(|&at| &jobs[at].job).collect();
        json!({ "from": hop.name, "gbps": hop.gbps, "wanted_gbps": wanted, "carried_gbps": carried, "jobs": names })
    };
    let job = |own: &Slowdown| {
        json!({
            "job": own.job, "device": own.device, "pcie_gbps": own.gbps, "pcie_alpha": own.alpha,
            "wants_gbps": own.wants(), "gets_gbps": own.wants() / own.max_min,
            "slowdown": { "equal-share": own.equal_share, "max-min": own.max_min },
        })
    };
    json!({
        "machine": machine, "max_gbps": max_gbps,
        "hops": hops.iter().map(hop).collect::<Vec<_>>(), "jobs": jobs.iter().map(job).collect::<Vec<_>>(),
    })
}
