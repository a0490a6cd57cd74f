//! `machines`: the catalogue, and the formulas for more machines.

use mapa_topologies::{catalogue, formulas};

use crate::answer::machines::{Catalogue, Formula, Machine};
use crate::error::Error;

/// The machines and formulas whose name, family and title have all of these words, as `mapa-bench machines --json`
/// answers; all of them if there are no words.
///
/// # Errors
/// Never for the catalogue that ships.
pub fn machines(words: &[String]) -> Result<Catalogue, Error> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let wanted = |texts: [&str; 3]| {
        // The space keeps a word from matching the end of one text with the beginning of the next.
        let text = texts.join(" ").to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut machines = Vec::new();
    for entry in catalogue() {
        let machine = entry.machine().map_err(Error::malformed)?;
        if !wanted([&machine.name, entry.family, &machine.title]) {
            continue;
        }
        machines.push(Machine {
            devices: machine.fabric.device_count(),
            name: machine.name,
            family: entry.family.to_owned(),
            title: machine.title,
            source: machine.source,
            notes: machine.notes,
        });
    }
    let formulas = formulas()
        .iter()
        .filter(|formula| wanted([formula.form, BY_FORMULA, formula.what]));
    Ok(Catalogue {
        machines,
        formulas: formulas
            .map(|formula| Formula {
                form: formula.form.to_owned(),
                what: formula.what.to_owned(),
                example: formula.example.to_owned(),
            })
            .collect(),
    })
}

/// The family of machines that formulas describe.
const BY_FORMULA: &str = "by formula";
