//! The fit. A measurement is as fast as the slowest part on its way, so it tells the share of that
//! part alone: measured / nominal. The share of a part is the median over all measurements that it
//! binds, in which every machine counts as much as any other.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Class, DataWay, Efficiency, Factor, Part, Spread, Use, WayTerm};

/// A measured bandwidth, and the ways that the data could take.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The name of the measurement.
    pub id: String,
    /// The machine. Measurements of one machine are left out together.
    pub server: String,
    /// The measured bandwidth for large messages, GB/s:
    /// [`Expected::of_large_messages`](mapa_core::Expected::of_large_messages) of a measured one.
    pub gbps: f64,
    /// The ways, as [`Expected::ways`](mapa_core::Expected::ways) gives them.
    pub ways: Vec<DataWay>,
    /// The generation of the machine's direct links.
    pub generation: Option<String>,
}

impl Observation {
    /// The expectation at these shares, the class of its error, the term that binds, and on how many
    /// machines its share was measured.
    #[must_use]
    pub fn expected(&self, efficiency: &Efficiency) -> Option<(f64, Class, WayTerm, u32)> {
        let values = self.ways.iter().filter_map(|way| {
            let (gbps, term, share) = way.at(efficiency, self.generation.as_deref())?;
            Some((gbps, way.class, term, share.machines))
        });
        // Of equal ways the first: direct links.
        values.reduce(|a, b| if b.0 > a.0 { b } else { a })
    }

    /// The term whose share this measurement tells: of those that are about as narrow as the one that
    /// binds, the first on the way. Otherwise two parts with about the same share would take turns.
    fn credited(&self, efficiency: &Efficiency) -> Option<WayTerm> {
        let (gbps, ..) = self.expected(efficiency)?;
        let generation = self.generation.as_deref();
        let value =
            |term: &WayTerm| efficiency.of(term.part, term.using, generation).value * term.gbps;
        let way = self.ways.iter().find(|way| {
            let own = way.at(efficiency, generation);
            own.is_some_and(|(value, ..)| value == gbps)
        })?;
        way.terms
            .iter()
            .find(|term| value(term) <= gbps * ABOUT)
            .copied()
    }

    /// The natural logarithm of measured / expected.
    #[must_use]
    pub fn residual(&self, efficiency: &Efficiency) -> Option<f64> {
        let (gbps, ..) = self.expected(efficiency)?;
        (gbps > 0.0).then(|| (self.gbps / gbps).ln())
    }
}

/// Shares that were fitted, with what they leave unexplained.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedEfficiency {
    /// The shares. Their spreads are those of the start.
    pub efficiency: Efficiency,
    /// By share, the number of measurements that it binds; in the order of the shares.
    pub rows: Vec<usize>,
    /// The measurements that have a way, in their order, with ln(measured / expected).
    pub residuals: Vec<(String, f64)>,
}

/// The key of a share.
type ShareKey = (Part, Use, Option<String>);

fn key(term: &WayTerm, generation: Option<&str>) -> ShareKey {
    let direct = term.part == Part::Direct;
    let base = generation.filter(|_| direct).map(|name| {
        let base = name.split(',').next().unwrap_or(name);
        base.to_owned()
    });
    (term.part, term.using, base)
}

/// Terms are about as narrow as the narrowest up to this factor.
const ABOUT: f64 = 1.02;

/// The most rounds of a fit. It mostly ends after five.
const ROUNDS: usize = 100;

/// Fits shares to measurements, starting from others.
///
/// A share that no measurement binds is left out, so that it is taken from what is nearest
/// ([`Efficiency::of`]); unless it was set by hand at the start (`machines` = 0).
///
/// # Complexity
/// O(r n log n) for n measurements and r rounds, at most 100.
#[must_use]
pub fn fit_efficiency(observations: &[Observation], start: &Efficiency) -> FittedEfficiency {
    fit(observations, start, false)
}

/// Fits shares to the measurements of one machine. A share that no measurement binds stays as it is at
/// the start.
///
/// # Complexity
/// As [`fit_efficiency`].
#[must_use]
pub fn fit_machine(observations: &[Observation], start: &Efficiency) -> FittedEfficiency {
    fit(observations, start, true)
}

fn fit(observations: &[Observation], start: &Efficiency, keep: bool) -> FittedEfficiency {
    let mut efficiency = start.clone();
    let mut bound: BTreeMap<ShareKey, Vec<(&str, f64)>> = BTreeMap::new();
    let mut seen: BTreeSet<Vec<u64>> = BTreeSet::new();
    for _ in 0..ROUNDS {
        bound.clear();
        for observation in observations {
            if let Some(term) = observation.credited(&efficiency) {
                let share = observation.gbps / term.gbps;
                let bound = bound
                    .entry(key(&term, observation.generation.as_deref()))
                    .or_default();
                bound.push((&observation.server, share));
            }
        }
        let next = with(start, &efficiency, &bound, keep);
        let same = next.factors == efficiency.factors;
        efficiency = next;
        let values = efficiency.factors.iter();
        // A cycle between two assignments ends here too, at the first of them that comes again.
        if same || !seen.insert(values.map(|factor| factor.value.to_bits()).collect()) {
            break;
        }
    }
    let rows = efficiency.factors.iter().map(|factor| {
        let key = (factor.part, factor.using, factor.generation.clone());
        bound.get(&key).map_or(0, Vec::len)
    });
    FittedEfficiency {
        rows: rows.collect(),
        residuals: (observations.iter())
            .filter_map(|observation| {
                Some((observation.id.clone(), observation.residual(&efficiency)?))
            })
            .collect(),
        efficiency,
    }
}

/// The shares that these measurements bind.
fn with(
    start: &Efficiency,
    now: &Efficiency,
    bound: &BTreeMap<ShareKey, Vec<(&str, f64)>>,
    keep: bool,
) -> Efficiency {
    let mut factors: Vec<Factor> = Vec::new();
    let of = |factor: &Factor| (factor.part, factor.using, factor.generation.clone());
    for (key, shares) in bound {
        let (part, using, generation) = key.clone();
        let is = |factor: &&Factor| of(factor) == *key;
        let hand = start.factors.iter().find(is);
        // What was set by hand has no measurements of its own, unless they are of this very machine.
        if let Some(hand) = hand.filter(|factor| factor.machines == 0 && !keep) {
            factors.push(hand.clone());
            continue;
        }
        let servers: BTreeSet<&str> = shares.iter().map(|(server, _)| *server).collect();
        factors.push(Factor {
            part,
            using,
            generation,
            // Four digits: more say nothing.
            value: (median(shares) * 1e4).round() / 1e4,
            machines: servers.len() as u32,
        });
    }
    // What is set by hand stays, also where it binds nothing.
    for hand in start
        .factors
        .iter()
        .filter(|factor| keep || factor.machines == 0)
    {
        if !bound.contains_key(&of(hand)) {
            factors.push(hand.clone());
        }
    }
    factors.sort_by_key(of);
    Efficiency {
        factors,
        ..now.clone()
    }
}

/// The median of shares in which every machine counts as much as any other.
fn median(shares: &[(&str, f64)]) -> f64 {
    let mut rows: BTreeMap<&str, f64> = BTreeMap::new();
    for (server, _) in shares {
        *rows.entry(server).or_default() += 1.0;
    }
    let mut weighted: Vec<(f64, f64)> = (shares.iter())
        .map(|(server, share)| (*share, 1.0 / rows.get(server).copied().unwrap_or(1.0)))
        .collect();
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = rows.len() as f64 / 2.0;
    let mut sum = 0.0;
    for (at, &(share, weight)) in weighted.iter().enumerate() {
        sum += weight;
        if (sum - half).abs() < 1e-9 {
            // Two in the middle.
            return weighted
                .get(at + 1)
                .map_or(share, |(next, _)| (share + next) / 2.0);
        }
        if sum > half {
            return share;
        }
    }
    1.0
}

/// How a measurement is predicted by shares that were fitted without its machine.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The name of the measurement.
    pub id: String,
    /// The machine.
    pub server: String,
    /// The class of the prediction's error.
    pub class: Class,
    /// ln(measured / predicted).
    pub residual: f64,
    /// The interval of the prediction, from measurements of other machines alone: the factors by
    /// which a measurement may be lower and higher.
    pub interval: (f64, f64),
}

impl LeftOut {
    /// Whether the interval holds the measurement.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let ratio = self.residual.exp();
        (self.interval.0..=self.interval.1).contains(&ratio)
    }
}

/// Predicts every measurement by shares that were fitted without its machine, and the spreads of all
/// classes from these errors: nine of ten errors of a class are below its spread.
///
/// # Complexity
/// That of [`fit_efficiency`] for each machine.
#[must_use]
pub fn leave_one_server_out(
    observations: &[Observation],
    start: &Efficiency,
) -> (Vec<LeftOut>, Vec<Spread>) {
    let servers: BTreeSet<&str> = observations
        .iter()
        .map(|observation| observation.server.as_str())
        .collect();
    let mut errors: Vec<(LeftOut, u32)> = Vec::new();
    for server in servers {
        let (own, others): (Vec<_>, Vec<_>) = observations
            .iter()
            .cloned()
            .partition(|observation| observation.server == server);
        let without = fit_efficiency(&others, start).efficiency;
        for observation in own {
            let Some((gbps, class, _, machines)) = observation.expected(&without) else {
                continue;
            };
            let left = LeftOut {
                residual: (observation.gbps / gbps).ln(),
                id: observation.id,
                server: observation.server,
                class,
                interval: (0.0, 0.0),
            };
            errors.push((left, machines));
        }
    }
    let of = |class: Class, without: Option<&str>| {
        let reason = errors.iter().map(|(reason, _)| reason);
        let own = reason
            .filter(|reason| reason.class == class && Some(reason.server.as_str()) != without);
        let (servers, logs): (BTreeSet<&str>, Vec<f64>) = own
            .map(|reason| (reason.server.as_str(), reason.residual.abs()))
            .unzip();
        spread(class, servers.len() as u32, logs)
    };
    let intervals: Vec<(f64, f64)> = (errors.iter())
        .map(|(reason, machines)| {
            let judged = Efficiency {
                spreads: of(reason.class, Some(&reason.server)).into_iter().collect(),
                ..start.clone()
            };
            judged.interval(reason.class, *machines)
        })
        .collect();
    let spreads = Class::all().filter_map(|class| of(class, None)).collect();
    let mut left: Vec<LeftOut> = errors.into_iter().map(|(reason, _)| reason).collect();
    for (reason, interval) in left.iter_mut().zip(intervals) {
        reason.interval = interval;
    }
    (left, spreads)
}

/// The spread of a class: the least error that nine of ten do not exceed, counted as one more error
/// than there are, so that small samples give wide spreads.
fn spread(class: Class, machines: u32, mut logs: Vec<f64>) -> Option<Spread> {
    logs.sort_by(f64::total_cmp);
    let at = (0.9 * (logs.len() as f64 + 1.0)).ceil() as usize;
    let log = logs.get(at.clamp(1, logs.len().max(1)) - 1)?;
    Some(Spread {
        class,
        log: (log * 1e3).round() / 1e3,
        machines,
    })
}
