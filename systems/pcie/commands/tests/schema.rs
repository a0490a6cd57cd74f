//! `docs/schema` of this system is what the types of the answers give.

#[path = "../../../../fronts/mapa-front/tests/explained.rs"]
mod explained;
#[path = "../../../../fronts/mapa-front/tests/kept.rs"]
mod kept;

use std::path::Path;

use mapa_system_pcie_commands::ANSWERS;
use mapa_system_pcie_commands::answer::{contention, profile};
use schemars::schema_for;
use serde_json::Value;

/// To write the schemas anew: `MAPA_WRITE_SCHEMA=1 cargo test -p mapa-system-pcie-commands --features schema`.
#[test]
fn docs_schema_is_what_the_types_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
    kept::check(&folder, ANSWERS);
}

#[test]
fn every_key_of_an_answer_is_explained_in_its_schema() {
    let mut found = Vec::new();
    for schema in [
        schema_for!(contention::Contention),
        schema_for!(profile::Profile),
    ] {
        let title = schema.get("title").and_then(Value::as_str).unwrap();
        let all = explained::unexplained(schema.as_value(), title, &mut found);
        assert!(all > 1, "{title}");
    }
    assert_eq!(found, Vec::<String>::new());
}
