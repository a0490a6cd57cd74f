//! Models of bandwidth by name.

use std::fmt;
use std::sync::Arc;

use mapa_core::{
    AllToAll, Channels, Coefficients, Expected, LinkModel, Operation, Rates, RingPacking, Term,
    Tiers, TreePacking, effective_gbps, effective_gbps_with,
};

use super::registry::{Registry, Row};
use crate::model::{Model, Packing};

type Make = dyn Fn(Option<Rates>) -> Result<Model, mapa_core::Error> + Send + Sync;

/// A model of bandwidth that requests can name. Its values are GB/s.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelRow {
    /// The name, as requests write it.
    pub name: String,
    /// One line for help texts.
    pub summary: String,
    /// On which placements its values can be relied on, in one line.
    pub domain: String,
    /// Whether it takes the rates of links. A sum of terms has them in its coefficients.
    pub takes_rates: bool,
    pub(super) make: Arc<Make>,
}

impl ModelRow {
    /// A model that takes no rates.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        domain: impl Into<String>,
        make: impl Fn() -> Result<Model, mapa_core::Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            domain: domain.into(),
            takes_rates: false,
            // `Names::model` refuses rates for such a row.
            make: Arc::new(move |_| make()),
        }
    }

    /// A packing, at the rates that a request gives.
    fn packing(name: &str, summary: &str, make: fn(Rates) -> Packing) -> Self {
        Self {
            name: name.to_owned(),
            summary: summary.to_owned(),
            domain: PACKED.to_owned(),
            takes_rates: true,
            make: Arc::new(move |rates| Ok(Model::packing(make(rates.unwrap_or_default())))),
        }
    }
}

impl fmt::Debug for ModelRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRow")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Row for ModelRow {
    const WHAT: &'static str = "model";

    fn name(&self) -> &str {
        &self.name
    }
}

/// What a request can name in place of a model: a file.
pub const FILES: &str = "a coefficient file, or a file of shares";

/// The setting of packings that adds the host as a network.
pub(super) const NETWORK: &str = "host=network";

/// The packing of this name over direct links and the host as a network; none if it has no such form.
pub(super) fn over_network(name: &str) -> Option<Model> {
    let operation = match name {
        "ring-packing" => Operation::AllReduce,
        "tree" => Operation::TreeReduce,
        "all-to-all" => Operation::AllToAll,
        _ => return None,
    };
    Some(Model::expected(Expected::nominal(operation)))
}

/// Where Eq. 2 can be relied on.
const FITTED: &str = "rings of two to five GPUs with links of the DGX-1V, to which it was fitted";
/// Where expectations can be relied on.
const MEASURED: &str =
    "machines whose generations of links are known; the interval holds nine of ten measurements";
/// Where packings can be relied on.
const PACKED: &str = "two devices and more; links at nominal bandwidth, unless rates are given";

/// The models that MAPA ships: Eq. 2, then packings.
pub(super) fn built_in() -> Registry<ModelRow> {
    [
        ModelRow::new("paper", "Eq. 2 of the MAPA paper", FITTED, || {
            Ok(Model::eq_2(LinkModel::paper(), effective_gbps()))
        }),
        ModelRow::new(
            "paper-printed",
            "Eq. 2 as Table 2 prints it",
            FITTED,
            || {
                let objective =
                    effective_gbps_with("effective_printed_gbps", Coefficients::PRINTED);
                Ok(Model::eq_2(printed()?, objective))
            },
        ),
        ModelRow::packing(
            "ring-packing",
            "rings that all carry traffic at once",
            |rates| Packing::Rings(RingPacking::new(rates)),
        ),
        ModelRow::packing("tree", "trees that all carry traffic at once", |rates| {
            Packing::Trees(TreePacking::new(rates))
        }),
        ModelRow::packing("all-to-all", "an exchange between all pairs", |rates| {
            Packing::AllToAll(AllToAll::new(rates))
        }),
        ModelRow::new(
            "expected",
            "what an all-reduce of 1 GiB and more is expected to reach, with an interval",
            MEASURED,
            || Ok(Model::expected(Expected::shipped(Operation::AllReduce))),
        ),
        ModelRow::packing(
            "channels",
            "the channels of an imitated search of NCCL",
            |rates| Packing::channels(rates, &Channels::SPEEDS),
        ),
        // NCCL searches at other speeds since then, so it may find other channels.
        ModelRow::packing(
            "channels-2022",
            "the same with the speeds of 2022",
            |rates| Packing::channels(rates, &Channels::SPEEDS_2022),
        ),
        ModelRow::packing(
            "channels-2024",
            "the same with the speeds of 2024",
            |rates| Packing::channels(rates, &Channels::SPEEDS_2024),
        ),
    ]
    .into_iter()
    .collect()
}

/// Eq. 2 with the coefficients of Table 2.
fn printed() -> Result<LinkModel, mapa_core::Error> {
    let terms = Term::eq_2(Tiers::PAPER.len())
        // The coefficients are in the order of the terms.
        .into_iter()
        .zip(Coefficients::PRINTED.0)
        .collect();
    // It was fitted to the same data as the other form of Eq. 2.
    let domain = LinkModel::paper().domain().clone();
    let model = LinkModel::new("eq-2-printed", Tiers::PAPER, terms, domain)?;
    Ok(model.with_source("Table 2 of the paper, as printed"))
}
