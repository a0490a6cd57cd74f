//! `machines`: the catalogue.

use mapa_topologies::catalogue;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, table};

pub(crate) fn machines(output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["name", "devices", "what it is"], [1]);
    let mut list = Vec::new();
    for entry in catalogue() {
        let machine = entry.machine().map_err(Failure::malformed)?;
        let devices = machine.fabric.device_count();
        list.push(json!({
            "name": machine.name, "devices": devices, "title": machine.title, "source": machine.source,
            "notes": machine.notes,
        }));
        rows.add_row([machine.name, devices.to_string(), machine.title]);
    }
    if output.json {
        return output.object(&json!({ "machines": list }));
    }
    rows.add_row(["complete:N", "N", "N devices below one PCIe host bridge"]);
    output.line(rows)
}
