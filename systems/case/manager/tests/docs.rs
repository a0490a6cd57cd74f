//! The commands of systems/case/docs/runtime.md print what the page says.

use std::process::Command;

/// The blocks of a page that show a console.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => {
                inside = true;
                blocks.push(Vec::new());
            }
            "```" => inside = false,
            other if inside => blocks.last_mut().unwrap().push(other),
            _ => {}
        }
    }
    blocks
}

/// The block of a page in this language that has this text.
fn block<'a>(page: &'a str, language: &str, text: &str) -> &'a str {
    let fence = format!("```{language}\n");
    let mut all = page
        .split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    all.find(|block| block.contains(text)).unwrap()
}

#[test]
fn two_processes_share_an_instance_as_the_page_shows() {
    let page = include_str!("../../docs/runtime.md");
    let folder = tempfile::tempdir().unwrap();
    let toml = block(page, "toml", "[[instance]]");
    std::fs::write(folder.path().join("instances.toml"), toml).unwrap();
    std::fs::write(folder.path().join("share.c"), block(page, "c", "main")).unwrap();
    let programs = crate::mapa();
    let programs = programs.parent().unwrap();
    let libraries = std::env::current_exe().unwrap();
    let libraries = libraries.parent().unwrap();
    let include = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = include.join("../runtime/include");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut commands = 0;
    for block in blocks(page) {
        let mut lines = block.into_iter().peekable();
        while let Some(line) = lines.next() {
            let words = line.strip_prefix("$ ").unwrap();
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected += line;
                expected.push('\n');
            }
            // To a file: what goes on in the background would keep a pipe open.
            let said = folder.path().join("said");
            let out = std::fs::File::create(&said).unwrap();
            let status = Command::new("sh")
                .args(["-c", words])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("C_INCLUDE_PATH", &include)
                .env("LIBRARY_PATH", libraries)
                .env("LD_LIBRARY_PATH", libraries)
                .env_remove("MAPA_LEDGER")
                .stderr(out.try_clone().unwrap())
                .stdout(out)
                .status();
            status.unwrap();
            let said = std::fs::read_to_string(&said).unwrap();
            assert_eq!(said, expected, "{words}");
            commands += 1;
        }
    }
    assert!(commands > 8);
}
