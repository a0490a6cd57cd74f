//! The set of least weight, made of whole packages.
//!
//! A package is a device with all of its partitions. A device that is not partitioned is a package
//! by itself. The set consists of all free devices of some packages, and the lowest devices of at
//! most one more. So packages are filled one by one, on ties those
//! with the fewest free devices first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::alike::among_sets;
use super::api::Policy;
use super::chosen::{pairs, place, stopped};
use super::decision::Decision;
use super::refusal::Refusal;
use crate::ids::PolicyId;
use crate::matching::{Limits, SearchStats, StopReason};
use crate::optimum::min;
use crate::request::Request;
use crate::score::Objective;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};
use crate::view::View;

type Weight<'a> = dyn Fn(&HardwareGraph, (DeviceId, DeviceId), bool) -> u32 + Send + Sync + 'a;
type Package<'a> = dyn Fn(&HardwareGraph, DeviceId) -> DeviceId + Send + Sync + 'a;

/// The policy made by [`least_weight`].
pub struct LeastWeight<'a> {
    id: PolicyId,
    name: Cow<'static, str>,
    weight: Arc<Weight<'a>>,
    package: Arc<Package<'a>>,
    /// The weight of a set. Kept, because tables of its values are found again by it.
    weight_of_set: Objective<'a>,
}

/// A policy that takes the set of least weight among the sets made of packages. The weight of a set
/// is the sum over its pairs.
///
/// A package is a group of devices that should be taken together. Of the free devices that the
/// request allows, a candidate set has all those in some packages. If the job needs more, it also
/// has the lowest of one further package, which has more left than that. Devices that must be
/// included are added to every set.
///
/// `package` gives the id of a device's package, the same for all of its devices. `weight` gets the
/// graph, a pair with the lower id first, and whether both devices are in one package.
///
/// Ties: the fewest packages. Then packages are compared one by one, first those taken whole, in
/// the order of their numbers of free devices and then of their ids. The pattern does not influence
/// which set is chosen, unless the request cannot be met on it, for instance because it demands
/// links or network cards: then the job gets the set of least weight on which it can. Ranks get the
/// devices in the smallest order that the pattern admits.
/// Decisions have no runners-up.
///
/// # Complexity
/// Exact, by branch and bound over sets of packages. The lower bound counts each pair still to come
/// as the lightest pair. `m` packages have at most `2^m` sets; for `m` = 16 some 40,000 are
/// visited. [`Request::limits`] bounds the number of sets. If the limit is reached, the best set
/// found is taken, and the decision's search is not complete. Memory: O(n²) for `n` devices.
#[must_use]
pub fn least_weight<'a>(
    name: impl Into<Cow<'static, str>>,
    weight: impl Fn(&HardwareGraph, (DeviceId, DeviceId), bool) -> u32 + Send + Sync + 'a,
    package: impl Fn(&HardwareGraph, DeviceId) -> DeviceId + Send + Sync + 'a,
) -> LeastWeight<'a> {
    let weight: Arc<Weight<'a>> = Arc::new(weight);
    let package: Arc<Package<'a>> = Arc::new(package);
    let (pair, home) = (weight.clone(), package.clone());
    let weight_of_set = Objective::chosen("weight", move |set| {
        let of = |(a, b)| {
            let same = home(set.graph, a) == home(set.graph, b);
            f64::from(pair(set.graph, (a, b), same))
        };
        pairs(set.devices).map(of).sum()
    });
    LeastWeight {
        id: PolicyId::unique(),
        name: name.into(),
        weight,
        package,
        weight_of_set,
    }
}

impl Policy for LeastWeight<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        Some(self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let plain = |inside: &Request| self.decide(inside, view);
        if let Some(answer) = among_sets(request, view, &plain) {
            return answer;
        }
        let best = || min(self.weight_of_set.clone());
        let room = request.room(view);
        let (k, required) = (request.pattern.len(), &request.must_include);
        if k == 0 || room.len() < k || required.len() > k || !required.is_subset(&room) {
            return place(&self.name, request, view, None, best());
        }
        let mut search =
            LeastWeightSearch::new(self, view.graph(), &room, required, k, request.limits);
        search.run();
        let stats = search.stats();
        let Some(lightest) = search.best else {
            return if stats.complete() {
                place(&self.name, request, view, None, best())
            } else {
                let limit = Refusal::LimitReached(stats);
                Err(stopped(&self.name, request, view, limit))
            };
        };
        let decision = place(
            &self.name,
            request,
            view,
            Some((lightest.set, -(lightest.weight as f64))),
            best(),
        )?;
        Ok(if decision.search().complete() {
            decision.searched(stats)
        } else {
            decision
        })
    }
}

impl fmt::Debug for LeastWeight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeastWeight")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

struct LightestSet {
    weight: u64,
    packages: usize,
    set: DeviceSet,
}

struct LeastWeightSearch {
    ids: Vec<DeviceId>,
    /// The weight of each pair, row by row.
    weights: Vec<u32>,
    lightest: u64,
    required: Vec<usize>,
    /// The devices of each package, in the order in which packages are tried.
    packages: Vec<Vec<usize>>,
    wanted: usize,
    best: Option<LightestSet>,
    limits: Limits,
    nodes: u64,
    stopped: StopReason,
}

impl LeastWeightSearch {
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
            if low == high {
                0
            } else {
                (policy.weight)(graph, (ids[low], ids[high]), same)
            }
        };
        let pair = |at: usize| ((at / n).min(at % n), (at / n).max(at % n));
        let weights: Vec<u32> = (0..n * n)
            .map(pair)
            .map(|(low, high)| weight(low, high))
            .collect();
        let lightest = (0..n * n)
            .filter(|at| at / n != at % n)
            .map(|at| u64::from(weights[at]))
            .min();
        let mut packages: BTreeMap<DeviceId, Vec<usize>> = BTreeMap::new();
        for i in (0..n).filter(|&i| !required.contains(ids[i])) {
            packages.entry(package[i]).or_default().push(i);
        }
        let mut packages: Vec<Vec<usize>> = packages.into_values().collect();
        packages.sort_by_key(Vec::len);
        let required = (0..n).filter(|&i| required.contains(ids[i])).collect();
        let (lightest, best, stopped) = (lightest.unwrap_or(0), None, StopReason::default());
        Self {
            ids,
            weights,
            lightest,
            required,
            packages,
            wanted,
            best,
            limits,
            nodes: 0,
            stopped,
        }
    }

    fn stats(&self) -> SearchStats {
        SearchStats {
            nodes: self.nodes,
            matches: u64::from(self.best.is_some()),
            stopped: self.stopped,
        }
    }

    fn weight_of(&self, device: usize, set: &[usize]) -> u64 {
        set.iter()
            .map(|&other| u64::from(self.weights[device * self.ids.len() + other]))
            .sum()
    }

    fn run(&mut self) {
        let mut taken = self.required.clone();
        let weight = (0..taken.len())
            .map(|at| self.weight_of(taken[at], &taken[..at]))
            .sum();
        self.visit(&mut Vec::new(), 0, &mut taken, weight);
    }

    /// Extends the packages in `whole`, all taken whole, by each package that can come next: one
    /// taken whole from position `from` on, or any that fills the set with a part of it. `taken`
    /// has the devices of `whole` and the required ones, and their weight is `weight`.
    fn visit(&mut self, whole: &mut Vec<usize>, from: usize, taken: &mut Vec<usize>, weight: u64) {
        let missing = self.wanted - taken.len();
        if missing == 0 {
            // The required devices alone are enough.
            return self.found(taken, weight, whole.len());
        }
        for package in 0..self.packages.len() {
            if whole.contains(&package) || self.is_stopped() {
                continue;
            }
            let size = self.packages[package].len();
            // Whole packages are taken in ascending order, so that each set is visited once.
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
            } else if self.can_be_filled(package, missing - size)
                && !self.is_beaten(taken.len(), sum, whole.len())
            {
                self.visit(whole, package + 1, taken, sum);
            }
            whole.pop();
            taken.truncate(before);
        }
    }

    /// Whether the packages after `package`, and a part of at most one before them, have `missing`
    /// devices.
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

    /// Keeps a set if it is better than the best so far. Sets with equally many packages are
    /// visited in the order of their packages, so the first of equals is the one that wins ties.
    fn found(&mut self, set: &[usize], weight: u64, packages: usize) {
        if self
            .best
            .as_ref()
            .is_none_or(|best| (weight, packages) < (best.weight, best.packages))
        {
            let set = set.iter().map(|&i| self.ids[i]).collect();
            self.best = Some(LightestSet {
                weight,
                packages,
                set,
            });
        }
    }

    /// Whether no extension of a set of this weight, with so many devices from so many packages,
    /// can be better than the best.
    fn is_beaten(&self, devices: usize, weight: u64, packages: usize) -> bool {
        let pairs = |n: usize| (n * n.saturating_sub(1) / 2) as u64;
        let to_come = pairs(self.wanted) - pairs(devices);
        let largest = self.packages.last().map_or(1, Vec::len);
        let more = (self.wanted - devices).div_ceil(largest);
        let least = (weight + to_come * self.lightest, packages + more);
        self.best
            .as_ref()
            .is_some_and(|best| least >= (best.weight, best.packages))
    }
}
