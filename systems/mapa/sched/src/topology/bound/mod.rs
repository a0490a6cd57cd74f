//! What no schedule is below: makespan and completion times.
//!
//! | bound | of | by |
//! |---|---|---|
//! | [`area`](RingBounds::area) | makespan | device-time |
//! | [`critical_path`](RingBounds::critical_path) | makespan | the latest single job |
//! | [`configurations`](RingBounds::configurations) | makespan | packings of disjoint sets, as a linear program |
//! | [`squashed_area`](RingBounds::squashed_area) | completion | one fast machine |
//! | [`slots`](RingBounds::slots) | completion | prices of time, jobs at any rate |
//! | [`rates`](RingBounds::rates) | completion | prices of time, jobs at their own rate at most |

mod area;
mod ascent;
mod configurations;
mod mixes;
mod packing;
mod squashed;

pub use ascent::Ascent;

use ascent::Climbed;
use mapa_core::{HardwareGraph, Objective};
use squashed::Squashed;

use super::levels::Levels;
use super::work::{Ideal, RingWork};
use mapa_sched::Error;
use mapa_sched::bound::{Bound, Class, Measure, Proof, Solver};

/// The most slots of an ascent.
const MOST_SLOTS: u32 = 100_000;
const MOST_ROUNDS: u32 = 1_000_000;

/// The bounds of some jobs on one machine, whose slowdowns and ideal times are computed once.
///
/// All hold for [`Class::WholeDevices`]: every schedule in which jobs hold whole devices alone,
/// with preemption and moves at no cost, and for schedulers that know all arrivals.
///
/// # Examples
/// Two devices are joined by a fast link, and so are two others. The host joins all at 12 GB/s.
/// ```
/// use mapa_core::{Fabric, LinkClass, ring_packing_gbps};
/// use mapa_sched::bound::Solver;
/// use mapa_system_mapa::topology::{RingBounds, RingWork};
///
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// ids.iter().try_for_each(|&id| fabric.attach(id, root, 12.0))?;
/// fabric.link(ids[0], ids[1], LinkClass::Direct(2), 50.0)?;
/// fabric.link(ids[2], ids[3], LinkClass::Direct(2), 50.0)?;
/// let graph = fabric.lower()?;
///
/// // Four pairs of 10 s each: two at a time, on the fast links.
/// let pair = RingWork { arrives: 0.0, devices: 2, ratio: 3.0, seconds: 10.0 };
/// let bounds = RingBounds::new(&graph, &ring_packing_gbps(), &[pair; 4])?;
/// assert_eq!(bounds.area().value, 20.0);
/// let makespan = bounds.configurations(&Solver::default())?.value;
/// assert!((makespan - 20.0).abs() < 1e-4);
/// // They end after 10, 10, 20 and 20 s, and no other schedule is better in sum.
/// let completion = bounds.squashed_area().value;
/// assert!(completion > 40.0 && completion <= 60.0);
/// let completion = bounds.rates(&Default::default())?.value;
/// assert!(completion > 55.0 && completion <= 60.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RingBounds {
    levels: Levels,
    jobs: Vec<Ideal>,
}

impl RingBounds {
    /// The bounds of these jobs on this machine, whose rings have the bandwidth that a model says,
    /// GB/s ([`SetScores`](mapa_core::SetScores)).
    ///
    /// # Errors
    /// A machine of more than 16 devices, or one whose devices can be partitioned. A job with a
    /// number that is not finite or out of range, or of a size of which the machine has no ring.
    ///
    /// # Complexity
    /// O(2ᵐ + n) for n jobs on m devices. The first time, the bandwidths of all sets of the sizes
    /// of the jobs are computed; they are kept with the graph.
    pub fn new(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        jobs: &[RingWork],
    ) -> Result<Self, Error> {
        let used = |size: usize| jobs.iter().any(|job| job.devices == size);
        let levels = Levels::new(graph, model, used)?;
        let least = levels.least();
        let jobs = jobs.iter().enumerate();
        let jobs = jobs.map(|(at, job)| job.ideal(at, &least));
        Ok(Self {
            jobs: jobs.collect::<Result<_, _>>()?,
            levels,
        })
    }

    /// The ideal time of each job, seconds: its run time on the fastest set of its size. No
    /// schedule runs it in less. In the order of the jobs.
    pub fn ideal_seconds(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.jobs.iter().map(|job| job.seconds)
    }

    /// The least makespan by device-time. A job holds its devices for its ideal time or longer, and
    /// m devices give m device-seconds a second. So what arrives from a moment on cannot have ended
    /// sooner than its device-time over m after that moment. O(n log n) for n jobs.
    #[must_use]
    pub fn area(&self) -> Bound {
        let value = area::area(&self.jobs, self.levels.devices).makespan;
        makespan("area", value, Proof::Formula)
    }

    /// The least makespan by single jobs: none ends before its arrival and its ideal time. O(n) for
    /// n jobs.
    #[must_use]
    pub fn critical_path(&self) -> Bound {
        let value = area::critical_path(&self.jobs);
        makespan("critical-path", value, Proof::Formula)
    }

    /// The least makespan by packings: at each moment the running jobs hold disjoint sets, each
    /// with its bandwidth. A linear program over all packings of the machine, for the jobs that
    /// count for the [area](Self::area), from the moment from which they do. It is not below the
    /// area, and above it only where no mix of jobs keeps all devices busy at full speed.
    ///
    /// The value follows from prices, whatever the solver says. More than eight ratios of one size
    /// are joined, each group with its least.
    ///
    /// # Errors
    /// As the solver.
    ///
    /// # Complexity
    /// Some rounds, seldom more than twenty, of O(sum over sets S of 2^(m - |S|)) for m devices, at
    /// most O(3ᵐ), and of a linear program of some dozens of columns.
    pub fn configurations(&self, solver: &Solver) -> Result<Bound, Error> {
        let (value, proof) = if self.jobs.is_empty() {
            (0.0, Proof::Formula)
        } else {
            let since = area::area(&self.jobs, self.levels.devices).since;
            let late = self.jobs.iter().filter(|job| job.arrives >= since);
            let late: Vec<Ideal> = late.copied().collect();
            let (end, proof) = configurations::configurations(&late, &self.levels, solver)?;
            (since - area::first(&self.jobs) + end, proof)
        };
        Ok(makespan("configurations", value, proof))
    }

    /// The least sum of completion times by one machine that is as fast as all devices together: it
    /// works on the job of the least device-time that is present, and interrupts others for it.
    /// Each job ends half of its ideal time after its mean busy time, or later. After Goemans. O(n
    /// log n) for n jobs.
    ///
    /// It is good where jobs queue. Where nobody waits, the sum of ideal times is larger and is
    /// what counts.
    #[must_use]
    pub fn squashed_area(&self) -> Bound {
        completion("squashed-area", self.squashed(), Proof::Formula)
    }

    /// The least sum of completion times by prices of time: as
    /// [`squashed_area`](Self::squashed_area), where jobs that run at once also fit on the machine
    /// by their sizes (of eight devices, no two jobs of five). It is not below the squashed area,
    /// nor above [`rates`](Self::rates).
    ///
    /// # Errors
    /// No slots, or more than 100,000; more than a million rounds.
    ///
    /// # Complexity
    /// As [`rates`](Self::rates).
    pub fn slots(&self, ascent: &Ascent) -> Result<Bound, Error> {
        let climbed = self.climb(ascent)?;
        Ok(completion("slots", climbed.any, Proof::Prices))
    }

    /// The least sum of completion times by prices of time, where jobs that run at once fit on the
    /// machine by their sizes, and no job makes more than a second of its ideal time a second. The
    /// best of the bounds on completion; by far where jobs arrive over time.
    ///
    /// # Errors
    /// No slots, or more than 100,000; more than a million rounds.
    ///
    /// # Complexity
    /// O(rounds x (n t + t m s)) for n jobs of s sizes, m devices, and t slots of time, arrivals
    /// among them; a job sees only the slots up to about its end.
    pub fn rates(&self, ascent: &Ascent) -> Result<Bound, Error> {
        let climbed = self.climb(ascent)?;
        Ok(completion("rates", climbed.one, Proof::Prices))
    }

    /// The bounds that take microseconds: `area`, `critical-path`, `squashed-area`.
    #[must_use]
    pub fn quick(&self) -> Vec<Bound> {
        vec![self.area(), self.critical_path(), self.squashed_area()]
    }

    /// Every bound: makespan, then completion, each from the simplest on. Prices climb once for
    /// both bounds that need them.
    ///
    /// # Errors
    /// As [`configurations`](Self::configurations) and [`rates`](Self::rates).
    pub fn all(&self, solver: &Solver, ascent: &Ascent) -> Result<Vec<Bound>, Error> {
        let climbed = self.climb(ascent)?;
        Ok(vec![
            self.area(),
            self.critical_path(),
            self.configurations(solver)?,
            self.squashed_area(),
            completion("slots", climbed.any, Proof::Prices),
            completion("rates", climbed.one, Proof::Prices),
        ])
    }

    /// The squashed area, or the sum of ideal times where that is larger.
    fn squashed(&self) -> f64 {
        let ideal: f64 = self.ideal_seconds().sum();
        let squashed = Squashed::new(&self.jobs, self.levels.devices);
        squashed.completions().max(ideal)
    }

    /// Both bounds by prices. Neither is below the squashed area, from whose prices they climb, but
    /// for what slots lose of it.
    fn climb(&self, ascent: &Ascent) -> Result<Climbed, Error> {
        if !(1..=MOST_SLOTS).contains(&ascent.slots) {
            let what = format!("{ascent:?}: expected 1 to {MOST_SLOTS} slots");
            return Err(Error::bound(what));
        }
        if ascent.rounds > MOST_ROUNDS {
            let what = format!("{ascent:?}: expected at most {MOST_ROUNDS} rounds");
            return Err(Error::bound(what));
        }
        let least = self.squashed();
        if self.jobs.is_empty() {
            return Ok(Climbed {
                any: least,
                one: least,
            });
        }
        let climbed = ascent::climb(&self.jobs, self.levels.devices, *ascent);
        let any = climbed.any.max(least);
        Ok(Climbed {
            any,
            one: climbed.one.max(any),
        })
    }
}

fn makespan(name: &'static str, value: f64, proof: Proof) -> Bound {
    Bound {
        name,
        measure: Measure::Makespan,
        class: Class::WholeDevices,
        value,
        proof,
    }
}

fn completion(name: &'static str, value: f64, proof: Proof) -> Bound {
    Bound {
        name,
        measure: Measure::Completion,
        class: Class::WholeDevices,
        value,
        proof,
    }
}
