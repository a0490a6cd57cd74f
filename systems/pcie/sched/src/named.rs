//! The schedulers of the system on PCIe-aware scheduling of MIG instances, by name.

use std::time::Duration;

use crate::aware::PcieAware;
use crate::plan::{PciePlan, PortModel};
use mapa_sched::{BoxedScheduler, NamedScheduler, SettingValues, seconds_or_none};

/// The schedulers of this system.
pub const SCHEDULERS: [NamedScheduler; 3] = [
    NamedScheduler::new(
        "pcie-aware",
        "one MIG instance a job, where PCIe slows it down least; skips jobs, repartitions idle GPUs",
        |_, settings, _| pcie(PcieAware::new(), settings),
    )
    .placing_by("pcie-aware")
    .for_shared_pcie()
    .settings(&["delay=FACTOR|none", "wait=SECONDS|none", "gbps=GB/s"]),
    NamedScheduler::new(
        "first-gpu",
        "the baseline of pcie-aware: the first GPU with a free instance; repartitions GPUs likewise",
        |_, settings, _| pcie(PcieAware::first_gpu(), settings),
    )
    .placing_by("lowest-id")
    .settings(&["gbps=GB/s"]),
    NamedScheduler::new(
        "pcie-plan",
        "one MIG instance a job, by a plan for each GPU's PCIe port that charges a start with the delay it causes",
        |_, settings, _| pcie_plan(settings),
    )
    .placing_by("pcie-aware")
    .for_shared_pcie()
    .settings(&[
        "search=MOVES",
        "model=eq-2|max-min",
        "patience=SECONDS|none",
        "pace=SECONDS",
        "wait=SECONDS|none",
        "repartition=SECONDS|none",
        "gbps=GB/s",
        "seed=N",
    ]),
];

fn pcie(
    mut own: PcieAware,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    if let Some(delay) = settings.get("delay") {
        let expected = "a factor of at least 1, or none";
        own = own.delay_threshold(delay.number_or_none(1.0, expected)?);
    }
    if let Some(wait) = settings.get("wait") {
        own = own.wait_threshold(seconds_or_none(wait)?);
    }
    if let Some(gbps) = settings.get("gbps") {
        own = own.max_gbps(gbps.positive("GB/s above 0")?);
    }
    Ok(Box::new(own))
}

/// The settings of `pcie-plan`.
fn pcie_plan(settings: &SettingValues<'_>) -> Result<BoxedScheduler, mapa_core::Error> {
    let mut own = PciePlan::new();
    if let Some(moves) = settings.get("search") {
        own = own.moves(moves.whole_to(1_000_000)?);
    }
    if let Some(model) = settings.get("model") {
        own = own.model(model.read("eq-2 or max-min", |value| match value {
            "eq-2" => Some(PortModel::EqualShare),
            "max-min" => Some(PortModel::MaxMin),
            _ => None,
        })?);
    }
    let patience = settings.get("patience").map(seconds_or_none).transpose()?;
    let pace = settings.get("pace").map(seconds_or_none).transpose()?;
    if patience.is_some() || pace.is_some() {
        own = own.ageing(
            patience.unwrap_or(PciePlan::PATIENCE),
            pace.unwrap_or(PciePlan::PACE),
        );
    }
    if let Some(wait) = settings.get("wait") {
        own = own.wait_threshold(seconds_or_none(wait)?);
    }
    if let Some(takes) = settings.get("repartition") {
        let takes = seconds_or_none(takes)?;
        own = own.repartition((takes < Duration::MAX).then_some(takes));
    }
    if let Some(gbps) = settings.get("gbps") {
        own = own.max_gbps(gbps.positive("GB/s above 0")?);
    }
    if let Some(seed) = settings.get("seed") {
        own = own.seed(seed.whole()?);
    }
    Ok(Box::new(own))
}
