//! Fleets that a request names, and simulations of a workload under a policy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use mapa_sched::Fleet;
use mapa_sim::{Simulation, Workload};
use mapa_topologies::mig::{self, Gpu};

use crate::error::Error;
use crate::machine::Loaded;

mod run;
mod servers;
mod watch;

pub use crate::answer::simulate::PolicyRun;
pub use run::Runner;
pub use servers::servers;

/// A simulation in which a repartition takes as long as was measured on its GPU model, and no time
/// if nothing was measured.
pub fn simulation(workload: &Workload, fleet: Fleet) -> Simulation<'_> {
    // The table of a GPU is parsed once, not for each repartition.
    let known: RefCell<BTreeMap<String, Option<Gpu>>> = RefCell::default();
    Simulation::new(workload, fleet).repartition_by(move |model, from, to| {
        let mut known = known.borrow_mut();
        let gpu = known
            .entry(model.name().to_owned())
            .or_insert_with(|| mig::named(model.name()).ok());
        gpu.as_ref()
            .and_then(|gpu| gpu.repartition_time(model, from, to))
            // A GPU that is in no table is repartitioned in no time.
            .unwrap_or_default()
    })
}

/// An idle fleet of this one machine, with the layouts of its devices.
///
/// # Errors
/// Never for a machine that [`MachineSpec::load`](crate::MachineSpec::load) has read.
pub fn fleet(loaded: &Loaded) -> Result<Fleet, Error> {
    let mut fleet = Fleet::new([loaded.graph().clone()]);
    let view = loaded.idle.view();
    for whole in loaded.graph().wholes().iter() {
        fleet
            .layout_is(view.machine(), whole, &view.layout_of(whole))
            .map_err(Error::malformed)?;
    }
    Ok(fleet)
}
