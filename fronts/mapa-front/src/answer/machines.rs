//! The answers of `machines` and `read`: what is known by name, and what files contain.

use std::collections::BTreeMap;

use serde::Serialize;

/// The machines that are known by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Catalogue {
    /// The machines of the catalogue.
    pub machines: Vec<Machine>,
    /// Formulas for more machines.
    pub formulas: Vec<Formula>,
}

/// A machine of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The number of its devices.
    pub devices: usize,
    /// Its family.
    pub family: String,
    /// What it is, in one line.
    pub title: String,
    /// Where the description is from.
    pub source: String,
    /// What was assumed.
    pub notes: Vec<String>,
}

/// A formula for machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Formula {
    /// Its form, such as `torus:AxB`.
    pub form: String,
    /// What it makes.
    pub what: String,
    /// An example.
    pub example: String,
}

/// What files contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Read {
    /// The files, in the order in which they were found.
    pub files: Vec<File>,
    /// The number of files by kind and outcome.
    pub summary: Vec<KindOfFiles>,
}

/// What a file contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct File {
    /// The path.
    pub file: String,
    /// Which tool's output it is; null if no kind was recognised.
    pub kind: Option<String>,
    /// Whether a machine could be read from it.
    pub outcome: String,
    /// The number of devices.
    pub devices: Option<usize>,
    /// The number of direct links of each device, or the range of it.
    pub direct_links_each: Option<String>,
    /// How much it says of the host.
    pub host: Option<String>,
    /// Warnings, or the error.
    pub says: Vec<String>,
}

/// The number of files of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindOfFiles {
    /// The kind.
    pub kind: String,
    /// The number of files by outcome.
    pub outcomes: BTreeMap<String, usize>,
}
