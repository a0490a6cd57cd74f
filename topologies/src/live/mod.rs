//! The machine that this runs on, asked of its drivers: the one place in the crate, besides [`read_kfd`], that does I/O.
//!
//! Three sources are asked in turn, and the first that says enough of a machine is taken: NVML, NVIDIA's library, loaded
//! when it is asked (feature `nvml`, Linux); `nvidia-smi`, run as a command; the tree of AMD's kernel driver KFD in sysfs.
//! None of them can hang the caller: commands are killed after a time limit, and a library that does not answer is left to
//! itself on its thread.
//!
//! Drivers can be slow. A device plugin was seen to lose 16 to 30 seconds a call to finding the links anew
//! (NVIDIA/k8s-device-plugin issue 774), so what was found is [kept in a file](Live::cache) until the machine is started
//! again or its driver changes. Only a whole answer is kept: one that lacks something because a driver failed or hung is asked
//! for again, and so is one of a source that stood in for another that failed. What changes without either ([`State`]: the instances of a GPU that is cut up, links that
//! are down, counters) is never kept: it is there only if the drivers were asked.

// The parts: `nvml` asks and `nvml_machine` puts the answers together, `nvidia_smi` runs the `command`s, `host` reads what
// the system's files say of the machine itself, `cache` keeps it.

mod cache;
mod command;
mod host;
mod nvidia_smi;
#[cfg(all(feature = "nvml", target_os = "linux"))]
mod nvml;
#[cfg(all(feature = "nvml", target_os = "linux"))]
mod nvml_machine;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::dump::{Dump, MigInstance, MigProfile, PeerAccess, Port, Says};
use crate::error::{Error, ErrorKind};
use crate::machine::{Machine, Warning};
use crate::readers::read_kfd;
use cache::Slot;
use host::Host;

/// Where to look, how long to wait, and where to keep what is found.
///
/// ```
/// use mapa_topologies::live::Live;
///
/// let mut live = Live::default();
/// live.refresh = true; // ask, whatever was kept
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Live {
    /// The NVML library: a path, or a name that the loader finds [default: `libnvidia-ml.so.1`].
    pub nvml: PathBuf,
    /// The command: a path, or a name that is in `PATH` [default: `nvidia-smi`].
    pub nvidia_smi: PathBuf,
    /// The nodes of AMD's KFD [default: `/sys/class/kfd/kfd/topology/nodes`].
    pub kfd: PathBuf,
    /// Beneath which the other files of `/proc`, `/sys`, `/etc` and `/dev` are read [default: `/`].
    pub root: PathBuf,
    /// How long each command may take, and NVML as a whole [default: 30 seconds].
    pub time_limit: Duration,
    /// The folder in which what was found is kept; none to keep nothing [default: [`default_cache`]].
    pub cache: Option<PathBuf>,
    /// To ask anew whatever was kept, and keep the answer.
    pub refresh: bool,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            nvml: PathBuf::from("libnvidia-ml.so.1"),
            nvidia_smi: PathBuf::from("nvidia-smi"),
            kfd: PathBuf::from("/sys/class/kfd/kfd/topology/nodes"),
            root: PathBuf::from("/"),
            time_limit: Duration::from_secs(30),
            cache: default_cache(),
            refresh: false,
        }
    }
}

/// `$XDG_CACHE_HOME/mapa`, or `~/.cache/mapa`; none if neither is an absolute path.
#[must_use]
pub fn default_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("mapa"))
}

/// The machine that was found, and how.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Discovered {
    /// The machine, called by its host's name.
    pub machine: Machine,
    /// Which of its parts are told, rather than assumed.
    pub says: Says,
    /// What may be otherwise a minute later; none if the answer is from the cache, where this is never kept.
    pub state: Option<State>,
    /// Who told it.
    pub by: Source,
    /// The version of the driver that told it, if it is known.
    pub driver: Option<String>,
    /// Whether it was kept from an earlier call.
    pub cached: bool,
    /// When it was asked of the drivers.
    pub at: SystemTime,
    /// The file in which it is kept, if it is. If it was to be kept and is not, the last of the machine's warnings says why.
    pub file: Option<PathBuf>,
    /// Who was asked in this call, in order; nobody if the answer is from the cache.
    pub tried: Vec<Attempt>,
}

/// What changes while a machine runs.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// The direct links of devices, one by one, also those that are down.
    pub ports: Vec<Port>,
    /// Whether devices can reach each other's memory.
    pub peer_access: Vec<PeerAccess>,
    /// The MIG instances that exist.
    pub mig_instances: Vec<MigInstance>,
    /// The MIG profiles that devices offer.
    pub mig_profiles: Vec<MigProfile>,
}

/// Who can be asked, in the order in which they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Source {
    /// NVIDIA's library.
    Nvml,
    /// NVIDIA's command.
    NvidiaSmi,
    /// The tree of AMD's kernel driver in sysfs.
    Kfd,
}

impl Source {
    /// Every source, in the order in which they are asked.
    pub const ALL: [Self; 3] = [Self::Nvml, Self::NvidiaSmi, Self::Kfd];

    /// Its name: `nvml`, `nvidia-smi` or `kfd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvml => "nvml",
            Self::NvidiaSmi => "nvidia-smi",
            Self::Kfd => "kfd",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One source that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Who.
    pub source: Source,
    /// The library, command or folder.
    pub place: PathBuf,
    /// Why it did not give a machine; none if it did.
    pub failure: Option<String>,
}

/// What a source gave.
struct Found {
    machine: Machine,
    says: Says,
    driver: Option<String>,
    state: State,
    /// A question that failed or hung, and how: asked again, it may be answered.
    unanswered: Option<String>,
}

/// Why a source gave no machine.
enum Silence {
    /// It is not there, which will not change before long.
    Absent(String),
    /// It failed or hung, or what it says is no machine: asked again, it may say more.
    Failed(String),
}

impl From<Error> for Silence {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Found {
    /// What one dump says, if it is enough of a machine.
    fn from_dump(dump: Dump) -> Result<Self, Error> {
        let state = State {
            ports: dump.ports.clone(),
            peer_access: dump.peer_access.clone(),
            mig_instances: dump.mig_instances.clone(),
            mig_profiles: dump.mig_profiles.clone(),
        };
        let says = dump.says;
        Ok(Self { machine: dump.into_machine()?, says, driver: None, state, unanswered: None })
    }
}

/// Asks the drivers what machine this is, or gives what they said before.
///
/// The answer of an earlier call is given without asking if it was on this machine since it was started, with this version
/// of the driver and of this crate, for a caller that sees the same devices, and with the same paths in `live`.
///
/// # Errors
/// [`ErrorKind::Unavailable`]: no source gave a machine. The message lists where each was looked for, and what it lacked.
pub fn discover(live: &Live) -> Result<Discovered, Error> {
    let host = Host::new(&live.root);
    let slot = live.cache.as_deref().and_then(|folder| Slot::new(folder, &host, live));
    if let Some(kept) = slot.as_ref().filter(|_| !live.refresh).and_then(Slot::read) {
        return Ok(kept);
    }
    let mut tried = Vec::new();
    let mut failed = None;
    for source in Source::ALL {
        let mut attempt = Attempt { source, place: place(source, live).to_owned(), failure: None };
        match ask(source, live, &host) {
            Ok(mut found) => {
                tried.push(attempt);
                found.machine.name = host.name().unwrap_or_else(|| "live".to_owned());
                found.unanswered = failed.or(found.unanswered);
                return Ok(keep(found, source, tried, slot.as_ref()));
            }
            Err(Silence::Absent(what)) => attempt.failure = Some(what),
            Err(Silence::Failed(what)) => {
                failed.get_or_insert_with(|| format!("{source}: {what}"));
                attempt.failure = Some(what);
            }
        }
        tried.push(attempt);
    }
    Err(Error::of_kind(ErrorKind::Unavailable, nothing(&tried)))
}

/// Asks `nvidia-smi` what went over the links of this machine's devices so far: [`Port::traffic`] of the dump. Never kept.
///
/// # Errors
/// [`ErrorKind::Unavailable`]: there is no such command, it did not answer in time, or no driver counts bytes. The message
/// says which.
pub fn counters(live: &Live) -> Result<Dump, Error> {
    nvidia_smi::counters(live)
}

fn place(source: Source, live: &Live) -> &Path {
    match source {
        Source::Nvml => &live.nvml,
        Source::NvidiaSmi => &live.nvidia_smi,
        Source::Kfd => &live.kfd,
    }
}

fn ask(source: Source, live: &Live, host: &Host<'_>) -> Result<Found, Silence> {
    match source {
        Source::Nvml => ask_nvml(live),
        Source::NvidiaSmi => nvidia_smi::ask(live, host),
        Source::Kfd => ask_kfd(live, host),
    }
}

#[cfg(all(feature = "nvml", target_os = "linux"))]
fn ask_nvml(live: &Live) -> Result<Found, Silence> {
    nvml::ask(live)
}

#[cfg(not(all(feature = "nvml", target_os = "linux")))]
fn ask_nvml(_: &Live) -> Result<Found, Silence> {
    Err(Silence::Absent("not in this build: expected one for Linux with the feature `nvml`".to_owned()))
}

fn ask_kfd(live: &Live, host: &Host<'_>) -> Result<Found, Silence> {
    if !live.kfd.is_dir() {
        return Err(Silence::Absent("no such folder".to_owned()));
    }
    let found = Found::from_dump(read_kfd(&live.kfd)?)?;
    Ok(Found { driver: host.amd_driver(), ..found })
}

/// The answer, kept for the next call if it is whole. That it is not kept is only odd.
fn keep(found: Found, by: Source, tried: Vec<Attempt>, slot: Option<&Slot>) -> Discovered {
    let Found { machine, says, driver, state, unanswered } = found;
    let at = SystemTime::now();
    let mut discovered =
        Discovered { machine, says, state: Some(state), by, driver, cached: false, at, file: None, tried };
    let Some(slot) = slot else { return discovered };
    let written = match unanswered {
        Some(what) => Err(what),
        None => slot.write(&discovered).map_err(|error| format!("{}: {error}", slot.file().display())),
    };
    match written {
        Ok(()) => discovered.file = Some(slot.file().to_owned()),
        Err(why) => {
            let what = format!("not kept for the next call: {why}");
            discovered.machine.warnings.push(Warning { line: None, what });
        }
    }
    discovered
}

fn nothing(tried: &[Attempt]) -> String {
    let attempt = |Attempt { source, place, failure }: &Attempt| {
        format!("{source} ({}): {}", place.display(), failure.as_deref().unwrap_or_default())
    };
    format!("no accelerators found: {}", tried.iter().map(attempt).collect::<Vec<_>>().join("; "))
}
