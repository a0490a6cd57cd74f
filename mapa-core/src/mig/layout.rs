//! Layouts: which instances exist at once.

use smallvec::SmallVec;

use super::model::{Instance, Model, ProfileId, bits, positions};
use crate::error::{Error, ErrorKind};

/// How a device is cut up: whole, or into instances that do not overlap. Made only by [`Model`], so it is legal for the
/// model that made it.
///
/// A device that is to be cut up but has no instance yet is not whole: it offers nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    /// None if the device is whole.
    instances: Option<SmallVec<[Instance; 8]>>,
    /// The fingerprint of the model that made it; 0 if the device is whole.
    model: u64,
}

impl Layout {
    /// Not cut up: the device itself may be used.
    #[must_use]
    pub fn whole() -> Self {
        Self { instances: None, model: 0 }
    }

    /// Whether the device is not cut up.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.instances.is_none()
    }

    /// The instances, by start; none if the device is whole.
    #[must_use]
    pub fn instances(&self) -> &[Instance] {
        self.instances.as_deref().unwrap_or_default()
    }

    /// Whether the instance is there.
    #[must_use]
    pub fn has(&self, instance: Instance) -> bool {
        self.instances().binary_search(&instance).is_ok()
    }
}

/// Not cut up.
impl Default for Layout {
    fn default() -> Self {
        Self::whole()
    }
}

/// A legal layout in the model's list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Legal {
    /// Bits are positions in [`Model::instances`].
    pub(super) mask: u64,
    /// Whether nothing can be added.
    pub(super) maximal: bool,
}

impl Legal {
    /// Every legal layout with at least one instance, in lexicographic order; nothing if there are more than `most`.
    pub(super) fn enumerate(model: &Model, most: usize) -> Option<Vec<Self>> {
        let mut found = Vec::new();
        extend(model, 0, 0, most, &mut found).then_some(found)
    }
}

fn extend(model: &Model, mask: u64, from: usize, most: usize, found: &mut Vec<Legal>) -> bool {
    for position in from..model.instances().len() {
        if model.may_join(mask, position) {
            if found.len() == most {
                return false;
            }
            let mask = mask | 1 << position;
            let maximal = !(0..model.instances().len()).any(|other| model.may_join(mask, other));
            found.push(Legal { mask, maximal });
            if !extend(model, mask, position + 1, most, found) {
                return false;
            }
        }
    }
    true
}

impl Model {
    /// The layout of exactly these instances, in any order; none of them make a device that is cut up into nothing.
    /// O(instances).
    ///
    /// # Errors
    /// An instance that the model does not offer or that is given twice, two that overlap, more of a profile than may
    /// exist. The message names them.
    pub fn layout(&self, instances: &[Instance]) -> Result<Layout, Error> {
        Ok(self.unmask(self.mask_of(instances)?))
    }

    /// The layout with one instance more, as the driver creates instances beside others. A whole device is cut up first.
    ///
    /// # Errors
    /// As [`Model::layout`].
    pub fn create_at(&self, layout: &Layout, instance: Instance) -> Result<Layout, Error> {
        let mask = self.mask(layout)?;
        Ok(self.unmask(mask | 1 << self.check(mask, instance)?))
    }

    /// The layout with one instance more of this profile, and the instance. Of the starts it may have, it gets the one
    /// after which most legal layouts can still be reached; the lowest on a tie. O(starts x layouts).
    ///
    /// # Errors
    /// No start is left.
    pub fn create(&self, layout: &Layout, profile: ProfileId) -> Result<(Layout, Instance), Error> {
        let mask = self.mask(layout)?;
        if usize::from(profile.0) >= self.profiles().len() {
            return Err(ErrorKind::NoSuchProfile { model: self.name().to_owned(), profile: profile.0 }.into());
        }
        let starts = (0..self.instances().len()).filter(|&i| self.instances()[i].profile == profile);
        let worth = |&i: &usize| (self.reachable(mask | 1 << i), std::cmp::Reverse(i));
        let best = starts.filter(|&i| self.may_join(mask, i)).max_by_key(worth);
        let best = best.ok_or_else(|| ErrorKind::NoStartLeft {
            profile: self.profile(profile).name.clone(),
            layout: self.print(layout),
        })?;
        Ok((self.unmask(mask | 1 << best), self.instances()[best]))
    }

    /// The layout with one instance less.
    ///
    /// # Errors
    /// An instance that is not there.
    pub fn destroy(&self, layout: &Layout, instance: Instance) -> Result<Layout, Error> {
        let mask = self.mask(layout)?;
        match self.position(instance).filter(|&i| mask >> i & 1 == 1) {
            Some(i) => Ok(self.unmask(mask & !(1 << i))),
            None if self.position(instance).is_none() => Err(self.no_such_instance(instance)),
            None => {
                Err(ErrorKind::NotInLayout { instance: self.print_instance(instance), layout: self.print(layout) }
                    .into())
            }
        }
    }

    /// Every legal layout with at least one instance, in lexicographic order.
    pub fn layouts(&self) -> impl ExactSizeIterator<Item = Layout> + '_ {
        self.legal().iter().map(|legal| self.unmask(legal.mask))
    }

    /// The legal layouts to which nothing can be added, in lexicographic order.
    pub fn maximal_layouts(&self) -> impl Iterator<Item = Layout> + '_ {
        self.legal().iter().filter(|legal| legal.maximal).map(|legal| self.unmask(legal.mask))
    }

    /// How many more instances of a profile could be created beside those of a layout.
    ///
    /// # Errors
    /// A layout of another model.
    pub fn room(&self, layout: &Layout, profile: ProfileId) -> Result<usize, Error> {
        Ok(self.room_in(self.mask(layout)?, profile))
    }

    /// How many legal layouts have all of these.
    pub(super) fn reachable(&self, mask: u64) -> usize {
        self.legal().iter().filter(|legal| legal.mask & mask == mask).count()
    }

    /// The most of `instances` that can exist at once beside all of `there`; none if `there` cannot. O(layouts).
    pub(crate) fn most_among(&self, there: &[Instance], instances: &[Instance]) -> usize {
        let Ok(there) = self.mask_of(there) else { return 0 };
        let among = bits(instances.iter().filter_map(|&instance| self.position(instance)));
        let wider = self.legal().iter().filter(|legal| legal.mask & there == there);
        wider.map(|legal| (legal.mask & among).count_ones() as usize).max().unwrap_or(0)
    }

    pub(super) fn room_in(&self, mask: u64, profile: ProfileId) -> usize {
        let wider = self.legal().iter().filter(|legal| legal.mask & mask == mask);
        let most = wider.map(|legal| self.count(legal.mask, profile)).max();
        most.map_or(0, |most| most - self.count(mask, profile))
    }

    /// Where an instance may join those of `mask`.
    fn check(&self, mask: u64, instance: Instance) -> Result<usize, Error> {
        let Some(position) = self.position(instance) else { return Err(self.no_such_instance(instance)) };
        if self.may_join(mask, position) {
            return Ok(position);
        }
        let in_the_way = positions(mask).map(|i| self.instances()[i]).find(|&other| self.overlap(instance, other));
        Err(match in_the_way {
            Some(other) => ErrorKind::Overlap { a: self.print_instance(other), b: self.print_instance(instance) },
            None => ErrorKind::TooManyOfProfile {
                profile: self.profile(instance.profile).name.clone(),
                most: self.profile(instance.profile).max_instances,
            },
        }
        .into())
    }

    fn no_such_instance(&self, instance: Instance) -> Error {
        let name = self.profiles().get(usize::from(instance.profile.0)).map(|profile| profile.name.clone());
        let instance =
            format!("{}@{}", name.unwrap_or_else(|| format!("profile {}", instance.profile.0)), instance.start);
        ErrorKind::NoSuchInstance { model: self.name().to_owned(), instance }.into()
    }

    /// The bits of a layout; what another table made is an error.
    pub(super) fn mask(&self, layout: &Layout) -> Result<u64, Error> {
        self.own(layout)?;
        self.mask_of(layout.instances())
    }

    /// That a layout is this model's: made by it or by an equal one. A device that is whole is every model's.
    ///
    /// # Errors
    /// A layout that another table made.
    pub fn own(&self, layout: &Layout) -> Result<(), Error> {
        if layout.is_whole() || layout.model == self.fingerprint() {
            return Ok(());
        }
        Err(ErrorKind::ForeignLayout { model: self.name().to_owned() }.into())
    }

    pub(super) fn mask_of(&self, instances: &[Instance]) -> Result<u64, Error> {
        instances.iter().try_fold(0, |mask, &instance| Ok(mask | 1 << self.check(mask, instance)?))
    }

    pub(super) fn unmask(&self, mask: u64) -> Layout {
        let instances = positions(mask).map(|i| self.instances()[i]).collect();
        Layout { instances: Some(instances), model: self.fingerprint() }
    }
}
