//! GPUs that can be partitioned into isolated instances (NVIDIA's MIG): their tables of profiles,
//! as data.
//!
//! Each table is a file of its own, and says of every figure whether it was read (in a print-out of
//! `nvidia-smi mig -lgip` or `-lgipp`, or in NVIDIA's guide) or set by analogy with another model.
//! [`Gpu::model`] makes of it the [`Model`] that [`mapa_core::mig`] works on. `docs/mig.md` lists
//! the models.
//!
//! ```
//! use mapa_topologies::mig::{Offer, named};
//!
//! let a100 = named("a100-40gb")?.model(Offer::PLAIN)?;
//! assert_eq!(a100.maximal_layouts().count(), 19);
//! let wanted = ["4g", "2g", "1g"].map(|name| a100.find(name).unwrap());
//! assert_eq!(a100.print(&a100.fit(&wanted).unwrap()), "4g.20gb@0 2g.10gb@4 1g.5gb@6");
//! # Ok::<(), mapa_topologies::Error>(())
//! ```

use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::{Instance, Layout, Model, Profile, ProfileId, Size};
use serde::Deserialize;

use crate::error::Error;
use crate::products;

/// A table of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name by which [`named`] finds it.
    pub name: &'static str,
    /// Other names by which [`named`] finds it.
    pub aliases: &'static [&'static str],
    text: &'static str,
}

impl Entry {
    /// Reads the table.
    ///
    /// # Errors
    /// None for the entries of this crate: a test reads them all.
    pub fn gpu(&self) -> Result<Gpu, Error> {
        toml::from_str(self.text).map_err(|error| Error::new(format!("{}: {error}", self.name)))
    }

    /// The text of the table's file.
    #[must_use]
    pub fn toml(&self) -> &'static str {
        self.text
    }
}

macro_rules! entries {
    ($($name:literal $(| $alias:literal)*),+ $(,)?) => {
        [$(Entry { name: $name, aliases: &[$($alias),*], text: include_str!(concat!("../mig/", $name, ".toml")) }),+]
    };
}

/// Every table of the catalogue.
#[must_use]
pub fn catalogue() -> &'static [Entry] {
    const ENTRIES: [Entry; 11] = entries![
        "a30" | "a30-24gb",
        "a100-40gb",
        "a100-80gb",
        "h100-80gb",
        "h100-94gb" | "h100-nvl",
        "h100-96gb" | "gh200-96gb",
        "h200" | "h200-141gb",
        "gh200" | "gh200-144gb",
        "b200" | "b200-180gb",
        "gb200" | "gb200-186gb",
        "rtx-pro-6000" | "rtx-pro-6000-96gb" | "rtx-pro-6000-blackwell",
    ];
    &ENTRIES
}

/// The table of a product by the name that its driver prints, and by its memory. None if the product
/// cannot be partitioned, or is not known.
///
/// # Examples
/// ```
/// use mapa_topologies::mig::of_product;
///
/// let table = |product, gib: u64| of_product(product, gib << 30).map(|table| table.name);
/// assert_eq!(table("NVIDIA A100-SXM4-40GB", 40), Some("a100-40gb"));
/// assert_eq!(table("NVIDIA H100 NVL", 94), Some("h100-94gb"));
/// assert_eq!(table("NVIDIA L40S", 48), None);
/// ```
#[must_use]
pub fn of_product(product: &str, memory_bytes: u64) -> Option<&'static Entry> {
    let name = products::product(product)?.mig(memory_bytes)?;
    catalogue().iter().find(|entry| entry.name == name)
}

/// The profiles of a product of which instances with these names exist; none if its product has no such profiles. Where
/// the memory is not given, the name of the product or that of the profiles tells it.
pub(crate) fn model_of(
    product: &str,
    memory_bytes: Option<u64>,
    names: &[&str],
) -> Option<Arc<Model>> {
    let in_name = || {
        let words = product.split(|c: char| !c.is_ascii_alphanumeric());
        let mut sizes = words.filter_map(|word| {
            let digits = word.to_ascii_uppercase();
            digits.strip_suffix("GB")?.parse::<u64>().ok()
        });
        sizes.next().map(|gib| gib << 30)
    };
    let tables: Vec<&str> = match memory_bytes.or_else(in_name) {
        Some(bytes) => of_product(product, bytes)
            .map(|table| table.name)
            .into_iter()
            .collect(),
        None => products::product(product)?.mig_tables().collect(),
    };
    let offers = [(false, false), (true, false), (false, true), (true, true)];
    let mut models = tables.into_iter().flat_map(|table| {
        offers
            .into_iter()
            .filter_map(move |(media, double_memory)| {
                let offer = Offer {
                    media,
                    double_memory,
                };
                named(table).ok()?.model(offer).ok()
            })
    });
    models.find(|model| {
        names
            .iter()
            .all(|name| profile_of(model, name, None).is_some())
    })
}

/// The table with this name or alias, case-insensitively.
///
/// # Errors
/// No such GPU; the message lists the names.
pub fn named(name: &str) -> Result<Gpu, Error> {
    let wanted = name.trim();
    let entry = catalogue().iter().find(|entry| {
        std::iter::once(&entry.name)
            .chain(entry.aliases)
            .any(|known| known.eq_ignore_ascii_case(wanted))
    });
    match entry {
        Some(entry) => entry.gpu(),
        None => {
            let names: Vec<&str> = catalogue().iter().map(|entry| entry.name).collect();
            Err(Error::new(format!(
                "no GPU with MIG is called `{name}`: expected {}",
                names.join(", ")
            )))
        }
    }
}

/// The table from which a model was made, and the smallest offer that gives it. `None` if no table
/// of the catalogue gives it.
#[must_use]
pub fn recognise(model: &Model) -> Option<(&'static Entry, Offer)> {
    let entry = catalogue()
        .iter()
        .find(|entry| entry.name == model.name())?;
    let gpu = entry.gpu().ok()?;
    let offer = Offer::EVERY
        .into_iter()
        .find(|&offer| gpu.model(offer).is_ok_and(|other| *other == *model))?;
    Some((entry, offer))
}

/// One kind of GPU: its profiles, and the source of each figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The GPU's short name.
    pub name: String,
    /// The GPU, described in a line.
    pub title: String,
    /// The source of the figures.
    pub source: String,
    /// Caveats: rules by which gaps were filled, sources that differ.
    pub notes: Vec<String>,
    /// Compute slices of the whole GPU.
    pub compute_slices: u8,
    /// Memory slices of the whole GPU: the units of the grid on which starts are counted.
    pub memory_slices: u8,
    /// Its profiles; of those that begin alike, such as `1g`, the plain one comes first.
    pub profiles: Vec<ProfileFacts>,
}

impl Gpu {
    /// Compute and memory slices of the whole GPU.
    #[must_use]
    pub fn size(&self) -> Size {
        Size::new(self.compute_slices, self.memory_slices)
    }

    /// The most memory that a job can have on the GPU while it is partitioned, in bytes: that of
    /// the largest profile.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.profiles
            .iter()
            .map(ProfileFacts::memory_bytes)
            .max()
            .unwrap_or_default()
    }

    /// The profiles that an offer has, in the table's order: those of [`Gpu::model`].
    pub fn offered(&self, offer: Offer) -> impl Iterator<Item = &ProfileFacts> {
        self.profiles
            .iter()
            .filter(move |profile| offer.has(profile.kind))
    }

    /// The geometry of what is offered. Its name is that of the GPU, whatever is offered.
    ///
    /// # Errors
    /// None, for the tables of this crate: a test makes every model of each.
    pub fn model(&self, offer: Offer) -> Result<Arc<Model>, Error> {
        let profiles = self.offered(offer).map(ProfileFacts::profile).collect();
        Ok(Arc::new(Model::new(
            self.name.clone(),
            self.size(),
            profiles,
        )?))
    }

    /// The time that a repartition takes. Instances of `from` that `to` lacks are destroyed, then
    /// instances that only `to` has are created, one after the other, as drivers do it. The time to
    /// enable MIG mode is not included. `model` is the model of both layouts.
    ///
    /// `None` if the time of a profile is not known, or `model` is not of this GPU.
    ///
    /// # Complexity
    /// O(i p) for i instances and p profiles.
    ///
    /// # Examples
    /// ```
    /// use mapa_topologies::mig::{Offer, named};
    ///
    /// let gpu = named("a100-40gb")?;
    /// let model = gpu.model(Offer::PLAIN)?;
    /// let [one, two] = [model.find("1g")?, model.find("2g")?];
    /// let (from, to) = (model.fit(&[one; 7]).ok_or("fits")?, model.fit(&[one, one, one, two, two]).ok_or("fits")?);
    /// // Four of 1g go, two of 2g come.
    /// assert_eq!(gpu.repartition_time(&model, &from, &to).ok_or("measured")?.as_millis(), 4 * 200 + 2 * 170);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn repartition_time(&self, model: &Model, from: &Layout, to: &Layout) -> Option<Duration> {
        let takes = |instance: &Instance, of: fn(&ProfileFacts) -> Option<f64>| {
            let name = &model.profiles().get(usize::from(instance.profile.0))?.name;
            let seconds = of(self.profiles.iter().find(|profile| profile.name == *name)?)?;
            Duration::try_from_secs_f64(seconds).ok()
        };
        let destroyed = from
            .instances()
            .iter()
            .filter(|&&instance| !to.has(instance));
        let created = to
            .instances()
            .iter()
            .filter(|&&instance| !from.has(instance));
        let destroyed = destroyed.map(|instance| takes(instance, |profile| profile.destroy_s));
        destroyed
            .chain(created.map(|instance| takes(instance, |profile| profile.create_s)))
            .sum()
    }
}

/// What is known of a profile. A figure's [status](ProfileFacts::status) says how.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFacts {
    /// Its name in print-outs: `3g.20gb`.
    pub name: String,
    /// Whether it is offered by default.
    pub kind: ProfileKind,
    /// Its number in `nvidia-smi mig -lgip`.
    pub id: u8,
    /// Compute slices.
    pub compute_slices: u8,
    /// Memory slices: units of the grid.
    pub memory_slices: u8,
    /// The units of the grid at which it may start.
    pub starts: Vec<u8>,
    /// The most that may exist at once.
    pub max_instances: u8,
    /// Memory, GiB (2^30 bytes), in two decimals, as it is printed.
    pub memory_gib: f64,
    /// Streaming multiprocessors, where known.
    pub sms: Option<u16>,
    /// Copy engines.
    pub copy_engines: u8,
    /// Video decoders.
    pub decoders: u8,
    /// Video encoders.
    pub encoders: u8,
    /// JPEG decoders.
    pub jpeg: u8,
    /// Optical flow accelerators.
    pub ofa: u8,
    /// How long it takes to create an instance, s, where that was measured.
    pub create_s: Option<f64>,
    /// How long it takes to destroy one, s, where that was measured.
    pub destroy_s: Option<f64>,
    /// The figures that were not read.
    #[serde(default)]
    pub by_analogy: Vec<Figure>,
}

impl ProfileFacts {
    /// Compute and memory slices.
    #[must_use]
    pub fn size(&self) -> Size {
        Size::new(self.compute_slices, self.memory_slices)
    }

    /// Memory, bytes; never more than is printed.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        (self.memory_gib * f64::from(1 << 30)) as u64
    }

    /// How a figure is known.
    #[must_use]
    pub fn status(&self, figure: Figure) -> Status {
        if self.by_analogy.contains(&figure) {
            Status::ByAnalogy
        } else {
            Status::Read
        }
    }

    fn profile(&self) -> Profile {
        Profile {
            name: self.name.clone(),
            size: self.size(),
            memory_bytes: self.memory_bytes(),
            starts: self.starts.clone(),
            max_instances: self.max_instances,
        }
    }
}

/// What sets a profile apart from the plain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileKind {
    /// Nothing.
    Plain,
    /// One compute slice with two memory slices, beside a plain one with one.
    DoubleMemory,
    /// Another share of media engines, or graphics: `+me`, `+me.all`, `-me`, `+gfx`.
    Media,
}

impl ProfileKind {
    /// The word in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::DoubleMemory => "double-memory",
            Self::Media => "media",
        }
    }
}

/// A figure of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "they are named as the fields are")]
pub enum Figure {
    Id,
    MemorySlices,
    Starts,
    MaxInstances,
    MemoryGib,
    Sms,
    CopyEngines,
    Decoders,
    Encoders,
    Jpeg,
    Ofa,
}

impl Figure {
    /// The word in tables: the field's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::MemorySlices => "memory_slices",
            Self::Starts => "starts",
            Self::MaxInstances => "max_instances",
            Self::MemoryGib => "memory_gib",
            Self::Sms => "sms",
            Self::CopyEngines => "copy_engines",
            Self::Decoders => "decoders",
            Self::Encoders => "encoders",
            Self::Jpeg => "jpeg",
            Self::Ofa => "ofa",
        }
    }
}

/// How a figure is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Read in the source of the table.
    Read,
    /// Not found; set as the notes of the table say.
    ByAnalogy,
}

/// Which profiles a model has, besides the plain ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offer {
    /// Those with another share of media engines, or graphics.
    pub media: bool,
    /// Those of one compute slice with two memory slices.
    pub double_memory: bool,
}

impl Offer {
    /// The plain profiles only, as by default.
    pub const PLAIN: Self = Self {
        media: false,
        double_memory: false,
    };
    /// All profiles.
    pub const ALL: Self = Self {
        media: true,
        double_memory: true,
    };
    /// Every offer, smaller ones first.
    pub const EVERY: [Self; 4] = [
        Self::PLAIN,
        Self {
            media: false,
            double_memory: true,
        },
        Self {
            media: true,
            double_memory: false,
        },
        Self::ALL,
    ];

    /// Whether profiles of this kind are offered.
    #[must_use]
    pub fn has(self, kind: ProfileKind) -> bool {
        match kind {
            ProfileKind::Plain => true,
            ProfileKind::DoubleMemory => self.double_memory,
            ProfileKind::Media => self.media,
        }
    }
}

/// The profile that a driver calls `name`, of an instance placed at this start and size, in memory slices. The memory in a
/// name differs between drivers (`3g.39gb`, `3g.40gb`), so without the name the shape decides: compute slices, options
/// and placement. None if no profile is of this shape, or several.
pub(crate) fn profile_of(
    model: &Model,
    name: &str,
    placement: Option<(u8, u8)>,
) -> Option<ProfileId> {
    let mut profiles = (0u8..).map(ProfileId).zip(model.profiles());
    let named = profiles.clone().find(|(_, profile)| profile.name == name);
    if let Some((id, _)) = named {
        return Some(id);
    }
    let (start, size) = placement?;
    let is_alike = |(_, profile): &(ProfileId, &Profile)| {
        is_of_shape(name, &profile.name)
            && profile.size.memory == size
            && profile.starts.contains(&start)
    };
    let (id, _) = profiles.find(is_alike)?;
    (!profiles.any(|other| is_alike(&other))).then_some(id)
}

/// Whether two names of profiles differ in the memory alone: `3g.39gb` and `3g.40gb`, but not `3g.39gb+me`.
pub(crate) fn is_of_shape(name: &str, other: &str) -> bool {
    let parts = |name| {
        let (slices, memory) = str::split_once(name, '.')?;
        let (gib, options) = memory.split_once("gb")?;
        gib.parse::<u32>().ok().map(|_| (slices, options))
    };
    name == other || parts(name).is_some_and(|shape| parts(other) == Some(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_another_driver_s_name_is_found_by_its_shape() {
        let gpu = named("a100-80gb").unwrap();
        let model = gpu.model(Offer::PLAIN).unwrap();
        let name = |name, placement| {
            let id = profile_of(&model, name, placement)?;
            Some(model.profiles()[usize::from(id.0)].name.as_str())
        };
        assert_eq!(name("3g.40gb", None), Some("3g.40gb"));
        assert_eq!(name("3g.39gb", Some((4, 4))), Some("3g.40gb"));
        assert_eq!(name("3g.39gb", None), None, "nothing but the name");
        assert_eq!(name("3g.39gb", Some((1, 4))), None, "no start of 3g");
        assert_eq!(name("3g.39gb+me", Some((0, 4))), None, "another option");
        assert_eq!(name("4g.39gb", Some((0, 4))), Some("4g.40gb"));
    }
}
