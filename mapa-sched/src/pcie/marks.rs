//! Which GPUs are to be cut up anew, and how: stage 2.

use std::collections::{BTreeMap, BTreeSet, btree_set};

use mapa_core::mig::{Layout, Model, ProfileId, Size};

use super::gpus::{Gpu, Gpus, InUse};
use super::queue::Queue;
use crate::time::Time;

/// A GPU that is kept free until it is idle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    /// When its last job was expected to end as it was marked, or since then, if that is earlier: a job that ends later does not start
    /// there.
    pub(super) until: Time,
    /// The job for which it is to be cut up, by its number: those told of before it may start there once they starve.
    pub(super) head: u64,
    /// When it last went over to another job.
    moved: Option<Time>,
}

/// The GPUs that are marked, and the layouts that others are being given.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) marks: BTreeMap<Gpu, Mark>,
    pub(super) coming: BTreeMap<Gpu, Layout>,
}

/// Waiting jobs of a size for which no unmarked GPU has a free instance, as far as nothing has been planned for them: by their numbers.
struct Need<'a> {
    size: Size,
    all: &'a BTreeSet<u64>,
    waiting: btree_set::Iter<'a, u64>,
}

/// All of them.
pub(super) struct Needs<'a>(Vec<Need<'a>>);

impl<'a> Needs<'a> {
    pub(super) fn new(queue: &'a Queue, gpus: &Gpus) -> Self {
        let lacks = |size| gpus.offers(size).next().is_none();
        let lacking = queue.by_size().filter(|(size, _)| lacks(*size));
        Self(lacking.map(|(size, all)| Need { size, all, waiting: all.iter() }).collect())
    }

    /// The first of them: its number and its size.
    fn head(&self) -> Option<(u64, Size)> {
        self.0.iter().filter_map(|need| Some((*need.waiting.clone().next()?, need.size))).min()
    }

    /// The size that a job wants, if nothing has been planned for it.
    fn size_of(&self, job: u64) -> Option<Size> {
        let waits = |need: &&Need<'_>| need.all.contains(&job) && need.waiting.clone().next() <= Some(&job);
        self.0.iter().find(|need| need.waiting.len() > 0 && waits(need)).map(|need| need.size)
    }

    /// For which job a marked GPU is to be cut up, and its size: its own as long as that is not provided for, then the first of those of
    /// which the model has the size.
    fn wanted(&self, mark: &Mark, model: &Model) -> Option<(u64, Size)> {
        let first = |need: &Need<'_>| need.waiting.clone().next().copied();
        let has = |size: Size| model.maximal_layouts().any(|layout| count(model, &layout, size) > 0);
        self.size_of(mark.head).map(|size| (mark.head, size)).or_else(|| {
            let all = self.0.iter().filter_map(|need| Some((first(need)?, need.size)));
            all.filter(|(_, size)| has(*size)).min()
        })
    }

    /// Counts those out that a layout provides for, first come first. O(those).
    fn provide(&mut self, model: &Model, layout: &Layout) {
        for need in &mut self.0 {
            need.waiting.by_ref().take(count(model, layout, need.size)).for_each(drop);
        }
    }

    /// Gives up on a size.
    fn drop(&mut self, size: Size) {
        self.0.retain(|need| need.size != size);
    }

    /// How many of the jobs a layout admits.
    fn admitted(&self, model: &Model, layout: &Layout) -> usize {
        self.0.iter().map(|need| count(model, layout, need.size).min(need.waiting.len())).sum()
    }

    /// The layout that admits a job of this size and most others; of those with most, the one of fewest instances destroyed and created,
    /// then the lexicographically first. Only layouts to which nothing can be added are looked at: a GPU in use is not cut up
    /// further. None, if no layout has the size, or `now` has it and admits as many. O(layouts x sizes).
    fn plan(&self, size: Size, model: &Model, now: &Layout) -> Option<Layout> {
        let worth = |layout: &Layout| {
            let kept = layout.instances().iter().filter(|&&own| now.has(own)).count();
            let changes = layout.instances().len() + now.instances().len() - 2 * kept;
            (self.admitted(model, layout), std::cmp::Reverse(changes))
        };
        let able: Vec<Layout> = model.maximal_layouts().filter(|layout| count(model, layout, size) > 0).collect();
        // `rev`, because `max_by_key` takes the last of equals.
        let best = able.into_iter().rev().max_by_key(|layout| worth(layout))?;
        let admits_head = count(model, now, size) > 0;
        let gains = !admits_head || self.admitted(model, &best) > self.admitted(model, now);
        gains.then_some(best)
    }
}

/// How many instances of this size a layout has.
fn count(model: &Model, layout: &Layout, size: Size) -> usize {
    let is_it = |profile: ProfileId| model.profile(profile).size == size;
    layout.instances().iter().filter(|instance| is_it(instance.profile)).count()
}

/// A GPU to be cut up so.
pub(super) struct Recut {
    pub(super) gpu: Gpu,
    pub(super) layout: Layout,
}

impl Marks {
    /// The marked GPUs, in the order of the jobs for which they were marked; of one job's, the one that will be idle first.
    fn in_order(&self) -> Vec<Gpu> {
        let mut gpus: Vec<Gpu> = self.marks.keys().copied().collect();
        gpus.sort_unstable_by_key(|gpu| (self.marks[gpu].head, self.marks[gpu].until, *gpu));
        gpus
    }

    /// Forgets layouts that are there.
    pub(super) fn forget_done(&mut self, gpus: &Gpus) {
        self.coming
            .retain(|&gpu, _| gpus.get(gpu).is_some_and(|state| state.model.is_some() && state.layout.is_none()));
    }

    /// Counts those out that are under way.
    fn count_coming(&self, needs: &mut Needs<'_>, gpus: &Gpus) {
        for (&gpu, layout) in &self.coming {
            if let Some(model) = gpus.get(gpu).and_then(|state| state.model.as_ref()) {
                needs.provide(model, layout);
            }
        }
    }

    /// A job has gone from a GPU: if that is idle earlier for it, who starts there must end earlier.
    pub(super) fn ends(&mut self, gpu: Gpu, until: Option<Time>) {
        if let (Some(mark), Some(until)) = (self.marks.get_mut(&gpu), until) {
            mark.until = mark.until.min(until);
        }
    }

    /// Looks at the marked GPUs: those that are idle are to be cut up anew; marks that are of no use any more are taken away, others go over
    /// to the next job once their own is provided for. The first of these, and whether there was any of the others: who was kept off
    /// those GPUs is to be asked again, before they are cut up. A mark that goes over twice at one moment asks for that once only, so
    /// that reviews at one moment come to an end.
    pub(super) fn review(&mut self, queue: &Queue, gpus: &mut Gpus, now: Time) -> (Vec<Recut>, bool) {
        let mut recuts = Vec::new();
        if self.marks.is_empty() && self.coming.is_empty() {
            return (recuts, false);
        }
        let mut needs = Needs::new(queue, gpus);
        self.count_coming(&mut needs, gpus);
        let (mut useless, mut moved) = (Vec::new(), false);
        for gpu in self.in_order() {
            let known = gpus.get(gpu).and_then(|state| Some((state.tenants, &gpus.layouts()[state.layout?])));
            let planned = known.and_then(|(tenants, own)| {
                let (head, size) = needs.wanted(&self.marks[&gpu], &own.model)?;
                Some((tenants, own, head, needs.plan(size, &own.model, &own.layout)?))
            });
            let Some((tenants, own, head, layout)) = planned else {
                useless.push(gpu);
                continue;
            };
            needs.provide(&own.model, &layout);
            let Some(mark) = self.marks.get_mut(&gpu) else { continue };
            let is_asked = mark.head != head && mark.moved != Some(now);
            if mark.head != head {
                (mark.head, mark.moved) = (head, Some(now));
            }
            if is_asked {
                moved = true;
            } else if tenants == 0 {
                recuts.push(Recut { gpu, layout });
            }
        }
        for gpu in useless.iter().copied().chain(recuts.iter().map(|recut| recut.gpu)) {
            self.marks.remove(&gpu);
            gpus.mark(gpu, false);
        }
        self.coming.extend(recuts.iter().map(|recut| (recut.gpu, recut.layout.clone())));
        (recuts, moved || !useless.is_empty())
    }

    /// Marks GPUs for jobs that find no instance of their size: of those that another layout would make of use the one that is idle
    /// first, one after another until all jobs are provided for that can be. Those with tenants that nobody knows of have no end, and are not
    /// marked. Whether any was marked.
    pub(super) fn mark(&mut self, queue: &Queue, gpus: &mut Gpus, until: impl Fn(&Gpus, Gpu) -> Option<Time>) -> bool {
        let mut needs = Needs::new(queue, gpus);
        if needs.head().is_none() {
            return false;
        }
        self.count_coming(&mut needs, gpus);
        for gpu in self.in_order() {
            let in_use = gpus.get(gpu).and_then(|state| state.layout).map(|number| &gpus.layouts()[number]);
            let size = |own: &InUse| needs.wanted(&self.marks[&gpu], &own.model).map(|(_, size)| size);
            let plan = in_use.and_then(|own| Some((own, needs.plan(size(own)?, &own.model, &own.layout)?)));
            if let Some((in_use, plan)) = plan {
                needs.provide(&in_use.model, &plan);
            }
        }
        let mut marked = Vec::new();
        let mut first: Option<Vec<(Time, Gpu, usize)>> = None;
        while let Some((head, size)) = needs.head() {
            let plans: Vec<Option<Layout>> = gpus
                .layouts()
                .iter()
                .map(|own| if own.gpus > 0 { needs.plan(size, &own.model, &own.layout) } else { None })
                .collect();
            if plans.iter().all(Option::is_none) {
                needs.drop(size);
                continue;
            }
            let candidates = first.get_or_insert_with(|| {
                let free = gpus.iter().filter(|state| !self.marks.contains_key(&state.gpu));
                let ends = |gpu, layout| Some((until(gpus, gpu)?, gpu, layout));
                let mut all: Vec<_> = free.filter_map(|state| ends(state.gpu, state.layout?)).collect();
                // Taken from the end.
                all.sort_unstable_by(|a, b| b.cmp(a));
                all
            });
            let Some(at) = candidates.iter().rposition(|(.., layout)| plans[*layout].is_some()) else {
                needs.drop(size);
                continue;
            };
            let (until, gpu, layout) = candidates.remove(at);
            if let Some(plan) = &plans[layout] {
                needs.provide(&gpus.layouts()[layout].model, plan);
            }
            marked.push((gpu, Mark { until, head, moved: None }));
        }
        for &(gpu, mark) in &marked {
            gpus.mark(gpu, true);
            self.marks.insert(gpu, mark);
        }
        !marked.is_empty()
    }
}
