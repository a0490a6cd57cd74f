//! The exact optimum for jobs on instances of partitioned devices, by the number of ranks on each device.
//!
//! Sixteen servers of eight devices have 896 instances of one size, and 10¹⁹ sets of eight of them. But
//! instances have no links of their own: all of one device are joined alike to all others. So a set is as
//! good as the numbers of ranks by device say, and of the sets with the same numbers the one with the
//! lowest ids wins the tie. Two kinds of problem are solved by numbers alone:
//!
//! - **Links do not matter**, since the criteria see none or all are of one kind. The criteria are then sums
//!   over instances or over devices, and a knapsack over devices finds the best sums: by device and ranks
//!   left, the best that this device and those after it can have. Where instances of one device have
//!   different values, as those of several profiles may, each number of each value is a choice of its own.
//! - **Links are of two kinds**, one within islands of devices and one between them, and nothing else
//!   matters. [`RanksByIsland`] knows which numbers of edges between islands are possible.
//!
//! Going through the devices in the order of their ids, the earliest choice that still reaches the best
//! value gives the lowest ids of all. Ids of instances ascend from device to device.
//!
//! Sums must be exact, since a knapsack adds them in another order than the definition does: values are
//! whole multiples of a power of two, and few enough bits long that criteria see every difference.

use std::collections::BTreeSet;

use super::criterion::{Criterion, CriterionKind};
use super::domains::Domains;
use super::links::{LinkKinds, is_of_counts};
use super::problem::{Problem, RankedAnswer, RankedPlacement};
use super::requirement::RequirementTest;
use super::valued::by_keys;
use crate::ids::DeviceId;
use crate::matching::{Few, Limits, Placement, SearchStats};
use crate::pattern::Demand;
use crate::reach::RanksByIsland;
use crate::score::{Form, Objective, PairsOf, Seat};
use crate::topology::{DeviceSet, Link};
use crate::view::View;

/// The most criteria that are sums.
const MOST_SUMS: usize = 4;

/// The values of some ranks for each criterion that is a sum, the higher the better, in whole units.
type Sums = [i64; MOST_SUMS];

/// The most choices of instances of one device. More are left to the search.
const MOST_CHOICES: usize = 1 << 12;

/// Criteria round values to 40 bits: sums below this are all different to them.
const MOST_SUM: f64 = (1u64 << 40) as f64;

/// Values are multiples of 1 / `FRACTIONS`. Bandwidths are.
const FRACTIONS: f64 = 1024.0;

/// The best placement, if the numbers of ranks by device decide; `None` if another way must find it.
///
/// # Complexity
/// For k ranks on instances of m devices: O(m² + m k c) where links are of one kind, for c choices of a
/// device, at most k + 1 where its instances are alike; O(m² + m k²) where they are of two.
pub(super) fn best_by_counts(problem: &Problem<'_, '_>) -> Option<RankedAnswer> {
    let Problem {
        request,
        criteria,
        limits,
        ..
    } = *problem;
    let k = request.pattern.len();
    let demand = plain_demand(problem)?;
    // Lowest ids win ties anyway, so that criterion may come last and nowhere else.
    let last = criteria
        .iter()
        .rposition(|criterion| !matches!(criterion.kind, CriterionKind::LowestIds));
    let criteria = &criteria[..last.map_or(0, |last| last + 1)];
    let may_be_sum = |criterion: &Criterion<'_>| {
        criterion.objective().is_some_and(|objective| {
            let sums = objective.pair_sum().is_some() || objective.whole_sum().is_some();
            sums || is_of_counts(objective) || matches!(objective.form(), Form::Devices(_))
        })
    };
    if !criteria.iter().all(may_be_sum) {
        return None;
    }
    let devices = cut_devices(problem, demand)?;
    if devices.iter().map(|device| device.ids.len()).sum::<usize>() < k {
        return None;
    }
    let mut sums: Vec<SumOfCriterion<'_, '_>> = Vec::new();
    let mut sees_links = false;
    for criterion in criteria {
        let objective = criterion.objective()?;
        if is_of_counts(objective) {
            sees_links = true;
        } else if !is_of_wholes_left(problem, criterion, &devices) {
            sums.push(SumOfCriterion::new(problem, criterion, demand)?);
        }
    }
    let kinds = link_kinds(problem, &devices)?;
    let (placement, nodes) = if kinds.len() < 2 || !sees_links {
        let knapsack = Knapsack::new(&devices, k, &sums, limits.nodes)?;
        (knapsack.earliest()?, knapsack.nodes)
    } else if sums.is_empty() {
        let nodes = devices.len() * k + devices.len() * devices.len() / 64;
        (
            over_islands(problem, criteria, &kinds, &devices)?,
            nodes as u64,
        )
    } else {
        // Where sums and links both matter, numbers by island do not decide.
        return None;
    };
    if nodes > limits.nodes || !problem.admits(&placement) {
        return None;
    }
    let set: DeviceSet = placement.set();
    let key = |criterion: &Criterion<'_>| {
        problem
            .set_key(criterion, &set)
            .unwrap_or_else(|| problem.key(criterion, &placement))
    };
    let entry = RankedPlacement {
        keys: problem.criteria.iter().map(key).collect(),
        set: set.clone(),
        placement,
    };
    let stats = SearchStats {
        nodes,
        matches: 1,
        ..SearchStats::default()
    };
    Some((vec![entry], stats))
}

/// A device and the instances of it that the job may have, ascending.
struct CutDevice {
    whole: DeviceId,
    ids: Vec<DeviceId>,
}

/// The demand of every rank, if no condition rules numbers out.
fn plain_demand<'o>(problem: &Problem<'o, '_>) -> Option<&'o Demand> {
    let Problem { request, view, .. } = *problem;
    let pattern = &request.pattern;
    let is_countable = |test: &RequirementTest<'_>| match test {
        RequirementTest::Seat { .. } | RequirementTest::Link(_) => true,
        RequirementTest::Score(objective, _) => is_of_counts(objective),
        RequirementTest::Set(_) | RequirementTest::Placement(_) => false,
    };
    let is_plain = view.graph().can_be_cut()
        && !view.is_of_any_layout()
        && pattern.is_uniform()
        && !pattern.may_share()
        && request.must_include.is_empty()
        && request.runners_up == 0
        && !request.same_numa
        && problem.limits.matches == Limits::NONE.matches
        && problem.tests().all(is_countable);
    pattern.demands().first().filter(|_| is_plain)
}

/// The devices with instances that the job may have, ascending; `None` if it may have other vertices too.
fn cut_devices(problem: &Problem<'_, '_>, demand: &Demand) -> Option<Vec<CutDevice>> {
    let graph = problem.view.graph();
    let domain = Domains::of(problem, demand, &problem.request.eligible(graph));
    let mut devices: Vec<CutDevice> = Vec::new();
    for id in domain.iter() {
        let vertex = graph.device(id);
        vertex.unit.instance()?;
        match devices
            .last_mut()
            .filter(|last| last.whole == vertex.parent)
        {
            Some(last) => last.ids.push(id),
            None => devices.push(CutDevice {
                whole: vertex.parent,
                ids: vec![id],
            }),
        }
    }
    // Lowest ids are found device by device, so ids must ascend from one to the next.
    devices
        .is_sorted_by_key(|device| device.whole)
        .then_some(devices)
}

/// Whether a criterion is a sum over the whole devices that stay free, to which no placement makes a
/// difference: the devices of its instances are not free anyway.
fn is_of_wholes_left(
    problem: &Problem<'_, '_>,
    criterion: &Criterion<'_>,
    devices: &[CutDevice],
) -> bool {
    let free = problem.view.free();
    criterion
        .objective()
        .and_then(|objective| objective.pair_sum())
        .is_some_and(|sum| sum.of == PairsOf::Left)
        && devices.iter().all(|device| !free.contains(device.whole))
}

/// The kinds of link between instances of these devices, by device; `None` if some two are not joined as
/// the request demands.
fn link_kinds(problem: &Problem<'_, '_>, devices: &[CutDevice]) -> Option<LinkKinds> {
    if problem.request.pattern.edges().is_empty() {
        return Some(LinkKinds::among(problem, 0, |_, _| None));
    }
    let graph = problem.view.graph();
    // An instance has the links of its device, whichever instance it is.
    let link = |a: usize, b: usize| -> Option<Link> {
        let is_pair = a != b || devices[a].ids.len() > 1;
        is_pair.then(|| graph.link_of_instances(devices[a].whole, devices[b].whole))
    };
    let kinds = LinkKinds::among(problem, devices.len(), link);
    let are_joined =
        |a: usize, b: usize| kinds.between(a, b).is_some() || a == b && devices[a].ids.len() < 2;
    (0..devices.len())
        .all(|b| (0..=b).all(|a| are_joined(a, b)))
        .then_some(kinds)
}

/// The best placement where links are of two kinds, and nothing but links matters.
fn over_islands(
    problem: &Problem<'_, '_>,
    criteria: &[Criterion<'_>],
    kinds: &LinkKinds,
    devices: &[CutDevice],
) -> Option<Placement> {
    let pattern = &problem.request.pattern;
    let traffic = pattern.traffic()?;
    let (inner, islands) = islands(kinds, devices)?;
    let of_island = |island: &Vec<usize>| island.iter().map(|&at| devices[at].ids.len()).sum();
    let free: Vec<usize> = islands.iter().map(of_island).collect();
    let ranks_by_island = RanksByIsland::new(pattern.family(), pattern.len(), &free)?;
    // Two ranks may be joined by several edges.
    let edges = pattern.edges().len();
    let per_pair = edges / ranks_by_island.pairs();
    // By number of pairs between islands, the keys; the best first.
    let mut ways: Vec<(Few<f64>, usize)> = Vec::new();
    for between in 0..=ranks_by_island.pairs() {
        let mut by_kind = [(between * per_pair) as u32; 2];
        by_kind[inner] = (edges - between * per_pair) as u32;
        let keys = kinds.keys(criteria.iter(), problem.requirements, traffic, &by_kind);
        ways.extend(keys.map(|keys| (keys, between)));
    }
    ways.sort_by(|a, b| by_keys(&b.0, &a.0));
    // Of the best ways that exist, the one of the lowest ids: more ranks on an earlier island are lower ids.
    let equals = ways.chunk_by(|a, b| by_keys(&a.0, &b.0).is_eq());
    let (equals, counts) = equals
        .filter_map(|equals| {
            let counts = equals
                .iter()
                .filter_map(|(_, between)| ranks_by_island.earliest(*between))
                .max()?;
            Some((equals, counts))
        })
        .next()?;
    let order = equals
        .iter()
        .filter_map(|(_, between)| ranks_by_island.smallest_order(&counts, *between))
        .min()?;
    let ids = |island: &Vec<usize>| -> Vec<DeviceId> {
        let own = island
            .iter()
            .flat_map(|&at| devices[at].ids.iter().copied());
        own.collect()
    };
    let ids: Vec<Vec<DeviceId>> = islands.iter().map(ids).collect();
    let mut next = vec![0; ids.len()];
    let place = |island: usize| {
        next[island] += 1;
        ids[island][next[island] - 1]
    };
    Some(order.into_iter().map(place).collect())
}

/// The kind of link within islands, and the islands, if links of one kind divide the devices into islands
/// and those of the other join them. Ids must ascend from island to island.
fn islands(kinds: &LinkKinds, devices: &[CutDevice]) -> Option<(usize, Vec<Vec<usize>>)> {
    let split = |inner: usize| {
        let mut islands: Vec<Vec<usize>> = Vec::new();
        let mut island_of = vec![0; devices.len()];
        for (at, device) in devices.iter().enumerate() {
            let own = islands
                .iter()
                .position(|island| kinds.between(island[0], at) == Some(inner));
            island_of[at] = own.unwrap_or(islands.len());
            match own {
                Some(own) => islands[own].push(at),
                None => islands.push(vec![at]),
            }
            if device.ids.len() > 1 && kinds.between(at, at) != Some(inner) {
                return None;
            }
        }
        let is_inner = |a: usize, b: usize| kinds.between(a, b) == Some(inner);
        let are_islands = (0..devices.len())
            .all(|b| (0..b).all(|a| is_inner(a, b) == (island_of[a] == island_of[b])));
        (are_islands && islands.iter().flatten().is_sorted()).then_some((inner, islands))
    };
    if kinds.len() == 2 {
        split(0).or_else(|| split(1))
    } else {
        None
    }
}

/// A criterion that is a sum over instances or over devices.
struct SumOfCriterion<'o, 'a> {
    view: &'o View<'o>,
    demand: &'o Demand,
    objective: &'o Objective<'a>,
    /// By which values are multiplied, so that the highest are the best.
    sign: f64,
}

/// The values of a device by one criterion.
#[derive(Default)]
struct ValuesOnDevice {
    /// By instance, what a rank there adds.
    of_instances: Vec<f64>,
    /// By number of ranks less one, what the device adds.
    of_counts: Vec<f64>,
}

impl<'o, 'a> SumOfCriterion<'o, 'a> {
    /// `None` if the criterion is no such sum.
    fn new(
        problem: &Problem<'o, 'a>,
        criterion: &'o Criterion<'a>,
        demand: &'o Demand,
    ) -> Option<Self> {
        let (objective, sign) = criterion.exact_sum()?;
        let is_sum =
            matches!(objective.form(), Form::Devices(_)) || objective.whole_sum().is_some();
        is_sum.then_some(Self {
            view: problem.view,
            demand,
            objective,
            sign,
        })
    }

    /// The values of each instance, and of any number of ranks up to `most`.
    fn on(&self, device: &CutDevice, most: usize) -> ValuesOnDevice {
        let Self {
            view, demand, sign, ..
        } = *self;
        let mut values = ValuesOnDevice::default();
        if let Form::Devices(f) = self.objective.form() {
            let seat = |id| Seat {
                view: *view,
                demand,
                id,
            };
            let value = |&id: &DeviceId| sign * f(&seat(id));
            values.of_instances = device.ids.iter().map(value).collect();
        } else if let Some(f) = self.objective.whole_sum() {
            let value = |ranks| sign * f(view, device.whole, ranks);
            values.of_counts = (1..=most as u32).map(value).collect();
        }
        values
    }
}

/// Some of the instances of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    sums: Sums,
    /// Ascending.
    ids: Vec<DeviceId>,
}

/// The best sums of k ranks over devices, where all placements of the same sums are equal.
struct Knapsack {
    ranks: usize,
    /// By device, its choices, those of lowest ids first.
    choices: Vec<Vec<Choice>>,
    /// By device and ranks left, the best sums of that device and those after it.
    best: Vec<Vec<Option<Sums>>>,
    nodes: u64,
}

impl Knapsack {
    /// `None` if sums are not exact, or there are too many choices for these nodes.
    fn new(
        devices: &[CutDevice],
        ranks: usize,
        sums: &[SumOfCriterion<'_, '_>],
        nodes: u64,
    ) -> Option<Self> {
        if sums.len() > MOST_SUMS {
            return None;
        }
        let most = |device: &CutDevice| device.ids.len().min(ranks);
        // By sum and device.
        let mut units: Vec<Vec<UnitsOnDevice>> = Vec::new();
        for sum in sums {
            let values = devices.iter().map(|device| sum.on(device, most(device)));
            units.push(in_units(values.collect(), ranks)?);
        }
        let mut choices = Vec::with_capacity(devices.len());
        for (at, device) in devices.iter().enumerate() {
            let own: Few<&UnitsOnDevice> = units.iter().map(|units| &units[at]).collect();
            choices.push(choices_of(device, most(device), &own)?);
        }
        let steps = choices.iter().map(|choices| choices.len() * (ranks + 1));
        let spent = steps.sum::<usize>() as u64 / 8;
        if spent > nodes {
            return None;
        }
        let mut last = vec![None; ranks + 1];
        last[0] = Some([0; MOST_SUMS]);
        let mut best = vec![last];
        for choices in choices.iter().rev() {
            let rest = &best[best.len() - 1];
            let mut own: Vec<Option<Sums>> = vec![None; ranks + 1];
            for choice in choices {
                for (left, rest) in rest.iter().take(ranks + 1 - choice.ids.len()).enumerate() {
                    let sums = rest.map(|rest| add(rest, choice.sums));
                    let best = &mut own[left + choice.ids.len()];
                    *best = sums.max(*best);
                }
            }
            best.push(own);
        }
        best.reverse();
        Some(Self {
            ranks,
            choices,
            best,
            nodes: spent,
        })
    }

    /// The devices of lowest ids that have the best sums; `None` if there are too few.
    fn earliest(&self) -> Option<Placement> {
        let mut left = self.ranks;
        let mut open = self.best[0][left]?;
        let mut placement: Vec<DeviceId> = Vec::with_capacity(self.ranks);
        for (choices, rest) in self.choices.iter().zip(&self.best[1..]) {
            let (choice, rest) = choices.iter().find_map(|choice| {
                let rest = rest[left.checked_sub(choice.ids.len())?]?;
                (add(rest, choice.sums) == open).then_some((choice, rest))
            })?;
            placement.extend(choice.ids.iter().copied());
            left -= choice.ids.len();
            open = rest;
        }
        Some(placement.into_iter().collect())
    }
}

/// [`ValuesOnDevice`] in whole units.
struct UnitsOnDevice {
    of_instances: Vec<i64>,
    of_counts: Vec<i64>,
}

/// The values of all devices by one criterion, in the greatest unit of which all are multiples. `None` if
/// they are multiples of none, or so large that criteria would take different sums for equal.
fn in_units(values: Vec<ValuesOnDevice>, ranks: usize) -> Option<Vec<UnitsOnDevice>> {
    let all = || {
        values
            .iter()
            .flat_map(|device| device.of_instances.iter().chain(&device.of_counts))
            .map(|value| value * FRACTIONS)
    };
    let is_whole = |value: f64| value.fract() == 0.0 && value.abs() < (1u64 << 62) as f64;
    if !all().all(is_whole) {
        return None;
    }
    let zeros = all().map(|value| (value as i64).trailing_zeros()).min();
    let unit = (1i64 << zeros.unwrap_or(0).min(62)) as f64;
    if all().any(|value| (value / unit).abs() * ranks as f64 >= MOST_SUM) {
        return None;
    }
    let in_units = |values: &[f64]| -> Vec<i64> {
        let values = values.iter();
        values
            .map(|value| (value * FRACTIONS / unit) as i64)
            .collect()
    };
    let of_device = |device: &ValuesOnDevice| UnitsOnDevice {
        of_instances: in_units(&device.of_instances),
        of_counts: in_units(&device.of_counts),
    };
    Some(values.iter().map(of_device).collect())
}

/// The choices of at most `most` instances of a device, those of lowest ids first: of instances with equal
/// values always the lowest, and of equal choices the first. `None` if there are too many.
fn choices_of(device: &CutDevice, most: usize, units: &[&UnitsOnDevice]) -> Option<Vec<Choice>> {
    // Instances by their values.
    let mut classes: Vec<(Sums, Vec<DeviceId>)> = Vec::new();
    for (at, &id) in device.ids.iter().enumerate() {
        let mut sums = [0; MOST_SUMS];
        for (sum, units) in sums.iter_mut().zip(units) {
            *sum = units.of_instances.get(at).copied().unwrap_or(0);
        }
        match classes.iter_mut().find(|class| class.0 == sums) {
            Some(class) => class.1.push(id),
            None => classes.push((sums, vec![id])),
        }
    }
    let mut choices = vec![Choice {
        sums: [0; MOST_SUMS],
        ids: Vec::new(),
    }];
    for (sums, ids) in &classes {
        let mut next = Vec::new();
        for choice in &choices {
            let mut more = choice.clone();
            next.push(more.clone());
            for &id in ids.iter().take(most - choice.ids.len()) {
                more.sums = add(more.sums, *sums);
                more.ids.push(id);
                next.push(more.clone());
            }
            if next.len() > MOST_CHOICES {
                return None;
            }
        }
        choices = next;
    }
    for choice in &mut choices {
        choice.ids.sort_unstable();
        let Some(at) = choice.ids.len().checked_sub(1) else {
            continue;
        };
        for (sum, units) in choice.sums.iter_mut().zip(units) {
            *sum += units.of_counts.get(at).copied().unwrap_or(0);
        }
    }
    // At the first difference the lower id decides. Further ids of a longer choice are below those of all
    // later devices, so it comes before its own beginning.
    choices.sort_by(|a, b| {
        let differ = a.ids.iter().zip(&b.ids).find(|(a, b)| a != b);
        differ.map_or_else(|| b.ids.len().cmp(&a.ids.len()), |(a, b)| a.cmp(b))
    });
    let mut seen = BTreeSet::new();
    choices.retain(|choice| seen.insert((choice.ids.len(), choice.sums)));
    Some(choices)
}

fn add(a: Sums, b: Sums) -> Sums {
    std::array::from_fn(|at| a[at] + b[at])
}
