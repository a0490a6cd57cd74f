//! `docs/schema` is what the types of the answers give.

use std::fs;
use std::path::Path;

use mapa_front::ANSWERS;

/// To write the schemas anew: `MAPA_WRITE_SCHEMA=1 cargo test -p mapa-front --test all schema::`.
#[test]
fn docs_schema_is_what_the_types_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let mut files: Vec<String> = Vec::new();
    for answer in ANSWERS {
        let name = format!("{}.json", answer.name);
        let text = serde_json::to_string_pretty(&answer.schema()).unwrap() + "\n";
        if std::env::var_os("MAPA_WRITE_SCHEMA").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(&name), &text).unwrap();
        }
        let kept = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(
            kept == text,
            "docs/schema/{name} is out of date: expected\n{text}"
        );
        files.push(name);
    }
    let mut there: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    there.sort();
    files.sort();
    assert_eq!(there, files, "one file for each answer, and no other");
}
