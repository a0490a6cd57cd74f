//! Whether wanted MIG instances can exist at once on one GPU.

use mapa_core::mig::{Layout, Model};
use mapa_topologies::mig::Gpu;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether wanted instances can exist at once on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fit {
    /// The name of the GPU.
    pub gpu: String,
    /// The instances of a layout that has them; null if there is none.
    pub fit: Option<Vec<Instance>>,
    /// Why there is none; null if there is one.
    pub reason: Option<String>,
    /// `infeasible` if there is none; else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Every layout to which no instance can be added, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximal_layouts: Option<Vec<Vec<Instance>>>,
}

/// A MIG instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Instance {
    /// The name of its profile.
    pub profile: String,
    /// The memory slice at which it starts, from 0.
    pub start: u8,
}

impl Fit {
    /// The answer for a GPU: a layout, or the reason why there is none.
    #[must_use]
    pub fn new(gpu: &Gpu, model: &Model, fit: &Result<Layout, String>) -> Self {
        Self {
            gpu: gpu.name.clone(),
            fit: fit
                .as_ref()
                .ok()
                .map(|layout| Instance::of_layout(model, layout)),
            reason: fit.as_ref().err().cloned(),
            refusal: fit.is_err().then(|| "infeasible".to_owned()),
            maximal_layouts: None,
        }
    }
}

impl Instance {
    /// The instances of a layout, in the order in which they start.
    #[must_use]
    pub fn of_layout(model: &Model, layout: &Layout) -> Vec<Self> {
        layout
            .instances()
            .iter()
            .map(|own| Self {
                profile: model.profile(own.profile).name.clone(),
                start: own.start,
            })
            .collect()
    }
}
