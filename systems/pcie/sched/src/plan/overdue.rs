//! Jobs that have waited past the threshold.

use mapa_core::mig::Size;

use super::port::{SIZES, slowdown};
use super::{PciePlan, WaitingPcieJob, wants};
use mapa_sched::JobId;
use mapa_sched::Time;
use mapa_sched::Turn;

impl PciePlan {
    /// Starts the jobs that have waited past the threshold where there is room for them. Returns for
    /// each size the first of those that found none: no later job may take such an instance.
    pub(super) fn start_overdue(&mut self, now: Time, turn: &mut Turn<'_>) -> [u64; SIZES] {
        let mut closed = [u64::MAX; SIZES];
        let overdue: Vec<(u64, JobId)> = self
            .by_serial
            .iter()
            .filter(|(_, id)| self.is_overdue(id, now))
            .map(|(serial, id)| (*serial, *id))
            .collect();
        for (serial, id) in overdue {
            let Some(held) = self.held.get(&id).cloned() else {
                continue;
            };
            let seat = self.any_seat(&held, &closed);
            if seat.is_some_and(|(lane, size)| self.start(&held, lane, size, now, turn)) {
                continue;
            }
            for size in self.usable(held.size) {
                let first = &mut closed[usize::from(size)];
                *first = (*first).min(serial);
            }
            self.go_first(id);
        }
        closed
    }

    fn is_overdue(&self, id: &JobId, now: Time) -> bool {
        let held = self.held.get(id);
        held.is_some_and(|held| now.since(held.job.arrived) >= self.wait_threshold)
    }

    /// The sizes that a job of a size can use: its own first, then larger ones, the smallest first.
    fn usable(&self, size: u8) -> Vec<u8> {
        let sizes = self.plan.physics().sizes();
        let Some(&own) = sizes.get(usize::from(size)) else {
            return Vec::new();
        };
        let mut all: Vec<(bool, Size, u8)> = (0..)
            .zip(sizes)
            .filter(|(_, other)| other.covers(own))
            .map(|(number, &other)| (number != size, other, number))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, _, number)| number).collect()
    }

    /// The free instance for an overdue job: of its own size if there is one, else of the smallest
    /// larger one, where the port slows it down least.
    fn any_seat(&self, held: &WaitingPcieJob, closed: &[u64; SIZES]) -> Option<(usize, u8)> {
        let wants = wants(&held.job);
        for size in self.usable(held.size) {
            if closed[usize::from(size)] < held.serial {
                continue;
            }
            let is_open = |lane: &usize| {
                let state = self.lanes.seen(*lane);
                state.free[usize::from(size)] > 0 && !state.is_cordoned && state.changing == 0.0
            };
            let slow = |lane: usize| {
                let mut state = self.lanes.seen(lane).clone();
                state.bound += u32::from(wants > 0.0);
                slowdown(
                    wants,
                    self.plan.physics().gbps / f64::from(state.bound.max(1)),
                )
            };
            let lanes = (0..self.lanes.len()).filter(is_open);
            let best = lanes.min_by(|&a, &b| slow(a).total_cmp(&slow(b)).then(a.cmp(&b)));
            if let Some(lane) = best {
                return Some((lane, size));
            }
        }
        None
    }

    /// Puts an overdue job before all others of its list that arrived later.
    fn go_first(&mut self, id: JobId) {
        let Some(lane) = self.plan.lane_of(id) else {
            return;
        };
        let serial = |id: &JobId| self.held.get(id).map_or(u64::MAX, |held| held.serial);
        let own = serial(&id);
        let list = self.plan.list(lane);
        let place = list.iter().position(|entry| serial(&entry.id) >= own);
        if let Some(place) = place.filter(|&place| list[place].id != id)
            && let Some(entry) = self.plan.remove(id)
        {
            self.plan.put(lane, place, entry);
        }
    }
}
