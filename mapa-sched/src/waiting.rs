//! The jobs that wait, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::time::Duration;

use crate::estimate::shortest;
use crate::fleet::hash_of;
use crate::job::{Job, JobId};
use crate::order::Order;

/// A job that waits, and what its scheduler keeps of it.
#[derive(Clone, Debug)]
pub struct WaitingJob<T> {
    /// The job, shared with plans and reservations.
    pub job: Arc<Job>,
    /// Its number in order of arrival: how many jobs had arrived before it.
    pub serial: u64,
    /// The number of its class. Jobs of one class have equal requests.
    pub class: u64,
    /// What the scheduler keeps for the job.
    pub own: T,
}

/// Where a job stands in the queue: the lesser goes first. It holds until a job is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The number by which the queue is in order; for an order by a function, a number between those of
    /// the neighbours.
    key: u128,
    serial: u64,
}

impl Position {
    /// Behind all jobs with this key.
    fn behind(key: u128) -> Self {
        let serial = u64::MAX;
        Self { key, serial }
    }

    /// Before all jobs with this key.
    fn before(key: u128) -> Self {
        Self { key, serial: 0 }
    }
}

/// The distance between the keys of jobs that are put behind one another by a function: room for sixty
/// between any two, each in the middle of what is left.
const DISTANCE: u128 = 1 << 60;

/// The jobs with one request, by position and by length.
#[derive(Clone, Debug, Default)]
struct WaitingClass {
    jobs: BTreeSet<Position>,
    /// The jobs by the shortest time that they can be expected to run.
    by_length: BTreeSet<(Duration, Position)>,
}

type Hashed<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// The jobs that wait, next one first.
///
/// # Complexity
/// To add or to remove a job costs O(log n) for n jobs; to add one by a function that compares, O(n)
/// once in sixty times at worst. If jobs are classified, each class whose request has the same hash is
/// compared as well.
#[derive(Clone, Debug)]
pub struct WaitingJobs<T = ()> {
    order: Order,
    entries: BTreeMap<Position, WaitingJob<T>>,
    positions: Hashed<JobId, Position>,
    serial: u64,
    classes: BTreeMap<u64, WaitingClass>,
    /// The classes by a hash of their request; `None` if every job is a class of its own.
    by_request: Option<Hashed<u64, Vec<u64>>>,
}

impl<T: Default> WaitingJobs<T> {
    /// An empty queue. `classes` says whether jobs with equal requests get equal answers, and so
    /// form a class.
    pub fn new(order: Order, classes: bool) -> Self {
        Self {
            order,
            entries: BTreeMap::new(),
            positions: HashMap::default(),
            serial: 0,
            classes: BTreeMap::new(),
            by_request: classes.then(HashMap::default),
        }
    }

    /// The order of the jobs.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no job waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The queue head.
    pub fn first(&self) -> Option<(Position, &WaitingJob<T>)> {
        self.entries
            .first_key_value()
            .map(|(&at, entry)| (at, entry))
    }

    /// The next job behind a position.
    pub fn after(&self, at: Position) -> Option<(Position, &WaitingJob<T>)> {
        let mut behind = self.entries.range((Excluded(at), Unbounded));
        behind.next().map(|(&at, entry)| (at, entry))
    }

    /// The job at a position.
    pub fn get(&self, at: Position) -> Option<&WaitingJob<T>> {
        self.entries.get(&at)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, at: Position) -> Option<&mut WaitingJob<T>> {
        self.entries.get_mut(&at)
    }

    /// The position of a job, if it waits.
    pub fn position(&self, job: JobId) -> Option<Position> {
        self.positions.get(&job).copied()
    }

    /// A job, if it waits, to be changed.
    pub fn find_mut(&mut self, job: JobId) -> Option<&mut WaitingJob<T>> {
        self.entries.get_mut(self.positions.get(&job)?)
    }

    /// The jobs that wait, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WaitingJob<T>> {
        self.entries.values()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut WaitingJob<T>> {
        self.entries.values_mut()
    }

    /// The jobs alone, in order.
    pub fn jobs(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.entries.values().map(|entry| &*entry.job)
    }

    /// The first job of every class, for [`ClassWalk`].
    pub fn walk(&self) -> ClassWalk {
        let firsts = self
            .classes
            .iter()
            .filter_map(|(&class, jobs)| Some(Reverse((*jobs.jobs.first()?, class))));
        ClassWalk(firsts.collect())
    }

    /// The next job of a class behind a position.
    pub fn next_of(&self, class: u64, after: Position) -> Option<Position> {
        let jobs = &self.classes.get(&class)?.jobs;
        jobs.range((Excluded(after), Unbounded)).next().copied()
    }

    /// The next job of a class behind a position that can be expected to run no longer than `most`.
    ///
    /// # Complexity
    /// O(s) for s jobs of the class that are so short.
    pub fn next_short_of(&self, class: u64, after: Position, most: Duration) -> Option<Position> {
        let short = self
            .classes
            .get(&class)?
            .by_length
            .range(..=(most, Position::behind(u128::MAX)));
        short.map(|&(_, at)| at).filter(|&at| at > after).min()
    }

    /// Adds a job at its place in the order, behind all that compare as equal.
    pub fn push(&mut self, job: Job) {
        let serial = self.serial;
        self.serial += 1;
        let class = self.class_of(&job, serial);
        let key = self.key_of(&job);
        let at = Position { key, serial };
        self.insert(
            at,
            WaitingJob {
                job: Arc::new(job),
                serial,
                class,
                own: T::default(),
            },
        );
    }

    fn insert(&mut self, at: Position, entry: WaitingJob<T>) {
        self.positions.insert(entry.job.id, at);
        let class = self.classes.entry(entry.class).or_default();
        class.jobs.insert(at);
        class.by_length.insert((shortest(&entry.job), at));
        self.entries.insert(at, entry);
    }

    /// The key of a job that arrives.
    fn key_of(&mut self, job: &Job) -> u128 {
        if let Some(key) = self.order.key(job) {
            return key;
        }
        loop {
            let (before, behind) = self.neighbours(job);
            let key = match behind {
                Some(behind) => before + (behind - before) / 2,
                None => before + DISTANCE,
            };
            if key > before {
                return key;
            }
            // No key is left between the neighbours: all get new ones, at equal distances.
            let entries = std::mem::take(&mut self.entries);
            self.classes.clear();
            for (rank, entry) in (1..).zip(entries.into_values()) {
                let (key, serial) = (rank * DISTANCE, entry.serial);
                self.insert(Position { key, serial }, entry);
            }
        }
    }

    /// Finds the neighbours of a job by a function: the key of the last job that is not behind it, or 0,
    /// and that of the first job behind it.
    fn neighbours(&self, job: &Job) -> (u128, Option<u128>) {
        let is_behind = |other: &WaitingJob<T>| self.order.compare(&other.job, job).is_gt();
        let Some((last, entry)) = self.entries.last_key_value() else {
            return (0, None);
        };
        if !is_behind(entry) {
            return (last.key, None);
        }
        // Bisection of keys: there is a job behind this one at `high`, and none up to `low`.
        let (mut low, mut high) = (0, last.key);
        loop {
            let middle = low + (high - low) / 2;
            let mut upper = self.entries.range((
                Excluded(Position::behind(middle)),
                Excluded(Position::before(high)),
            ));
            let found = upper.next().or_else(|| {
                let lower = (
                    Excluded(Position::behind(low)),
                    Included(Position::behind(middle)),
                );
                self.entries.range(lower).next_back()
            });
            let Some((at, entry)) = found else {
                return (low, Some(high));
            };
            if is_behind(entry) {
                high = at.key;
            } else {
                low = at.key;
            }
        }
    }

    fn class_of(&mut self, job: &Job, serial: u64) -> u64 {
        let Some(by_request) = &mut self.by_request else {
            // Serial numbers are unique, so this job is the only one of its class.
            return serial;
        };
        let alike = by_request.entry(hash_of(&job.request)).or_default();
        let is_its_own = |class: &&u64| {
            let first = self.classes.get(class).and_then(|jobs| jobs.jobs.first());
            let first = first.and_then(|first| self.entries.get(first));
            first.is_some_and(|first| first.job.request == job.request)
        };
        if let Some(class) = alike.iter().find(is_its_own) {
            return *class;
        }
        alike.push(serial);
        serial
    }

    /// Removes the job at a position.
    pub fn remove(&mut self, at: Position) -> Option<WaitingJob<T>> {
        let entry = self.entries.remove(&at)?;
        self.positions.remove(&entry.job.id);
        if let Some(class) = self.classes.get_mut(&entry.class) {
            class.jobs.remove(&at);
            class.by_length.remove(&(shortest(&entry.job), at));
            // A class without jobs is dropped, so that the list does not grow with all requests
            // ever made. The same request gets another number when it comes again.
            if class.jobs.is_empty() {
                self.classes.remove(&entry.class);
                self.drop_class(&entry);
            }
        }
        Some(entry)
    }

    fn drop_class(&mut self, last: &WaitingJob<T>) {
        let hash = hash_of(&last.job.request);
        if let Some(by_request) = &mut self.by_request
            && let Some(alike) = by_request.get_mut(&hash)
        {
            alike.retain(|&class| class != last.class);
            if alike.is_empty() {
                by_request.remove(&hash);
            }
        }
    }

    /// Removes a job, if it waits.
    pub fn forget(&mut self, job: JobId) -> Option<WaitingJob<T>> {
        let at = self.positions.get(&job).copied()?;
        self.remove(at)
    }
}

/// A walk through the queue, in order, that can leave out all jobs of a class at once. It begins with
/// the first job of every class; the caller says with which job of the class it goes on.
///
/// A policy that refuses one job refuses all with the same request. So a queue of a thousand jobs of
/// ten classes costs ten answers, and not a thousand look-ups.
#[derive(Debug)]
pub struct ClassWalk(BinaryHeap<Reverse<(Position, u64)>>);

impl ClassWalk {
    /// Goes on with this job of a class, which must be behind all jobs returned so far. `None` leaves
    /// out all other jobs of the class.
    pub fn go_on(&mut self, class: u64, next: Option<Position>) {
        self.0.extend(next.map(|next| Reverse((next, class))));
    }
}

/// The jobs to look at, with their classes.
impl Iterator for ClassWalk {
    type Item = (Position, u64);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.pop().map(|Reverse(next)| next)
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::{Pattern, Request};
    use proptest::prelude::*;

    use super::*;
    use crate::job::RunTime;

    fn job(id: u64, priority: i64, size: usize, seconds: u64) -> Job {
        let mut job = Job::new(JobId(id), Request::new(Pattern::ring(size)));
        job.priority = priority;
        job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
        job
    }

    fn orders() -> impl Strategy<Value = Order> {
        proptest::sample::select(vec![
            Order::Arrival,
            Order::Priority,
            Order::SmallestFirst,
            Order::ShortestFirst,
            Order::by(|a, b| a.priority.cmp(&b.priority)),
            // A function that contradicts itself.
            Order::by(|a, b| (a.id.0 % 3).cmp(&((b.id.0 + 1) % 3))),
        ])
    }

    proptest! {
            #[test]
            fn jobs_come_and_go_as_in_a_sorted_list(
                order in orders(),
                classes in any::<bool>(),
                steps in proptest::collection::vec((any::<bool>(), 0i64..4, 1usize..4, 1u64..6), 0..120),
            ) {
                let (mut waiting, mut list) = (WaitingJobs::<()>::new(order.clone(), classes), Vec::new());
    let is_consistent = order.compare(&job(0, 0, 1, 1), &job(0, 0, 1, 1)).is_eq();
                for (id, (goes, priority, size, seconds)) in (0..).zip(steps) {
                    if goes && !list.is_empty() {
                        let at = (id as usize * 7) % list.len();
                        let gone: Job = list.remove(at);
                        prop_assert_eq!(waiting.forget(gone.id).map(|entry| entry.job.id), Some(gone.id));
                    } else {
                        let new = job(id, priority, size, seconds);
                        waiting.push(new.clone());
                        let at = list.partition_point(|other| order.compare(other, &new).is_le());
                        list.insert(at, new);
                    }
                    prop_assert_eq!(waiting.len(), list.len());
                    if is_consistent {
                        let ids = |job: &Job| job.id;
                        prop_assert_eq!(waiting.jobs().map(ids).collect::<Vec<_>>(), list.iter().map(ids).collect::<Vec<_>>());
                    }
                    // A walk that goes on with every class visits every job, in order.
                    let (mut walk, mut seen) = (waiting.walk(), Vec::new());
                    while let Some((at, class)) = walk.next() {
                        let entry = waiting.get(at).unwrap();
                        prop_assert_eq!(entry.class, class);
                        seen.push(entry.job.id);
                        walk.go_on(class, waiting.next_of(class, at));
                        let short = waiting.iter().find(|other| {
                            other.class == class && waiting.positions[&other.job.id] > at && shortest(&other.job) <= Duration::from_secs(3)
                        });
                        prop_assert_eq!(
                            waiting.next_short_of(class, at, Duration::from_secs(3)),
                            short.map(|other| waiting.positions[&other.job.id])
                        );
                    }
                    prop_assert_eq!(seen, waiting.jobs().map(|job| job.id).collect::<Vec<_>>());
                    let requests: BTreeSet<usize> = waiting.jobs().map(|job| job.request.pattern.len()).collect();
                    prop_assert_eq!(waiting.classes.len(), if classes { requests.len() } else { list.len() });
                    let known = waiting.by_request.as_ref().map_or(0, |known| known.values().map(Vec::len).sum());
                    prop_assert_eq!(known, if classes { requests.len() } else { 0 });
                }
            }
        }

    #[test]
    fn positions_never_run_out() {
        // Each job goes between the two first, which halves what is left between them.
        let by_priority = Order::by(|a, b| b.priority.cmp(&a.priority));
        let mut waiting = WaitingJobs::<()>::new(by_priority, true);
        waiting.push(job(0, i64::MAX, 1, 1));
        for id in 1..200 {
            waiting.push(job(id, id as i64, 1, 1));
        }
        let ids: Vec<u64> = waiting.jobs().map(|job| job.id.0).collect();
        assert_eq!(
            ids,
            [0].into_iter().chain((1..200).rev()).collect::<Vec<_>>()
        );
    }
}
