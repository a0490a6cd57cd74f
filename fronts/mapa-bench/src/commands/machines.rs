//! `machines`: the catalogue, and the formulas for more machines.

use mapa_topologies::{catalogue, formulas};

use crate::failure::Failure;
use crate::output::Output;
use mapa_front::answer::machines::{Catalogue, Formula, Machine};
use mapa_front::text::table;

pub(crate) fn machines(output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["name", "devices", "family", "what it is"], [1]);
    let mut list = Vec::new();
    for entry in catalogue() {
        let machine = entry.machine().map_err(Failure::malformed)?;
        let devices = machine.fabric.device_count();
        list.push(Machine {
            name: machine.name.clone(),
            devices,
            family: entry.family.to_owned(),
            title: machine.title.clone(),
            source: machine.source,
            notes: machine.notes,
        });
        rows.add_row([
            machine.name,
            devices.to_string(),
            entry.family.to_owned(),
            machine.title,
        ]);
    }
    if output.json {
        let formula = |own: &mapa_topologies::Formula| Formula {
            form: own.form.to_owned(),
            what: own.what.to_owned(),
            example: own.example.to_owned(),
        };
        return output.object(&Catalogue {
            machines: list,
            formulas: formulas().iter().map(formula).collect(),
        });
    }
    for formula in formulas() {
        rows.add_row([formula.form, "any", "by formula", formula.what]);
    }
    output.line(rows)
}
