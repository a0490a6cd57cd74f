//! Tables of measured bandwidths of machines, with their sources.

use mapa_table::{Comments, Sheet, columns, text};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};

/// The rows that MAPA ships: bandwidths of machines that others measured and published, each with its
/// source. The files that their column `topology` names are [`measured_topology`].
pub const MEASURED: &str = include_str!("../data/measured.tsv");

/// A measured bandwidth of one machine: a row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRow {
    /// The name of the row.
    pub id: String,
    /// The machine: rows of one machine have the same.
    pub server: String,
    /// What the machine is, in words.
    #[serde(default)]
    pub machine: Option<String>,
    /// The product, in words.
    #[serde(default)]
    pub gpu: Option<String>,
    /// The number of devices.
    #[serde(default)]
    pub gpus: Option<String>,
    /// How the devices are joined: `catalogue NAME`, or the name of a file, first in its text.
    #[serde(default)]
    pub topology: Option<String>,
    /// The path that is measured, in words; `host` in it says that data goes through the host.
    #[serde(default)]
    pub path: Option<String>,
    /// The devices that took part: `0,1`, `all`, `first 4`.
    #[serde(default)]
    pub devices: Option<String>,
    /// The operation: `all_reduce`, `p2p unidirectional`, `h2d`.
    pub operation: String,
    /// What the number is: `busbw`, `algbw`, or GB/s of copies.
    #[serde(default)]
    pub metric: Option<String>,
    /// The bandwidth, GB/s.
    #[serde(deserialize_with = "text::deserialize")]
    pub gbps: f64,
    /// The size of a message, in words.
    #[serde(default)]
    pub size: Option<String>,
    /// The library or driver.
    #[serde(default)]
    pub library: Option<String>,
    /// Settings: `P2P off`, `Gen4 x16`.
    #[serde(default)]
    pub settings: Option<String>,
    /// `no`, or what is wrong with the number.
    #[serde(default)]
    pub problem: Option<String>,
    /// How sure the number is: `high`, `medium`, `low`.
    #[serde(default)]
    pub confidence: Option<String>,
    /// Where the number was published.
    #[serde(default)]
    pub source: Option<String>,
}

impl MeasuredRow {
    /// Whether nothing is known to be wrong with the number: `problem` is `no`, or `no` with a remark
    /// in brackets.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let problem = self.problem.as_deref().unwrap_or("no").trim();
        problem == "no" || problem.starts_with("no (")
    }

    /// Whether the number is of messages too short to reach what the links carry.
    #[must_use]
    pub fn is_of_small_messages(&self) -> bool {
        self.problem
            .as_deref()
            .is_some_and(|problem| problem.contains("small message"))
    }
}

/// Reads a table of measured bandwidths: tabs between the cells, a header, one row for each number. O(length).
///
/// # Examples
///
/// ```
/// let rows = mapa_regress::read_measured(mapa_regress::MEASURED)?;
/// let row = rows.iter().find(|row| row.id == "wrx90-2sw#0").unwrap();
/// assert_eq!((row.operation.as_str(), row.gbps), ("p2p unidirectional", 53.4));
/// assert!(row.is_sound());
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// With the line: a column is missing, unknown or occurs twice; a row has too few or too many cells; an
/// id occurs twice; a bandwidth is not a positive number. A table without rows.
pub fn read_measured(text: &str) -> Result<Vec<MeasuredRow>, Error> {
    let sheet = Sheet::read_tabs(text, Comments::AboveHeader, "a header and measured rows")?;
    sheet.check(
        &["id", "server", "operation", "gbps"],
        &columns::<MeasuredRow>(),
    )?;
    let mut rows: Vec<MeasuredRow> = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    for row in sheet.rows() {
        let own: MeasuredRow = row.read()?;
        if !(own.gbps > 0.0 && own.gbps <= 1e9) {
            let what = format!("gbps = {}: expected a positive number of GB/s", own.gbps);
            return Err(row.error(what).into());
        }
        if !ids.insert(own.id.clone()) {
            let what = format!("a second row is called `{}`: expected each id once", own.id);
            return Err(row.error(what).into());
        }
        rows.push(own);
    }
    if rows.is_empty() {
        return Err(ErrorKind::BadFile {
            line: None,
            what: "no rows: expected measured bandwidths below the header".to_owned(),
        }
        .into());
    }
    Ok(rows)
}

/// Writes rows as [`read_measured`] reads them, with a header.
///
/// # Errors
/// If the writer fails.
pub fn write_measured(rows: &[MeasuredRow]) -> Result<String, Error> {
    Ok(mapa_table::write_tabs(rows)?)
}

/// A file that the rows that MAPA ships name in their column `topology`.
#[must_use]
pub fn measured_topology(name: &str) -> Option<&'static str> {
    let found = TOPOLOGIES.iter().find(|(candidate, _)| *candidate == name);
    found.map(|(_, text)| *text)
}

macro_rules! topologies {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../data/topologies/", $name)))),*]
    };
}

/// The files by name.
const TOPOLOGIES: [(&str, &str); 25] = topologies![
    "a100-distserve.txt",
    "a100-pcie-8-arul.txt",
    "asus-e13p.txt",
    "bessemer-v100x4.derived.txt",
    "c4130-p100-byhand.txt",
    "c4130-v100-byhand.txt",
    "chlc-4090x8.txt",
    "direct-x4.derived.txt",
    "direct-x9.derived.txt",
    "dual-turin-direct-x8.derived.txt",
    "h100-pcie-2-byhand.txt",
    "l4x2-cudasamples284.txt",
    "nc96ads-a100v4.txt",
    "nccl814-4090x6.txt",
    "ncv4-malaysia.txt",
    "one-bridge-x2.derived.txt",
    "pairs-x8.derived.txt",
    "tiny14-4090x6.derived.txt",
    "two-by-four-x8.derived.txt",
    "v100-9a41.txt",
    "wrx90-16-3root.asprinted.txt",
    "wrx90-16-3root.derived.txt",
    "wrx90-2sw.txt",
    "wrx90-2vs-v1.derived.txt",
    "wrx90-3sw.txt",
];
