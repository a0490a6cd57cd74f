//! The lists of waiting jobs: where new ones go, and how lists become better.

use super::batch;
use super::goal::{PlanGoal, PlanPart, Trust};
use super::machines::{ANY, BAR, FAIR, GOOD, MODEST, SetJob};
use super::{TopologyPlan, area};
use mapa_sched::JobId;
use mapa_sched::plan::{Ageing, Moves, PlanEntry};

/// More new jobs at once than this are a batch.
const BATCH: usize = 20;
/// The most places of a list at which a job is inserted on trial.
const PLACES: usize = 13;
/// The most random moves at an event, as a share of the budget of job-steps.
const SHARE_OF_MOVES: usize = 10;
/// Moves of a batch for each job, as long as the batch is not larger than this.
const BATCH_MOVES: usize = 3;
const BATCH_OF_MOVES: usize = 300;
/// With rough estimates moves are made only while no more jobs wait.
const ROUGH_QUEUE: usize = 40;
/// Up to this many machines a job is tried on all.
const ALL_LANES: usize = 8;
/// Of more, on some where it could start at once, and on those with the least to do.
const FREE_LANES: usize = 3;
const LEAST_LANES: usize = 4;

/// The kinds of moves on one machine, and on several.
pub(super) const MOVES: Moves = Moves {
    lane: 0,
    place: 4,
    swap: 3,
    gene: 3,
    near: Some(4),
    regenes: false,
};
const MOVES_OF_FLEET: Moves = Moves {
    lane: 3,
    place: 3,
    swap: 2,
    gene: 2,
    ..MOVES
};

impl TopologyPlan {
    /// The machines on which a job is tried.
    pub(super) fn lanes_for(&self, job: &SetJob, now: f64) -> Vec<usize> {
        use mapa_sched::plan::Physics;
        let machines = self.plan.physics();
        let holds = |lane: &usize| machines.holds(self.plan.state(*lane), job);
        let lanes: Vec<usize> = (0..self.runs.lanes()).filter(holds).collect();
        if lanes.len() <= ALL_LANES {
            return lanes;
        }
        // Where it could start now, on the best set; then where there is least to do.
        let loss = |lane: usize| {
            let is_empty = self.plan.list(lane).is_empty();
            let now = machines.set(self.plan.state(lane), job, ANY);
            now.filter(|_| is_empty)
                .map_or(f64::INFINITY, |pair| pair.1)
        };
        let mut keys: Vec<(f64, f64, usize)> = lanes
            .iter()
            .map(|&lane| (loss(lane), self.load(lane, now), lane))
            .collect();
        let by_load =
            |a: &(f64, f64, usize), b: &(f64, f64, usize)| a.1.total_cmp(&b.1).then(a.2.cmp(&b.2));
        keys.sort_by(|a, b| a.0.total_cmp(&b.0).then(by_load(a, b)));
        keys[FREE_LANES..].sort_by(by_load);
        keys.truncate(FREE_LANES + LEAST_LANES);
        keys.iter().map(|key| key.2).collect()
    }

    /// The seconds that a machine needs for what runs and waits there.
    pub(super) fn load(&self, lane: usize, now: f64) -> f64 {
        let waiting = self.plan.list(lane).iter().map(|entry| area(&entry.job));
        let all = self.runs.backlog(&self.plan, lane, now) + waiting.sum::<f64>();
        all / self.runs.devices(&self.plan, lane).max(1.0)
    }

    /// Puts the jobs that no list has into lists; so many of them have just arrived.
    pub(super) fn insert(&mut self, now: f64, fresh: usize, trust: Trust) {
        let homeless = std::mem::take(&mut self.homeless);
        let mut new: Vec<(SetJob, JobId, u64)> = homeless
            .iter()
            .filter_map(|serial| self.held.get(serial))
            .map(|held| (held.own, held.job.id, held.serial))
            .collect();
        let is_batch = fresh > BATCH;
        if fresh > 0 {
            self.batches = is_batch;
        }
        new.sort_by(|a, b| a.0.ideal.total_cmp(&b.0.ideal).then(a.2.cmp(&b.2)));
        let waits = self.has(PlanPart::Sets);
        let mut touched: Vec<usize> = Vec::new();
        let weigher = self.weigher();
        for (job, id, serial) in new {
            let entry = PlanEntry {
                id,
                job,
                gene: if job.chooses { ANY } else { MODEST },
                weight: weigher.weight(
                    Ageing {
                        patience: f64::INFINITY,
                        pace: 1.0,
                    },
                    &job,
                    now,
                ),
            };
            let lanes = self.lanes_for(&job, now);
            if is_batch {
                let least = |a: &&usize, b: &&usize| {
                    self.load(**a, now)
                        .total_cmp(&self.load(**b, now))
                        .then(a.cmp(b))
                };
                match lanes.iter().min_by(least).copied() {
                    Some(lane) => {
                        self.plan.put(lane, usize::MAX, entry);
                        touched.push(lane);
                    }
                    None => drop(self.homeless.insert(serial)),
                }
            } else if !self.has(PlanPart::Insertion) && !lanes.is_empty() {
                self.plan.put(lanes[0], usize::MAX, entry);
            } else if !self
                .plan
                .insert(entry, &lanes, PLACES, |_, job, _| match job.chooses {
                    true if waits => vec![ANY, GOOD, FAIR],
                    true => vec![ANY],
                    false => vec![MODEST],
                })
            {
                self.homeless.insert(serial);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for lane in touched {
            self.arrange(lane, trust);
        }
    }

    /// Orders the list of a machine anew, but for the jobs that stay at the front.
    pub(super) fn arrange(&mut self, lane: usize, trust: Trust) {
        let fixed = self.plan.fixed(lane);
        let list = self.plan.list(lane).to_vec();
        let (front, rest) = list.split_at(fixed);
        let mut rest = rest.to_vec();
        rest.sort_by_key(|entry| self.serials.get(&entry.id).copied());
        let descending = self.goal == PlanGoal::Makespan;
        let mut whole = front.to_vec();
        let how = (descending, self.has(PlanPart::Sets));
        let searches = trust == Trust::Exact && self.has(PlanPart::Prices);
        let plan = &mut self.plan;
        let rest = if searches {
            batch::arrange(&rest, how, |rest, limit| {
                whole.truncate(fixed);
                whole.extend_from_slice(rest);
                plan.price(lane, &whole, limit)
            })
        } else {
            batch::plain(&rest, how)
        };
        whole.truncate(fixed);
        whole.extend(rest);
        self.plan.arrange(lane, whole);
    }

    /// Improves the plan by random moves.
    pub(super) fn improve(&mut self, new: usize, trust: Trust) {
        let waiting = self.plan.len();
        if !std::mem::take(&mut self.has_changed) || waiting == 0 {
            return;
        }
        let mut moves = (self.budget / SHARE_OF_MOVES).min(self.budget / waiting);
        if new > BATCH && self.budget > 0 {
            // As many steps as a batch of the largest size with moves for each of its jobs.
            let most = BATCH_MOVES * BATCH_OF_MOVES * BATCH_OF_MOVES / waiting;
            moves = moves.max((BATCH_MOVES * new).min(most));
        }
        if trust != Trust::Exact && waiting > ROUGH_QUEUE {
            return;
        }
        let (waits, bars) = (self.has(PlanPart::Sets), self.has(PlanPart::Bars));
        let lanes = self.runs.lanes();
        let kinds = if lanes > 1 { &MOVES_OF_FLEET } else { &MOVES };
        self.plan.search(
            (moves, kinds),
            |_, _| {},
            |draws, _| draws.below(lanes),
            |draws, job, old| {
                let is_bar = draws.one_in(3) || !job.chooses;
                match (is_bar, waits, bars) {
                    (true, _, true) => old ^ BAR,
                    (false, true, _) => old & BAR | [ANY, GOOD, FAIR][draws.below(3)],
                    _ => old,
                }
            },
        );
    }

    /// Lets jobs that too many have overtaken go first.
    pub(super) fn promote(&mut self, now: f64, drain: f64, devices: f64) {
        // The most that ever waits while a job does sets its limit: so none of a batch is overdue for
        // the others, and under overload order does not end.
        let limit = (self.overtaking * self.mean_ideal()).max(2.0 * drain) * devices;
        for held in self.held.values_mut() {
            held.limit = held.limit.max(limit);
        }
        self.is_overdue = false;
        let overdue = self.held.values().filter(|job| job.overtaken > job.limit);
        let overdue: Vec<(JobId, SetJob)> = overdue.map(|held| (held.job.id, held.own)).collect();
        for (id, job) in overdue {
            if self.plan.is_fixed(id) {
                continue;
            }
            // On the machine that has least to do, if it is not there already.
            let lanes = self.lanes_for(&job, now);
            let least = |a: &&usize, b: &&usize| {
                self.load(**a, now)
                    .total_cmp(&self.load(**b, now))
                    .then(a.cmp(b))
            };
            if let Some(&lane) = lanes.iter().min_by(least)
                && lanes.len() > 1
                && let Some(entry) = self.plan.remove(id)
            {
                self.plan.put(lane, usize::MAX, entry);
            }
            let mode = if job.chooses { ANY } else { MODEST };
            self.plan.fix(id, mode | BAR);
        }
    }
}
