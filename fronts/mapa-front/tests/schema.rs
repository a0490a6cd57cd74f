//! `docs/schema` is what the types of the answers give.

use std::path::Path;

use mapa_front::ANSWERS;

use crate::kept;

/// To write the schemas anew: `MAPA_WRITE_SCHEMA=1 cargo test -p mapa-front --test all schema::`.
// Records have lines of latency control.
#[cfg(feature = "slo")]
#[test]
fn docs_schema_is_what_the_types_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    kept::check(&folder, ANSWERS);
}
