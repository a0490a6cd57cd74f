//! Rows of the published systems.

use crate::execution::{ByWarps, ExecutionRow, PcieEqualShare, PcieMaxMin};

/// The models of run time of CASE: `by-warps` (`by-warps,slice=1024` for compute slices that hold so
/// many warps).
#[must_use]
pub fn case_executions() -> Vec<ExecutionRow> {
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

/// The models of run time under shared PCIe: `pcie-equal-share` (Eq. 2 of Tang et al.;
/// `pcie-equal-share,gbps=60` for ports of 60 GB/s) and `pcie-max-min`.
#[must_use]
pub fn pcie_executions() -> Vec<ExecutionRow> {
    let equal_share = ExecutionRow::new(
        "pcie-equal-share",
        "by each job's share of its GPU's PCIe bandwidth, in equal shares (Eq. 2 of Tang et al.)",
        |_| Box::new(PcieEqualShare::default()),
    )
    .by_shared_pcie()
    .with_settings(&["gbps=GB/s"], |settings, _| {
        Ok(Box::new(match settings.get("gbps") {
            Some(gbps) => PcieEqualShare::new(gbps.positive("GB/s above 0")?),
            None => PcieEqualShare::default(),
        }))
    });
    let max_min = ExecutionRow::new(
        "pcie-max-min",
        "by each job's share of the PCIe paths that it copies over, max-min fair",
        |workload| Box::new(PcieMaxMin::new(workload)),
    );
    vec![equal_share, max_min.by_shared_pcie()]
}
