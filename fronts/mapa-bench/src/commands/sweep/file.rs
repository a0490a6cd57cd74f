//! The sweep file: the lists to combine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use toml::Value;

use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_front::{Named, P2p, PolicySpec};

/// The most cells of a sweep. A larger number is assumed to be a mistake.
pub(super) const MOST_CELLS: usize = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepFile {
    pub(super) machines: WordList,
    /// The MIG layout of every device of every machine, as `--mig`.
    #[serde(default)]
    pub(super) mig: Option<String>,
    /// The bandwidth of every path through the host of every machine, GB/s, as `--pcie-gbps`.
    #[serde(default)]
    pub(super) pcie_gbps: Option<f64>,
    /// Whether the devices of every machine reach each other's memory, as `--p2p`.
    #[serde(default)]
    pub(super) p2p: Option<P2p>,
    #[serde(default = "auto")]
    pub(super) policies: WordList,
    #[serde(default = "fifo")]
    pub(super) schedulers: Specs,
    #[serde(default = "effective_bandwidth")]
    pub(super) executions: Specs,
    #[serde(default)]
    pub(super) generate: WordList,
    #[serde(default)]
    pub(super) seeds: Option<SeedList>,
    #[serde(default)]
    pub(super) jobs: WordList,
    #[serde(default)]
    pub(super) traces: WordList,
    /// Which jobs of the traces, as `--select`.
    #[serde(default)]
    pub(super) select: Option<String>,
    /// Whether all jobs of files and traces arrive at time 0.
    #[serde(default)]
    pub(super) at_once: bool,
}

/// A list of distinct words.
#[derive(Default, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct WordList(pub(super) Vec<String>);

/// A list of distinct names with settings: words, or tables.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Specs(pub(super) Vec<Named>);

/// A list of distinct seeds.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct SeedList(pub(super) Vec<u64>);

fn auto() -> WordList {
    WordList(vec![PolicySpec::default().policy])
}

fn fifo() -> Specs {
    Specs(vec!["fifo".into()])
}

fn effective_bandwidth() -> Specs {
    Specs(vec!["effective-bandwidth".into()])
}

impl TryFrom<Value> for WordList {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let word = |item: Value| match item {
            Value::String(word) => Ok(word),
            other => Err(other),
        };
        distinct(value, word).map(Self)
    }
}

impl TryFrom<Value> for Specs {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let spec = |item: Value| item.clone().try_into().map_err(|_| item);
        distinct(value, spec).map(Self)
    }
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
        let own = read(item).map_err(|other| format!("`{other}`: {expected}"))?;
        if own.to_string().trim().is_empty() {
            return Err(format!("`\"{}\"`: {expected}", own.to_string()));
        }
        // A word that is listed twice would run each of its cells twice.
        if !seen.insert(own.clone()) {
            return Err(format!(
                "`{}` is listed twice: expected each word once",
                own.to_string()
            ));
        }
        list.push(own);
    }
    Ok(list)
}

impl TryFrom<Value> for SeedList {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let expected = "expected a range such as \"1..60\", both ends included, or a list of integers, none \
                        below 0";
        let items = match &value {
            Value::String(text) => {
                let seeds = range(text).ok_or_else(|| format!("`{text}`: {expected}"))?;
                return Ok(Self(seeds));
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
        Ok(Self(seeds))
    }
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

impl SweepFile {
    /// Reads a sweep file. The machines and files that it names are not read yet.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let place = path.display();
        let text = fs::read_to_string(path).map_err(|error| Failure::at(&place, error))?;
        let file: Self =
            toml::from_str(&text).map_err(|error| Failure::at(&place, named(&error, &text)))?;
        file.check().map_err(|what| Failure::at(&place, what))?;
        Ok(file)
    }

    /// Checks what the types cannot express: lists that must not be empty, keys that need each
    /// other, and the number of cells.
    fn check(&self) -> Result<(), String> {
        for (key, is_empty) in [
            ("machines", self.machines.0.is_empty()),
            ("schedulers", self.schedulers.0.is_empty()),
            ("executions", self.executions.0.is_empty()),
        ] {
            if is_empty {
                return Err(format!("`{key}` is empty: expected at least one word"));
            }
        }
        match (&self.seeds, self.generate.0.is_empty()) {
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
            (Some(SeedList(seeds)), false) if seeds.is_empty() => {
                return Err("`seeds` is empty: expected at least one".to_owned());
            }
            _ => {}
        }
        if [&self.generate, &self.jobs, &self.traces]
            .iter()
            .all(|words| words.0.is_empty())
        {
            return Err(
                "no workload: expected `generate` with `seeds`, `jobs` or `traces`".to_owned(),
            );
        }
        if self.select.is_some() && self.traces.0.is_empty() {
            return Err(
                "`select` is for `traces`: expected traces = [\"KIND=FILE\"] too".to_owned(),
            );
        }
        for (key, words) in [
            ("machines", &self.machines),
            ("jobs", &self.jobs),
            ("traces", &self.traces),
        ] {
            if words.0.iter().any(|word| word == "-") {
                return Err(format!(
                    "`{key}`: standard input cannot be read twice: expected a file"
                ));
            }
        }
        let seeds = self.seeds.as_ref().map_or(0, |seeds| seeds.0.len());
        let workloads = self.generate.0.len() * seeds + self.jobs.0.len() + self.traces.0.len();
        let mut ways = 0;
        for scheduler in &self.schedulers.0 {
            // A scheduler with a policy of its own is combined with no other.
            ways += NAMES
                .own_policy(scheduler)
                .map_or(self.policies.0.len(), |_| 1);
        }
        // A product that does not fit in a number is too large in any case.
        let cells = workloads
            .saturating_mul(self.machines.0.len())
            .saturating_mul(self.executions.0.len())
            .saturating_mul(ways);
        if cells > MOST_CELLS {
            return Err(format!("{cells} cells: expected at most {MOST_CELLS}"));
        }
        Ok(())
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
