//! What real shells offer to complete a line, and what `man` shows of a page. Two programs' tests share this.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The shells that completions are tried in.
pub(crate) const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Loads the script, looks up what is called for the program, and calls it as bash does.
const BASH: &str = r#"
source "$1"
line=$2
read -ra COMP_WORDS <<< "$line"
[[ $line == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
program=${COMP_WORDS[0]}
called=$(complete -p "$program") || exit 1
called=${called#*-F }
"${called%% *}" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Types the line and a tab into a zsh behind a terminal, whose `compadd` also notes what it adds.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT= RPROMPT=; fpath=($1:h \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=10000; bindkey '^I' complete-word; compadd() { if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd \"\$@\"; else local -a hits; builtin compadd -A hits \"\$@\"; print -rl -- \$hits >> $1.offers; builtin compadd \"\$@\"; fi }; over() { : > $1.over; }; comppostfuncs=(over)"
zpty -w -n z "$2"$'\t'
repeat 600; do [[ -e $1.over ]] && break; sleep 0.05; done
zpty -d z
cat $1.offers
rm -f $1.offers $1.over
"#;

const FISH: &str = "source $argv[1]; complete -C $argv[2]";

/// Whether this shell can be tried. Where `MAPA_EVERY_SHELL` is set, as in CI, it must be there.
pub(crate) fn is_there(shell: &str) -> bool {
    let is_there = Command::new(shell).args(["-c", "true"]).output().is_ok();
    assert!(
        is_there || env::var_os("MAPA_EVERY_SHELL").is_none(),
        "expected the shell {shell}"
    );
    is_there
}

/// What a shell offers at the end of `line`, if it has read `script`, in a folder of the caller's.
pub(crate) fn offers(shell: &str, folder: &Path, script: &str, line: &str) -> Vec<String> {
    let program = line.split(' ').next().unwrap();
    let file = folder.join(format!("_{program}"));
    fs::write(&file, script).unwrap();
    let mut command = Command::new(shell);
    match shell {
        "bash" => command.args(["--norc", "-c", BASH, "bash"]),
        "zsh" => command.args(["-f", "-c", ZSH, "zsh"]),
        _ => command.args(["--no-config", "-c", FISH]),
    };
    let output = command
        .arg(&file)
        .arg(line)
        .env("HOME", folder)
        .env("TERM", "xterm")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // fish tells what each means.
    let words = text.lines().map(|line| line.split('\t').next().unwrap());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A page as a reader sees it, in one line with single spaces; nothing if there is no `groff`.
pub(crate) fn shown(page: &Path) -> Option<String> {
    let output = Command::new("groff")
        .args(["-man", "-Tutf8", "-P-cbou", "-rLL=300n"])
        .arg(page)
        .output()
        .ok()?;
    let faults = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(faults, "", "{}", page.display());
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The long names of the options in a long help, each with its text as far as its author wrote it.
pub(crate) fn options(help: &str) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> = Vec::new();
    let mut is_option = false;
    // Examples follow, whose lines may begin as options do.
    let lines = help.lines().take_while(|line| !line.starts_with("  mapa"));
    for line in lines {
        if line.starts_with("      --") || line.starts_with("  -") {
            let named = line.split_once("--").unwrap().1;
            let name = named.split([' ', '[', '=']).next().unwrap();
            // Help without long texts has them behind the names.
            let text = named.split_once("  ").map_or("", |(_, text)| text.trim());
            let space = if text.is_empty() { "" } else { " " };
            options.push((name.to_owned(), format!("{text}{space}")));
            is_option = true;
        } else if line.starts_with("          ") && is_option {
            let (_, text) = options.last_mut().unwrap();
            for word in line.split_whitespace() {
                text.push_str(word);
                text.push(' ');
            }
        } else if !line.is_empty() {
            is_option = false;
        }
    }
    for (_, text) in &mut options {
        let marks = [
            "[default:",
            "[possible values:",
            "[alias",
            "Possible values:",
        ];
        let ends = marks.iter().filter_map(|mark| text.find(mark));
        let end = ends.min().unwrap_or(text.len());
        text.truncate(end);
        text.truncate(text.trim_end().len());
    }
    options
}
