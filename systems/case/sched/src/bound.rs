//! What no schedule of isolated jobs and shared tasks is below, in makespan.

use std::time::Duration;

use mapa_core::mig::Model;

use crate::settings::MemoryFit;

/// A task of a process: its memory in bytes, and its time at full speed.
pub type CaseTask = (u64, Duration);

/// A batch of jobs, all of which arrive at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseBatch {
    /// Isolated jobs: the footprint in bytes, and the run time.
    pub isolated: Vec<CaseTask>,
    /// Processes: their time on the host in all, and their tasks one after another.
    pub others: Vec<(Duration, Vec<CaseTask>)>,
}

impl CaseBatch {
    /// A makespan that no schedule of the batch is below, on instances of these capacities (bytes)
    /// whose layout stays. `None` if a footprint or a task fits no instance. It is the largest of
    /// three bounds, rounded down to a nanosecond:
    ///
    /// - memory-time: an isolated job takes at least the least capacity that holds it, a task its
    ///   own bytes; together no more than all capacities are filled at once;
    /// - the longest job, whose host phases and tasks come one after another;
    /// - the largest instances: isolated jobs that only they hold, and tasks that only they hold of
    ///   at least half their capacity, run one at a time on each.
    ///
    /// It holds for any order, any choice of instances and any slowdown; not if instances are
    /// re-provisioned. With [`MemoryFit::UpTo`] tasks count for the last bound if they take more than
    /// half.
    ///
    /// # Complexity
    /// O(j k) for j jobs and tasks and k instances.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use mapa_system_case::{CaseBatch, MemoryFit};
    ///
    /// let s = Duration::from_secs;
    /// let batch = CaseBatch { isolated: vec![(2, s(10)); 4], others: vec![(s(3), vec![(1, s(4))])] };
    /// // Two instances of 5 bytes: four jobs of 10 s take 5 bytes each, the task one byte for 4 s.
    /// assert_eq!(batch.makespan_bound(&[5, 5], MemoryFit::Below), Some(Duration::from_millis(20_400)));
    /// assert_eq!(batch.makespan_bound(&[2], MemoryFit::Below), None);
    /// ```
    #[must_use]
    pub fn makespan_bound(&self, capacities: &[u64], fit: MemoryFit) -> Option<Duration> {
        let least = |bytes: u64| {
            let fits = capacities.iter().copied();
            fits.filter(|&number| fit.fits(bytes, Some(number))).min()
        };
        let largest = capacities.iter().copied().max()?;
        let mut filled = 0u128;
        let mut longest = Duration::ZERO;
        let mut alone = 0u128;
        for &(bytes, takes) in &self.isolated {
            let class = least(bytes)?;
            filled = filled.saturating_add(u128::from(class).saturating_mul(takes.as_nanos()));
            longest = longest.max(takes);
            if class == largest {
                alone = alone.saturating_add(takes.as_nanos());
            }
        }
        for (host, tasks) in &self.others {
            let mut length = *host;
            for &(bytes, takes) in tasks {
                let class = least(bytes)?;
                filled = filled.saturating_add(u128::from(bytes).saturating_mul(takes.as_nanos()));
                length = length.saturating_add(takes);
                // Two of these do not fit beside each other.
                let is_alone = !fit.fits(bytes.saturating_mul(2), Some(largest));
                if class == largest && is_alone {
                    alone = alone.saturating_add(takes.as_nanos());
                }
            }
            longest = longest.max(length);
        }
        let all: u128 = capacities
            .iter()
            .map(|&capacity| u128::from(capacity))
            .sum();
        let count = capacities
            .iter()
            .filter(|&&capacity| capacity == largest)
            .count();
        let by_memory = filled.checked_div(all).unwrap_or(0);
        let by_largest = alone.checked_div(count as u128).unwrap_or(0);
        Some(nanoseconds(
            by_memory.max(by_largest).max(longest.as_nanos()),
        ))
    }

    /// A makespan that no schedule of the batch is below on instances of these GPUs, whatever their
    /// layouts are and however often they change. (A GPU that is not partitioned has a little more
    /// memory than its largest instance.) `None` if a footprint or a task fits no instance of any. It is
    /// the largest of three bounds, rounded down to a nanosecond:
    ///
    /// - memory-time, as for fixed instances: the memory of a GPU is the most that a memory slice
    ///   gives an instance, times its memory slices;
    /// - the longest job;
    /// - for each amount of memory of an instance: isolated jobs that need at least that much run one
    ///   at a time on each such instance, and a GPU has no more of these than its memory and its compute
    ///   slices hold.
    ///
    /// # Complexity
    /// O(j p g) for j jobs and tasks, p profiles and g GPUs.
    #[must_use]
    pub fn makespan_bound_of_any_layout(
        &self,
        gpus: &[&Model],
        fit: MemoryFit,
    ) -> Option<Duration> {
        let profiles = || gpus.iter().flat_map(|model| model.profiles());
        let least = |bytes: u64| {
            let memories = profiles().map(|profile| profile.memory_bytes);
            memories
                .filter(|&memory| fit.fits(bytes, Some(memory)))
                .min()
        };
        let memory_of = |model: &Model| -> u128 {
            let each = model.profiles().iter().map(|profile| {
                let slices = u64::from(profile.size.memory.max(1));
                profile.memory_bytes.div_ceil(slices)
            });
            u128::from(each.max().unwrap_or(0)) * u128::from(model.size().memory)
        };
        let mut filled = 0u128;
        let mut longest = Duration::ZERO;
        let mut alone: Vec<(u64, Duration)> = Vec::new();
        for &(bytes, takes) in &self.isolated {
            let class = least(bytes)?;
            filled = filled.saturating_add(u128::from(class).saturating_mul(takes.as_nanos()));
            longest = longest.max(takes);
            alone.push((class, takes));
        }
        for (host, tasks) in &self.others {
            let mut length = *host;
            for &(bytes, takes) in tasks {
                least(bytes)?;
                filled = filled.saturating_add(u128::from(bytes).saturating_mul(takes.as_nanos()));
                length = length.saturating_add(takes);
            }
            longest = longest.max(length);
        }
        let all: u128 = gpus.iter().map(|model| memory_of(model)).sum();
        let mut most = filled.checked_div(all).unwrap_or(0).max(longest.as_nanos());
        for class in profiles().map(|profile| profile.memory_bytes) {
            let needs = alone.iter().filter(|pair| pair.0 >= class);
            let takes: u128 = needs.map(|need| need.1.as_nanos()).sum();
            let count = |model: &&Model| {
                let such = model
                    .profiles()
                    .iter()
                    .filter(|profile| profile.memory_bytes >= class);
                let compute = such.map(|profile| profile.size.compute.max(1)).min()?;
                let by_compute = u128::from(model.size().compute / compute);
                Some(
                    memory_of(model)
                        .checked_div(u128::from(class))?
                        .min(by_compute),
                )
            };
            let places: u128 = gpus.iter().filter_map(count).sum();
            most = most.max(takes.checked_div(places).unwrap_or(0));
        }
        Some(nanoseconds(most))
    }
}

/// So many nanoseconds; the longest duration if they are more.
fn nanoseconds(all: u128) -> Duration {
    let seconds = u64::try_from(all / 1_000_000_000).unwrap_or(u64::MAX);
    Duration::new(seconds, (all % 1_000_000_000) as u32)
}
