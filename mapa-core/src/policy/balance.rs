//! The two policies of NVIDIA's Kubernetes device plugin: `packed` takes instances of few devices,
//! `distributed` of many.

use super::rules::Rules;
use crate::optimum::{max, min, most};
use crate::score::Objective;

/// The growth of the sum, over all devices, of the squared number of tenants. It is least where the
/// load stays even.
fn unevenness() -> Objective<'static> {
    Objective::whole_devices("unevenness", |view, whole, ranks| {
        let before = f64::from(view.usage_of_whole(whole).tenants);
        (before + f64::from(ranks)).powi(2) - before.powi(2)
    })
}

/// The number of devices that the placement uses.
fn devices_used() -> Objective<'static> {
    Objective::whole_devices("devices used", |_, _, _| 1.0)
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
