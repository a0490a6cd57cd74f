//! The models of run time of this system, by name.

use mapa_sim::ExecutionRow;

use crate::by_warps::ByWarps;

/// The models of run time of this system: `by-warps` (`by-warps,slice=1024` for compute slices that hold so
/// many warps).
#[must_use]
pub fn executions() -> Vec<ExecutionRow> {
    let by_warps = ExecutionRow::new(
        "by-warps",
        "as the job file says; tasks that together want more warps than their instance holds are slower",
        |_| Box::new(ByWarps::default()),
    );
    vec![by_warps.with_settings(&["slice=WARPS"], |settings, _| {
        Ok(Box::new(match settings.get("slice") {
            Some(slice) => ByWarps::new(slice.positive("warps above 0")?),
            None => ByWarps::default(),
        }))
    })]
}
