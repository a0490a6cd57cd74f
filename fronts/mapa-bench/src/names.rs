//! What the command line can name.

use std::sync::LazyLock;

use mapa_front::names::Names;

use crate::systems;

/// The policies, schedulers and models that MAPA ships, and what systems add.
pub(crate) static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names::built_in();
    for add in systems::NAMES {
        add(&mut names);
    }
    names
});
