//! The layouts of a model: listing them, and adding or removing an instance.

use super::layout::Layout;
use super::model::{Model, bits, positions};
use super::profile::{Instance, ProfileId};
use crate::error::{Error, ErrorKind};

impl Model {
    /// The layout of exactly these instances, given in any order. An empty list gives the layout of
    /// a device in MIG mode without instances. O(i) for i instances.
    ///
    /// # Errors
    /// An instance that the model does not have or that is given twice; two that overlap; more of a
    /// profile than may exist. The message names them.
    pub fn layout(&self, instances: &[Instance]) -> Result<Layout, Error> {
        Ok(self.unmask(self.mask_of(instances)?))
    }

    /// The layout with one more instance, as the driver creates instances beside others. A whole
    /// device is switched to MIG mode first.
    ///
    /// # Errors
    /// As [`Model::layout`].
    pub fn create_at(&self, layout: &Layout, instance: Instance) -> Result<Layout, Error> {
        let mask = self.mask(layout)?;
        Ok(self.unmask(mask | 1 << self.check(mask, instance)?))
    }

    /// The layout with one more instance of this profile, and that instance. The instance gets the
    /// start after which most legal layouts can still be reached; on a tie, the lowest.
    ///
    /// # Complexity
    ///
    /// O(s l) for s starts of the profile and l legal layouts.
    ///
    /// # Errors
    /// No start is left.
    pub fn create(&self, layout: &Layout, profile: ProfileId) -> Result<(Layout, Instance), Error> {
        let mask = self.mask(layout)?;
        if usize::from(profile.0) >= self.profiles().len() {
            return Err(ErrorKind::NoSuchProfile {
                model: self.name().to_owned(),
                profile: profile.0,
            }
            .into());
        }
        let starts =
            (0..self.instances().len()).filter(|&i| self.instances()[i].profile == profile);
        let best = starts
            .filter(|&i| self.may_join(mask, i))
            .max_by_key(|&i| (self.reachable(mask | 1 << i), std::cmp::Reverse(i)));
        let best = best.ok_or_else(|| ErrorKind::NoStartLeft {
            profile: self.profile(profile).name.clone(),
            layout: self.print(layout),
        })?;
        Ok((self.unmask(mask | 1 << best), self.instances()[best]))
    }

    /// The layout without one of its instances.
    ///
    /// # Errors
    /// An instance that the layout does not have.
    pub fn destroy(&self, layout: &Layout, instance: Instance) -> Result<Layout, Error> {
        let mask = self.mask(layout)?;
        match self.position(instance).filter(|&i| mask >> i & 1 == 1) {
            Some(i) => Ok(self.unmask(mask & !(1 << i))),
            None if self.position(instance).is_none() => Err(self.no_such_instance(instance)),
            None => Err(ErrorKind::NotInLayout {
                instance: self.print_instance(instance),
                layout: self.print(layout),
            }
            .into()),
        }
    }

    /// Every legal layout with at least one instance, in lexicographic order.
    pub fn layouts(&self) -> impl ExactSizeIterator<Item = Layout> + '_ {
        self.legal().iter().map(|legal| self.unmask(legal.mask))
    }

    /// The legal layouts to which nothing can be added, in lexicographic order.
    pub fn maximal_layouts(&self) -> impl Iterator<Item = Layout> + '_ {
        self.legal()
            .iter()
            .filter(|legal| legal.maximal)
            .map(|legal| self.unmask(legal.mask))
    }

    /// The number of further instances of a profile that could be created beside those of a layout.
    ///
    /// # Complexity
    ///
    /// O(l) for l legal layouts.
    ///
    /// # Errors
    /// A layout of another model.
    pub fn room(&self, layout: &Layout, profile: ProfileId) -> Result<usize, Error> {
        Ok(self.room_in(self.mask(layout)?, profile))
    }

    /// The number of legal layouts that have all of these instances.
    pub(super) fn reachable(&self, mask: u64) -> usize {
        self.legal()
            .iter()
            .filter(|legal| legal.mask & mask == mask)
            .count()
    }

    /// The most of `instances` that can exist at once beside all of `there`; 0 if those of `there`
    /// cannot exist at once. O(l) for l layouts.
    pub(crate) fn most_among(&self, there: &[Instance], instances: &[Instance]) -> usize {
        let Ok(there) = self.mask_of(there) else {
            return 0;
        };
        let among = bits(
            instances
                .iter()
                .filter_map(|&instance| self.position(instance)),
        );
        let wider = self
            .legal()
            .iter()
            .filter(|legal| legal.mask & there == there);
        wider
            .map(|legal| (legal.mask & among).count_ones() as usize)
            .max()
            .unwrap_or(0)
    }

    pub(super) fn room_in(&self, mask: u64, profile: ProfileId) -> usize {
        let wider = self
            .legal()
            .iter()
            .filter(|legal| legal.mask & mask == mask);
        let most = wider.map(|legal| self.count(legal.mask, profile)).max();
        most.map_or(0, |most| most - self.count(mask, profile))
    }

    /// The position of an instance that may join those of `mask`.
    fn check(&self, mask: u64, instance: Instance) -> Result<usize, Error> {
        let Some(position) = self.position(instance) else {
            return Err(self.no_such_instance(instance));
        };
        if self.may_join(mask, position) {
            return Ok(position);
        }
        // An instance that may not join either overlaps another or exceeds the maximum of its
        // profile.
        let in_the_way = positions(mask)
            .map(|i| self.instances()[i])
            .find(|&other| self.overlap(instance, other));
        Err(match in_the_way {
            Some(other) => ErrorKind::Overlap {
                a: self.print_instance(other),
                b: self.print_instance(instance),
            },
            None => ErrorKind::TooManyOfProfile {
                profile: self.profile(instance.profile).name.clone(),
                most: self.profile(instance.profile).max_instances,
            },
        }
        .into())
    }

    fn no_such_instance(&self, instance: Instance) -> Error {
        let name = self
            .profiles()
            .get(usize::from(instance.profile.0))
            .map(|profile| profile.name.clone());
        let instance = format!(
            "{}@{}",
            name.unwrap_or_else(|| format!("profile {}", instance.profile.0)),
            instance.start
        );
        ErrorKind::NoSuchInstance {
            model: self.name().to_owned(),
            instance,
        }
        .into()
    }

    /// The bits of a layout. A layout that another table made is an error.
    pub(super) fn mask(&self, layout: &Layout) -> Result<u64, Error> {
        self.own(layout)?;
        self.mask_of(layout.instances())
    }

    /// Checks that a layout is this model's: made by it or by an equal one. The layout of a whole
    /// device belongs to every model.
    ///
    /// # Errors
    /// A layout that another table made.
    pub fn own(&self, layout: &Layout) -> Result<(), Error> {
        if layout.is_whole() || layout.model == self.fingerprint() {
            return Ok(());
        }
        Err(ErrorKind::ForeignLayout {
            model: self.name().to_owned(),
        }
        .into())
    }

    pub(super) fn mask_of(&self, instances: &[Instance]) -> Result<u64, Error> {
        instances.iter().try_fold(0, |mask, &instance| {
            Ok(mask | 1 << self.check(mask, instance)?)
        })
    }
}
