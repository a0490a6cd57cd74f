//! The GPUs of a fleet by what a choice among them depends on, so that nobody visits all servers for each job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mapa_core::mig::{Layout, Model, Size};
use mapa_core::{Allocator, DeviceId, MachineId, Stamp, View};

use crate::fleet::Fleet;

/// A whole device of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Gpu {
    pub(super) machine: MachineId,
    pub(super) whole: DeviceId,
}

/// What is known of a GPU.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) gpu: Gpu,
    /// Its tenants, and those of its instances.
    pub(super) tenants: u32,
    /// Those of them that are PCIe-bound.
    pub(super) pcie_bound: u32,
    /// How it can be cut up, if it can.
    pub(super) model: Option<Arc<Model>>,
    /// Its layout, by its place among [`Gpus::layouts`]; none while it is being cut up anew, and if it cannot be.
    pub(super) layout: Option<usize>,
    /// Free instances by size.
    free: Vec<(Size, u32)>,
    marked: bool,
}

impl State {
    /// How many of its instances are free.
    fn left(&self) -> u32 {
        self.free.iter().map(|(_, count)| count).sum()
    }

    /// The sizes of its free instances.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Size> + '_ {
        self.free.iter().map(|(size, _)| *size)
    }

    /// How many free instances of this size it has.
    pub(super) fn free_of(&self, size: Size) -> u32 {
        self.free.iter().find(|(own, _)| *own == size).map_or(0, |(_, count)| *count)
    }
}

/// A GPU with a free instance, as a choice sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offer {
    /// Its PCIe-bound tenants.
    pub(super) pcie_bound: u32,
    /// How many other instances of it are free.
    pub(super) left: u32,
    pub(super) gpu: Gpu,
}

/// A way of cutting a GPU up that is in use.
#[derive(Clone, Debug)]
pub(super) struct InUse {
    pub(super) model: Arc<Model>,
    pub(super) layout: Layout,
    /// How many GPUs have it.
    pub(super) gpus: usize,
}

/// GPUs with equally many PCIe-bound tenants and free instances, by these two numbers.
type Alike = BTreeMap<(u32, u32), BTreeSet<Gpu>>;

/// Kept up to date machine by machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Gpus {
    machines: Vec<(Option<Stamp>, Vec<State>)>,
    /// By the size of a free instance; marked GPUs and those that are being cut up anew are not there.
    offers: BTreeMap<Size, Alike>,
    layouts: Vec<InUse>,
}

impl Gpus {
    /// Brings itself up to date. O(machines), and O(vertices) for each that has changed.
    pub(super) fn refresh(&mut self, fleet: &Fleet) {
        for machine in &mut self.machines.split_off(fleet.machines().len().min(self.machines.len())) {
            machine.1.drain(..).for_each(|state| self.forget(&state));
        }
        self.machines.resize_with(fleet.machines().len(), Default::default);
        for (at, machine) in fleet.machines().iter().enumerate() {
            if self.machines[at].0 != Some(machine.stamp()) {
                self.put(at, machine);
            }
        }
    }

    /// Looks at one machine anew.
    pub(super) fn look(&mut self, machine: &Allocator) {
        let at = machine.id().0 as usize;
        if at < self.machines.len() {
            self.put(at, machine);
        }
    }

    fn put(&mut self, at: usize, machine: &Allocator) {
        let mut before = std::mem::take(&mut self.machines[at].1);
        before.iter().for_each(|state| self.forget(state));
        let marked: Vec<Gpu> = before.iter().filter(|state| state.marked).map(|state| state.gpu).collect();
        before.clear();
        let view = machine.view();
        for whole in view.graph().wholes().iter() {
            let gpu = Gpu { machine: machine.id(), whole };
            let state = self.state(&view, gpu, marked.contains(&gpu));
            self.note(&state);
            before.push(state);
        }
        self.machines[at] = (Some(machine.stamp()), before);
    }

    fn state(&mut self, view: &View<'_>, gpu: Gpu, marked: bool) -> State {
        let graph = view.graph();
        let usage = view.usage_of_whole(gpu.whole);
        let is_changing = view.changing_to(gpu.whole).is_some();
        let mut free: Vec<(Size, u32)> = Vec::new();
        let vertices = graph.vertices(gpu.whole) & view.free();
        for size in vertices.iter().filter(|&id| id != gpu.whole).filter_map(|id| graph.device(id).size) {
            match free.iter_mut().find(|(own, _)| *own == size) {
                Some((_, count)) => *count += 1,
                None => free.push((size, 1)),
            }
        }
        let model = graph.model(gpu.whole).cloned();
        let layout = model.as_ref().filter(|_| !is_changing);
        let layout = layout.map(|model| self.number_of(model, view.layout_of(gpu.whole)));
        let (tenants, pcie_bound) = (usage.tenants, usage.pcie_tenants);
        State { gpu, tenants, pcie_bound, model, layout, free: if is_changing { Vec::new() } else { free }, marked }
    }

    fn number_of(&mut self, model: &Arc<Model>, layout: Layout) -> usize {
        let is_it = |own: &InUse| own.layout == layout && (Arc::ptr_eq(&own.model, model) || own.model == *model);
        self.layouts.iter().position(is_it).unwrap_or_else(|| {
            self.layouts.push(InUse { model: model.clone(), layout, gpus: 0 });
            self.layouts.len() - 1
        })
    }

    /// Takes a GPU into the tables.
    fn note(&mut self, state: &State) {
        if let Some(layout) = state.layout {
            self.layouts[layout].gpus += 1;
        }
        if state.marked {
            return;
        }
        let left = state.left();
        for (size, _) in &state.free {
            let alike = self.offers.entry(*size).or_default();
            alike.entry((state.pcie_bound, left - 1)).or_default().insert(state.gpu);
        }
    }

    /// Takes it out of them.
    fn forget(&mut self, state: &State) {
        if let Some(layout) = state.layout {
            self.layouts[layout].gpus -= 1;
        }
        if state.marked {
            return;
        }
        let key = (state.pcie_bound, state.left().saturating_sub(1));
        for (size, _) in &state.free {
            let Some(alike) = self.offers.get_mut(size) else { continue };
            if let Some(gpus) = alike.get_mut(&key) {
                gpus.remove(&state.gpu);
                if gpus.is_empty() {
                    alike.remove(&key);
                }
            }
        }
    }

    /// Marks a GPU, or takes its mark away.
    pub(super) fn mark(&mut self, gpu: Gpu, marked: bool) {
        let Some(at) = self.place_of(gpu) else { return };
        let state = self.machines[at.0].1[at.1].clone();
        self.forget(&state);
        let state = State { marked, ..state };
        self.note(&state);
        self.machines[at.0].1[at.1] = state;
    }

    fn place_of(&self, gpu: Gpu) -> Option<(usize, usize)> {
        let at = gpu.machine.0 as usize;
        let there = self.machines.get(at)?.1.binary_search_by_key(&gpu.whole, |state| state.gpu.whole).ok()?;
        Some((at, there))
    }

    pub(super) fn get(&self, gpu: Gpu) -> Option<&State> {
        self.place_of(gpu).map(|(machine, at)| &self.machines[machine].1[at])
    }

    /// All of them, by machine, then by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &State> {
        self.machines.iter().flat_map(|(_, states)| states)
    }

    /// The ways of cutting up that are in use, and some that were.
    pub(super) fn layouts(&self) -> &[InUse] {
        &self.layouts
    }

    /// The sizes of which any unmarked GPU has a free instance, in the order of compute, then memory slices.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Size> + '_ {
        self.offers.iter().filter(|(_, alike)| !alike.is_empty()).map(|(size, _)| *size)
    }

    /// The offers of unmarked GPUs with a free instance of this size: of those with equal numbers the lowest.
    pub(super) fn offers(&self, size: Size) -> impl Iterator<Item = Offer> + '_ {
        let alike = self.offers.get(&size).into_iter().flatten();
        alike.filter_map(|(&(pcie_bound, left), gpus)| gpus.first().map(|&gpu| Offer { pcie_bound, left, gpu }))
    }

    /// What a GPU offers of this size, marked or not.
    pub(super) fn offer(&self, gpu: Gpu, size: Size) -> Option<Offer> {
        let state = self.get(gpu).filter(|state| state.free_of(size) > 0)?;
        Some(Offer { pcie_bound: state.pcie_bound, left: state.left() - 1, gpu })
    }
}
