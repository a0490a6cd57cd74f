//! The manager of shared instances, alone and with real processes that are killed; and the program `mapa-case`.

// A machine with drivers and a ledger.
#[allow(dead_code, reason = "the tests of the node use all of it")]
#[path = "../../../../fronts/mapa-node/tests/common.rs"]
mod common;
mod crowd;
mod docs;
mod driver;
// The manager that the tests of the runtime play.
#[allow(dead_code, reason = "they play it in more ways")]
#[path = "../../runtime/tests/manager.rs"]
mod grants;
mod grow;
mod hostile;
mod live;
mod manager;
mod memory;
mod mutated;
#[path = "../../../../fronts/mapa-front/tests/common/mutation.rs"]
#[allow(dead_code, reason = "the tests of other programs use all of it")]
mod mutation;
mod program;
mod service;
mod world;

use std::path::PathBuf;
use std::process::Command;

/// The program `mapa`, which lies beside that of this package where the workspace is tested.
pub(crate) fn mapa() -> PathBuf {
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_mapa-case"));
    let path = own.with_file_name("mapa");
    if !path.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--offline", "-p", "mapa-node"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.unwrap().success(), "expected mapa-node to build");
    }
    path
}
