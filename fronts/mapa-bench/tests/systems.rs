//! Tests of the commands that systems bring. They run the program, and lie with their system.

#[cfg(feature = "pcie")]
#[path = "../../../systems/pcie/commands/tests/answers.rs"]
mod answers;
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
