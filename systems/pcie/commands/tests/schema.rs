//! `docs/schema` of this system is what the types of the answers give.

#[path = "../../../../fronts/mapa-front/tests/kept.rs"]
mod kept;

use std::path::Path;

use mapa_system_pcie_commands::ANSWERS;

/// To write the schemas anew: `MAPA_WRITE_SCHEMA=1 cargo test -p mapa-system-pcie-commands --features schema`.
#[test]
fn docs_schema_is_what_the_types_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
    kept::check(&folder, ANSWERS);
}
