//! `read`: what descriptions of machines are, and what they tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mapa_core::{DeviceId, HardwareGraph, LinkClass};
use mapa_topologies::{Dump, Error, ErrorKind, HostDetail, Kind, Warning, read, read_kfd, recognise};
use serde_json::{Value, json};

use crate::cli::ReadArgs;
use crate::failure::Failure;
use crate::output::{Output, table};

pub(crate) fn read_files(args: &ReadArgs, output: &mut Output) -> Result<(), Failure> {
    let mut paths = Vec::new();
    for path in &args.paths {
        walk(path, &mut paths);
    }
    let files: Vec<File> = paths.into_iter().map(File::look).collect();
    if output.json {
        let list: Vec<Value> = files.iter().map(File::as_json).collect();
        return output.object(&json!({ "files": list, "summary": summary_json(&files) }));
    }
    if !args.summary {
        let mut rows = table(["file", "what it is", "devices", "direct links each", "host", "outcome"], [2]);
        for file in &files {
            let devices = file.devices.map_or("-".to_owned(), |devices| devices.to_string());
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
    let header = ["kind", "files"].into_iter().chain(Outcome::ALL.map(Outcome::name));
    let mut rows = table(header, 1..=1 + Outcome::ALL.len());
    for (kind, counts) in summary(&files) {
        let total: usize = counts.iter().sum();
        let cells = std::iter::once(total).chain(counts);
        let cells = cells.map(|n| if n == 0 { String::new() } else { n.to_string() });
        rows.add_row(std::iter::once(kind).chain(cells));
    }
    output.line(rows)
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// A whole machine.
    Machine,
    /// The same, but something was odd.
    Warned,
    /// Facts to be merged with another dump of the same machine.
    Part,
    /// Well formed, and there is no device in it.
    NoDevices,
    /// Cut, garbled or otherwise wrong.
    Refused,
    /// A kind that is known and not read.
    Unsupported,
    /// No kind that is known.
    Unknown,
}

impl Outcome {
    const ALL: [Self; 7] =
        [Self::Machine, Self::Warned, Self::Part, Self::NoDevices, Self::Refused, Self::Unsupported, Self::Unknown];

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

struct File {
    path: PathBuf,
    kind: Option<Kind>,
    outcome: Outcome,
    devices: Option<usize>,
    /// Direct links of each device: `6`, `4-6`, with a word if they end at a switch.
    links: Option<String>,
    host: Option<HostDetail>,
    /// Warnings, or what is wrong.
    says: Vec<String>,
}

impl File {
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
            let dump = read_kfd(&blank.path);
            return Self { kind: Some(Kind::Kfd), ..blank }.with(dump);
        }
        match fs::read(&blank.path) {
            Err(error) => Self { says: vec![error.to_string()], ..blank },
            Ok(bytes) => {
                let kind = std::str::from_utf8(&bytes).ok().and_then(|text| recognise(text).ok());
                Self { kind, ..blank }.with(read(&bytes))
            }
        }
    }

    fn with(self, dump: Result<Dump, Error>) -> Self {
        let dump = match dump {
            Ok(dump) => dump,
            Err(error) => {
                let outcome = match error.kind() {
                    ErrorKind::Unsupported => Outcome::Unsupported,
                    ErrorKind::Unknown => Outcome::Unknown,
                    _ => Outcome::Refused,
                };
                // That a text is none of all kinds needs no list of them here.
                let says = if outcome == Outcome::Unknown { Vec::new() } else { vec![error.to_string()] };
                return Self { outcome, says, ..self };
            }
        };
        let says: Vec<String> = dump.machine.warnings.iter().map(Warning::to_string).collect();
        let devices = dump.machine.fabric.device_count();
        let (host, told) = (dump.says.host, dump.says.direct);
        let read = Self { devices: Some(devices), host: Some(host), ..self };
        match dump.into_machine().and_then(|machine| machine.graph()) {
            Ok(graph) => {
                let outcome = if says.is_empty() { Outcome::Machine } else { Outcome::Warned };
                Self { outcome, links: Some(if told { links(&graph) } else { "-".to_owned() }), says, ..read }
            }
            Err(_) if devices == 0 => Self { outcome: Outcome::NoDevices, says, ..read },
            Err(error) if error.kind() == ErrorKind::Incomplete => Self { outcome: Outcome::Part, says, ..read },
            Err(error) => Self { outcome: Outcome::Refused, says: vec![error.to_string()], ..read },
        }
    }

    fn what(&self) -> String {
        self.kind.map_or("-", Kind::name).to_owned()
    }

    fn as_json(&self) -> Value {
        json!({
            "file": self.path.display().to_string(), "kind": self.kind.map(Kind::name), "outcome": self.outcome.name(),
            "devices": self.devices, "direct_links_each": self.links, "host": self.host.map(host_name), "says": self.says,
        })
    }
}

/// The direct links of each device: those of its port, if it hangs from a link switch.
fn links(graph: &HardwareGraph) -> String {
    let count = |class| if let LinkClass::Direct(n) = class { u32::from(n) } else { 0 };
    let ids = || graph.wholes().iter().collect::<Vec<DeviceId>>().into_iter();
    let own = |a: DeviceId| match graph.device(a).switch_port {
        Some(port) => count(port.class),
        None => ids().map(|b| count(graph.pair(a, b).direct.class)).sum(),
    };
    let (least, most) = ids().map(own).fold((u32::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    let range = if least == most { most.to_string() } else { format!("{least}-{most}") };
    if ids().any(|id| graph.device(id).switch_port.is_some()) { format!("{range} to a switch") } else { range }
}

/// Files below a path, by name; a folder that is a KFD tree stays one.
fn walk(path: &Path, into: &mut Vec<PathBuf>) {
    let is_tree = path.join("nodes").is_dir() || path.join("0").join("properties").is_file();
    let Some(entries) = fs::read_dir(path).ok().filter(|_| !is_tree) else {
        // What cannot be read is said when it is looked at.
        into.push(path.to_owned());
        return;
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().for_each(|entry| walk(entry, into));
}

/// By kind, in their order, how many files had each outcome.
fn summary(files: &[File]) -> Vec<(String, [usize; Outcome::ALL.len()])> {
    let mut counts: BTreeMap<Option<usize>, [usize; Outcome::ALL.len()]> = BTreeMap::new();
    let place = |kind: Option<Kind>| kind.and_then(|kind| Kind::all().position(|other| other == kind));
    for file in files {
        let outcome = Outcome::ALL.iter().position(|outcome| *outcome == file.outcome);
        // What is of no kind comes last.
        let key = place(file.kind).or(Some(usize::MAX));
        let row = counts.entry(key).or_default();
        if let Some(count) = outcome.and_then(|outcome| row.get_mut(outcome)) {
            *count += 1;
        }
    }
    let name = |place: Option<usize>| place.and_then(|place| Kind::all().nth(place)).map_or("-", Kind::name);
    counts.into_iter().map(|(place, counts)| (name(place).to_owned(), counts)).collect()
}

fn summary_json(files: &[File]) -> Value {
    let row = |(kind, counts): (String, [usize; Outcome::ALL.len()])| {
        let outcomes: serde_json::Map<String, Value> =
            Outcome::ALL.iter().zip(counts).map(|(outcome, n)| (outcome.name().to_owned(), json!(n))).collect();
        json!({ "kind": kind, "outcomes": outcomes })
    };
    summary(files).into_iter().map(row).collect()
}
