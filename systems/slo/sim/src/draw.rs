//! What happens in a run whatever the controller does: requests, phases of neighbours, pauses.
//!
//! Each is drawn from a stream of its own, and neighbours are toggled by time. So every
//! configuration meets the same requests and the same neighbours.

use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64;

use super::scenario::{HOSTS, Requests, SWITCHES, Scenario};
use crate::error::Error;
use mapa_sim::stream;

/// A request: when it arrives, and what it needs on a free machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawnRequest {
    /// When it arrives, ms.
    pub at_ms: f64,
    /// The time of its transfer on a free link, ms.
    pub transfer_ms: f64,
    /// Its compute time on the smallest profile without neighbours, ms.
    pub compute_ms: f64,
}

/// What a neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourAction {
    /// It copies all the time.
    Copies,
    /// It trains.
    Trains,
}

/// A busy phase of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// When it begins, ms.
    pub from_ms: f64,
    /// When it ends, ms.
    pub until_ms: f64,
    /// What the neighbour does.
    pub kind: NeighbourAction,
    /// The switch.
    pub switch: u32,
    /// The switch of the same host to which admission sends it if the tenant is on the first one.
    pub other: u32,
}

/// A whole run as drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnRun {
    /// The requests by arrival.
    pub requests: Vec<DrawnRequest>,
    /// The busy phases by beginning.
    pub busy: Vec<Busy>,
}

impl DrawnRun {
    /// The run of this seed.
    ///
    /// # Errors
    /// As [`Scenario::checked`].
    pub fn draw(scenario: &Scenario, seed: u64) -> Result<Self, Error> {
        let own = scenario.checked()?;
        let mut busy = Vec::new();
        for host in 0..HOSTS {
            for copying in 0..own.copying {
                let name = format!("slo copying {host} {copying}");
                phases(
                    &own,
                    stream(seed, &name),
                    host,
                    NeighbourAction::Copies,
                    &mut busy,
                );
            }
            let name = format!("slo training {host}");
            phases(
                &own,
                stream(seed, &name),
                host,
                NeighbourAction::Trains,
                &mut busy,
            );
        }
        busy.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
        Ok(Self {
            requests: requests(&own, seed),
            busy,
        })
    }
}

/// A log-normal number of this mean and coefficient of variation, by a standard normal one.
fn log_normal(mean: f64, cv: f64, normal: f64) -> f64 {
    let variance = (1.0 + cv * cv).ln();
    (mean.ln() - variance / 2.0 + variance.sqrt() * normal).exp()
}

fn requests(own: &Scenario, seed: u64) -> Vec<DrawnRequest> {
    let [mut gaps, mut transfers, mut computes, mut bursts] =
        ["arrivals", "transfers", "computes", "bursts"]
            .map(|name| stream(seed, &format!("slo {name}")));
    let end = own.seconds() * 1e3;
    let mut drawn = Vec::new();
    // The rate is constant until `change`; a gap that crosses it goes on at the new rate, as the
    // exponential distribution has no memory.
    let (mut at, mut is_burst, mut change) = (0.0, false, 0.0_f64);
    let between = |bursts: &mut Pcg64, is_burst: bool| match own.requests {
        Requests::Poisson(_) => f64::INFINITY,
        Requests::Bursts {
            burst_s, between_s, ..
        } => {
            let mean: f64 = if is_burst { burst_s } else { between_s };
            let one: f64 = Exp1.sample(bursts);
            one * mean * 1e3
        }
    };
    change += between(&mut bursts, is_burst);
    loop {
        let mut work: f64 = Exp1.sample(&mut gaps);
        loop {
            let per_ms = match own.requests {
                Requests::Poisson(rate) => rate,
                Requests::Bursts { rate, factor, .. } if is_burst => rate * factor,
                Requests::Bursts { rate, .. } => rate,
            } / 1e3;
            if at + work / per_ms <= change {
                at += work / per_ms;
                break;
            }
            work -= (change - at) * per_ms;
            at = change;
            is_burst = !is_burst;
            change += between(&mut bursts, is_burst);
        }
        if at >= end {
            return drawn;
        }
        let [x, c]: [f64; 2] = [
            StandardNormal.sample(&mut transfers),
            StandardNormal.sample(&mut computes),
        ];
        let compute_ms = log_normal(own.compute_ms, own.compute_cv, c);
        let drawn_transfer = log_normal(own.transfer_ms, own.transfer_cv, x);
        drawn.push(DrawnRequest {
            at_ms: at,
            transfer_ms: own
                .transfer_share
                .map_or(drawn_transfer, |share| share * compute_ms),
            compute_ms,
        });
    }
}

fn phases(
    own: &Scenario,
    mut from: Pcg64,
    host: usize,
    kind: NeighbourAction,
    busy: &mut Vec<Busy>,
) {
    let end = own.seconds() * 1e3;
    let first = (host * SWITCHES) as u32;
    let mut at = 0.0;
    loop {
        let [off, on]: [f64; 2] = [Exp1.sample(&mut from), Exp1.sample(&mut from)];
        let [chance, pick, other]: [f64; 3] = [from.random(), from.random(), from.random()];
        at += off * own.off_s * 1e3;
        if at >= end {
            return;
        }
        let until = at + on * own.on_s * 1e3;
        let one_of = |switches: usize, pick: f64| {
            ((pick * switches as f64) as usize).min(switches - 1) as u32
        };
        // The tenant's first switch is 0. Neighbours of its host prefer it; others prefer none.
        let switch = if host > 0 {
            first + one_of(SWITCHES, pick)
        } else if chance < own.home {
            0
        } else {
            1 + one_of(SWITCHES - 1, pick)
        };
        let step = 1 + one_of(SWITCHES - 1, other);
        busy.push(Busy {
            from_ms: at,
            until_ms: until,
            kind,
            switch,
            other: first + (switch - first + step) % SWITCHES as u32,
        });
        at = until;
    }
}
