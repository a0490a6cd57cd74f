//! `mapa-node`: services of one machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    mapa_node::daemon(std::env::args_os())
}
