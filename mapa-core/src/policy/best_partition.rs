//! The best group of the best partition.
//!
//! A policy that looks only at the devices it allocates can break up good pairs among the others.
//! This policy divides all free devices into groups of the requested size, maximises the points of
//! all groups together, and allocates the best group.
//!
//! There are 22 million partitions of 16 devices into groups of three, but only 65,536 sets. The
//! best partition of the devices that remain after some groups depends only on the set of these
//! devices, not on the groups before. So it is computed once for each set.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::alike::among_sets;
use super::api::Policy;
use super::chosen::{pairs, place, stopped};
use super::decision::Decision;
use super::refusal::Refusal;
use crate::ids::PolicyId;
use crate::matching::{SearchStats, StopReason};
use crate::optimum::max;
use crate::request::Request;
use crate::score::Objective;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};
use crate::view::View;

/// The most devices to choose from. The tables have an entry for each set of them.
const MOST: usize = 20;

type Points<'a> = dyn Fn(&HardwareGraph, DeviceId, DeviceId) -> i32 + Send + Sync + 'a;

/// The policy made by [`best_partition`].
pub struct BestPartition<'a> {
    id: PolicyId,
    name: Cow<'static, str>,
    points: Arc<Points<'a>>,
    /// The points of a set. Kept, because tables of its values are found again by it.
    points_of_set: Objective<'a>,
}

/// A policy that partitions the free devices into groups and allocates the best group of the best
/// partition.
///
/// The free devices that the request allows are partitioned into groups of `k`, the number of the
/// job's ranks, and at most one smaller group of what is left over. The points of a group are the
/// sum of `points` over its pairs. The points of a partition are the sum over its groups. The job
/// gets the full group with most points in the partition with most points.
///
/// Ties: of partitions with equal points, the lexicographically first wins. For this comparison the
/// groups of a partition are ordered by their lowest device, the devices of a group are in
/// ascending order, and the empty places of the smaller group come after every device. Of groups
/// with equal points, the one with the lowest device wins.
///
/// Devices that must be included are in one full group, and the job gets that group. The pattern
/// does not influence which group is chosen, unless the request cannot be met on it, for instance
/// because it demands links or network cards: then the job gets the set with most points on which
/// it can. Ranks get the devices in the smallest order that the pattern admits.
///
/// With more than 20 devices to choose from, a request that could be met is refused as
/// [`Refusal::LimitReached`]. Decisions
/// have no runners-up.
///
/// # Complexity
/// Exact, by dynamic programming over the set of devices that remain. The lowest of them is always
/// in the next group. A decision takes at most `2^(n-1) * C(n-1, k-1)` steps for `n` devices and
/// `k` ranks, in practice below a million for 16 devices and any `k`, and 12 bytes for each of the
/// `2^n` sets.
///
/// # Examples
/// ```
/// use mapa_core::{DeviceSet, Fabric, LinkClass, Pattern, Policy, Request, best_partition};
///
/// // A chain 0 - 1 = 2 - 3, the middle a double link: the pair that is best by itself leaves two devices unjoined.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// ids.iter().for_each(|&id| fabric.attach(id, root, 12.0).unwrap());
/// for (a, b, n) in [(0, 1, 2), (1, 2, 3), (2, 3, 2)] {
///     fabric.link(ids[a], ids[b], LinkClass::Direct(n), 25.0 * f64::from(n))?;
/// }
/// let graph = fabric.lower()?;
/// let policy = best_partition("links", |graph, a, b| match graph.link(a, b).class {
///     LinkClass::Direct(n) => i32::from(n),
///     _ => 0,
/// });
/// let decision = policy.decide(&Request::new(Pattern::ring(2)), &graph.with_free(&graph.all())).unwrap();
/// assert_eq!(decision.placement().set(), DeviceSet::from([0, 1]));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn best_partition<'a>(
    name: impl Into<Cow<'static, str>>,
    points: impl Fn(&HardwareGraph, DeviceId, DeviceId) -> i32 + Send + Sync + 'a,
) -> BestPartition<'a> {
    let points: Arc<Points<'a>> = Arc::new(points);
    let pair = points.clone();
    let points_of_set = Objective::chosen("points", move |set| {
        let of = |(a, b)| f64::from(pair(set.graph, a, b).clamp(-MOST_POINTS, MOST_POINTS));
        pairs(set.devices).map(of).sum()
    });
    BestPartition {
        id: PolicyId::unique(),
        name: name.into(),
        points,
        points_of_set,
    }
}

impl Policy for BestPartition<'_> {
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
        let best = || max(self.points_of_set.clone());
        let free: Vec<DeviceId> = request.room(view).iter().collect();
        let k = request.pattern.len();
        let required = |id: &&DeviceId| request.must_include.contains(**id);
        if k == 0
            || free.len() < k
            || free.iter().filter(required).count() < request.must_include.len()
        {
            return place(&self.name, request, view, None, best());
        }
        if free.len() > MOST {
            let limit = Refusal::LimitReached(SearchStats {
                stopped: StopReason::NodeLimit,
                ..SearchStats::default()
            });
            return Err(stopped(&self.name, request, view, limit));
        }
        let required = (0..free.len()).filter(|&i| request.must_include.contains(free[i]));
        let mut partitions = GroupPartitions::new(
            free.len(),
            k,
            required.fold(0, |set, i| set | 1 << i),
            |a, b| (self.points)(view.graph(), free[a], free[b]),
        );
        let group = partitions.best_group().map(|group| {
            let set: DeviceSet = (0..free.len())
                .filter(|&i| group >> i & 1 == 1)
                .map(|i| free[i])
                .collect();
            (set, f64::from(partitions.points[group as usize]))
        });
        place(&self.name, request, view, group, best())
    }
}

impl fmt::Debug for BestPartition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BestPartition")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The most points of a pair, either way. Those of all pairs of [`MOST`] devices stay clear of [`NEVER`].
const MOST_POINTS: i32 = 1 << 22;

/// An entry that is not computed yet.
const UNKNOWN: i32 = i32::MIN;
/// The entry of a set without an admissible partition: each would separate the required devices.
const NEVER: i32 = i32::MIN / 2;

/// All partitions of `n` devices into groups of `k` and one group of the `n % k` left over. Sets
/// are bit masks.
struct GroupPartitions {
    n: usize,
    k: usize,
    required: u32,
    /// By set: the sum of the points of its pairs.
    points: Vec<i32>,
    /// By set: an upper bound on the points of its partitions. Each device contributes half of the
    /// points of its best `k - 1` pairs.
    bound: Vec<i32>,
    /// By set that can remain after some groups: the points of its best partition.
    most: Vec<i32>,
}

impl GroupPartitions {
    fn new(n: usize, k: usize, required: u32, pair: impl Fn(usize, usize) -> i32) -> Self {
        let mut points = vec![0i32; 1 << n];
        let pairs: Vec<i32> = (0..n * n)
            .map(|at| {
                if at / n < at % n {
                    pair(at / n, at % n).clamp(-MOST_POINTS, MOST_POINTS)
                } else {
                    0
                }
            })
            .collect();
        for set in 1..1u32 << n {
            let (lowest, mut rest) = (set.trailing_zeros() as usize, set & (set - 1));
            let mut sum = points[rest as usize];
            while rest != 0 {
                sum = sum.saturating_add(pairs[lowest * n + rest.trailing_zeros() as usize]);
                rest &= rest - 1;
            }
            points[set as usize] = sum;
        }
        let pair = |a: usize, b: usize| pairs[a.min(b) * n + a.max(b)];
        // For each device, the sum of its best k - 1 pairs: those that it can have in one group.
        let halves = |device: usize| {
            let mut row: Vec<i32> = (0..n)
                .filter(|&other| other != device)
                .map(|other| pair(device, other).max(0))
                .collect();
            row.sort_unstable_by(|a, b| b.cmp(a));
            row.iter()
                .take(k - 1)
                .fold(0i32, |sum, &points| sum.saturating_add(points))
        };
        let halves: Vec<i32> = (0..n).map(halves).collect();
        let mut bound = vec![0i32; 1 << n];
        for set in 1..1usize << n {
            bound[set] =
                bound[set & (set - 1)].saturating_add(halves[set.trailing_zeros() as usize]);
        }
        // Each pair was counted at both of its devices. Halving rounds up, so it stays a bound.
        bound.iter_mut().for_each(|sum| *sum = *sum / 2 + *sum % 2);
        Self {
            n,
            k,
            required,
            points,
            bound,
            most: vec![UNKNOWN; 1 << n],
        }
    }

    /// The possible sizes of the next group: `k`, and also the size of the smaller group as long as
    /// that has not been taken. While it has not, the number of devices left is no multiple of `k`.
    fn sizes(&self, left: u32) -> impl Iterator<Item = usize> + use<> {
        let (odd, k) = (left.count_ones() as usize % self.k, self.k);
        let full = (left.count_ones() as usize >= k).then_some(k);
        full.into_iter().chain((odd > 0).then_some(odd))
    }

    /// Whether a group has either none or all of the required devices, the latter only as a full
    /// group.
    fn admits(&self, group: u32) -> bool {
        let there = group & self.required;
        there == 0 || there == self.required && group.count_ones() as usize == self.k
    }

    fn most(&mut self, left: u32) -> i32 {
        if left == 0 {
            return 0;
        }
        if self.most[left as usize] == UNKNOWN {
            let mut most = NEVER;
            let groups_left = (left.count_ones() as usize).div_ceil(self.k);
            for size in self.sizes(left) {
                each_group(left, size, |group| {
                    // The last group is what the one before it leaves: no recursion is needed.
                    if groups_left == 2 {
                        let rest = left & !group;
                        let sum =
                            self.points[group as usize].saturating_add(self.points[rest as usize]);
                        if sum > most && self.admits(group) && self.admits(rest) {
                            most = sum;
                        }
                    } else if self.admits(group) && self.at_most(group, left) > most {
                        most = most.max(self.with(group, left));
                    }
                    false
                });
            }
            self.most[left as usize] = most;
        }
        self.most[left as usize]
    }

    /// An upper bound on [`GroupPartitions::with`].
    fn at_most(&self, group: u32, left: u32) -> i32 {
        self.points[group as usize].saturating_add(self.bound[(left & !group) as usize])
    }

    /// The most points of a partition of `left` that has this group.
    fn with(&mut self, group: u32, left: u32) -> i32 {
        match self.most(left & !group) {
            NEVER => NEVER,
            rest => self.points[group as usize].saturating_add(rest),
        }
    }

    /// The group with most points in the first of the best partitions. `None` if no partition keeps
    /// the required devices together.
    fn best_group(&mut self) -> Option<u32> {
        let mut left = if self.n == 0 {
            0
        } else {
            u32::MAX >> (32 - self.n)
        };
        let mut best: Option<u32> = None;
        while left != 0 {
            let group = self.first_of_best(left)?;
            let better =
                best.is_none_or(|best| self.points[group as usize] > self.points[best as usize]);
            if group.count_ones() as usize == self.k
                && group & self.required == self.required
                && better
            {
                best = Some(group);
            }
            left &= !group;
        }
        best
    }

    /// The first group of the lexicographically first of the best partitions of `left`. Of two
    /// groups, the one with the lowest device that only one of them has comes first. So a group
    /// that is a prefix of another comes after it.
    fn first_of_best(&mut self, left: u32) -> Option<u32> {
        let most = Some(self.most(left)).filter(|&most| most != NEVER)?;
        let mut first: Option<u32> = None;
        for size in self.sizes(left) {
            let mut found = None;
            each_group(left, size, |group| {
                let may_be = self.admits(group) && self.at_most(group, left) >= most;
                let is_best = may_be && self.with(group, left) == most;
                found = is_best.then_some(group);
                is_best
            });
            first = match (first, found) {
                (Some(first), Some(other)) => Some(if is_before(other, first) {
                    other
                } else {
                    first
                }),
                (first, other) => first.or(other),
            };
        }
        first
    }
}

fn is_before(a: u32, b: u32) -> bool {
    let lowest_in_one = (a ^ b) & (a ^ b).wrapping_neg();
    a & lowest_in_one != 0
}

/// Visits all sets of `size` devices of `left` that have its lowest device, in lexicographic order,
/// until `visit` returns true.
fn each_group(left: u32, size: usize, mut visit: impl FnMut(u32) -> bool) {
    /// Adds `missing` of the `open` devices to `group`; `spare` of the open ones can be skipped.
    fn extend(
        mut open: u32,
        missing: usize,
        spare: usize,
        group: u32,
        visit: &mut impl FnMut(u32) -> bool,
    ) -> bool {
        if missing == 0 {
            return visit(group);
        }
        for passed in 0..=spare {
            let next = open & open.wrapping_neg();
            open ^= next;
            if extend(open, missing - 1, spare - passed, group | next, visit) {
                return true;
            }
        }
        false
    }
    let lowest = left & left.wrapping_neg();
    if let Some(spare) = (left.count_ones() as usize).checked_sub(size) {
        extend(left ^ lowest, size - 1, spare, lowest, &mut visit);
    }
}
