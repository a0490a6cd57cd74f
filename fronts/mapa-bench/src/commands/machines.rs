//! `machines`: the catalogue, and the formulas for more machines.

use mapa_topologies::{catalogue, formulas};

use crate::cli::MachinesArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::answer::machines::{Catalogue, Formula, Machine};
use mapa_front::text::table;

pub(crate) fn machines(args: &MachinesArgs, output: &mut Output) -> Result<(), Failure> {
    let words: Vec<String> = args.filter.iter().map(|word| word.to_lowercase()).collect();
    let wanted = |texts: [&str; 3]| {
        let text = texts.join(" ").to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut rows = table(["name", "devices", "family", "what it is"], [1]);
    let mut list = Vec::new();
    for entry in catalogue() {
        let machine = entry.machine().map_err(Failure::malformed)?;
        if !wanted([&machine.name, entry.family, &machine.title]) {
            continue;
        }
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
            formulas: formulas()
                .iter()
                .filter(|own| wanted([own.form, "by formula", own.what]))
                .map(formula)
                .collect(),
        });
    }
    let shown = formulas()
        .iter()
        .filter(|own| wanted([own.form, "by formula", own.what]));
    for formula in shown {
        rows.add_row([formula.form, "any", "by formula", formula.what]);
    }
    if rows.is_empty() {
        return output.line(format_args!(
            "No machine has the words {}: `mapa-bench machines` lists all.",
            args.filter.join(", ")
        ));
    }
    output.page();
    output.line(rows)
}
