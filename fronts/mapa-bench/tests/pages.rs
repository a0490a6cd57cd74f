//! The documentation: its index is complete, and its links lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages in a folder below `docs`, as the index names them.
fn pages(folder: &str) -> Vec<String> {
    let mut pages: Vec<String> = fs::read_dir(docs().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .map(|name| format!("{folder}{name}"))
        .collect();
    pages.sort();
    pages
}

/// The text without blocks of code.
fn prose(text: &str) -> String {
    text.split("\n```").step_by(2).collect()
}

/// The targets of the links in a page that are files of this repository, without anchors.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .filter_map(|target| target.split('#').next())
        .collect()
}

#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(docs().join("README.md")).unwrap();
    let missing: Vec<String> = [pages(""), pages("reproduction/")]
        .concat()
        .into_iter()
        .filter(|page| !index.contains(&format!("({page})")))
        .collect();
    assert!(missing.is_empty(), "not in docs/README.md: {missing:?}");
}

#[test]
fn links_between_pages_resolve() {
    let mut broken = Vec::new();
    for page in [vec!["README.md".to_owned()], pages("")].concat() {
        let text = prose(&fs::read_to_string(docs().join(&page)).unwrap());
        for target in links(&text) {
            if !docs().join(target).exists() {
                broken.push(format!("docs/{page}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
