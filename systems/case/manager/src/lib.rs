//! `mapa-case manager`: processes share instances of GPUs, and each task asks for its memory first.
//!
//! From the ground up: `instances` is what there is to share, `session` is who shares it, `manager`
//! decides (it reads no socket and no clock, so tests and fuzzing drive it): `calls` become events for
//! the scheduler there, and its `orders` replies; `resume` goes on after another manager, `socket`, `poll`
//! and `deaths` are what the system tells, `server` speaks to the processes, `lease` holds the instances
//! in the ledger.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `mapa_node::Output` prints"
)]

mod calls;
mod exit_watch;
mod instances;
mod lease;
mod manager;
mod orders;
mod poll;
mod resume;
mod server;
mod session;
mod socket;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mapa_front::{FileKind, Files};
use mapa_live::Processes;
use mapa_node::{Error, Ledger, LocalFiles, MachineArgs, Node, Output, TaskFile, gid, ledger_file};
use mapa_system_case::{CaseSettings, ContextMemory};

pub use instances::{Instances, SharedInstance};
pub use manager::{Manager, Replies, Settings};
pub use session::ClientProcess;

/// What a context takes. On an H100 with driver 580 it was 544 MB with 132 multiprocessors, 290 with 66, 171 with 36
/// and 102 with 18. This is a little more: too much costs room, too little fails allocations that were granted.
pub const CONTEXT: ContextMemory = ContextMemory {
    base_bytes: 100_000_000,
    device_bytes: 500_000_000,
};

/// How to share instances.
#[derive(Debug, Args)]
pub struct ManagerArgs {
    /// The machine.
    #[command(flatten)]
    machine: MachineArgs,
    /// The ledger [default: as `mapa`].
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Answer in JSON.
    #[arg(long)]
    json: bool,
    /// The instances, a TOML file [default: the MIG instances of the machine, which nobody may hold].
    #[arg(long, value_name = "FILE")]
    instances: Option<String>,
    /// The socket on which processes ask.
    #[arg(long, value_name = "FILE", default_value = "/run/mapa-case/case.sock")]
    socket: PathBuf,
    /// The file of tasks: on tmpfs, so that it costs no disk [default: the socket's name with .tasks].
    #[arg(long, value_name = "FILE")]
    task_file: Option<PathBuf>,
    /// Who gets which instance.
    #[arg(long, value_enum, default_value_t = Rule::Case)]
    scheduler: Rule,
    /// The memory that the context of each process takes on its instance, bytes [default: 100 MB and 500 MB times the
    /// share of its device that the instance has].
    #[arg(long, value_name = "BYTES")]
    context_bytes: Option<u64>,
    /// Processes for each compute slice, at most.
    #[arg(long, value_name = "N", default_value_t = CaseSettings::WORKERS)]
    processes_per_slice: u32,
    /// The group that may ask: its name or number [default: that of this program].
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

/// Who gets which instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// The paper's manager, corrected: isolated jobs first.
    Case,
    /// Both classes in balance, and an instance is drained for the isolated job that waits longest.
    CaseBalanced,
}

impl ManagerArgs {
    fn settings(&self) -> CaseSettings {
        let rule = match self.scheduler {
            Rule::Case => CaseSettings::CORRECTED,
            Rule::CaseBalanced => CaseSettings {
                // This program does not create or destroy instances.
                reprovision: false,
                ..CaseSettings::BALANCED
            },
        };
        CaseSettings {
            context: self.context_bytes.map_or(CONTEXT, ContextMemory::fixed),
            workers: self.processes_per_slice,
            ..rule
        }
    }
}

/// Serves until SIGTERM or SIGINT. Returns the exit status.
#[must_use]
pub fn manage(args: &ManagerArgs) -> ExitCode {
    let output = Output { json: args.json };
    match serve(args, output) {
        Ok(()) => output.status(0),
        Err(error) => {
            output.fail(&error, false);
            ExitCode::from(error.exit_status())
        }
    }
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// There are no instances, somebody else holds them, or the socket cannot be made.
fn serve(args: &ManagerArgs, output: Output) -> Result<(), Error> {
    let processes = Processes::new()?;
    let mut ledger = Ledger::open(ledger_file(
        args.ledger.as_deref(),
        args.instances.is_some(),
    )?)?;
    let instances = match &args.instances {
        Some(file) => {
            let text = LocalFiles.text(file, FileKind::Settings)?;
            Instances::parse(file, &text)?
        }
        None => {
            let warn = &mut |warning: String| output.aside(warning);
            let node = Node::load(&args.machine.spec(), &args.machine.live(), warn)?;
            Instances::of_node(&node)?
        }
    };
    let tasks = args.task_file.clone().unwrap_or_else(|| {
        let mut name = args.socket.clone().into_os_string();
        name.push(".tasks");
        name.into()
    });
    // A manager that cannot begin leaves no lease: once there is one, a file that cannot be read keeps it.
    socket::check_name(&args.socket)?;
    TaskFile::check(&tasks, &processes)?;
    // The lease comes first: it keeps a second manager from the file and the socket.
    let lease = lease::take(&mut ledger, &processes, &instances, &tasks)?;
    let served = (|| {
        socket::check_free(&args.socket)?;
        let group = args.group.as_deref();
        let group = group.map(|group| gid("--group", group)).transpose()?;
        let entries = TaskFile::open(&tasks, &processes)?;
        let rule = args.settings();
        let manager = Manager::new(instances, rule, Settings::default(), entries)?;
        server::serve(manager, &args.socket, group, &processes, output)
    })();
    lease::give_back(&mut ledger, &processes, &lease)?;
    served
}
