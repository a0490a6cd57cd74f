//! Branch and bound over partial sets, where what stays free decides first (Eq. 3 of MAPA).
//!
//! A set S takes away some of the links between the free devices, its *loss*: the sum of d(v) over its devices,
//! less the links within it, where d(v) are all links of v to free devices. The most is left where the loss
//! is least. A loss adds up: L(P + R) = L(P) + L(R) - w(P, R), with w(P, R) the links between P and R. So the
//! devices that a partial set P still needs cost at least
//!
//! - the least d(u) - w(u, P), each less half of its heaviest links to others: links within R count once,
//!   half at each end;
//! - the least loss of that many devices at all, less the heaviest links to P. These least losses are found
//!   first, for one device, then two, and so on: Russian doll search (Verfaillie, Lemaître and Schiex 1996).
//!
//! Both are sums over single devices. A partial set is dropped if its bound does not win.

use smallvec::SmallVec;

use super::criterion::Criterion;
use crate::ids::DeviceId;
use crate::matching::Few;
use crate::score::PairsOf;
use crate::topology::DeviceSet;

/// From how many greedy sets a search starts at most.
pub(super) const MOST_STARTS: usize = 64;

/// Sums of multiples of this are exact in any order, as long as they are below 2^52 of it. Real bandwidths
/// are such multiples.
const FRACTION: f64 = 1.0 / 1024.0;

/// The losses of partial sets of some devices.
pub(super) struct Losses {
    /// The devices that may be added, ascending.
    pub(super) ids: Vec<DeviceId>,
    /// By position, that of the next lower twin: a device is taken only with it.
    below: Vec<Option<usize>>,
    /// How many devices are added.
    need: usize,
    /// The devices that every set has.
    must: DeviceSet,
    /// The links between the devices, n x n.
    between: Vec<f64>,
    /// By device, its links to all free devices.
    to_all: Vec<f64>,
    /// By device, what it alone adds to the loss of the devices that every set has.
    alone: Vec<f64>,
    /// By device and number of others, half of its heaviest links to so many of the devices.
    halves: Vec<f64>,
    /// The loss of the devices that every set has.
    of_must: f64,
    /// All links between free devices.
    total: f64,
    /// By how much sums in another order may differ.
    noise: f64,
    /// The least loss of any 0, 1, 2, .. devices, as far as it is known.
    least: Vec<f64>,
}

/// The user of a walk: it says which sets are of use, and takes them.
pub(super) trait Walker {
    /// Whether sets that lose at least `least` of each sum are of no use; the lowest of those that are left
    /// have the positions `chosen`, and then the lowest from `from` on.
    fn cuts(
        &mut self,
        sums: &[Losses],
        least: &dyn Fn(usize) -> f64,
        chosen: &[usize],
        from: usize,
    ) -> bool;

    /// Takes a set with this loss of the first sum.
    fn take(&mut self, sums: &[Losses], loss: f64, chosen: &[usize]);

    /// Counts steps. Returns false to end the walk.
    fn goes_on(&mut self, steps: u64) -> bool;
}

impl Losses {
    /// The losses of sets that have all of `must` and `need` of `rest`, for pairs of these values. Where the
    /// pairs of the chosen devices count, a set loses what they have, negated.
    ///
    /// # Complexity
    /// O(f² + n² log n) for f free devices and n in `rest`.
    pub(super) fn new(
        of: PairsOf,
        value: impl Fn(DeviceId, DeviceId) -> f64,
        free: &DeviceSet,
        must: &DeviceSet,
        (rest, below): (&[DeviceId], &[Option<usize>]),
        need: usize,
    ) -> Self {
        // Whether a device takes pairs away. One that is not free, as one with tenants that share it, takes none: if
        // its pairs counted, a bound would be too low where values are negative, as those of sums that are minimised.
        let are_free = rest.iter().all(|&id| free.contains(id)) && must.is_subset(free);
        let counts = |id| of == PairsOf::Chosen || are_free || free.contains(id);
        // A device is no pair with itself, whatever a value says of that.
        let value = |a, b| {
            if a != b && counts(a) && counts(b) {
                value(a, b)
            } else {
                0.0
            }
        };
        let n = rest.len();
        let all: Vec<DeviceId> = match of {
            PairsOf::Left => free.iter().collect(),
            // No pair is lost: what a set gains is the sum within it.
            PairsOf::Chosen => Vec::new(),
        };
        let (mut total, mut size, mut is_round) = (0.0, 0.0, true);
        let mut sums = vec![0.0; all.len()];
        for (b, &second) in all.iter().enumerate() {
            for (a, &first) in all[..b].iter().enumerate() {
                // Rows of a machine's links lie in memory one after another: along them, not across.
                let gbps = value(second, first);
                total += gbps;
                size += gbps.abs();
                is_round &= is_whole(gbps / FRACTION);
                sums[a] += gbps;
                sums[b] += gbps;
            }
        }
        let sum_of = |id: &DeviceId| all.binary_search(id).map_or(0.0, |at| sums[at]);
        let to_all: Vec<f64> = rest.iter().map(sum_of).collect();
        // Where sets have one device, nothing lies between two of them.
        let paired = if need > 1 || !must.is_empty() { n } else { 0 };
        let mut between = vec![0.0; paired * paired];
        for b in 0..paired {
            for a in 0..b {
                let gbps = value(rest[b], rest[a]);
                (between[a * n + b], between[b * n + a]) = (gbps, gbps);
                if of == PairsOf::Chosen {
                    size += gbps.abs();
                    is_round &= is_whole(gbps / FRACTION);
                }
            }
        }
        let mut halves = vec![0.0; n * need];
        let mut row = Vec::new();
        for (at, halves) in halves.chunks_exact_mut(need.max(1)).enumerate().take(n) {
            let others = halves.len() - 1;
            if others == 0 {
                continue;
            }
            row.clear();
            row.extend(
                (0..n)
                    .filter(|&other| other != at)
                    .map(|other| between[at * n + other]),
            );
            if others < row.len() {
                row.select_nth_unstable_by(others - 1, |a, b| b.total_cmp(a));
                row.truncate(others);
            }
            row.sort_unstable_by(|a, b| b.total_cmp(a));
            let mut sum = 0.0;
            for (at, half) in halves[1..].iter_mut().enumerate() {
                sum += row.get(at).map_or(0.0, |gbps| gbps / 2.0);
                *half = sum;
            }
        }
        let to_must = |id: DeviceId| must.iter().map(|other| value(id, other)).sum::<f64>();
        let alone = (rest.iter().zip(&to_all))
            .map(|(&id, sum)| sum - to_must(id))
            .collect();
        let within = must.iter().map(to_must).sum::<f64>() / 2.0;
        let of_must = must.iter().map(|id| sum_of(&id)).sum::<f64>() - within;
        // Unless all sums are exact, the same sum in another order may differ in its last digits.
        let is_exact = is_round && size / FRACTION < (1u64 << 52) as f64;
        Self {
            ids: rest.to_vec(),
            below: below.to_vec(),
            need,
            must: must.clone(),
            between,
            to_all,
            alone,
            halves,
            of_must,
            total,
            noise: if is_exact {
                0.0
            } else {
                size * f64::EPSILON * ((all.len() + n) * need) as f64
            },
            least: vec![0.0],
        }
    }

    /// An upper bound on what a set leaves that loses at least `loss`, as a key of the criterion.
    pub(super) fn key(&self, criterion: &Criterion<'_>, loss: f64) -> f64 {
        let left = self.total - loss + self.noise;
        if left.is_nan() {
            f64::INFINITY
        } else {
            criterion.signed_key(left)
        }
    }

    /// The set with these positions.
    pub(super) fn set(&self, chosen: impl IntoIterator<Item = usize>) -> DeviceSet {
        let mut set = self.must.clone();
        set.extend(chosen.into_iter().map(|at| self.ids[at]));
        set
    }

    /// The lowest set with these positions and others from `from` on, whether or not it is allowed.
    pub(super) fn lowest(&self, chosen: &[usize], from: usize) -> DeviceSet {
        self.set(chosen.iter().copied().chain(from..).take(self.need))
    }

    /// By device, what it adds to the loss of the devices that every set has.
    pub(super) fn alone(&self) -> &[f64] {
        &self.alone
    }

    /// The loss of the devices that every set has.
    pub(super) fn of_must(&self) -> f64 {
        self.of_must
    }

    /// The links of a device to the others; none for one that every set has, and where sets have one device.
    pub(super) fn links_of(&self, at: usize) -> &[f64] {
        let n = self.ids.len();
        self.between.get(at * n..(at + 1) * n).unwrap_or(&[])
    }

    /// Whether a set has the next lower twin of each of its devices.
    pub(super) fn has_lower_twins(&self, chosen: &[usize]) -> bool {
        chosen
            .iter()
            .all(|&at| self.below[at].is_none_or(|below| chosen.contains(&below)))
    }

    /// A lower bound on the loss of every set.
    pub(super) fn at_least_for_all(&self) -> f64 {
        self.at_least(0..self.ids.len(), &self.alone, self.need, self.of_must)
    }

    /// A lower bound on the loss of some devices and `count` of `others`, where `loss` is that of the
    /// devices, and `adds` what each of the others adds to it. O(n) for n others.
    pub(super) fn at_least(
        &self,
        others: impl Iterator<Item = usize> + Clone,
        adds: &[f64],
        count: usize,
        loss: f64,
    ) -> f64 {
        let half = |at: usize| self.halves[at * self.need + count - 1];
        let rows = others.clone().map(|at| adds[at] - half(at));
        let by_rows = loss + least_of(rows, count);
        let Some(least) = self.least.get(count) else {
            return by_rows;
        };
        let links = others.map(|at| adds[at] - self.to_all[at]);
        by_rows.max(loss + least + least_of(links, count))
    }

    fn may_take(&self, at: usize, taken: &[bool]) -> bool {
        !taken[at] && self.below[at].is_none_or(|below| taken[below])
    }

    /// Greedy sets of least loss, each from another device and with its loss: at most [`MOST_STARTS`]. O(n k)
    /// for each.
    pub(super) fn grown(&self) -> impl Iterator<Item = (f64, DeviceSet)> {
        self.starts()
            .filter_map(|first| self.greedy(first, self.need, &self.alone))
            .map(|(chosen, loss)| (loss, self.set(chosen)))
    }

    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        let n = self.ids.len();
        (0..n).step_by(n.div_ceil(MOST_STARTS).max(1))
    }

    /// The positions that a greedy choice from `first` takes, and their loss, where `adds` is what each
    /// device alone adds to it. `None` if too few devices are allowed.
    fn greedy(&self, first: usize, need: usize, adds: &[f64]) -> Option<(Vec<usize>, f64)> {
        let n = self.ids.len();
        let (mut adds, mut taken, mut loss) = (adds.to_vec(), vec![false; n], 0.0);
        let mut chosen = Vec::with_capacity(need);
        let mut next = Some(first).filter(|&first| need > 0 && self.may_take(first, &taken));
        while let Some(at) = next {
            taken[at] = true;
            chosen.push(at);
            loss += adds[at];
            if chosen.len() == need {
                return Some((chosen, loss));
            }
            let row = &self.between[at * n..(at + 1) * n];
            adds.iter_mut()
                .zip(row)
                .for_each(|(adds, link)| *adds -= link);
            // `min_by` takes the first of equals, which has the lowest id.
            next = (0..n)
                .filter(|&other| self.may_take(other, &taken))
                .min_by(|&a, &b| adds[a].total_cmp(&adds[b]));
        }
        None
    }

    /// Finds the least losses of one device, of two, and so on, as long as `goes_on` lets it.
    pub(super) fn learn(&mut self, mut goes_on: impl FnMut(u64) -> bool) {
        for need in 1..self.need {
            let greedy = self
                .starts()
                .filter_map(|first| self.greedy(first, need, &self.to_all));
            let loss = greedy.map(|(_, loss)| loss).fold(f64::INFINITY, f64::min);
            let mut least = Least {
                loss,
                goes_on: &mut goes_on,
            };
            let alone = Few::from_elem(self.to_all.clone(), 1);
            let sums = std::slice::from_ref(self);
            let mut walk = Walk::new(sums, need, alone);
            if !walk.from(0, &[0.0], &mut least) {
                return;
            }
            let loss = least.loss;
            self.least.push(loss);
        }
    }
}

/// The least loss of some devices.
struct Least<'g, G> {
    loss: f64,
    goes_on: &'g mut G,
}

impl<G: FnMut(u64) -> bool> Walker for Least<'_, G> {
    fn cuts(&mut self, _: &[Losses], least: &dyn Fn(usize) -> f64, _: &[usize], _: usize) -> bool {
        least(0) >= self.loss
    }

    fn take(&mut self, _: &[Losses], loss: f64, _: &[usize]) {
        self.loss = self.loss.min(loss);
    }

    fn goes_on(&mut self, steps: u64) -> bool {
        (self.goes_on)(steps)
    }
}

/// Walks over all sets that `walker` does not cut, lowest ids first. The sums are over the same devices; what
/// is known of the later ones decides where the earlier are equal. Returns false if the walker ended the walk.
pub(super) fn walk(sums: &[Losses], walker: &mut impl Walker) -> bool {
    let Some(first) = sums.first() else {
        return true;
    };
    let alone = sums.iter().map(|sum| sum.alone.clone()).collect();
    let of_must: Few<f64> = sums.iter().map(|sum| sum.of_must).collect();
    Walk::new(sums, first.need, alone).from(0, &of_must, walker)
}

/// The state of a walk.
struct Walk<'l> {
    sums: &'l [Losses],
    /// By depth and sum, what each device adds to the loss.
    adds: Vec<Few<Vec<f64>>>,
    need: usize,
    chosen: Vec<usize>,
    taken: Vec<bool>,
}

impl<'l> Walk<'l> {
    fn new(sums: &'l [Losses], need: usize, alone: Few<Vec<f64>>) -> Self {
        Self {
            sums,
            adds: vec![alone],
            need,
            chosen: Vec::with_capacity(need),
            taken: vec![false; sums.first().map_or(0, |sum| sum.ids.len())],
        }
    }

    /// Walks over the sets with the chosen devices, which lose `loss` of each sum, and others from `from` on.
    fn from(&mut self, from: usize, loss: &[f64], walker: &mut impl Walker) -> bool {
        let sums = self.sums;
        let n = sums[0].ids.len();
        let depth = self.chosen.len();
        let open = self.need - depth;
        if open == 0 {
            walker.take(sums, loss[0], &self.chosen);
            return walker.goes_on(1);
        }
        if n - from < open {
            return true;
        }
        if !walker.goes_on(1 + (n - from) as u64 / 8) {
            return false;
        }
        let least = |at: usize| {
            let adds = &self.adds[depth][at];
            sums[at].at_least(from..n, adds, open, loss[at])
        };
        if walker.cuts(sums, &least, &self.chosen, from) {
            return true;
        }
        if self.adds.len() == depth + 1 {
            self.adds.push(sums.iter().map(|_| vec![0.0; n]).collect());
        }
        for at in from..=n - open {
            if !sums[0].may_take(at, &self.taken) {
                continue;
            }
            let adds = &self.adds[depth];
            let more: Few<f64> = loss
                .iter()
                .zip(adds)
                .map(|(loss, adds)| loss + adds[at])
                .collect();
            if open == 1 && walker.cuts(sums, &|sum| more[sum], &self.chosen, at) {
                continue;
            }
            // The last device leaves none to which it could be joined.
            if open > 1 {
                let (before, after) = self.adds.split_at_mut(depth + 1);
                for ((sum, before), after) in sums.iter().zip(&before[depth]).zip(&mut after[0]) {
                    let now = before[at..].iter().zip(&sum.links_of(at)[at..]);
                    (after[at..].iter_mut().zip(now))
                        .for_each(|(next, (now, link))| *next = now - link);
                }
            }
            self.chosen.push(at);
            self.taken[at] = true;
            let goes_on = self.from(at + 1, &more, walker);
            self.taken[at] = false;
            self.chosen.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }
}

/// Whether a number is whole and far from the limits of exact ones. `fract` is a call where the processor's
/// instructions for rounding may not be assumed, and this is asked for half a million pairs.
fn is_whole(value: f64) -> bool {
    (value as i64) as f64 == value
}

/// The sum of the least `count` values; infinite if there are fewer.
fn least_of(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    let mut values: SmallVec<[f64; 64]> = values.collect();
    if values.len() < count {
        return f64::INFINITY;
    }
    if count < values.len() && count > 0 {
        values.select_nth_unstable_by(count - 1, f64::total_cmp);
    }
    values[..count].iter().sum()
}
