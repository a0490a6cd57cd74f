//! How tenants of an instance are stacked over time.

use mapa_sched::{JobId, Tenant, Time};
use mapa_sim::Occupant;

use super::DrawnLane;

/// A stretch of time during which a tenant has one place in its stack. Heights are shares of the
/// instance, from its bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DrawnPiece {
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A tenant, and its pieces in order of time. Each begins where the one before ends.
pub(super) struct Stacked<'a> {
    pub(super) occupant: &'a Occupant,
    pub(super) pieces: Vec<DrawnPiece>,
}

/// The share of a tenant whose memory, or that of its device, is not known.
const UNKNOWN: f64 = 0.125;

fn share(own: &Occupant, capacity: Option<u64>) -> f64 {
    if own.exclusive {
        return 1.0;
    }
    match capacity {
        Some(capacity) if capacity > 0 && own.bytes > 0 => own.bytes as f64 / capacity as f64,
        _ => UNKNOWN,
    }
}

/// Stacks the tenants of an instance: jobs by the moment at which each came, and what belongs to one
/// job together. O(n²) for n tenants.
pub(super) fn stacked<'a>(lane: &DrawnLane<'a>) -> Vec<Stacked<'a>> {
    let all = &lane.occupants;
    // Between two of these moments nothing changes.
    let mut times: Vec<Time> = all
        .iter()
        .flat_map(|occupant| [occupant.from, occupant.until])
        .collect();
    times.sort_unstable();
    times.dedup();
    let mut stacks: Vec<Stacked<'a>> = all
        .iter()
        .map(|&occupant| Stacked {
            occupant,
            pieces: Vec::new(),
        })
        .collect();
    for span in times.windows(2) {
        let [from, until] = [span[0], span[1]];
        let is_there = |occupant: &Occupant| occupant.from <= from && until <= occupant.until;
        // All that a job has here is sorted by what it had first, so that its later requests lie on its task.
        let came = |job: JobId| {
            let of_job = all.iter().filter(|occupant| occupant.tenant.job() == job);
            of_job
                .filter(|occupant| is_there(occupant))
                .map(|occupant| occupant.from)
                .min()
        };
        let mut there: Vec<(Option<Time>, Tenant, usize)> = (0..)
            .zip(all)
            .filter(|(_, occupant)| is_there(occupant))
            .map(|(at, occupant)| (came(occupant.tenant.job()), occupant.tenant, at))
            .collect();
        there.sort_unstable();
        let mut low = 0.0;
        for (_, _, at) in there {
            let high = low + share(all[at], lane.capacity);
            let piece = DrawnPiece {
                from,
                until,
                low,
                // Shares that are not known may add up to more than the instance.
                high: high.min(1.0),
            };
            low = piece.high;
            let pieces = &mut stacks[at].pieces;
            match pieces.last_mut() {
                // Nothing has changed for this tenant, so its last piece goes on.
                Some(last) if (last.low, last.high) == (piece.low, piece.high) => {
                    last.until = until;
                }
                _ => pieces.push(piece),
            }
        }
    }
    stacks
}

#[cfg(test)]
mod tests {
    use mapa_core::{DeviceId, MachineId};
    use mapa_sched::TaskId;
    use mapa_sim::Seat;

    use super::*;

    fn occupant(job: u64, task: u64, from: u64, until: u64, bytes: u64) -> Occupant {
        Occupant {
            seat: Seat {
                machine: MachineId(0),
                device: DeviceId(1),
            },
            tenant: Tenant::Task(JobId(job), TaskId(task)),
            from: Time(from),
            until: Time(until),
            bytes,
            exclusive: false,
        }
    }

    #[test]
    fn growth_lies_on_its_task_and_all_drop_when_the_lowest_leaves() {
        let all = [
            occupant(0, 0, 0, 4, 2),
            occupant(1, 0, 1, 8, 3),
            occupant(0, 1, 2, 4, 1),
        ];
        let lane = DrawnLane {
            profile: String::new(),
            start: 0,
            slices: 1,
            capacity: Some(8),
            from: Time(0),
            until: Time(9),
            occupants: all.iter().collect(),
        };
        let pieces: Vec<Vec<_>> = stacked(&lane)
            .into_iter()
            .map(|stack| {
                let pieces = stack.pieces.into_iter();
                let of = |piece: DrawnPiece| {
                    (
                        piece.from.0,
                        piece.until.0,
                        piece.low * 8.0,
                        piece.high * 8.0,
                    )
                };
                pieces.map(of).collect()
            })
            .collect();
        assert_eq!(pieces[0], [(0, 4, 0.0, 2.0)]);
        assert_eq!(
            pieces[1],
            [(1, 2, 2.0, 5.0), (2, 4, 3.0, 6.0), (4, 8, 0.0, 3.0)]
        );
        assert_eq!(pieces[2], [(2, 4, 2.0, 3.0)]);
    }
}
