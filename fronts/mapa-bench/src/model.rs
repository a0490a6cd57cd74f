//! The model of bandwidth that the command line names.

use std::fs;
use std::path::Path;

use mapa_core::{
    AllToAll, Bandwidth, Channels, Coefficients, DeviceSet, HardwareGraph, LinkModel, Objective,
    Rates, RingPacking, Term, Tiers, TreePacking, effective_gbps, effective_gbps_with,
    ring_packing_gbps,
};
use mapa_regress::read_model;

use crate::failure::Failure;

/// What `--model` can name.
const WORDS: &str = "paper, paper-printed, ring-packing, tree, all-to-all, channels, channels-2022, \
                     channels-2024, or a coefficient file";

/// A model of the bandwidth that a collective reaches.
pub(crate) struct Model {
    pub(crate) kind: Kind,
    /// The model as policies take it. Made once, because tables are cached by its identity.
    pub(crate) objective: Objective<'static>,
}

pub(crate) enum Kind {
    /// A sum of terms of link counts.
    Links(LinkModel),
    /// The traffic that the links of a set of devices can carry at once.
    Packing(Packing),
}

#[derive(Clone, Copy)]
pub(crate) enum Packing {
    Rings(RingPacking),
    Trees(TreePacking),
    AllToAll(AllToAll),
    /// The channels that an imitated search finds, and the packing of rings at the same rates,
    /// which bounds them.
    Channels(Channels<'static>, RingPacking),
}

impl Packing {
    /// The packing of this name.
    fn named(word: &str, rates: Rates) -> Option<Self> {
        let speeds = match word {
            "ring-packing" => return Some(Self::Rings(RingPacking::new(rates))),
            "tree" => return Some(Self::Trees(TreePacking::new(rates))),
            "all-to-all" => return Some(Self::AllToAll(AllToAll::new(rates))),
            "channels" => &Channels::SPEEDS[..],
            "channels-2022" => &Channels::SPEEDS_2022,
            "channels-2024" => &Channels::SPEEDS_2024,
            _ => return None,
        };
        let channels = Channels::new(rates, speeds);
        Some(Self::Channels(channels, RingPacking::new(rates)))
    }

    /// The bandwidth of a set of devices; none for one device.
    pub(crate) fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        match self {
            Self::Rings(rings) => rings.of(graph, set),
            Self::Trees(trees) => trees.of(graph, set),
            Self::AllToAll(exchange) => exchange.of(graph, set),
            Self::Channels(channels, _) => channels.of(graph, set),
        }
    }

    /// An upper bound on every packing, GB/s. The result of an imitated search is no such bound, so
    /// for channels the bound of ring packing is taken.
    pub(crate) fn at_most(&self, found: &Bandwidth, graph: &HardwareGraph, set: &DeviceSet) -> f64 {
        match self {
            Self::Channels(_, rings) => rings
                .of(graph, set)
                .map_or(found.gbps, |best| best.at_most_gbps),
            _ => found.at_most_gbps,
        }
    }

    fn objective(&self) -> Objective<'static> {
        match self {
            Self::Rings(rings) if rings.rates() == Rates::NOMINAL => ring_packing_gbps(),
            Self::Rings(rings) => rings.objective(),
            Self::Trees(trees) => trees.objective(),
            Self::AllToAll(exchange) => exchange.objective(),
            Self::Channels(channels, _) => channels.objective(),
        }
    }
}

impl Model {
    /// The model of this name or file, at these rates.
    ///
    /// # Errors
    ///
    /// If there is no such name or file, if the file cannot be read, or if rates are given for a
    /// model that is no packing.
    pub(crate) fn named(word: &str, rates: Option<Rates>) -> Result<Self, Failure> {
        if let Some(packing) = Packing::named(word, rates.unwrap_or_default()) {
            return Ok(Self {
                objective: packing.objective(),
                kind: Kind::Packing(packing),
            });
        }
        if rates.is_some() {
            return Err(Failure::malformed(format_args!(
                "--rates is for packings; the coefficients of `{word}` include the rates of links: expected no --rates"
            )));
        }
        let (model, objective) = match word {
            "paper" => (LinkModel::paper(), effective_gbps()),
            "paper-printed" => (
                printed()?,
                effective_gbps_with("effective_printed_gbps", Coefficients::PRINTED),
            ),
            file => {
                let model = from_file(file)?;
                let objective = model.objective();
                (model, objective)
            }
        };
        Ok(Self {
            kind: Kind::Links(model),
            objective,
        })
    }

    /// Whether the model is Eq. 2, as fitted or as printed.
    pub(crate) fn is_eq_2(&self) -> bool {
        matches!(
            self.objective.name(),
            "effective_gbps" | "effective_printed_gbps"
        )
    }
}

/// Eq. 2 with the coefficients of Table 2.
fn printed() -> Result<LinkModel, Failure> {
    let terms = Term::eq_2(Tiers::PAPER.len())
        .into_iter()
        .zip(Coefficients::PRINTED.0)
        .collect();
    let domain = LinkModel::paper().domain().clone();
    let model = LinkModel::new("eq-2-printed", Tiers::PAPER, terms, domain)?;
    Ok(model.with_source("Table 2 of the paper, as printed"))
}

fn from_file(file: &str) -> Result<LinkModel, Failure> {
    if !Path::new(file).exists() {
        return Err(Failure::malformed(format_args!(
            "no model is called `{file}`, and no file: expected {WORDS}"
        )));
    }
    let text = fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
    read_model(&text).map_err(|error| Failure::at(file, error))
}
