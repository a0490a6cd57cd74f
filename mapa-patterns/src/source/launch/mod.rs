//! Scripts that launch jobs: how many ranks they start, the degrees of parallelism on their command
//! lines, and the programs they run. Nothing is executed.
//!
//! Understood are variables that the script sets, their defaults, arrays, arithmetic, and the
//! variables that Slurm sets by the script's `#SBATCH` comments. Not followed are the output of
//! commands, arguments of the script, and files that it sources. Each condition is assumed to hold.

use super::axis::Axis;
use super::expr::{Expr, Language};
use super::kinds::{Communication, Library, Role, SourceCall};
use super::program::{CallSite, CodePlace, SourceProgram};
use crate::application::Note;

mod lex;
mod options;
mod starters;
mod words;

use lex::{SLURM, statements};
use options::{Resources, StatedNumber};
use starters::{ScriptResources, base, file, starters};
use words::{ScriptVariables, ScriptWord, is_assignment};

/// The most scripts within scripts, as in `bash -c "..."`.
const DEPTH: usize = 4;
/// The most commands of a script that are kept.
const MOST_SITES: usize = 10_000;
/// The most notes on a script, and the most files that it runs.
const MOST_NOTES: usize = 500;

/// A script that was read.
pub(super) struct Script {
    pub(super) program: SourceProgram,
    pub(super) notes: Vec<Note>,
    /// The files that it runs, as it names them.
    pub(super) files: Vec<String>,
}

/// Reads a script. About linear in its length.
pub(super) fn read(name: &str, text: &str) -> Script {
    let mut reader = ScriptReader {
        script: Script {
            program: SourceProgram::new(name, Language::Shell),
            notes: Vec::new(),
            files: Vec::new(),
        },
        variables: ScriptVariables::default(),
        slurm: Resources::default(),
        slurm_line: None,
        nesting: 0,
        has_ranks: false,
    };
    let text = text.replace("\r\n", "\n");
    reader.run(&text, None);
    reader.of_slurm();
    reader.script
}

/// The call of a command or of an option on its line.
pub(super) fn classify(site: &CallSite) -> Option<SourceCall> {
    let value = || {
        site.arguments
            .first()
            .map_or(Expr::Unknown, |(_, value)| value.clone())
    };
    if !site.call.starts_with("--") {
        return Some(SourceCall {
            library: Library::Launcher,
            kind: Communication::Ranks,
            role: Role::Ranks(value()),
        });
    }
    let name = site.call.as_str();
    let library = match name {
        name if name.replace('_', "-").contains("model-parallel") => Library::Megatron,
        "--tensor-parallel-size" | "--pipeline-parallel-size" => Library::Vllm,
        "--tp_size" | "--autotp_size" => Library::DeepSpeed,
        "--context-parallel-size" => Library::Megatron,
        _ => Library::Settings,
    };
    Some(SourceCall {
        library,
        kind: Communication::Degrees,
        role: Role::Degrees(vec![(Axis::of(name)?, value())], false),
    })
}

struct ScriptReader {
    script: Script,
    variables: ScriptVariables,
    slurm: Resources,
    /// The first line of a comment for Slurm.
    slurm_line: Option<usize>,
    /// The conditions, loops and choices around the statement.
    nesting: usize,
    /// Whether the number of ranks of some command is known.
    has_ranks: bool,
}

impl ScriptReader {
    /// Reads the statements of a text. Those of `bash -c` have the line and the words of its
    /// command.
    fn run(&mut self, text: &str, within: Option<(usize, &[ScriptWord], usize)>) {
        let (statements, open) = statements(text);
        for statement in statements {
            let (line, before, depth) = within.unwrap_or((statement.line, &[], 0));
            match statement.text.strip_prefix(SLURM) {
                Some(options) => self.directive(line, options),
                None => self.statement(line, statement.text, before, depth),
            }
        }
        if let (Some(line), None) = (open, within) {
            self.broken(line);
        }
    }

    fn broken(&mut self, line: usize) {
        if self.script.program.broken.last() != Some(&line) {
            self.script.program.broken.push(line);
        }
    }

    fn note(&mut self, line: usize, note: Note) {
        let note = note.at(format!("{}:{line}", self.script.program.name));
        if !self.script.notes.contains(&note) && self.script.notes.len() < MOST_NOTES {
            self.script.notes.push(note);
        }
    }

    fn site(&mut self, line: usize, call: &str, value: Expr) {
        let place = CodePlace {
            scope: 0,
            frame: None,
            at: 0,
        };
        if self.script.program.sites.len() < MOST_SITES {
            self.script.program.sites.push(CallSite {
                place,
                line,
                call: call.to_owned(),
                arguments: vec![(None, value)],
            });
        }
    }

    /// A comment for Slurm: `#SBATCH --nodes=2`. Slurm sets variables accordingly.
    fn directive(&mut self, line: usize, options: &str) {
        self.slurm_line.get_or_insert(line);
        let Some(words) = self.variables.words(options) else {
            return self.broken(line);
        };
        self.slurm.read(&words);
    }

    /// Sets the variables that Slurm sets, as the comments so far say.
    fn provide(&mut self) {
        if self.slurm_line.is_none() {
            return;
        }
        let slurm = &self.slurm;
        let nodes = Some(slurm.nodes());
        for (name, number) in [
            ("SLURM_NNODES", nodes.clone()),
            ("SLURM_JOB_NUM_NODES", nodes),
            ("SLURM_NTASKS", slurm.tasks()),
            ("SLURM_NPROCS", slurm.tasks()),
            ("SLURM_NTASKS_PER_NODE", slurm.tasks_per_node()),
            ("SLURM_GPUS", slurm.gpus()),
            ("SLURM_GPUS_PER_NODE", slurm.gpus_per_node()),
            ("SLURM_GPUS_ON_NODE", slurm.gpus_per_node()),
        ] {
            if let Some(value) = number.and_then(|number| number.value()) {
                self.variables.provide(name, value);
            }
        }
    }

    fn statement(&mut self, line: usize, text: &str, before: &[ScriptWord], depth: usize) {
        self.provide();
        let mut text = text.trim();
        loop {
            let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            match first {
                "if" | "while" | "until" | "case" => self.nesting += 1,
                "fi" | "done" | "esac" => self.nesting = self.nesting.saturating_sub(1),
                "for" | "select" => {
                    self.nesting += 1;
                    let variable = rest.split_whitespace().next().unwrap_or_default();
                    return self.variables.forget(variable);
                }
                "export" | "declare" | "typeset" | "local" | "readonly" => {
                    let rest = rest.trim_start();
                    if !(rest.contains("=(") && self.variables.assign(rest, self.nesting > 0)) {
                        self.variables.declare(rest, self.nesting > 0);
                    }
                    return;
                }
                "then" | "else" | "elif" | "do" | "{" | "}" | "!" | "exec" | "nohup" | "time" => {}
                _ => break,
            }
            text = rest.trim_start();
        }
        let is_conditional = self.nesting > 0;
        // `A=1` and `A=(..)`, but not `A=1 command`.
        let is_alone = shlex::split(text).is_none_or(|words| words.len() == 1);
        if (is_alone || text.contains("=(")) && is_assignment(text) {
            if !self.variables.assign(text, is_conditional) {
                self.broken(line);
            }
            return;
        }
        let Some(words) = self.variables.words(text) else {
            return self.broken(line);
        };
        let assigned = words
            .iter()
            .take_while(|word| is_assignment(&word.text))
            .count();
        let (environment, words) = words.split_at(assigned);
        let devices = environment
            .iter()
            .find_map(|word| word.text.strip_prefix(DEVICES));
        let visible = devices
            .and_then(|list| list.strip_prefix('='))
            .map(str::to_owned);
        let words = [before, words].concat();
        self.command(line, &words, visible.as_deref(), depth);
    }

    fn command(&mut self, line: usize, words: &[ScriptWord], visible: Option<&str>, depth: usize) {
        let first = words.first().map_or("", |word| base(&word.text));
        if SILENT.contains(&first) {
            return;
        }
        let shell = words.windows(3).position(|triple| {
            matches!(base(&triple[0].text), "bash" | "sh")
                && triple[1].text.ends_with('c')
                && triple[1].text.starts_with('-')
        });
        if let Some(at) = shell.filter(|_| depth < DEPTH)
            && let (Some(before), Some(inner)) = (words.get(..at), words.get(at + 2))
        {
            return self.run(&inner.text, Some((line, before, depth + 1)));
        }
        let found = starters(words);
        let list = visible
            .map(str::to_owned)
            .or_else(|| Some(self.variables.get(DEVICES)?.text));
        let given = ScriptResources {
            slurm: &self.slurm,
            visible: list.and_then(|list| count(&list)),
        };
        let ranks = found.iter().rev().find_map(|start| {
            let options = words.get(start.from..start.to).unwrap_or_default();
            Some((start, start.starter.ranks(options, &given)?))
        });
        let name = |from: usize| {
            from.checked_sub(1)
                .and_then(|at| words.get(at))
                .map_or("", |word| base(&word.text))
        };
        match (&ranks, found.last()) {
            (Some((start, StatedNumber::Known { value, is_default })), _) => {
                let call = name(start.from);
                self.has_ranks = true;
                self.site(line, call, int(*value));
                if *is_default {
                    self.note(line, default(call, *value));
                }
            }
            (Some((start, StatedNumber::Unknown(text))), _) => {
                let call = name(start.from);
                self.site(line, call, Expr::Unknown);
                let what = format!("{call}: the script does not say what {text} is");
                self.note(line, Note::undecided(what));
            }
            (None, Some(start)) => {
                let call = name(start.from);
                self.site(line, call, Expr::Unknown);
                let what = format!("{call}: the script does not say how many ranks it starts");
                self.note(line, Note::undecided(what));
            }
            (None, None) => {}
        }
        self.degrees(line, words);
        if let Some(file) = file(words)
            && !self.script.files.contains(&file)
            && self.script.files.len() < MOST_NOTES
        {
            self.script.files.push(file);
        }
    }

    /// Degrees of parallelism among the options of a command.
    fn degrees(&mut self, line: usize, words: &[ScriptWord]) {
        for (at, word) in words.iter().enumerate() {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (
                    name,
                    Some(ScriptWord {
                        text: value.to_owned(),
                        ..word.clone()
                    }),
                ),
                None => (word.text.as_str(), words.get(at + 1).cloned()),
            };
            let axis = Axis::of(name).filter(|axis| *axis != Axis::Ranks);
            if let (true, Some(_), Some(value)) = (name.starts_with("--"), axis, value) {
                match StatedNumber::of(&value) {
                    StatedNumber::Known { value, is_default } => {
                        self.site(line, name, int(value));
                        if is_default {
                            self.note(line, default(name, value));
                        }
                    }
                    StatedNumber::Unknown(text) => {
                        self.site(line, name, Expr::Unknown);
                        let what = format!("{name}: the script does not say what {text} is");
                        self.note(line, Note::undecided(what));
                    }
                }
            }
        }
    }

    /// If no command says how many ranks there are, the comments for Slurm or the visible devices
    /// do.
    fn of_slurm(&mut self) {
        if self.has_ranks {
            return;
        }
        if let (Some(line), Some(ranks)) = (self.slurm_line, self.slurm.ranks())
            && let Some(ranks) = ranks.value()
        {
            return self.site(line, SLURM, int(ranks));
        }
        if let Some(devices) = self.variables.get(DEVICES)
            && let Some(ranks) = count(&devices.text).filter(|_| devices.is_known)
        {
            self.site(1, DEVICES, int(ranks));
        }
    }
}

/// The variable that lists the devices of a job.
const DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// Commands whose words are for people or for other programs.
const SILENT: [&str; 14] = [
    "echo", "printf", "pip", "pip3", "conda", "module", "which", "command", "alias", "cat", "grep",
    "git", "rm", "cd",
];

fn default(call: &str, value: usize) -> Note {
    Note::assumed(format!(
        "{call}: {value}, a default of the script: the environment may set another"
    ))
}

fn int(value: usize) -> Expr {
    i64::try_from(value).map_or(Expr::Unknown, Expr::Int)
}

/// The number of devices in a list such as `0,1,2`; none if it has other things.
fn count(list: &str) -> Option<usize> {
    let mut devices = list.split(',').map(str::trim);
    let are_ids = devices.all(|id| !id.is_empty() && !id.contains(['$', ' ', '-']));
    are_ids.then(|| list.split(',').count())
}
