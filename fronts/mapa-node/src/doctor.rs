//! `mapa-node doctor`: what this machine lacks, and what to do about it.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use clap::Args;
use mapa_front::answer::node::{CheckStatus, Diagnosis, NODE_VERSION};
use mapa_live::levers::{Bounds, Controller, LeverSet, MpsServer, Version};
use mapa_live::telemetry::{Sampler, SamplerConfig, ScrapeTarget};
use mapa_live::{Discovered, Live, Processes};
use rustix::fs::{Access, access, statfs};

use crate::cli::MachineArgs;
use crate::daemon::DaemonConfig;
use crate::degraded::degraded;
use crate::error::Error;
use crate::leader::leader;
use crate::ledger::{FaultKind, Ledger};
use crate::node::Node;
use crate::output::Output;
use crate::path_visibility::hidden;
use crate::service::gid;

/// The arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The configuration of the daemon, to be checked too.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Checks this machine by its drivers now, not by the cache. False if something is broken.
///
/// # Errors
/// The configuration cannot be read.
pub(crate) fn doctor(
    args: &DoctorArgs,
    machine: &MachineArgs,
    ledger: &Path,
    output: Output,
) -> Result<bool, Error> {
    let mut live = machine.live();
    live.refresh = true;
    let live = &live;
    let config: DaemonConfig = match &args.config {
        Some(path) => DaemonConfig::read(path)?,
        None => DaemonConfig::default(),
    };
    let mut found = Diagnosis {
        version: NODE_VERSION,
        checks: Vec::new(),
    };
    described(&mut found, machine, live);
    drivers(&mut found, live);
    let levers = LeverSet::of(live, Bounds::default());
    mig(&mut found, &levers);
    mps(&mut found, &levers, &config);
    groups(&mut found, live);
    counters(&mut found, live);
    let targets = config.telemetry.targets(config.sources().values());
    signals(&mut found, live, targets);
    books(&mut found, ledger);
    sockets(&mut found, &config);
    show(&found, output);
    Ok(found
        .checks
        .iter()
        .all(|check| check.status != CheckStatus::Broken))
}

fn show(found: &Diagnosis, output: Output) {
    if output.json {
        output.object(found);
        return;
    }
    for check in &found.checks {
        let word = match check.status {
            CheckStatus::Ok => "ok     ",
            CheckStatus::Missing => "missing",
            CheckStatus::Broken => "BROKEN ",
        };
        output.line(format!("{word}  {}: {}", check.check, check.detail));
        if let Some(hint) = &check.hint {
            output.line(format!("         -> {hint}"));
        }
    }
}

/// The machine that `--machine` names: the drivers are not asked for it.
fn described(found: &mut Diagnosis, machine: &MachineArgs, live: &Live) {
    let spec = machine.spec();
    if spec.machine.is_empty() {
        return;
    }
    let what = format!("machine {}", spec.machine.join(" + "));
    match Node::load(&spec, live, &mut |_| {}) {
        Ok(node) => {
            let devices = node.graph().wholes().len();
            found.ok(&what, format!("{devices} devices, as it is described"));
        }
        Err(error) => found.broken(
            &what,
            error.to_string(),
            "name a machine of the catalogue (mapa-bench machines), or a file",
        ),
    }
}

fn drivers(found: &mut Diagnosis, live: &Live) {
    let what = "accelerators";
    match mapa_live::discover(live) {
        Ok(discovered) => {
            let devices = discovered.machine.fabric.device_count();
            let driver = discovered.driver.as_ref();
            let driver = driver.map_or_else(String::new, |driver| format!(", driver {driver}"));
            found.ok(
                what,
                format!("{devices} devices by {}{driver}", discovered.by.name()),
            );
            paths(found, &discovered);
            links(found, &discovered);
            match mapa_live::watch(live) {
                Ok(_) => found.ok("health of devices", "it is watched by NVML"),
                Err(error) => found.missing(
                    "health of devices",
                    error.to_string(),
                    "errors of devices are seen on machines with NVML alone; cordon by hand elsewhere",
                ),
            }
        }
        Err(error) => found.missing(
            what,
            error.to_string(),
            "install the driver, or name the machine: mapa-node --machine NAME or FILE",
        ),
    }
}

/// What to do if the driver did not answer.
#[cfg(feature = "slo")]
const ASK_AGAIN: &str =
    "look at the driver's log, and ask again; `[slo]` of the daemon does so by itself";
#[cfg(not(feature = "slo"))]
const ASK_AGAIN: &str = "look at the driver's log, and ask again";

/// What to do if paths are hidden.
#[cfg(feature = "slo")]
const HIDDEN_PATHS: &str =
    "`[slo]` of the daemon infers contention from counters: name the `devices` of its tenants";
#[cfg(not(feature = "slo"))]
const HIDDEN_PATHS: &str = "describe the machine in a file";

/// Whether it is known which devices share a path.
fn paths(found: &mut Diagnosis, machine: &Discovered) {
    let what = "paths between devices";
    if let Some(why) = &machine.unanswered {
        found.missing(what, format!("unanswered: {why}"), ASK_AGAIN);
        return;
    }
    match machine.machine.graph() {
        Ok(graph) => match hidden(machine, &graph) {
            None => found.ok(what, "it is known which devices share one"),
            Some(why) => found.missing(what, why, HIDDEN_PATHS),
        },
        Err(error) => found.missing(what, error.to_string(), "describe the machine in a file"),
    }
}

/// Whether direct links are down, or PCIe has less than device and slot have.
fn links(found: &mut Diagnosis, machine: &Discovered) {
    let what = "links of devices";
    if machine.links.is_empty() {
        return;
    }
    let Ok(graph) = machine.machine.graph() else {
        return;
    };
    let lacks = degraded(&graph, &machine.links);
    if lacks.is_empty() {
        found.ok(what, "none is known to be down");
    }
    for lack in lacks {
        let hint = match lack.fault {
            FaultKind::LinksDown => {
                "look at nvidia-smi nvlink -s and the driver's log; a reset of the GPU trains its links again"
            }
            _ => {
                "look at nvidia-smi -q -d PCIE; a card that does not sit well in its slot has fewer lanes"
            }
        };
        let name = &graph.device(lack.device).name;
        found.broken(what, format!("{name}: {}", lack.detail), hint);
    }
}

/// What devices and exporters tell, and what they do not.
fn signals(found: &mut Diagnosis, live: &Live, targets: Vec<ScrapeTarget>) {
    let watched = SamplerConfig {
        targets: targets.clone(),
        ..SamplerConfig::default()
    };
    // One sample is enough to see which signals are missing. Rates need two, and are not checked here.
    let sample = Sampler::new(live.clone(), watched).sample(0);
    let what = "counters of devices";
    // The same is often missing of each device.
    let mut lacks: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    // The sampler calls a missing signal `gpu NUMBER SIGNAL`, and `gpu NUMBER` if it cannot read the device at
    // all.
    for missing in &sample.missing {
        let Some((gpu, signal)) = missing
            .what
            .strip_prefix("gpu ")
            .map(|text| text.split_once(' ').unwrap_or((text, "all")))
        else {
            continue;
        };
        lacks.entry((signal, &missing.why)).or_default().push(gpu);
    }
    // `gpus` is missing where no library lists devices.
    let absent = sample.missing.iter().find(|signal| signal.what == "gpus");
    match absent {
        Some(gap) => found.missing(what, gap.why.clone(), "install the driver"),
        None if lacks.is_empty() => {
            let count = sample.gpus.len();
            found.ok(
                what,
                format!("{count} devices tell use, traffic, retries, power and processes"),
            );
        }
        None => {
            for ((signal, why), gpus) in lacks {
                found.missing(
                    what,
                    format!("{signal} of {}: {why}", gpus.join(", ")),
                    "dcgm-exporter may tell it: set `telemetry.dcgm`; else it is not known",
                );
            }
        }
    }
    for target in &targets {
        let what = format!("exporter {}", target.url);
        let names: Vec<&str> = sample
            .missing
            .iter()
            .filter_map(|missing| missing.what.strip_prefix(&target.url)?.strip_prefix(' '))
            .collect();
        // For an exporter the name is `URL SERIES`, or the URL alone if it did not answer.
        let silent = sample
            .missing
            .iter()
            .find(|missing| missing.what == target.url);
        match silent {
            Some(missing) => found.missing(
                &what,
                missing.why.clone(),
                "start it, or take it out of the configuration",
            ),
            None if names.is_empty() => found.ok(&what, "it tells all that is read of it"),
            None => found.missing(
                &what,
                format!("it does not tell {}", names.join(", ")),
                "switch these on where it is started; a histogram appears with its first request",
            ),
        }
    }
}

fn mig(found: &mut Diagnosis, levers: &LeverSet) {
    let what = "MIG";
    match levers.mig.devices() {
        Ok(devices) if devices.is_empty() => found.missing(
            what,
            "no device can be partitioned",
            "schedulers that repartition only wait here",
        ),
        Ok(devices) => {
            for device in devices {
                match levers.mig.state(&device.uuid) {
                    Ok(state) => {
                        let mode = if state.enabled { "on" } else { "off" };
                        let count = state.instances.len();
                        let text = format!("{}: MIG is {mode}, {count} instances", device.uuid);
                        found.ok(what, text);
                    }
                    Err(error) => found.broken(
                        what,
                        format!("{}: {error}", device.uuid),
                        "run as root, and look at nvidia-smi -q",
                    ),
                }
            }
        }
        Err(error) => found.missing(
            what,
            error.to_string(),
            "schedulers that repartition only wait here",
        ),
    }
    if levers.reconcilers.is_empty() {
        found.ok("other MIG reconcilers", "none is seen");
    }
    for reconciler in &levers.reconcilers {
        found.broken(
            "other MIG reconcilers",
            reconciler.clone(),
            "two that set layouts undo each other: stop it, or leave `mig` out of `levers.enabled`",
        );
    }
}

fn mps(found: &mut Diagnosis, levers: &LeverSet, config: &DaemonConfig) {
    let server = MpsServer(config.levers.mps_pipe.clone());
    let place = server.0.display().to_string();
    let why = match levers.mps.is_running(&server) {
        Ok(true) => return found.ok("MPS", format!("its control daemon answers at {place}")),
        Ok(false) => String::new(),
        Err(error) => format!(": {error}"),
    };
    found.missing(
        "MPS",
        format!("no control daemon answers at {place}{why}"),
        "CUDA_MPS_PIPE_DIRECTORY=.. nvidia-cuda-mps-control -d, or leave `mps` out of `levers.enabled`",
    );
}

/// Whether this process may write there.
fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

fn groups(found: &mut Diagnosis, live: &Live) {
    let root = live.roots.cgroup.display();
    for (name, controller) in [
        ("block I/O", Controller::BlockIo),
        ("cpuset", Controller::Cpuset),
    ] {
        let what = format!("control groups: {name}");
        let hint = format!(
            "mount cgroup v2 with {}, or v1 with {}",
            controller.v2(),
            controller.v1()
        );
        let (version, folder) = match controller.hierarchy(&live.roots) {
            Ok(Some((Version::V1, folder))) => ("v1", folder),
            Ok(Some((Version::V2, folder))) => ("v2", folder),
            Ok(None) => {
                found.missing(&what, format!("{root} has no such controller"), &hint);
                continue;
            }
            Err(error) => {
                found.broken(&what, format!("{root}: {error}"), &hint);
                continue;
            }
        };
        if may_write(&folder) {
            found.ok(&what, format!("{version} at {}", folder.display()));
        } else {
            found.missing(
                &what,
                format!("{version} at {}, which may not be written", folder.display()),
                "run as root, or delegate a group (Delegate=yes in the unit) and name it in `levers.group`",
            );
        }
    }
}

fn counters(found: &mut Diagnosis, live: &Live) {
    for (what, file) in [
        ("counters of disks", live.roots.proc.join("diskstats")),
        ("counters of interrupts", live.roots.proc.join("interrupts")),
    ] {
        match fs::read(&file) {
            Ok(_) => found.ok(what, file.display().to_string()),
            Err(error) => found.missing(
                what,
                format!("{}: {error}", file.display()),
                "schedulers that guard latencies see less",
            ),
        }
    }
    let nodes = live.roots.sys.join("devices/system/node/node0");
    if nodes.is_dir() {
        found.ok("NUMA", "the kernel shows its nodes");
    } else {
        found.missing(
            "NUMA",
            format!("{} is not there", nodes.display()),
            "jobs are bound to no node",
        );
    }
}

/// File systems on which SQLite's log does not work, and one that a restart empties, by the numbers of
/// statfs(2).
const REMOTE: [(i64, &str); 7] = [
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x0BD0_0BD0, "Lustre"),
    (0x00C3_6400, "Ceph"),
];
const TMPFS: i64 = 0x0102_1994;

fn books(found: &mut Diagnosis, ledger: &Path) {
    let what = "ledger";
    let folder = ledger.parent().filter(|path| !path.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let place = ledger.display().to_string();
    let Ok(system) = statfs(folder) else {
        found.missing(
            what,
            format!("{}: there is no such folder", folder.display()),
            "install -d -m 2770 -g mapa /var/lib/mapa, or name another --ledger",
        );
        return;
    };
    // The type is an unsigned or a signed word, by platform.
    let kind = i64::from(system.f_type as u32);
    if let Some((_, name)) = REMOTE.iter().find(|row| row.0 == kind) {
        found.broken(
            what,
            format!("{place} is on {name}"),
            "name a --ledger on a local disk: its log needs shared memory",
        );
        return;
    }
    if kind == TMPFS {
        found.missing(
            "ledger",
            format!("{place} is in memory"),
            "cordons and layouts are forgotten at a restart: name a --ledger on a disk",
        );
    }
    // `Ledger::open` would make the file, and the doctor only reads.
    if !ledger.exists() {
        found.missing(
            what,
            format!("{place} is not there yet"),
            "the first command makes it",
        );
        return;
    }
    let read = || -> Result<String, Error> {
        let mut books = Ledger::open(ledger)?;
        books.verify()?;
        let processes = Processes::new()?;
        let leader = books.read(|book| leader(book, &processes))?;
        Ok(match leader {
            Some(daemon) => format!(
                "sound; process {} orders the queue by {}",
                daemon.process.id.pid, daemon.scheduler
            ),
            None => "sound; no daemon orders the queue".to_owned(),
        })
    };
    match read() {
        Ok(text) => found.ok(what, format!("{place}: {text}")),
        Err(error) => found.broken(what, error.to_string(), "see docs/mapa-run.md, Recover"),
    }
}

fn sockets(found: &mut Diagnosis, config: &DaemonConfig) {
    let service = &config.service;
    let what = "latencies";
    match &service.latencies {
        None => found.missing(
            what,
            "`service.latencies` is not set",
            "set it in the configuration if tenants are to tell how long requests take",
        ),
        Some(path) => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            if folder.is_dir() && may_write(folder) {
                found.ok(what, path.display().to_string());
            } else {
                found.broken(
                    what,
                    format!("{}: may not be written", folder.display()),
                    "RuntimeDirectory=mapa in the unit makes /run/mapa",
                );
            }
        }
    }
    if let Some(group) = &service.group
        && let Err(error) = gid("service.group", group)
    {
        found.broken("socket", error.to_string(), "groupadd mapa");
    }
    match service.metrics {
        None => found.missing(
            "metrics",
            "`service.metrics` is not set",
            "set it, such as 127.0.0.1:9464, for Prometheus",
        ),
        // Binding is the only sure test whether the address is free. The listener closes at once.
        Some(address) => match TcpListener::bind(address) {
            Ok(_) => found.ok("metrics", address.to_string()),
            Err(error) => found.missing(
                "metrics",
                format!("{address}: {error}"),
                "in use by this daemon already, or choose another",
            ),
        },
    }
}
