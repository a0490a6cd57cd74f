//! MIG: GPU instances that are created and destroyed, and whole layouts.

mod control;
mod layout;

pub use control::{MigControl, MigDevice, MigOffer, MigPlace, MigState, MigWords};
pub(crate) use layout::changes;
pub use layout::{MigLayout, MigWish};
