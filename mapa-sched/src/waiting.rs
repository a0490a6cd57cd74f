//! The jobs that wait, in order.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use mapa_core::Request;

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

/// The jobs that wait, next one first.
///
/// # Complexity
/// To add a job costs O(log n) if the order is that of arrival, else O(n), for n jobs; and O(c)
/// more for c classes, if jobs are classified.
#[derive(Clone, Debug)]
pub struct WaitingJobs<T = ()> {
    order: Order,
    entries: VecDeque<WaitingJob<T>>,
    /// The jobs that wait. Most jobs that end do not wait, so they are not looked for in `entries`.
    there: HashSet<JobId, BuildHasherDefault<DefaultHasher>>,
    serial: u64,
    /// Each class with its request and its number of jobs; `None` if every job is a class of its
    /// own.
    classes: Option<Vec<(u64, Request, usize)>>,
}

impl<T: Default> WaitingJobs<T> {
    /// An empty queue. `classes` says whether jobs with equal requests get equal answers, and so
    /// form a class.
    pub fn new(order: Order, classes: bool) -> Self {
        Self {
            order,
            entries: VecDeque::new(),
            there: HashSet::default(),
            serial: 0,
            classes: classes.then(Vec::new),
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
        self.len() == 0
    }

    /// The job at a position, counted from the queue head.
    pub fn get(&self, at: usize) -> Option<&WaitingJob<T>> {
        self.entries.get(at)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut WaitingJob<T>> {
        self.entries.get_mut(at)
    }

    /// The jobs that wait, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WaitingJob<T>> {
        self.entries.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut WaitingJob<T>> {
        self.entries.iter_mut()
    }

    /// The jobs alone, in order.
    pub fn jobs(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.entries.iter().map(|entry| &*entry.job)
    }

    /// Adds a job at its place in the order.
    pub fn push(&mut self, job: Job) {
        let serial = self.serial;
        self.serial += 1;
        let class = self.class_of(&job.request, serial);
        self.there.insert(job.id);
        let at = self
            .entries
            // Behind all jobs that compare as equal, which keeps ties in order of arrival.
            .partition_point(|other| self.order.compare(&other.job, &job).is_le());
        self.entries.insert(
            at,
            WaitingJob {
                job: Arc::new(job),
                serial,
                class,
                own: T::default(),
            },
        );
    }

    fn class_of(&mut self, request: &Request, serial: u64) -> u64 {
        let Some(classes) = &mut self.classes else {
            // Serial numbers are unique, so this job is the only one of its class.
            return serial;
        };
        match classes.iter_mut().find(|(_, known, _)| known == request) {
            Some((class, _, jobs)) => {
                *jobs += 1;
                *class
            }
            None => {
                classes.push((serial, request.clone(), 1));
                serial
            }
        }
    }

    /// Removes the job at a position.
    pub fn remove(&mut self, at: usize) -> Option<WaitingJob<T>> {
        let entry = self.entries.remove(at)?;
        self.there.remove(&entry.job.id);
        if let Some(classes) = &mut self.classes
            && let Some(place) = classes.iter().position(|(class, ..)| *class == entry.class)
        {
            // A class without jobs is dropped, so that the list does not grow with all requests
            // ever made. The same request gets another number when it comes again.
            classes[place].2 -= 1;
            if classes[place].2 == 0 {
                classes.swap_remove(place);
            }
        }
        Some(entry)
    }

    /// Removes a job, if it waits.
    pub fn forget(&mut self, job: JobId) -> Option<WaitingJob<T>> {
        let at = self
            .there
            .contains(&job)
            .then(|| self.entries.iter().position(|entry| entry.job.id == job))?;
        self.remove(at?)
    }
}
