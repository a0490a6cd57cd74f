//! The file of a trained net.
//!
//! The header is text, one key a line, so that `head -7` shows what a file is:
//!
//! ```text
//! mapa energy weights 1
//! observation enhanced 1
//! layouts 7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1
//! layers 88 128 128 20
//! seed 1
//! note ours, 500000 steps
//! hash 0123456789abcdef
//! ```
//!
//! The [parameters](super::Net) follow, 32 bits each, little-endian. The hash is FNV-1a with 64 bits
//! of all bytes but its own line.

use std::hash::Hasher;

use fnv::FnvHasher;

use super::super::machine::SlicedGpus;
use super::net::Net;
use super::observation::{Formulation, Observation};
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::Power;

/// The first line: what the file is, and the version of its form.
const MAGIC: &str = "mapa energy weights 1";
/// The version of what [`Observation`] writes.
const OBSERVATION: &str = "1";

/// A trained net, with what it sees and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    formulation: Formulation,
    layouts: String,
    seed: u64,
    note: String,
    net: Net,
}

fn wrong<T>(what: String) -> Result<T, Error> {
    Err(ErrorKind::BadWeights(what).into())
}

impl Weights {
    /// A net that was trained for GPUs of these [layouts](SlicedGpus::layouts) with this seed. The note
    /// says how, in one line.
    ///
    /// # Errors
    /// Layouts that are not sound; a net with other numbers of inputs and outputs than the
    /// observation has numbers and the layouts have slices; a note of several lines.
    pub fn new(
        formulation: Formulation,
        layouts: &str,
        seed: u64,
        note: &str,
        net: Net,
    ) -> Result<Self, Error> {
        // A short file may speak of any number of GPUs.
        let slices = SlicedGpus::slices_in(layouts);
        if net.sizes().last() != Some(&slices) {
            return wrong(format!(
                "`layers`: {:?} for layouts {layouts}: expected {slices} last, a number for each slice",
                net.sizes()
            ));
        }
        let machine = SlicedGpus::of_layouts(layouts, Power::A100)?;
        let observation = Observation::new(formulation, &machine);
        let ends = (net.sizes().first(), net.sizes().last());
        let (inputs, outputs) = (observation.numbers(), observation.slices());
        if ends != (Some(&inputs), Some(&outputs)) {
            return wrong(format!(
                "`layers`: {:?} for observation `{}` of layouts {layouts}: expected {inputs} first and {outputs} last",
                net.sizes(),
                formulation.name()
            ));
        }
        if note.contains(['\n', '\r']) {
            return wrong(format!("`note`: {note:?}: expected one line"));
        }
        Ok(Self {
            formulation,
            layouts: machine.layouts(),
            seed,
            note: note.trim().to_owned(),
            net,
        })
    }

    /// What the net sees.
    #[must_use]
    pub fn formulation(&self) -> Formulation {
        self.formulation
    }

    /// The layouts of the GPUs for which it was trained.
    #[must_use]
    pub fn layouts(&self) -> &str {
        &self.layouts
    }

    /// The seed of the training.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How it was trained.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.note
    }

    /// The net.
    #[must_use]
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The lines above the hash.
    fn header(&self) -> String {
        let sizes: Vec<String> = self.net.sizes().iter().map(usize::to_string).collect();
        let lines = [
            MAGIC.to_owned(),
            format!("observation {} {OBSERVATION}", self.formulation.name()),
            format!("layouts {}", self.layouts),
            format!("layers {}", sizes.join(" ")),
            format!("seed {}", self.seed),
            format!("note {}", self.note),
        ];
        lines.map(|line| line + "\n").concat()
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = self.header();
        let numbers = self.net.parameters().iter();
        let payload: Vec<u8> = numbers.flat_map(|value| value.to_le_bytes()).collect();
        let hash = hash(header.as_bytes(), &payload);
        let mut file = format!("{header}hash {hash:016x}\n").into_bytes();
        file.extend(payload);
        file
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A file of another kind or version, another observation, layouts that are not sound, layers
    /// that do not fit them, weights of another number, not finite, or that do not have the hash.
    /// The message names the key and what is expected.
    pub fn from_bytes(file: &[u8]) -> Result<Self, Error> {
        let mut rest = file;
        let magic = line(&mut rest).unwrap_or_default();
        if magic != MAGIC {
            let start: String = magic.chars().take(40).collect();
            return wrong(format!("first line {start:?}: expected `{MAGIC}`"));
        }
        let formulation = observation(value(&mut rest, "observation")?)?;
        let layouts = value(&mut rest, "layouts")?;
        let layers = value(&mut rest, "layers")?;
        let seed = value(&mut rest, "seed")?;
        let note = value(&mut rest, "note")?;
        let header = &file[..file.len() - rest.len()];
        let stated = value(&mut rest, "hash")?;
        let sizes = layers.split_whitespace().map(str::parse);
        let Ok(sizes) = sizes.collect::<Result<Vec<usize>, _>>() else {
            return wrong(format!(
                "`layers`: {layers:?}: expected whole numbers, such as 88 128 20"
            ));
        };
        let Ok(seed) = seed.parse() else {
            return wrong(format!("`seed`: {seed:?}: expected a whole number"));
        };
        // The length says whether a file is whole, before any number of it is believed.
        let bytes = Net::parameter_count(&sizes).and_then(|count| count.checked_mul(4));
        if let Some(bytes) = bytes.filter(|&bytes| bytes != rest.len()) {
            return wrong(format!(
                "{} bytes of weights for layers {layers}: expected {bytes}",
                rest.len()
            ));
        }
        let hash = format!("{:016x}", hash(header, rest));
        if stated != hash {
            return wrong(format!(
                "`hash`: {stated:?} is not that of the bytes: expected {hash}; the file was changed or damaged"
            ));
        }
        let (numbers, _) = rest.as_chunks::<4>();
        let parameters = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes));
        let net = Net::new(sizes, parameters.collect())?;
        Self::new(formulation, layouts, seed, note, net)
    }
}

fn hash(header: &[u8], payload: &[u8]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(header);
    hasher.write(payload);
    hasher.finish()
}

/// The next line of text, without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|&candidate| candidate == b'\n')?;
    let (line, after) = rest.split_at(end);
    *rest = &after[1..];
    std::str::from_utf8(line).ok()
}

/// What the next line says of a key.
fn value<'a>(rest: &mut &'a [u8], key: &str) -> Result<&'a str, Error> {
    let line = line(rest).unwrap_or_default();
    let value = line
        .strip_prefix(key)
        .and_then(|text| text.strip_prefix(' '));
    value.map_or_else(
        || {
            let start: String = line.chars().take(40).collect();
            wrong(format!("line {start:?}: expected key `{key}` with a value"))
        },
        Ok,
    )
}

fn observation(value: &str) -> Result<Formulation, Error> {
    let known = value
        .rsplit_once(' ')
        .filter(|(_, version)| *version == OBSERVATION)
        .and_then(|(name, _)| Formulation::named(name));
    known.map_or_else(
        || {
            wrong(format!(
                "`observation`: {value:?}: expected `original {OBSERVATION}` or `enhanced {OBSERVATION}`"
            ))
        },
        Ok,
    )
}
