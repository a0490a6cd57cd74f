//! The command line of `mapa`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use mapa_front::shell::{CommandGroup, Shell};
use mapa_front::{DeviceName, JobSpec, Like, MachineSpec, ModelSpec, NicFor, PolicySpec, TimeWord};
use mapa_live::Live;

use crate::error::Error;
use crate::job_environment::EnvironmentParts;

const AFTER: &str = "\
Exit status of `mapa run`: that of the command; 128 and the number of the signal that ended it; or, if it never
started: 2 a malformed request, 69 infeasible (never on this machine), 70 the search reached its limit, 75 busy (try
later, or --wait), 124 the time of --time was up, 125 the ledger or the system failed, 126 the command cannot be run,
127 there is no such command. Other commands use the same numbers.";

/// Gives accelerators of this machine to commands, each alone on its devices.
#[derive(Debug, Parser)]
#[command(name = "mapa", version, after_help = AFTER)]
pub(crate) struct Cli {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The ledger [default: MAPA_LEDGER; else /var/lib/mapa/ledger.db, which all users share; with --private or --machine,
    /// where that folder is missing, mapa/ledger.db in the user's folder of state].
    #[arg(long, global = true, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Use a ledger of this user's own, in the folder of state, although there may be none that all users share: others do
    /// not see what it gives, and may get the same devices.
    #[arg(long, global = true, conflicts_with = "ledger")]
    pub private: bool,
    /// Answer in JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command on devices that it has alone.
    Run(Box<RunArgs>),
    /// List who holds which devices, and who waits.
    Ps,
    /// List which devices are free, and what holds the others.
    Free,
    /// End a lease.
    Release(ReleaseArgs),
    /// Give a device no new tenants. Whoever is there stays.
    Cordon(CordonArgs),
    /// Give a device new tenants again: lift its cordon, and forget what was wrong with it.
    Uncordon(UncordonArgs),
    /// List all who have ever asked for devices, and what they hold now.
    Tenants,
    /// Record the health of devices (Xids, losses, resets) in the ledger, until a signal ends this.
    Monitor,
    /// Print the audit, latest last.
    Log(LogArgs),
    /// Free what crashes have left, adopt what still runs, and check the ledger.
    Recover,
    /// End an expired lease if its `mapa run` was killed. `mapa run --time` starts this.
    #[command(hide = true)]
    Keep(KeepArgs),
    /// Write completions of the command line for a shell: bash, zsh, fish, elvish or powershell.
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual pages, one for each command.
    Man(ManArgs),
}

const COMPLETIONS: &str = "\
Examples:
  mapa completions bash > ~/.local/share/bash-completion/completions/mapa
  mapa completions zsh > ~/.zfunc/_mapa
  mapa completions fish > ~/.config/fish/completions/mapa.fish";

/// The commands of `mapa` by task.
pub(crate) fn groups() -> Vec<CommandGroup> {
    let group = |heading, commands| CommandGroup { heading, commands };
    vec![
        group("Jobs", vec!["run", "release"]),
        group("State", vec!["ps", "free", "tenants", "log"]),
        group(
            "Operation",
            vec!["cordon", "uncordon", "monitor", "recover"],
        ),
        group("Shell", vec!["completions", "man"]),
    ]
}

/// Whose completions are written.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

/// Where manual pages are written.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder of the pages; it is made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
}

/// The machine, on the command line.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// The machine: a name of the catalogue, or a file [default: the machine that this runs on, by its drivers].
    #[arg(long, global = true, value_name = "NAME|FILE")]
    pub machine: Vec<String>,
    /// The GPU whose MIG profiles every device has, and the instances of each: a100-40gb=3g,2g,1g,1g.
    #[arg(long, global = true, value_name = "GPU[=PROFILES]")]
    pub mig: Option<String>,
    /// The NVML library [default: libnvidia-ml.so.1, where the loader finds it].
    #[arg(long, global = true, hide_short_help = true, value_name = "PATH")]
    pub nvml: Option<PathBuf>,
    /// Query the drivers even if the cache has an answer.
    #[arg(long, global = true, hide_short_help = true)]
    pub refresh: bool,
}

impl MachineArgs {
    /// The machine as a request names it.
    #[must_use]
    pub fn spec(&self) -> MachineSpec {
        MachineSpec {
            machine: self.machine.clone(),
            mig: self.mig.clone(),
            ..MachineSpec::default()
        }
    }

    /// How the machine is discovered.
    #[must_use]
    pub fn live(&self) -> Live {
        let mut live = Live::default();
        if let Some(path) = &self.nvml {
            live.nvml.clone_from(path);
        }
        live.refresh = self.refresh;
        live
    }
}

/// What a job wants.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How many devices; with --slice, how many instances. A pattern such as tp=4,pp=2 implies the number.
    #[arg(short = 'n', long, value_name = "K")]
    pub gpus: Option<usize>,
    /// Which ranks communicate: ring, chain, star, tree, all-to-all, independent, edges such as 0-1,1-2, degrees
    /// such as tp=4,pp=2, or a pattern file.
    #[arg(long, default_value = "ring", allow_hyphen_values = true)]
    pub pattern: String,
    /// Bytes that each rank of a training job sends in a step, such as tp=2e9,pp=1e8.
    #[arg(long, value_name = "BYTES")]
    pub bytes: Option<String>,
    /// Whether the job's speed depends on its links [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub sensitive: Option<bool>,
    /// Give each rank a MIG instance of this profile, not a whole device.
    #[arg(long, value_name = "PROFILE")]
    pub slice: Option<String>,
    /// The policy that chooses: see `mapa-bench allocate --help` for all names.
    #[arg(long, default_value = "auto")]
    pub policy: String,
    /// The model by which the policy predicts bandwidth.
    #[arg(long, value_name = "MODEL|FILE")]
    pub model: Option<ModelSpec>,
    /// Devices that the job must get.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub must_include: Vec<String>,
    /// Devices that the job must not get.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub avoid: Vec<String>,
    /// The worst class of link that the job's edges may use: sys, node, phb, pxb, pix, nv1, ...
    #[arg(long, value_name = "LINK")]
    pub min_link: Option<String>,
    /// Place the whole job on one NUMA node.
    #[arg(long)]
    pub same_numa: bool,
    /// Which devices count as alike: product, so that all are of one product, or any [default:
    /// product].
    #[arg(long, value_name = "WHICH")]
    pub like: Option<Like>,
    /// Network cards that must be near each GPU. Jobs and ranks may share a card.
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub nics: Option<u8>,
    /// How near these must be, the worst class of path: pix, pxb, phb, node, sys [default: pix].
    #[arg(long, hide_short_help = true, value_name = "LINK")]
    pub nic_within: Option<String>,
    /// Whether cards must be near each GPU, or near that of rank 0 [default: gpu].
    #[arg(long, hide_short_help = true, value_name = "gpu|job")]
    pub nic_for: Option<NicFor>,
    /// Stop the search after this many nodes.
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub max_nodes: Option<u64>,
    /// Stop a search after this time, and take the best devices so far: 10, 500ms, 2m, none. A daemon that decides has its
    /// own limit, of 10 s [default: 10s].
    #[arg(long, hide_short_help = true, value_name = "TIME|none")]
    pub time_limit: Option<TimeWord>,
    /// Wait in the queue if the devices are in use.
    #[arg(long)]
    pub wait: bool,
    /// The order of the queue: a scheduler such as easy-backfill, foresight or topology-plan [default: first come, first
    /// served, and nobody overtakes].
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// The longest that the command runs: 90, 90s, 10m, 2h, 1d. Then it is ended. Schedulers plan by it.
    #[arg(long, value_name = "TIME")]
    pub time: Option<Length>,
    /// The tenant in the ledger, at most 256 bytes [default: the user].
    #[arg(long, value_name = "NAME", value_parser = tenant)]
    pub tenant: Option<String>,
    /// Do not set CUDA_DEVICE_ORDER.
    #[arg(long, help_heading = "Environment")]
    pub no_device_order: bool,
    /// Do not bind the command to the cores beside its devices.
    #[arg(long, help_heading = "Environment")]
    pub no_cpus: bool,
    /// Do not bind the command's memory to the NUMA nodes beside its devices.
    #[arg(long, help_heading = "Environment")]
    pub no_memory: bool,
    /// Do not name the nearest network cards.
    #[arg(long, hide_short_help = true, help_heading = "Environment")]
    pub no_nics: bool,
    /// Do not put the command into a control group of its own.
    #[arg(long, hide_short_help = true, help_heading = "Environment")]
    pub no_cgroup: bool,
    /// Do not query the drivers for foreign processes and device faults.
    #[arg(long, hide_short_help = true, help_heading = "Environment")]
    pub no_driver_check: bool,
    /// Say what would be chosen and set; take nothing and run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl RunArgs {
    /// The job as a request describes it.
    #[must_use]
    pub(crate) fn spec(&self) -> JobSpec {
        JobSpec {
            gpus: self.gpus,
            pattern: self.pattern.clone(),
            bytes: self.bytes.clone(),
            sensitive: self.sensitive,
            slice: self.slice.clone(),
            must_include: DeviceName::of_texts(&self.must_include),
            avoid: DeviceName::of_texts(&self.avoid),
            min_link: self.min_link.clone(),
            like: self.like,
            nics: self.nics,
            nic_within: self.nic_within.clone(),
            nic_for: self.nic_for,
            same_numa: self.same_numa,
            max_nodes: self.max_nodes,
            ..JobSpec::default()
        }
    }

    /// The policy as a request names it.
    #[must_use]
    pub(crate) fn policy(&self) -> PolicySpec {
        PolicySpec {
            policy: self.policy.clone(),
            model: self.model.clone(),
            ..PolicySpec::default()
        }
    }

    /// What of its surroundings the job is given.
    #[must_use]
    pub(crate) fn parts(&self) -> EnvironmentParts {
        EnvironmentParts {
            order: !self.no_device_order,
            cpus: !self.no_cpus,
            memory: !self.no_memory,
            nics: !self.no_nics,
        }
    }
}

/// A length of time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(pub u64);

impl std::str::FromStr for Length {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" | "s" => Some(1),
            "m" => Some(60),
            "h" => Some(3600),
            "d" => Some(86_400),
            _ => None,
        };
        let number: Option<u64> = digits.parse().ok();
        let seconds = number
            .zip(unit)
            .and_then(|(number, unit)| number.checked_mul(unit));
        // What the ledger counts in, nanoseconds since 1970, ends after 292 years.
        seconds
            .filter(|seconds| (1..=100 * 365 * 86_400).contains(seconds))
            .map(Self)
            .ok_or_else(|| {
                Error::malformed(format_args!(
                    "`{text}`: expected a time such as 90, 90s, 10m, 2h or 1d"
                ))
            })
    }
}

/// Which lease to end.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The lease to end: its processes are sent SIGTERM, and after five seconds SIGKILL.
    pub lease: i64,
    /// End it also if its processes cannot be seen from here, or do not end: its devices are free although one may still
    /// compute on them. For root, and for the user of the lease.
    #[arg(long)]
    pub force: bool,
}

/// The lease that the keeper ends in time.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Its number in the ledger.
    pub lease: i64,
}

/// What to cordon.
#[derive(Debug, Args)]
pub(crate) struct CordonArgs {
    /// Devices: ids, names, UUIDs or PCI addresses.
    #[arg(required_unless_present = "all")]
    pub devices: Vec<String>,
    /// Every device, and those that the machine gets later.
    #[arg(long, conflicts_with = "devices")]
    pub all: bool,
    /// Why.
    #[arg(long, default_value = "no reason given")]
    pub reason: String,
    /// For how long: 90, 90s, 10m, 2h, 1d [default: until `mapa uncordon`].
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Length>,
}

/// What to uncordon.
#[derive(Debug, Args)]
pub(crate) struct UncordonArgs {
    /// Devices: ids, names, UUIDs or PCI addresses.
    #[arg(required_unless_present = "all")]
    pub devices: Vec<String>,
    /// Lift the cordon of the machine.
    #[arg(long, conflicts_with = "devices")]
    pub all: bool,
    /// Why.
    #[arg(long, default_value = "no reason given")]
    pub reason: String,
}

/// Which part of the audit to print.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// How many decisions at most.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    pub last: usize,
    /// Of this lease only.
    #[arg(long, value_name = "LEASE")]
    pub lease: Option<i64>,
    /// Check that no row of the audit was changed, or removed from among the others, since it was written. The hash that
    /// is printed, kept elsewhere, tells later whether rows were removed at the end.
    #[arg(long)]
    pub verify: bool,
}

/// The most bytes of the name of a tenant, and of a reason.
pub(crate) const NAME: usize = 256;

/// Parses the name of a tenant.
///
/// # Errors
/// The name is empty or too long.
pub(crate) fn tenant(name: &str) -> Result<String, String> {
    if name.is_empty() || name.len() > NAME {
        return Err(format!("expected a name of 1 to {NAME} bytes"));
    }
    Ok(name.to_owned())
}
