//! Arguments that several commands share.

mod machine;
pub mod simulate;
mod workload;

pub use machine::MachineArgs;
pub use simulate::SimulateArgs;
pub use workload::WorkloadArgs;
