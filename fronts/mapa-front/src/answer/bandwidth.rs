//! What a placement is worth: the bandwidth of the job's collective.

use mapa_core::{
    Candidate, Decision, DeviceSet, Expected, HardwareGraph, HostRates, Objective, Operation,
    Pattern, Scored, View, fitting_expected,
};
use serde::Serialize;

use crate::text::gbps;

/// The model by which the bandwidth of a request is reported.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    /// The model.
    pub objective: Objective<'static>,
    /// The model, if it is one of what is expected: it gives intervals too.
    pub expected: Option<Expected>,
}

/// The bandwidth of the job's collective on the devices that it gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bandwidth {
    /// GB/s by `bandwidth_model`; null for one device and for instances.
    pub bandwidth_gbps: Option<f64>,
    /// The model: the one that the request names, else the packing that fits the pattern, with links
    /// at nominal bandwidth.
    pub bandwidth_model: String,
    /// Whether the model holds for placements like this one; not where links count at an assumed rate.
    pub bandwidth_in_domain: bool,
    /// The assumed rate of each direct link between the devices, GB/s per direction; absent if the description has the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed_link_gbps: Option<f64>,
    /// The assumed rate of each path through the host between the devices, GB/s per direction; absent if the description has
    /// the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed_host_gbps: Option<f64>,
    /// If the model is one of what is expected: nine of ten measurements are above this, GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_gbps: Option<f64>,
    /// Nine of ten measurements are below this, GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_gbps: Option<f64>,
    /// What the links could carry at nominal bandwidth, GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominal_gbps: Option<f64>,
    /// If the search ended early and the policy chooses by this model: no devices have more, GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_gbps: Option<f64>,
    /// Whether it is that of an all-reduce over all ranks, though the job's pattern is no ring.
    #[serde(skip)]
    pub is_of_all_ranks: bool,
    /// Whether measurements that a fit was made of lie above the nominal rate, which is then no bound.
    #[serde(skip)]
    pub is_above_nominal: bool,
}

impl Bandwidth {
    /// The bandwidth of a placement; none if it is not one of this pattern on this machine.
    #[must_use]
    pub fn of(choice: &ModelChoice, pattern: &Pattern, scored: &Scored, view: &View<'_>) -> Self {
        let model = &choice.objective;
        let candidate = Candidate {
            view: *view,
            pattern,
            placement: scored.placement(),
        };
        // Instances have no links of their own: what they reach depends on their devices' ports.
        let devices = scored.placement().set();
        // Whole devices: the bandwidth of a collective needs two.
        let is_here = scored.placement().len() == pattern.len()
            && devices.iter().all(|id| view.graph().check(id).is_ok());
        let several = is_here && devices.len() > 1 && devices.is_subset(&view.graph().wholes());
        let value = several.then(|| model.score(&candidate));
        let estimate = (choice.expected.as_ref().filter(|_| several))
            .and_then(|expected| expected.of(view.graph(), &devices));
        // One device uses no links.
        let linked = if several {
            devices.clone()
        } else {
            DeviceSet::new()
        };
        let used = UsedLinks::of(view.graph(), &linked);
        let assumed_link_gbps = view
            .graph()
            .assumed_link_gbps()
            .filter(|_| several && used.direct);
        // A ring that carries more than any of its host paths has none.
        let needs_host = |path: &f64| !used.joins_all || value.is_some_and(|value| value <= *path);
        let assumed_host_gbps = used
            .slowest_host_gbps
            .filter(|_| several && view.graph().host_rates() == HostRates::Assumed)
            .filter(needs_host);
        let is_assumed = assumed_link_gbps.or(assumed_host_gbps).is_some();
        Self {
            assumed_link_gbps,
            assumed_host_gbps,
            low_gbps: estimate.as_ref().map(|estimate| estimate.low_gbps),
            high_gbps: estimate.as_ref().map(|estimate| estimate.high_gbps),
            nominal_gbps: estimate.as_ref().map(|estimate| estimate.nominal_gbps),
            // Far from its data a model may predict zero or less, which is no bandwidth.
            bandwidth_gbps: value.filter(|gbps| *gbps > 0.0),
            bandwidth_model: model.name().to_owned(),
            bandwidth_in_domain: is_here && model.in_domain(&candidate) && !is_assumed,
            at_most_gbps: None,
            is_above_nominal: estimate.as_ref().is_some_and(|estimate| {
                !estimate.nominal_is_bound && estimate.high_gbps > estimate.nominal_gbps
            }),
            is_of_all_ranks: fitting_expected(pattern) == Operation::AllReduce
                && *pattern != Pattern::ring(pattern.len()),
        }
    }

    /// The bandwidth of a decision, with the bound of a search that ended early.
    #[must_use]
    pub fn of_decision(choice: &ModelChoice, decision: &Decision, view: &View<'_>) -> Self {
        let best = decision.best();
        let first = best.scores().next().map(|(name, _)| name);
        Self {
            // The bound is of the policy's first score, so it is given only where that score is this bandwidth.
            at_most_gbps: decision
                .at_most()
                .filter(|_| first == Some(choice.objective.name())),
            ..Self::of(choice, decision.pattern(), best, view)
        }
    }

    /// Whether it stands on a rate that was assumed.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed_link_gbps.or(self.assumed_host_gbps).is_some()
    }

    /// The number and its model, for people; `None` where there is no number.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let value = gbps(self.bandwidth_gbps?);
        if let Some(((low, high), nominal)) =
            self.low_gbps.zip(self.high_gbps).zip(self.nominal_gbps)
        {
            let what = if self.is_of_all_ranks {
                " of an all-reduce over all ranks"
            } else {
                ""
            };
            let bound = if self.is_above_nominal {
                format!("measurements lie above the nominal rate, {}", gbps(nominal))
            } else {
                format!("links at nominal rate carry {}", gbps(nominal))
            };
            return Some(format!(
                "{value} GB/s expected{what}, {} to {}; {bound}",
                gbps(low),
                gbps(high)
            ));
        }
        let mut model = model_text(&self.bandwidth_model);
        let assumed = match (self.assumed_link_gbps, self.assumed_host_gbps) {
            (None, None) => None,
            (Some(link), None) => Some(format!("each link assumed to carry {}", gbps(link))),
            (None, Some(path)) => Some(format!("host paths assumed to carry {}", gbps(path))),
            (Some(link), Some(path)) => Some(format!(
                "each link assumed to carry {}, host paths {}",
                gbps(link),
                gbps(path)
            )),
        };
        if let Some(assumed) = &assumed {
            model = model.replace("links at nominal rate", assumed);
        }
        let doubt = if self.bandwidth_in_domain || assumed.is_some() {
            ""
        } else {
            ", outside the data it was fitted to"
        };
        let bound = match self.at_most_gbps {
            Some(most) if most > self.bandwidth_gbps? => {
                format!("; no devices have more than {}", gbps(most))
            }
            _ => String::new(),
        };
        Some(format!("{value} GB/s by {model}{doubt}{bound}"))
    }
}

/// The links that devices of a set use among each other: direct ones only where they reach each other's memory.
struct UsedLinks {
    /// Whether any two have direct links.
    direct: bool,
    /// Whether direct links join all of them.
    joins_all: bool,
    /// The slowest path through the host between two without direct links, GB/s per direction.
    slowest_host_gbps: Option<f64>,
}

impl UsedLinks {
    fn of(graph: &HardwareGraph, devices: &DeviceSet) -> Self {
        let mut joined: DeviceSet = devices.iter().take(1).collect();
        let is_direct = |a, b| graph.pair(a, b).direct.exists() && graph.peer_access(a, b).on;
        // Grows until no further device has a direct link to one that is in.
        loop {
            let more: DeviceSet = (devices - &joined)
                .iter()
                .filter(|&a| joined.iter().any(|b| is_direct(a, b)))
                .collect();
            if more.is_empty() {
                break;
            }
            joined = &joined | &more;
        }
        let pairs = devices.iter().flat_map(|a| {
            let below = devices.iter().take_while(move |&b| b < a);
            below.map(move |b| (a, b))
        });
        let (direct, host): (Vec<_>, Vec<_>) = pairs.partition(|&(a, b)| is_direct(a, b));
        let host = host.into_iter().map(|(a, b)| graph.pair(a, b).host.gbps);
        Self {
            direct: !direct.is_empty(),
            joins_all: joined == *devices,
            slowest_host_gbps: host.reduce(f64::min),
        }
    }
}

/// The end of a sentence on a model whose figures stand on assumed rates.
#[must_use]
pub fn on_assumed_rates(is_assumed: bool) -> &'static str {
    if is_assumed {
        "; some rates are assumed, as `allocate` says"
    } else {
        ""
    }
}

/// The name of a model in a sentence.
#[must_use]
pub fn model_text(name: &str) -> String {
    match name {
        // People know this score by its number in the paper.
        "effective_gbps" => "MAPA's Eq. 2".to_owned(),
        "expected_gbps" => "what is expected".to_owned(),
        name => {
            let words = name.strip_suffix("_gbps").unwrap_or(name).replace('_', " ");
            // A packing, which is not defined for one device. `choose_model` gives it links at nominal rate.
            match crate::scores::score_row(name) {
                Some(row) if !row.of_one_device => format!("{words}, links at nominal rate"),
                _ => words,
            }
        }
    }
}

/// Better devices that a job does not get.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withheld {
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// Their names, in rank order.
    pub names: Vec<String>,
    /// What they would carry, GB/s by the model of `bandwidth_gbps`.
    pub bandwidth_gbps: f64,
    /// Whether they are kept for jobs that need bandwidth; otherwise the policy prefers others.
    pub kept: bool,
}
