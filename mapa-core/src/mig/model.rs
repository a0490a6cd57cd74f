//! A device's table of profiles, checked once.

use std::fmt;
use std::hash::Hasher;
use std::ops::Range;

use super::layout::{Layout, Legal};
use super::profile::{Instance, Profile, ProfileId, Size};
use crate::error::{Error, ErrorKind};

/// The ways in which one kind of device can be partitioned.
///
/// # Examples
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
    /// Every instance that could exist, by start, then profile; at most 64, so that a set of
    /// instances is the bits of a word.
    instances: Vec<Instance>,
    /// By instance, the instances that cannot exist beside it, including itself.
    conflicts: Vec<u64>,
    /// By profile, the set of its instances.
    of_profile: Vec<u64>,
    legal: Vec<Legal>,
    fingerprint: u64,
}

/// The most instances that could exist on one device: sets of them are bits of a word.
const MOST_INSTANCES: usize = 64;

/// The most layouts of one device: some 30 times as many as the largest known table has.
const MOST_LAYOUTS: usize = 1 << 16;

impl Model {
    /// Checks a table and enumerates its legal layouts.
    ///
    /// # Complexity
    ///
    /// O(l i) for l layouts and i instances; for an A100 4 µs with its plain profiles, 30 µs with
    /// all.
    ///
    /// # Errors
    /// - A profile without a name, memory slices or starts; with the name of another; larger than
    ///   the device; with starts that do not ascend or that leave the grid; or with a maximum of 0.
    /// - More than 64 instances that could exist, or more than 65,536 layouts.
    /// - A layout that takes more compute slices than the device has: the rules for legal layouts
    ///   do not count compute slices.
    pub fn new(name: impl Into<String>, size: Size, profiles: Vec<Profile>) -> Result<Self, Error> {
        let name = name.into();
        for (i, profile) in profiles.iter().enumerate() {
            let twice = profiles[..i].iter().any(|other| other.name == profile.name);
            if let Some(what) =
                fault(profile, size).or(twice.then_some("expected a name of its own"))
            {
                return Err(ErrorKind::BadProfile {
                    model: name,
                    profile: profile.name.clone(),
                    what,
                }
                .into());
            }
        }
        let mut instances: Vec<Instance> = Vec::new();
        for (id, profile) in (0..=u8::MAX).zip(&profiles) {
            instances.extend(profile.starts.iter().map(|&start| Instance {
                start,
                profile: ProfileId(id),
            }));
        }
        if instances.len() > MOST_INSTANCES || profiles.len() > MOST_INSTANCES {
            return Err(ErrorKind::TooManyInstances {
                model: name,
                most: MOST_INSTANCES,
            }
            .into());
        }
        instances.sort_unstable();
        let fingerprint = fingerprint(&name, size, &profiles);
        let (conflicts, of_profile, legal) = (Vec::new(), Vec::new(), Vec::new());
        let mut model = Self {
            name,
            size,
            profiles,
            instances,
            conflicts,
            of_profile,
            legal,
            fingerprint,
        };
        model.conflicts = (model.instances.iter())
            .map(|&a| model.set_of(|b| model.exclude(a, b)))
            .collect();
        model.of_profile = (0..model.profiles.len())
            .map(|id| model.set_of(|instance| usize::from(instance.profile.0) == id))
            .collect();
        match enumerate(&model, MOST_LAYOUTS) {
            Some(legal) => model.legal = legal,
            None => {
                return Err(ErrorKind::TooManyLayouts {
                    model: model.name,
                    most: MOST_LAYOUTS,
                }
                .into());
            }
        }
        let too_much = model.legal.iter().find(|legal| {
            let compute: usize = positions(legal.mask)
                .map(|i| usize::from(model.profile(model.instances[i].profile).size.compute))
                .sum();
            compute > size.compute.into()
        });
        if let Some(legal) = too_much {
            let layout = model.print(&model.unmask(legal.mask));
            return Err(ErrorKind::TooMuchCompute {
                model: model.name,
                layout,
                most: size.compute,
            }
            .into());
        }
        Ok(model)
    }

    /// The instances that a test accepts, as bits.
    fn set_of(&self, is_in: impl Fn(Instance) -> bool) -> u64 {
        let all = self.instances.iter().enumerate();
        bits(
            all.filter(|(_, instance)| is_in(**instance))
                .map(|(i, _)| i),
        )
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of the whole device.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The profiles, in the table's order.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The profile with this id.
    ///
    /// # Panics
    /// If the id belongs to another model, with more profiles.
    #[must_use]
    pub fn profile(&self, id: ProfileId) -> &Profile {
        &self.profiles[usize::from(id.0)]
    }

    /// The profile that a name means, ignoring case: `3g.20gb`, or in short `3g` for the first
    /// profile of the table whose name begins with it.
    ///
    /// # Errors
    /// No such profile; the message lists the known ones.
    pub fn find(&self, name: &str) -> Result<ProfileId, Error> {
        let wanted = name.trim().to_ascii_lowercase();
        let names: Vec<String> = (self.profiles.iter())
            .map(|profile| profile.name.to_ascii_lowercase())
            .collect();
        let beginning = format!("{wanted}.");
        names
            .iter()
            .position(|name| *name == wanted)
            .or_else(|| {
                names
                    .iter()
                    .position(|name| wanted.ends_with('g') && name.starts_with(&beginning))
            })
            .map(|at| ProfileId(at as u8))
            .ok_or_else(|| {
                let known = self
                    .profiles
                    .iter()
                    .map(|profile| profile.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ");
                ErrorKind::UnknownProfile {
                    model: self.name.clone(),
                    name: name.to_owned(),
                    known,
                }
                .into()
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
        instance.start
            ..instance
                .start
                .saturating_add(self.profile(instance.profile).size.memory)
    }

    /// Whether two instances have a memory slice in common.
    pub(super) fn overlap(&self, a: Instance, b: Instance) -> bool {
        let (a, b) = (self.span(a), self.span(b));
        a.start < b.end && b.start < a.end
    }

    /// Whether two instances (or one twice) can never exist at once: they overlap, or only one of
    /// their profile may exist.
    ///
    /// # Panics
    /// As [`Model::profile`].
    #[must_use]
    pub fn exclude(&self, a: Instance, b: Instance) -> bool {
        a == b
            || self.overlap(a, b)
            || a.profile == b.profile && self.profile(a.profile).max_instances == 1
    }

    /// The text form of an instance: `3g.20gb@4`.
    ///
    /// # Panics
    /// As [`Model::profile`].
    #[must_use]
    pub fn print_instance(&self, instance: Instance) -> String {
        format!("{}@{}", self.profile(instance.profile).name, instance.start)
    }

    /// The text form of a layout: `3g.20gb@0 3g.20gb@4`; `whole` for a device that is not
    /// partitioned, `nothing` for one in MIG mode without any instance.
    ///
    /// # Panics
    /// If the layout belongs to another model, with more profiles.
    #[must_use]
    pub fn print(&self, layout: &Layout) -> String {
        if layout.is_whole() {
            return "whole".to_owned();
        }
        let words: Vec<_> = layout
            .instances()
            .iter()
            .map(|&instance| self.print_instance(instance))
            .collect();
        if words.is_empty() {
            "nothing".to_owned()
        } else {
            words.join(" ")
        }
    }

    /// A hash of the table, equal on every platform and in every release.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(super) fn legal(&self) -> &[Legal] {
        &self.legal
    }

    pub(super) fn position(&self, instance: Instance) -> Option<usize> {
        self.instances.binary_search(&instance).ok()
    }

    /// The layout of these positions.
    pub(super) fn unmask(&self, mask: u64) -> Layout {
        let instances = positions(mask).map(|i| self.instances()[i]).collect();
        Layout {
            instances: Some(instances),
            model: self.fingerprint(),
        }
    }

    /// Whether the instance at this position may join those of `mask`.
    pub(super) fn may_join(&self, mask: u64, position: usize) -> bool {
        let profile = self.instances[position].profile;
        mask & self.conflicts[position] == 0
            && self.count(mask, profile) < usize::from(self.profile(profile).max_instances)
    }

    /// The number of instances of a profile in `mask`.
    pub(super) fn count(&self, mask: u64, profile: ProfileId) -> usize {
        self.of_profile
            .get(usize::from(profile.0))
            .map_or(0, |instances| (mask & instances).count_ones() as usize)
    }
}

/// Prints the table and the number of layouts, not the layouts.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .profiles
            .iter()
            .map(|p| (&p.name, p.size, &p.starts, p.max_instances))
            .collect();
        f.debug_struct("Model")
            .field("name", &self.name)
            .field("size", &self.size)
            .field("profiles", &names)
            .field("layouts", &self.legal.len())
            .finish_non_exhaustive()
    }
}

/// Two models are equal if their names and tables are.
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.size, &self.profiles) == (&other.name, other.size, &other.profiles)
    }
}

fn fingerprint(name: &str, size: Size, profiles: &[Profile]) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    let names = profiles.iter().map(|profile| profile.name.as_str());
    for text in std::iter::once(name).chain(names) {
        // The zero keeps "ab", "c" and "a", "bc" apart.
        hash.write(text.as_bytes());
        hash.write(&[0]);
    }
    hash.write(&[size.compute, size.memory]);
    for Profile {
        size,
        memory_bytes,
        starts,
        max_instances,
        ..
    } in profiles
    {
        hash.write(&[
            size.compute,
            size.memory,
            *max_instances,
            starts.len() as u8,
        ]);
        hash.write(starts);
        hash.write(&memory_bytes.to_le_bytes());
    }
    hash.finish()
}

/// Every legal layout with at least one instance, in lexicographic order; none if there are more
/// than `most`.
fn enumerate(model: &Model, most: usize) -> Option<Vec<Legal>> {
    let mut found = Vec::new();
    extend(model, 0, 0, most, &mut found).then_some(found)
}

/// Adds to `found` every legal layout that extends `mask` by instances from position `from` on;
/// false if there are too many. A layout that can be extended is listed before its extensions.
fn extend(model: &Model, mask: u64, from: usize, most: usize, found: &mut Vec<Legal>) -> bool {
    // Only positions from `from` on are added, so each set of instances is found once.
    for position in from..model.instances().len() {
        if model.may_join(mask, position) {
            if found.len() == most {
                return false;
            }
            let mask = mask | 1 << position;
            // Positions below `from` count here too: an instance that was skipped may still
            // fit.
            let maximal = !(0..model.instances().len()).any(|other| model.may_join(mask, other));
            found.push(Legal { mask, maximal });
            if !extend(model, mask, position + 1, most, found) {
                return false;
            }
        }
    }
    true
}

/// What is wrong with a row of a table.
fn fault(profile: &Profile, device: Size) -> Option<&'static str> {
    let Size { compute, memory } = profile.size;
    let last = profile
        .starts
        .last()
        .map(|&start| u16::from(start) + u16::from(memory));
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
