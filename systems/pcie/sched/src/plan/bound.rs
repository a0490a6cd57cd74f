//! What no schedule of jobs that share PCIe ports is below.
//!
//! Time is divided into slots. `z[j][t]` is the progress of job j in slot t, seconds at full speed,
//! and `x[c][t]` the GPU-seconds that GPUs spend with configuration c: how many jobs of each kind run
//! there at once. Every schedule, whoever made it, with whatever knowledge, preemption and
//! migration, gives such numbers:
//!
//! - the progress of a job adds up to its run time: `sum_t z[j][t] = p[j]`;
//! - it progresses at most a second a second, from its arrival on: `z[j][t] <= length`;
//! - jobs of a kind progress as fast as configurations let them:
//!   `sum_(j of k) z[j][t] <= sum_c speed[k][c] x[c][t]`;
//! - GPUs have so much time: `sum_c x[c][t] <= GPUs x length`.
//!
//! A job that makes z of its progress in a slot, from moment s on, does so at z / 2 after s in the
//! mean, or later. As it never progresses faster than a second a second, it ends at least p / 2 after
//! the mean time of its progress. So the least sum of `p / 2 + mean time - arrival` under these rows
//! is a lower bound of the sum of completion times. `z squared over 2` is replaced by what lies below
//! it: 0 up to half a slot, and a line of slope `length` from there.
//!
//! The bound is a linear program. Any prices of the third and fourth kind of row give a bound as well
//! (weak duality): then each job takes the slots that are cheapest for it. [`Prices`](PcieBound::Prices)
//! finds good prices by subgradient ascent, in a fraction of a second and without a solver;
//! [`Solver`](PcieBound::Solver) solves the program.

use mapa_sched::Error;
use mapa_sched::bound::{Bound, Class, Measure, Program, Proof, Sense, Solver};

use super::port::PortModel;

/// The most kinds of jobs. More are joined, each group with the traffic of its least.
const KINDS: usize = 4;
/// The most slices of a GPU: configurations of four kinds grow with the fourth power.
const SLICES: u8 = 16;
/// The most slots: tables have a row for each.
const SLOTS: f64 = 1e6;

/// A job, as the bound sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcieWork {
    /// When it arrives, seconds.
    pub arrives: f64,
    /// How long it runs at full speed, seconds.
    pub seconds: f64,
    /// The bandwidth that it uses if nothing slows it down, GB/s: alpha times its demand; 0 for a job
    /// that is not PCIe-bound.
    pub gbps: f64,
    /// The compute slices of its instance.
    pub slices: u8,
}

/// The GPUs of the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PciePorts {
    /// How many there are, each with a port of its own.
    pub gpus: u32,
    /// The compute slices of each, at most 16. Any jobs run at once whose slices fit in.
    pub slices: u8,
    /// What a port carries, GB/s.
    pub gbps: f64,
    /// How jobs share it.
    pub model: PortModel,
}

/// How the bound is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PcieBound {
    /// By prices, from this many rounds of ascent.
    Prices(u32),
    /// As a linear program.
    Solver(Solver),
}

/// A kind of jobs: what each wants, and its slices.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PcieJobClass {
    gbps: f64,
    slices: u8,
}

/// The relaxation: slots of one length, the last without an end.
struct SlotRelaxation {
    jobs: Vec<(PcieWork, usize)>,
    kinds: usize,
    /// Per configuration, the seconds of progress of each kind in a second.
    speeds: Vec<[f64; KINDS]>,
    gpus: f64,
    slot: f64,
    slots: usize,
}

/// The least sum of completion times (end less arrival, seconds, all jobs together) on such GPUs, with
/// slots of this length, seconds. It holds for every schedule, with any layouts, preemption and
/// migration, and for schedulers that know all arrivals. Shorter slots give a better bound.
///
/// # Errors
/// A number that is not finite or is out of range, GPUs of more than 16 slices, more than a million slots; as the solver.
///
/// # Complexity
/// By prices, O(rounds x n x t) for n jobs and t slots, t about the time that the jobs need on all GPUs
/// over the slot. The linear program has some n x t columns.
///
/// # Examples
/// ```
/// use mapa_system_pcie::{PcieBound, PciePorts, PcieWork, PortModel, pcie_bound};
///
/// // Four jobs that each want the whole of one port, ten seconds each. One after another they end
/// // after 10, 20, 30 and 40 s: no schedule has less than those 100 s together.
/// let job = PcieWork { arrives: 0.0, seconds: 10.0, gbps: 30.0, slices: 1 };
/// let ports = PciePorts { gpus: 1, slices: 7, gbps: 30.0, model: PortModel::EqualShare };
/// let bound = pcie_bound(&[job; 4], &ports, 1.0, PcieBound::Prices(300))?;
/// assert!(bound.value > 95.0 && bound.value <= 100.0);
/// # Ok::<(), mapa_sched::Error>(())
/// ```
pub fn pcie_bound(
    jobs: &[PcieWork],
    ports: &PciePorts,
    slot: f64,
    by: PcieBound,
) -> Result<Bound, Error> {
    check(jobs, ports, slot)?;
    let program = SlotRelaxation::new(jobs, ports, slot)?;
    let (value, proof) = match by {
        PcieBound::Prices(rounds) => (program.by_prices(rounds), Proof::Prices),
        PcieBound::Solver(solver) => match solver.solve(&program.linear())?.optimum {
            Some(optimum) => (optimum + program.constant(), Proof::Optimum),
            None => (0.0, Proof::Nothing),
        },
    };
    // Whatever the port does, a job takes its run time.
    let least: f64 = jobs.iter().map(|job| job.seconds).sum();
    Ok(Bound {
        name: "pcie-configurations",
        measure: Measure::Completion,
        class: Class::AnyLayouts,
        value: value.max(least),
        proof,
    })
}

fn check(jobs: &[PcieWork], ports: &PciePorts, slot: f64) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::bound(what));
    for (at, job) in jobs.iter().enumerate() {
        let numbers = [job.arrives, job.seconds, job.gbps];
        let good = numbers
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0);
        if !good || job.seconds == 0.0 || job.slices == 0 || job.slices > ports.slices {
            return wrong(format!(
                "job {at}: {job:?}: expected seconds above 0, an arrival and GB/s of 0 or more, and 1 to {} slices",
                ports.slices
            ));
        }
    }
    if ports.slices > SLICES {
        return wrong(format!("{ports:?}: expected at most {SLICES} slices"));
    }
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    if ports.gpus == 0 || !is_positive(ports.gbps) || !is_positive(slot) {
        return wrong(format!(
            "{ports:?}, slots of {slot} s: expected GPUs, GB/s and seconds above 0"
        ));
    }
    Ok(())
}

/// The kinds of jobs, and the kind of each job. Kinds that are joined get the traffic and slices of the
/// least: then nobody is slower than in truth.
fn kinds(jobs: &[PcieWork]) -> (Vec<PcieJobClass>, Vec<usize>) {
    let mut all: Vec<PcieJobClass> = jobs
        .iter()
        .map(|job| PcieJobClass {
            gbps: job.gbps,
            slices: job.slices,
        })
        .collect();
    all.sort_by(|a, b| a.gbps.total_cmp(&b.gbps).then(a.slices.cmp(&b.slices)));
    all.dedup();
    let group = all.len().div_ceil(KINDS).max(1);
    let joined: Vec<PcieJobClass> = all
        .chunks(group)
        .map(|kinds| PcieJobClass {
            gbps: kinds[0].gbps,
            slices: kinds.iter().map(|kind| kind.slices).min().unwrap_or(1),
        })
        .collect();
    let of = |pcie_work: &PcieWork| {
        let at = all
            .iter()
            .position(|kind| kind.gbps == pcie_work.gbps && kind.slices == pcie_work.slices);
        at.unwrap_or_default() / group
    };
    (joined, jobs.iter().map(of).collect())
}

/// The seconds of progress, a second, of each kind in every configuration that none exceeds.
fn configurations(kinds: &[PcieJobClass], ports: &PciePorts) -> Vec<[f64; KINDS]> {
    let mut counts = [0_u32; KINDS];
    let mut all: Vec<[f64; KINDS]> = Vec::new();
    loop {
        // Counts go up like the digits of a number, as long as their slices fit.
        let mut digit = 0;
        loop {
            if digit == kinds.len() {
                return undominated(all);
            }
            counts[digit] += 1;
            let slices: u32 = counts
                .iter()
                .zip(kinds)
                .map(|(count, kind)| count * u32::from(kind.slices))
                .sum();
            if slices <= u32::from(ports.slices) {
                break;
            }
            counts[digit] = 0;
            digit += 1;
        }
        all.push(speeds(&counts, kinds, ports));
    }
}

fn speeds(counts: &[u32; KINDS], kinds: &[PcieJobClass], ports: &PciePorts) -> [f64; KINDS] {
    let wants = || kinds.iter().zip(counts).filter(|(kind, _)| kind.gbps > 0.0);
    let bound: u32 = wants().map(|(_, count)| count).sum();
    let level = match ports.model {
        PortModel::EqualShare => ports.gbps / f64::from(bound.max(1)),
        PortModel::MaxMin => {
            let mut sorted: Vec<(f64, u32)> =
                wants().map(|(kind, &count)| (kind.gbps, count)).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut rest, mut left, mut level) = (ports.gbps, bound, f64::INFINITY);
            for (gbps, count) in sorted {
                if left > 0 && gbps * f64::from(left) > rest {
                    level = rest / f64::from(left);
                    break;
                }
                rest -= gbps * f64::from(count);
                left -= count;
            }
            level
        }
    };
    let mut speeds = [0.0; KINDS];
    for ((speed, kind), &count) in speeds.iter_mut().zip(kinds).zip(counts) {
        *speed = f64::from(count) / (kind.gbps / level).max(1.0);
    }
    speeds
}

/// Those that no other equals or exceeds in every kind.
fn undominated(all: Vec<[f64; KINDS]>) -> Vec<[f64; KINDS]> {
    let exceeds = |a: &[f64; KINDS], b: &[f64; KINDS]| a.iter().zip(b).all(|(a, b)| a >= b);
    let mut kept: Vec<[f64; KINDS]> = Vec::new();
    for values in all {
        if !kept.iter().any(|other| exceeds(other, &values)) {
            kept.retain(|other| !exceeds(&values, other));
            kept.push(values);
        }
    }
    kept
}

impl SlotRelaxation {
    fn new(jobs: &[PcieWork], ports: &PciePorts, slot: f64) -> Result<Self, Error> {
        let (kinds, of) = kinds(jobs);
        let last = jobs.iter().map(|job| job.arrives).fold(0.0, f64::max);
        // As if jobs ran one after another on each GPU, at their slowest: by then all can have ended.
        let work: f64 = jobs
            .iter()
            .map(|job| {
                job.seconds
                    * (job.gbps / ports.gbps).max(f64::from(job.slices) / f64::from(ports.slices))
            })
            .sum();
        let longest = jobs.iter().map(|job| job.seconds).fold(0.0, f64::max);
        let horizon = last + 1.5 * work / f64::from(ports.gpus) + 2.0 * longest;
        let slots = (horizon / slot).ceil() + 1.0;
        if slots > SLOTS {
            return Err(Error::bound(format!(
                "{slots:.1e} slots of {slot:?} s: expected at most {SLOTS:e}"
            )));
        }
        Ok(Self {
            speeds: configurations(&kinds, ports),
            kinds: kinds.len(),
            jobs: jobs.iter().copied().zip(of).collect(),
            gpus: f64::from(ports.gpus),
            slot,
            slots: slots as usize,
        })
    }

    /// What is added to every schedule: half of each run time, less its arrival.
    fn constant(&self) -> f64 {
        let own = self.jobs.iter();
        own.map(|(job, _)| job.seconds / 2.0 - job.arrives).sum()
    }

    /// The slots that a job can use: number, earliest moment, and length from there.
    fn slots_of(&self, job: &PcieWork) -> impl Iterator<Item = (usize, f64, f64)> + use<> {
        let (slot, slots, arrives) = (self.slot, self.slots, job.arrives);
        let first = ((arrives / slot) as usize).min(slots - 1);
        (first..slots).map(move |at| {
            let start = at as f64 * slot;
            let from = start.max(arrives);
            let length = if at + 1 == slots {
                f64::INFINITY
            } else {
                start + slot - from
            };
            (at, from, length)
        })
    }

    /// The linear program; its least sum lacks the [constant](Self::constant).
    fn linear(&self) -> Program {
        let mut program = Program::default();
        let mut of_kind: Vec<Vec<Vec<(usize, f64)>>> =
            vec![vec![Vec::new(); self.slots]; self.kinds];
        for (job, kind) in &self.jobs {
            let mut all = Vec::new();
            for (at, from, length) in self.slots_of(job) {
                let is_last = at + 1 == self.slots;
                // The second half of a slot's progress costs the slope of the line.
                let pieces = [(from, length / 2.0), (from + length, length / 2.0)];
                for (start, most) in pieces.into_iter().take(if is_last { 1 } else { 2 }) {
                    let column = program.column(start / job.seconds);
                    all.push((column, 1.0));
                    if !is_last {
                        program.row(vec![(column, 1.0)], Sense::AtMost, most);
                        of_kind[*kind][at].push((column, 1.0));
                    }
                }
            }
            program.row(all, Sense::Equal, job.seconds);
        }
        for at in 0..self.slots - 1 {
            let columns: Vec<usize> = self.speeds.iter().map(|_| program.column(0.0)).collect();
            let time = columns.iter().map(|&column| (column, 1.0)).collect();
            program.row(time, Sense::AtMost, self.gpus * self.slot);
            for (kind, slots) in of_kind.iter_mut().enumerate() {
                let mut row = std::mem::take(&mut slots[at]);
                let speeds = self.speeds.iter().zip(&columns);
                row.extend(speeds.map(|(speed, &column)| (column, -speed[kind])));
                program.row(row, Sense::AtMost, 0.0);
            }
        }
        program
    }

    /// The bound by the best prices of some rounds of ascent.
    fn by_prices(&self, rounds: u32) -> f64 {
        let count = (self.slots - 1) * self.kinds;
        let mut prices = vec![0.0_f64; count];
        let (mut used, mut best) = (vec![0.0; count], f64::NEG_INFINITY);
        let (mut scale, mut since) = (1.0, 0);
        let mut best_prices = prices.clone();
        for _ in 0..rounds.max(1) {
            let value = self.dual(&prices, &mut used);
            if value > best {
                best = value;
                since = 0;
                best_prices.copy_from_slice(&prices);
            } else {
                since += 1;
            }
            // Polyak's step towards a value a little above the best. Where none is better for a
            // while, it goes on from the best with shorter steps.
            if since > 12 {
                since = 0;
                scale *= 0.6;
                prices.copy_from_slice(&best_prices);
                continue;
            }
            let norm: f64 = used.iter().map(|value| value * value).sum();
            if norm <= 0.0 {
                break;
            }
            let target = best.abs().max(1.0) * 0.05 * scale + (best - value);
            let step = target / norm;
            for (price, value) in prices.iter_mut().zip(&used) {
                *price = (*price + step * value).max(0.0);
            }
        }
        best + self.constant()
    }

    /// The value of the dual at some prices, by slot and kind, without the constant. `used` is how much
    /// more of each row is used than there is.
    fn dual(&self, prices: &[f64], used: &mut [f64]) -> f64 {
        used.fill(0.0);
        let mut value = 0.0;
        let mut pieces: Vec<(f64, usize, f64)> = Vec::new();
        for (job, kind) in &self.jobs {
            pieces.clear();
            for (at, from, length) in self.slots_of(job) {
                if at + 1 == self.slots {
                    pieces.push((from / job.seconds, usize::MAX, f64::INFINITY));
                    continue;
                }
                let row = at * self.kinds + kind;
                let half = length / 2.0;
                pieces.push((from / job.seconds + prices[row], row, half));
                pieces.push(((from + length) / job.seconds + prices[row], row, half));
            }
            value += cheapest(&mut pieces, job.seconds, used);
        }
        for at in 0..self.slots - 1 {
            let own = &prices[at * self.kinds..(at + 1) * self.kinds];
            let worth = |speeds: &[f64; KINDS]| -> f64 {
                own.iter()
                    .zip(speeds)
                    .map(|(price, speed)| price * speed)
                    .sum()
            };
            let best = self
                .speeds
                .iter()
                .max_by(|a, b| worth(a).total_cmp(&worth(b)));
            let Some(best) = best.filter(|best| worth(best) > 0.0) else {
                continue;
            };
            let time = self.gpus * self.slot;
            value -= time * worth(best);
            for (kind, speed) in best.iter().take(self.kinds).enumerate() {
                used[at * self.kinds + kind] -= time * speed;
            }
        }
        // Rows that cost nothing and are not full push no price.
        for (value, &price) in used.iter_mut().zip(prices) {
            if price == 0.0 && *value < 0.0 {
                *value = 0.0;
            }
        }
        value
    }
}

/// Takes this much from the cheapest pieces (cost, row, size). Returns the cost.
fn cheapest(pieces: &mut [(f64, usize, f64)], amount: f64, used: &mut [f64]) -> f64 {
    let (mut left, mut cost, mut rest) = (amount, 0.0, pieces);
    // Pieces are of about one size, so about so many are needed; sorting all would cost more.
    while left > 0.0 && !rest.is_empty() {
        let size = rest
            .iter()
            .map(|row| row.2)
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max);
        let count = if size > 0.0 {
            (left / size).ceil() as usize + 1
        } else {
            1
        };
        let count = count.clamp(1, rest.len());
        if count < rest.len() {
            rest.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let (first, others) = rest.split_at_mut(count);
        first.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &mut (price, row, most) in first {
            let taken = left.min(most);
            cost += taken * price;
            if let Some(own) = used.get_mut(row) {
                *own += taken;
            }
            left -= taken;
            if left <= 0.0 {
                break;
            }
        }
        rest = others;
    }
    cost
}
