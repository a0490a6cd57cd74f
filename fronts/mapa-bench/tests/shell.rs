//! Completions in real shells, manual pages, and help on a screen.

use std::fs;

use crate::common::{Folder, command, text};
use crate::shells::{SHELLS, is_there, offers, options, shown};

/// Every command, and every command below one, from the pages, which name them all.
fn commands(folder: &Folder) -> Vec<String> {
    let pages = fs::read_dir(folder.at("pages")).unwrap();
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let names = names.map(|name| name.strip_suffix(".1").unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name != "mapa-bench").collect();
    names.sort();
    // The name of a page has hyphens for spaces, and so do some commands.
    let path = |name: &String| {
        let rest = name.strip_prefix("mapa-bench-").unwrap();
        match rest.split_once('-') {
            Some((command, below)) => format!("{command} {below}"),
            None => rest.to_owned(),
        }
    };
    names.iter().map(path).collect()
}

/// Help on a screen of 80 columns.
fn help(words: &str) -> String {
    let output = command(words).env("COLUMNS", "80").output().unwrap();
    assert!(output.status.success(), "{words}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn real_shells_complete_commands_options_and_values() {
    let folder = Folder::new();
    folder.write("of-mine.txt", "");
    for shell in SHELLS.into_iter().filter(|shell| is_there(shell)) {
        let script = text(&format!("completions {shell}"), "");
        let offers = |line: &str| offers(shell, folder.root(), &script, line);
        let at = |line: &str, expected: &[&str]| {
            let offered = offers(line);
            for word in expected {
                let is_offered = offered.iter().any(|offer| offer == word);
                assert!(is_offered, "{shell}: {line}: {word}: {offered:?}");
            }
            offered
        };
        let all = at("mapa-bench ", &["allocate", "completions", "pattern"]);
        assert!(
            !all.iter().any(|word| word == "workers"),
            "{shell}: {all:?}"
        );
        at(
            "mapa-bench allocate --",
            &["--policy", "--machine", "--json"],
        );
        at("mapa-bench allocate --policy max-", &["max-bandwidth"]);
        at(
            "mapa-bench allocate --machine dgx-",
            &["dgx-1v", "dgx-a100"],
        );
        at("mapa-bench allocate --model ring", &["ring-packing"]);
        at("mapa-bench pattern ", &["from-source", "from-nccl"]);
        at("mapa-bench pattern from-source --out", &["--output"]);
        at("mapa-bench completions ", &["zsh", "powershell"]);
        if shell == "bash" {
            // Then bash offers files, by `-o default`.
            assert_eq!(offers("mapa-bench topo --machine of-"), [""; 0]);
        } else {
            at("mapa-bench topo --machine of-", &["of-mine.txt"]);
        }
    }
}

#[test]
fn each_page_has_every_option_with_its_text_and_examples_as_they_are_typed() {
    let folder = Folder::new();
    folder.text("man --into pages");
    let commands = commands(&folder);
    assert!(commands.len() > 25, "{commands:?}");
    assert!(!commands.iter().any(|command| command == "workers"));
    for command in commands {
        let file = folder.at(&format!("pages/mapa-bench-{}.1", command.replace(' ', "-")));
        let page = fs::read_to_string(&file).unwrap();
        // As a reader sees it, and as it is.
        let shown = shown(&file);
        let help = help(&format!("{command} --help"));
        let options = options(&help);
        assert!(options.len() > 1, "{command}");
        for (option, text) in options {
            let name = format!("\\-\\-{}", option.replace('-', "\\-"));
            assert!(page.contains(&name), "{command}: {option}");
            if let Some(shown) = &shown {
                assert!(!text.is_empty(), "{command}: {option}");
                assert!(shown.contains(&text), "{command}: {option}: {text}");
            }
        }
        for example in help
            .lines()
            .filter(|line| line.starts_with("  mapa-bench "))
        {
            let typed = example
                .replace('\\', "\\e")
                .replace('-', "\\-")
                .replace('\'', "\\(aq")
                .replace('"', "\\(dq")
                .replace('~', "\\(ti");
            assert!(
                page.lines().any(|line| line == typed),
                "{command}: {typed}: {page}"
            );
        }
    }
}

#[test]
fn help_is_as_wide_as_the_terminal_and_lists_commands_by_task() {
    let all = help("-h");
    for task in ["Devices for a job:", "Machines:", "Simulations:"] {
        assert!(all.lines().any(|line| line == task), "{task}: {all}");
    }
    let folder = Folder::new();
    folder.text("man --into pages");
    let mut commands = commands(&folder);
    for command in commands.iter().filter(|command| !command.contains(' ')) {
        let start = format!("  {command} ");
        let lines = all.lines().filter(|line| line.starts_with(&start));
        assert_eq!(lines.count(), 1, "{command}: {all}");
    }
    commands.push(String::new());
    for command in commands {
        let help = help(&format!("{command} -h"));
        // clap does not break the lines of the usage.
        let is_usage = |line: &str| line.starts_with("Usage: ") || line.starts_with("       mapa");
        let lines = help.lines().filter(|line| !is_usage(line));
        let widest = lines.max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 80, "{command}: {widest}");
        let rows = help.lines().count();
        assert!(rows <= 40, "{command}: {rows} rows\n{help}");
    }
}
