//! Re-provisioning: idle instances make way for others for which something waits.

use std::sync::Arc;

use mapa_core::mig::{Instance as Part, Layout, Model, Profile, ProfileId};
use mapa_core::{Allocator, Demand, DeviceId, MachineId, Want};

use crate::instances::{InstanceRef, PresentInstances};
use crate::settings::{ContextMemory, MemoryFit};
use mapa_sched::Turn;

/// What waits for an instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedInstance {
    /// What it demands, with the most memory that it will hold.
    pub(super) demand: Demand,
    /// What its context takes besides.
    pub(super) context: ContextMemory,
}

impl WantedInstance {
    /// The least memory of a profile that holds it; `None` if no profile does.
    fn class(&self, model: &Model, fit: MemoryFit) -> Option<u64> {
        let of = u32::from(model.size().compute);
        let context = |profile: &Profile| self.context.on(profile.size.compute.into(), of);
        let bytes = |profile: &Profile| self.demand.memory_bytes.saturating_add(context(profile));
        let profiles = (0..).map(ProfileId).zip(model.profiles());
        let suit = profiles.filter(|(id, candidate)| match self.demand.want {
            Want::Any => true,
            Want::Slice(size) => candidate.size == size,
            Want::AtLeast(size) => candidate.size.covers(size),
            Want::Profile(profile) => profile == *id,
            _ => false,
        });
        let suit = suit.filter(|(_, profile)| fit.fits(bytes(profile), Some(profile.memory_bytes)));
        suit.map(|(_, profile)| profile.memory_bytes).min()
    }
}

/// A change of one device's layout.
#[derive(Clone, Debug)]
struct LayoutChange {
    machine: MachineId,
    whole: DeviceId,
    layout: Layout,
    /// How many compute slices it destroys.
    lost: u32,
}

/// Repartitions devices for what waits, in the order of `wanted`. An instance is destroyed only if
/// it has no tenant and no bound process, is not `kept`, and nothing waits for its class. What is
/// already being created counts as there. Of several changes the one that destroys the fewest compute
/// slices is ordered, then the one on the lowest device, then the one with the lowest start.
///
/// # Complexity
/// O(w (w + d p i)) for w that wait, d devices, p placements of a profile and i instances on one.
pub(super) fn repartition(
    instances: &PresentInstances,
    wanted: &[WantedInstance],
    fit: MemoryFit,
    kept: Option<InstanceRef>,
    turn: &mut Turn<'_>,
) {
    // What is under way serves the first that wait for it.
    let mut coming = being_created(turn);
    for run in wanted {
        let serves = |(model, bytes): &(Arc<Model>, u64)| run.class(model, fit) == Some(*bytes);
        if let Some(at) = coming.iter().position(serves) {
            coming.swap_remove(at);
            continue;
        }
        let mut best: Option<LayoutChange> = None;
        for machine in turn.fleet().machines() {
            for whole in machine.graph().wholes().iter() {
                let change = change_for(machine, whole, run, instances, wanted, fit, kept);
                if let Some(change) = change
                    && best.as_ref().is_none_or(|best| change.lost < best.lost)
                {
                    best = Some(change);
                }
            }
        }
        if let Some(change) = best {
            // A layout that the fleet refuses is not ordered, and what waits goes on waiting.
            let _ = turn.repartition(change.machine, change.whole, change.layout);
        }
    }
}

/// The model and the memory of each instance that a repartition under way creates.
fn being_created(turn: &Turn<'_>) -> Vec<(Arc<Model>, u64)> {
    let mut coming = Vec::new();
    for view in turn.views() {
        let graph = view.graph();
        for whole in graph.wholes().iter() {
            let (Some(next), Some(model)) = (view.changing_to(whole), graph.model(whole)) else {
                continue;
            };
            for id in graph.vertices_in(whole, next).unwrap_or_default().iter() {
                if let (false, Some(bytes)) =
                    (view.present().contains(id), graph.device(id).memory_bytes)
                {
                    coming.push((model.clone(), bytes));
                }
            }
        }
    }
    coming
}

/// The best change of one device for what waits; `None` if there is none.
fn change_for(
    machine: &Allocator,
    whole: DeviceId,
    own: &WantedInstance,
    instances: &PresentInstances,
    wanted: &[WantedInstance],
    fit: MemoryFit,
    kept: Option<InstanceRef>,
) -> Option<LayoutChange> {
    let (graph, view) = (machine.graph(), machine.view());
    let model = graph.model(whole)?;
    if view.changing_to(whole).is_some() || view.is_cordoned(whole) {
        return None;
    }
    let class = own.class(model, fit)?;
    let present: Vec<DeviceId> = view.parts_of(whole).collect();
    // An instance can go if nobody is there and nobody waits for one of its class.
    let can_go = |id: DeviceId| {
        let seat = InstanceRef {
            machine: machine.id(),
            id,
        };
        let at = instances.position(seat);
        let is_idle = at.is_some_and(|at| instances.list()[at].clients.is_empty())
            && view.usage(id).tenants == 0
            && kept != Some(seat);
        let memory = graph.device(id).memory_bytes;
        let waits = |other: &WantedInstance| other.class(model, fit) == memory;
        is_idle && !wanted.iter().any(waits)
    };
    let layout = view.layout_of(whole);
    // A device that is not partitioned is one instance of its own, and has to go as a whole.
    if layout.is_whole() && !present.iter().all(|&id| can_go(id)) {
        return None;
    }
    let mut best: Option<LayoutChange> = None;
    for &part in model.instances() {
        if model.profile(part.profile).memory_bytes != class || layout.has(part) {
            continue;
        }
        let others: Vec<Part> = layout.instances().to_vec();
        let (gone, left): (Vec<Part>, Vec<Part>) = others
            .into_iter()
            .partition(|&instance| model.exclude(instance, part));
        let ids = gone.iter().map(|&instance| {
            let is_it = |&&id: &&DeviceId| graph.device(id).unit.instance() == Some(instance);
            present.iter().find(is_it).copied()
        });
        if !ids.into_iter().all(|id| id.is_some_and(can_go)) {
            continue;
        }
        let lost = |instance: &Part| u32::from(model.profile(instance.profile).size.compute);
        let lost = gone.iter().map(lost).sum();
        let all: Vec<Part> = left.into_iter().chain([part]).collect();
        let Ok(next) = model.layout(&all) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| lost < best.lost) {
            best = Some(LayoutChange {
                machine: machine.id(),
                whole,
                layout: filled(model, next, part),
                lost,
            });
        }
    }
    best
}

/// The layout with more instances of a profile, as many as there is room for: a large instance
/// becomes several small ones, not one.
fn filled(model: &Model, mut layout: Layout, part: Part) -> Layout {
    while let Ok((next, _)) = model.create(&layout, part.profile) {
        layout = next;
    }
    layout
}
