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

/// The pages and reports of published systems, as the index names them.
fn pages_of_systems() -> Vec<String> {
    let mut folders: Vec<String> = fs::read_dir(docs().join("../systems"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .flat_map(|system| ["docs", "report"].map(|text| format!("../systems/{system}/{text}/")))
        .filter(|folder| docs().join(folder).exists())
        .collect();
    folders.sort();
    folders.iter().flat_map(|folder| pages(folder)).collect()
}

/// Whether a path leads somewhere. A system that is taken away takes its pages along.
fn resolves(path: &Path) -> bool {
    let mut parts = path.iter().skip_while(|part| *part != "systems").skip(1);
    let is_gone = |system| !docs().join("../systems").join(system).exists();
    path.exists() || parts.next().is_some_and(is_gone)
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
    let missing: Vec<String> = [pages(""), pages("reproduction/"), pages_of_systems()]
        .concat()
        .into_iter()
        .filter(|page| !index.contains(&format!("({page})")))
        .collect();
    assert!(missing.is_empty(), "not in docs/README.md: {missing:?}");
}

// Pages of all systems are linked.
#[cfg(feature = "all-systems")]
#[test]
fn links_between_pages_resolve() {
    let mut broken = Vec::new();
    for page in [vec!["README.md".to_owned()], pages(""), pages_of_systems()].concat() {
        let page = docs().join(page);
        let text = prose(&fs::read_to_string(&page).unwrap());
        for target in links(&text) {
            if !resolves(&page.parent().unwrap().join(target)) {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
