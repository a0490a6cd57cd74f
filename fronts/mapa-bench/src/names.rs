//! What the command line can name.

use std::sync::LazyLock;

use mapa_front::Names;

/// The policies, schedulers and models that MAPA ships.
pub(crate) static NAMES: LazyLock<Names> = LazyLock::new(Names::built_in);
