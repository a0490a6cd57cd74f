//! The published rules once more, as policies on the API of the core: what the rules of the system are
//! compared with.

use mapa_core::mig::Size;
use mapa_core::{
    Rules, Seat,
    criteria::{least, most},
};

fn compute_slices(seat: &Seat<'_>) -> u8 {
    seat.device().size.map_or(0, |size| size.compute)
}

/// Earliest finish: the free instance with the shortest run time of the job. `run_time` gives the
/// run time on each size, in any unit. An instance without a run time (NaN, or a device of unknown
/// size) comes last. If run times never grow with size, the choice is that of [`largest_first`],
/// ties in run time aside.
pub(super) fn earliest_finish<'a>(run_time: impl Fn(Size) -> f64 + Send + Sync + 'a) -> Rules<'a> {
    Rules::new("earliest-finish").prefer(
        least("run time", move |seat| {
            seat.device().size.map_or(f64::NAN, &run_time)
        })
        .blind_to_ids(),
    )
}

/// The compute slices of the instances of a seat's device that have tenants; all of them for a device
/// that is held whole.
fn busy_slices(seat: &Seat<'_>) -> u8 {
    let parts = seat.view.graph().vertices(seat.whole()) & seat.view.present();
    let busy = parts
        .iter()
        .filter(|&id| seat.view.usage(id).tenants > 0)
        .filter_map(|id| seat.view.graph().device(id).size);
    busy.map(|size| size.compute).fold(0, u8::saturating_add)
}

/// "Earliest finish time" as the code published with Hisaria et al. has it, which is not earliest
/// finish: instances are in three groups, of 1 and 2, of 3 and 4, and of 7 compute slices. The group
/// with the least *mean* run time wins, and in it the lowest device, there the instance that starts
/// first. `run_time` gives the run time by
/// compute slices, also of sizes that the machine does not have.
pub(super) fn mean_finish<'a>(run_time: impl Fn(u8) -> f64 + Send + Sync + 'a) -> Rules<'a> {
    let mean = move |seat: &Seat<'_>| match compute_slices(seat) {
        1 | 2 => f64::midpoint(run_time(1), run_time(2)),
        3 | 4 => f64::midpoint(run_time(3), run_time(4)),
        size => run_time(size),
    };
    let start = |seat: &Seat<'_>| {
        seat.device()
            .unit
            .instance()
            .map_or(0, |instance| instance.start)
    };
    Rules::new("mean-finish")
        .prefer(least("mean run time of the group", mean))
        .then(least("device", |seat| seat.whole().0))
        .then(least("start", start))
}

/// Fit: the free instance with the fewest compute slices on which the job is in time; if there is
/// none, the one with the most. `finish` gives when the job ends on each size, in the unit of
/// `deadline`.
pub(super) fn fit<'a>(finish: impl Fn(Size) -> f64 + Send + Sync + 'a, deadline: f64) -> Rules<'a> {
    smallest_in_time("fit", finish, deadline)
}

/// As [`fit`]; of equal instances the one on the device with the most busy compute slices, which
/// draws the least more power for it.
pub(super) fn fit_fullest<'a>(
    finish: impl Fn(Size) -> f64 + Send + Sync + 'a,
    deadline: f64,
) -> Rules<'a> {
    smallest_in_time("fit-fullest", finish, deadline)
        .then(most("busy compute slices", busy_slices).blind_to_ids())
}

/// The smallest instance on which the job is in time, else the largest.
fn smallest_in_time<'a>(
    name: &'static str,
    finish: impl Fn(Size) -> f64 + Send + Sync + 'a,
    deadline: f64,
) -> Rules<'a> {
    let rank = move |seat: &Seat<'_>| {
        let in_time = seat
            .device()
            .size
            .is_some_and(|size| finish(size) <= deadline);
        let size = f64::from(compute_slices(seat));
        // Late ones come behind all in time, the largest first: no device has 256 slices.
        if in_time { size } else { 512.0 - size }
    };
    let name_of_rank = "compute slices, few if in time, many if late";
    Rules::new(name).prefer(least(name_of_rank, rank).blind_to_ids())
}

/// The free instance of the least cost, by its size and the busy compute slices of its device: such
/// as the energy that the job draws there, and by how much it is late. Of equal costs the largest
/// instance, then that on the fullest device.
pub(super) fn least_cost<'a>(cost: impl Fn(Size, u8) -> f64 + Send + Sync + 'a) -> Rules<'a> {
    let cost = move |seat: &Seat<'_>| {
        let size = seat.device().size;
        size.map_or(f64::NAN, |size| cost(size, busy_slices(seat)))
    };
    Rules::new("least-cost")
        .prefer(least("cost", cost).blind_to_ids())
        .then(most("compute slices", compute_slices).blind_to_ids())
        .then(most("busy compute slices", busy_slices).blind_to_ids())
}
