//! The two policies of NVIDIA's Kubernetes device plugin: `packed` takes instances of few devices,
//! `distributed` of many.

use std::collections::BTreeMap;

use super::rules::Rules;
use crate::optimum::{max, min, most};
use crate::score::{Candidate, Objective};
use crate::topology::DeviceId;

/// For each device that the placement uses: the tenants it had before, and the ranks that the
/// placement adds.
fn loads(candidate: &Candidate<'_>) -> BTreeMap<DeviceId, (f64, f64)> {
    let mut loads = BTreeMap::new();
    for &id in candidate.placement {
        let whole = candidate.view.graph().device(id).parent;
        let before = f64::from(candidate.view.usage_of_whole(whole).tenants);
        loads.entry(whole).or_insert((before, 0.0)).1 += 1.0;
    }
    loads
}

/// The growth of the sum, over all devices, of the squared number of tenants. It is least where the
/// load stays even.
fn unevenness() -> Objective<'static> {
    let growth = |(before, value): &(f64, f64)| (before + value).powi(2) - before.powi(2);
    let sum = move |candidate: &Candidate<'_>| loads(candidate).values().map(growth).sum();
    Objective::placement("unevenness", sum)
        .of_set()
        .blind_to_ids()
}

/// The number of devices that the placement uses.
fn devices_used() -> Objective<'static> {
    Objective::placement("devices used", |candidate| loads(candidate).len() as f64)
        .of_set()
        .blind_to_ids()
}

/// Packed: instances on the devices with most tenants, then on as few devices as possible. So whole
/// devices stay free for other jobs.
#[must_use]
pub fn packed() -> Rules<'static> {
    Rules::new("packed")
        .prefer(most("tenants there", |seat| seat.usage_of_whole().tenants).blind_to_ids())
        .then(min(devices_used()))
}

/// Distributed: instances such that the devices' numbers of tenants, present ones included, are as
/// even as possible; then on as many devices as possible.
#[must_use]
pub fn distributed() -> Rules<'static> {
    Rules::new("distributed")
        .prefer(min(unevenness()))
        .then(max(devices_used()))
}
