//! The published rules that need no run times, as placement policies.

use mapa_core::{
    BuiltIn, Rules, Seat,
    criteria::{least, most},
};

/// The policies of this system.
pub const POLICIES: [BuiltIn; 2] = [
    BuiltIn::instances(
        "largest-first",
        "the instances with most compute slices",
        || Box::new(largest_first()),
    ),
    BuiltIn::instances(
        "smallest-first",
        "the instances with fewest compute slices",
        || Box::new(smallest_first()),
    ),
];

fn compute_slices(seat: &Seat<'_>) -> u8 {
    seat.device().size.map_or(0, |size| size.compute)
}

/// Largest-first: the free instance with most compute slices.
#[must_use]
pub fn largest_first() -> Rules<'static> {
    Rules::new("largest-first").prefer(most("compute slices", compute_slices).blind_to_ids())
}

/// Smallest-first: the free instance with fewest compute slices.
#[must_use]
pub fn smallest_first() -> Rules<'static> {
    Rules::new("smallest-first").prefer(least("compute slices", compute_slices).blind_to_ids())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_carries_its_name() {
        for row in POLICIES {
            assert_eq!(row.policy().name(), row.name);
        }
    }
}
