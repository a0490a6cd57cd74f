//! `mapa-case run`: a program under the manager.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};
use mapa_case::{BYTES, CONNECT_TIMEOUT, Declared, SOCKET, Session};
use mapa_io::{StandardError, message};

use crate::front;

/// The manager's socket by default, as the systemd unit makes it.
const DEFAULT: &str = "/run/mapa-case/case.sock";

/// How to run a program.
#[derive(Args)]
pub(crate) struct Run {
    /// The manager's socket [default: MAPA_CASE_SOCKET; else /run/mapa-case/case.sock].
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Give the program an instance of its own: no task of another runs there meanwhile.
    #[arg(long)]
    isolated: bool,
    /// The most memory that the program will hold at once, bytes: it gets an instance that has so much.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    bytes: u64,
    /// Which library stands before one of the program's, and asks the manager for it.
    #[arg(long, value_enum, default_value_t = Interpose::Auto, conflicts_with = "isolated")]
    interpose: Interpose,
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
    if let Err(text) = mapa_case::connect_timeout_of_environment() {
        return Err(format!("{CONNECT_TIMEOUT}={text}: expected a number of seconds").into());
    }
    if matches!(socket.try_exists(), Ok(false)) {
        // The first call waits, inside the program, which has no word for it.
        StandardError.line(&message(&format!(
            "mapa-case: {}: there is no manager (`mapa-case manager`); the program waits for one, 30 seconds or {CONNECT_TIMEOUT}, then fails",
            socket.display()
        )));
    }
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
        if args.bytes > 0 {
            command.env(BYTES, args.bytes.to_string());
        }
        args.interpose.prepare(&mut command, Path::new(name))?;
    }
    // The session is of this process, and the program becomes it.
    let error = command.exec();
    let name = name.to_string_lossy();
    Err(format!("{name}: {error}").into())
}

/// The library that is interposed in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Interpose {
    /// None if the program names case_task_begin; else the one before its driver, or where there is no driver the one
    /// before its runtime.
    Auto,
    /// The one before the CUDA driver.
    Driver,
    /// The one before its CUDA runtime, which must be a shared one.
    Runtime,
    /// None: the program asks by itself, because it was compiled with the pass, or changed by hand.
    None,
}

impl Interpose {
    /// Puts one library before those of the program. Never two: each would ask for every allocation.
    fn prepare(self, command: &mut Command, program: &Path) -> Result<(), Box<dyn Error>> {
        match self {
            Self::None => Ok(()),
            Self::Auto if asks_itself(program) => Ok(()),
            Self::Runtime => front::before_runtime(command),
            Self::Auto | Self::Driver => match front::driver()? {
                Some(driver) => front::before_driver(command, &driver),
                None if self == Self::Auto => front::before_runtime(command),
                None => {
                    Err("no libcuda.so.1: expected NVIDIA's driver, or MAPA_CASE_DRIVER".into())
                }
            },
        }
    }
}

/// The most bytes of a program that is looked through.
const MOST_BYTES: u64 = 1 << 30;

/// Whether a program names the runtime's functions. A script, or what cannot be read, does not.
fn asks_itself(program: &Path) -> bool {
    const NAME: &[u8] = b"case_task_begin";
    let found = if program.components().count() > 1 {
        Some(program.to_owned())
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        let mut files = env::split_paths(&folders).map(|folder| folder.join(program));
        files.find(|file| file.is_file())
    };
    let bytes = found
        .and_then(|file| mapa_io::read(file, MOST_BYTES).ok())
        .unwrap_or_default();
    bytes.windows(NAME.len()).any(|bytes| bytes == NAME)
}
