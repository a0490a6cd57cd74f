//! The cache: the answer of an earlier call, kept in a file until the machine boots again. It has what joins
//! devices. The state of links is not kept: each read asks the driver for it.
//!
//! Each machine has a file of its own, so that servers that share a home folder do not overwrite
//! each other's. The file is written under another name and renamed, so that a reader without locks
//! sees all of one version or all of another. It names the machine, boot, drivers and caller for
//! which it holds. A file for others, of another format, or a broken one counts as none and is
//! overwritten. A command is named by its full path and by the file that is there.
//!
//! Whoever can write the file decides which devices jobs get. So only a regular file is believed that is the caller's
//! own, and that nobody else may read or write. A link is not followed, and a FIFO is not waited for.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mapa_topologies::{MAX_BYTES, Machine, Says, Warning};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::found::{Discovered, SourceResult};
use crate::host::HostFiles;
use crate::live::Live;
use crate::source::Source;

const FORMAT: &str = "mapa-live";
const VERSION: u32 = 3;

/// The machine and caller for which an answer holds. If any field differs, the drivers are queried.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheKey {
    /// The version of this crate, because the next version may read more of a driver's answer.
    release: String,
    /// A hash of the machine's id. systemd's documentation asks not to expose the id itself.
    machine: String,
    boot: String,
    view: String,
    drivers: Vec<String>,
    /// The library, the command, the folders, and whether this build can load the library.
    asked: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheEntry {
    format: String,
    version: u32,
    key: CacheKey,
    /// Seconds since 1970.
    at: u64,
    by: String,
    driver: Option<String>,
    description: Description,
}

/// How a machine is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum Description {
    /// Of a source that does not tell which links are up.
    Machine {
        /// The text of a machine file.
        text: String,
        says: Says,
        warnings: Vec<Warning>,
    },
    /// The answers from which it follows with the present state of links.
    Answers(Value),
}

/// An answer as it is kept, without the present state of links.
pub(crate) struct KeptAnswer {
    by: Source,
    driver: Option<String>,
    at: SystemTime,
    description: Description,
}

impl KeptAnswer {
    /// The answers from which the machine follows with the present state of links, if its source tells that.
    pub(crate) fn answers(&self) -> Option<&Value> {
        match &self.description {
            Description::Answers(answers) => Some(answers),
            Description::Machine { .. } => None,
        }
    }

    /// The machine, which `of_answers` makes of the answers; `None` if there is none.
    pub(crate) fn discovered(
        &self,
        of_answers: Option<SourceResult>,
        file: &Path,
    ) -> Option<Discovered> {
        let (machine, says, links, intact) = match &self.description {
            Description::Machine {
                text,
                says,
                warnings,
            } => {
                let mut machine = Machine::from_toml(text).ok()?;
                machine.warnings.clone_from(warnings);
                (machine, *says, Vec::new(), None)
            }
            Description::Answers(_) => {
                let found = of_answers?;
                (found.machine, found.says, found.links, found.intact)
            }
        };
        Some(Discovered {
            machine,
            says,
            state: None,
            by: self.by,
            driver: self.driver.clone(),
            cached: true,
            at: self.at,
            file: Some(file.to_owned()),
            tried: Vec::new(),
            unanswered: None,
            links,
            intact,
        })
    }
}

/// The cache file for this machine and caller.
pub(crate) struct CacheSlot {
    folder: PathBuf,
    file: PathBuf,
    key: CacheKey,
}

impl CacheSlot {
    /// The slot of this caller; `None` if the host has no boot id.
    pub(crate) fn new(folder: &Path, host: &HostFiles<'_>, live: &Live) -> Option<Self> {
        let boot = host.boot()?;
        // Without an id of the machine, that of the boot stands in: it belongs to one machine too,
        // only not for long.
        let machine = hash(&host.machine().unwrap_or_else(|| boot.clone()));
        let (kfd, roots) = (live.kfd(), &live.roots);
        let command = found(&live.nvidia_smi);
        let places: [&Path; 7] = [
            &live.nvml,
            &command,
            &kfd,
            &roots.sys,
            &roots.proc,
            &roots.etc,
            &roots.dev,
        ];
        let mut asked: Vec<String> = places.into_iter().map(absolute).collect();
        let nvml = cfg!(all(feature = "nvml", target_os = "linux"));
        asked.push(identity(&command));
        asked.push(identity(&live.nvml));
        asked.push(if nvml { "with nvml" } else { "without nvml" }.to_owned());
        let key = CacheKey {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
            boot,
            view: host.view(),
            drivers: host.drivers(),
            asked,
        };
        Some(Self {
            folder: folder.to_owned(),
            file: folder.join(format!("live-{}.json", key.machine)),
            key,
        })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The kept answer, if it holds for this machine and caller.
    pub(crate) fn read(&self) -> Option<KeptAnswer> {
        let mut bytes = Vec::new();
        own_file(&self.file)?
            // A longer file is cut off, does not parse, and so counts as none.
            .take(MAX_BYTES as u64)
            .read_to_end(&mut bytes)
            .ok()?;
        let entry: CacheEntry = serde_json::from_slice(&bytes).ok()?;
        if entry.format != FORMAT || entry.version != VERSION || entry.key != self.key {
            return None;
        }
        let by = Source::ALL
            .into_iter()
            .find(|source| source.name() == entry.by)?;
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(entry.at))?;
        Some(KeptAnswer {
            by,
            driver: entry.driver,
            at,
            description: entry.description,
        })
    }

    /// Writes an answer to the cache, with the answers from which it follows, if there are such. It replaces the
    /// earlier one.
    pub(crate) fn write(&self, found: &Discovered, answers: Option<Value>) -> io::Result<()> {
        let since = found
            .at
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let description = match answers {
            Some(answers) => Description::Answers(answers),
            None => Description::Machine {
                text: found.machine.to_toml().map_err(io::Error::other)?,
                says: found.says,
                warnings: found.machine.warnings.clone(),
            },
        };
        let entry = CacheEntry {
            format: FORMAT.to_owned(),
            version: VERSION,
            key: self.key.clone(),
            at: since.as_secs(),
            by: found.by.name().to_owned(),
            driver: found.driver.clone(),
            description,
        };
        let text = serde_json::to_string_pretty(&entry).map_err(io::Error::other)?;
        fs::create_dir_all(&self.folder)?;
        let mut builder = tempfile::Builder::new();
        // It is its owner's alone.
        builder.prefix("live-").suffix(".tmp");
        // In the folder of the cache: a rename replaces a file in one step only within a file
        // system.
        let mut draft = builder.tempfile_in(&self.folder)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(&self.file)?;
        Ok(())
    }
}

/// The file, if it is a regular one of this user, and nobody else's to read or write.
#[cfg(unix)]
fn own_file(path: &Path) -> Option<fs::File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    use rustix::fs::OFlags;

    let mut options = fs::OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.read(true).custom_flags(flags.bits() as i32);
    let file = options.open(path).ok()?;
    let about = file.metadata().ok()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    (about.is_file() && is_own && about.mode() & 0o077 == 0).then_some(file)
}

#[cfg(not(unix))]
fn own_file(path: &Path) -> Option<fs::File> {
    fs::File::open(path).ok()
}

/// Where a command is: a bare name is looked up in `PATH`, as the system does.
fn found(command: &Path) -> PathBuf {
    if command.components().count() != 1 {
        return command.to_owned();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(command));
    files
        .find(|file| file.is_file())
        .unwrap_or_else(|| command.to_owned())
}

/// What tells a file from another in its place: device and number, length, and when it was written.
#[cfg(unix)]
fn identity(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;

    fs::metadata(path).map_or_else(
        |_| "none".to_owned(),
        |file| {
            format!(
                "{}:{} {} {}.{}",
                file.dev(),
                file.ino(),
                file.len(),
                file.mtime(),
                file.mtime_nsec()
            )
        },
    )
}

#[cfg(not(unix))]
fn identity(path: &Path) -> String {
    fs::metadata(path).map_or_else(
        |_| "none".to_owned(),
        |file| format!("{} {:?}", file.len(), file.modified().ok()),
    )
}

/// The absolute form of a path. A bare name is left as it is, because it is looked up in `PATH` or
/// by the loader, not in the working directory.
fn absolute(path: &Path) -> String {
    let bare = path.components().count() == 1;
    let path = if bare {
        path.to_owned()
    } else {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    };
    path.display().to_string()
}

/// FNV-1a of 64 bits, which is the same in every release.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
