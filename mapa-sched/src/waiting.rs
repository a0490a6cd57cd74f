//! The jobs that wait, in order.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use mapa_core::Request;

use crate::job::{Job, JobId};
use crate::order::Order;

/// A job that waits, and what its scheduler keeps of it.
#[derive(Clone, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) job: Arc<Job>,
    /// How many were told of before it.
    pub(crate) told: u64,
    /// Jobs of one class ask for the same.
    pub(crate) class: u64,
    pub(crate) own: T,
}

/// The jobs that wait, next one first. Adding one costs O(log n) in order of arrival, else O(n); with classes O(classes) more.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T = ()> {
    order: Order,
    entries: VecDeque<Entry<T>>,
    /// Who waits: most that end do not.
    there: HashSet<JobId, BuildHasherDefault<DefaultHasher>>,
    told: u64,
    /// What is asked for, and how often, by class; none if every job is a class of its own.
    classes: Option<Vec<(u64, Request, usize)>>,
}

impl<T: Default> Waiting<T> {
    /// `classes`: whether jobs that ask for the same get the same answer.
    pub(crate) fn new(order: Order, classes: bool) -> Self {
        Self { order, entries: VecDeque::new(), there: HashSet::default(), told: 0, classes: classes.then(Vec::new) }
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Entry<T>> {
        self.entries.get(at)
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Entry<T>> {
        self.entries.get_mut(at)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Entry<T>> {
        self.entries.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry<T>> {
        self.entries.iter_mut()
    }

    pub(crate) fn jobs(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.entries.iter().map(|entry| &*entry.job)
    }

    pub(crate) fn push(&mut self, job: Job) {
        let told = self.told;
        self.told += 1;
        let class = self.class_of(&job.request, told);
        self.there.insert(job.id);
        let at = self.entries.partition_point(|other| self.order.compare(&other.job, &job).is_le());
        self.entries.insert(at, Entry { job: Arc::new(job), told, class, own: T::default() });
    }

    fn class_of(&mut self, request: &Request, told: u64) -> u64 {
        let Some(classes) = &mut self.classes else { return told };
        match classes.iter_mut().find(|(_, known, _)| known == request) {
            Some((class, _, jobs)) => {
                *jobs += 1;
                *class
            }
            None => {
                classes.push((told, request.clone(), 1));
                told
            }
        }
    }

    pub(crate) fn remove(&mut self, at: usize) -> Option<Entry<T>> {
        let entry = self.entries.remove(at)?;
        self.there.remove(&entry.job.id);
        if let Some(classes) = &mut self.classes
            && let Some(place) = classes.iter().position(|(class, ..)| *class == entry.class)
        {
            classes[place].2 -= 1;
            if classes[place].2 == 0 {
                classes.swap_remove(place);
            }
        }
        Some(entry)
    }

    /// Takes a job out, if it waits.
    pub(crate) fn forget(&mut self, job: JobId) -> Option<Entry<T>> {
        let at = self.there.contains(&job).then(|| self.entries.iter().position(|entry| entry.job.id == job))?;
        self.remove(at?)
    }
}
