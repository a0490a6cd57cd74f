//! MIG: GPU instances that are created and destroyed, and whole layouts.

mod command;
mod control;
mod layout;
#[cfg(feature = "nvml")]
mod nvml;
mod reconcilers;

pub use command::MigCommand;
pub use control::{MigControl, MigDevice, MigOffer, MigOp, MigPlace, MigState};
pub(crate) use layout::changes;
pub use layout::{MigInstanceSpec, MigLayout};
#[cfg(feature = "nvml")]
pub use nvml::{MigNvml, MigSystem};
pub use reconcilers::reconcilers;
