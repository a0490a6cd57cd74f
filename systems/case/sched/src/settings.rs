//! What a manager of instances may do, as settings.

use std::cmp::Reverse;
use std::time::Duration;

use mapa_core::{Device, HardwareGraph};

/// To how many instances a process may send its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessBinding {
    /// One: its first task binds the process until its death. Hardware imposes this: a CUDA process
    /// sees one MIG instance, fixed at its first driver call (NVIDIA's MIG guide).
    #[default]
    Once,
    /// Any: each task goes where Algorithm 2 puts it, as the paper states.
    Free,
}

impl ProcessBinding {
    /// Every way, with its name among settings.
    pub const ALL: [(&'static str, Self); 2] = [("once", Self::Once), ("free", Self::Free)];
}

/// How many processes on an instance may ask for more memory while they hold some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growers {
    /// One. It waits only for tasks that ask once for all, and those end. So nobody waits for ever.
    #[default]
    One,
    /// Any number, as in the paper. Two that hold and ask can wait for each other for ever.
    Any,
}

impl Growers {
    /// Every rule, with its name among settings.
    pub const ALL: [(&'static str, Self); 2] = [("one", Self::One), ("any", Self::Any)];
}

/// When bytes fit into free memory. One rule holds for tasks, isolated jobs and the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryFit {
    /// If they are fewer than the free bytes, as line 8 of Algorithm 2 prints.
    #[default]
    Below,
    /// If they are at most the free bytes.
    UpTo,
}

impl MemoryFit {
    /// Every rule, with its name among settings.
    pub const ALL: [(&'static str, Self); 2] = [("below", Self::Below), ("up-to", Self::UpTo)];

    /// Whether bytes fit into free memory. Where memory is not known only 0 bytes fit.
    #[must_use]
    pub fn fits(self, bytes: u64, free: Option<u64>) -> bool {
        match (self, free) {
            (_, None) => bytes == 0,
            (Self::Below, Some(free)) => bytes < free,
            (Self::UpTo, Some(free)) => bytes <= free,
        }
    }
}

/// How instances are divided between isolated jobs and jobs that need no isolation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassDivision {
    /// Isolated jobs first, as in Algorithm 1. What can be packed is left for the end.
    #[default]
    IsolatedFirst,
    /// Isolated jobs start only while no other job waits for a worker or for memory.
    OthersFirst,
    /// Isolated jobs get a number of instances by the work that waits in each class, as seen so far.
    Balance,
}

impl ClassDivision {
    /// Every rule, with its name among settings.
    pub const ALL: [(&'static str, Self); 3] = [
        ("isolated-first", Self::IsolatedFirst),
        ("others-first", Self::OthersFirst),
        ("balance", Self::Balance),
    ];
}

/// The order of jobs that wait. Equal jobs stay in order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaseOrder {
    /// By arrival.
    #[default]
    Arrival,
    /// The longest estimate first; jobs without one come last. The batch ends sooner, the mean job
    /// later.
    LongestFirst,
    /// The shortest estimate first; jobs without one come last. The mean job ends sooner.
    ShortestFirst,
}

impl CaseOrder {
    /// Every order, with its name among settings.
    pub const ALL: [(&'static str, Self); 3] = [
        ("arrival", Self::Arrival),
        ("longest", Self::LongestFirst),
        ("shortest", Self::ShortestFirst),
    ];

    /// Brings what waits in order, by estimates.
    pub(super) fn sort<T>(self, all: &mut [T], lasts: impl Fn(&T) -> Option<Duration>) {
        let shortest = |task: &T| (lasts(task).is_none(), lasts(task));
        match self {
            Self::Arrival => {}
            Self::ShortestFirst => all.sort_by_key(shortest),
            Self::LongestFirst => all.sort_by_key(|task| Reverse(lasts(task))),
        }
    }

    /// Whether a job that has arrived goes behind one that waits already.
    pub(super) fn is_behind(self, new: Option<Duration>, waiting: Option<Duration>) -> bool {
        match (self, new, waiting) {
            (Self::Arrival, ..) | (_, None, _) => true,
            (_, Some(_), None) => false,
            (Self::LongestFirst, Some(new), Some(waiting)) => waiting >= new,
            (Self::ShortestFirst, Some(new), Some(waiting)) => waiting <= new,
        }
    }
}

/// The memory that the context of a process takes on an instance: so much on each, and more the larger its share of
/// the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextMemory {
    /// On an instance of any size, bytes.
    pub base_bytes: u64,
    /// Besides, on a whole device, bytes; in proportion to the compute slices on a part of one.
    pub device_bytes: u64,
}

impl ContextMemory {
    /// As many bytes on every instance.
    #[must_use]
    pub const fn fixed(base_bytes: u64) -> Self {
        Self {
            base_bytes,
            device_bytes: 0,
        }
    }

    /// The bytes on an instance of so many compute slices of all that its device has.
    #[must_use]
    pub fn on(self, slices: u32, of: u32) -> u64 {
        let of = of.max(slices).max(1);
        let part = match self.device_bytes.checked_mul(u64::from(slices)) {
            // Nearly always: a division of 128 bits takes several times as long, and each look at an instance has one.
            Some(all) => all / u64::from(of),
            // A part is at most the whole.
            None => (u128::from(self.device_bytes) * u128::from(slices) / u128::from(of)) as u64,
        };
        self.base_bytes.saturating_add(part)
    }

    /// The bytes on a device or an instance of a machine.
    pub(super) fn on_device(self, graph: &HardwareGraph, device: &Device) -> u64 {
        let (slices, of) = slices(graph, device);
        self.on(slices, of)
    }
}

/// The compute slices of a device or an instance, and of its whole device; 1 where there is no partition table.
pub(super) fn slices(graph: &HardwareGraph, device: &Device) -> (u32, u32) {
    let slices = device.size.map_or(1, |size| u32::from(size.compute));
    let of = graph.model(device.parent);
    let of = of.map_or(slices, |model| u32::from(model.size().compute));
    (slices, of)
}

/// The settings of [`Case`](crate::Case).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseSettings {
    /// To how many instances a process may send its tasks. Default: one.
    pub binding: ProcessBinding,
    /// How many growing processes an instance takes. Default: one.
    pub growers: Growers,
    /// When bytes fit. Default: if they are fewer than the free bytes.
    pub fit: MemoryFit,
    /// The memory that the context of each process on an instance takes. Default: [`CONTEXT`](Self::CONTEXT) on any.
    pub context: ContextMemory,
    /// Workers for each compute slice of an instance. A device without a partition table counts as
    /// one slice. Default: [`WORKERS`](Self::WORKERS).
    pub workers: u32,
    /// How instances are divided between the classes. Default: isolated jobs first.
    pub classes: ClassDivision,
    /// Whether an instance is drained for the isolated job that has waited longest, so that no
    /// stream of small tasks can starve it. Default: no.
    pub drain: bool,
    /// The order of the isolated jobs that wait. Default: by arrival.
    pub isolated: CaseOrder,
    /// The order of the other jobs that wait, and of their blocked tasks. Default: by arrival.
    pub others: CaseOrder,
    /// Whether idle instances are replaced by others for which a job or task waits. Default: no.
    pub reprovision: bool,
}

impl CaseSettings {
    /// The memory of a context, bytes: 300 MB. Assumed; the paper does not count it.
    pub const CONTEXT: u64 = 300_000_000;

    /// The paper's workers: 4 for an instance of one slice, 8 for one of two.
    pub const WORKERS: u32 = 4;

    /// The corrected algorithms of the paper on what hardware allows.
    pub const CORRECTED: Self = Self {
        binding: ProcessBinding::Once,
        growers: Growers::One,
        fit: MemoryFit::Below,
        context: ContextMemory::fixed(Self::CONTEXT),
        workers: Self::WORKERS,
        classes: ClassDivision::IsolatedFirst,
        drain: false,
        isolated: CaseOrder::Arrival,
        others: CaseOrder::Arrival,
        reprovision: false,
    };

    /// The corrected algorithms as the paper states them: each task goes anywhere, contexts take no
    /// memory, and any number of processes may grow.
    pub const PAPER: Self = Self {
        binding: ProcessBinding::Free,
        growers: Growers::Any,
        context: ContextMemory::fixed(0),
        ..Self::CORRECTED
    };

    /// Our manager: classes in balance, drained instances, and layouts that follow the queue.
    pub const BALANCED: Self = Self {
        classes: ClassDivision::Balance,
        drain: true,
        reprovision: true,
        ..Self::CORRECTED
    };
}

impl Default for CaseSettings {
    fn default() -> Self {
        Self::CORRECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_an_instance_is_exact_for_any_bytes() {
        for device_bytes in [0, 1, 700_000_000, u64::MAX / 7, u64::MAX / 7 + 1, u64::MAX] {
            for (slices, of) in [(0, 0), (1, 7), (3, 7), (7, 7), (9, 7), (1, 1)] {
                let context = ContextMemory {
                    base_bytes: 5,
                    device_bytes,
                };
                let most = u128::from(of.max(slices).max(1));
                let part = u128::from(device_bytes) * u128::from(slices) / most;
                let expected = (part + 5).min(u128::from(u64::MAX));
                assert_eq!(u128::from(context.on(slices, of)), expected);
            }
        }
    }
}
