//! Packing tasks that share devices.

use super::rules::Rules;
use crate::optimum::least;

/// Packs tasks that share devices. Candidates are the devices without an isolated job
/// whose free memory is strictly more than the task's. Of these, the device with fewest warps in
/// use is chosen, and the lowest id on a tie.
///
/// The task's demand is shared ([`Demand::shared`](crate::Demand::shared)) and gives its memory and
/// warps. It is meant for one task at a time. If a pattern has several ranks, the warps of one rank do
/// not count for the others; their memory does.
#[must_use]
pub fn fewest_warps() -> Rules<'static> {
    Rules::new("fewest-warps")
        .require("no isolated job there", |seat| seat.usage().exclusive == 0)
        .require("less than the free memory", |seat| {
            let free = seat.view.free_memory(seat.id);
            free.is_none_or(|free| seat.demand.memory_bytes < free)
        })
        .prefer(least("warps in use", |seat| seat.usage().warps as f64).blind_to_ids())
}
