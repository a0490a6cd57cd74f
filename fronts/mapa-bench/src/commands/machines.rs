//! `machines`: the catalogue, and the formulas for more machines.

use mapa_topologies::{catalogue, formulas};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use mapa_front::text::table;

pub(crate) fn machines(output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["name", "devices", "family", "what it is"], [1]);
    let mut list = Vec::new();
    for entry in catalogue() {
        let machine = entry.machine().map_err(Failure::malformed)?;
        let devices = machine.fabric.device_count();
        list.push(json!({
            "name": machine.name, "devices": devices, "family": entry.family, "title": machine.title,
            "source": machine.source, "notes": machine.notes,
        }));
        rows.add_row([
            machine.name,
            devices.to_string(),
            entry.family.to_owned(),
            machine.title,
        ]);
    }
    if output.json {
        let forms: Vec<_> = formulas()
            .iter()
            .map(|formula| json!({ "form": formula.form, "what": formula.what, "example": formula.example }))
            .collect();
        return output.object(&json!({ "machines": list, "formulas": forms }));
    }
    for formula in formulas() {
        rows.add_row([formula.form, "any", "by formula", formula.what]);
    }
    output.line(rows)
}
