//! The dearest packing of disjoint sets.

use super::super::levels::Levels;

/// Packings of the sets on which rings fit, and memory for the search.
pub(super) struct SetPackings {
    /// By lowest device: the sets.
    by_lowest: Vec<Vec<u32>>,
    /// By set of devices, as a mask: the dearest packing within.
    best: Vec<f64>,
    /// The sets of the last packing found.
    sets: Vec<u32>,
}

impl SetPackings {
    pub(super) fn new(levels: &Levels) -> Self {
        let mut by_lowest = vec![Vec::new(); levels.devices];
        for (set, level) in (0_u32..).zip(&levels.of_set) {
            if level.is_some() {
                by_lowest[set.trailing_zeros() as usize].push(set);
            }
        }
        Self {
            by_lowest,
            best: vec![0.0; levels.of_set.len()],
            sets: Vec::new(),
        }
    }

    /// The largest sum of prices of disjoint sets. [`sets`](Self::sets) has them then.
    ///
    /// Within a set F of devices, either the lowest one stays idle, or it is in one of the sets:
    /// then the rest of F is packed as well as it can be.
    ///
    /// # Complexity
    /// O(sum over sets S of 2^(devices above the lowest of S that are not in S)), at most O(3ᵐ) for
    /// m devices.
    pub(super) fn dearest(&mut self, price: impl Fn(u32) -> f64) -> f64 {
        let devices = self.by_lowest.len();
        for lowest in (0..devices).rev() {
            let bit = 1_usize << lowest;
            let above = (1_usize << devices) - 2 * bit;
            // Masks of higher devices alone are done.
            let mut rest = 0;
            loop {
                self.best[rest | bit] = self.best[rest];
                rest = rest.wrapping_sub(above) & above;
                if rest == 0 {
                    break;
                }
            }
            for &set in &self.by_lowest[lowest] {
                let price = price(set);
                if price <= 0.0 {
                    continue;
                }
                let others = above & !(set as usize);
                let mut rest = 0;
                loop {
                    let sum = price + self.best[rest];
                    let own = &mut self.best[rest | set as usize];
                    *own = own.max(sum);
                    // The next subset of the others, in ascending order.
                    rest = rest.wrapping_sub(others) & others;
                    if rest == 0 {
                        break;
                    }
                }
            }
        }
        self.trace(price);
        self.best.last().copied().unwrap_or_default()
    }

    /// Finds the sets that make up the best sum.
    fn trace(&mut self, price: impl Fn(u32) -> f64) {
        self.sets.clear();
        let mut free = (self.best.len() - 1) as u32;
        while free != 0 {
            let (best, lowest) = (self.best[free as usize], free.trailing_zeros());
            let fits = |set: u32| {
                let (price, rest) = (price(set), self.best[(free & !set) as usize]);
                set & !free == 0 && price > 0.0 && price + rest == best
            };
            let of_lowest = &self.by_lowest[lowest as usize];
            if self.best[(free & (free - 1)) as usize] == best {
                free &= free - 1;
            } else if let Some(&set) = of_lowest.iter().find(|&&set| fits(set)) {
                self.sets.push(set);
                free &= !set;
            } else {
                free &= free - 1;
            }
        }
    }

    /// The sets of the packing that was found last.
    pub(super) fn sets(&self) -> &[u32] {
        &self.sets
    }
}
