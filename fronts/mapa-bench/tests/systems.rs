//! Tests of the commands that systems bring, and of general commands on what they bring. They run the program, and lie with their
//! system.

#[cfg(feature = "pcie")]
#[path = "../../../systems/pcie/commands/tests/answers.rs"]
mod answers;
#[cfg(feature = "case")]
#[path = "../../../systems/case/sim/tests/commands/simulate.rs"]
mod case_simulate;
#[cfg(feature = "pcie")]
#[path = "../../../systems/pcie/commands/tests/contention.rs"]
mod contention;
// The page compares schedulers of other systems.
#[cfg(all(feature = "energy", feature = "mapa", feature = "pcie"))]
#[path = "../../../systems/energy/commands/tests/simulate.rs"]
mod energy_simulate;
#[cfg(feature = "pcie")]
#[path = "../../../systems/pcie/commands/tests/simulate.rs"]
mod pcie_simulate;
#[cfg(feature = "slo")]
#[path = "../../../systems/slo/commands/tests/slo.rs"]
mod slo;
#[cfg(feature = "energy")]
#[path = "../../../systems/energy/commands/tests/train.rs"]
mod train;
#[cfg(feature = "energy")]
#[path = "../../../systems/energy/commands/tests/tune.rs"]
mod tune;
#[cfg(feature = "pcie")]
#[path = "../../../systems/pcie/commands/tests/workers.rs"]
mod workers;
