//! Simulations, by the words of the command line.

use std::cell::RefCell;
use std::collections::BTreeMap;

use mapa_core::{Policy, ring_packing_gbps};
use mapa_sched::{BuiltIn, Fleet, Foresight, Scheduler};
use mapa_sim::{ByBandwidth, Execution, Fixed, PcieEqualShare, PcieMaxMin, Simulation, Workload};
use mapa_topologies::mig::{self, Gpu};

use crate::failure::Failure;
use crate::machine::Loaded;
use crate::policies::policies;

mod servers;
mod workload;

pub(crate) use servers::servers;
pub(crate) use workload::{WorkloadArgs, generated, workload};

/// The policies of the paper's evaluation.
pub(crate) const PAPER: [&str; 4] = ["lowest-id", "topo-aware", "greedy", "preserve"];

/// The names that these words mean, each once: names, `paper` for its four, `all` for the policies of whole devices.
pub(crate) fn policy_names(words: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        let more: Vec<&str> = match word {
            "paper" => PAPER.to_vec(),
            "all" => policies().filter(|policy| !policy.for_instances).map(|policy| policy.name).collect(),
            name => vec![name],
        };
        names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names
}

/// The policy by which the scheduler of this name places, if it takes no other.
pub(crate) fn own_policy(scheduler: &str) -> Option<&'static str> {
    BuiltIn::find(scheduler).and_then(|own| own.policy)
}

/// The scheduler of this name, every job placed by this policy. Where heads are patient, they are so by what jobs run by: a word of
/// [`execution`].
pub(crate) fn scheduler(
    name: &str,
    policy: Box<dyn Policy>,
    execution: &str,
) -> Result<Box<dyn Scheduler + Send>, Failure> {
    if let Some(own) = own_policy(name).filter(|&own| own != policy.name()) {
        let wrong =
            format_args!("the scheduler {name} places jobs by {own}, not by {}: expected that policy", policy.name());
        return Err(Failure::malformed(wrong));
    }
    Ok(match (name, execution) {
        ("foresight", "fixed") => Box::new(Foresight::new(policy).patience(None)),
        ("foresight", "ring-packing") => {
            Box::new(Foresight::new(policy).by(mapa_core::Foresight::new(ring_packing_gbps())))
        }
        _ => BuiltIn::named(name, policy).map_err(Failure::malformed)?,
    })
}

/// The execution models by name.
const EXECUTIONS: &str = "fixed, effective-bandwidth, ring-packing, pcie-equal-share[,gbps=GB/s] or pcie-max-min";

/// The execution model that a word means, for the jobs of a workload: `fixed`, `effective-bandwidth` (Eq. 2 of MAPA), `ring-packing`,
/// `pcie-equal-share` (Eq. 2 of Tang et al.; `pcie-equal-share,gbps=60` for ports of 60 GB/s) or `pcie-max-min`.
pub(crate) fn execution(word: &str, workload: &Workload) -> Result<Box<dyn Execution>, Failure> {
    if let Some(gbps) = word.strip_prefix("pcie-equal-share,gbps=") {
        let gbps = gbps.trim().parse().ok().filter(|gbps: &f64| gbps.is_finite() && *gbps > 0.0);
        let gbps = gbps.ok_or_else(|| Failure::malformed(format_args!("{word}: expected GB/s above 0")))?;
        return Ok(Box::new(PcieEqualShare::new(gbps)));
    }
    match word {
        "fixed" => Ok(Box::new(Fixed)),
        "effective-bandwidth" => Ok(Box::new(ByBandwidth::eq_2())),
        "ring-packing" => Ok(Box::new(ByBandwidth::ring_packing())),
        "pcie-equal-share" => Ok(Box::new(PcieEqualShare::default())),
        "pcie-max-min" => Ok(Box::new(PcieMaxMin::new(workload))),
        _ => Err(Failure::malformed(format_args!("no execution model is called `{word}`: expected {EXECUTIONS}"))),
    }
}

/// A workload on a fleet whose devices take as long to be cut up anew as was measured of their models; no time where nothing was.
pub(crate) fn simulation(workload: &Workload, fleet: Fleet) -> Simulation<'_> {
    let known: RefCell<BTreeMap<String, Option<Gpu>>> = RefCell::default();
    Simulation::new(workload, fleet).repartition_by(move |model, from, to| {
        let mut known = known.borrow_mut();
        let gpu = known.entry(model.name().to_owned()).or_insert_with(|| mig::named(model.name()).ok());
        gpu.as_ref().and_then(|gpu| gpu.repartition_time(model, from, to)).unwrap_or_default()
    })
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
