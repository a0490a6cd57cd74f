//! Fragmentation: what bad starts of instances cost.

use super::layout::Layout;
use super::model::Model;
use super::profile::ProfileId;
use crate::error::Error;

impl Model {
    /// How much bad starts cost: of the instances that could still be created with the best starts,
    /// the share that cannot be created. It is 0 if the instances of the layout have the best
    /// possible starts. It is 1 if nothing more can be created although other starts of the same
    /// instances would allow it.
    ///
    /// For each profile p, let r(p) be how many more of it fit beside the layout ([`Model::room`]),
    /// and b(p) the most that would fit beside any legal layout of the same profiles. With c(p)
    /// compute slices each, the measure is Σ c(p) (b(p) − r(p)) / Σ c(p) b(p), and 0 if nothing
    /// more would fit anywhere. The measure is our own. It depends on starts alone, so a device in
    /// full use is not fragmented. To measure what idle instances prevent, give the layout of the
    /// instances with tenants.
    ///
    /// # Complexity
    ///
    /// O(l² p) in the worst case for l legal layouts and p profiles; for an A100 20 µs with its
    /// plain profiles, 0.2 ms with all.
    ///
    /// # Errors
    /// A layout of another model.
    pub fn fragmentation(&self, layout: &Layout) -> Result<f64, Error> {
        let mask = self.mask(layout)?;
        let profiles = || (0..self.profiles().len()).map(|i| ProfileId(i as u8));
        let (mut lost, mut best) = (0, 0);
        let others: Vec<u64> = self
            .legal()
            .iter()
            .map(|legal| legal.mask)
            .filter(|&other| profiles().all(|p| self.count(other, p) == self.count(mask, p)))
            .collect();
        for profile in profiles() {
            let here = self.room_in(mask, profile);
            let most = others
                .iter()
                .map(|&other| self.room_in(other, profile))
                .max()
                .unwrap_or(here);
            let weight = usize::from(self.profile(profile).size.compute);
            lost += weight * (most - here);
            best += weight * most;
        }
        Ok(if best == 0 {
            0.0
        } else {
            lost as f64 / best as f64
        })
    }
}
