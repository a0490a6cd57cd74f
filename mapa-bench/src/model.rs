//! Models of bandwidth, by the words of the command line.

use std::fs;
use std::path::Path;

use mapa_core::{
    Bandwidth, Coefficients, DeviceSet, HardwareGraph, LinkModel, Objective, Rates, RingPacking, Term, Tiers,
    effective_gbps, effective_gbps_with, ring_packing_gbps,
};
use mapa_regress::read_model;

use crate::failure::Failure;

/// What `--model` can be, besides a file.
pub(crate) const WORDS: &str = "paper, paper-printed, ring-packing, or a coefficient file";

/// A model of what a collective reaches.
pub(crate) struct Model {
    pub(crate) kind: Kind,
    /// It, as policies take it. Made once: tables are kept by it.
    pub(crate) objective: Objective<'static>,
}

pub(crate) enum Kind {
    /// A sum of terms of link counts.
    Links(LinkModel),
    /// What the links of a set can carry at once.
    Packing(Packing),
}

#[derive(Clone, Copy)]
pub(crate) enum Packing {
    Rings(RingPacking),
}

impl Packing {
    /// None for one device.
    pub(crate) fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        match self {
            Self::Rings(rings) => rings.of(graph, set),
        }
    }
}

impl Model {
    /// The model that a word or file means, at nominal rates.
    pub(crate) fn named(word: &str) -> Result<Self, Failure> {
        let (kind, objective) = match word {
            "paper" => (Kind::Links(LinkModel::paper()), effective_gbps()),
            "paper-printed" => {
                let objective = effective_gbps_with("effective_printed_gbps", Coefficients::PRINTED);
                (Kind::Links(printed()?), objective)
            }
            "ring-packing" => (Kind::Packing(Packing::Rings(RingPacking::default())), ring_packing_gbps()),
            file => {
                let model = from_file(file)?;
                let objective = model.objective();
                (Kind::Links(model), objective)
            }
        };
        Ok(Self { kind, objective })
    }

    /// The same with other rates; only packings have any.
    pub(crate) fn at(self, rates: Rates) -> Result<Self, Failure> {
        let packing = match self.kind {
            Kind::Packing(Packing::Rings(_)) => Packing::Rings(RingPacking::new(rates)),
            Kind::Links(_) => {
                return Err(Failure::malformed("--rates is for packings, not for sums of terms, which have theirs in them"));
            }
        };
        let objective = match packing {
            Packing::Rings(rings) => rings.objective(),
        };
        Ok(Self { kind: Kind::Packing(packing), objective })
    }

    /// Whether it is Eq. 2 with the paper's coefficients.
    pub(crate) fn is_eq_2(&self) -> bool {
        self.objective.name().starts_with("effective_")
    }
}

/// Eq. 2 with the coefficients of Table 2.
fn printed() -> Result<LinkModel, Failure> {
    let terms = Term::eq_2(Tiers::PAPER.len()).into_iter().zip(Coefficients::PRINTED.0).collect();
    let domain = LinkModel::paper().domain().clone();
    let model = LinkModel::new("eq-2-printed", Tiers::PAPER, terms, domain)?;
    Ok(model.with_source("Table 2 of the paper, as printed"))
}

fn from_file(file: &str) -> Result<LinkModel, Failure> {
    if !Path::new(file).exists() {
        return Err(Failure::malformed(format_args!("model `{file}`: expected {WORDS}; there is no such file")));
    }
    let wrong = |error: &dyn std::fmt::Display| Failure::malformed(format_args!("{file}: {error}"));
    let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
    read_model(&text).map_err(|error| wrong(&error))
}
