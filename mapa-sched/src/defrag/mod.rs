//! Which jobs to move so that a wanted placement becomes possible.
//!
//! As jobs come and go, the free devices become scattered. A job that moves gives its devices back
//! and takes others. A few well-chosen moves can make the free devices as good as those of an idle
//! machine. Everything here is a pure function of the state. It proposes moves; the caller carries
//! them out.

mod conditions;
mod order;
mod plan;
mod scores;
mod search;

use std::collections::BTreeSet;

use mapa_core::{Allocator, LeaseId, Limits, MachineId, Objective, Pattern};

use conditions::PlanConditions;
pub use plan::{Defragmented, Move, Plan, Reach, Target};
use scores::MachineScores;
use search::PlanSearch;

/// Finds the smallest sets of moves that make room for a pattern, and measures how much room there
/// is.
///
/// The score of a placement is the objective's score of the best rank order on its devices. Plans
/// are judged by the score of the wanted pattern, and must keep the score of every job that moves.
/// The objective must not depend on which devices are free. Jobs on instances, jobs that share
/// devices and pinned jobs stay where they are.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use mapa_core::{Allocator, Fabric, LinkClass, Pattern, Request, effective_gbps, lowest_id};
/// use mapa_sched::{Defrag, Defragmented};
///
/// // Two pairs of double links; a job on one device of each.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// ids.iter().for_each(|&id| fabric.attach(id, root, 12.0).unwrap());
/// fabric.link(ids[0], ids[1], LinkClass::Direct(2), 50.0)?;
/// fabric.link(ids[2], ids[3], LinkClass::Direct(2), 50.0)?;
/// let mut machine = Allocator::new(Arc::new(fabric.lower()?));
/// let single = |only: u32| Request::new(Pattern::ring(1)).only([only].into());
/// machine.allocate(lowest_id(), &single(0))?;
/// machine.allocate(lowest_id(), &single(2))?;
///
/// let defrag = Defrag::new(effective_gbps());
/// let machines = [machine];
/// let reach = defrag.reach(&machines, &Pattern::ring(2));
/// let Defragmented::By(plan) = defrag.plan(&machines, &Pattern::ring(2), reach.idle.unwrap()) else { panic!() };
/// assert_eq!((plan.jobs, plan.moves.len()), (1, 1));
/// assert_eq!(plan.target.score, reach.idle.unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Defrag<'a>(PlanConditions<'a>);

impl<'a> Defrag<'a> {
    /// A search that scores placements by this objective. By default no job that moves may have a
    /// lower score afterwards, and the search looks at no more than ten million sets of devices.
    #[must_use]
    pub fn new(objective: Objective<'a>) -> Self {
        Self(PlanConditions {
            objective,
            may_lose: 0.0,
            pinned: BTreeSet::new(),
            limits: Limits::NONE.nodes(10_000_000),
        })
    }

    /// Lets a job that moves lose at most this share of its score, from 0 to 1. Default: 0.
    #[must_use]
    pub fn may_lose(self, share: f64) -> Self {
        Self(PlanConditions {
            may_lose: share,
            ..self.0
        })
    }

    /// Keeps this job where it is.
    #[must_use]
    pub fn pin(mut self, machine: MachineId, lease: LeaseId) -> Self {
        self.0.pinned.insert((machine, lease));
        self
    }

    /// Sets the limits of the search. A node is one set of devices that is looked at.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self(PlanConditions { limits, ..self.0 })
    }

    /// The best score of a pattern on these machines, now and if they were idle.
    ///
    /// # Complexity
    /// Two decisions for each machine.
    #[must_use]
    pub fn reach(&self, machines: &[Allocator], want: &Pattern) -> Reach {
        let scores = MachineScores::new(&self.0.objective, machines);
        let best = |idle: bool| {
            let of = |machine| {
                scores
                    .best_on(machine, want, idle)
                    .map(|target| target.score)
            };
            (0..machines.len()).filter_map(of).max_by(f64::total_cmp)
        };
        Reach {
            now: best(false),
            idle: best(true),
        }
    }

    /// The moves after which `want` has a placement with a score of at least `at_least` on one of
    /// the machines. Plans are compared by the number of jobs that move, then of moves, then of
    /// devices that these jobs get anew, then by the score of `want`.
    ///
    /// On one machine the plan is optimal, except that plans are not found in which jobs step aside
    /// more than twice per moved job. On several machines only jobs of the machine that gets the
    /// room move. Such a job may go to the best free devices of another machine.
    ///
    /// # Complexity
    /// The search visits up to 2^n sets of n devices, and for each of them the sets for the jobs
    /// that move. It is meant for machines of up to 16 devices; 64 are possible.
    #[must_use]
    pub fn plan(&self, machines: &[Allocator], want: &Pattern, at_least: f64) -> Defragmented {
        PlanSearch::new(&self.0, machines, want, at_least).run()
    }
}
