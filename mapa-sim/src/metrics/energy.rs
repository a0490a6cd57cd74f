//! The energy of a simulation: what devices draw by their busy compute slices.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, MachineId};
use mapa_sched::slices::{Power, PowerTable};
use mapa_sched::{Fleet, Residency, Time};

use super::measure::Simulated;

/// Nanoseconds in an hour.
const HOUR: f64 = 3600e9;

/// A change of how many tenants a vertex of a device has.
type TenantChange = (Time, DeviceId, i32);

impl Simulated<'_> {
    /// What all devices drew over the [makespan](Self::makespan), watt-hours. All are on all the
    /// time, whether jobs run there or not. An instance that is held is busy with its compute
    /// slices, and a whole device with all of them, however many tenants share it.
    ///
    /// `None` if nothing finished, or if a device has no [table of power](PowerTable).
    ///
    /// Times are summed as integers, so the result does not depend on an order. O(s log s + d) for s
    /// stays and d devices.
    #[must_use]
    pub fn watt_hours(&self) -> Option<f64> {
        let from = self.rows.iter().map(|row| row.arrived).min()?;
        let until = self.rows.iter().map(|row| row.ended).max()?;
        // Most machines have no table: nothing is computed for them.
        let mut wholes = self.fleet.machines().iter().flat_map(|machine| {
            let graph = machine.graph();
            let wholes: Vec<DeviceId> = graph.wholes().iter().collect();
            wholes.into_iter().map(move |whole| (graph, whole))
        });
        if !wholes.all(|(graph, whole)| PowerTable::of_device(graph, whole).is_some()) {
            return None;
        }
        let mut changes = self.changes();
        // Devices of one kind are idle, and busy, for so many nanoseconds together.
        let mut kinds: Vec<(Power, [u128; 8])> = Vec::new();
        for machine in self.fleet.machines() {
            let graph = machine.graph();
            for whole in graph.wholes().iter() {
                let power = PowerTable::of_device(graph, whole)?.power;
                let change = changes.remove(&(machine.id(), whole));
                let size = |id: DeviceId| match graph.device(id).size {
                    Some(size) if id != whole => size.compute.min(7),
                    _ => 7,
                };
                let spent = by_busy(change.unwrap_or_default(), (from, until), size);
                match kinds.iter_mut().find(|(known, _)| *known == power) {
                    Some((_, sum)) => {
                        for (all, part) in sum.iter_mut().zip(spent) {
                            *all += part;
                        }
                    }
                    None => kinds.push((power, spent)),
                }
            }
        }
        let of_kind = |(power, spent): &(Power, [u128; 8])| {
            let watts = (0u8..).map(|busy| power.watts(busy));
            let each = watts.zip(spent).map(|(watts, &ns)| watts * ns as f64);
            each.sum::<f64>() / HOUR
        };
        Some(kinds.iter().map(of_kind).sum())
    }

    /// When tenants came to each device and left, by device.
    fn changes(&self) -> BTreeMap<(MachineId, DeviceId), Vec<TenantChange>> {
        let mut changes: BTreeMap<(MachineId, DeviceId), Vec<TenantChange>> = BTreeMap::new();
        for run in &self.outcome.runs {
            let of_tasks = run.tasks.iter().flat_map(|task| &task.stays);
            for stay in run.stays.iter().chain(of_tasks) {
                note(stay, self.fleet, &mut changes);
            }
        }
        changes
    }
}

fn note(
    stay: &Residency,
    fleet: &Fleet,
    changes: &mut BTreeMap<(MachineId, DeviceId), Vec<TenantChange>>,
) {
    for (_, id, placement) in stay.at.parts() {
        let Ok(machine) = fleet.machine(id) else {
            continue;
        };
        for &device in placement.iter() {
            let whole = machine.graph().device(device).parent;
            let own = changes.entry((id, whole)).or_default();
            own.push((stay.from, device, 1));
            own.push((stay.until, device, -1));
        }
    }
}

/// For how many nanoseconds of a span 0 to 7 compute slices of a device were busy.
fn by_busy(
    mut changes: Vec<TenantChange>,
    (from, until): (Time, Time),
    size: impl Fn(DeviceId) -> u8,
) -> [u128; 8] {
    changes.sort_unstable();
    let mut spent = [0_u128; 8];
    let mut tenants: BTreeMap<DeviceId, i32> = BTreeMap::new();
    let (mut busy, mut now) = (0_u8, from);
    for (at, device, by) in changes {
        let at = at.clamp(from, until);
        spent[usize::from(busy.min(7))] += at.since(now).as_nanos();
        now = now.max(at);
        *tenants.entry(device).or_default() += by;
        // Few vertices of a device are held at once.
        let held = tenants.iter().filter(|(_, count)| **count > 0);
        busy = held.map(|(&id, _)| size(id)).fold(0, u8::saturating_add);
    }
    spent[usize::from(busy.min(7))] += until.since(now).as_nanos();
    spent
}
