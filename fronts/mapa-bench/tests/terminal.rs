//! Whatever comes from outside reaches a terminal as text: names, titles, paths, quoted input. Every command runs on a
//! pseudo-terminal with hostile ones, and none may move the cursor, set a title, fill the clipboard or turn the writing round.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::common::{Folder, run};

/// Titles, the clipboard, the cursor, 8-bit controls, text from right to left, and what a terminal deletes by.
const HOSTILE: &str = "a\u{1b}]0;T\u{7}\u{1b}]52;c;Y2F0\u{7}\u{1b}[31;5H\u{9b}2J\u{9d}0;t\u{9c}\u{202e}b\u{2066}c\u{8}\u{7f}";

/// What our own styles and progress bars send.
fn without_own(mut shown: &str) -> String {
    let mut rest = String::new();
    'text: while let Some(start) = shown.find("\u{1b}[") {
        rest.push_str(&shown[..start]);
        let sequence = &shown[start + 2..];
        let length = sequence
            .find(|c: char| !c.is_ascii_digit() && c != ';')
            .unwrap_or(0);
        for own in ["m", "2K", "A", "B"] {
            let end = if own == "2K" { 0 } else { length };
            if sequence[end..].starts_with(own) {
                shown = &sequence[end + own.len()..];
                continue 'text;
            }
        }
        rest.push_str("<escape>");
        shown = sequence;
    }
    rest + shown
}

fn is_obeyed(c: char) -> bool {
    let is_own = matches!(c, '\r' | '\n' | '\t');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() && !is_own || turns
}

/// The bytes that `mapa-bench` with these words, and this pager, sends to a terminal.
fn on_a_terminal(words: &[String], folder: &Path, pager: &str) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let side = || {
        let mut options = fs::OpenOptions::new();
        Stdio::from(
            options
                .read(true)
                .write(true)
                .open(name.to_str().unwrap())
                .unwrap(),
        )
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_mapa-bench"))
        .args(words)
        .current_dir(folder)
        .env("TERM", "xterm")
        .env("PAGER", pager)
        .stdin(Stdio::null())
        .stdout(side())
        .stderr(side())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    let mut master = File::from(terminal);
    // The last one at the other end has closed it: an error, by which Linux says so.
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = master.read(&mut piece) {
        bytes.extend_from_slice(&piece[..read]);
    }
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap()
}

/// A string of TOML or JSON with the hostile name.
fn quoted() -> String {
    serde_json::to_string(HOSTILE)
        .unwrap()
        .replace('\u{7f}', "\\u007f")
        .replace('\u{9b}', "\\u009b")
}

#[test]
fn no_command_sends_a_terminal_what_comes_from_outside() {
    let folder = Folder::new();
    let hostile = quoted();
    // Each component has a name of its own.
    let (node, device) = (hostile.replacen('a', "n", 1), hostile.replacen('a', "d", 1));
    folder.write(
        "m.toml",
        format!(
            "format = \"mapa-machine\"\nversion = 1\nname = {hostile}\ntitle = {hostile}\nsource = {hostile}\nnotes = [{hostile}]\n\
             nodes = [{{ name = {node}, kind = \"machine\" }}]\n\
             devices = [{{ name = {device}, up = {node}, product = {hostile}, mig = \"a100-40gb\" }}, {{ name = \"GPU1\", up = {node} }}]\n\
             links = [{{ ends = [{device}, \"GPU1\"], class = \"NV1\" }}]\n"
        ),
    );
    folder.write(
        "p.toml",
        format!("format = \"mapa-pattern\"\nversion = 1\nname = {hostile}\nranks = 2\n"),
    );
    folder.write(
        "jobs.csv",
        format!("id,gpus,submit_s,duration_s,name\n{HOSTILE},1,0,5,{HOSTILE}\n"),
    );
    folder.write(
        "named.csv",
        format!("job,device,pcie_gbps\n\"{HOSTILE}\",GPU0,1\n"),
    );
    folder.write("runs.csv", format!("job,{HOSTILE}\n{HOSTILE},1\n"));
    folder.write(
        "batch.jsonl",
        format!("{{\"gpus\": {hostile}}}\n{{{hostile}: 1}}\n"),
    );
    folder.write(
        "state.json",
        format!("{{\"held\": [{{\"job\": {hostile}, \"devices\": [0]}}]}}"),
    );
    folder.write("sweep.toml", format!("{hostile} = 1\n"));
    folder.write(
        "a.py",
        format!("# {HOSTILE}\nimport torch\ndist.init_process_group('{HOSTILE}')\n"),
    );
    folder.write(
        "nccl.log",
        format!("x NCCL INFO {HOSTILE}\nNCCL version {HOSTILE}\n"),
    );
    folder.write("log.jsonl", format!("{{\"format\": {hostile}}}\n"));
    folder.write(HOSTILE, HOSTILE);
    fs::create_dir(folder.at("inner")).unwrap();
    folder.write(
        &format!("inner/{HOSTILE}.txt"),
        format!("\tGPU0\nGPU0\t{HOSTILE}\n"),
    );
    let commands = "
        allocate --machine m.toml --gpus 2 --explain
        allocate --machine m.toml --gpus 2 --busy NAME
        allocate --machine NAME --gpus 2
        allocate --machine m.toml --gpus 2 --policy NAME
        allocate --machine m.toml --gpus NAME
        allocate --machine m.toml --batch batch.jsonl
        allocate --machine m.toml --pattern p.toml
        allocate --NAME
        NAME
        compare --machine m.toml --gpus 2
        compare --machine m.toml --gpus 2 --busy NAME
        score --machine m.toml --devices 0,1
        score --machine m.toml --devices NAME
        score --machine dgx-1v --devices 0,1 --model NAME
        match --machine m.toml --pattern ring --gpus 2
        match --pattern-file NAME --target-file NAME
        match --machine m.toml --pattern NAME
        defrag --machine m.toml --job NAME=0 --want 1
        defrag --machine m.toml --state state.json --want 1
        machines
        topo --machine m.toml
        topo --machine m.toml --write toml
        topo --machine m.toml --write dot
        topo --machine NAME
        read . inner
        mig --gpu NAME
        mig --gpu a100-40gb --layout NAME
        mig --parted NAME
        pattern from-parallelism NAME
        pattern from-source a.py
        pattern from-source NAME
        pattern from-nccl nccl.log
        pattern from-nccl NAME
        pattern from-nvlink NAME
        pattern show p.toml
        sensitivity --messages NAME --iteration-seconds 1
        sensitivity NAME
        profile runs.csv
        profile NAME
        contention --machine dgx-a100 --jobs named.csv
        contention --machine dgx-a100 --jobs NAME
        measured add NAME --machine m.toml
        measured NAME
        fit --machine m.toml NAME
        fit --machine m.toml runs.csv
        simulate --machine m.toml --jobs jobs.csv
        simulate --machine m.toml --jobs NAME
        simulate --machine m.toml --scheduler NAME --generate mapa,jobs=2
        simulate --machine m.toml --generate NAME
        slo replay log.jsonl
        slo replay NAME
        sweep sweep.toml --into out
        sweep NAME --into out
        tune --from NAME
        reproduce NAME
        train --into NAME/x --steps 1
        train --NAME
        completions NAME
        man NAME/x
        help NAME";
    let (mut covered, mut escaped) = (Vec::new(), 0);
    for line in commands
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        for json in [false, true] {
            let mut words: Vec<String> = line
                .split_whitespace()
                .map(|word| word.replace("NAME", HOSTILE))
                .collect();
            covered.push(words[0].clone());
            if json {
                words.push("--json".to_owned());
            }
            let shown = on_a_terminal(&words, folder.root(), "cat");
            let rest = without_own(&shown);
            let obeyed: Vec<char> = rest.chars().filter(|c| is_obeyed(*c)).collect();
            escaped += usize::from(shown.contains("u{1b}") || shown.contains("u001b"));
            assert!(
                obeyed.is_empty() && !rest.contains("<escape>"),
                "{line}: {obeyed:?} of {shown:?}"
            );
        }
    }
    assert!(escaped > 50, "{escaped} answers have what was hostile");
    // A command that is new comes into the list.
    let help = run("--help", "");
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.lines().take_while(|line| !line.starts_with("Options"));
    let commands = commands.filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
    let mut count = 0;
    for command in commands.filter(|command| !command.contains(' ')) {
        assert!(
            covered.iter().any(|covered| covered == command),
            "{command} is not tried"
        );
        count += 1;
    }
    assert!(count > 20, "{count} commands in {help}");
}

#[test]
fn a_long_field_makes_no_long_error() {
    let folder = Folder::new();
    folder.write("long.csv", format!("{},gpus\n", "x".repeat(10 << 20)));
    for words in [
        "simulate --machine dgx-1v --jobs long.csv",
        "simulate --machine dgx-1v --jobs long.csv --json",
    ] {
        let output = folder.run(words);
        assert_eq!(output.status.code(), Some(2));
        let said = output.stdout.len() + output.stderr.len();
        assert!(said > 20 && said < 20_000, "{words}: {said} bytes");
    }
}

/// A pager that fails may have shown nothing.
#[test]
fn an_answer_is_shown_without_a_pager_that_fails() {
    let folder = Folder::new();
    for pager in ["cat", "false", "/no/such/program", ""] {
        let shown = on_a_terminal(&["machines".to_owned()], folder.root(), pager);
        assert!(shown.contains("dgx-1v"), "{pager}: {shown}");
    }
}
