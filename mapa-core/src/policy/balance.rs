//! Instances of few devices, or of many: the two policies of NVIDIA's Kubernetes device plugin.

use std::collections::BTreeMap;

use super::criterion::{max, min, most};
use super::rules::Rules;
use crate::score::{Candidate, Objective};
use crate::topology::DeviceId;

/// The tenants of each device that the placement uses: before it, and its own.
fn loads(candidate: &Candidate<'_>) -> BTreeMap<DeviceId, (f64, f64)> {
    let mut loads = BTreeMap::new();
    for &id in candidate.placement {
        let whole = candidate.view.graph().device(id).parent;
        let before = f64::from(candidate.view.usage_of_whole(whole).tenants);
        loads.entry(whole).or_insert((before, 0.0)).1 += 1.0;
    }
    loads
}

/// By how much the sum over all devices of the squared number of tenants grows: least where the load is even.
fn unevenness() -> Objective<'static> {
    let growth = |(before, own): &(f64, f64)| (before + own).powi(2) - before.powi(2);
    let sum = move |candidate: &Candidate<'_>| loads(candidate).values().map(growth).sum();
    Objective::placement("unevenness", sum).of_set().blind_to_ids()
}

/// On how many devices the placement lies.
fn devices_used() -> Objective<'static> {
    Objective::placement("devices used", |candidate| loads(candidate).len() as f64).of_set().blind_to_ids()
}

/// Packed: instances of the devices that have most tenants already, then of as few others as can be; whole devices stay
/// free for others.
#[must_use]
pub fn packed() -> Rules<'static> {
    Rules::new("packed")
        .prefer(most("tenants there", |seat| seat.usage_of_whole().tenants).blind_to_ids())
        .then(min(devices_used()))
}

/// Distributed: the load as even as can be, tenants that are there counted; then on as many devices as can be.
#[must_use]
pub fn distributed() -> Rules<'static> {
    Rules::new("distributed").prefer(min(unevenness())).then(max(devices_used()))
}
