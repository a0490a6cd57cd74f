//! The request of a sweep: the lists to combine.

use std::collections::BTreeSet;

use mapa_core::{MAX_TOML_BYTES, check_size};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

use crate::error::Error;
use crate::machine::{P2p, STANDARD_INPUT};
use crate::names::{Named, Names, PolicySpec};

/// The most cells of a sweep. A larger number is assumed to be a mistake.
const MOST_CELLS: usize = 1_000_000;

/// A request for every combination of machines, workloads, schedulers, execution models and policies.
///
/// In TOML and JSON a list of one word may be the word, and seeds may be a range, `"1..60"`, both ends included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepRequest {
    /// The machines: names of the catalogue, formulas and files.
    #[serde(deserialize_with = "words")]
    pub machines: Vec<String>,
    /// The MIG layout of every device of every machine, as [`MachineSpec::mig`](crate::MachineSpec::mig).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<String>,
    /// The bandwidth of every path through the host of every machine, GB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_gbps: Option<f64>,
    /// Whether the devices of every machine reach each other's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p2p: Option<P2p>,
    /// The policies: names, `paper` for its four or `all` for those of whole devices.
    #[serde(default = "auto", deserialize_with = "words")]
    pub policies: Vec<String>,
    /// The schedulers. One with a placement policy of its own is not combined with others.
    #[serde(default = "fifo", deserialize_with = "specs")]
    pub schedulers: Vec<Named>,
    /// The models of run time.
    #[serde(default = "ring_packing", deserialize_with = "specs")]
    pub executions: Vec<Named>,
    /// Generators of workloads, each drawn with every seed.
    #[serde(default, deserialize_with = "words")]
    pub generate: Vec<String>,
    /// The seeds of the generators.
    #[serde(
        default,
        deserialize_with = "seeds",
        skip_serializing_if = "Option::is_none"
    )]
    pub seeds: Option<Vec<u64>>,
    /// Job files.
    #[serde(default, deserialize_with = "words")]
    pub jobs: Vec<String>,
    /// Logs of real clusters, `[KIND=]FILE` each.
    #[serde(default, deserialize_with = "words")]
    pub traces: Vec<String>,
    /// Which jobs of the traces, as [`WorkloadSpec::select`](crate::WorkloadSpec::select).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// Whether all jobs of files and traces arrive at time 0.
    #[serde(default)]
    pub at_once: bool,
}

fn auto() -> Vec<String> {
    vec![PolicySpec::default().policy]
}

fn fifo() -> Vec<Named> {
    vec!["fifo".into()]
}

fn ring_packing() -> Vec<Named> {
    vec!["ring-packing".into()]
}

/// A list of distinct words.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let word = |item: Value| match item {
        Value::String(word) => Ok(word),
        other => Err(other),
    };
    distinct(Value::deserialize(deserializer)?, word).map_err(D::Error::custom)
}

/// A list of distinct names with settings: words, or tables.
fn specs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Named>, D::Error> {
    let spec = |item: Value| item.clone().try_into().map_err(|_| item);
    distinct(Value::deserialize(deserializer)?, spec).map_err(D::Error::custom)
}

/// A list of distinct seeds.
fn seeds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u64>>, D::Error> {
    let seeds = distinct_seeds(&Value::deserialize(deserializer)?);
    seeds.map(Some).map_err(D::Error::custom)
}

/// The items of a list, or a single one, each once.
fn distinct<T: Ord + Clone + ToString>(
    value: Value,
    read: impl Fn(Value) -> Result<T, Value>,
) -> Result<Vec<T>, String> {
    let expected = "expected a list of words, such as [\"one\", \"two\"]";
    let items = match value {
        Value::Array(items) => items,
        // A single word needs no list around it.
        Value::String(_) | Value::Table(_) => vec![value],
        _ => return Err(format!("{}: {expected}", value.type_str())),
    };
    // The list keeps the order, and the set finds words that are there twice.
    let (mut list, mut seen) = (Vec::new(), BTreeSet::new());
    for item in items {
        let word = read(item).map_err(|other| format!("`{other}`: {expected}"))?;
        if word.to_string().trim().is_empty() {
            return Err(format!("`\"{}\"`: {expected}", word.to_string()));
        }
        // A word that is listed twice would run each of its cells twice.
        if !seen.insert(word.clone()) {
            return Err(format!(
                "`{}` is listed twice: expected each word once",
                word.to_string()
            ));
        }
        list.push(word);
    }
    Ok(list)
}

/// The seeds of a list or a range.
fn distinct_seeds(value: &Value) -> Result<Vec<u64>, String> {
    let expected = "expected a range such as \"1..60\", both ends included, or a list of integers, none \
                    below 0";
    let items = match value {
        Value::String(text) => {
            return range(text).ok_or_else(|| format!("`{text}`: {expected}"));
        }
        Value::Array(items) => items,
        other => return Err(format!("`{other}`: {expected}")),
    };
    let (mut seeds, mut seen) = (Vec::new(), BTreeSet::new());
    for item in items {
        let seed = item.as_integer().and_then(|seed| u64::try_from(seed).ok());
        let seed = seed.ok_or_else(|| format!("`{item}`: {expected}"))?;
        if !seen.insert(seed) {
            return Err(format!("{seed} is listed twice: expected each seed once"));
        }
        seeds.push(seed);
    }
    Ok(seeds)
}

/// The seeds of `FIRST..LAST`, both included.
fn range(text: &str) -> Option<Vec<u64>> {
    let (first, last) = text.split_once("..")?;
    let [first, last]: [u64; 2] = [first.trim().parse().ok()?, last.trim().parse().ok()?];
    // The length is checked before the range is made, which could fill the memory. The end is checked because
    // TOML's integers are signed.
    let few = first <= last && last - first < MOST_CELLS as u64;
    (few && i64::try_from(last).is_ok()).then(|| (first..=last).collect())
}

impl SweepRequest {
    /// Reads a request from TOML. The machines and files that it names are not read.
    ///
    /// # Errors
    /// If a key is unknown or missing, or of another form than it must have: the message names the line.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        check_size(text.len(), MAX_TOML_BYTES).map_err(Error::malformed)?;
        toml::from_str(text).map_err(|error| Error::malformed(named(&error, text)))
    }

    /// Checks what the types cannot express: lists that must not be empty, keys that need each
    /// other, and the number of cells.
    pub(super) fn check(&self, names: &Names) -> Result<(), Error> {
        self.check_lists().map_err(Error::malformed)?;
        let cells = self.cells(names);
        if cells > MOST_CELLS {
            return Err(Error::malformed(format_args!(
                "{cells} cells: expected at most {MOST_CELLS}"
            )));
        }
        Ok(())
    }

    fn check_lists(&self) -> Result<(), String> {
        for (key, is_empty) in [
            ("machines", self.machines.is_empty()),
            ("schedulers", self.schedulers.is_empty()),
            ("executions", self.executions.is_empty()),
        ] {
            if is_empty {
                return Err(format!("`{key}` is empty: expected at least one word"));
            }
        }
        match (&self.seeds, self.generate.is_empty()) {
            (Some(_), true) => {
                return Err(
                    "`seeds` are for `generate`: expected generate = [\"mapa\"] too".to_owned(),
                );
            }
            (None, false) => {
                return Err(
                    "`generate` without `seeds`: expected seeds = \"1..60\", say".to_owned(),
                );
            }
            (Some(seeds), false) if seeds.is_empty() => {
                return Err("`seeds` is empty: expected at least one".to_owned());
            }
            _ => {}
        }
        if [&self.generate, &self.jobs, &self.traces]
            .iter()
            .all(|words| words.is_empty())
        {
            return Err(
                "no workload: expected `generate` with `seeds`, `jobs` or `traces`".to_owned(),
            );
        }
        if self.select.is_some() && self.traces.is_empty() {
            return Err(
                "`select` is for `traces`: expected traces = [\"KIND=FILE\"] too".to_owned(),
            );
        }
        for (key, words) in [
            ("machines", &self.machines),
            ("jobs", &self.jobs),
            ("traces", &self.traces),
        ] {
            if words.iter().any(|word| word == STANDARD_INPUT) {
                return Err(format!(
                    "`{key}`: standard input cannot be read twice: expected a file"
                ));
            }
        }
        Ok(())
    }

    /// How many cells there are, as far as a number can say.
    fn cells(&self, names: &Names) -> usize {
        let seeds = self.seeds.as_ref().map_or(0, Vec::len);
        let workloads = self.generate.len() * seeds + self.jobs.len() + self.traces.len();
        // A scheduler with a policy of its own is combined with no other.
        let ways = self.schedulers.iter().map(|scheduler| {
            names
                .own_policy(scheduler)
                .map_or(self.policies.len(), |_| 1)
        });
        // A product that does not fit in a number is too large in any case.
        workloads
            .saturating_mul(self.machines.len())
            .saturating_mul(self.executions.len())
            .saturating_mul(ways.sum())
    }
}

/// The error's message, with the number and text of its line, which names the key.
fn named(error: &toml::de::Error, text: &str) -> String {
    let what = error.message().replace('\n', " ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return what;
    };
    let at = before.matches('\n').count();
    let line = text.lines().nth(at).unwrap_or_default().trim();
    format!("line {}, `{line}`: {what}", at + 1)
}
