//! What was found, kept in a file until the machine is started again.
//!
//! One file a machine, so that servers that share a home directory do not get in each other's way. It is written elsewhere
//! and moved into place, so that whoever reads sees all of one writing or of another, without locks. It says for whom it
//! holds; a file that is anybody else's, of another format or broken is as good as none and will be overwritten.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use std::{fs, process};

use serde::{Deserialize, Serialize};

use super::host::Host;
use super::{Discovered, Live, Source};
use crate::dump::{HostDetail, Says};
use crate::machine::{Machine, Warning};
use crate::readers::MAX_BYTES;

const FORMAT: &str = "mapa-live";
const VERSION: u32 = 1;

/// For whom an answer holds: where any of this differs, the drivers are asked again.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    /// Of this crate, which may read more tomorrow.
    release: String,
    /// A hash: systemd asks that machine ids are not passed on.
    machine: String,
    boot: String,
    view: String,
    drivers: Vec<String>,
    /// The library, the command and the folder, and whether the library can be asked.
    asked: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    format: String,
    version: u32,
    key: Key,
    /// Seconds since 1970.
    at: u64,
    by: String,
    driver: Option<String>,
    #[serde(with = "SaysEntry")]
    says: Says,
    warnings: Vec<WarningEntry>,
    /// A machine file.
    machine: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Says", deny_unknown_fields)]
struct SaysEntry {
    every_device: bool,
    direct: bool,
    direct_gbps: bool,
    #[serde(with = "HostDetailEntry")]
    host: HostDetail,
    host_gbps: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HostDetail", rename_all = "lowercase")]
enum HostDetailEntry {
    Nothing,
    Numa,
    Classes,
    Tree,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WarningEntry {
    line: Option<usize>,
    what: String,
}

/// Where the answer for this machine and caller is kept.
pub(super) struct Slot {
    file: PathBuf,
    key: Key,
}

/// A path as it is meant where this runs. A bare name is looked up elsewhere, and stays.
fn absolute(path: &Path) -> String {
    let bare = path.components().count() == 1;
    let path = if bare { path.to_owned() } else { std::path::absolute(path).unwrap_or_else(|_| path.to_owned()) };
    path.display().to_string()
}

impl Slot {
    /// None where nothing tells whether the machine was started again.
    pub(super) fn new(folder: &Path, host: &Host<'_>, live: &Live) -> Option<Self> {
        let boot = host.boot()?;
        let machine = hash(&host.machine().unwrap_or_else(|| boot.clone()));
        let paths = [&live.nvml, &live.nvidia_smi, &live.kfd, &live.root];
        let nvml = if cfg!(all(feature = "nvml", target_os = "linux")) { "with nvml" } else { "without nvml" };
        let asked = paths.into_iter().map(|path| absolute(path)).chain([nvml.to_owned()]).collect();
        let key = Key {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
            boot,
            view: host.view(),
            drivers: host.drivers(),
            asked,
        };
        Some(Self { file: folder.join(format!("live-{}.json", key.machine)), key })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// What is kept, if it holds.
    pub(super) fn read(&self) -> Option<Discovered> {
        let mut bytes = Vec::new();
        fs::File::open(&self.file).ok()?.take(MAX_BYTES as u64).read_to_end(&mut bytes).ok()?;
        let entry: Entry = serde_json::from_slice(&bytes).ok()?;
        if entry.format != FORMAT || entry.version != VERSION || entry.key != self.key {
            return None;
        }
        let by = Source::ALL.into_iter().find(|source| source.name() == entry.by)?;
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(entry.at))?;
        let mut machine = Machine::from_toml(&entry.machine).ok()?;
        machine.warnings =
            entry.warnings.into_iter().map(|WarningEntry { line, what }| Warning { line, what }).collect();
        Some(Discovered {
            machine,
            says: entry.says,
            state: None,
            by,
            driver: entry.driver,
            cached: true,
            at,
            file: Some(self.file.clone()),
            tried: Vec::new(),
        })
    }

    /// Keeps what was found, in place of what was kept.
    pub(super) fn write(&self, found: &Discovered) -> io::Result<()> {
        let warning = |Warning { line, what }: &Warning| WarningEntry { line: *line, what: what.clone() };
        let since = found.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let entry = Entry {
            format: FORMAT.to_owned(),
            version: VERSION,
            key: self.key.clone(),
            at: since.as_secs(),
            by: found.by.name().to_owned(),
            driver: found.driver.clone(),
            says: found.says,
            warnings: found.machine.warnings.iter().map(warning).collect(),
            machine: found.machine.to_toml().map_err(io::Error::other)?,
        };
        let text = serde_json::to_string_pretty(&entry).map_err(io::Error::other)?;
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let draft = self.draft();
        let written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&draft)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&draft, &self.file));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }

    /// A name that no other writer has: servers that share the folder have other machines' names.
    fn draft(&self) -> PathBuf {
        static WRITINGS: AtomicU64 = AtomicU64::new(0);
        let number = WRITINGS.fetch_add(1, Ordering::Relaxed);
        let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        self.file.with_extension(format!("{}-{number}-{moment}.tmp", process::id()))
    }
}

/// FNV-1a of 64 bits: the same in every release.
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}
