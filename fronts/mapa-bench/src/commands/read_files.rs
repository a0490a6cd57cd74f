//! `read`: the kind and contents of machine descriptions.

use std::fs;
use std::path::{Path, PathBuf};

use mapa_core::{DeviceId, HardwareGraph};
use mapa_front::answer::machines as answer;
use mapa_topologies::{Dump, Error, ErrorKind, HostDetail, Kind, Warning, read, recognise};

use crate::cli::ReadArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::text::table;

use super::topo::links;

pub(crate) fn read_files(args: &ReadArgs, output: &mut Output) -> Result<(), Failure> {
    let mut paths = Vec::new();
    for path in &args.paths {
        walk(path, &mut paths);
    }
    let files: Vec<File> = paths.into_iter().map(File::look).collect();
    if output.json {
        return output.object(&answer::Read {
            files: files.iter().map(File::answer).collect(),
            summary: summary_of_kinds(&files),
        });
    }
    if !args.summary {
        let mut rows = table(
            [
                "file",
                "what it is",
                "devices",
                "direct links each",
                "host",
                "outcome",
            ],
            [2],
        );
        for file in &files {
            let devices = file
                .devices
                .map_or("-".to_owned(), |devices| devices.to_string());
            let outcome = file.outcome.name().to_owned();
            let path = file.path.display().to_string();
            let links = file.links.clone().unwrap_or_else(|| "-".to_owned());
            let host = file.host.map_or("-", host_name).to_owned();
            rows.add_row([path, file.what(), devices, links, host, outcome]);
        }
        output.line(rows)?;
        output.line("")?;
        for file in &files {
            for what in &file.says {
                output.line(format_args!("{}: {what}", file.path.display()))?;
            }
        }
        if files.iter().any(|file| !file.says.is_empty()) {
            output.line("")?;
        }
    }
    let header = ["kind", "files"]
        .into_iter()
        .chain(Outcome::ALL.map(Outcome::name));
    let mut rows = table(header, 1..=1 + Outcome::ALL.len());
    for (kind, counts) in summary(&files) {
        let total: usize = counts.iter().sum();
        let cells = std::iter::once(total).chain(counts);
        let cells = cells.map(|n| if n == 0 { String::new() } else { n.to_string() });
        rows.add_row(std::iter::once(kind).chain(cells));
    }
    output.line(rows)
}

/// The outcome of reading a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// A whole machine.
    Machine,
    /// A whole machine, with warnings.
    Warned,
    /// Facts to be merged with another dump of the same machine.
    Part,
    /// A well-formed description without any device.
    NoDevices,
    /// A description that is truncated, garbled or otherwise wrong.
    Refused,
    /// A file of a known kind that MAPA does not read.
    Unsupported,
    /// A file of no known kind.
    Unknown,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::Machine,
        Self::Warned,
        Self::Part,
        Self::NoDevices,
        Self::Refused,
        Self::Unsupported,
        Self::Unknown,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Warned => "machine, with warnings",
            Self::Part => "part of a machine",
            Self::NoDevices => "no devices",
            Self::Refused => "refused",
            Self::Unsupported => "known, not read",
            Self::Unknown => "not recognised",
        }
    }
}

fn host_name(host: HostDetail) -> &'static str {
    match host {
        HostDetail::Nothing => "-",
        HostDetail::Numa => "NUMA",
        HostDetail::Classes => "classes",
        HostDetail::Tree => "tree",
    }
}

/// A file, and what was read from it.
struct File {
    path: PathBuf,
    kind: Option<Kind>,
    outcome: Outcome,
    devices: Option<usize>,
    /// The number of direct links of each device: `6`, `4-6`, followed by `to a switch` if they end
    /// at one.
    links: Option<String>,
    host: Option<HostDetail>,
    /// Warnings, or the error.
    says: Vec<String>,
}

impl File {
    /// Reads a file, or a folder as KFD's tree.
    fn look(path: PathBuf) -> Self {
        let blank = Self {
            path,
            kind: None,
            outcome: Outcome::Refused,
            devices: None,
            links: None,
            host: None,
            says: Vec::new(),
        };
        if blank.path.is_dir() {
            let blank = Self {
                kind: Some(Kind::Kfd),
                ..blank
            };
            return match mapa_live::read_kfd(&blank.path) {
                Ok(dump) => blank.with(Ok(dump)),
                Err(error) => Self {
                    says: vec![error.to_string()],
                    ..blank
                },
            };
        }
        match fs::read(&blank.path) {
            Err(error) => Self {
                says: vec![error.to_string()],
                ..blank
            },
            Ok(bytes) => {
                let kind = std::str::from_utf8(&bytes)
                    .ok()
                    .and_then(|text| recognise(text).ok());
                Self { kind, ..blank }.with(read(&bytes))
            }
        }
    }

    /// Adds the outcome of reading the file.
    fn with(self, dump: Result<Dump, Error>) -> Self {
        let dump = match dump {
            Ok(dump) => dump,
            Err(error) => {
                let outcome = match error.kind() {
                    ErrorKind::Unsupported => Outcome::Unsupported,
                    ErrorKind::Unknown => Outcome::Unknown,
                    _ => Outcome::Refused,
                };
                // The error for an unknown kind lists all kinds, which is too long here.
                let says = if outcome == Outcome::Unknown {
                    Vec::new()
                } else {
                    vec![error.to_string()]
                };
                return Self {
                    outcome,
                    says,
                    ..self
                };
            }
        };
        let says: Vec<String> = dump
            .machine
            .warnings
            .iter()
            .map(Warning::to_string)
            .collect();
        let devices = dump.machine.fabric.device_count();
        let (host, told) = (dump.says.host, dump.says.direct);
        let read = Self {
            devices: Some(devices),
            host: Some(host),
            ..self
        };
        match dump.into_machine().and_then(|machine| machine.graph()) {
            Ok(graph) => {
                let outcome = if says.is_empty() {
                    Outcome::Machine
                } else {
                    Outcome::Warned
                };
                Self {
                    outcome,
                    links: Some(if told {
                        links_of_each(&graph)
                    } else {
                        "-".to_owned()
                    }),
                    says,
                    ..read
                }
            }
            Err(_) if devices == 0 => Self {
                outcome: Outcome::NoDevices,
                says,
                ..read
            },
            Err(error) if error.kind() == ErrorKind::Incomplete => Self {
                outcome: Outcome::Part,
                says,
                ..read
            },
            Err(error) => Self {
                outcome: Outcome::Refused,
                says: vec![error.to_string()],
                ..read
            },
        }
    }

    fn what(&self) -> String {
        self.kind.map_or("-", Kind::name).to_owned()
    }

    fn answer(&self) -> answer::File {
        answer::File {
            file: self.path.display().to_string(),
            kind: self.kind.map(|kind| kind.name().to_owned()),
            outcome: self.outcome.name().to_owned(),
            devices: self.devices,
            direct_links_each: self.links.clone(),
            host: self.host.map(|host| host_name(host).to_owned()),
            says: self.says.clone(),
        }
    }
}

/// The number of direct links of each device, or the range of it. Links to a switch count by the
/// device's port.
fn links_of_each(graph: &HardwareGraph) -> String {
    let ids: Vec<DeviceId> = graph.wholes().iter().collect();
    let (mut least, mut most, mut is_switched) = (u32::MAX, 0, false);
    for &a in &ids {
        let links = match graph.device(a).switch_port {
            Some(port) => {
                is_switched = true;
                links(port.class)
            }
            None => ids
                .iter()
                .map(|&b| links(graph.pair(a, b).direct.class))
                .sum(),
        };
        (least, most) = (least.min(links), most.max(links));
    }
    let range = if least == most {
        most.to_string()
    } else {
        format!("{least}-{most}")
    };
    if is_switched {
        format!("{range} to a switch")
    } else {
        range
    }
}

/// Collects the files below a path in the order of names. A folder that is KFD's tree counts as a
/// file.
fn walk(path: &Path, into: &mut Vec<PathBuf>) {
    let is_tree = path.join("nodes").is_dir() || path.join("0").join("properties").is_file();
    let Some(entries) = fs::read_dir(path).ok().filter(|_| !is_tree) else {
        // A file, KFD's tree, or a path that cannot be read: `File::look` reports the error.
        into.push(path.to_owned());
        return;
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        walk(&entry, into);
    }
}

/// How many files of each kind had each outcome, in the order of kinds. Files of unknown kind come
/// last.
fn summary(files: &[File]) -> Vec<(String, [usize; Outcome::ALL.len()])> {
    let kinds = Kind::all().map(Some).chain([None]);
    let mut summary = Vec::new();
    for kind in kinds {
        let mut counts = [0; Outcome::ALL.len()];
        for file in files.iter().filter(|file| file.kind == kind) {
            for (count, outcome) in counts.iter_mut().zip(Outcome::ALL) {
                *count += usize::from(file.outcome == outcome);
            }
        }
        if counts.iter().any(|count| *count > 0) {
            summary.push((kind.map_or("-", Kind::name).to_owned(), counts));
        }
    }
    summary
}

fn summary_of_kinds(files: &[File]) -> Vec<answer::KindOfFiles> {
    let mut rows = Vec::new();
    for (kind, counts) in summary(files) {
        let outcomes = Outcome::ALL.iter().zip(counts);
        rows.push(answer::KindOfFiles {
            kind: kind.to_owned(),
            outcomes: outcomes
                .map(|(outcome, n)| (outcome.name().to_owned(), n))
                .collect(),
        });
    }
    rows
}
