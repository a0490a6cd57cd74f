//! Where a task goes: Algorithm 2, as a placement policy.

use mapa_core::{BuiltIn, Rules, fewest_warps};

/// The policies of this system.
pub const POLICIES: [BuiltIn; 1] = [BuiltIn::instances(
    "case",
    "shared tasks: more free memory than asked for, fewest warps in use (CASE, Algorithm 2)",
    || Box::new(case()),
)];

/// CASE's placement of a task (Algorithm 2): [`fewest_warps`] under the name of the paper.
#[must_use]
pub fn case() -> Rules<'static> {
    fewest_warps().named("case")
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
