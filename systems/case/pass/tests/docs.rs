//! The commands of systems/case/docs/compile.md print what the page says.

use crate::program::{folder, mapa_case};
use std::fs;
use std::process::Command;

/// The block of the page in this language that has this text.
fn block<'a>(page: &'a str, language: &str, text: &str) -> &'a str {
    let start = format!("```{language}\n");
    page.split(&start)
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains(text))
        .expect(text)
}

#[test]
fn what_the_page_shows_is_what_the_programs_print() {
    let page = fs::read_to_string(folder().join("../docs/compile.md")).unwrap();
    let work = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("sum.cu", "// sum.cu"),
        ("a.cu", "// a.cu"),
        ("b.cu", "// b.cu"),
    ] {
        fs::write(work.path().join(file), block(&page, "cuda", text)).unwrap();
    }
    let path = format!(
        "{}:{}",
        mapa_case().parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut commands = 0;
    for shown in page
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        let mut lines = shown.lines().peekable();
        while let Some(line) = lines.next() {
            let words = line
                .strip_prefix("$ ")
                .unwrap_or_else(|| panic!("{line}: expected a command"));
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected += line;
                expected.push('\n');
            }
            // The pass is built before its tests.
            if words.starts_with("cargo ") || words.starts_with("apt-get ") {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", &format!("{{ {words}; }} 2>&1")])
                .current_dir(work.path())
                .env("PATH", &path)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{words}");
            commands += 1;
        }
    }
    assert!(commands >= 6, "{commands}");
}
