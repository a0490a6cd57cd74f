//! The sweep file: what is combined with what.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use toml::Value;

use crate::failure::Failure;
use crate::simulation::own_policy;

/// More cells than this are taken for a mistake.
pub(super) const MOST_CELLS: usize = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepFile {
    pub(super) machines: Words,
    /// How every device of every machine is cut up, as `--mig`.
    #[serde(default)]
    pub(super) mig: Option<String>,
    /// GB/s of every PCIe hop of every machine, as `--pcie-gbps`.
    #[serde(default)]
    pub(super) pcie_gbps: Option<f64>,
    #[serde(default)]
    pub(super) policies: Words,
    #[serde(default = "fifo")]
    pub(super) schedulers: Words,
    #[serde(default = "effective_bandwidth")]
    pub(super) executions: Words,
    #[serde(default)]
    pub(super) generate: Words,
    #[serde(default)]
    pub(super) seeds: Option<Seeds>,
    #[serde(default)]
    pub(super) jobs: Words,
    #[serde(default)]
    pub(super) traces: Words,
    /// Which jobs of the traces, as `--select`.
    #[serde(default)]
    pub(super) select: Option<String>,
    /// Jobs of files and traces are all there from the beginning.
    #[serde(default)]
    pub(super) at_once: bool,
}

/// Different words.
#[derive(Default, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Words(pub(super) Vec<String>);

/// Different seeds.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Seeds(pub(super) Vec<u64>);

fn fifo() -> Words {
    Words(vec!["fifo".to_owned()])
}

fn effective_bandwidth() -> Words {
    Words(vec!["effective-bandwidth".to_owned()])
}

impl TryFrom<Value> for Words {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let expected = "expected a list of words, such as [\"one\", \"two\"]";
        let Value::Array(items) = value else { return Err(format!("{}: {expected}", value.type_str())) };
        let word = |item: Value| match item {
            Value::String(word) if !word.trim().is_empty() => Ok(word),
            other => Err(format!("`{other}`: {expected}")),
        };
        let words: Vec<String> = items.into_iter().map(word).collect::<Result<_, _>>()?;
        twice(&words).map_or(Ok(()), |word| Err(format!("`{word}` is there twice: expected each word once")))?;
        Ok(Self(words))
    }
}

impl TryFrom<Value> for Seeds {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let expected = "expected a range such as \"1..60\", both ends included, or a list of integers, none below 0";
        let seeds: Vec<u64> = match &value {
            Value::String(text) => range(text).ok_or_else(|| format!("`{text}`: {expected}"))?,
            Value::Array(items) => {
                let seed = |item: &Value| item.as_integer().and_then(|seed| u64::try_from(seed).ok());
                let seed = |item| seed(item).ok_or_else(|| format!("`{item}`: {expected}"));
                items.iter().map(seed).collect::<Result<_, _>>()?
            }
            other => return Err(format!("`{other}`: {expected}")),
        };
        twice(&seeds).map_or(Ok(()), |seed| Err(format!("{seed} is there twice: expected each seed once")))?;
        Ok(Self(seeds))
    }
}

fn range(text: &str) -> Option<Vec<u64>> {
    let (first, last) = text.split_once("..")?;
    let [first, last]: [u64; 2] = [first.trim().parse().ok()?, last.trim().parse().ok()?];
    let few = first <= last && last - first < MOST_CELLS as u64;
    (few && i64::try_from(last).is_ok()).then(|| (first..=last).collect())
}

fn twice<T: Ord>(items: &[T]) -> Option<&T> {
    let mut seen = BTreeSet::new();
    items.iter().find(|item| !seen.insert(*item))
}

impl SweepFile {
    /// Reads a sweep file; nothing that it names is looked at yet.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |what: &dyn Display| Failure::malformed(format_args!("{}: {what}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let file: Self = toml::from_str(&text).map_err(|error| wrong(&named(&error, &text)))?;
        file.check().map_err(|what| wrong(&what))?;
        Ok(file)
    }

    fn check(&self) -> Result<(), String> {
        let axes = [("machines", &self.machines), ("schedulers", &self.schedulers), ("executions", &self.executions)];
        if let Some((key, _)) = axes.iter().find(|(_, words)| words.0.is_empty()) {
            return Err(format!("`{key}` is empty: expected at least one word"));
        }
        match (&self.seeds, self.generate.0.is_empty()) {
            (Some(_), true) => return Err("`seeds` are for `generate`: expected generate = [\"mapa\"] too".to_owned()),
            (None, false) => return Err("`generate` without `seeds`: expected seeds = \"1..60\", say".to_owned()),
            (Some(Seeds(seeds)), false) if seeds.is_empty() => {
                return Err("`seeds` is empty: expected at least one".to_owned());
            }
            _ => {}
        }
        if [&self.generate, &self.jobs, &self.traces].iter().all(|words| words.0.is_empty()) {
            return Err("no workload: expected `generate` with `seeds`, `jobs` or `traces`".to_owned());
        }
        if self.select.is_some() && self.traces.0.is_empty() {
            return Err("`select` is for `traces`: expected traces = [\"KIND=FILE\"] too".to_owned());
        }
        let inputs = [("machines", &self.machines), ("jobs", &self.jobs), ("traces", &self.traces)];
        if let Some((key, _)) = inputs.iter().find(|(_, words)| words.0.iter().any(|word| word == "-")) {
            return Err(format!("`{key}`: standard input cannot be read twice: expected a file"));
        }
        let seeds = self.seeds.as_ref().map_or(0, |seeds| seeds.0.len());
        let workloads = self.generate.0.len() * seeds + self.jobs.0.len() + self.traces.0.len();
        let policies = |scheduler: &String| own_policy(scheduler).map_or(self.policies.0.len(), |_| 1);
        let ways: usize = self.schedulers.0.iter().map(policies).sum();
        let [machines, executions] = [&self.machines, &self.executions].map(|words| words.0.len());
        let cells = [machines, executions, ways].into_iter().fold(workloads, usize::saturating_mul);
        if cells > MOST_CELLS {
            return Err(format!("{cells} cells: expected at most {MOST_CELLS}"));
        }
        Ok(())
    }
}

/// What is wrong, with its line and what stands there, so that the key is named.
fn named(error: &toml::de::Error, text: &str) -> String {
    let what = error.message().replace('\n', " ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else { return what };
    let at = before.matches('\n').count();
    let line = text.lines().nth(at).unwrap_or_default().trim();
    format!("line {}, `{line}`: {what}", at + 1)
}
