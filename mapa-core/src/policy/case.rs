//! Packing tasks that need no isolation: CASE, Algorithm 2.

use super::criterion::least;
use super::rules::Rules;

/// CASE's placement of a task (Algorithm 2): among the devices without an isolated job whose free memory is strictly more
/// than the task asks for, the one with fewest warps in use; the first on a tie. The task's demand is shared
/// ([`Demand::shared`](crate::Demand::shared)) and gives its memory and warps. CASE places tasks one by one: of a pattern of
/// several ranks, their warps are not counted beside each other (their memory is).
#[must_use]
pub fn case() -> Rules<'static> {
    Rules::new("case")
        .require("no isolated job there", |seat| seat.usage().exclusive == 0)
        .require("less than the free memory", |seat| {
            let free = seat.view.free_memory(seat.id);
            free.is_none_or(|free| seat.demand.memory_bytes < free)
        })
        .prefer(least("warps in use", |seat| seat.usage().warps as f64).blind_to_ids())
}
