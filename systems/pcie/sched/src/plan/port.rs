//! GPUs whose instances share a PCIe port, as a planner sees them.

use std::sync::Arc;

use mapa_core::mig::{Layout, Model, Size};

use mapa_sched::plan::{Classes, LaneOpening, LaneTicket, Physics};

/// The most sizes of instances that are planned. Jobs of further sizes are placed as they come.
pub(super) const SIZES: usize = 16;
/// How many terms a job of one size can have: not bound, or one of seven caps.
const TERMS: usize = 8;
/// The cap that is none.
pub(super) const NO_CAP: u8 = 7;
/// Seconds within which jobs end together.
const TOGETHER: f64 = 1e-9;

/// How many instances of each size there are.
pub(super) type InstanceCounts = [u8; SIZES];

/// How the jobs on a GPU share its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortModel {
    /// Eq. 2 of Tang et al.: each of n PCIe-bound jobs gets the n-th part, whatever it wants.
    #[default]
    EqualShare,
    /// Max-min fair sharing: what light jobs leave goes to heavy ones.
    MaxMin,
}

/// What a lane knows of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PortJob {
    /// The number of its size.
    pub(super) size: u8,
    /// The bandwidth that it uses if nothing slows it down, GB/s; 0 for a job that is not
    /// PCIe-bound.
    pub(super) wants: f64,
    /// How long it runs at full speed, seconds.
    pub(super) work: f64,
    /// When it arrived, seconds.
    pub(super) since: f64,
}

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PortRun {
    pub(super) ticket: LaneTicket,
    /// The number of the size of its instance; [`SIZES`] or more for one that is not planned.
    pub(super) size: u8,
    pub(super) wants: f64,
    /// One over `wants`; infinite for a job that is not bound.
    inverse: f64,
    /// Seconds at full speed.
    pub(super) left: f64,
}

impl PortRun {
    pub(super) fn new(ticket: LaneTicket, job: &PortJob, left: f64) -> Self {
        Self {
            ticket,
            size: job.size,
            wants: job.wants,
            inverse: 1.0 / job.wants,
            left,
        }
    }
}

/// A GPU at a moment.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PortState {
    pub(super) runs: Vec<PortRun>,
    /// How many PCIe-bound tenants it has.
    pub(super) bound: u32,
    /// Tenants that the planner did not start; nobody knows when they end.
    pub(super) foreign: u32,
    pub(super) free: InstanceCounts,
    pub(super) has: InstanceCounts,
    /// The number of the model by which it can be partitioned.
    pub(super) model: Option<u16>,
    /// Seconds until a repartition is over; 0 if none is under way.
    pub(super) changing: f64,
    /// Whether it gets no new tenants.
    pub(super) is_cordoned: bool,
}

impl Clone for PortState {
    fn clone(&self) -> Self {
        let mut own = Self::default();
        own.clone_from(self);
        own
    }

    fn clone_from(&mut self, from: &Self) {
        self.runs.clone_from(&from.runs);
        self.bound = from.bound;
        self.foreign = from.foreign;
        self.free = from.free;
        self.has = from.has;
        self.model = from.model;
        self.changing = from.changing;
        self.is_cordoned = from.is_cordoned;
    }
}

/// A way to partition a GPU, by what it has.
#[derive(Clone, Debug)]
struct PortLayout {
    counts: InstanceCounts,
    layout: Layout,
}

/// A model of GPU, with the ways to partition it.
#[derive(Clone, Debug)]
struct PortLayouts {
    model: Arc<Model>,
    all: Vec<PortLayout>,
}

/// The physics of a shared port.
#[derive(Clone, Debug)]
pub(super) struct PortPhysics {
    pub(super) gbps: f64,
    pub(super) model: PortModel,
    /// The expected seconds of a repartition; `None` if GPUs keep their layouts.
    pub(super) repartition: Option<f64>,
    sizes: Vec<Size>,
    models: Vec<PortLayouts>,
}

impl PortPhysics {
    pub(super) fn new(gbps: f64, model: PortModel, repartition: Option<f64>) -> Self {
        Self {
            gbps,
            model,
            repartition,
            sizes: Vec::new(),
            models: Vec::new(),
        }
    }

    /// The sizes that are planned, in the order of their numbers.
    pub(super) fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    /// The number of a size, if it is planned. A new size gets the next number while there is one.
    pub(super) fn number_of(&mut self, size: Size) -> Option<u8> {
        if let Some(at) = self.find(size) {
            return Some(at);
        }
        (self.sizes.len() < SIZES).then(|| {
            self.sizes.push(size);
            self.sizes.len() as u8 - 1
        })
    }

    /// The number of a size that has one.
    pub(super) fn find(&self, size: Size) -> Option<u8> {
        let at = self.sizes.iter().position(|candidate| *candidate == size)?;
        Some(at as u8)
    }

    /// The number of a model.
    pub(super) fn model_of(&mut self, model: &Arc<Model>) -> u16 {
        let is_it =
            |layouts: &PortLayouts| Arc::ptr_eq(&layouts.model, model) || layouts.model == *model;
        if let Some(at) = self.models.iter().position(is_it) {
            return at as u16;
        }
        let mut all: Vec<PortLayout> = Vec::new();
        for layout in model.maximal_layouts() {
            let counts = self.count(model, &layout);
            if all.iter().all(|way| way.counts != counts) {
                all.push(PortLayout { counts, layout });
            }
        }
        self.models.push(PortLayouts {
            model: model.clone(),
            all,
        });
        self.models.len() as u16 - 1
    }

    fn count(&mut self, model: &Model, layout: &Layout) -> InstanceCounts {
        let mut counts = InstanceCounts::default();
        for instance in layout.instances() {
            if let Some(size) = self.number_of(model.profile(instance.profile).size) {
                counts[usize::from(size)] += 1;
            }
        }
        counts
    }

    /// The ways to partition the GPU of a state, if it may be partitioned.
    fn ways(&self, state: &PortState) -> &[PortLayout] {
        let model = state.model.filter(|_| self.repartition.is_some());
        let own = model.and_then(|model| self.models.get(usize::from(model)));
        own.map_or(&[], |layouts| &layouts.all)
    }

    /// The layout that an idle GPU gets for these waiting jobs, first come first; `None` if its own
    /// is as good, or if the first of them fits no layout.
    pub(super) fn best_layout<'a>(
        &'a self,
        state: &PortState,
        waiting: &mut dyn Iterator<Item = &PortJob>,
    ) -> Option<&'a Layout> {
        Some(&self.best_way(state, waiting)?.layout)
    }

    fn best_way<'a>(
        &'a self,
        state: &PortState,
        waiting: &mut dyn Iterator<Item = &PortJob>,
    ) -> Option<&'a PortLayout> {
        let ways = self.ways(state);
        let first = waiting.next()?;
        let fits = |way: &&PortLayout, size: u8, count: u8| way.counts[usize::from(size)] >= count;
        let mut left: Vec<&PortLayout> =
            ways.iter().filter(|way| fits(way, first.size, 1)).collect();
        let mut needed = InstanceCounts::default();
        needed[usize::from(first.size)] = 1;
        // Each further job narrows the choice if some layout admits it beside those before it.
        for job in waiting.take(2 * SIZES) {
            let count = needed[usize::from(job.size)] + 1;
            if left.iter().any(|way| fits(way, job.size, count)) {
                left.retain(|way| fits(way, job.size, count));
                needed[usize::from(job.size)] = count;
            }
        }
        left.first().copied()
    }

    /// The rate that a job needs not to be slowed down, GB/s. One that wants more is slowed down by
    /// the quotient.
    pub(super) fn level(&self, state: &PortState) -> f64 {
        match self.model {
            PortModel::EqualShare => self.gbps / f64::from(state.bound.max(1)),
            PortModel::MaxMin => self.fair_level(state),
        }
    }

    /// The rate that no job on a port exceeds, GB/s, under max-min fairness: who wants less gets
    /// what it wants. Foreign tenants want as much as the mean of the others.
    fn fair_level(&self, state: &PortState) -> f64 {
        let wants = || state.runs.iter().map(|run| run.wants);
        let known = wants().filter(|want| *want > 0.0).count() as f64;
        let unknown = f64::from(state.bound) - known;
        let mean = if known > 0.0 {
            wants().sum::<f64>() / known
        } else {
            self.gbps
        };
        let (mut level, mut rest, mut count) = (0.0, self.gbps, f64::from(state.bound));
        // Each round raises the level to what the least of those above it wants, or ends.
        while count > 0.0 {
            let above = |value: &f64| *value > level;
            let mut least = wants().filter(above).fold(f64::INFINITY, f64::min);
            if unknown > 0.0 && mean > level {
                least = least.min(mean);
            }
            if least == f64::INFINITY {
                return f64::INFINITY;
            }
            let step = least - level;
            if step * count >= rest {
                return level + rest / count;
            }
            rest -= step * count;
            level = least;
            count -= wants().filter(|want| *want == least).count() as f64;
            if mean == least {
                count -= unknown;
            }
        }
        f64::INFINITY
    }
}

/// The slowdown of a job that wants this much where that much can be had, GB/s.
pub(super) fn slowdown(wants: f64, level: f64) -> f64 {
    (wants / level).max(1.0)
}

impl Physics for PortPhysics {
    type Job = PortJob;
    type State = PortState;

    fn holds(&self, state: &PortState, job: &PortJob) -> bool {
        let size = usize::from(job.size);
        let has = |counts: &InstanceCounts| counts.get(size).is_some_and(|&count| count > 0);
        !state.is_cordoned
            && (has(&state.has)
                || state.foreign == 0 && self.ways(state).iter().any(|way| has(&way.counts)))
    }

    fn class(&self, job: &PortJob, gene: u8) -> u8 {
        let term = if job.wants > 0.0 {
            gene.clamp(1, NO_CAP)
        } else {
            0
        };
        job.size * TERMS as u8 + term
    }

    fn open(&self, state: &PortState) -> LaneOpening {
        if state.is_cordoned || state.changing > 0.0 {
            return LaneOpening::default();
        }
        // Bit m: a cap of m admits one more bound job. Bit 0 is for jobs that are not bound.
        let below = state.bound.min(u32::from(NO_CAP) - 1);
        let terms: Classes = (0xff << (below + 1) & 0xff) | 1 | 1 << NO_CAP;
        let mut open = LaneOpening::default();
        let can_change = state.foreign == 0 && !self.ways(state).is_empty();
        for size in 0..self.sizes.len() {
            if state.free[size] > 0 {
                open.starts |= terms << (size * TERMS);
            } else if state.has[size] == 0 && can_change {
                // Nobody behind such a job starts, so the GPU becomes idle and can be repartitioned.
                open.bars |= 0xff << (size * TERMS);
            }
        }
        open
    }

    fn start(&self, state: &mut PortState, job: &PortJob, _: u8, ticket: LaneTicket) {
        if let Some(free) = state.free.get_mut(usize::from(job.size)) {
            *free = free.saturating_sub(1);
        }
        state.bound += u32::from(job.wants > 0.0);
        state.runs.push(PortRun::new(ticket, job, job.work));
    }

    fn next(&self, state: &mut PortState, ended: &mut Vec<LaneTicket>) -> Option<f64> {
        if state.changing > 0.0 && state.runs.is_empty() {
            return Some(std::mem::take(&mut state.changing));
        }
        let level = self.level(state);
        // Products with inverses: this is the innermost loop of a search.
        let inverse = 1.0 / level;
        let mut first = f64::INFINITY;
        for run in &state.runs {
            first = first.min(run.left * (run.wants * inverse).max(1.0));
        }
        if first == f64::INFINITY {
            return None;
        }
        for run in &mut state.runs {
            run.left -= first * (level * run.inverse).min(1.0);
        }
        let (free, bound) = (&mut state.free, &mut state.bound);
        state.runs.retain(|run| {
            if run.left > TOGETHER {
                return true;
            }
            ended.push(run.ticket);
            if let Some(free) = free.get_mut(usize::from(run.size)) {
                *free += 1;
            }
            *bound -= u32::from(run.wants > 0.0);
            false
        });
        Some(first)
    }

    fn remake(&self, state: &mut PortState, waiting: &mut dyn Iterator<Item = &PortJob>) -> bool {
        if !state.runs.is_empty() || state.foreign > 0 || state.changing > 0.0 || state.is_cordoned
        {
            return false;
        }
        let Some(seconds) = self.repartition else {
            return false;
        };
        let Some(counts) = self.best_way(state, waiting).map(|way| way.counts) else {
            return false;
        };
        if counts == state.has {
            return false;
        }
        state.has = counts;
        state.free = counts;
        state.changing = seconds.max(TOGETHER);
        true
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::sharing::{Flow, max_min};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use mapa_sched::JobId;
    use mapa_sched::plan::{PlanEntry, Planner, WeightedFlow};

    fn port(model: PortModel) -> PortPhysics {
        let mut port = PortPhysics::new(30.08, model, None);
        port.number_of(Size::new(1, 1));
        port
    }

    fn idle(instances: u8) -> PortState {
        let mut state = PortState::default();
        state.has[0] = instances;
        state.free[0] = instances;
        state
    }

    fn job(wants: f64, work: f64) -> PortJob {
        PortJob {
            size: 0,
            wants,
            work,
            since: 0.0,
        }
    }

    /// The same simulation, slow and obvious: every moment the whole list is scanned.
    fn slow(port: &PortPhysics, instances: usize, list: &[(PortJob, u8, f64)]) -> f64 {
        let mut waiting: Vec<_> = list.to_vec();
        let mut runs: Vec<(PortJob, f64, f64)> = Vec::new();
        let (mut now, mut cost) = (0.0, 0.0);
        while !waiting.is_empty() || !runs.is_empty() {
            let mut at = 0;
            while at < waiting.len() {
                let bound = runs.iter().filter(|run| run.0.wants > 0.0).count();
                let (own, cap, weight) = waiting[at];
                let admits = own.wants == 0.0 || cap >= NO_CAP || bound < usize::from(cap);
                if runs.len() < instances && admits {
                    runs.push((own, own.work, weight));
                    waiting.remove(at);
                    at = 0;
                } else {
                    at += 1;
                }
            }
            let bound: Vec<Flow> = runs
                .iter()
                .filter(|run| run.0.wants > 0.0)
                .map(|run| Flow::new([0], run.0.wants))
                .collect();
            let rates = max_min(&[port.gbps], &bound).unwrap();
            let slowdown = |port_job: &PortJob| match port.model {
                _ if port_job.wants == 0.0 => 1.0,
                PortModel::EqualShare => (port_job.wants * bound.len() as f64 / port.gbps).max(1.0),
                PortModel::MaxMin => {
                    let at = bound
                        .iter()
                        .position(|flow| flow.cap == port_job.wants)
                        .unwrap();
                    (port_job.wants / rates[at]).max(1.0)
                }
            };
            let step = runs
                .iter()
                .map(|run| run.1 * slowdown(&run.0))
                .fold(f64::INFINITY, f64::min);
            now += step;
            let speeds: Vec<f64> = runs.iter().map(|run| slowdown(&run.0)).collect();
            for (row, slowdown) in runs.iter_mut().zip(speeds) {
                row.1 -= step / slowdown;
            }
            runs.retain(|run| {
                let ends = run.1 <= 1e-9;
                cost += if ends { now * run.2 } else { 0.0 };
                !ends
            });
        }
        cost
    }

    proptest! {
        #[test]
        fn a_decode_costs_what_a_slow_simulation_says(
            rows in vec((prop_oneof![Just(0.0), Just(7.1), Just(18.9), 1.0..60.0], 1.0..90.0, 1u8..=7, 1.0..4.0), 0..90),
            instances in 1u8..=14, max_min in any::<bool>(),
        ) {
            let port = port(if max_min { PortModel::MaxMin } else { PortModel::EqualShare });
            let list: Vec<_> = rows.iter().map(|&(wants, work, cap, weight)| (job(wants, work), cap, weight)).collect();
            let mut plan = Planner::new(port.clone(), WeightedFlow, 0);
            plan.add_lane(idle(instances));
            for (id, &(job, gene, weight)) in (0..).zip(&list) {
                plan.put(0, usize::MAX, PlanEntry { id: JobId(id), job, gene, weight });
            }
            let slow = slow(&port, usize::from(instances), &list);
            let fast: f64 = plan
                .expected(0)
                .iter()
                .zip(&list)
                .map(|(span, job)| span.unwrap().ends * job.2)
                .sum();
            prop_assert!((slow - fast).abs() <= 1e-6 * slow.max(1.0), "{slow} {fast}");
            prop_assert!((plan.total(0) - slow).abs() <= 1e-6 * slow.max(1.0));
        }

        #[test]
        fn the_fair_level_is_that_of_max_min(wants in vec(prop_oneof![Just(7.1), Just(18.9), 0.5..60.0], 1..15)) {
            let port = port(PortModel::MaxMin);
            let mut state = idle(20);
            for (ticket, &value) in (0..).zip(&wants) {
                port.start(&mut state, &job(value, 1.0), 0, ticket);
            }
            let flows: Vec<Flow> = wants.iter().map(|&want| Flow::new([0], want)).collect();
            let rates = max_min(&[port.gbps], &flows).unwrap();
            let level = port.level(&state);
            for (wants, rate) in wants.iter().zip(rates) {
                prop_assert!((wants.min(level) - rate).abs() < 1e-6, "{wants} {level} {rate}");
            }
        }

        /// A search never makes a plan worse, and loses no job.
        #[test]
        fn moves_keep_every_job_and_never_cost_more(
            rows in vec((prop_oneof![Just(0.0), Just(7.1), Just(18.9)], 1.0..90.0), 1..30), seed in 0u64..9,
        ) {
            let mut plan = Planner::new(port(PortModel::EqualShare), WeightedFlow, seed);
            (0..3).for_each(|_| plan.add_lane(idle(4)));
            for (id, &(wants, work)) in (0..).zip(&rows) {
                let entry = PlanEntry { id: JobId(id), job: job(wants, work), gene: 1, weight: 1.0 };
                plan.put(id as usize % 3, 0, entry);
            }
            let total = |plan: &mut Planner<PortPhysics, WeightedFlow>| (0..3).map(|lane| plan.total(lane)).sum::<f64>();
            let before = total(&mut plan);
            plan.search((200, &super::super::KINDS), |_, _| {}, |draws, _| draws.below(3), |draws, _, _| 1 + draws.below(7) as u8);
            let after = total(&mut plan);
            prop_assert!(after <= before * (1.0 + 1e-12), "{before} {after}");
            let mut ids: Vec<u64> = (0..3).flat_map(|lane| plan.list(lane).iter().map(|entry| entry.id.0)).collect();
            ids.sort_unstable();
            prop_assert_eq!(ids, (0..rows.len() as u64).collect::<Vec<_>>());
            for id in 0..rows.len() as u64 {
                let lane = plan.lane_of(JobId(id)).unwrap();
                prop_assert!(plan.list(lane).iter().any(|entry| entry.id == JobId(id)));
            }
        }
    }
}
