//! The commands of docs/mapa-run.md and docs/scheduler-daemon.md print what the pages say.

use std::process::Command;

use mapa_node::user;

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

#[test]
fn what_the_page_of_the_command_shows_is_what_the_program_prints() {
    check(include_str!("../../../docs/mapa-run.md"), 4);
}

#[test]
fn what_the_page_of_the_daemon_shows_is_what_the_programs_print() {
    check(include_str!("../../../docs/scheduler-daemon.md"), 4);
}

fn check(page: &str, least: usize) {
    let folder = tempfile::tempdir().unwrap();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_mapa"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
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
            // As a user called tester, whoever runs this.
            let output = Command::new("sh")
                .args(["-c", &format!("{{ {words}; }} 2>&1")])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env_remove("MAPA_LEDGER")
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let said = said.replace(&user(), "tester");
            // On a busy machine a job that waits may hear the daemon's own words for what it has said before.
            let mut before = "";
            let mut fewer = String::new();
            for line in said.lines() {
                let is_same = line.contains(": waiting at") && before.starts_with(line);
                if !is_same {
                    fewer += line;
                    fewer.push('\n');
                }
                before = line;
            }
            let said = fewer;
            assert_eq!(said, expected, "{words}");
            commands += 1;
        }
    }
    assert!(commands > least);
}
