//! Options of commands, and the nodes, tasks and GPUs that Slurm's options ask for.

use super::words::ScriptWord;

/// The value of the first of these options: `--name VALUE`, `--name=VALUE`, and, for a name of one
/// letter, `-n VALUE`, `-nVALUE`. Hyphens and underscores are alike.
pub(super) fn value(words: &[ScriptWord], names: &[&str]) -> Option<ScriptWord> {
    words.iter().enumerate().find_map(|(at, word)| {
        let value_written = written(&word.text)?;
        let (name, value) = match value_written {
            WrittenOption::Long(name, value) => (name.replace('_', "-"), value),
            WrittenOption::Short(letter, rest) => (
                letter.to_owned(),
                Some(rest).filter(|rest| !rest.is_empty()),
            ),
        };
        let is_one =
            |option: &&str| **option == name || matches!(option, &"np") && word.text == "-np";
        if !names.iter().any(is_one) {
            return None;
        }
        match value.filter(|_| word.text != "-np") {
            Some(value) => Some(ScriptWord {
                text: value.to_owned(),
                ..word.clone()
            }),
            None => words.get(at + 1).cloned(),
        }
    })
}

enum WrittenOption<'t> {
    Long(&'t str, Option<&'t str>),
    Short(&'t str, &'t str),
}

fn written(word: &str) -> Option<WrittenOption<'_>> {
    if let Some(long) = word.strip_prefix("--") {
        return Some(match long.split_once('=') {
            Some((name, value)) => WrittenOption::Long(name, Some(value)),
            None => WrittenOption::Long(long, None),
        });
    }
    let short = word.strip_prefix('-')?;
    let end = short
        .char_indices()
        .nth(1)
        .map_or(short.len(), |(at, _)| at);
    let (letter, rest) = short.split_at(end);
    Some(WrittenOption::Short(letter, rest.trim_start_matches('=')))
}

/// A number that a script states.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StatedNumber {
    Known {
        value: usize,
        /// Whether the environment of the script may set another.
        is_default: bool,
    },
    /// As it is written, such as `$GPUS`.
    Unknown(String),
}

impl StatedNumber {
    pub(super) fn known(value: usize) -> Self {
        Self::Known {
            value,
            is_default: false,
        }
    }

    pub(super) fn of(word: &ScriptWord) -> Self {
        match word.text.trim().parse() {
            Ok(value) if word.is_known && value > 0 => Self::Known {
                value,
                is_default: word.is_default,
            },
            _ => Self::Unknown(word.text.clone()),
        }
    }

    pub(super) fn value(&self) -> Option<usize> {
        match self {
            Self::Known { value, .. } => Some(*value),
            Self::Unknown(_) => None,
        }
    }

    /// The product with another number.
    pub(super) fn times(self, other: Self) -> Self {
        match (self, other) {
            (
                Self::Known {
                    value: a,
                    is_default: first,
                },
                Self::Known {
                    value: b,
                    is_default: second,
                },
            ) => Self::Known {
                value: a.saturating_mul(b),
                is_default: first || second,
            },
            (Self::Unknown(text), _) | (_, Self::Unknown(text)) => Self::Unknown(text),
        }
    }
}

/// What Slurm's options ask for, in the comments of a script or after `srun`.
#[derive(Clone, Default)]
pub(super) struct Resources {
    nodes: Option<StatedNumber>,
    tasks: Option<StatedNumber>,
    tasks_per_node: Option<StatedNumber>,
    gpus: Option<StatedNumber>,
    gpus_per_node: Option<StatedNumber>,
    gpus_per_task: Option<StatedNumber>,
}

impl Resources {
    /// Reads options. What they do not say stays as it was.
    pub(super) fn read(&mut self, words: &[ScriptWord]) {
        let number = |names: &[&str]| value(words, names).map(|word| StatedNumber::of(&word));
        // `2-4` nodes: the job runs on at least two.
        let nodes = value(words, &["nodes", "N"]).map(|word| {
            let least = word.text.split('-').next().unwrap_or_default().to_owned();
            StatedNumber::of(&ScriptWord {
                text: least,
                ..word
            })
        });
        // `a100:4` GPUs.
        let gpus = |names: &[&str]| {
            value(words, names).map(|word| {
                let count = word.text.rsplit(':').next().unwrap_or_default().to_owned();
                StatedNumber::of(&ScriptWord {
                    text: count,
                    ..word
                })
            })
        };
        let set = |option: &mut Option<StatedNumber>, new: Option<StatedNumber>| {
            if new.is_some() {
                *option = new;
            }
        };
        set(&mut self.nodes, nodes);
        set(&mut self.tasks, number(&["ntasks", "n"]));
        set(
            &mut self.tasks_per_node,
            number(&["ntasks-per-node", "tasks-per-node"]),
        );
        set(&mut self.gpus, gpus(&["gpus", "G"]));
        set(&mut self.gpus_per_node, gpus(&["gpus-per-node"]));
        set(&mut self.gpus_per_task, gpus(&["gpus-per-task"]));
        if let Some(gres) = value(words, &["gres"]) {
            let own = gres
                .text
                .split(',')
                .find(|resource| *resource == "gpu" || resource.starts_with("gpu:"));
            let count = own.map(|resource| match resource.rsplit(':').next() {
                // `gpu` and `gpu:a100` are one.
                Some(last) if last.starts_with(|c: char| c.is_ascii_digit() || c == '$') => {
                    StatedNumber::of(&ScriptWord {
                        text: last.to_owned(),
                        ..gres.clone()
                    })
                }
                _ => StatedNumber::known(1),
            });
            set(&mut self.gpus_per_node, count);
        }
    }

    pub(super) fn nodes(&self) -> StatedNumber {
        self.nodes.clone().unwrap_or(StatedNumber::known(1))
    }

    /// The tasks of all nodes.
    pub(super) fn tasks(&self) -> Option<StatedNumber> {
        let by_node = || Some(self.tasks_per_node.clone()?.times(self.nodes()));
        self.tasks.clone().or_else(by_node)
    }

    pub(super) fn tasks_per_node(&self) -> Option<StatedNumber> {
        self.tasks_per_node.clone()
    }

    /// The GPUs of all nodes.
    pub(super) fn gpus(&self) -> Option<StatedNumber> {
        let by_node = || Some(self.gpus_per_node.clone()?.times(self.nodes()));
        let by_task = || Some(self.gpus_per_task.clone()?.times(self.tasks()?));
        self.gpus.clone().or_else(by_node).or_else(by_task)
    }

    /// The GPUs of a node.
    pub(super) fn gpus_per_node(&self) -> Option<StatedNumber> {
        let even = || {
            let (all, nodes) = (self.gpus()?.value()?, self.nodes().value()?);
            (all % nodes == 0).then(|| StatedNumber::known(all / nodes))
        };
        self.gpus_per_node.clone().or_else(even)
    }

    /// The ranks that `srun` starts: one for each task, or, if a single task drives several GPUs,
    /// one for each GPU.
    pub(super) fn ranks(&self) -> Option<StatedNumber> {
        let tasks = self.tasks();
        match tasks.as_ref().map(StatedNumber::value) {
            Some(Some(1)) | None => self.gpus().or(tasks),
            _ => tasks,
        }
    }
}
