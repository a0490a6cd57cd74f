//! `mapa`: accelerators of this machine for commands, each alone on its devices.

use std::process::ExitCode;

fn main() -> ExitCode {
    mapa_node::main(std::env::args_os())
}
