//! `score`: the bandwidth of given devices by a model, term by term or ring by ring.

use std::num::NonZeroU64;
use std::sync::Arc;

use mapa_core::{
    Bandwidth, Candidate, Census, DeviceId, DeviceSet, Efficiency, Estimate, Expected,
    HardwareGraph, Hop, LinkModel, Objective, Operation, Pattern, Placement, Rates, Request,
    greedy,
};
use mapa_topologies::{Machine, Warning, collective_rates};
use serde::{Deserialize, Serialize};

use crate::answer::score::{self as answer, NoBandwidth, Order, Score, SumOfTerms};
use crate::answer::{ids, names as names_of};
use crate::error::Error;
use crate::files::Files;
use crate::job::{is_file, job, pattern};
use crate::machine::{Loaded, MachineSpec};
use crate::model::{Kind, Model, Packing};
use crate::names::Names;
use crate::request::DeviceName;

/// A request for the bandwidth of given devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ScoreRequest {
    /// The machine. Whoever computes the answer has loaded it by this.
    pub machine: MachineSpec,
    /// The devices in rank order.
    pub devices: Vec<DeviceName>,
    /// The model: a name, or the path of a coefficient file or a file of shares.
    pub model: String,
    /// Which ranks communicate, for sums of terms; a ring if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The rate of a link, for packings: `nominal`, `nccl`, or a measured pair `A,B=GBPS`. Nominal if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<String>,
    /// What the devices do, such as `all_gather`, for what is expected; `all_reduce` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The bytes of a message, for what is expected; 1 GiB and more if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<NonZeroU64>,
    /// Whether link switches reduce (NVLS), for what is expected; where NCCL lets them if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvls: Option<bool>,
}

impl Default for ScoreRequest {
    fn default() -> Self {
        Self {
            machine: MachineSpec::default(),
            devices: Vec::new(),
            model: "paper".to_owned(),
            pattern: None,
            rates: None,
            operation: None,
            message_bytes: None,
            nvls: None,
        }
    }
}

/// The bandwidth of devices, and what it follows from.
pub struct ScoreOutcome {
    /// The model, as the request names it.
    pub model: String,
    /// The devices in the order of the request.
    pub devices: Placement,
    /// Whether the order of the devices matters.
    pub is_ordered: bool,
    /// The bandwidth and the numbers that it follows from, or why there is none.
    pub bandwidth: ScoredBandwidth,
}

/// A bandwidth, and what it follows from.
pub enum ScoredBandwidth {
    /// There is none, for this reason.
    None(&'static str),
    /// Nothing is expected of the operation, for this reason.
    NoWay(&'static str, answer::Expected),
    /// A sum of terms.
    Sum(ExplainedSum),
    /// A packing.
    Packing(PackedLinks),
    /// Direct links and the host as a network, at nominal bandwidths.
    OverNetwork(Estimate),
    /// What is expected.
    Expected(answer::Expected),
}

/// A sum of terms for a placement.
pub struct ExplainedSum {
    /// The model: its terms, their coefficients and their source.
    pub model: LinkModel,
    /// The links of the placement, by tier.
    pub census: Census,
    /// The sum, GB/s.
    pub gbps: f64,
    /// Whether the model was fitted to placements like this one.
    pub in_domain: bool,
    /// The rank order of highest aggregated bandwidth on the same devices, its prediction in GB/s and whether the model
    /// was fitted to such; none if that order has the same links.
    pub best: Option<(Placement, f64, bool)>,
    /// Reasons to doubt the number.
    pub notes: Vec<&'static str>,
}

/// The edges of a spanning tree, and its algorithm bandwidth, GB/s.
type Tree = (Vec<(DeviceId, DeviceId)>, f64);

/// A packing on two devices or more.
pub struct PackedLinks {
    /// The best packing that was found, and whether it is proved to be the best.
    pub found: Bandwidth,
    /// What was searched for.
    pub packing: Packing,
    /// An upper bound on every packing, GB/s.
    pub at_most: f64,
    /// The trees, if these were searched for, with GB/s each.
    pub trees: Vec<Tree>,
    /// The number of devices.
    pub devices: usize,
    /// Whether links are at other rates than nominal, which measurements may exceed.
    pub is_rated: bool,
}

/// The bandwidth of given devices by a model, as `mapa-bench score --json` answers.
///
/// # Errors
/// If the request cannot be read, contradicts itself, or names what the machine does not have.
pub fn score(
    names: &Names,
    files: &dyn Files,
    loaded: &Loaded,
    request: &ScoreRequest,
) -> Result<Score, Error> {
    Ok(request.outcome(names, files, loaded)?.answer(loaded))
}

/// That options of operations are given for another model.
const OF_OPERATIONS: &str = "--operation, --message-bytes and --nvls are for --model expected and files of shares: expected such a model";

/// Why there is no expectation.
const NO_WAY: &str = "no operation of one server joins these devices";

/// Why one device has no expectation.
const ONE: &str = "one device has no collective bandwidth";

impl ScoreRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// As [`score`].
    pub fn outcome(
        &self,
        names: &Names,
        files: &dyn Files,
        loaded: &Loaded,
    ) -> Result<ScoreOutcome, Error> {
        let graph = loaded.graph();
        let devices = in_order(&self.devices, graph)?;
        let rates = self.rates.as_deref();
        let rates = rates
            .map(|words| rates_of(words, &loaded.machine, graph))
            .transpose()?;
        let model = names.model(&self.model, rates, files)?;
        let is_rated = rates.is_some_and(|rates| rates != Rates::NOMINAL);
        Ok(ScoreOutcome {
            model: self.model.clone(),
            is_ordered: matches!(model.kind, Kind::Links(_)),
            bandwidth: self.bandwidth(&model, &devices, is_rated, loaded, files)?,
            devices,
        })
    }

    fn bandwidth(
        &self,
        model: &Model,
        devices: &Placement,
        is_rated: bool,
        loaded: &Loaded,
        files: &dyn Files,
    ) -> Result<ScoredBandwidth, Error> {
        let graph = loaded.graph();
        match &model.kind {
            // These two arms hold for all kinds but expectations, so they come before the kinds.
            kind if !matches!(kind, Kind::Expected(_)) && self.is_of_operation() => {
                Err(Error::malformed(OF_OPERATIONS))
            }
            kind if devices.len() < 2 && !matches!(kind, Kind::Expected(_)) => {
                Ok(ScoredBandwidth::None(ONE))
            }
            Kind::Links(links) => {
                let words = self.pattern.as_deref().unwrap_or("ring");
                let pattern = own_pattern(words, devices.len(), files)?;
                let mut sum = ExplainedSum::new(links, &model.objective, &pattern, devices, graph)?;
                if model.is_eq_2 && !is_ring(&pattern) {
                    sum.notes
                        .push("Eq. 2 was fitted to rings, not to other patterns");
                }
                Ok(ScoredBandwidth::Sum(sum))
            }
            Kind::Expected(_) if self.pattern.is_some() => Err(Error::malformed(
                "--pattern is for sums of terms: expected --operation, and no --pattern",
            )),
            Kind::Expected(expected) => self.expected(expected, devices, loaded),
            Kind::Own => Err(Error::malformed(
                "--model: expected a sum of terms or a packing, which can be explained",
            )),
            Kind::Packing(_) if self.pattern.is_some() => Err(Error::malformed(
                "--pattern is for sums of terms: a packing depends on the set of devices, not on a pattern; expected no --pattern",
            )),
            Kind::Packing(packing) => Ok(match packing.of(graph, &devices.set()) {
                Some(found) => ScoredBandwidth::Packing(PackedLinks::new(
                    *packing,
                    found,
                    &devices.set(),
                    is_rated,
                    graph,
                )),
                None => ScoredBandwidth::None(ONE),
            }),
        }
    }

    /// Whether something names an operation, or what belongs to one.
    fn is_of_operation(&self) -> bool {
        self.operation.is_some() || self.message_bytes.is_some() || self.nvls.is_some()
    }

    /// What is expected of an operation on these devices.
    fn expected(
        &self,
        model: &Expected,
        devices: &Placement,
        loaded: &Loaded,
    ) -> Result<ScoredBandwidth, Error> {
        let graph = loaded.graph();
        // With nominal efficiency the model stands for direct links and the host as a network. It has an
        // operation of its own, which no option changes.
        let is_nominal = *model.efficiency() == Efficiency::nominal();
        if is_nominal && self.is_of_operation() {
            return Err(Error::malformed(OF_OPERATIONS));
        }
        let operation = match &self.operation {
            _ if is_nominal => model.operation(),
            Some(name) => name.parse()?,
            None => Operation::default(),
        };
        let bytes = self.message_bytes.map(u64::from);
        let model = Expected::new(operation, Arc::clone(model.efficiency()))
            .message_bytes(bytes)
            // `on` is like absent: switches reduce where NCCL lets them, and an option can only forbid it.
            .in_switch(self.nvls != Some(false));
        let devices: Vec<DeviceId> = devices.iter().copied().collect();
        // An operation between pairs takes the devices two by two.
        let in_pairs = !operation.is_collective() && !operation.is_of_host();
        // One device alone is not malformed: the answer says why it has no bandwidth.
        if in_pairs && devices.len() > 1 && devices.len() % 2 == 1 {
            return Err(Error::malformed(format_args!(
                "--operation {operation}: expected pairs of devices, from each first to each second, not {} devices",
                devices.len()
            )));
        }
        let why = if devices.len() == 1 { ONE } else { NO_WAY };
        Ok(match model.along(graph, &devices) {
            Some(estimate) if is_nominal => ScoredBandwidth::OverNetwork(estimate),
            Some(estimate) => ScoredBandwidth::Expected(answer::Expected::new(
                &estimate,
                operation,
                bytes,
                loaded.machine.vendor,
                graph.fabric().is_virtual(),
            )),
            None if is_nominal => ScoredBandwidth::None(why),
            None => ScoredBandwidth::NoWay(why, answer::Expected::none(why, operation, bytes)),
        })
    }
}

impl ScoreOutcome {
    /// The answer. Where something is expected, what was odd about the machine's description is among its notes.
    #[must_use]
    pub fn answer(&self, loaded: &Loaded) -> Score {
        let names = names_of(&self.devices, loaded.graph());
        Score {
            model: self.model.clone(),
            devices: ids(&self.devices),
            names: names.into_iter().map(str::to_owned).collect(),
            bandwidth: match &self.bandwidth {
                ScoredBandwidth::None(why) => answer::Bandwidth::None(NoBandwidth {
                    gbps: None,
                    in_domain: false,
                    reason: (*why).to_owned(),
                }),
                ScoredBandwidth::NoWay(_, expected) => {
                    answer::Bandwidth::Expected(expected.clone())
                }
                ScoredBandwidth::Sum(sum) => answer::Bandwidth::Sum(sum.answer()),
                ScoredBandwidth::Packing(packed) => answer::Bandwidth::Packing(packed.answer()),
                ScoredBandwidth::OverNetwork(estimate) => {
                    answer::Bandwidth::Packing(over_network(estimate))
                }
                ScoredBandwidth::Expected(expected) => {
                    let mut expected = expected.clone();
                    let warnings = loaded.machine.warnings.iter();
                    expected.notes.extend(warnings.map(Warning::to_string));
                    answer::Bandwidth::Expected(expected)
                }
            },
        }
    }
}

/// The answer for direct links and the host as a network.
fn over_network(estimate: &Estimate) -> answer::Packing {
    let over_host = estimate.hop != Hop::Direct;
    answer::Packing {
        gbps: estimate.gbps,
        at_most_gbps: estimate.gbps,
        exact: !over_host,
        imitated: false,
        over_host,
        in_domain: true,
        rings: None,
        trees: None,
        pair_gbps: None,
    }
}

/// The pattern on these devices. A pattern file or degrees must have as many ranks.
fn own_pattern(words: &str, devices: usize, files: &dyn Files) -> Result<Pattern, Error> {
    // A shape takes as many ranks as there are devices; degrees and files have their own number.
    if !words.contains('=') && !is_file(words, files) {
        return pattern(words, devices, files);
    }
    let job_of_words = job(words, None, None, files)?;
    if job_of_words.ranks == devices {
        return Ok(job_of_words.pattern);
    }
    let (name, ranks) = (job_of_words.name(words), job_of_words.ranks);
    Err(Error::malformed(format_args!(
        "--devices: the pattern {name} has {ranks} ranks: expected {ranks} devices, not {devices}"
    )))
}

/// The devices of a list, in its order.
fn in_order(list: &[DeviceName], graph: &HardwareGraph) -> Result<Placement, Error> {
    let mut devices: Vec<DeviceId> = Vec::new();
    for name in list {
        // A blank name, as behind a last comma, stands for nothing.
        let Some(id) = name.find(graph)? else {
            continue;
        };
        if devices.contains(&id) {
            return Err(Error::malformed(format_args!(
                "--devices: {} is named twice",
                graph.device(id).name
            )));
        }
        devices.push(id);
    }
    if devices.is_empty() {
        return Err(Error::malformed(
            "--devices names no device: expected a list such as 0,3,4",
        ));
    }
    Ok(devices.into_iter().collect())
}

/// The rates of links that these words name.
fn rates_of(words: &str, machine: &Machine, graph: &HardwareGraph) -> Result<Rates, Error> {
    match words {
        "nominal" => return Ok(Rates::NOMINAL),
        "nccl" => {
            return collective_rates(machine).ok_or_else(|| {
                Error::malformed(
                    "--rates nccl: the rate at which NCCL or RCCL counts these links is not known: expected a \
                     measured pair A,B=GBPS",
                )
            });
        }
        _ => {}
    }
    let parts = words.split_once('=').and_then(|(pair, measured)| {
        let (a, b) = pair.split_once(',')?;
        Some((a, b, measured.trim().parse().ok()?))
    });
    let (a, b, measured) = parts.ok_or_else(|| {
        Error::malformed(format_args!(
            "--rates {words}: expected nominal, nccl, or a measured pair A,B=GBPS"
        ))
    })?;
    let (a, b) = (graph.find(a)?, graph.find(b)?);
    // `Rates::calibrated` says only that these devices have no direct link. The hint on what to do instead is of this
    // front.
    let over_host = a != b && graph.link(a, b).class.is_host();
    Rates::calibrated(graph, a, b, measured).map_err(|error| match over_host {
        true => Error::malformed(format_args!(
            "{error}; for paths through the host, use --pcie-gbps"
        )),
        false => error.into(),
    })
}

impl ExplainedSum {
    fn new(
        model: &LinkModel,
        objective: &Objective<'_>,
        pattern: &Pattern,
        devices: &Placement,
        graph: &HardwareGraph,
    ) -> Result<Self, Error> {
        // A model counts links by tier, and has no tier for a link that is not there.
        for edge in pattern.edges() {
            let [a, b] = [edge.a, edge.b].map(|rank| devices[usize::from(rank)]);
            if !graph.link(a, b).exists() {
                let [a, b] = [a, b].map(|id| &graph.device(id).name);
                return Err(Error::malformed(format_args!("no link joins {a} and {b}")));
            }
        }
        // The devices are given, so it does not matter what is in use.
        let idle = graph.all();
        let view = graph.with_free(&idle);
        let scored = |placement: &[DeviceId]| {
            let census = Census::of(pattern, placement, graph, model.tiers());
            (
                census,
                model.predict(&census),
                objective.in_domain(&Candidate {
                    view,
                    pattern,
                    placement,
                }),
            )
        };
        let (census, gbps, in_domain) = scored(devices);
        let best = best_order(&devices.set(), pattern, graph).and_then(|order| {
            let (other, gbps, in_domain) = scored(&order);
            // An order with the same links has the same prediction, so it is no advice.
            (other != census).then_some((order, gbps, in_domain))
        });
        let mut notes = Vec::new();
        if !in_domain {
            notes.push("the model was not fitted to placements like this one");
        }
        if gbps < 0.0 {
            notes.push(
                "a negative bandwidth is impossible: the model does not apply to these links",
            );
        }
        Ok(Self {
            model: model.clone(),
            census,
            gbps,
            in_domain,
            best,
            notes,
        })
    }

    /// The number of links of each tier, by name.
    pub fn links(&self) -> impl Iterator<Item = (String, u32)> {
        self.model
            .tiers()
            .names()
            .into_iter()
            .enumerate()
            .map(|(tier, name)| (name, self.census.count(tier)))
    }

    /// Each term with its value, coefficient and product, GB/s.
    pub fn terms(&self) -> impl Iterator<Item = (String, [f64; 3])> {
        self.model
            .explain(&self.census)
            // Adding 0 turns -0, which would print as such, into 0.
            .map(|(term, value, factor)| (term, [value, factor, value * factor + 0.0]))
    }

    fn answer(&self) -> SumOfTerms {
        let term = |(term, [value, coefficient, product]): (String, [f64; 3])| answer::Term {
            term,
            value,
            coefficient,
            product,
        };
        SumOfTerms {
            gbps: self.gbps,
            in_domain: self.in_domain,
            source: self.model.source().to_owned(),
            links: self.links().collect(),
            terms: self.terms().map(term).collect(),
            best_order: self.best.as_ref().map(|(order, gbps, in_domain)| Order {
                devices: ids(order),
                gbps: *gbps,
                in_domain: *in_domain,
            }),
            notes: self.notes.iter().map(|&note| note.to_owned()).collect(),
        }
    }
}

impl PackedLinks {
    fn new(
        packing: Packing,
        found: Bandwidth,
        set: &DeviceSet,
        is_rated: bool,
        graph: &HardwareGraph,
    ) -> Self {
        Self {
            at_most: packing.at_most(&found, graph, set),
            trees: match &packing {
                // Trees are packed on direct links. Over the host there are none to list.
                Packing::Trees(trees) if !found.over_host => trees.trees(graph, set),
                _ => Vec::new(),
            },
            devices: set.len(),
            found,
            packing,
            is_rated,
        }
    }

    /// Whether the packing comes from an imitation of NCCL's search, which proves no bound.
    #[must_use]
    pub fn is_imitated(&self) -> bool {
        matches!(self.packing, Packing::Channels(..))
    }

    /// The bandwidth of each ordered pair in an all-to-all, GB/s.
    #[must_use]
    pub fn of_pair(&self) -> Option<f64> {
        let others = self.devices as f64 - 1.0;
        matches!(self.packing, Packing::AllToAll(_)).then(|| self.found.gbps / others)
    }

    fn answer(&self) -> answer::Packing {
        let rings = || {
            let rings = self.found.rings.iter();
            rings.map(|(ring, gbps)| answer::Ring {
                devices: ids(ring),
                gbps: *gbps,
            })
        };
        let trees = || {
            self.trees.iter().map(|(tree, gbps)| answer::Tree {
                edges: tree.iter().map(|(a, b)| [a.0, b.0]).collect(),
                gbps: *gbps,
            })
        };
        let is_rings = matches!(self.packing, Packing::Rings(_) | Packing::Channels(..));
        answer::Packing {
            gbps: self.found.gbps,
            at_most_gbps: self.at_most,
            exact: !self.is_imitated() && self.found.is_exact(),
            imitated: self.is_imitated(),
            over_host: self.found.over_host,
            in_domain: true,
            rings: is_rings.then(|| rings().collect()),
            trees: matches!(self.packing, Packing::Trees(_)).then(|| trees().collect()),
            pair_gbps: self.of_pair(),
        }
    }
}

/// Whether the pattern is one cycle through all ranks, as [`Pattern::ring`]; for two ranks, two
/// edges.
fn is_ring(pattern: &Pattern) -> bool {
    let n = pattern.len();
    let near = |rank: usize| {
        let ends = pattern
            .edges()
            .iter()
            .map(|edge| [edge.a, edge.b].map(usize::from));
        ends.filter(move |ends| ends.contains(&rank))
            .map(move |[a, b]| if a == rank { b } else { a })
    };
    // If each rank has two neighbours, the pattern is a set of cycles. The walk below tells whether it is one.
    if (0..n).any(|rank| near(rank).count() != 2) {
        return false;
    }
    let mut met = vec![0];
    while let Some(next) = met
        .last()
        .and_then(|&last| near(last).find(|next| !met.contains(next)))
    {
        met.push(next);
    }
    met.len() == n
}

/// The rank order of highest aggregated bandwidth on these devices, if there is any.
fn best_order(set: &DeviceSet, pattern: &Pattern, graph: &HardwareGraph) -> Option<Placement> {
    // Only these devices are free, so the decision can only be about their order.
    let best = graph
        .with_free(set)
        .decide(greedy(), &Request::new(pattern.clone()))
        .ok()?;
    Some(best.placement().clone())
}
