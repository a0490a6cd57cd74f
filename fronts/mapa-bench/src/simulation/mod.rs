//! Schedulers, execution models and fleets that the command line names.

use std::cell::RefCell;
use std::collections::BTreeMap;

use mapa_core::{Policy, Settings, ring_packing_gbps};
use mapa_sched::{BuiltIn, Fleet, Foresight, Scheduler};
use mapa_sim::{ByBandwidth, Execution, Fixed, PcieEqualShare, PcieMaxMin, Simulation, Workload};
use mapa_topologies::mig::{self, Gpu};

use crate::failure::Failure;
use crate::machine::Loaded;
use crate::policies::policies;

mod run;
mod servers;
mod workload;

pub(crate) use run::PolicyRun;
pub(crate) use servers::servers;
pub(crate) use workload::{generated, workload};

/// The policies of the paper's evaluation.
pub(crate) const PAPER: [&str; 4] = ["lowest-id", "topo-aware", "greedy", "preserve"];

/// The policies that these words name, each once: names, `paper` for the four of the paper, `all`
/// for the policies of whole devices.
pub(crate) fn policy_names(words: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for word in words
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
    {
        let more: Vec<&str> = match word {
            "paper" => PAPER.to_vec(),
            "all" => policies()
                .filter(|policy| !policy.for_instances)
                .map(|policy| policy.name)
                .collect(),
            name => vec![name],
        };
        for name in more {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The placement policy of the scheduler of this name, if it has one of its own.
pub(crate) fn own_policy(scheduler: &str) -> Option<&'static str> {
    BuiltIn::find(scheduler).and_then(|own| own.policy)
}

/// The scheduler of this name, which places every job by this policy. The patience of the scheduler
/// `foresight` with its queue head depends on the execution model, a word of [`execution`].
///
/// # Errors
///
/// If no scheduler has the name, or if it has a placement policy of its own that is not this one.
pub(crate) fn scheduler(
    name: &str,
    policy: Box<dyn Policy>,
    execution: &str,
) -> Result<Box<dyn Scheduler + Send>, Failure> {
    if let Some(own) = own_policy(name).filter(|&own| own != policy.name()) {
        return Err(Failure::malformed(format_args!(
            "the scheduler {name} places jobs by {own}, not by {}: expected --policy {own}, or none",
            policy.name()
        )));
    }
    Ok(match (name, execution) {
        // Waiting for better links only pays if run times depend on links.
        ("foresight", "fixed") => Box::new(Foresight::new(policy).patience(None)),
        ("foresight", "ring-packing") => {
            Box::new(Foresight::new(policy).by(mapa_core::Foresight::new(ring_packing_gbps())))
        }
        _ => BuiltIn::named(name, policy).map_err(Failure::malformed)?,
    })
}

/// The names of execution models.
const EXECUTIONS: &str =
    "fixed, effective-bandwidth, ring-packing, pcie-equal-share[,gbps=GB/s] or pcie-max-min";

/// The execution model of this name, for the jobs of a workload: `fixed`, `effective-bandwidth`
/// (Eq. 2 of MAPA), `ring-packing`, `pcie-equal-share` (Eq. 2 of Tang et al.;
/// `pcie-equal-share,gbps=60` for ports of 60 GB/s) or `pcie-max-min`.
pub(crate) fn execution(word: &str, workload: &Workload) -> Result<Box<dyn Execution>, Failure> {
    if let Some(settings) = word.strip_prefix("pcie-equal-share,") {
        let model = equal_share(settings);
        let model = model.map_err(|error| Failure::at(word, error))?;
        return Ok(Box::new(model));
    }
    match word {
        "fixed" => Ok(Box::new(Fixed)),
        "effective-bandwidth" => Ok(Box::new(ByBandwidth::eq_2())),
        "ring-packing" => Ok(Box::new(ByBandwidth::ring_packing())),
        "pcie-equal-share" => Ok(Box::new(PcieEqualShare::default())),
        "pcie-max-min" => Ok(Box::new(PcieMaxMin::new(workload))),
        _ => Err(Failure::malformed(format_args!(
            "no execution model is called `{word}`: expected {EXECUTIONS}"
        ))),
    }
}

/// PCIe shared equally, with what is set behind its name.
fn equal_share(settings: &str) -> Result<PcieEqualShare, mapa_core::Error> {
    let key = |key: &str| (key == "gbps").then_some("gbps");
    match Settings::read(settings.split(','), "gbps=GB/s", key)?.get("gbps") {
        Some(gbps) => Ok(PcieEqualShare::new(gbps.positive("GB/s above 0")?)),
        None => Ok(PcieEqualShare::default()),
    }
}

/// A simulation in which a repartition takes as long as was measured on its GPU model, and no time
/// if nothing was measured.
pub(crate) fn simulation(workload: &Workload, fleet: Fleet) -> Simulation<'_> {
    let known: RefCell<BTreeMap<String, Option<Gpu>>> = RefCell::default();
    Simulation::new(workload, fleet).repartition_by(move |model, from, to| {
        let mut known = known.borrow_mut();
        let gpu = known
            .entry(model.name().to_owned())
            .or_insert_with(|| mig::named(model.name()).ok());
        gpu.as_ref()
            .and_then(|gpu| gpu.repartition_time(model, from, to))
            .unwrap_or_default()
    })
}

/// An idle fleet of this one machine, with the layouts of its devices.
pub(crate) fn fleet(loaded: &Loaded) -> Result<Fleet, Failure> {
    let mut fleet = Fleet::new([loaded.graph().clone()]);
    let view = loaded.idle.view();
    for whole in loaded.graph().wholes().iter() {
        fleet
            .layout_is(view.machine(), whole, &view.layout_of(whole))
            .map_err(Failure::malformed)?;
    }
    Ok(fleet)
}
