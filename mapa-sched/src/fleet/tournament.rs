//! The least of many numbers, any of which may change: a winner tree.

/// Places, each with a number or none, as the leaves of a complete binary tree. Each inner node
/// holds the least number below it, so the root holds the least of all.
///
/// # Complexity
/// To set a number costs O(log p) for p places; to read the least one, O(1).
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Node 1 is the root. The children of node i are 2i and 2i + 1. The second half are the
    /// places.
    nodes: Vec<u64>,
}

/// An empty place: greater than every number.
const NONE: u64 = u64::MAX;

impl Tournament {
    /// No numbers yet.
    pub(super) fn new() -> Self {
        Self {
            nodes: vec![NONE; 2],
        }
    }

    /// How many places there are.
    fn places(&self) -> usize {
        self.nodes.len() / 2
    }

    /// The number of a place.
    pub(super) fn get(&self, place: usize) -> Option<u64> {
        self.nodes
            .get(self.places() + place)
            .copied()
            .filter(|&number| number != NONE)
    }

    /// The least number.
    pub(super) fn least(&self) -> Option<u64> {
        Some(self.nodes[1]).filter(|&number| number != NONE)
    }

    /// Sets or removes the number of a place. Places that do not exist yet are made.
    pub(super) fn set(&mut self, place: usize, number: Option<u64>) {
        if place >= self.places() {
            self.grow(place);
        }
        let mut node = self.places() + place;
        self.nodes[node] = number.unwrap_or(NONE);
        while node > 1 {
            node /= 2;
            let least = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            // Nothing changes above a node that stays as it is.
            if self.nodes[node] == least {
                break;
            }
            self.nodes[node] = least;
        }
    }

    /// Makes room for a place: the leaves move to the end of a larger tree.
    fn grow(&mut self, place: usize) {
        let old = self.nodes.split_off(self.places());
        let places = (place + 1).next_power_of_two();
        self.nodes = vec![NONE; places];
        self.nodes.extend(old);
        self.nodes.resize(2 * places, NONE);
        // From the lowest inner nodes up, so that both children are right before their parent.
        for node in (1..places).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// How many bytes this takes.
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
