//! Repartitioning a device for jobs that wait.
//!
//! The list of legal layouts is short enough to evaluate all of them, so the answer is exact.
//! Creating instances greedily, one after another, would not be: an early `1g` at a bad start can
//! block a later `4g`.

use std::cmp::Reverse;

use super::layout::Layout;
use super::model::Model;
use super::profile::{Instance, ProfileId};
use crate::error::Error;

impl Model {
    /// The layout of exactly the wanted profiles, with one instance for each entry; none if no
    /// legal layout has them. Of several such layouts it is the one from which most legal layouts
    /// can still be reached by creating more instances; on a tie the lexicographically first.
    ///
    /// # Complexity
    ///
    /// O(l (p + e)) for l legal layouts, p profiles, and e layouts of exactly these profiles.
    #[must_use]
    pub fn fit(&self, wanted: &[ProfileId]) -> Option<Layout> {
        if wanted.is_empty() {
            return Some(self.unmask(0));
        }
        let exact = (self.legal().iter().rev())
            .map(|legal| legal.mask)
            .filter(|&mask| {
                mask.count_ones() as usize == wanted.len()
                    && (wanted.iter())
                        .all(|&profile| self.count(mask, profile) == how_many(wanted, profile))
            });
        // `rev`, because `max_by_key` takes the last of equals.
        exact
            .max_by_key(|&mask| self.reachable(mask))
            .map(|mask| self.unmask(mask))
    }

    /// The number of `wanted` profiles that can each get an instance of a layout, without the
    /// instances in `taken`.
    ///
    /// # Errors
    /// A layout or instance of another model.
    pub fn serves(
        &self,
        layout: &Layout,
        taken: &[Instance],
        wanted: &[ProfileId],
    ) -> Result<usize, Error> {
        let taken = self.mask_of(taken)?;
        Ok(self.served(self.mask(layout)? & !taken, wanted))
    }

    /// The best repartition of the device. It keeps the instances of `keep`, which have tenants,
    /// and gives as many of the `wanted` profiles as possible an instance without a tenant. Of such
    /// layouts it is the one that destroys and creates the fewest instances compared with `now`; on
    /// a tie the lexicographically first. The answer is exact: every legal layout is evaluated.
    ///
    /// If no more wanted profiles can be served than now, the answer is the layout `now`.
    ///
    /// # Complexity
    ///
    /// O(l p) for l legal layouts and p profiles; for an A100 2 µs with its plain profiles, 15 µs
    /// with all.
    ///
    /// # Errors
    /// Instances to keep that overlap, or that `now` does not have; a layout of another model.
    ///
    /// # Examples
    ///
    /// ```
    /// # use mapa_core::mig::{Layout, Model, Profile, Size};
    /// # let profile = |name: &str, slices, starts: &[u8], max_instances| Profile {
    /// #     name: name.into(), size: Size::new(slices, slices), memory_bytes: 1 << 30, starts: starts.to_vec(), max_instances,
    /// # };
    /// # let table = vec![profile("1g", 1, &[0, 1, 2, 3], 4), profile("2g", 2, &[0, 2], 2), profile("4g", 4, &[0], 1)];
    /// # let model = Model::new("quarters", Size::new(4, 4), table)?;
    /// let [one, two] = [model.find("1g")?, model.find("2g")?];
    /// let now = model.fit(&[one, one, one, one]).unwrap();
    /// let busy = [now.instances()[3]];
    /// // Two jobs of half a device each wait. The last quarter is in use, so one can be served.
    /// let next = model.best_layout(&now, &busy, &[two, two])?;
    /// assert_eq!(model.print(&next), "2g@0 1g@2 1g@3");
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    pub fn best_layout(
        &self,
        now: &Layout,
        keep: &[Instance],
        wanted: &[ProfileId],
    ) -> Result<Layout, Error> {
        let before = self.mask(now)?;
        let keep_mask = self.mask_of(keep)?;
        if let Some(&missing) = keep.iter().find(|&&instance| !now.has(instance)) {
            self.destroy(now, missing)?;
        }
        let served_now = self.served(before & !keep_mask, wanted);
        let kept = self
            .legal()
            .iter()
            .filter(|legal| legal.mask & keep_mask == keep_mask);
        // `rev`, because `max_by_key` takes the last of equals.
        let best = kept
            .rev()
            .map(|legal| (self.served(legal.mask & !keep_mask, wanted), legal.mask))
            .max_by_key(|&(served, mask)| (served, Reverse((mask ^ before).count_ones())));
        Ok(match best {
            Some((served, mask)) if served > served_now => self.unmask(mask),
            _ => now.clone(),
        })
    }

    /// The number of wanted profiles that these instances serve.
    fn served(&self, free: u64, wanted: &[ProfileId]) -> usize {
        let profiles = (0..self.profiles().len()).map(|i| ProfileId(i as u8));
        profiles
            .map(|profile| self.count(free, profile).min(how_many(wanted, profile)))
            .sum()
    }
}

/// How often a profile is wanted.
fn how_many(wanted: &[ProfileId], profile: ProfileId) -> usize {
    wanted.iter().filter(|&&other| other == profile).count()
}
