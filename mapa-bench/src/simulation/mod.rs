//! Simulations, by the words of the command line.

use mapa_core::Policy;
use mapa_sched::{BuiltIn, Fleet, Scheduler};
use mapa_sim::{ByBandwidth, Execution, Fixed};

use crate::failure::Failure;
use crate::machine::Loaded;

mod workload;

pub(crate) use workload::{WorkloadArgs, generated, workload};

/// The policies of the paper's evaluation.
pub(crate) const PAPER: [&str; 4] = ["lowest-id", "topo-aware", "greedy", "preserve"];

/// The names that these words mean, each once: names, `paper` for its four, `all` for the policies of whole devices.
pub(crate) fn policy_names(words: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        let more: Vec<&str> = match word {
            "paper" => PAPER.to_vec(),
            "all" => mapa_core::BuiltIn::ALL.iter().filter(|own| !own.for_instances).map(|own| own.name).collect(),
            name => vec![name],
        };
        names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names
}

/// The scheduler of this name, every job placed by this policy.
pub(crate) fn scheduler(name: &str, policy: Box<dyn Policy>) -> Result<Box<dyn Scheduler + Send>, Failure> {
    BuiltIn::named(name, policy).map_err(Failure::malformed)
}

/// The execution model that a word means: `fixed`, `effective-bandwidth` (Eq. 2) or `ring-packing`.
pub(crate) fn execution(word: &str) -> Result<Box<dyn Execution>, Failure> {
    match word {
        "fixed" => Ok(Box::new(Fixed)),
        "effective-bandwidth" => Ok(Box::new(ByBandwidth::eq_2())),
        "ring-packing" => Ok(Box::new(ByBandwidth::ring_packing())),
        _ => Err(Failure::malformed(format_args!(
            "no execution model is called `{word}`: expected fixed, effective-bandwidth or ring-packing"
        ))),
    }
}

/// The machine as a fleet of one, nobody on it; its devices cut up as it says.
pub(crate) fn fleet(loaded: &Loaded) -> Result<Fleet, Failure> {
    let mut fleet = Fleet::new([loaded.graph().clone()]);
    let view = loaded.idle.view();
    for whole in loaded.graph().wholes().iter() {
        fleet.layout_is(view.machine(), whole, &view.layout_of(whole)).map_err(Failure::malformed)?;
    }
    Ok(fleet)
}
