//! `mig`: how a GPU can be partitioned into isolated instances.

use std::sync::Arc;

use mapa_core::mig::{Layout, Model};
use mapa_topologies::mig::{Gpu, Offer, catalogue, named};
use serde::{Deserialize, Serialize};

use crate::answer::mig::{About, Fit, Gpus, Instance, LayoutCounts, Listed, Partitions, Profile};
use crate::error::Error;
use crate::instances::{fit, wanted};

/// A request for the partitions of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MigRequest {
    /// The GPU, such as `a100-40gb`.
    pub gpu: String,
    /// Profiles of instances that should exist at once, separated by commas; without them, all profiles are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<String>,
    /// Whether the layouts to which no instance can be added are part of the answer to `fit`.
    pub layouts: bool,
    /// Whether profiles with another share of media engines, or with graphics, are offered.
    pub media: bool,
    /// Whether profiles of one compute slice with two memory slices are offered.
    pub double_memory: bool,
}

/// The partitions of a GPU, or whether instances fit on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MigAnswer {
    /// Its profiles and layouts.
    Partitions(Partitions),
    /// A layout that has the wanted instances.
    Fit(Fit),
}

/// A GPU, the profiles that it is offered with, and the layout that has the wanted instances.
pub struct MigOutcome {
    /// The GPU, by the vendor's table of its profiles.
    pub gpu: Gpu,
    /// The kinds of profiles that are offered.
    pub offer: Offer,
    /// How it can be partitioned.
    pub model: Arc<Model>,
    /// A layout that has the wanted instances, or why there is none; none if the request wants no instances.
    pub fit: Option<Result<Layout, String>>,
}

/// The GPUs with MIG, as `mapa-bench mig --json` answers.
///
/// # Errors
/// Never for the tables that ship.
pub fn mig_gpus() -> Result<Gpus, Error> {
    let mut gpus = Vec::new();
    for entry in catalogue() {
        let gpu = entry.gpu().map_err(Error::malformed)?;
        // Layouts are counted and not listed: with all kinds of profiles a GPU may have hundreds of them.
        let count = |offer| {
            gpu.model(offer)
                .map(|model| model.maximal_layouts().count())
                .map_err(Error::malformed)
        };
        gpus.push(Listed {
            name: gpu.name.clone(),
            about: About::new(&gpu),
            aliases: entry
                .aliases
                .iter()
                .map(|&alias| alias.to_owned())
                .collect(),
            maximal_layout_counts: LayoutCounts {
                plain: count(Offer::PLAIN)?,
                double_memory: count(DOUBLE_MEMORY)?,
                all: count(Offer::ALL)?,
            },
        });
    }
    Ok(Gpus { gpus })
}

const DOUBLE_MEMORY: Offer = Offer {
    media: false,
    double_memory: true,
};

/// The partitions of a GPU, or whether instances fit on it, as `mapa-bench mig --gpu GPU --json` answers.
///
/// # Errors
/// If the GPU or a profile is unknown, or the instances do not fit ([`Error::NoFit`]).
pub fn mig(request: &MigRequest) -> Result<MigAnswer, Error> {
    request.outcome()?.answer(request.layouts)
}

impl MigRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// If the GPU or a profile is unknown.
    pub fn outcome(&self) -> Result<MigOutcome, Error> {
        let gpu = named(&self.gpu).map_err(Error::malformed)?;
        let offer = Offer {
            media: self.media,
            double_memory: self.double_memory,
        };
        let model = gpu.model(offer).map_err(Error::malformed)?;
        let fit = match &self.fit {
            Some(words) => Some(fit(&model, &wanted("--fit", words, &gpu, offer, &model)?)),
            None => None,
        };
        Ok(MigOutcome {
            gpu,
            offer,
            model,
            fit,
        })
    }
}

impl MigOutcome {
    /// The answer; to a fit with the maximal layouts if `layouts` are wanted.
    ///
    /// # Errors
    /// If the instances do not fit ([`Error::NoFit`]).
    pub fn answer(&self, layouts: bool) -> Result<MigAnswer, Error> {
        let (gpu, model) = (&self.gpu, &self.model);
        let Some(fit) = &self.fit else {
            return Ok(MigAnswer::Partitions(Partitions {
                gpu: gpu.name.clone(),
                about: About::new(gpu),
                offer: self.offer.into(),
                profiles: gpu.offered(self.offer).map(Profile::from).collect(),
                maximal_layouts: maximal(model),
            }));
        };
        let mut answer = Fit::new(gpu, model, fit);
        answer.maximal_layouts = layouts.then(|| maximal(model));
        match fit {
            Ok(_) => Ok(MigAnswer::Fit(answer)),
            // The answer is part of the error: it is printed like any other, and the exit status tells that
            // nothing fits.
            Err(_) => Err(Error::NoFit(Box::new(answer))),
        }
    }
}

fn maximal(model: &Model) -> Vec<Vec<Instance>> {
    model
        .maximal_layouts()
        .map(|layout| Instance::of_layout(model, &layout))
        .collect()
}
