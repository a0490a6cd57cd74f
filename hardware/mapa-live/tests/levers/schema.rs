//! `docs/schema/levers` is what the types give, and what is pulled is valid by it.

use std::fs;
use std::path::Path;

use mapa_live::levers::{LeverFact, Pull};
use schemars::{JsonSchema, schema_for};

/// To write the schemas anew: `MAPA_WRITE_SCHEMA=1 cargo test -p mapa-live --all-features --test all schema`.
fn check<T: JsonSchema>(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/levers");
    let file = folder.join(name);
    let text = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
    if std::env::var_os("MAPA_WRITE_SCHEMA").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, &text).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "docs/schema/levers/{name} is out of date: expected\n{text}"
    );
}

#[test]
fn docs_schema_is_what_the_types_give() {
    check::<Pull>("pull.json");
    check::<LeverFact>("fact.json");
}
