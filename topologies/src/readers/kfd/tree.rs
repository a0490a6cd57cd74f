//! The files of the tree, read from text or added one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use super::super::text;
use crate::error::{Error, ErrorKind};

/// The position of a file that the reader uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KfdPlace {
    pub(super) node: u32,
    pub(super) part: KfdPart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KfdPart {
    Properties,
    MemoryBank(u32),
    IoLink(u32),
    P2pLink(u32),
}

impl KfdPlace {
    /// The file at the end of this path: `.../2/io_links/0/properties`.
    fn of(path: &str) -> Option<Self> {
        let mut parts = path.rsplit('/');
        let file = parts.next()?;
        let number = number(parts.next()?)?;
        if file != "properties" {
            return None;
        }
        let part = match parts.next() {
            Some("mem_banks") => KfdPart::MemoryBank(number),
            Some("io_links") => KfdPart::IoLink(number),
            Some("p2p_links") => KfdPart::P2pLink(number),
            Some("caches" | "perf") => return None,
            _ => {
                return Some(Self {
                    node: number,
                    part: KfdPart::Properties,
                });
            }
        };
        Some(Self {
            node: self::number(parts.next()?)?,
            part,
        })
    }
}

fn number(text: &str) -> Option<u32> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

impl fmt::Display for KfdPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        match self.part {
            KfdPart::Properties => write!(f, "{node}/properties"),
            KfdPart::MemoryBank(i) => write!(f, "{node}/mem_banks/{i}/properties"),
            KfdPart::IoLink(i) => write!(f, "{node}/io_links/{i}/properties"),
            KfdPart::P2pLink(i) => write!(f, "{node}/p2p_links/{i}/properties"),
        }
    }
}

/// The value in a line of a file, and the number of the line in the text or in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KfdValue {
    value: u64,
    line: Option<usize>,
}

/// The keys of a file that the reader uses.
pub(super) type KfdKeys = BTreeMap<&'static str, KfdValue>;

/// Those keys. A node has some forty others, which are ignored.
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

/// The files that were read, and those that the kernel hides.
#[derive(Debug, Default)]
pub(super) struct KfdFiles {
    pub(super) files: BTreeMap<KfdPlace, KfdKeys>,
    pub(super) hidden: BTreeSet<KfdPlace>,
    /// The path of the folder. `None` if the tree comes from a text.
    root: Option<PathBuf>,
    /// The last line that belongs to the tree.
    last_line: Option<usize>,
}

/// The parts of a line that `grep -r ""` prints.
pub(super) struct GrepLine<'t> {
    place: KfdPlace,
    pub(super) key: &'static str,
    value: &'t str,
}

/// Parses `.../2/properties:simd_count 416`, if the reader uses the key.
pub(super) fn entry(line: &str) -> Option<GrepLine<'_>> {
    // A folder's name may have a colon in it, as PCI addresses have.
    let colons = line.char_indices().filter(|&(_, c)| c == ':').take(8);
    let (place, value) = colons
        .filter_map(|(i, _)| Some((KfdPlace::of(&line[..i])?, &line[i + 1..])))
        .next()?;
    let (key, value) = setting(value)?;
    Some(GrepLine { place, key, value })
}

/// Parses `simd_count 416`, if the reader uses the key.
fn setting(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once(' ').unwrap_or((line, ""));
    let key = KEYS.iter().find(|known| **known == key)?;
    Some((key, value.trim()))
}

impl KfdFiles {
    pub(super) fn from_text(text: &str) -> Result<Self, Error> {
        let mut tree = Self::default();
        for (line, text) in text::lines(text) {
            if let Some(error) = text.trim_start().strip_prefix("grep: ") {
                // `grep: .../3/properties: Operation not permitted`
                let place = error
                    .split_once(": ")
                    .and_then(|(path, _)| KfdPlace::of(path));
                tree.hidden.extend(place);
                continue;
            }
            let Some(GrepLine { place, key, value }) = entry(&text) else {
                continue;
            };
            tree.add(place, key, value, Some(line))?;
            tree.last_line = Some(line);
        }
        Ok(tree)
    }

    fn add(
        &mut self,
        place: KfdPlace,
        key: &'static str,
        value: &str,
        line: Option<usize>,
    ) -> Result<(), Error> {
        let Ok(value) = value.parse() else {
            return Err(self.error(
                place,
                line,
                format!("{key} `{value}`: expected a whole number"),
            ));
        };
        let before = self
            .files
            .entry(place)
            .or_default()
            .insert(key, KfdValue { value, line });
        if before.is_some() {
            return Err(self.error(
                place,
                line,
                format!("a second {key}: expected the tree of one machine"),
            ));
        }
        Ok(())
    }

    /// An error in a file: at its line of the text, or under its name in the folder.
    pub(super) fn error(&self, place: KfdPlace, line: Option<usize>, what: String) -> Error {
        match (&self.root, line) {
            (Some(root), _) => Error::in_element(
                None,
                root.join(place.to_string()).display().to_string(),
                what,
            ),
            (None, Some(line)) => Error::in_element(Some(line), place.to_string(), what),
            (None, None) => Error::in_element(self.last_line, place.to_string(), what),
        }
    }

    /// A value of a file. 0 if the file does not have the key: older drivers have fewer keys.
    pub(super) fn value(&self, place: KfdPlace, key: &str) -> u64 {
        self.files
            .get(&place)
            .and_then(|keys| keys.get(key))
            .map_or(0, |entry| entry.value)
    }

    /// The line of a key in the text.
    pub(super) fn line(&self, place: KfdPlace, key: &str) -> Option<usize> {
        self.files
            .get(&place)
            .and_then(|keys| keys.get(key))
            .and_then(|entry| entry.line)
    }

    /// A value that must fit into 32 bits, if the file has it.
    pub(super) fn number(&self, place: KfdPlace, key: &str) -> Result<Option<u32>, Error> {
        let Some(entry) = self.files.get(&place).and_then(|keys| keys.get(key)) else {
            return Ok(None);
        };
        let wrong = |_| {
            self.error(
                place,
                entry.line,
                format!("{key} {}: expected at most {}", entry.value, u32::MAX),
            )
        };
        u32::try_from(entry.value).map(Some).map_err(wrong)
    }

    /// The parts of a node of one kind.
    pub(super) fn parts(
        &self,
        node: u32,
        of: fn(u32) -> KfdPart,
    ) -> impl Iterator<Item = KfdPlace> {
        let place = move |i| KfdPlace { node, part: of(i) };
        self.files
            .range(place(0)..=place(u32::MAX))
            .map(|(&place, _)| place)
    }

    /// The nodes that have properties.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.files
            .keys()
            .filter(|place| place.part == KfdPart::Properties)
            .map(|place| place.node)
    }

    /// A tree without files, below this folder.
    pub(super) fn in_folder(root: PathBuf) -> Self {
        Self {
            root: Some(root),
            ..Self::default()
        }
    }

    /// Adds a file of the folder.
    pub(super) fn add_file(&mut self, path: &str, text: &str) -> Result<(), Error> {
        let Some(place) = KfdPlace::of(path) else {
            return Ok(());
        };
        if self.files.len() > MOST_FILES {
            return Err(self
                .error(place, None, format!("more than {MOST_FILES} files"))
                .with_kind(ErrorKind::TooLarge));
        }
        for line in text.lines() {
            if let Some((key, value)) = setting(line) {
                self.add(place, key, value, None)?;
            }
        }
        Ok(())
    }

    /// Records a file of the folder that may not be read.
    pub(super) fn add_hidden(&mut self, path: &str) {
        self.hidden.extend(KfdPlace::of(path));
    }
}

/// The most files of a tree: about those of four hundred devices that are all linked to each other.
const MOST_FILES: usize = 200_000;
