//! Commands that start the ranks of a job, and how many each starts.

use super::options::{Resources, StatedNumber, value};
use super::words::ScriptWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starter {
    Torchrun,
    Accelerate,
    DeepSpeed,
    /// `mpirun` and its relatives, and `horovodrun`.
    Mpi,
    Srun,
}

/// A starter on a command line: its place, and the end of its own options.
pub(super) struct Started {
    pub(super) starter: Starter,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The starters of a command line, the outermost first. Words behind the file that is run are its
/// own.
pub(super) fn starters(words: &[ScriptWord]) -> Vec<Started> {
    let mut found: Vec<Started> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| !is_program(&word.text)) {
        if let Some((starter, length)) = starter(words, at) {
            let from = at + length;
            if let Some(last) = found.last_mut() {
                last.to = last.to.min(at);
            }
            let to = words.len();
            found.push(Started { starter, from, to });
            at = from;
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let may_be_value =
            before.is_some_and(|word| word.text.starts_with('-') && !word.text.contains('='));
        // What is neither an option nor the value of one begins another command.
        if let Some(last) = found.last_mut()
            && (at == last.from || !may_be_value)
            && !word.text.starts_with('-')
        {
            last.to = last.to.min(at);
        }
        at += 1;
    }
    if let Some(last) = found.last_mut() {
        last.to = last.to.min(at);
    }
    found
}

/// The file that a command line runs, as it names it.
pub(super) fn file(words: &[ScriptWord]) -> Option<String> {
    let runs_modules = |word: &ScriptWord| {
        let name = base(&word.text);
        name.starts_with("python") || matches!(name, "torchrun" | "accelerate" | "deepspeed")
    };
    for (at, word) in words.iter().enumerate() {
        if is_program(&word.text) {
            return word.is_known.then(|| word.text.clone());
        }
        let is_module = matches!(word.text.as_str(), "-m" | "--module");
        if is_module && starter(words, at).is_none() && words.iter().take(at).any(runs_modules) {
            let module = words.get(at + 1).filter(|module| module.is_known)?;
            return Some(module.text.replace('.', "/") + ".py");
        }
    }
    None
}

/// The last part of a path.
pub(super) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a word is a file that is run.
fn is_program(word: &str) -> bool {
    !word.starts_with('-')
        && [".py", ".sh", ".bash", ".sbatch", ".slurm"]
            .iter()
            .any(|end| word.ends_with(end))
}

fn starter(words: &[ScriptWord], at: usize) -> Option<(Starter, usize)> {
    let word = words.get(at)?;
    let next = words.get(at + 1).map(|word| word.text.as_str());
    Some(match (base(&word.text), next) {
        ("torchrun", _) => (Starter::Torchrun, 1),
        ("-m", Some("torch.distributed.run" | "torch.distributed.launch")) => {
            (Starter::Torchrun, 2)
        }
        ("accelerate", Some("launch")) => (Starter::Accelerate, 2),
        ("-m", Some("accelerate.commands.launch")) => (Starter::Accelerate, 2),
        ("deepspeed", _) => (Starter::DeepSpeed, 1),
        ("-m", Some("deepspeed.launcher.runner")) => (Starter::DeepSpeed, 2),
        ("mpirun" | "mpiexec" | "mpiexec.hydra" | "orterun" | "horovodrun", _) => (Starter::Mpi, 1),
        ("srun", _) => (Starter::Srun, 1),
        _ => return None,
    })
}

/// What the script says of its GPUs.
pub(super) struct ScriptResources<'s> {
    pub(super) slurm: &'s Resources,
    /// The number of devices in `CUDA_VISIBLE_DEVICES`.
    pub(super) visible: Option<usize>,
}

impl ScriptResources<'_> {
    /// The GPUs of a node.
    fn per_node(&self) -> Option<StatedNumber> {
        self.visible
            .map(StatedNumber::known)
            .or_else(|| self.slurm.gpus_per_node())
    }

    /// The GPUs of all nodes.
    pub(super) fn all(&self) -> Option<StatedNumber> {
        self.slurm
            .ranks()
            .or_else(|| self.visible.map(StatedNumber::known))
    }
}

impl Starter {
    /// The number of ranks that it starts; none if its options do not say.
    pub(super) fn ranks(
        self,
        own: &[ScriptWord],
        given: &ScriptResources<'_>,
    ) -> Option<StatedNumber> {
        let number = |names: &[&str]| value(own, names).map(|word| StatedNumber::of(&word));
        match self {
            Self::Torchrun => {
                let each = value(own, &["nproc-per-node"]).map_or(
                    Some(StatedNumber::known(1)),
                    |word| match word.text.as_str() {
                        "gpu" | "auto" => given.per_node(),
                        _ => Some(StatedNumber::of(&word)),
                    },
                )?;
                // `1:4`: at most four nodes.
                let nodes = value(own, &["nnodes"]).map(|word| {
                    let most = word.text.rsplit(':').next().unwrap_or_default().to_owned();
                    StatedNumber::of(&ScriptWord { text: most, ..word })
                });
                Some(each.times(nodes.unwrap_or(StatedNumber::known(1))))
            }
            Self::Accelerate => number(&["num-processes"]).or_else(|| given.all()),
            Self::DeepSpeed => {
                let included = value(own, &["include", "i"]).map(|word| included(&word));
                let nodes = number(&["num-nodes"]).unwrap_or(StatedNumber::known(1));
                let by_node = number(&["num-gpus"]).or_else(|| given.per_node());
                included.unwrap_or_else(|| by_node.map(|each| each.times(nodes)))
            }
            Self::Mpi => number(&["np", "n"]),
            Self::Srun => {
                let mut slurm = given.slurm.clone();
                slurm.read(own);
                slurm.ranks()
            }
        }
    }
}

/// The devices of `localhost:0,1@worker:2`; none if a host has no list.
fn included(word: &ScriptWord) -> Option<StatedNumber> {
    let hosts = word
        .text
        .split('@')
        .map(|host| Some(host.split_once(':')?.1.split(',').count()));
    let count = hosts.sum::<Option<usize>>().filter(|_| word.is_known);
    count.map(StatedNumber::known)
}
