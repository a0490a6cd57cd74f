//! The files of the tree, wherever they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::text;
use crate::error::{Error, ErrorKind};

/// A file of the tree that is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) node: u32,
    pub(super) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Properties,
    MemoryBank(u32),
    IoLink(u32),
    P2pLink(u32),
}

impl Place {
    /// The file at the end of this path: `.../2/io_links/0/properties`.
    fn of(path: &str) -> Option<Self> {
        let mut parts = path.rsplit('/');
        let file = parts.next()?;
        let number = number(parts.next()?)?;
        if file != "properties" {
            return None;
        }
        let part = match parts.next() {
            Some("mem_banks") => Part::MemoryBank(number),
            Some("io_links") => Part::IoLink(number),
            Some("p2p_links") => Part::P2pLink(number),
            Some("caches" | "perf") => return None,
            _ => return Some(Self { node: number, part: Part::Properties }),
        };
        Some(Self { node: self::number(parts.next()?)?, part })
    }
}

fn number(text: &str) -> Option<u32> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        match self.part {
            Part::Properties => write!(f, "{node}/properties"),
            Part::MemoryBank(i) => write!(f, "{node}/mem_banks/{i}/properties"),
            Part::IoLink(i) => write!(f, "{node}/io_links/{i}/properties"),
            Part::P2pLink(i) => write!(f, "{node}/p2p_links/{i}/properties"),
        }
    }
}

/// A line of a file, and where it stands: in the text, or in the file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    value: u64,
    line: Option<usize>,
}

/// The keys of a file that are of use.
pub(super) type Keys = BTreeMap<&'static str, Entry>;

/// Those keys. The others, some forty a node, are left where they are.
const KEYS: [&str; 15] = [
    "cpu_cores_count",
    "simd_count",
    "io_links_count",
    "gfx_target_version",
    "location_id",
    "domain",
    "unique_id",
    "heap_type",
    "size_in_bytes",
    "type",
    "node_from",
    "node_to",
    "weight",
    "min_bandwidth",
    "max_bandwidth",
];

/// The files that are there, and those that the kernel hides.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: BTreeMap<Place, Keys>,
    pub(super) hidden: BTreeSet<Place>,
    /// Where the folder is; none of a text.
    root: Option<PathBuf>,
    /// The last line that was of the tree.
    last_line: Option<usize>,
}

/// A line that `grep -r ""` prints, taken apart.
pub(super) struct Line<'t> {
    place: Place,
    pub(super) key: &'static str,
    value: &'t str,
}

/// `.../2/properties:simd_count 416`, if the key is of use.
pub(super) fn entry(line: &str) -> Option<Line<'_>> {
    // A folder's name may have a colon in it, as PCI addresses have.
    let colons = line.char_indices().filter(|&(_, c)| c == ':').take(8);
    let (place, value) = colons.filter_map(|(i, _)| Some((Place::of(&line[..i])?, &line[i + 1..]))).next()?;
    let (key, value) = setting(value)?;
    Some(Line { place, key, value })
}

/// `simd_count 416`, if the key is of use.
fn setting(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once(' ').unwrap_or((line, ""));
    let key = KEYS.iter().find(|known| **known == key)?;
    Some((key, value.trim()))
}

impl Tree {
    pub(super) fn from_text(text: &str) -> Result<Self, Error> {
        let mut tree = Self::default();
        for (line, text) in text::lines(text) {
            if let Some(error) = text.trim_start().strip_prefix("grep: ") {
                // `grep: .../3/properties: Operation not permitted`
                let place = error.split_once(": ").and_then(|(path, _)| Place::of(path));
                tree.hidden.extend(place);
                continue;
            }
            let Some(Line { place, key, value }) = entry(&text) else { continue };
            tree.add(place, key, value, Some(line))?;
            tree.last_line = Some(line);
        }
        Ok(tree)
    }

    fn add(&mut self, place: Place, key: &'static str, value: &str, line: Option<usize>) -> Result<(), Error> {
        let Ok(value) = value.parse() else {
            return Err(self.error(place, line, format!("{key} `{value}`: expected a whole number")));
        };
        let before = self.files.entry(place).or_default().insert(key, Entry { value, line });
        if before.is_some() {
            return Err(self.error(place, line, format!("a second {key}: expected the tree of one machine")));
        }
        Ok(())
    }

    /// An error in a file: at its line of the text, or under its name in the folder.
    pub(super) fn error(&self, place: Place, line: Option<usize>, what: String) -> Error {
        match (&self.root, line) {
            (Some(root), _) => Error::in_element(None, root.join(place.to_string()).display().to_string(), what),
            (None, Some(line)) => Error::in_element(Some(line), place.to_string(), what),
            (None, None) => Error::in_element(self.last_line, place.to_string(), what),
        }
    }

    /// A value of a file; 0 where the file does not have the key, as older drivers do.
    pub(super) fn value(&self, place: Place, key: &str) -> u64 {
        self.files.get(&place).and_then(|keys| keys.get(key)).map_or(0, |entry| entry.value)
    }

    /// Where a key of a file stands in the text.
    pub(super) fn line(&self, place: Place, key: &str) -> Option<usize> {
        self.files.get(&place).and_then(|keys| keys.get(key)).and_then(|entry| entry.line)
    }

    /// A value that must fit into 32 bits, if the file has it.
    pub(super) fn number(&self, place: Place, key: &str) -> Result<Option<u32>, Error> {
        let Some(entry) = self.files.get(&place).and_then(|keys| keys.get(key)) else { return Ok(None) };
        let wrong = |_| self.error(place, entry.line, format!("{key} {}: expected at most {}", entry.value, u32::MAX));
        u32::try_from(entry.value).map(Some).map_err(wrong)
    }

    /// The parts of a node of one kind.
    pub(super) fn parts(&self, node: u32, of: fn(u32) -> Part) -> impl Iterator<Item = Place> {
        let place = move |i| Place { node, part: of(i) };
        self.files.range(place(0)..=place(u32::MAX)).map(|(&place, _)| place)
    }

    /// The nodes that have properties.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.files.keys().filter(|place| place.part == Part::Properties).map(|place| place.node)
    }

    pub(super) fn from_folder(root: &Path) -> Result<Self, Error> {
        let below = ["topology/nodes", "nodes"].map(|below| root.join(below));
        let nodes = below.into_iter().find(|below| below.is_dir()).unwrap_or_else(|| root.to_owned());
        let mut tree = Self { root: Some(nodes.clone()), ..Self::default() };
        for node in numbered(&nodes)? {
            tree.read_file(Place { node, part: Part::Properties })?;
            tree.read_parts(node, "mem_banks", Part::MemoryBank)?;
            tree.read_parts(node, "io_links", Part::IoLink)?;
            tree.read_parts(node, "p2p_links", Part::P2pLink)?;
        }
        if tree.files.is_empty() && tree.hidden.is_empty() {
            let what = format!("{}: expected folders 0, 1, ... with properties in them", nodes.display());
            return Err(Error::of_kind(ErrorKind::Unavailable, what));
        }
        Ok(tree)
    }

    /// Reads the parts of a node of one kind; older drivers have no `p2p_links`.
    fn read_parts(&mut self, node: u32, name: &str, part: fn(u32) -> Part) -> Result<(), Error> {
        let folder = self.root.iter().fold(PathBuf::new(), |_, root| root.join(node.to_string()).join(name));
        for i in if folder.is_dir() { numbered(&folder)? } else { Vec::new() } {
            self.read_file(Place { node, part: part(i) })?;
        }
        Ok(())
    }

    /// Reads one file of the folder. One that is not there says nothing; one that may not be read is hidden.
    fn read_file(&mut self, place: Place) -> Result<(), Error> {
        if self.files.len() > MOST_FILES {
            return Err(self
                .error(place, None, format!("more than {MOST_FILES} files"))
                .with_kind(ErrorKind::TooLarge));
        }
        let path = self.root.iter().fold(PathBuf::new(), |_, root| root.join(place.to_string()));
        let text = match read_start(&path) {
            Ok(text) => text,
            Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.hidden.insert(place);
                return Ok(());
            }
            Err(error) => return Err(unavailable(&path, &error)),
        };
        for line in text.lines() {
            if let Some((key, value)) = setting(line) {
                self.add(place, key, value, None)?;
            }
        }
        Ok(())
    }
}

/// The most bytes that are read of a file: sysfs gives no more than a page.
const PAGE: u64 = 4096;

/// The most folders that are looked at in a folder: the links of a device to as many others as there can be, and to
/// processors.
const MOST_FOLDERS: usize = 2 * mapa_core::MAX_DEVICES;

/// The most files that are read: those of some four hundred devices that are all linked to each other.
const MOST_FILES: usize = 200_000;

fn read_start(path: &Path) -> io::Result<String> {
    // Anything else, such as a pipe, could keep the reader waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(PAGE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folders in a folder whose names are numbers, in order.
fn numbered(folder: &Path) -> Result<Vec<u32>, Error> {
    let entries = fs::read_dir(folder).map_err(|error| unavailable(folder, &error))?;
    let mut numbers = Vec::new();
    for entry in entries.take(MOST_FOLDERS + 1) {
        let entry = entry.map_err(|error| unavailable(folder, &error))?;
        numbers.extend(entry.file_name().to_str().and_then(number));
    }
    if numbers.len() > MOST_FOLDERS {
        let what = format!("{}: more than {MOST_FOLDERS} folders", folder.display());
        return Err(Error::of_kind(ErrorKind::TooLarge, what));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn unavailable(path: &Path, error: &io::Error) -> Error {
    Error::of_kind(ErrorKind::Unavailable, format!("{}: {error}", path.display()))
}
