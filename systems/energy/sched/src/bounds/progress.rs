//! Bounds on tardiness by linear programs over slots of time.
//!
//! All three are one program over how much of each job is done in which slot, and by which *way*: on a
//! size of slice, in a pool of slices. They differ in ways and pools.
//!
//! With `y` the share of job j that is done by way i in slot t, of length `L_t`:
//!
//! ```text
//! least  sum_j T_j     such that
//! sum_it y_jit                             =  1                 every job is done
//! sum_i  y_jit p_ji                        <= L_jt              it runs on one slice at a time
//! sum_ji y_jit p_ji a_i  over one pool     <= L_t capacity      slices are there once
//! T_j  >=  sum_it y_jit s_jt + h_j - d_j,     T_j >= 0          tardiness
//! ```
//!
//! `p_ji` is the run time, `a_i` what is taken of the pool, `s_jt` the start of the slot or the
//! arrival, `L_jt` what is left of the slot then.
//!
//! The last row makes it a bound without any order of jobs. Let `F(t)` be the share of a job that
//! is done by minute t. The mean time of its progress is `M = integral of t dF`, and if it ends at
//! C, then `C - M = integral of F up to C`. F reaches 1 at C and grows at most by 1 in the shortest
//! run time p, so this area is at least that of a triangle, `p / 2`. Work in a slot is not before its
//! start, so `M >= sum y s`. Hence `h_j = p / 2`.
//!
//! Slots need not fit arrivals: a job that arrives within a slot gets the rest of it, while the pool
//! has all of it. Nothing is limited in the last slot, so no schedule is left out that ends late.

use super::super::machine::SlicedGpus;
use super::slots::Slots;
use crate::error::Error;
use mapa_sched::bound::{Bound, Class, Measure, Program, Proof, Sense, Solved, Solver};
use mapa_sched::slices::{SIZES, SliceJob, class_of};

/// A way to do a job.
#[derive(Clone, Copy, Debug)]
struct ProgressWay {
    pool: usize,
    /// What it takes of the pool.
    takes: f64,
    /// The run time of the whole job, minutes.
    minutes: f64,
}

/// A job, with its ways.
#[derive(Debug)]
struct Task {
    arrives: f64,
    deadline: f64,
    ways: Vec<ProgressWay>,
}

impl Task {
    fn new(job: &SliceJob, ways: impl IntoIterator<Item = ProgressWay>) -> Self {
        Self {
            arrives: job.arrives(),
            deadline: job.deadline(),
            ways: ways.into_iter().collect(),
        }
    }

    /// Half of its shortest run time, minutes.
    fn half(&self) -> f64 {
        let minutes = self.ways.iter().map(|way| way.minutes);
        minutes.fold(f64::INFINITY, f64::min) / 2.0
    }
}

/// A bound by the preemptive slot program on linear jobs and whole GPUs, after the mixed-integer program
/// of Hisaria et al.: one way a job, `work / 7` minutes on one of the GPUs.
///
/// It holds for any layouts and with preemption, because every schedule can be [`reduced`](super::super::reduced)
/// to whole GPUs and linear jobs without a later end. A program over start times of jobs that run
/// to their ends, as in the document, bounds no preemptive schedule.
///
/// # Errors
/// The program is too large for the solver, or the solver fails.
///
/// # Complexity
/// A linear program with a column for every job and slot from its arrival on.
pub fn linear_bound(
    jobs: &[SliceJob],
    gpus: usize,
    slots: &Slots,
    solver: &Solver,
) -> Result<Bound, Error> {
    let tasks = jobs.iter().map(|job| {
        let way = ProgressWay {
            pool: 0,
            takes: 1.0,
            minutes: job.work() / 7.0,
        };
        Task::new(job, [way])
    });
    let model = Model::new(tasks.collect(), vec![gpus as f64], slots);
    model.bound("linear", Class::AnyLayouts, solver)
}

/// A bound by the mean time of progress: on whatever sizes a job runs, it takes `size x minutes` of the
/// `7 x GPUs` compute slices, and makes progress at the rate of that size. It is MAPA's own.
///
/// It holds for any layouts and with preemption: the minutes of each job on each size in each slot of
/// any schedule meet all rows. It is not below [`linear_bound`] with the same slots: progress of a
/// way takes no less of whole GPUs than the linear job does, and no job is faster than its linear twin.
///
/// # Errors
/// The program is too large for the solver, or the solver fails.
///
/// # Complexity
/// A linear program with a column for every job, slot from its arrival on, and size that is worth it:
/// from one size for linear jobs to five.
pub fn progress_bound(
    jobs: &[SliceJob],
    gpus: usize,
    slots: &Slots,
    solver: &Solver,
) -> Result<Bound, Error> {
    let tasks = jobs.iter().map(|job| Task::new(job, worthwhile(job)));
    let model = Model::new(tasks.collect(), vec![7.0 * gpus as f64], slots);
    model.bound("progress", Class::AnyLayouts, solver)
}

/// As [`progress_bound`], where every GPU keeps its layout: of each size there are only so many slices, and
/// no job is faster than on the largest one. It is not below the other with the same slots. It holds
/// for fixed layouts only, with preemption and moves between slices too.
///
/// # Errors
/// The program is too large for the solver, or the solver fails.
///
/// # Complexity
/// A linear program with a column for every job, slot from its arrival on, and size of the machine.
pub fn static_progress_bound(
    jobs: &[SliceJob],
    machine: &SlicedGpus,
    slots: &Slots,
    solver: &Solver,
) -> Result<Bound, Error> {
    let mut counts = [0.0; 5];
    for class in machine.sizes().iter().filter_map(|&size| class_of(size)) {
        counts[class] += 1.0;
    }
    let tasks = jobs.iter().map(|job| {
        let ways = (0..5).filter(|&class| counts[class] > 0.0);
        let ways = ways.map(|class| ProgressWay {
            pool: class,
            takes: 1.0,
            minutes: job.minutes()[class],
        });
        Task::new(job, ways)
    });
    let model = Model::new(tasks.collect(), counts.to_vec(), slots);
    model.bound("progress-static", Class::FixedLayouts, solver)
}

/// The sizes that no mix of other sizes beats in run time and in work at once: the lower left hull of
/// (run time, size x run time). The others can be left out, as a mix does the same progress in no more
/// time and work. Of a linear job only the whole GPU is left.
fn worthwhile(job: &SliceJob) -> Vec<ProgressWay> {
    let mut hull: Vec<ProgressWay> = Vec::new();
    // From the largest size on: run times grow, so the work has to shrink.
    for (&size, minutes) in SIZES.iter().zip(job.minutes()).rev() {
        let takes = f64::from(size);
        let work = |way: &ProgressWay| way.takes * way.minutes;
        if hull.last().is_some_and(|way| work(way) <= takes * minutes) {
            continue;
        }
        if hull.last().is_some_and(|way| way.minutes == minutes) {
            hull.pop();
        }
        while let [.., a, b] = hull[..] {
            // `b` stays if it is below the line from `a` to the new one.
            let across = (b.minutes - a.minutes) * (takes * minutes - work(&a))
                - (work(&b) - work(&a)) * (minutes - a.minutes);
            if across > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(ProgressWay {
            pool: 0,
            takes,
            minutes,
        });
    }
    hull
}

/// The program, and the numbers of its rows.
struct Model<'a> {
    tasks: Vec<Task>,
    /// How many slices each pool has, or compute slices.
    capacities: Vec<f64>,
    slots: &'a Slots,
    /// The first arrival.
    first: f64,
    program: Program,
    /// By task: the row that says how late it is.
    late: Vec<usize>,
    /// By task: the slots from its arrival on, each with the row for one slice at a time.
    alone: Vec<Vec<Share>>,
    /// By pool and slot: the row of what is there.
    shared: Vec<Vec<Option<usize>>>,
}

/// A slot as a job sees it.
#[derive(Clone, Copy, Debug)]
struct Share {
    slot: usize,
    /// The earliest moment of work in it.
    from: f64,
    /// How long it is from there; infinite for the last slot.
    length: f64,
    /// The row for one slice at a time; none for the last slot.
    row: Option<usize>,
}

impl<'a> Model<'a> {
    fn new(tasks: Vec<Task>, capacities: Vec<f64>, slots: &'a Slots) -> Self {
        let first = tasks.iter().map(|task| task.arrives);
        let mut own = Self {
            first: first.fold(f64::INFINITY, f64::min),
            tasks,
            slots,
            program: Program::default(),
            late: Vec::new(),
            alone: Vec::new(),
            shared: vec![vec![None; slots.count()]; capacities.len()],
            capacities,
        };
        own.write();
        own
    }

    fn write(&mut self) {
        let mut pools = vec![vec![Vec::new(); self.slots.count()]; self.capacities.len()];
        for task in &self.tasks {
            let tardiness = self.program.column(1.0);
            let mut whole = Vec::new();
            // Times count from the first arrival: large numbers would cost digits.
            let mut late = vec![(tardiness, 1.0)];
            let mut shares = Vec::new();
            for (slot, from, length) in self.slots.since(task.arrives) {
                let mut alone = Vec::new();
                for way in &task.ways {
                    let share = self.program.column(0.0);
                    whole.push((share, 1.0));
                    late.push((share, self.first - from));
                    alone.push((share, way.minutes));
                    pools[way.pool][slot].push((share, way.minutes * way.takes));
                }
                let is_last = length == f64::INFINITY;
                let row = (!is_last).then(|| self.program.row(alone, Sense::AtMost, length));
                shares.push(Share {
                    slot,
                    from,
                    length,
                    row,
                });
            }
            self.program.row(whole, Sense::Equal, 1.0);
            let due = task.half() + self.first - task.deadline;
            self.late.push(self.program.row(late, Sense::AtLeast, due));
            self.alone.push(shares);
        }
        for (pool, by_slot) in pools.into_iter().enumerate() {
            for (slot, parts) in by_slot.into_iter().enumerate() {
                let room = self.room(pool, slot);
                if room < f64::INFINITY && !parts.is_empty() {
                    self.shared[pool][slot] = Some(self.program.row(parts, Sense::AtMost, room));
                }
            }
        }
    }

    /// What a pool has in a slot.
    fn room(&self, pool: usize, slot: usize) -> f64 {
        self.capacities[pool] * self.slots.length(slot, self.first)
    }

    fn bound(&self, name: &'static str, class: Class, solver: &Solver) -> Result<Bound, Error> {
        let (value, proof) = if self.tasks.is_empty() {
            (0.0, Proof::Formula)
        } else {
            self.proven(&solver.solve(&self.program)?)
        };
        Ok(Bound {
            name,
            measure: Measure::Tardiness,
            class,
            value,
            proof,
        })
    }

    fn proven(&self, solved: &Solved) -> (f64, Proof) {
        let proven = solved
            .prices
            .as_ref()
            .map(|values| self.worth(values).max(0.0));
        match (solved.optimum, proven) {
            // Prices are a proof of their own, and not above the optimum but for rounding.
            (Some(optimum), Some(worth)) => (worth.min(optimum.max(0.0)), Proof::Optimum),
            (Some(optimum), None) => (optimum.max(0.0), Proof::Optimum),
            (None, Some(worth)) => (worth, Proof::Prices),
            (None, None) => (0.0, Proof::Nothing),
        }
    }

    /// The bound that prices of the rows prove, whatever the prices are.
    ///
    /// Let `g` be prices of pools, `b` of a job's own slots, `e` (0 to 1) of its tardiness. Then no
    /// solution has less tardiness than
    /// `sum_j [min_it (p_ji (b_jt + a_i g_t) + e_j s_jt) + e_j (h_j - d_j) - sum_t b_jt L_jt] - sum_t g_t L_t capacity`,
    /// because each job is done at no less than its cheapest way, and rows of at most so much were
    /// credited in full. Prices of wrong signs count as 0.
    fn worth(&self, prices: &[f64]) -> f64 {
        // A solver's price of a row of at most so much is negative: more room, less tardiness.
        let price = |row: Option<usize>| row.map_or(0.0, |row| (-prices[row]).max(0.0));
        let mut sum = 0.0;
        for ((task, shares), &late) in self.tasks.iter().zip(&self.alone).zip(&self.late) {
            let weight = prices[late].clamp(0.0, 1.0);
            let mut cheapest = f64::INFINITY;
            for share in shares {
                let alone = price(share.row);
                if share.row.is_some() {
                    sum -= alone * share.length;
                }
                for way in &task.ways {
                    let shared = price(self.shared[way.pool][share.slot]);
                    let cost = way.minutes * (alone + way.takes * shared)
                        + weight * (share.from - self.first);
                    cheapest = cheapest.min(cost);
                }
            }
            sum += cheapest + weight * (task.half() + self.first - task.deadline);
        }
        for (pool, rows) in self.shared.iter().enumerate() {
            for (slot, &row) in rows.iter().enumerate() {
                if row.is_some() {
                    sum -= price(row) * self.room(pool, slot);
                }
            }
        }
        sum
    }
}
