//! Parses lines into records, and records into devices.

use std::rc::Rc;

use mapa_core::MAX_DEVICES;

use super::super::text;
use crate::error::Error;
use crate::machine::Warning;

/// The contents of a text.
#[derive(Default)]
pub(super) struct GresRecords {
    pub(super) listed: Vec<GresDevice>,
    /// Whether a record has AutoDetect, so that slurmd finds devices itself.
    pub(super) has_detection: bool,
    pub(super) warnings: Vec<Warning>,
}

/// A device of a record.
pub(super) struct GresDevice {
    pub(super) line: usize,
    /// The nodes that have the device, as written. Empty for all nodes.
    pub(super) node: Rc<str>,
    pub(super) device: DeviceFields,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceFields {
    pub(super) product: Option<String>,
    /// The vendor's number.
    pub(super) number: Option<u32>,
    pub(super) uuid: Option<String>,
    pub(super) cores: Option<Rc<str>>,
    /// The number of links to every device of the node; -1 for the device itself.
    pub(super) links: Option<Vec<i16>>,
    /// The MIG profile if the record is an instance, empty if the profile is unknown. `None` for a
    /// whole device.
    pub(super) instance: Option<String>,
    pub(super) is_amd: bool,
    pub(super) is_nvidia: bool,
}

/// The keys of `gres.conf` and of slurmd's output.
const KEYS: [&str; 19] = [
    "autodetect",
    "corecnt",
    "coreids",
    "cores",
    "count",
    "cpus",
    "file",
    "files",
    "flags",
    "id",
    "include",
    "index",
    "links",
    "multiplefiles",
    "name",
    "nodename",
    "type",
    "uniqueid",
    "uuid",
];

/// Whether a line is a record of GPUs, or has AutoDetect.
pub(super) fn is_record(line: &str) -> bool {
    let line = text::clean(line);
    let Some(RecordStart { words, .. }) = RecordStart::of(&tidy(&line)) else {
        return false;
    };
    words
        .split_whitespace()
        .filter_map(setting)
        .any(|(key, value)| {
            key == "autodetect" || key == "name" && value.eq_ignore_ascii_case("gpu")
        })
}

/// A line that begins a record.
struct RecordStart {
    /// The name in front of the record, as slurmd prints it.
    node: String,
    words: String,
}

impl RecordStart {
    fn of(line: &str) -> Option<Self> {
        let printed = |at: usize, words: String| {
            // A time stamp in brackets is not part of a name.
            let names = line[..at]
                .split_whitespace()
                .filter(|word| word.ends_with(':') && !word.starts_with('['));
            Self {
                node: names.collect(),
                words,
            }
        };
        if let Some(at) = line.find("Gres Name=") {
            return Some(printed(at, line[at + "Gres ".len()..].to_owned()));
        }
        // Slurmd's log: `GRES[gpu] Type:a100 Count:1 Cores(128):0-15 Links:-1,0`.
        if let Some(at) = line.find("GRES[") {
            let (name, rest) = line[at + "GRES[".len()..].split_once(']')?;
            return Some(printed(at, format!("Name={name} {rest}")));
        }
        let first = line.split_whitespace().next()?;
        let is_key = |key: &str| {
            ["name", "nodename", "autodetect"]
                .iter()
                .any(|start| key.eq_ignore_ascii_case(start))
        };
        let is_start = first.split_once('=').is_some_and(|(key, _)| is_key(key))
            || first.eq_ignore_ascii_case("include");
        is_start.then(|| Self {
            node: String::new(),
            words: line.to_owned(),
        })
    }
}

/// Removes the comment of a line, and spaces around equals signs.
fn tidy(line: &str) -> String {
    let line = line.split('#').next().unwrap_or_default();
    let mut tidy = String::with_capacity(line.len());
    for (i, part) in line.split('=').enumerate() {
        let part = if i == 0 { part } else { part.trim_start() };
        if i > 0 {
            tidy.truncate(tidy.trim_end().len());
            tidy.push('=');
        }
        tidy.push_str(part);
    }
    tidy.trim().to_owned()
}

/// Splits `Key=value`, or `Key:value` and `Cores(256):0-63` in slurmd's log. The key is returned in
/// lower case.
fn setting(word: &str) -> Option<(String, &str)> {
    let at = word.find(['=', ':'])?;
    let key = word[..at].split('(').next().unwrap_or_default();
    let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphabetic());
    is_key.then(|| (key.to_ascii_lowercase(), &word[at + 1..]))
}

pub(super) fn read(text: &str) -> Result<GresRecords, Error> {
    let mut records = GresRecords::default();
    for (line, record) in joined(text, &mut records.warnings) {
        let Some(RecordStart { node, words }) = RecordStart::of(&record) else {
            continue;
        };
        if words
            .split_whitespace()
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("include"))
        {
            let what = "the included file is not read".to_owned();
            records.warnings.push(Warning {
                line: Some(line),
                what,
            });
            continue;
        }
        let record = GresRecord::read(line, node, &words, &mut records.warnings)?;
        records.has_detection |= record.detects;
        if record
            .name
            .as_deref()
            .is_some_and(|name| name.eq_ignore_ascii_case("gpu"))
        {
            record.list(&mut records.listed)?;
        }
    }
    if records.listed.is_empty() && !records.has_detection {
        return Err(Error::new(
            "no devices: expected lines such as `Name=gpu File=/dev/nvidia0 Links=-1,4`",
        ));
    }
    Ok(records)
}

/// The records, each with its line. Lines that end in a backslash are joined with the next, and so
/// are lines that a terminal broke.
fn joined(text: &str, warnings: &mut Vec<Warning>) -> Vec<(usize, String)> {
    let mut records: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    let mut goes_on = false;
    for (line, raw) in text::lines(text) {
        let tidied = tidy(&raw);
        let (part, is_continued) = match tidied.strip_suffix('\\') {
            Some(part) => (part.trim_end(), true),
            None => (tidied.as_str(), false),
        };
        let went_on = std::mem::replace(&mut goes_on, is_continued);
        let ends_in_comma = records
            .last()
            .is_some_and(|(_, record)| record.ends_with(','));
        let first = part.split_whitespace().next().unwrap_or_default();
        match records.last_mut().filter(|_| is_open) {
            Some((_, record)) if went_on => {
                record.push(' ');
                record.push_str(part);
            }
            Some((_, record)) if part.starts_with(',') || ends_in_comma && !part.is_empty() => {
                record.push_str(part)
            }
            _ if RecordStart::of(part).is_some() => {
                records.push((line, part.to_owned()));
                is_open = true;
            }
            Some((_, record))
                if setting(first).is_some_and(|(key, _)| KEYS.contains(&key.as_str())) =>
            {
                record.push(' ');
                record.push_str(part);
            }
            _ => {
                is_open = false;
                if !part.is_empty() {
                    let what =
                        "neither a record nor a part of the previous one: ignored".to_owned();
                    warnings.push(Warning {
                        line: Some(line),
                        what,
                    });
                }
            }
        }
    }
    records
}

/// The most devices of all nodes together.
const MOST_LISTED: usize = 8 * MAX_DEVICES;

/// The fields of a record that the reader uses.
#[derive(Default)]
struct GresRecord {
    line: usize,
    node: String,
    detects: bool,
    name: Option<String>,
    kind: Option<String>,
    file: Option<String>,
    is_one: bool,
    count: Option<u64>,
    cores: Option<Rc<str>>,
    links: Option<String>,
    index: Option<u32>,
    uuid: Option<String>,
}

impl GresRecord {
    fn read(
        line: usize,
        node: String,
        words: &str,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Error> {
        let mut record = Self {
            line,
            node,
            ..Self::default()
        };
        let mut seen: Vec<String> = Vec::new();
        for word in words.split_whitespace() {
            let Some((key, value)) = setting(word) else {
                return Err(Error::at(line, format!("`{word}`: expected Key=value")));
            };
            if !KEYS.contains(&key.as_str()) {
                let what = format!("`{word}`: unknown key, ignored");
                warnings.push(Warning {
                    line: Some(line),
                    what,
                });
                continue;
            }
            if seen.contains(&key) {
                return Err(Error::at(
                    line,
                    format!("a second {key} in one record: expected each once"),
                ));
            }
            record.set(&key, value)?;
            seen.push(key);
        }
        Ok(record)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let given = Some(value.trim_matches('"').to_owned())
            .filter(|text| !text.is_empty() && text != "(null)");
        match key {
            "autodetect" => {
                self.detects = given.is_some_and(|how| !how.eq_ignore_ascii_case("off"))
            }
            "nodename" => self.node = given.unwrap_or_default(),
            "name" => self.name = given,
            "type" if value.len() > MOST_CHARACTERS => {
                let what = format!(
                    "a type of {} characters: expected at most {MOST_CHARACTERS}",
                    value.len()
                );
                return Err(Error::at(self.line, what));
            }
            "type" => self.kind = given,
            "file" | "files" => self.file = given,
            "multiplefiles" => (self.file, self.is_one) = (given, true),
            "count" => {
                let expected = || Error::at(self.line, format!("Count={value}: expected a number"));
                self.count = Some(count(value).ok_or_else(expected)?);
            }
            "cores" | "cpus" | "coreids" => self.cores = given.map(Rc::from),
            "links" => self.links = given,
            "index" => self.index = value.parse().ok(),
            "uniqueid" | "uuid" => self.uuid = given,
            _ => {}
        }
        Ok(())
    }

    /// Adds the devices of this record.
    fn list(&self, listed: &mut Vec<GresDevice>) -> Result<(), Error> {
        let wrong = |what: String| Error::at(self.line, what);
        let files = self
            .file
            .as_deref()
            .map(files)
            .transpose()
            .map_err(wrong)?
            .unwrap_or_default();
        let (product, profile) = self.kind.as_deref().map_or((None, None), split_type);
        let is_instance = profile.is_some()
            || self
                .uuid
                .as_deref()
                .is_some_and(|uuid| uuid.starts_with("MIG-"))
            || files.iter().any(|file| file.contains("/nvidia-cap"));
        let instance = is_instance.then(|| profile.unwrap_or_default());
        // If a record has several files, the numbered ones are devices. If none is numbered, all
        // are.
        let mut nodes: Vec<&String> = files.iter().filter(|file| number(file).is_some()).collect();
        if nodes.is_empty() {
            nodes = files.iter().collect();
        }
        let device = DeviceFields {
            product: product.map(str::to_owned),
            number: None,
            uuid: self.uuid.clone(),
            cores: self.cores.clone(),
            links: self
                .links
                .as_deref()
                .map(links)
                .transpose()
                .map_err(wrong)?,
            instance: instance.map(str::to_owned),
            is_nvidia: files.iter().any(|file| file.starts_with("/dev/nvidia")),
            is_amd: files.iter().any(|file| file.starts_with("/dev/dri/")),
        };
        if self.is_one || device.instance.is_some() {
            nodes.truncate(1);
        }
        let many = match self.count {
            _ if device.instance.is_some() => 1,
            Some(count) if !nodes.is_empty() && count != nodes.len() as u64 => {
                return Err(wrong(format!(
                    "Count={count}, but File has {} names: expected the same number",
                    nodes.len()
                )));
            }
            Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
            None => nodes.len().max(1),
        };
        if many > MAX_DEVICES {
            return Err(wrong(format!(
                "more than {MAX_DEVICES} devices: expected at most that many"
            )));
        }
        if listed.len() + many > MOST_LISTED {
            return Err(wrong(format!(
                "more than {MOST_LISTED} devices of all nodes: expected the records of one node"
            )));
        }
        if many > 1 && device.links.is_some() {
            return Err(wrong(format!(
                "one record has Links for {many} devices: expected a record for each"
            )));
        }
        let node: Rc<str> = Rc::from(self.node.as_str());
        for i in 0..many {
            let index = self
                .index
                .filter(|_| many == 1 && device.instance.is_none());
            let number = nodes.get(i).and_then(|file| number(file)).or(index);
            let uuid = device.uuid.clone().filter(|_| many == 1);
            let device = DeviceFields {
                number,
                uuid,
                ..device.clone()
            };
            listed.push(GresDevice {
                line: self.line,
                node: Rc::clone(&node),
                device,
            });
        }
        Ok(())
    }
}

/// A count with Slurm's suffixes K, M and G.
fn count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits
        .parse::<u64>()
        .ok()
        .map(|count| count.saturating_mul(factor))
}

fn links(text: &str) -> Result<Vec<i16>, String> {
    let link = |word: &str| {
        let value = word
            .trim()
            .parse::<i16>()
            .ok()
            .filter(|links| (-1..=i16::from(u8::MAX)).contains(links));
        value.ok_or_else(|| {
            format!(
                "`{word}` among the Links: expected -1 for the device itself, or a number of links"
            )
        })
    };
    text.split(',').map(link).collect()
}

/// The names in `/dev/nvidia[0-2,5],/dev/nvidia7`, each written out. The list stops soon after the
/// largest number of devices.
fn files(text: &str) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    let mut depth = false;
    let parts = text.split(|c: char| {
        depth = if c == '[' { true } else { depth && c != ']' };
        c == ',' && !depth
    });
    for part in parts.filter(|part| !part.is_empty()) {
        let wrong =
            || format!("File `{part}`: expected names such as /dev/nvidia0 or /dev/nvidia[0-3]");
        let Some((before, rest)) = part.split_once('[') else {
            files.push(part.to_owned());
            continue;
        };
        let (list, after) = rest.split_once(']').ok_or_else(wrong)?;
        if before.len() + after.len() > MOST_CHARACTERS {
            return Err(format!(
                "a file name of more than {MOST_CHARACTERS} characters"
            ));
        }
        for range in list.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let width = if low.starts_with('0') {
                low.len().min(9)
            } else {
                0
            };
            let (low, high): (u32, u32) =
                low.parse().ok().zip(high.parse().ok()).ok_or_else(wrong)?;
            if low > high {
                return Err(wrong());
            }
            // One name above the limit is kept, so that the caller can reject the record.
            let names = (low..=high).take((MAX_DEVICES + 1).saturating_sub(files.len()));
            files.extend(names.map(|number| format!("{before}{number:0width$}{after}")));
        }
    }
    Ok(files)
}

/// The vendor's number of the device behind a file: 3 for `/dev/nvidia3`, 2 for
/// `/dev/dri/renderD130`.
fn number(file: &str) -> Option<u32> {
    let digits = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse().ok())
            .flatten()
    };
    let render = || {
        file.strip_prefix("/dev/dri/renderD")
            .and_then(digits)
            .and_then(|number: u32| number.checked_sub(128))
    };
    file.strip_prefix("/dev/nvidia")
        .and_then(digits)
        .or_else(render)
}

/// Splits the MIG profile from the end of a type: `nvidia_h100_80gb_hbm3_4g.40gb` gives
/// `nvidia_h100_80gb_hbm3` and `4g.40gb`.
fn split_type(kind: &str) -> (Option<&str>, Option<&str>) {
    let (product, last) = kind.rsplit_once('_').unwrap_or(("", kind));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_profile = last.split_once("g.").is_some_and(|(slices, memory)| {
        let memory = memory
            .split('+')
            .next()
            .and_then(|memory| memory.strip_suffix("gb"));
        is_number(slices) && memory.is_some_and(is_number)
    });
    if is_profile {
        (
            Some(product).filter(|product| !product.is_empty()),
            Some(last),
        )
    } else {
        (Some(kind), None)
    }
}

/// The most characters of a type, and of the name around the numbers of files. The text is
/// copied for every device of a record.
const MOST_CHARACTERS: usize = 256;
