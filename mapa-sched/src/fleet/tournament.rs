//! The least of many numbers, any of which may change.

/// A place per class, each with a number or none: a complete binary tree whose inner nodes hold the least below them. Setting a
/// number is O(log places), the least of all is at the root.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Node 1 is the root, those below node i are 2i and 2i + 1, the second half are the places.
    nodes: Vec<u64>,
}

/// Worse than every number.
const NONE: u64 = u64::MAX;

impl Tournament {
    /// No numbers yet.
    pub(super) fn new() -> Self {
        Self { nodes: vec![NONE; 2] }
    }

    fn places(&self) -> usize {
        self.nodes.len() / 2
    }

    /// The number of a place.
    pub(super) fn get(&self, place: usize) -> Option<u64> {
        self.nodes.get(self.places() + place).copied().filter(|&number| number != NONE)
    }

    /// The least number.
    pub(super) fn least(&self) -> Option<u64> {
        Some(self.nodes[1]).filter(|&number| number != NONE)
    }

    /// Sets or takes away the number of a place, making room for it where there is none.
    pub(super) fn set(&mut self, place: usize, number: Option<u64>) {
        if place >= self.places() {
            self.grow(place);
        }
        let mut node = self.places() + place;
        self.nodes[node] = number.unwrap_or(NONE);
        while node > 1 {
            node /= 2;
            let least = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == least {
                break;
            }
            self.nodes[node] = least;
        }
    }

    fn grow(&mut self, place: usize) {
        let old = self.nodes.split_off(self.places());
        let places = (place + 1).next_power_of_two();
        self.nodes = vec![NONE; places];
        self.nodes.extend(old);
        self.nodes.resize(2 * places, NONE);
        for node in (1..places).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_is_that_of_a_list(changes in proptest::collection::vec((0usize..40, proptest::option::of(0u64..9)), 0..200)) {
            let (mut tournament, mut list) = (Tournament::new(), [None; 40]);
            for (place, number) in changes {
                tournament.set(place, number);
                list[place] = number;
                prop_assert_eq!(tournament.least(), list.iter().flatten().min().copied());
                prop_assert!((0..40).all(|place| tournament.get(place) == list[place]));
            }
        }
    }
}
