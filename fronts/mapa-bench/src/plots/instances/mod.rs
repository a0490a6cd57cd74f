//! A picture of who was on which device or MIG instance over time, and of the memory in use.
//!
//! Each device is a band, and each instance a frame in it, from the moment at which it was created to
//! that at which it was destroyed, on the memory slices that it has. So a repartition is seen as it
//! is: some frames end and others begin. In a frame, tenants are stacked by memory, the one that came
//! first at the bottom; the upper edge of the stack is the memory in use. An exclusive tenant fills
//! its frame.

use mapa_core::{DeviceId, HardwareGraph, Unit};
use mapa_sched::{Fleet, Time};
use mapa_sim::{Occupancy, Occupant, Seat, Workload};

mod colours;
mod draw;
mod stack;
mod svg;

pub(crate) use draw::draw;

/// The most devices of a picture.
const MOST: usize = 64;

/// A device, and the instances that it had.
struct Band<'a> {
    seat: Seat,
    name: String,
    /// Memory slices; 1 for a device that cannot be partitioned.
    slices: u8,
    memory_bytes: Option<u64>,
    lanes: Vec<DrawnLane<'a>>,
    /// When repartitions were under way.
    changing: Vec<(Time, Time)>,
}

/// An instance or a whole device, for as long as it existed.
struct DrawnLane<'a> {
    /// Its profile; empty for a whole device.
    profile: String,
    /// Its first memory slice, and how many it has.
    start: u8,
    slices: u8,
    capacity: Option<u64>,
    from: Time,
    until: Time,
    occupants: Vec<&'a Occupant>,
}

/// What a picture shows.
pub(crate) struct ShownOccupancy<'a> {
    pub(crate) occupancy: &'a Occupancy,
    pub(crate) fleet: &'a Fleet,
    pub(crate) workload: &'a Workload,
    pub(crate) title: String,
    /// The jobs, in words.
    pub(crate) subtitle: String,
    /// When the simulation ended.
    pub(crate) end: Time,
}

/// The devices of a picture, by machine and number.
fn bands<'a>(shown: &ShownOccupancy<'a>) -> Vec<Band<'a>> {
    let mut bands = Vec::new();
    for view in shown.fleet.views() {
        let graph = view.graph();
        for whole in graph.wholes().iter() {
            let device = graph.device(whole);
            let name = if shown.fleet.machines().len() > 1 {
                format!("{}: {}", view.machine(), device.name)
            } else {
                device.name.clone()
            };
            let seat = Seat {
                machine: view.machine(),
                device: whole,
            };
            let changing = shown.occupancy.changing().iter();
            let changing = changing.filter(|span| span.seat == seat);
            bands.push(Band {
                seat,
                name,
                slices: graph.model(whole).map_or(1, |model| model.size().memory),
                memory_bytes: device.memory_bytes.or_else(|| largest(graph, whole)),
                lanes: Vec::new(),
                changing: changing.map(|span| (span.from, span.until)).collect(),
            });
        }
    }
    // The first look at the fleet is at the first arrival, and nothing changes before.
    let first = shown.occupancy.present().iter().map(|span| span.from).min();
    for span in shown.occupancy.present() {
        let Some((whole, mut lane)) = lane(shown.fleet, span.seat) else {
            continue;
        };
        let is_first = Some(span.from) == first;
        lane.from = if is_first { Time::ZERO } else { span.from };
        lane.until = span.until;
        let occupants = shown.occupancy.occupants().iter();
        lane.occupants = occupants
            // The same instance may have been destroyed and created again: each lane has the tenants of its own
            // time.
            .filter(|occupant| occupant.seat == span.seat)
            .filter(|occupant| lane.from <= occupant.from && occupant.from < lane.until)
            .collect();
        let is_own = |band: &&mut Band<'_>| band.seat.device == whole;
        let mut of_machine = bands
            .iter_mut()
            .filter(|band| band.seat.machine == span.seat.machine);
        if let Some(band) = of_machine.find(is_own) {
            band.lanes.push(lane);
        }
    }
    bands
}

/// The memory of the largest instance of a device, bytes.
fn largest(graph: &HardwareGraph, whole: DeviceId) -> Option<u64> {
    let profiles = graph.model(whole)?.profiles().iter();
    profiles.map(|profile| profile.memory_bytes).max()
}

/// An instance or a whole device without its times, and the device that it is a part of.
fn lane<'a>(fleet: &Fleet, seat: Seat) -> Option<(DeviceId, DrawnLane<'a>)> {
    let graph = fleet.machine(seat.machine).ok()?.graph();
    let device = graph.device(seat.device);
    let model = graph.model(device.parent);
    let (profile, slices) = match (device.unit, model) {
        (Unit::Slice(instance), Some(model)) => {
            let name = model.print_instance(instance);
            // The place behind `@` is seen in the picture.
            let name = name.split('@').next().unwrap_or_default().to_owned();
            (name, model.span(instance))
        }
        (_, Some(model)) => (String::new(), 0..model.size().memory),
        (_, None) => (String::new(), 0..1),
    };
    let lane = DrawnLane {
        profile,
        start: slices.start,
        slices: slices.len() as u8,
        capacity: device.memory_bytes,
        from: Time::ZERO,
        until: Time::ZERO,
        occupants: Vec::new(),
    };
    Some((device.parent, lane))
}

/// Whether a fleet is worth such a picture: a device is partitioned, or jobs have tasks.
pub(crate) fn is_for(fleet: &Fleet, workload: &Workload) -> bool {
    let is_partitioned = fleet.views().any(|view| {
        let wholes = view.graph().wholes();
        wholes.iter().any(|whole| !view.layout_of(whole).is_whole())
    });
    is_partitioned || workload.jobs.iter().any(|job| !job.tasks.is_empty())
}
