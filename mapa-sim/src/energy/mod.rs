//! Days of jobs with deadlines on MIG slices, and what a [rule](mapa_sched::energy::Rule) makes of
//! them: late jobs, tardiness and energy.
//!
//! # Examples
//! The smallest slice that is in time against the largest one, on the same day.
//! ```
//! use mapa_sched::energy::{Fit, LargestFirst, Machine, Power, State};
//! use mapa_sim::energy::{Draw, run};
//!
//! let jobs = Draw::default().jobs(7)?;
//! let machine = Machine::new(Machine::PUBLISHED, Power::A100)?;
//! let largest = run(&jobs, State::new(machine.clone()), &mut LargestFirst)?;
//! let fit = run(&jobs, State::new(machine), &mut Fit::default())?;
//! assert!(fit.late_share() < largest.late_share());
//! assert!(fit.watt_minutes < largest.watt_minutes);
//! # Ok::<(), mapa_sim::Error>(())
//! ```

mod draw;
mod parameters;
mod preemptive;
mod published;
mod run;
mod tune;
mod wrong;

pub use draw::{Draw, LOADS};
pub use parameters::{Parameter, Status, parameters};
pub use preemptive::run_preemptive;
pub use published::{PUBLISHED_SEEDS, published_day, published_draws};
pub use run::{Totals, run, run_as};
pub use tune::{Candidate, Judged, Objective, TuneDay, TuneSettings, Tuning, Yardstick, seen_on};
pub use wrong::wrong_run_times;
