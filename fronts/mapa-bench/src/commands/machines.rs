//! `machines`: the catalogue, and the formulas for more machines.

use crate::cli::MachinesArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::commands;
use mapa_front::text::table;

pub(crate) fn machines(args: &MachinesArgs, output: &mut Output) -> Result<(), Failure> {
    let answer = commands::machines(&args.filter)?;
    if output.json {
        return output.object(&answer);
    }
    let mut rows = table(["name", "devices", "family", "what it is"], [1]);
    for machine in answer.machines {
        let devices = machine.devices.to_string();
        rows.add_row([machine.name, devices, machine.family, machine.title]);
    }
    for formula in answer.formulas {
        rows.add_row([&formula.form, "any", "by formula", &formula.what]);
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
