//! `read`: the kind and contents of machine descriptions.

use mapa_core::{DeviceId, HardwareGraph};
use mapa_topologies::{Dump, Error, ErrorKind, HostDetail, Kind, Warning, read, recognise};

use super::topo::links_of;
use crate::answer::machines as answer;

/// The outcome of reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
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

impl ReadOutcome {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::Machine,
        Self::Warned,
        Self::Part,
        Self::NoDevices,
        Self::Refused,
        Self::Unsupported,
        Self::Unknown,
    ];

    /// What answers call it.
    #[must_use]
    pub fn name(self) -> &'static str {
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

/// What answers call it.
fn host_name(host: HostDetail) -> &'static str {
    match host {
        HostDetail::Nothing => "-",
        HostDetail::Numa => "NUMA",
        HostDetail::Classes => "classes",
        HostDetail::Tree => "tree",
    }
}

/// A file, and what was read from it.
#[derive(Clone, Debug)]
pub struct ReadFile {
    /// Its path, as it was found.
    pub file: String,
    /// What it is, if that is known.
    pub kind: Option<Kind>,
    /// How reading it ended.
    pub outcome: ReadOutcome,
    /// The number of devices, if it could be read.
    pub devices: Option<usize>,
    /// The number of direct links of each device: `6`, `4-6`, followed by `to a switch` if they end at one.
    pub links: Option<String>,
    /// What it tells of the host, if it could be read.
    pub host: Option<HostDetail>,
    /// Warnings, or the error.
    pub says: Vec<String>,
}

impl ReadFile {
    /// The contents of a file.
    pub fn of_bytes(file: impl Into<String>, bytes: &[u8]) -> Self {
        // The kind is recognised apart from reading, so that it is known for files that cannot be read.
        let kind = std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| recognise(text).ok());
        // Most fields are unknown until the file is read, so a file begins as one that cannot be read.
        let blank = Self::unreadable(file, kind, String::new());
        blank.with(read(bytes))
    }

    /// What a reader made of a folder.
    pub fn of_dump(file: impl Into<String>, kind: Kind, dump: Dump) -> Self {
        Self::unreadable(file, Some(kind), String::new()).with(Ok(dump))
    }

    /// A file that cannot be read, and why.
    pub fn unreadable(file: impl Into<String>, kind: Option<Kind>, why: String) -> Self {
        Self {
            file: file.into(),
            kind,
            outcome: ReadOutcome::Refused,
            devices: None,
            links: None,
            host: None,
            says: vec![why],
        }
    }

    /// Adds the outcome of reading the file.
    fn with(self, dump: Result<Dump, Error>) -> Self {
        let dump = match dump {
            Ok(dump) => dump,
            Err(error) => {
                let outcome = match error.kind() {
                    ErrorKind::Unsupported => ReadOutcome::Unsupported,
                    ErrorKind::Unknown => ReadOutcome::Unknown,
                    _ => ReadOutcome::Refused,
                };
                // The error for an unknown kind lists all kinds, which is too long here.
                let says = if outcome == ReadOutcome::Unknown {
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
        // `into_machine` below consumes the dump.
        let (host, told) = (dump.says.host, dump.says.direct);
        let read = Self {
            devices: Some(devices),
            host: Some(host),
            ..self
        };
        match dump.into_machine().and_then(|machine| machine.graph()) {
            Ok(graph) => {
                let outcome = if says.is_empty() {
                    ReadOutcome::Machine
                } else {
                    ReadOutcome::Warned
                };
                Self {
                    outcome,
                    // A dump without a word on direct links gets a dash, and not 0.
                    links: Some(if told {
                        links_of_each(&graph)
                    } else {
                        "-".to_owned()
                    }),
                    says,
                    ..read
                }
            }
            // Without devices a dump is incomplete too, so this arm comes before the next.
            Err(_) if devices == 0 => Self {
                outcome: ReadOutcome::NoDevices,
                says,
                ..read
            },
            Err(error) if error.kind() == ErrorKind::Incomplete => Self {
                outcome: ReadOutcome::Part,
                says,
                ..read
            },
            Err(error) => Self {
                outcome: ReadOutcome::Refused,
                says: vec![error.to_string()],
                ..read
            },
        }
    }

    /// What it is, in words; `-` if that is not known.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.kind.map_or("-", Kind::name)
    }

    /// What it tells of the host, in words; `-` if nothing.
    #[must_use]
    pub fn host(&self) -> &'static str {
        self.host.map_or("-", host_name)
    }

    fn answer(&self) -> answer::File {
        answer::File {
            file: self.file.clone(),
            kind: self.kind.map(|kind| kind.name().to_owned()),
            outcome: self.outcome.name().to_owned(),
            devices: self.devices,
            direct_links_each: self.links.clone(),
            host: self.host.map(|host| host_name(host).to_owned()),
            says: self.says.clone(),
        }
    }
}

/// What these files are and hold, as `mapa-bench read --json` answers.
#[must_use]
pub fn read_files(files: &[ReadFile]) -> answer::Read {
    answer::Read {
        files: files.iter().map(ReadFile::answer).collect(),
        summary: summary_of_kinds(files),
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
                links_of(port.class)
            }
            None => ids
                .iter()
                .map(|&b| links_of(graph.pair(a, b).direct.class))
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

/// How many files of each kind had each outcome, in the order of kinds. Files of unknown kind come
/// last.
#[must_use]
pub fn read_summary(files: &[ReadFile]) -> Vec<(&'static str, [usize; ReadOutcome::ALL.len()])> {
    let kinds = Kind::all().map(Some).chain([None]);
    let mut summary = Vec::new();
    for kind in kinds {
        // All outcomes are counted, also those that no file of this kind has, so that the rows of a table are equally
        // long.
        let mut counts = [0; ReadOutcome::ALL.len()];
        for file in files.iter().filter(|file| file.kind == kind) {
            for (count, outcome) in counts.iter_mut().zip(ReadOutcome::ALL) {
                *count += usize::from(file.outcome == outcome);
            }
        }
        if counts.iter().any(|count| *count > 0) {
            summary.push((kind.map_or("-", Kind::name), counts));
        }
    }
    summary
}

fn summary_of_kinds(files: &[ReadFile]) -> Vec<answer::KindOfFiles> {
    let mut rows = Vec::new();
    for (kind, counts) in read_summary(files) {
        let outcomes = ReadOutcome::ALL.iter().zip(counts);
        rows.push(answer::KindOfFiles {
            kind: kind.to_owned(),
            outcomes: outcomes
                .map(|(outcome, n)| (outcome.name().to_owned(), n))
                .collect(),
        });
    }
    rows
}
