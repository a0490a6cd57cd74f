//! Jobs with deadlines on MIG slices: few late jobs at little energy.
//!
//! The model is that of Hisaria, Vij and Srivastava, "Scheduling Jobs on Multi-Instance GPUs (MIG)
//! using Reinforcement Learning" (Columbia University), with the parameters of the code that its
//! authors published. GPUs are partitioned once, or repartitioned while jobs run. A job takes one slice, and no size of slice runs
//! it faster than a larger one. A GPU draws power by how many of its seven compute slices are busy.
//! Jobs wait in the order of their deadlines. They are neither interrupted nor moved.
//!
//! | part | what it is |
//! |---|---|
//! | [`SliceJob`] | a job: arrival, deadline, run time on each size |
//! | [`Machine`] | GPUs with their layouts, and the [`Power`] that one draws |
//! | [`State`] | what waits, what runs, what is free; changes by arrivals, starts and ends |
//! | [`Rule`] | which job starts where: the published heuristics, and rules of our own |
//! | [`bounds`] | what no schedule is below, in energy and tardiness |
//! | [`Schedule`] | what ran where and when, to be verified, measured and [`reduced`] |
//! | [`RuleScheduler`] | a rule as a [`Scheduler`](crate::Scheduler) of any fleet with MIG |
//! | [`learned`] | rules that are trained nets |
//!
//! Nothing here advances time: `mapa_sim::energy` does, and measures. Times are minutes, power is
//! in watts, energy in watt-minutes, as the authors' own numbers are.
//!
//! # Examples
//! A job of 6 minutes on a whole GPU that may take 20 is put on the smallest slice that is in time.
//! ```
//! use mapa_sched::energy::{Fit, Machine, Power, Rule, SliceJob, State};
//!
//! let machine = Machine::new("4,2,1", Power::A100)?;
//! let mut state = State::new(machine);
//! state.arrive(0, SliceJob::new(0.0, 20.0, [40.0, 20.0, 14.0, 10.0, 6.0])?);
//! let start = Fit::default().choose(&state).unwrap();
//! assert_eq!(state.machine().sizes()[start.slice], 2);
//! assert_eq!(state.start(start)?.finish, 20.0);
//! # Ok::<(), mapa_sched::Error>(())
//! ```

mod booking;
mod bounds;
mod curve;
mod free;
mod guard;
mod heuristics;
mod histogram;
mod job;
pub mod learned;
mod machine;
mod mirror;
mod placement;
mod plan;
mod power;
mod price_file;
mod prices;
mod reduction;
mod rule;
mod rules;
mod schedule;
mod scheduler;
mod state;

pub use bounds::{
    Slots, bare_energy_bound, bounds, chu_bound, energy_bound, linear_bound, printed_energy_bound,
    progress_bound, static_progress_bound,
};
pub use curve::NO_DEADLINE;
pub use guard::{PlanNote, TunedFor, Unsuited};
pub use heuristics::{
    EarliestFinish, Fit, LargestFirst, LeastCost, MeanFinish, RandomSlice, SmallestFirst,
};
pub use job::{SIZES, SliceJob};
pub use machine::Machine;
pub use placement::Placement;
pub use plan::{Booking, EnergyPlan};
pub use power::{Power, PowerTable};
pub use price_file::{PriceFile, Tuned, TunedMachine};
pub use prices::Prices;
pub use reduction::reduced;
pub use rule::Rule;
pub use rules::RuleName;
pub use schedule::{Costs, Piece, Recorder, Schedule};
pub use scheduler::RuleScheduler;
pub use state::{Arithmetic, Arrived, Running, Start, State, Waiting};
