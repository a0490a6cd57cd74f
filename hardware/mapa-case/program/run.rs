//! `mapa-case run`: a program under the manager.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use mapa_case::{Declared, SOCKET, Session};

/// The manager's socket by default, as the systemd unit makes it.
const DEFAULT: &str = "/run/mapa/case.sock";

/// How to run a program.
#[derive(Args)]
pub(crate) struct Run {
    /// The manager's socket [default: MAPA_CASE_SOCKET; else /run/mapa/case.sock].
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Give the program an instance of its own: no task of another runs there meanwhile.
    #[arg(long)]
    isolated: bool,
    /// The memory that an isolated program needs, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "isolated")]
    bytes: u64,
    /// The program and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs a program in place of this one. Returns only if that fails.
pub(crate) fn run(args: &Run) -> Result<ExitCode, Box<dyn Error>> {
    let told = args
        .socket
        .clone()
        .or_else(mapa_case::socket_of_environment);
    let socket = told.unwrap_or_else(|| Path::new(DEFAULT).to_owned());
    let (name, rest) = args
        .command
        .split_first()
        .ok_or("expected a command after --")?;
    let mut command = Command::new(name);
    command.args(rest);
    let session;
    if args.isolated {
        let declared = Declared {
            largest: args.bytes,
            grows: false,
            isolated: true,
        };
        session = Session::new(socket, declared);
        session.init()?;
        let instance = session.describe(session.instance())?;
        command.env("CUDA_VISIBLE_DEVICES", instance.visible);
        if !instance.pipe.is_empty() {
            command.env("CUDA_MPS_PIPE_DIRECTORY", instance.pipe);
        }
        // It has its instance: its tasks need not ask.
        command.env_remove(SOCKET);
    } else {
        command.env(SOCKET, &socket);
        preload(&mut command);
    }
    // The session is of this process, and the program becomes it.
    let error = command.exec();
    let name = name.to_string_lossy();
    Err(format!("{name}: {error}").into())
}

/// Puts the libraries for programs that were never changed in front, if they lie beside this program.
fn preload(command: &mut Command) {
    let own = env::current_exe().ok();
    let Some(folder) = own.as_deref().and_then(Path::parent) else {
        return;
    };
    let folders = [folder.to_owned(), folder.join("../lib/mapa-case")];
    for folder in folders {
        let preload = folder.join("libcase_preload.so");
        if preload.exists() {
            command.env("LD_PRELOAD", in_front(&preload, "LD_PRELOAD"));
        }
        let driver = folder.join("case-cuda");
        if driver.join("libcuda.so.1").exists() {
            command.env("LD_LIBRARY_PATH", in_front(&driver, "LD_LIBRARY_PATH"));
        }
    }
}

fn in_front(path: &Path, variable: &str) -> OsString {
    let mut all = path.as_os_str().to_owned();
    if let Some(before) = env::var_os(variable).filter(|own| !own.is_empty()) {
        all.push(":");
        all.push(before);
    }
    all
}
