//! Enumerates sets of devices.

/// The k-subsets of `0..n` in lexicographic order. A subset that has a number must also have the
/// number `below` it, if there is one.
pub(super) struct Subsets {
    /// By number, the lower number that a subset with it must also have.
    below: Vec<Option<usize>>,
    k: usize,
    chosen: Vec<usize>,
    taken: Vec<bool>,
    started: bool,
}

impl Subsets {
    pub(super) fn new(below: Vec<Option<usize>>, k: usize) -> Self {
        Self {
            taken: vec![false; below.len()],
            below,
            k,
            chosen: Vec::with_capacity(k),
            started: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<&[usize]> {
        let mut from = if self.started { self.give_back()? } else { 0 };
        self.started = true;
        while self.chosen.len() < self.k {
            // Enough higher numbers must be left for the remaining places.
            let end = (self.below.len() + self.chosen.len() + 1).saturating_sub(self.k);
            let may = |&i: &usize| self.below[i].is_none_or(|below| self.taken[below]);
            match (from..end).find(may) {
                Some(i) => {
                    self.chosen.push(i);
                    self.taken[i] = true;
                    from = i + 1;
                }
                None => from = self.give_back()?,
            }
        }
        Some(&self.chosen)
    }

    /// Removes the last number and returns the next one to try in its place.
    fn give_back(&mut self) -> Option<usize> {
        let last = self.chosen.pop()?;
        self.taken[last] = false;
        Some(last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut subsets: Subsets) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        while let Some(subset) = subsets.next() {
            all.push(subset.to_vec());
        }
        all
    }

    #[test]
    fn subsets_come_in_lexicographic_order_and_all_of_them() {
        for n in 0..8usize {
            for k in 0..8usize {
                let found = all(Subsets::new(vec![None; n], k));
                let choose = (1..=k).fold(1, |c, i| c * (n + i).saturating_sub(k) / i);
                assert_eq!(found.len(), if k > n { 0 } else { choose });
                assert!(found.is_sorted());
            }
        }
    }

    #[test]
    fn subsets_have_no_number_without_the_one_below_it() {
        // Three of {0 < 2 < 5}, {1 < 3}, 4.
        let below = vec![None, None, Some(0), Some(1), None, Some(2)];
        for k in 0..=6 {
            let every = all(Subsets::new(vec![None; 6], k));
            let closed = |set: &Vec<usize>| {
                set.iter()
                    .all(|&i| below[i].is_none_or(|below| set.contains(&below)))
            };
            assert_eq!(
                all(Subsets::new(below.clone(), k)),
                every.into_iter().filter(closed).collect::<Vec<_>>()
            );
        }
    }
}
