//! How many jobs of each size run at once.

/// The dearest mix of jobs that fit on a machine together: at most m devices in all. Where the
/// devices lie does not matter.
pub(super) struct Mixes {
    devices: usize,
    sizes: Vec<usize>,
    /// By number of devices, the largest sum of prices.
    best: Vec<f64>,
    /// By number of devices, the place of a size of that mix. `None`: one device is left idle.
    choice: Vec<Option<usize>>,
}

impl Mixes {
    /// Mixes of jobs of these sizes, each at least 1.
    pub(super) fn new(devices: usize, sizes: Vec<usize>) -> Self {
        Self {
            devices,
            sizes,
            best: vec![0.0; devices + 1],
            choice: vec![None; devices + 1],
        }
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The largest sum of prices of jobs that run at once, where `price` gives that of a job by the
    /// place of its size. `taken` is called with each job of that mix.
    ///
    /// # Complexity
    /// O(m s) for m devices and s sizes.
    pub(super) fn dearest(
        &mut self,
        price: impl Fn(usize) -> f64,
        mut taken: impl FnMut(usize),
    ) -> f64 {
        for devices in 1..=self.devices {
            self.best[devices] = self.best[devices - 1];
            self.choice[devices] = None;
            for (place, &size) in self.sizes.iter().enumerate() {
                if size > devices {
                    continue;
                }
                let sum = price(place) + self.best[devices - size];
                if sum > self.best[devices] {
                    self.best[devices] = sum;
                    self.choice[devices] = Some(place);
                }
            }
        }
        let mut left = self.devices;
        while left > 0 {
            left -= self.choice[left].map_or(1, |place| {
                taken(place);
                self.sizes[place]
            });
        }
        self.best[self.devices]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_fits_and_is_the_dearest() {
        let mut mixes = Mixes::new(8, vec![1, 3, 5]);
        let prices = [1.0, 3.5, 5.0];
        let mut counts = [0; 3];
        let sum = mixes.dearest(|place| prices[place], |place| counts[place] += 1);
        assert_eq!((sum, counts), (9.0, [2, 2, 0]));
    }

    #[test]
    fn jobs_of_no_price_do_not_run() {
        let mut mixes = Mixes::new(8, vec![1, 3]);
        let mut count = 0;
        assert_eq!(mixes.dearest(|_| 0.0, |_| count += 1), 0.0);
        assert_eq!(count, 0);
    }
}
