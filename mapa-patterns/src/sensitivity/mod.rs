//! Whether a job's speed depends on the links it gets.
//!
//! The policy Preserve keeps good links for the jobs that gain by them. The paper takes this class
//! from annotations. Here three kinds of evidence decide, in order of strength: execution times on
//! two allocations; the bytes of an iteration against its time; and messages alone. Messages alone
//! can show that links do not matter. They cannot show that links do, because the computation
//! between the messages is unknown. `docs/sensitivity.md` has the rule with its arithmetic, and its
//! results for the paper's nine workloads.

mod evidence;
mod messages;
mod numbers;
mod published;

pub use evidence::{Evidence, LinkRates, Times};
pub use messages::{LARGE_MESSAGE_BYTES, Messages};
pub use published::{CaffeModel, PUBLISHED, Published, Workload};
