//! A machine by its name, unless the name is a fleet's.

use super::entries::{catalogue, entry};
use super::formula::{self, formulas};
use crate::error::Error;
use crate::machine::Machine;
use crate::similar::did_you_mean_one_of;

/// The machine of this name, by formula or from the catalogue.
pub(super) fn single(name: &str) -> Result<Machine, Error> {
    match formula::machine(name) {
        Some(machine) => machine,
        None => entry(name).ok_or_else(|| unknown(name))?.machine(),
    }
}

fn unknown(name: &str) -> Error {
    let names = catalogue().iter().map(|entry| entry.name);
    let forms: Vec<&str> = formulas().iter().map(|formula| formula.form).collect();
    Error::new(format!(
        "no machine is called `{name}`{}: expected a name that `mapa-bench machines` lists, or {}",
        did_you_mean_one_of(name, names),
        forms.join(", ")
    ))
}
