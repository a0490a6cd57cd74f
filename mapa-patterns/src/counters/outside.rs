//! Matching of links if the reading lacks some devices of the machine, and so some link ends.
//!
//! Traffic between two devices is striped over all links that join them, so ends of one device with
//! equal counters form a group. Two groups are joined if they mirror each other, have equal sizes,
//! and are not larger than the number of links between their devices. The remaining ends lead to
//! devices outside the reading. If groups could be joined in several ways, or if a device has more
//! ends left than links to devices outside the reading, as many ends are joined as the links allow,
//! and a note states the choice. At most n rounds for n ends, each O(n^2), or O(p^2) for p pairs of
//! groups that mirror each other if p exceeds n.

use std::collections::{BTreeMap, BTreeSet};

use super::mirrors::{JoinRules, mirror};
use super::reading::LinkEnd;

/// The ends that form links, and the ends that are left.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Partly {
    /// The two ends of each link, by index.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The links of `pairs` that could have been joined otherwise, or not at all.
    pub(super) doubtful: Vec<(usize, usize)>,
    /// Ends that were not joined, by index.
    pub(super) open: Vec<usize>,
    /// Pairs of devices, the smaller first, that may share a link which was left open.
    pub(super) spared: BTreeSet<(usize, usize)>,
}

/// Ends of one device with equal counters, by index.
type EqualEnds = Vec<usize>;

struct OutsideSearch<'a> {
    ends: &'a [LinkEnd],
    rules: &'a JoinRules<'a>,
    groups: Vec<EqualEnds>,
    /// By pair of devices: how many links were joined.
    used: BTreeMap<(usize, usize), usize>,
    found: Partly,
}

/// Finds the ends of each link. `outside` is the number of links of a device to devices outside the
/// reading.
pub(super) fn partly(
    ends: &[LinkEnd],
    rules: &JoinRules<'_>,
    outside: &dyn Fn(usize) -> usize,
) -> Partly {
    let groups = groups(ends, rules.tolerance);
    let mut search = OutsideSearch {
        ends,
        rules,
        groups,
        used: BTreeMap::new(),
        found: Partly::default(),
    };
    search.join_unique();
    search.join_doubtful(outside);
    let mut found = search.found;
    found.open = search.groups.into_iter().flatten().collect();
    found.open.sort_unstable();
    found.pairs.sort_unstable();
    found
}

/// The groups of ends of one device with equal counters, within the tolerance.
fn groups(ends: &[LinkEnd], tolerance: f64) -> Vec<EqualEnds> {
    let mut groups: Vec<EqualEnds> = Vec::new();
    for (at, end) in ends.iter().enumerate() {
        let alike = |group: &&mut EqualEnds| {
            let first = group.first().and_then(|first| ends.get(*first));
            first.is_some_and(|first| {
                let apart = (end.sent - first.sent)
                    .abs()
                    .max((end.received - first.received).abs());
                end.device == first.device && apart <= tolerance * end.busier().max(first.busier())
            })
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

impl OutsideSearch<'_> {
    fn group(&self, at: usize) -> &[usize] {
        self.groups.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    /// The devices of two groups, the smaller first.
    fn devices(&self, a: usize, b: usize) -> Option<(usize, usize)> {
        let device = |at: usize| Some(self.ends.get(*self.group(at).first()?)?.device);
        let (a, b) = (device(a)?, device(b)?);
        (a != b).then_some((a.min(b), a.max(b)))
    }

    /// How many more links could join two devices.
    fn room(&self, devices: (usize, usize)) -> usize {
        let links = (self.rules.links)(devices.0, devices.1).unwrap_or_default();
        links.saturating_sub(self.used.get(&devices).copied().unwrap_or_default())
    }

    /// Pairs of groups that mirror each other, of devices with links left.
    fn mirrored(&self) -> Vec<((usize, usize), (usize, usize))> {
        let all =
            (0..self.groups.len()).flat_map(|a| (a + 1..self.groups.len()).map(move |b| (a, b)));
        let fits = |(a, b): (usize, usize)| {
            let devices = self
                .devices(a, b)
                .filter(|devices| self.room(*devices) > 0)?;
            let (own, other) = (self.group(a).first()?, self.group(b).first()?);
            let ends = (self.ends.get(*own)?, self.ends.get(*other)?);
            let may = mirror(ends.0, ends.1, self.rules.tolerance)
                && self.group(a).iter().any(|end| {
                    self.group(b)
                        .iter()
                        .any(|other| (self.rules.may_join)(*end, *other))
                });
            may.then_some(((a, b), devices))
        };
        all.filter_map(fits).collect()
    }

    fn is_whole(&self, (a, b): (usize, usize), devices: (usize, usize)) -> bool {
        self.group(a).len() == self.group(b).len() && self.group(a).len() <= self.room(devices)
    }

    /// Joins groups that fit no other group, round by round: each round may leave others unique.
    fn join_unique(&mut self) {
        loop {
            let whole: Vec<_> = self
                .mirrored()
                .into_iter()
                .filter(|(pair, candidate)| self.is_whole(*pair, *candidate))
                .collect();
            let others = |at: usize| {
                whole
                    .iter()
                    .filter(|((a, b), _)| *a == at || *b == at)
                    .count()
            };
            let wanted = |devices: (usize, usize)| -> usize {
                whole
                    .iter()
                    .filter(|(_, pair)| *pair == devices)
                    .map(|((a, _), _)| self.group(*a).len())
                    .sum()
            };
            let is_unique = |((a, b), devices): &&((usize, usize), (usize, usize))| {
                others(*a) == 1 && others(*b) == 1 && wanted(*devices) <= self.room(*devices)
            };
            let unique: Vec<_> = whole.iter().filter(is_unique).copied().collect();
            if unique.is_empty() {
                return;
            }
            for (pair, devices) in unique {
                self.join(pair, devices);
            }
        }
    }

    /// Joins groups that could be joined in several ways, the busiest first, and those of a device
    /// with more open ends than links to devices outside the reading.
    fn join_doubtful(&mut self, outside: &dyn Fn(usize) -> usize) {
        loop {
            let mirrored = self.mirrored();
            let too_many = |device: usize| {
                let own = self
                    .groups
                    .iter()
                    .flatten()
                    .filter_map(|at| self.ends.get(*at));
                own.filter(|end| end.device == device).count() > outside(device)
            };
            let busier = |(a, _): (usize, usize)| {
                self.group(a)
                    .first()
                    .and_then(|at| self.ends.get(*at))
                    .map(LinkEnd::busier)
                    .unwrap_or_default()
            };
            let doubtful = mirrored.iter().filter(|(pair, devices)| {
                self.is_whole(*pair, *devices) || too_many(devices.0) || too_many(devices.1)
            });
            let Some(&(pair, devices)) = doubtful.max_by(|x, y| {
                busier(x.0)
                    .total_cmp(&busier(y.0))
                    .then_with(|| y.0.cmp(&x.0))
            }) else {
                self.found.spared = mirrored.into_iter().map(|(_, devices)| devices).collect();
                return;
            };
            let from = self.found.pairs.len();
            if !self.join(pair, devices) {
                return;
            }
            self.found.doubtful.extend(
                self.found
                    .pairs
                    .iter()
                    .skip(from)
                    .copied()
                    .collect::<Vec<_>>(),
            );
        }
    }

    /// Joins as many ends of two groups as the links allow. Returns whether there were any.
    fn join(&mut self, (a, b): (usize, usize), devices: (usize, usize)) -> bool {
        let mut joined = 0;
        for member in self.group(a).to_vec() {
            let other = self
                .group(b)
                .iter()
                .copied()
                .find(|other| (self.rules.may_join)(member, *other));
            let Some(other) = other.filter(|_| self.room(devices) > 0) else {
                continue;
            };
            for (at, end) in [(a, member), (b, other)] {
                if let Some(group) = self.groups.get_mut(at) {
                    group.retain(|left| *left != end);
                }
            }
            *self.used.entry(devices).or_default() += 1;
            self.found.pairs.push((member, other));
            joined += 1;
        }
        joined > 0
    }
}
