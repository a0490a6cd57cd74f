//! Which GPUs are to be repartitioned, and how: stage 2.
//!
//! A job may find no free instance of its size on any GPU. Then the GPU that becomes idle first is *marked*
//! for it: no job starts there that would end after the present ones, and once the GPU is idle it
//! gets a layout with an instance of that size. Which jobs still lack an instance is worked out
//! anew each time, as [`Needs`]: a planned layout provides for as many jobs as it has instances,
//! and those are counted out, first come, first served.

use std::collections::{BTreeMap, BTreeSet, btree_set};

use mapa_core::mig::{Layout, Model, Size};

use super::gpus::{FleetGpu, GpuTables};
use super::queue::PcieQueue;
use mapa_sched::Time;

/// A mark of a GPU: it is kept free until it is idle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GpuMark {
    /// When its last job is expected to end: the earliest such moment expected since it was marked.
    /// A job that ends later does not start there.
    pub(super) until: Time,
    /// The number of the job for which it is to be repartitioned. Jobs that arrived before that one
    /// may start there once they have waited past the threshold.
    pub(super) head: u64,
    /// When the mark last passed to another job.
    moved: Option<Time>,
}

/// The GPUs that are marked, and those whose repartition is under way, with their new layouts.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) marks: BTreeMap<FleetGpu, GpuMark>,
    pub(super) coming: BTreeMap<FleetGpu, Layout>,
}

/// The waiting jobs of one size for which no unmarked GPU has a free instance, by their numbers.
/// `waiting` runs ahead over those for which an instance is planned already.
struct Need<'a> {
    size: Size,
    all: &'a BTreeSet<u64>,
    waiting: btree_set::Iter<'a, u64>,
}

/// The waiting jobs that lack an instance, for every size.
pub(super) struct Needs<'a>(Vec<Need<'a>>);

impl<'a> Needs<'a> {
    /// The needs of a queue before anything is planned.
    pub(super) fn new(queue: &'a PcieQueue, gpus: &GpuTables) -> Self {
        let mut needs = Vec::new();
        for (size, all) in queue.by_size() {
            if gpus.offers(size).next().is_none() {
                let waiting = all.iter();
                needs.push(Need { size, all, waiting });
            }
        }
        Self(needs)
    }

    /// The first job that lacks an instance: its number and its size.
    fn head(&self) -> Option<(u64, Size)> {
        self.0
            .iter()
            .filter_map(|need| Some((*need.waiting.clone().next()?, need.size)))
            .min()
    }

    /// The size that a job wants, if nothing has been planned for it.
    fn size_of(&self, job: u64) -> Option<Size> {
        // Jobs are provided for in order, so those still to come begin at the next one.
        let of_job = self.0.iter().find(|need| {
            let next = need.waiting.clone().next();
            next.is_some_and(|next| *next <= job) && need.all.contains(&job)
        });
        of_job.map(|need| need.size)
    }

    /// The job for which a marked GPU is to be repartitioned, and its size: the job of the mark
    /// while nothing is planned for it, then the first job whose size the model has.
    fn wanted(&self, mark: &GpuMark, model: &Model) -> Option<(u64, Size)> {
        if let Some(size) = self.size_of(mark.head) {
            return Some((mark.head, size));
        }
        self.0
            .iter()
            .filter_map(|need| Some((*need.waiting.clone().next()?, need.size)))
            .filter(|(_, size)| has(model, *size))
            .min()
    }

    /// Counts out the jobs for which a layout has instances, first come, first served.
    ///
    /// # Complexity
    /// O(j) for j such jobs.
    fn provide(&mut self, model: &Model, layout: &Layout) {
        for need in &mut self.0 {
            need.waiting
                .by_ref()
                .take(count(model, layout, need.size))
                .for_each(drop);
        }
    }

    /// Gives up on the jobs of a size.
    fn drop(&mut self, size: Size) {
        self.0.retain(|need| need.size != size);
    }

    /// How many jobs that lack an instance a layout admits.
    fn admitted(&self, model: &Model, layout: &Layout) -> usize {
        self.0
            .iter()
            .map(|need| count(model, layout, need.size).min(need.waiting.len()))
            .sum()
    }

    /// The layout that admits a job of this size and most others. Of those that admit most, it is
    /// the one for which fewest instances are destroyed and created, then the lexicographically
    /// first. Only layouts to which no instance can be added are considered, because a GPU in use
    /// is not partitioned further. None if no layout has the size, or if `now` has it and admits as
    /// many.
    ///
    /// # Complexity
    /// O(l s) for l such layouts of the model and s sizes that jobs lack.
    fn plan(&self, size: Size, model: &Model, now: &Layout) -> Option<Layout> {
        let worth = |layout: &Layout| {
            let kept = layout
                .instances()
                .iter()
                .filter(|&&instance| now.has(instance))
                .count();
            let changes = layout.instances().len() + now.instances().len() - 2 * kept;
            (self.admitted(model, layout), std::cmp::Reverse(changes))
        };
        let able: Vec<Layout> = model
            .maximal_layouts()
            .filter(|layout| count(model, layout, size) > 0)
            .collect();
        // `max_by_key` takes the last of equals. `rev` makes that the lexicographically first.
        let best = able.into_iter().rev().max_by_key(|layout| worth(layout))?;
        // A mark keeps a GPU empty. It pays only if the new layout admits more jobs than the old.
        let admits_head = count(model, now, size) > 0;
        let gains = !admits_head || self.admitted(model, &best) > self.admitted(model, now);
        gains.then_some(best)
    }
}

/// How many instances of this size a layout has.
fn count(model: &Model, layout: &Layout, size: Size) -> usize {
    layout
        .instances()
        .iter()
        .filter(|instance| model.profile(instance.profile).size == size)
        .count()
}

/// Whether a GPU of this model can have an instance of this size.
fn has(model: &Model, size: Size) -> bool {
    model
        .maximal_layouts()
        .any(|layout| count(model, &layout, size) > 0)
}

/// A repartition to order: the GPU and its new layout.
pub(super) struct PlannedRepartition {
    pub(super) gpu: FleetGpu,
    pub(super) layout: Layout,
}

impl Marks {
    /// The marked GPUs by the jobs for which they are marked, first come first; of one job's GPUs,
    /// by the moment at which they become idle.
    fn in_order(&self) -> Vec<FleetGpu> {
        let mut gpus: Vec<FleetGpu> = self.marks.keys().copied().collect();
        gpus.sort_unstable_by_key(|gpu| (self.marks[gpu].head, self.marks[gpu].until, *gpu));
        gpus
    }

    /// Forgets the layouts that GPUs have got by now.
    pub(super) fn forget_done(&mut self, gpus: &GpuTables) {
        // During a repartition a GPU has a model, but no layout.
        self.coming.retain(|&gpu, _| {
            gpus.get(gpu)
                .is_some_and(|state| state.model.is_some() && state.layout.is_none())
        });
    }

    /// Counts out the jobs for which a repartition is under way.
    fn count_coming(&self, needs: &mut Needs<'_>, gpus: &GpuTables) {
        for (&gpu, layout) in &self.coming {
            if let Some(model) = gpus.get(gpu).and_then(|state| state.model.as_ref()) {
                needs.provide(model, layout);
            }
        }
    }

    /// Notes that a job has left a GPU. If the GPU becomes idle earlier by that, jobs that start
    /// there must end earlier, too.
    pub(super) fn ends(&mut self, gpu: FleetGpu, until: Option<Time>) {
        if let (Some(mark), Some(until)) = (self.marks.get_mut(&gpu), until) {
            mark.until = mark.until.min(until);
        }
    }

    /// Reviews the marks. A marked GPU that is idle is to be repartitioned. A mark that is of no
    /// use any more is removed. A mark whose job is provided for passes to the next job.
    ///
    /// Returns the repartitions to order, and whether any mark was removed or has passed on. In
    /// that case jobs that were kept off those GPUs must be tried again before the GPUs are
    /// repartitioned. A mark that passes on twice at one moment reports that once only, so that
    /// repeated reviews at one moment come to an end.
    pub(super) fn review(
        &mut self,
        queue: &PcieQueue,
        gpus: &mut GpuTables,
        now: Time,
    ) -> (Vec<PlannedRepartition>, bool) {
        let mut recuts = Vec::new();
        if self.marks.is_empty() && self.coming.is_empty() {
            return (recuts, false);
        }
        let mut needs = Needs::new(queue, gpus);
        self.count_coming(&mut needs, gpus);
        let (mut useless, mut moved) = (Vec::new(), false);
        for gpu in self.in_order() {
            let known = gpus
                .get(gpu)
                .and_then(|state| Some((state.tenants, &gpus.layouts()[state.layout?])));
            // What the GPU is repartitioned to is planned in order of the marks' jobs. Each plan
            // counts out the jobs that it provides for, so that the next GPU is not planned for
            // them again.
            let planned = known.and_then(|(tenants, in_use)| {
                let (head, size) = needs.wanted(&self.marks[&gpu], &in_use.model)?;
                Some((
                    tenants,
                    in_use,
                    head,
                    needs.plan(size, &in_use.model, &in_use.layout)?,
                ))
            });
            let Some((tenants, own, head, layout)) = planned else {
                useless.push(gpu);
                continue;
            };
            needs.provide(&own.model, &layout);
            let Some(mark) = self.marks.get_mut(&gpu) else {
                continue;
            };
            // The mark passes to an older or younger job, whose rivals may start there now: a
            // repartition waits until they were tried.
            let is_asked = mark.head != head && mark.moved != Some(now);
            if mark.head != head {
                (mark.head, mark.moved) = (head, Some(now));
            }
            if is_asked {
                moved = true;
            } else if tenants == 0 {
                recuts.push(PlannedRepartition { gpu, layout });
            }
        }
        for gpu in useless
            .iter()
            .copied()
            .chain(recuts.iter().map(|recut| recut.gpu))
        {
            self.marks.remove(&gpu);
            gpus.mark(gpu, false);
        }
        self.coming
            .extend(recuts.iter().map(|recut| (recut.gpu, recut.layout.clone())));
        (recuts, moved || !useless.is_empty())
    }

    /// Marks GPUs for jobs that find no instance of their size. Of the GPUs that another layout
    /// makes useful, the one that becomes idle first is marked, one after another, until every job
    /// is provided for that can be. GPUs with tenants whose end is unknown are not marked. Returns
    /// whether any GPU was marked.
    ///
    /// # Complexity
    /// O(g log g) for g GPUs once, and for each mark O(g), and a plan for each layout in use.
    pub(super) fn mark(
        &mut self,
        queue: &PcieQueue,
        gpus: &mut GpuTables,
        until: impl Fn(&GpuTables, FleetGpu) -> Option<Time>,
    ) -> bool {
        let mut needs = Needs::new(queue, gpus);
        if needs.head().is_none() {
            return false;
        }
        self.count_coming(&mut needs, gpus);
        // What marked GPUs will get is counted out, too.
        for gpu in self.in_order() {
            let Some(number) = gpus.get(gpu).and_then(|state| state.layout) else {
                continue;
            };
            let own = &gpus.layouts()[number];
            let wanted = needs.wanted(&self.marks[&gpu], &own.model);
            let plan = wanted.and_then(|(_, size)| needs.plan(size, &own.model, &own.layout));
            if let Some(plan) = plan {
                needs.provide(&own.model, &plan);
            }
        }
        let mut marked = Vec::new();
        // The GPUs by the moment at which they become idle; listed once, if at all.
        let mut by_end: Option<Vec<(Time, FleetGpu, usize)>> = None;
        while let Some((head, size)) = needs.head() {
            // A plan depends on the present layout only, and many GPUs share a few layouts.
            let plans: Vec<Option<Layout>> = gpus
                .layouts()
                .iter()
                .map(|layout| {
                    if layout.gpus > 0 {
                        needs.plan(size, &layout.model, &layout.layout)
                    } else {
                        None
                    }
                })
                .collect();
            if plans.iter().all(Option::is_none) {
                needs.drop(size);
                continue;
            }
            let candidates = by_end.get_or_insert_with(|| {
                let mut all: Vec<_> = gpus
                    .iter()
                    .filter(|state| !self.marks.contains_key(&state.gpu))
                    .filter_map(|state| Some((until(gpus, state.gpu)?, state.gpu, state.layout?)))
                    .collect();
                // The earliest last: they are taken from the end.
                all.sort_unstable_by(|a, b| b.cmp(a));
                all
            });
            let Some(at) = candidates
                .iter()
                .rposition(|(.., layout)| plans[*layout].is_some())
            else {
                needs.drop(size);
                continue;
            };
            let (until, gpu, layout) = candidates.remove(at);
            if let Some(plan) = &plans[layout] {
                needs.provide(&gpus.layouts()[layout].model, plan);
            }
            marked.push((
                gpu,
                GpuMark {
                    until,
                    head,
                    moved: None,
                },
            ));
        }
        for &(gpu, mark) in &marked {
            gpus.mark(gpu, true);
            self.marks.insert(gpu, mark);
        }
        !marked.is_empty()
    }
}
