//! The set of least weight, made of whole packages.
//!
//! A package is a device with all that it is cut into; a device that is whole is a package by itself. The set is made of
//! packages of which all that is free is taken, and the lowest of one more: so packages are used up one by one, those with least
//! left first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::Policy;
use super::chosen::place;
use super::decision::{Decision, Refusal};
use super::identity::PolicyId;
use super::request::Request;
use crate::matching::{Limits, SearchStats, StopReason};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};
use crate::view::View;

type Weight<'a> = dyn Fn(&HardwareGraph, (DeviceId, DeviceId), bool) -> u32 + Send + Sync + 'a;
type Package<'a> = dyn Fn(&HardwareGraph, DeviceId) -> DeviceId + Send + Sync + 'a;

/// Made by [`least_weight`].
pub struct LeastWeight<'a> {
    id: PolicyId,
    name: Cow<'static, str>,
    weight: Box<Weight<'a>>,
    package: Box<Package<'a>>,
}

/// The set of least weight, which is the sum over its pairs, among those made of packages: of the free devices that the request
/// allows, all that are in some packages, and where more are needed, the lowest of one package that has more left than that.
/// `package` names the package that a device is in by an id, the same for all in it; `weight` is told of a pair, lower id
/// first, whether both are in one package. Devices that must be included are in the set besides.
///
/// Ties: as few packages as can be; then packages are compared one by one, those taken whole first, in the order of how many of
/// their devices are free, and of lowest id where that is the same. Ranks get the devices in the smallest order that the
/// pattern admits: weights are of sets, and patterns count for nothing.
///
/// Exact, by branch and bound over sets of packages: every pair still to come weighs at least as much as the lightest. For `m`
/// packages at most `2^m` sets, and `m` being 16, some 40,000; [`Request::limits`] bounds them, and if they are reached the best
/// set found stands and the decision says so. O(n²) memory for `n` devices. No runners-up are named.
#[must_use]
pub fn least_weight<'a>(
    name: impl Into<Cow<'static, str>>,
    weight: impl Fn(&HardwareGraph, (DeviceId, DeviceId), bool) -> u32 + Send + Sync + 'a,
    package: impl Fn(&HardwareGraph, DeviceId) -> DeviceId + Send + Sync + 'a,
) -> LeastWeight<'a> {
    LeastWeight { id: PolicyId::unique(), name: name.into(), weight: Box::new(weight), package: Box::new(package) }
}

impl Policy for LeastWeight<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        Some(self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let room = request.room(view);
        let (k, required) = (request.pattern.len(), &request.must_include);
        if k == 0 || room.len() < k || required.len() > k || !required.is_subset(&room) {
            return place(&self.name, request, view, None);
        }
        let mut search = Search::new(self, view.graph(), &room, required, k, request.limits);
        search.run();
        let stats = search.stats();
        let Some(best) = search.best else {
            return if stats.complete() {
                place(&self.name, request, view, None)
            } else {
                Err(Refusal::LimitReached(stats))
            };
        };
        let decision = place(&self.name, request, view, Some((best.set, -(best.weight as f64))))?;
        Ok(decision.searched(stats))
    }
}

impl fmt::Debug for LeastWeight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeastWeight").field("name", &self.name).finish_non_exhaustive()
    }
}

struct Best {
    weight: u64,
    packages: usize,
    set: DeviceSet,
}

struct Search {
    ids: Vec<DeviceId>,
    /// Of every two devices, row by row.
    weights: Vec<u32>,
    lightest: u64,
    required: Vec<usize>,
    /// The devices of each package, in the order in which packages are tried.
    packages: Vec<Vec<usize>>,
    wanted: usize,
    best: Option<Best>,
    limits: Limits,
    nodes: u64,
    stopped: StopReason,
}

impl Search {
    fn new(
        policy: &LeastWeight<'_>,
        graph: &HardwareGraph,
        room: &DeviceSet,
        required: &DeviceSet,
        wanted: usize,
        limits: Limits,
    ) -> Self {
        let ids: Vec<DeviceId> = room.iter().collect();
        let n = ids.len();
        let package: Vec<DeviceId> = ids.iter().map(|&id| (policy.package)(graph, id)).collect();
        let weight = |low: usize, high: usize| {
            let same = package[low] == package[high];
            if low == high { 0 } else { (policy.weight)(graph, (ids[low], ids[high]), same) }
        };
        let pair = |at: usize| ((at / n).min(at % n), (at / n).max(at % n));
        let weights: Vec<u32> = (0..n * n).map(pair).map(|(low, high)| weight(low, high)).collect();
        let lightest = (0..n * n).filter(|at| at / n != at % n).map(|at| u64::from(weights[at])).min();
        let mut packages: BTreeMap<DeviceId, Vec<usize>> = BTreeMap::new();
        for i in (0..n).filter(|&i| !required.contains(ids[i])) {
            packages.entry(package[i]).or_default().push(i);
        }
        let mut packages: Vec<Vec<usize>> = packages.into_values().collect();
        packages.sort_by_key(Vec::len);
        let required = (0..n).filter(|&i| required.contains(ids[i])).collect();
        let (lightest, best, stopped) = (lightest.unwrap_or(0), None, StopReason::default());
        Self { ids, weights, lightest, required, packages, wanted, best, limits, nodes: 0, stopped }
    }

    fn stats(&self) -> SearchStats {
        SearchStats { nodes: self.nodes, matches: u64::from(self.best.is_some()), stopped: self.stopped }
    }

    fn weight_of(&self, device: usize, set: &[usize]) -> u64 {
        set.iter().map(|&other| u64::from(self.weights[device * self.ids.len() + other])).sum()
    }

    fn run(&mut self) {
        let mut taken = self.required.clone();
        let weight = (0..taken.len()).map(|at| self.weight_of(taken[at], &taken[..at])).sum();
        self.visit(&mut Vec::new(), 0, &mut taken, weight);
    }

    /// All ways on from the packages in `whole`, all of which are taken whole, the next one being `from` or later; `taken` has
    /// their devices and those that are required, which weigh `weight`.
    fn visit(&mut self, whole: &mut Vec<usize>, from: usize, taken: &mut Vec<usize>, weight: u64) {
        let missing = self.wanted - taken.len();
        if missing == 0 {
            // Only devices that are required.
            return self.found(taken, weight, whole.len());
        }
        for package in 0..self.packages.len() {
            if whole.contains(&package) || self.is_stopped() {
                continue;
            }
            let size = self.packages[package].len();
            // What is taken whole is taken in ascending order, so that every set is met once.
            if size <= missing && package < from {
                continue;
            }
            let (before, mut sum) = (taken.len(), weight);
            for i in 0..size.min(missing) {
                let device = self.packages[package][i];
                sum += self.weight_of(device, taken);
                taken.push(device);
            }
            self.nodes += 1;
            whole.push(package);
            if size >= missing {
                self.found(taken, sum, whole.len());
            } else if self.can_be_filled(package, missing - size) && !self.is_beaten(taken.len(), sum, whole.len()) {
                self.visit(whole, package + 1, taken, sum);
            }
            whole.pop();
            taken.truncate(before);
        }
    }

    /// Whether later packages, and at most a part of one before them, can have so many devices.
    fn can_be_filled(&self, package: usize, missing: usize) -> bool {
        let later: usize = self.packages[package + 1..].iter().map(Vec::len).sum();
        later + self.packages[package].len() > missing
    }

    fn is_stopped(&mut self) -> bool {
        if self.nodes >= self.limits.nodes {
            self.stopped = StopReason::NodeLimit;
        }
        self.stopped != StopReason::Exhausted
    }

    /// Sets of as many packages are met in the order of their packages: the first of equals stays.
    fn found(&mut self, set: &[usize], weight: u64, packages: usize) {
        if self.best.as_ref().is_none_or(|best| (weight, packages) < (best.weight, best.packages)) {
            let set = set.iter().map(|&i| self.ids[i]).collect();
            self.best = Some(Best { weight, packages, set });
        }
    }

    /// Whether no set with so many devices of this weight, from so many packages, can be better than the best.
    fn is_beaten(&self, devices: usize, weight: u64, packages: usize) -> bool {
        let pairs = |n: usize| (n * n.saturating_sub(1) / 2) as u64;
        let to_come = pairs(self.wanted) - pairs(devices);
        let largest = self.packages.last().map_or(1, Vec::len);
        let more = (self.wanted - devices).div_ceil(largest);
        let least = (weight + to_come * self.lightest, packages + more);
        self.best.as_ref().is_some_and(|best| least >= (best.weight, best.packages))
    }
}
