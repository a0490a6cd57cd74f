//! Every policy that has a name: MAPA's own, then those of vendors' device plugins.

use mapa_core::{BuiltIn, Policy};
use mapa_topologies::policies::BUILT_IN;

use crate::failure::Failure;

/// All of them.
pub(crate) fn policies() -> impl Iterator<Item = BuiltIn> {
    BuiltIn::ALL.into_iter().chain(BUILT_IN)
}

/// The policy of this name.
pub(crate) fn named(name: &str) -> Result<Box<dyn Policy>, Failure> {
    let found = policies().find(|policy| policy.name == name).map(|policy| policy.policy());
    found.ok_or_else(|| {
        let known: Vec<&str> = policies().map(|policy| policy.name).collect();
        Failure::malformed(format_args!("no policy is called `{name}`: expected one of {}", known.join(", ")))
    })
}
