//! Comparison of a folder of JSON Schemas with the types of answers. Tests of systems share it.

use std::fs;
use std::path::Path;

use mapa_front::AnswerSchema;

/// Fails unless a folder has the schema of each answer, as its type gives it, and no other file. With
/// `MAPA_WRITE_SCHEMA` set, writes the schemas first.
pub(crate) fn check(folder: &Path, answers: &[AnswerSchema]) {
    let mut files: Vec<String> = Vec::new();
    for answer in answers {
        let name = format!("{}.json", answer.name);
        let text = serde_json::to_string_pretty(&answer.schema()).unwrap() + "\n";
        if std::env::var_os("MAPA_WRITE_SCHEMA").is_some() {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(&name), &text).unwrap();
        }
        let kept = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(
            kept == text,
            "{}/{name} is out of date: expected\n{text}",
            folder.display()
        );
        files.push(name);
    }
    let mut there: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    there.sort();
    files.sort();
    assert_eq!(there, files, "one file for each answer, and no other");
}
