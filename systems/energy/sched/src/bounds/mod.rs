//! What no schedule is below: energy and tardiness.
//!
//! | bound | of | holds for |
//! |---|---|---|
//! | [`energy_bound`] | energy | any layouts |
//! | [`chu_bound`] | tardiness | any layouts |
//! | [`linear_bound`] | tardiness | any layouts |
//! | [`progress_bound`] | tardiness | any layouts |
//! | [`static_progress_bound`] | tardiness | the layouts of the machine, kept |
//!
//! All hold with preemption and without; see [`Class`]. On the same [`Slots`], the last three ascend
//! from line to line. Chu's bound is mostly the weakest; nothing proves that.

mod chu;
mod energy;
mod progress;
mod slots;

pub use chu::chu_bound;
pub use energy::{bare_energy_bound, energy_bound, printed_energy_bound};
pub use progress::{linear_bound, progress_bound, static_progress_bound};
pub use slots::Slots;

use super::machine::SlicedGpus;
use crate::error::Error;
use mapa_sched::bound::{Bound, Class, Measure, Proof, Solver};
use mapa_sched::slices::SliceJob;

/// Every bound of these jobs on this machine: energy, then tardiness from the weakest on. The bound on
/// energy is left out where the power lies below its chord.
///
/// # Errors
/// As [`progress_bound`].
///
/// # Examples
/// One GPU with a slice of 4 and one of 3 gets two jobs that need the whole of it to be in time.
/// ```
/// use mapa_sched::bound::Solver;
/// use mapa_system_energy::{SlicedGpus, Power, SliceJob, Slots, bounds};
///
/// let machine = SlicedGpus::new("4,3", Power::A100)?;
/// let jobs = [SliceJob::new(0.0, 1.0, [7.0, 3.5, 2.5, 2.0, 1.0])?; 2];
/// let slots = Slots::even(&jobs, &machine, 40);
/// let all = bounds(&jobs, &machine, &slots, &Solver::default())?;
/// let names: Vec<&str> = all.iter().map(|bound| bound.name).collect();
/// assert_eq!(names, ["energy", "chu", "linear", "progress", "progress-static"]);
/// // In any layouts one job is a minute late; on slices of 4 and 3 both are later.
/// assert!(all[3].value > 0.85 && all[3].value <= 1.0);
/// assert!(all[4].value > 2.0 && all[4].value <= 2.5);
/// # Ok::<(), mapa_system_energy::Error>(())
/// ```
pub fn bounds(
    jobs: &[SliceJob],
    machine: &SlicedGpus,
    slots: &Slots,
    solver: &Solver,
) -> Result<Vec<Bound>, Error> {
    let energy = energy_bound(jobs, machine.gpu_count(), machine.power());
    let mut all: Vec<Bound> = energy
        .map(|value| Bound {
            name: "energy",
            measure: Measure::Energy,
            class: Class::AnyLayouts,
            value,
            proof: Proof::Formula,
        })
        .into_iter()
        .collect();
    all.push(chu_bound(jobs, machine.gpu_count()));
    all.push(linear_bound(jobs, machine.gpu_count(), slots, solver)?);
    all.push(progress_bound(jobs, machine.gpu_count(), slots, solver)?);
    all.push(static_progress_bound(jobs, machine, slots, solver)?);
    Ok(all)
}
