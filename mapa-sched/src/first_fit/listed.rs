//! The jobs of a list, in order within each class.
//!
//! The order of a list depends on how long each job has waited, so it changes from turn to turn: to sort a list of ten
//! thousand jobs costs more than all that a turn does else. But a turn needs few of them. Jobs of one class get one answer, so
//! it asks for the first of each class, and after a start for the first behind the job that started. Within a class all
//! jobs need as many devices, and only two numbers tell their ranks apart: the ideal time, and the weight, which follows
//! from the arrival. Whatever the order, a job is not behind another that is worse in both. So a class is kept by ideal
//! time, and bounds by the largest and the least weight of the class say where to look.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use super::list_order::{ListOrder, ListRank};
use crate::plan::Ageing;
use crate::time::Time;

/// What the ranks of one turn depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranking {
    pub(super) order: ListOrder,
    pub(super) ageing: Ageing,
    pub(super) now: Time,
}

impl Ranking {
    /// The rank of a job that needs so many devices.
    pub(super) fn rank(&self, devices: usize, ideal: f64, arrived: Time) -> ListRank {
        let weight = self.ageing.weight(self.now.since(arrived).as_secs_f64());
        self.order.rank(devices, ideal, weight)
    }
}

/// Where a job stands in the list: by its rank, and of equal ranks by arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListKey {
    pub(super) rank: ListRank,
    /// How many jobs arrived before it.
    pub(super) serial: u64,
}

impl ListKey {
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let rank = self.rank.compare(&other.rank);
        rank.then(self.serial.cmp(&other.serial))
    }

    fn is_behind(&self, other: Option<&Self>) -> bool {
        other.is_none_or(|other| self.compare(other).is_gt())
    }
}

/// A job of a class.
#[derive(Clone, Copy, Debug)]
struct ClassEntry {
    /// Its rank as long as it has not aged: the lesser, the better is its ideal time.
    young: ListRank,
    serial: u64,
    ideal: f64,
    arrived: Time,
}

/// The jobs of one class that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct ListedClass {
    devices: usize,
    /// By young rank, then by serial number. Mostly the first leaves, and a deque moves little then.
    entries: VecDeque<ClassEntry>,
    arrivals: BTreeSet<(Time, u64)>,
    /// Whether a job may be among them that has a higher number than one that arrived later: it has come again.
    is_out_of_order: bool,
}

impl ListedClass {
    /// Adds a job.
    ///
    /// # Complexity
    /// O(log n) for n jobs of the class, and a move of up to n / 2 entries.
    pub(super) fn insert(
        &mut self,
        order: ListOrder,
        (devices, ideal): (usize, f64),
        (arrived, serial): (Time, u64),
    ) {
        if self.entries.is_empty() {
            self.is_out_of_order = false;
        }
        self.devices = devices;
        // A job that comes again keeps its first arrival.
        let last = self.arrivals.last();
        self.is_out_of_order |= last.is_some_and(|&(last, _)| last > arrived);
        let entry = ClassEntry {
            young: order.rank(devices, ideal, 1.0),
            serial,
            ideal,
            arrived,
        };
        let at = self.place(&entry.young, serial);
        self.entries.insert(at, entry);
        self.arrivals.insert((arrived, serial));
    }

    /// Removes a job.
    pub(super) fn remove(&mut self, order: ListOrder, ideal: f64, (arrived, serial): (Time, u64)) {
        let at = self.place(&order.rank(self.devices, ideal, 1.0), serial);
        if self
            .entries
            .get(at)
            .is_some_and(|entry| entry.serial == serial)
        {
            self.entries.remove(at);
        }
        self.arrivals.remove(&(arrived, serial));
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.arrivals.clear();
    }

    /// The place of a job of this young rank and number, or where it would be.
    fn place(&self, young: &ListRank, serial: u64) -> usize {
        let is_before = |entry: &ClassEntry| {
            let by_rank = entry.young.compare(young);
            by_rank.then(entry.serial.cmp(&serial)).is_lt()
        };
        self.entries.partition_point(is_before)
    }

    /// The first job of the class behind a place in the list.
    ///
    /// # Complexity
    /// O(log n) for n jobs of the class if none has aged, or all alike; else O(k log n) for k different ideal times between
    /// that place and the job that is found.
    pub(super) fn first_behind(
        &self,
        ranking: &Ranking,
        behind: Option<&ListKey>,
    ) -> Option<ListKey> {
        let (&(earliest, _), &(latest, _)) = (self.arrivals.first()?, self.arrivals.last()?);
        let rank = |ideal, arrived| ranking.rank(self.devices, ideal, arrived);
        let mut best: Option<ListKey> = None;
        // Ranks do not fall with the ideal time, so all that cannot be behind the place come first.
        let mut from = self.entries.partition_point(|entry| {
            behind.is_some_and(|behind| rank(entry.ideal, latest).compare(&behind.rank).is_lt())
        });
        while let Some(first) = self.entries.get(from) {
            // All jobs with one ideal time.
            let until = self.end_of_group(from);
            let least = rank(first.ideal, earliest);
            if best.is_some_and(|best| least.compare(&best.rank).is_gt()) {
                break;
            }
            for key in self.candidates(from..until, ranking, behind) {
                if best.is_none_or(|best| key.compare(&best).is_lt()) {
                    best = Some(key);
                }
            }
            from = until;
        }
        best
    }

    /// Where the jobs end that have the ideal time of this one.
    fn end_of_group(&self, from: usize) -> usize {
        let young = self.entries[from].young;
        let is_of_it = |entry: &ClassEntry| entry.young.compare(&young).is_eq();
        // Mostly the ideal times differ, or nearly all are the same.
        if !self.entries.get(from + 1).is_some_and(is_of_it) {
            return from + 1;
        }
        self.entries
            .partition_point(|entry| entry.young.compare(&young).is_le())
    }

    /// Those of a group of one ideal time among which its first job behind a place is: where later arrivals have higher
    /// numbers, the group is in order.
    fn candidates<'a>(
        &'a self,
        group: std::ops::Range<usize>,
        ranking: &'a Ranking,
        behind: Option<&'a ListKey>,
    ) -> impl Iterator<Item = ListKey> + 'a {
        let key = move |at: usize| {
            let entry = &self.entries[at];
            ListKey {
                rank: ranking.rank(self.devices, entry.ideal, entry.arrived),
                serial: entry.serial,
            }
        };
        let group = if self.is_out_of_order {
            group
        } else {
            let (mut low, mut high) = (group.start, group.end);
            while low < high {
                let middle = low + (high - low) / 2;
                if key(middle).is_behind(behind) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low..(low + 1).min(group.end)
        };
        group.map(key).filter(move |key| key.is_behind(behind))
    }
}

/// The first job of each class behind a place in the list, as far as it was looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstOfClasses(Vec<Option<Option<ListKey>>>);

impl FirstOfClasses {
    /// The first job of a class behind a place that is not before those asked for earlier. `is_there` says whether a job
    /// still waits.
    pub(super) fn get(
        &mut self,
        class: (usize, &ListedClass),
        ranking: &Ranking,
        behind: Option<&ListKey>,
        is_there: impl Fn(u64) -> bool,
    ) -> Option<ListKey> {
        if self.0.len() <= class.0 {
            self.0.resize(class.0 + 1, None);
        }
        match self.0[class.0] {
            // Jobs leave within a turn, and none comes.
            Some(None) => None,
            Some(Some(known)) if known.is_behind(behind) && is_there(known.serial) => Some(known),
            _ => {
                let found = class.1.first_behind(ranking, behind);
                self.0[class.0] = Some(found);
                found
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(mapa_core::testing::cases(500))]

        #[test]
        fn the_first_job_behind_a_place_is_that_of_the_sorted_list(
            order in proptest::sample::select(ListOrder::ALL.to_vec()),
            // Few ideal times and arrivals, so that many ranks are equal, and some that differ by the last bit.
            jobs in proptest::collection::vec((0u32..6, 0u64..8, any::<bool>()), 1..60),
            in_order in any::<bool>(), devices in 1usize..4,
            patience in 0u32..6, pace in 1u32..5, now in 8u64..20,
        ) {
            let ageing = Ageing { patience: f64::from(patience), pace: f64::from(pace) / 3.0 };
            let ranking = Ranking { order, ageing, now: Time::from_secs(now) };
            let mut arrivals: Vec<u64> = jobs.iter().map(|job| job.1).collect();
            if in_order {
                arrivals.sort_unstable();
            }
            let (mut class, mut list) = (ListedClass::default(), Vec::new());
            for (serial, ((ideal, _, is_odd), arrived)) in (0..).zip(jobs.into_iter().zip(arrivals)) {
                let ideal = f64::from(ideal) / 3.0;
                let ideal = if is_odd { ideal.next_up() } else { ideal };
                let arrived = Time::from_secs(arrived);
                class.insert(order, (devices, ideal), (arrived, serial));
                let rank = ranking.rank(devices, ideal, arrived);
                list.push((ListKey { rank, serial }, ideal, arrived));
            }
            list.sort_by(|a, b| a.0.compare(&b.0));
            // Through the whole class, and again while every other job leaves.
            for leaves in [false, true] {
                let mut behind: Option<ListKey> = None;
                let (mut seen, mut expected) = (Vec::new(), Vec::new());
                for (key, ideal, arrived) in &list {
                    let Some(found) = class.first_behind(&ranking, behind.as_ref()) else { break };
                    seen.push(found.serial);
                    expected.push(key.serial);
                    if leaves && seen.len() % 2 == 0 {
                        class.remove(order, *ideal, (*arrived, key.serial));
                    }
                    behind = Some(found);
                }
                prop_assert_eq!(&seen, &expected);
                prop_assert_eq!(seen.len(), list.len());
                prop_assert!(class.first_behind(&ranking, behind.as_ref()).is_none());
            }
            prop_assert_eq!(class.entries.len(), list.len() - list.len() / 2);
        }
    }
}
