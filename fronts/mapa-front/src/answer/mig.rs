//! The answers of `mig`: GPUs that can be partitioned.

use mapa_core::mig::{Layout, Model};
use mapa_topologies::mig::{Gpu, Offer, ProfileFacts};
use serde::Serialize;

/// The GPUs with MIG.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gpus {
    /// The GPUs.
    pub gpus: Vec<Listed>,
}

/// What is known of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct About {
    /// What it is, in one line.
    pub title: String,
    /// Where its table of profiles is from.
    pub source: String,
    /// What was assumed.
    pub notes: Vec<String>,
    /// The number of its compute slices.
    pub compute_slices: u8,
    /// The number of its memory slices.
    pub memory_slices: u8,
    /// Its memory, bytes.
    pub memory_bytes: u64,
}

impl About {
    /// What is known of this GPU.
    #[must_use]
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            title: gpu.title.clone(),
            source: gpu.source.clone(),
            notes: gpu.notes.clone(),
            compute_slices: gpu.compute_slices,
            memory_slices: gpu.memory_slices,
            memory_bytes: gpu.memory_bytes(),
        }
    }
}

/// A GPU in the list of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What is known of it.
    #[serde(flatten)]
    pub about: About,
    /// Other names.
    pub aliases: Vec<String>,
    /// The number of layouts to which no instance can be added.
    pub maximal_layout_counts: LayoutCounts,
}

/// The number of maximal layouts, by which profiles are offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayoutCounts {
    /// With plain profiles only.
    pub plain: usize,
    /// With profiles of double memory too.
    pub double_memory: usize,
    /// With all profiles.
    pub all: usize,
}

/// A GPU with its profiles and layouts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Partitions {
    /// Its name.
    pub gpu: String,
    /// What is known of it.
    #[serde(flatten)]
    pub about: About,
    /// Which profiles are offered besides the plain ones.
    pub offer: Offered,
    /// The profiles.
    pub profiles: Vec<Profile>,
    /// The layouts to which no instance can be added.
    pub maximal_layouts: Vec<Vec<Instance>>,
}

/// Which profiles are offered besides the plain ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offered {
    /// Those with media engines.
    pub media: bool,
    /// Those with double memory.
    pub double_memory: bool,
}

impl From<Offer> for Offered {
    fn from(offer: Offer) -> Self {
        Self {
            media: offer.media,
            double_memory: offer.double_memory,
        }
    }
}

/// A profile of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// `plain`, `media` or `double-memory`.
    pub kind: String,
    /// The id by which the driver knows it.
    pub id: u8,
    /// The number of its compute slices.
    pub compute_slices: u8,
    /// The number of its memory slices.
    pub memory_slices: u8,
    /// The memory slices at which it may start, from 0.
    pub starts: Vec<u8>,
    /// How many may exist at once.
    pub max_instances: u8,
    /// Its memory, GiB.
    pub memory_gib: f64,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// The number of its multiprocessors.
    pub sms: Option<u16>,
    /// The number of its copy engines.
    pub copy_engines: u8,
    /// The number of its video decoders.
    pub decoders: u8,
    /// The number of its video encoders.
    pub encoders: u8,
    /// The number of its JPEG engines.
    pub jpeg: u8,
    /// The number of its optical flow accelerators.
    pub ofa: u8,
    /// Measured seconds to create an instance.
    pub create_s: Option<f64>,
    /// Measured seconds to destroy one.
    pub destroy_s: Option<f64>,
    /// The figures that are by analogy with another model.
    pub by_analogy: Vec<String>,
}

impl From<&ProfileFacts> for Profile {
    fn from(profile: &ProfileFacts) -> Self {
        Self {
            name: profile.name.clone(),
            kind: profile.kind.name().to_owned(),
            id: profile.id,
            compute_slices: profile.compute_slices,
            memory_slices: profile.memory_slices,
            starts: profile.starts.clone(),
            max_instances: profile.max_instances,
            memory_gib: profile.memory_gib,
            memory_bytes: profile.memory_bytes(),
            sms: profile.sms,
            copy_engines: profile.copy_engines,
            decoders: profile.decoders,
            encoders: profile.encoders,
            jpeg: profile.jpeg,
            ofa: profile.ofa,
            create_s: profile.create_s,
            destroy_s: profile.destroy_s,
            by_analogy: profile
                .by_analogy
                .iter()
                .map(|figure| figure.name().to_owned())
                .collect(),
        }
    }
}

/// Whether wanted instances can exist at once on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The instances of a layout, in the order in which they start; `?` for a profile that the model does not have.
    #[must_use]
    pub fn of_layout(model: &Model, layout: &Layout) -> Vec<Self> {
        layout
            .instances()
            .iter()
            .map(|instance| Self {
                profile: (model.profiles())
                    .get(usize::from(instance.profile.0))
                    .map_or("?", |profile| &profile.name)
                    .to_owned(),
                start: instance.start,
            })
            .collect()
    }
}

/// What a file of mig-parted does to which GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parted {
    /// The configurations that were asked for, by name.
    pub configurations: Vec<PartedConfiguration>,
    /// What is assumed, and what could not be checked.
    pub notes: Vec<String>,
    /// `infeasible` if one configuration was asked for, and it does not fit; else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Why it does not fit; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A configuration of a file of mig-parted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartedConfiguration {
    /// Its name.
    pub name: String,
    /// Whether each GPU that it names can have its layout.
    pub fits: bool,
    /// The first reason why not; null if it fits.
    pub reason: Option<String>,
    /// The GPUs that it names, by number.
    pub gpus: Vec<PartedGpu>,
}

/// What a configuration does to a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartedGpu {
    /// The number of the GPU.
    pub index: u32,
    /// Its name on the machine.
    pub device: String,
    /// The table of MIG that it was checked against.
    pub gpu: String,
    /// Whether MIG shall be on.
    pub mig: bool,
    /// The instances in the order in which they start, at starts where all have room; null if they have none.
    pub instances: Option<Vec<PartedInstance>>,
    /// Why there is no such layout; null if there is one.
    pub reason: Option<String>,
}

/// An instance that a configuration makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartedInstance {
    /// The name of its profile.
    pub profile: String,
    /// The memory slice at which it may start, from 0. mig-parted names no starts.
    pub start: u8,
    /// The compute slices of its compute instances; absent for one with all slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<u32>,
}
