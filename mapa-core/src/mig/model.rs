//! A device's table of profiles, checked once.

use std::fmt;
use std::hash::Hasher;
use std::ops::Range;
use std::str::FromStr;

use super::layout::{Layout, Legal};
use crate::error::{Error, ErrorKind};

/// How much of a device: what a job asks for, and what a profile gives.
///
/// Printed as `1g.2m`: one compute slice, two memory slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Size {
    /// Compute slices.
    pub compute: u8,
    /// Memory slices: units of the device's grid, on which starts are counted too.
    pub memory: u8,
}

impl Size {
    /// So many compute slices and memory slices.
    #[must_use]
    pub fn new(compute: u8, memory: u8) -> Self {
        Self { compute, memory }
    }

    /// Whether it is at least `other` in both.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.compute >= other.compute && self.memory >= other.memory
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}g.{}m", self.compute, self.memory)
    }
}

/// Reads it as it is printed.
impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let slices = |part: &str, unit: char| part.strip_suffix(unit)?.parse().ok().filter(|slices| *slices > 0);
        let size = text.split_once('.').and_then(|(compute, memory)| {
            let size = Self::new(slices(compute, 'g')?, slices(memory, 'm')?);
            Some(size).filter(|size| size.to_string() == text)
        });
        size.ok_or_else(|| ErrorKind::BadSize(text.to_owned()).into())
    }
}

/// A kind of instance that a device offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The vendor's name: `3g.20gb`.
    pub name: String,
    /// What it takes and gives.
    pub size: Size,
    /// Memory that a job on it may use, bytes.
    pub memory_bytes: u64,
    /// The memory slices at which it may start, ascending.
    pub starts: Vec<u8>,
    /// The most that may exist at once on a device.
    pub max_instances: u8,
}

/// A profile of one [`Model`]: its position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct ProfileId(pub u8);

/// A profile at a start: NVIDIA's GPU instance. Ordered by start, then profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Instance {
    /// The first memory slice that it takes.
    pub start: u8,
    /// What it is.
    pub profile: ProfileId,
}

/// The ways in which one kind of device can be cut up.
///
/// ```
/// use mapa_core::mig::{Model, Profile, Size};
///
/// let profile = |name: &str, compute, memory, starts: &[u8], max_instances| Profile {
///     name: name.into(),
///     size: Size::new(compute, memory),
///     memory_bytes: u64::from(memory) << 30,
///     starts: starts.to_vec(),
///     max_instances,
/// };
/// // Four slices, as on an A30.
/// let halves_and_quarters = vec![
///     profile("1g", 1, 1, &[0, 1, 2, 3], 4),
///     profile("2g", 2, 2, &[0, 2], 2),
///     profile("4g", 4, 4, &[0], 1),
/// ];
/// let model = Model::new("quarters", Size::new(4, 4), halves_and_quarters)?;
/// assert_eq!(model.maximal_layouts().count(), 5);
/// let [one, two] = [model.find("1g")?, model.find("2g")?];
/// let fit = model.fit(&[two, one, one]).unwrap();
/// assert_eq!(model.print(&fit), "1g@0 1g@1 2g@2");
/// assert!(model.fit(&[two, two, one]).is_none());
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Model {
    name: String,
    size: Size,
    profiles: Vec<Profile>,
    /// Every instance that could exist, by start, then profile; at most 64.
    instances: Vec<Instance>,
    /// By instance, the instances that cannot exist beside it, itself among them.
    conflicts: Vec<u64>,
    /// By profile, its instances.
    of_profile: Vec<u64>,
    legal: Vec<Legal>,
    fingerprint: u64,
}

/// The most instances that could exist on one device: they are bits of a word.
const MOST_INSTANCES: usize = 64;

/// The most layouts of one device: some 30 times those of the richest table known.
const MOST_LAYOUTS: usize = 1 << 16;

impl Model {
    /// Checks a table and enumerates its legal layouts: O(layouts x instances); for an A100 4 µs with its
    /// plain profiles, 30 µs with all.
    ///
    /// # Errors
    /// A profile without name, memory slices or starts, twice of one name, larger than the device, with starts that do
    /// not ascend or leave the grid, or of which none may exist; more than 64 instances that could exist, or 65,536
    /// layouts; a layout that takes more compute slices than the device has, since legality does not look at them.
    pub fn new(name: impl Into<String>, size: Size, profiles: Vec<Profile>) -> Result<Self, Error> {
        let name = name.into();
        for (i, profile) in profiles.iter().enumerate() {
            let twice = profiles[..i].iter().any(|other| other.name == profile.name);
            if let Some(what) = fault(profile, size).or(twice.then_some("expected a name of its own")) {
                return Err(ErrorKind::BadProfile { model: name, profile: profile.name.clone(), what }.into());
            }
        }
        let at = |(id, profile): (usize, &Profile)| {
            let of = move |start: &u8| Instance { start: *start, profile: ProfileId(id as u8) };
            profile.starts.iter().map(of).collect::<Vec<_>>()
        };
        let mut instances: Vec<Instance> = profiles.iter().take(256).enumerate().flat_map(at).collect();
        if instances.len() > MOST_INSTANCES || profiles.len() > MOST_INSTANCES {
            return Err(ErrorKind::TooManyInstances { model: name, most: MOST_INSTANCES }.into());
        }
        instances.sort_unstable();
        let fingerprint = fingerprint(&name, size, &profiles);
        let (conflicts, of_profile, legal) = (Vec::new(), Vec::new(), Vec::new());
        let mut model = Self { name, size, profiles, instances, conflicts, of_profile, legal, fingerprint };
        let conflicts = |a: &Instance| {
            let apart = |b: &Instance| {
                let alone = a.profile == b.profile && model.profile(a.profile).max_instances == 1;
                alone || model.overlap(*a, *b)
            };
            bits(model.instances.iter().enumerate().filter(|(_, b)| apart(b)).map(|(i, _)| i))
        };
        model.conflicts = model.instances.iter().map(conflicts).collect();
        let of_profile = |id| {
            let is = |(_, instance): &(usize, &Instance)| usize::from(instance.profile.0) == id;
            bits(model.instances.iter().enumerate().filter(is).map(|(i, _)| i))
        };
        model.of_profile = (0..model.profiles.len()).map(of_profile).collect();
        match Legal::enumerate(&model, MOST_LAYOUTS) {
            Some(legal) => model.legal = legal,
            None => return Err(ErrorKind::TooManyLayouts { model: model.name, most: MOST_LAYOUTS }.into()),
        }
        let compute =
            |mask| positions(mask).map(|i| usize::from(model.profile(model.instances[i].profile).size.compute));
        if let Some(legal) = model.legal.iter().find(|legal| compute(legal.mask).sum::<usize>() > size.compute.into()) {
            let layout = model.print(&model.unmask(legal.mask));
            return Err(ErrorKind::TooMuchCompute { model: model.name, layout, most: size.compute }.into());
        }
        Ok(model)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole device.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The profiles, in the table's order.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// A profile.
    ///
    /// # Panics
    /// If the id is of another model, with more profiles.
    #[must_use]
    pub fn profile(&self, id: ProfileId) -> &Profile {
        &self.profiles[usize::from(id.0)]
    }

    /// The profile that a name means, case aside: `3g.20gb`, or shorter `3g` for the first of the table that begins so.
    ///
    /// # Errors
    /// No such profile; the message lists those there are.
    pub fn find(&self, name: &str) -> Result<ProfileId, Error> {
        let wanted = name.trim().to_ascii_lowercase();
        let is = |test: &dyn Fn(&str) -> bool| {
            let at = self.profiles.iter().position(|profile| test(&profile.name.to_ascii_lowercase()))?;
            Some(ProfileId(at as u8))
        };
        let begins = |profile: &str| {
            wanted.ends_with('g') && profile.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with('.'))
        };
        is(&|profile| profile == wanted).or_else(|| is(&begins)).ok_or_else(|| {
            let known = self.profiles.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ");
            ErrorKind::UnknownProfile { model: self.name.clone(), name: name.to_owned(), known }.into()
        })
    }

    /// Every instance that could exist, by start, then profile.
    #[must_use]
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The memory slices that an instance takes.
    ///
    /// # Panics
    /// As [`Model::profile`].
    #[must_use]
    pub fn span(&self, instance: Instance) -> Range<u8> {
        instance.start..instance.start.saturating_add(self.profile(instance.profile).size.memory)
    }

    /// Whether two instances take a memory slice both.
    pub(super) fn overlap(&self, a: Instance, b: Instance) -> bool {
        let (a, b) = (self.span(a), self.span(b));
        a.start < b.end && b.start < a.end
    }

    /// Whether two instances (or one twice) can never exist at once: they overlap, or only one of their profile may exist.
    ///
    /// # Panics
    /// As [`Model::profile`].
    #[must_use]
    pub fn exclude(&self, a: Instance, b: Instance) -> bool {
        a == b || self.overlap(a, b) || a.profile == b.profile && self.profile(a.profile).max_instances == 1
    }

    /// An instance as people write it: `3g.20gb@4`.
    ///
    /// # Panics
    /// As [`Model::profile`].
    #[must_use]
    pub fn print_instance(&self, instance: Instance) -> String {
        format!("{}@{}", self.profile(instance.profile).name, instance.start)
    }

    /// A layout as people write it: `3g.20gb@0 3g.20gb@4`; `whole` for a device that is not cut up, `nothing` for one
    /// that is cut up into no instance at all.
    ///
    /// # Panics
    /// If the layout is of another model, with more profiles.
    #[must_use]
    pub fn print(&self, layout: &Layout) -> String {
        if layout.is_whole() {
            return "whole".to_owned();
        }
        let words: Vec<_> = layout.instances().iter().map(|&instance| self.print_instance(instance)).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(" ") }
    }

    /// A number that tells tables apart, on every platform and release.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(super) fn legal(&self) -> &[Legal] {
        &self.legal
    }

    pub(super) fn position(&self, instance: Instance) -> Option<usize> {
        self.instances.binary_search(&instance).ok()
    }

    /// Whether the instance at this position may join those of `mask`.
    pub(super) fn may_join(&self, mask: u64, position: usize) -> bool {
        let profile = self.instances[position].profile;
        mask & self.conflicts[position] == 0
            && self.count(mask, profile) < usize::from(self.profile(profile).max_instances)
    }

    /// How many of a profile are in `mask`.
    pub(super) fn count(&self, mask: u64, profile: ProfileId) -> usize {
        self.of_profile.get(usize::from(profile.0)).map_or(0, |instances| (mask & instances).count_ones() as usize)
    }
}

/// The table, and how many layouts it makes; not the layouts.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.profiles.iter().map(|p| (&p.name, p.size, &p.starts, p.max_instances)).collect();
        f.debug_struct("Model")
            .field("name", &self.name)
            .field("size", &self.size)
            .field("profiles", &names)
            .field("layouts", &self.legal.len())
            .finish_non_exhaustive()
    }
}

/// Equal tables under equal names.
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.size, &self.profiles) == (&other.name, other.size, &other.profiles)
    }
}

fn fingerprint(name: &str, size: Size, profiles: &[Profile]) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    let mut text = |text: &str| {
        hash.write(text.as_bytes());
        hash.write(&[0]);
    };
    text(name);
    profiles.iter().for_each(|profile| text(&profile.name));
    hash.write(&[size.compute, size.memory]);
    for Profile { size, memory_bytes, starts, max_instances, .. } in profiles {
        hash.write(&[size.compute, size.memory, *max_instances, starts.len() as u8]);
        hash.write(starts);
        hash.write(&memory_bytes.to_le_bytes());
    }
    hash.finish()
}

/// What is wrong with a row of a table.
fn fault(profile: &Profile, device: Size) -> Option<&'static str> {
    let Size { compute, memory } = profile.size;
    let last = profile.starts.last().map(|&start| u16::from(start) + u16::from(memory));
    if profile.name.trim().is_empty() || profile.name.contains(char::is_whitespace) {
        Some("expected a name without spaces")
    } else if compute == 0 || memory == 0 || !device.covers(profile.size) {
        Some("expected at least one compute and one memory slice, and at most those of the device")
    } else if !profile.starts.windows(2).all(|pair| pair[0] < pair[1]) {
        Some("expected starts in ascending order")
    } else if last.is_none_or(|end| end > u16::from(device.memory)) {
        Some("expected at least one start, and room on the grid after the last")
    } else if profile.max_instances == 0 {
        Some("expected that at least one instance may exist")
    } else {
        None
    }
}

pub(super) fn bits(positions: impl Iterator<Item = usize>) -> u64 {
    positions.fold(0, |mask, i| mask | 1 << i)
}

/// The positions of the bits of a mask, ascending.
pub(super) fn positions(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        lowest
    })
}
