//! The GPUs of a fleet, ordered by what a choice among them depends on, so that a choice does not
//! visit every server for each job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mapa_core::mig::{Layout, Model, Size};
use mapa_core::{Allocator, DeviceId, MachineId, Stamp, View};

use mapa_sched::Fleet;

/// A whole device of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FleetGpu {
    pub(super) machine: MachineId,
    pub(super) whole: DeviceId,
}

/// The state of a GPU.
#[derive(Clone, Debug)]
pub(super) struct GpuState {
    pub(super) gpu: FleetGpu,
    /// How many tenants it and its instances have.
    pub(super) tenants: u32,
    /// How many of those tenants are PCIe-bound.
    pub(super) pcie_bound: u32,
    /// How it can be partitioned, if it can.
    pub(super) model: Option<Arc<Model>>,
    /// The number of its layout, an index into [`GpuTables::layouts`]; none during a repartition, and
    /// for a device that cannot be partitioned.
    pub(super) layout: Option<usize>,
    /// How many instances of each size are free.
    free: Vec<(Size, u32)>,
    /// Whether it is kept free for a repartition.
    marked: bool,
}

impl GpuState {
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
        self.free
            .iter()
            .find(|(candidate, _)| *candidate == size)
            .map_or(0, |(_, count)| *count)
    }
}

/// A candidate: a GPU with a free instance, as a choice sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GpuOffer {
    /// How many of its tenants are PCIe-bound.
    pub(super) pcie_bound: u32,
    /// How many other instances of it are free.
    pub(super) left: u32,
    pub(super) gpu: FleetGpu,
}

/// A layout that GPUs have.
#[derive(Clone, Debug)]
pub(super) struct InUse {
    pub(super) model: Arc<Model>,
    pub(super) layout: Layout,
    /// How many GPUs have it.
    pub(super) gpus: usize,
}

/// GPUs with equally many PCIe-bound tenants and free instances, by these two numbers.
type Alike = BTreeMap<(u32, u32), BTreeSet<FleetGpu>>;

/// Tables of all GPUs of a fleet, kept up to date machine by machine.
#[derive(Clone, Debug, Default)]
pub(super) struct GpuTables {
    /// Each machine's state when it was last looked at, and the state of each of its GPUs, by id.
    machines: Vec<(Option<Stamp>, Vec<GpuState>)>,
    /// The candidates by the size of the free instance, without marked GPUs and those during a
    /// repartition.
    offers: BTreeMap<Size, Alike>,
    layouts: Vec<InUse>,
}

impl GpuTables {
    /// Brings the tables up to date.
    ///
    /// # Complexity
    /// O(m) for m machines, and O(v) for each that has changed, of v devices and instances.
    pub(super) fn refresh(&mut self, fleet: &Fleet) {
        // Machines that this fleet does not have any more.
        for machine in &mut self
            .machines
            .split_off(fleet.machines().len().min(self.machines.len()))
        {
            machine.1.drain(..).for_each(|state| self.forget(&state));
        }
        self.machines
            .resize_with(fleet.machines().len(), Default::default);
        for (at, machine) in fleet.machines().iter().enumerate() {
            // A stamp names one state of one machine: if it is the same, nothing has changed.
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

    /// Replaces all that is known of a machine, except for the marks of its GPUs.
    fn put(&mut self, at: usize, machine: &Allocator) {
        let mut before = std::mem::take(&mut self.machines[at].1);
        before.iter().for_each(|state| self.forget(state));
        let marked: Vec<FleetGpu> = before
            .iter()
            .filter(|state| state.marked)
            .map(|state| state.gpu)
            .collect();
        // The old vector is filled again: machines change at every start and end.
        before.clear();
        let view = machine.view();
        for whole in view.graph().wholes().iter() {
            let gpu = FleetGpu {
                machine: machine.id(),
                whole,
            };
            let state = self.state(&view, gpu, marked.contains(&gpu));
            self.note(&state);
            before.push(state);
        }
        self.machines[at] = (Some(machine.stamp()), before);
    }

    /// The state of a GPU, read from its machine.
    fn state(&mut self, view: &View<'_>, gpu: FleetGpu, marked: bool) -> GpuState {
        let graph = view.graph();
        let usage = view.usage_of_whole(gpu.whole);
        // A cordoned GPU can neither take a job nor be repartitioned for one.
        let is_changing = view.changing_to(gpu.whole).is_some() || view.is_cordoned(gpu.whole);
        // A few sizes at most: a list is faster than a map.
        let mut free: Vec<(Size, u32)> = Vec::new();
        let vertices = graph.vertices(gpu.whole) & view.free();
        for size in vertices
            .iter()
            .filter(|&id| id != gpu.whole)
            .filter_map(|id| graph.device(id).size)
        {
            match free.iter_mut().find(|(candidate, _)| *candidate == size) {
                Some((_, count)) => *count += 1,
                None => free.push((size, 1)),
            }
        }
        let model = graph.model(gpu.whole).cloned();
        let layout = model.as_ref().filter(|_| !is_changing);
        let layout = layout.map(|model| self.number_of(model, view.layout_of(gpu.whole)));
        let (tenants, pcie_bound) = (usage.tenants, usage.pcie_tenants);
        GpuState {
            gpu,
            tenants,
            pcie_bound,
            model,
            layout,
            free: if is_changing { Vec::new() } else { free },
            marked,
        }
    }

    /// The number of a layout; layouts with one are numbered once, whichever GPUs have them.
    fn number_of(&mut self, model: &Arc<Model>, layout: Layout) -> usize {
        let is_it = |in_use: &InUse| {
            in_use.layout == layout && (Arc::ptr_eq(&in_use.model, model) || in_use.model == *model)
        };
        self.layouts.iter().position(is_it).unwrap_or_else(|| {
            self.layouts.push(InUse {
                model: model.clone(),
                layout,
                gpus: 0,
            });
            self.layouts.len() - 1
        })
    }

    /// Enters a GPU into the tables.
    fn note(&mut self, state: &GpuState) {
        if let Some(layout) = state.layout {
            self.layouts[layout].gpus += 1;
        }
        if state.marked {
            return;
        }
        // In the table of each size that is free there. `left` counts the instances that stay free
        // besides the one that is taken.
        let left = state.left();
        for (size, _) in &state.free {
            let alike = self.offers.entry(*size).or_default();
            alike
                .entry((state.pcie_bound, left - 1))
                .or_default()
                .insert(state.gpu);
        }
    }

    /// Takes a GPU out of the tables.
    fn forget(&mut self, state: &GpuState) {
        if let Some(layout) = state.layout {
            self.layouts[layout].gpus -= 1;
        }
        if state.marked {
            return;
        }
        let key = (state.pcie_bound, state.left().saturating_sub(1));
        for (size, _) in &state.free {
            let Some(alike) = self.offers.get_mut(size) else {
                continue;
            };
            if let Some(gpus) = alike.get_mut(&key) {
                gpus.remove(&state.gpu);
                if gpus.is_empty() {
                    alike.remove(&key);
                }
            }
        }
    }

    /// Marks a GPU, or removes its mark.
    pub(super) fn mark(&mut self, gpu: FleetGpu, marked: bool) {
        let Some(at) = self.place_of(gpu) else { return };
        // Marked GPUs are not in the tables of candidates: out with the old state, in with the new.
        let state = self.machines[at.0].1[at.1].clone();
        self.forget(&state);
        let state = GpuState { marked, ..state };
        self.note(&state);
        self.machines[at.0].1[at.1] = state;
    }

    /// Where a GPU is in `machines`: the machine, and the place among its GPUs.
    fn place_of(&self, gpu: FleetGpu) -> Option<(usize, usize)> {
        let at = gpu.machine.0 as usize;
        let there = self
            .machines
            .get(at)?
            .1
            .binary_search_by_key(&gpu.whole, |state| state.gpu.whole)
            .ok()?;
        Some((at, there))
    }

    /// The state of a GPU.
    pub(super) fn get(&self, gpu: FleetGpu) -> Option<&GpuState> {
        self.place_of(gpu)
            .map(|(machine, at)| &self.machines[machine].1[at])
    }

    /// All GPUs, by machine, then by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &GpuState> {
        self.machines.iter().flat_map(|(_, states)| states)
    }

    /// The layouts that GPUs have, and some that GPUs have had.
    pub(super) fn layouts(&self) -> &[InUse] {
        &self.layouts
    }

    /// The sizes of which an unmarked GPU has a free instance, by compute slices, then by memory
    /// slices.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Size> + '_ {
        self.offers
            .iter()
            .filter(|(_, alike)| !alike.is_empty())
            .map(|(size, _)| *size)
    }

    /// The candidates among unmarked GPUs with a free instance of this size. Of GPUs with equal
    /// numbers of tenants and free instances it is the lowest.
    pub(super) fn offers(&self, size: Size) -> impl Iterator<Item = GpuOffer> + '_ {
        let alike = self.offers.get(&size).into_iter().flatten();
        alike.filter_map(|(&(pcie_bound, left), gpus)| {
            gpus.first().map(|&gpu| GpuOffer {
                pcie_bound,
                left,
                gpu,
            })
        })
    }

    /// A GPU as a candidate for an instance of this size, whether it is marked or not.
    pub(super) fn offer(&self, gpu: FleetGpu, size: Size) -> Option<GpuOffer> {
        let state = self.get(gpu).filter(|state| state.free_of(size) > 0)?;
        Some(GpuOffer {
            pcie_bound: state.pcie_bound,
            left: state.left() - 1,
            gpu,
        })
    }
}
