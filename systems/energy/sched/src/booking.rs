//! Who waits for what.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use super::state::State;

/// Stands for a slice that is not booked. Times are not negative.
const NOT: f64 = -1.0;

/// Slices that jobs wait for. Each job that is put off books its slice, so that later jobs see it
/// as taken for longer. Where GPUs are repartitioned, a booking takes all slices that overlap the
/// booked one. Those of them that are free now may still be used up to the time of the booking.
#[derive(Clone, Debug, Default)]
pub(super) struct Bookings {
    /// When booked slices are free again, by class of size. Entries that are no longer true are
    /// skipped.
    booked: [BinaryHeap<Reverse<(u64, usize)>>; 5],
    /// When each slice is free again; `NOT` if no booking touches it.
    until: Vec<f64>,
    /// By when a job must have ended that starts now on a slice that is free.
    by: Vec<f64>,
    touched: Vec<usize>,
    reserved: usize,
}

impl Bookings {
    /// Forgets all bookings. O(bookings), but for the first time with a machine.
    pub(super) fn clear(&mut self, state: &State) {
        self.booked.iter_mut().for_each(BinaryHeap::clear);
        let slices = state.running().len();
        if self.until.len() != slices {
            self.until = vec![NOT; slices];
            self.by = vec![f64::INFINITY; slices];
        } else {
            for &slice in &self.touched {
                self.until[slice] = NOT;
                self.by[slice] = f64::INFINITY;
            }
        }
        self.touched.clear();
        self.reserved = 0;
    }

    /// The slice of a class that is free first of those that are not free now, and when, minutes.
    /// `plain` has them as they are without bookings.
    pub(super) fn first(
        &mut self,
        class: usize,
        plain: &mut Peekable<impl Iterator<Item = (f64, usize)>>,
    ) -> Option<(f64, usize)> {
        while plain
            .next_if(|&(_, slice)| self.until[slice] != NOT)
            .is_some()
        {}
        let heap = &mut self.booked[class];
        while let Some(&Reverse((bits, slice))) = heap.peek() {
            if self.until[slice].to_bits() == bits {
                let booked = (f64::from_bits(bits), slice);
                return Some(match plain.peek() {
                    Some(&plain) if plain.0 <= booked.0 => plain,
                    _ => booked,
                });
            }
            heap.pop();
        }
        plain.peek().copied()
    }

    /// Books a slice between two moments, minutes; with `all`, every slice that it overlaps too.
    pub(super) fn book(&mut self, state: &State, slice: usize, from: f64, until: f64, all: bool) {
        for number in state.machine().overlapping(slice) {
            if !all && number != slice {
                continue;
            }
            let before = self.until[number];
            if before == NOT {
                self.touched.push(number);
            }
            let free_at = if before == NOT {
                state.free_at(number)
            } else {
                before
            };
            let next = free_at.max(until);
            self.until[number] = next;
            self.booked[state.machine().class(number)].push(Reverse((next.to_bits(), number)));
            if state.is_free(number) {
                self.reserved += 1;
                self.by[number] = self.by[number].min(from);
            }
        }
    }

    /// Whether slices that are free now are booked.
    pub(super) fn has_reserved(&self) -> bool {
        self.reserved > 0
    }

    /// By when a job must have ended that starts now on a free slice, minutes.
    pub(super) fn by(&self, slice: usize) -> f64 {
        self.by[slice]
    }
}
