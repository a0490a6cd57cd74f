//! The search for plans, by increasing number of jobs that move.
//!
//! The jobs on a set of devices that is good enough for the wanted pattern must move. Other jobs
//! may move, too, up to the number allowed. For each such choice of jobs, all combinations of new
//! places are searched (branch and bound): a branch ends once it is no better than the best plan so
//! far. The first number of jobs with any plan is the smallest, so the search ends there.

use mapa_core::{Allocator, Lease, Pattern, Sharing, StopReason, Want};

use super::conditions::PlanConditions;
use super::order::{JobMove, JobPlace, MoveStep, order};
use super::plan::{Defragmented, Move, Plan, Target};
use super::scores::{DeviceMask, MachineScores, mask};

/// Scores whose ratio is above this count as equal, because of rounding.
const SAME: f64 = 1.0 - 1e-9;

/// A job that can move.
struct MovableJob<'a> {
    lease: &'a Lease,
    pattern: usize,
    devices: DeviceMask,
    /// The lowest score that its new placement may have.
    least: f64,
}

/// The key by which plans are compared, the least first: the number of steps, the number of new
/// devices, and the score of the wanted placement, negated.
type MovesKey = (usize, usize, f64);

/// The best plan so far.
struct BestPlan {
    key: MovesKey,
    machine: usize,
    target: DeviceMask,
    movers: Vec<usize>,
    steps: Vec<MoveStep>,
}

pub(super) struct PlanSearch<'a, 'd> {
    conditions: &'a PlanConditions<'d>,
    machines: &'a [Allocator],
    scores: MachineScores<'a>,
    want: &'a Pattern,
    pattern: usize,
    at_least: f64,
    /// The free whole devices of each machine.
    free: Vec<DeviceMask>,
    /// The jobs of each machine that can move.
    jobs: Vec<Vec<MovableJob<'a>>>,
    nodes: u64,
    best: Option<BestPlan>,
    but_for_room: bool,
}

impl<'a, 'd> PlanSearch<'a, 'd> {
    pub(super) fn new(
        conditions: &'a PlanConditions<'d>,
        machines: &'a [Allocator],
        want: &'a Pattern,
        at_least: f64,
    ) -> Self {
        let scores = MachineScores::new(&conditions.objective, machines);
        let pattern = scores.pattern(want);
        let free = |machine: &Allocator| mask(&(&machine.graph().wholes() & machine.view().free()));
        let mut search = Self {
            conditions,
            machines,
            scores,
            want,
            pattern,
            at_least,
            free: machines.iter().map(free).collect(),
            jobs: Vec::new(),
            nodes: 0,
            best: None,
            but_for_room: false,
        };
        search.jobs = (0..machines.len())
            .map(|machine| search.movable(machine))
            .collect();
        search
    }

    /// The jobs of a machine that can move: on whole devices, neither shared nor pinned nor near a network card.
    fn movable(&self, machine: usize) -> Vec<MovableJob<'a>> {
        let allocator = &self.machines[machine];
        let stays = |lease: &Lease| self.conditions.pinned.contains(&(allocator.id(), lease.id));
        let on_wholes = |lease: &Lease| {
            let wanted =
                lease.pattern.demands().iter().all(|d| {
                    d.want == Want::Whole && d.sharing == Sharing::Exclusive && d.nics == 0
                });
            wanted && lease.placement.iter().all(|id| id.0 < DeviceMask::BITS)
        };
        let job = |lease: &'a Lease| {
            let least =
                self.scores.of_lease(machine, lease).score * (1.0 - self.conditions.may_lose);
            let (pattern, devices) = (
                self.scores.pattern(&lease.pattern),
                mask(&lease.placement.set()),
            );
            MovableJob {
                lease,
                pattern,
                devices,
                least,
            }
        };
        allocator
            .leases()
            .filter(|lease| on_wholes(lease) && !stays(lease))
            .map(job)
            .collect()
    }

    pub(super) fn run(mut self) -> Defragmented {
        if let Some(target) = self.now() {
            return Defragmented::Already(target);
        }
        let most = self.jobs.iter().map(Vec::len).max().unwrap_or(0);
        for movers in 1..=most {
            for machine in 0..self.machines.len() {
                self.on(machine, movers);
            }
            if self.best.is_some() || self.is_stopped() {
                break;
            }
        }
        match self.best.take() {
            Some(found) => self.plan(found).map_or(
                Defragmented::Impossible {
                    but_for_room: false,
                },
                Defragmented::By,
            ),
            None if self.is_stopped() => Defragmented::LimitReached(StopReason::NodeLimit),
            None => Defragmented::Impossible {
                but_for_room: self.but_for_room,
            },
        }
    }

    /// The best placement without any move, if it is good enough.
    fn now(&self) -> Option<Target> {
        let here = (0..self.machines.len())
            .filter_map(|machine| self.scores.best_on(machine, self.want, false));
        let enough = here.filter(|target| target.score >= self.at_least * SAME);
        enough.reduce(|best, other| {
            if other.score > best.score {
                other
            } else {
                best
            }
        })
    }

    /// Whether the limit of nodes is reached.
    fn is_stopped(&self) -> bool {
        self.nodes >= self.conditions.limits.nodes
    }

    /// Searches all plans in which `movers` jobs of this machine move.
    fn on(&mut self, machine: usize, movers: usize) {
        let jobs = self.jobs[machine].len();
        if jobs < movers
            || self.machines[machine].graph().wholes().len() > DeviceMask::BITS as usize
        {
            return;
        }
        // All devices that can be made free for the wanted pattern.
        let movable = self.jobs[machine]
            .iter()
            .fold(self.free[machine], |all, job| all | job.devices);
        each_subset(movable, self.want.len(), &mut |target| {
            self.nodes += 1;
            let on_it = |&job: &usize| self.jobs[machine][job].devices & target != 0;
            let must: Vec<usize> = (0..jobs).filter(on_it).collect();
            // The score is a table look-up after the first time, but counting the jobs is cheaper
            // still.
            let score = if must.len() > movers {
                None
            } else {
                self.scores.of(machine, self.pattern, target)
            };
            if let Some(score) = score.filter(|&score| score >= self.at_least * SAME) {
                // Jobs that need not move may do so to make room for those that must.
                let others = (0..jobs)
                    .filter(|job| !must.contains(job))
                    .fold(0, |all, job| all | 1 << job);
                each_subset(others, movers - must.len(), &mut |more| {
                    let more = (0..jobs).filter(|job| more >> job & 1 == 1);
                    self.with(
                        (machine, target, score),
                        must.iter().copied().chain(more).collect(),
                    );
                    !self.is_stopped()
                });
            }
            !self.is_stopped()
        });
    }

    /// Searches all plans in which exactly these jobs move to make this target free.
    fn with(&mut self, (machine, target, score): (usize, DeviceMask, f64), movers: Vec<usize>) {
        let mut room = self.free.clone();
        for &job in &movers {
            room[machine] |= self.jobs[machine][job].devices;
        }
        room[machine] &= !target;
        self.place(
            &FixedChoices {
                machine,
                target,
                score,
                movers,
            },
            &mut Vec::new(),
            &mut room,
            0,
        );
    }

    /// Tries all places for the next job that moves, and for each of them all places for the jobs
    /// after it.
    fn place(
        &mut self,
        ahead: &FixedChoices,
        places: &mut Vec<JobPlace>,
        room: &mut Vec<DeviceMask>,
        devices: usize,
    ) {
        // The bound: a plan has at least as many steps as jobs, and at least these devices.
        let best = self.best.as_ref().map(|best| best.key);
        if self.is_stopped()
            || best.is_some_and(|best| (ahead.movers.len(), devices, -ahead.score) >= best)
        {
            return;
        }
        let Some(&mover) = ahead.movers.get(places.len()) else {
            return self.reached(ahead, places, devices);
        };
        let job = &self.jobs[ahead.machine][mover];
        let (pattern, least, now, size) = (
            job.pattern,
            job.least * SAME,
            job.devices,
            job.lease.placement.len(),
        );
        let mut here = subsets(
            room[ahead.machine],
            size,
            self.conditions.limits.nodes - self.nodes,
        );
        self.nodes += here.len() as u64;
        let worth = |place: DeviceMask| {
            self.scores
                .of(ahead.machine, pattern, place)
                .unwrap_or(f64::NEG_INFINITY)
        };
        here.retain(|&place| place != now && worth(place) >= least);
        // Places that keep most of the present devices come first, and of those the best: of equal
        // plans the first one found is taken.
        let moved = |place: DeviceMask| (place & !now).count_ones();
        here.sort_by(|&a, &b| moved(a).cmp(&moved(b)).then(worth(b).total_cmp(&worth(a))));
        let mut open: Vec<JobPlace> = here
            .into_iter()
            .map(|place| (ahead.machine, place))
            .collect();
        open.extend(self.elsewhere(ahead.machine, pattern, least, room));
        for (machine, place) in open {
            let new = if machine == ahead.machine {
                place & !now
            } else {
                place
            };
            room[machine] &= !place;
            places.push((machine, place));
            self.place(ahead, places, room, devices + new.count_ones() as usize);
            places.pop();
            room[machine] |= place;
        }
    }

    /// The best place on each other machine. Of machines with equal graphs and equal room only the
    /// first is tried.
    fn elsewhere(
        &self,
        not: usize,
        pattern: usize,
        least: f64,
        room: &[DeviceMask],
    ) -> Vec<JobPlace> {
        let mut seen = Vec::new();
        let mut places = Vec::new();
        for machine in (0..self.machines.len()).filter(|&machine| machine != not) {
            let alike = (self.machines[machine].graph().fingerprint(), room[machine]);
            if seen.contains(&alike) {
                continue;
            }
            seen.push(alike);
            let best = self
                .scores
                .best_of(machine, pattern, room[machine])
                .filter(|target| target.score >= least);
            places.extend(best.map(|target| (machine, mask(&target.placement.set()))));
        }
        places
    }

    /// Handles a choice of places for all jobs: searches the order of moves with the fewest steps
    /// aside, and keeps the plan if it is the best so far.
    fn reached(&mut self, ahead: &FixedChoices, places: &[JobPlace], devices: usize) {
        let jobs = &self.jobs[ahead.machine];
        let way = |(&mover, &to): (&usize, &JobPlace)| JobMove {
            now: (ahead.machine, jobs[mover].devices),
            to,
        };
        let ways: Vec<JobMove> = ahead.movers.iter().zip(places).map(way).collect();
        let (mut tried, left) = (0, self.conditions.limits.nodes - self.nodes);
        let mut aside = |job: usize, free: &[DeviceMask], now: JobPlace| {
            let job = &jobs[ahead.movers[job]];
            let here = subsets(
                free[now.0] | now.1,
                job.lease.placement.len(),
                left.saturating_sub(tried),
            );
            tried += here.len() as u64;
            let runs = |&place: &DeviceMask| {
                place != now.1 && self.scores.of(now.0, job.pattern, place).is_some()
            };
            let mut places: Vec<JobPlace> = here
                .into_iter()
                .filter(runs)
                .map(|place| (now.0, place))
                .collect();
            places.extend(self.elsewhere(now.0, job.pattern, f64::NEG_INFINITY, free));
            places
        };
        // The limit that `Defrag::plan` states. Each further step aside multiplies the work.
        let most = 2 * ways.len();
        let best = self.best.as_ref().map(|best| best.key);
        let key = |steps: usize| (steps, devices, -ahead.score);
        let asides = (0..=most)
            .take_while(|&asides| best.is_none_or(|best| key(ways.len() + asides) < best));
        let steps = { asides }.find_map(|asides| {
            order(
                &mut ways.clone(),
                &mut self.free.clone(),
                asides,
                &mut aside,
            )
        });
        self.nodes += tried;
        match steps {
            Some(steps) => {
                let (machine, target, movers) = (ahead.machine, ahead.target, ahead.movers.clone());
                self.best = Some(BestPlan {
                    key: key(steps.len()),
                    machine,
                    target,
                    movers,
                    steps,
                });
            }
            // The places exist, but no order of single moves leads there.
            None => self.but_for_room |= best.is_none(),
        }
    }

    /// The plan as callers get it: with placements instead of sets of devices.
    fn plan(&self, found: BestPlan) -> Option<Plan> {
        let target = |machine: usize, pattern: usize, devices: DeviceMask| {
            let placement = self.scores.placement(machine, pattern, devices)?;
            let score = self.scores.of(machine, pattern, devices)?;
            Some(Target {
                machine: self.machines[machine].id(),
                placement,
                score,
            })
        };
        let jobs = &self.jobs[found.machine];
        let mut free = self.free.clone();
        let mut now: Vec<(JobPlace, Target)> = Vec::new();
        for &mover in &found.movers {
            let place = (found.machine, jobs[mover].devices);
            now.push((
                place,
                self.scores.of_lease(found.machine, jobs[mover].lease),
            ));
        }
        let mut moves = Vec::new();
        for step in &found.steps {
            let job = &jobs[found.movers[step.job]];
            let to = target(step.to.0, job.pattern, step.to.1)?;
            let (place, from) = std::mem::replace(&mut now[step.job], (step.to, to.clone()));
            free[place.0] |= place.1;
            free[step.to.0] &= !step.to.1;
            let reach = |machine: usize| {
                Some(
                    self.scores
                        .best_of(machine, self.pattern, free[machine])?
                        .score,
                )
            };
            moves.push(Move {
                job: (self.machines[found.machine].id(), job.lease.id),
                from,
                to,
                aside: step.aside,
                reach: (0..free.len()).filter_map(reach).max_by(f64::total_cmp),
            });
        }
        Some(Plan {
            moves,
            jobs: found.movers.len(),
            devices: found.key.1,
            target: target(found.machine, self.pattern, found.target)?,
            complete: !self.is_stopped(),
        })
    }
}

/// The part of a plan that is fixed before places are searched: the target, its score and the jobs
/// that move.
struct FixedChoices {
    machine: usize,
    target: DeviceMask,
    score: f64,
    movers: Vec<usize>,
}

/// Visits all sets of `size` of these bits, in lexicographic order, as long as `visit` returns
/// true.
fn each_subset(of: DeviceMask, size: usize, visit: &mut dyn FnMut(DeviceMask) -> bool) {
    fn extend(
        mut open: DeviceMask,
        missing: usize,
        set: DeviceMask,
        visit: &mut dyn FnMut(DeviceMask) -> bool,
    ) -> bool {
        if missing == 0 {
            return visit(set);
        }
        // `open & -open` is the lowest bit that is left.
        while open.count_ones() as usize >= missing {
            let next = open & open.wrapping_neg();
            open ^= next;
            if !extend(open, missing - 1, set | next, visit) {
                return false;
            }
        }
        true
    }
    extend(of, size, 0, visit);
}

/// The first sets of `size` of these bits, at most `most` of them, but at least one.
fn subsets(of: DeviceMask, size: usize, most: u64) -> Vec<DeviceMask> {
    let mut sets = Vec::new();
    each_subset(of, size, &mut |set| {
        sets.push(set);
        (sets.len() as u64) < most
    });
    sets
}
