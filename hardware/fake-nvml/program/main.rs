//! Makes folders with the fake library, and sets the state of a fake: `fake-nvml help` lists how.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fake_nvml::{Code, Config, Fake, Fault, Process, ProcessKind, built_library, install};

/// A machine without GPUs that speaks NVML.
#[derive(Parser)]
#[command(name = "fake-nvml", version)]
struct Cli {
    /// The folder that `install` made: its settings count, and the environment over them.
    #[arg(long, global = true)]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a folder with the library and its settings, for LD_LIBRARY_PATH.
    Install(Install),
    /// Print the state as JSON.
    Show,
    /// List a process on a device.
    Start(StartProcess),
    /// Remove a process from a device.
    Stop { device: u32, pid: u32 },
    /// Set counters, such as `power_mw=250000`; `show` has those that are not zero.
    Set {
        device: u32,
        #[arg(required = true, value_name = "COUNTER=NUMBER")]
        counters: Vec<String>,
    },
    /// Take a link down or up.
    Link {
        device: u32,
        link: u32,
        to: NvLinkWay,
    },
    /// Raise an Xid.
    Xid { device: u32, number: u64 },
    /// Take a device off the bus.
    Lose { device: u32 },
    /// Reset a device: it is on the bus, without processes and instances.
    Reset { device: u32 },
    /// Make a call fail or take long.
    Inject(Inject),
    /// Remove all faults.
    Clear,
    /// Turn MIG mode on or off.
    Mig { device: u32, to: OnOff },
    /// Create a GPU instance with a compute instance on all of it; prints their numbers.
    Create {
        device: u32,
        /// A profile: `3g.20gb`.
        profile: String,
        /// The first memory slice.
        #[arg(long)]
        start: Option<u8>,
    },
    /// Destroy a GPU instance with its compute instances.
    Destroy { device: u32, instance: u32 },
}

#[derive(Args)]
struct Install {
    /// The folder.
    folder: PathBuf,
    /// A name of MAPA's catalogue, or a machine file.
    #[arg(long)]
    machine: String,
    /// The GPU whose MIG profiles the devices have, or `none`.
    #[arg(long)]
    mig: Option<String>,
    /// The name of devices whose product is not known.
    #[arg(long)]
    product: Option<String>,
    /// The built library [default: the one that cargo built with this program].
    #[arg(long)]
    library: Option<PathBuf>,
}

#[derive(Args)]
struct StartProcess {
    device: u32,
    pid: u32,
    /// What it does there.
    #[arg(long, value_enum, default_value_t = ProcessWord::Compute)]
    kind: ProcessWord,
    /// Memory that it uses, MiB.
    #[arg(long, default_value_t = 0)]
    memory_mib: u64,
    /// Its GPU instance and compute instance: `1/0`.
    #[arg(long, value_parser = instance)]
    instance: Option<(u32, u32)>,
    /// List it only while the process of this number runs.
    #[arg(long)]
    while_running: bool,
}

#[derive(Args)]
struct Inject {
    /// The call, such as `nvmlDeviceGetName`; `*` for all.
    call: String,
    /// What it answers: `GPU_IS_LOST`.
    #[arg(required_unless_present = "delay_ms")]
    error: Option<String>,
    /// The device on which it fails [default: every one].
    #[arg(long)]
    device: Option<u32>,
    /// How many times it fails [default: always].
    #[arg(long)]
    times: Option<u32>,
    /// How long it takes before, ms.
    #[arg(long)]
    delay_ms: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProcessWord {
    Compute,
    Graphics,
    Mps,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum NvLinkWay {
    Up,
    Down,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum OnOff {
    On,
    Off,
}

fn instance(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/');
    let numbers = parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    numbers.ok_or_else(|| "expected two numbers: 1/0".to_owned())
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With nothing left to say it on, there is still the status.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), Box<dyn Error>> {
    if let Command::Install(order) = cli.command {
        return make(order);
    }
    let config = Config::find(cli.dir.as_deref(), |name| std::env::var(name).ok())?;
    if config.state.is_none() && !matches!(cli.command, Command::Show) {
        return Err("no state file: expected --dir, or FAKE_NVML_STATE".into());
    }
    let fake = Fake::open(&config)?;
    match cli.command {
        Command::Install(_) => {}
        Command::Show => say(&fake.state()?.write()?)?,
        Command::Start(start) => start.run(&fake)?,
        Command::Stop { device, pid } => {
            if !fake.stop_process(device, pid)? {
                return Err(format!("device {device} has no process {pid}").into());
            }
        }
        Command::Set { device, counters } => set(&fake, device, &counters)?,
        Command::Link { device, link, to } => fake.set_link(device, link, to == NvLinkWay::Up)?,
        Command::Xid { device, number } => fake.raise_xid(device, number)?,
        Command::Lose { device } => fake.lose(device)?,
        Command::Reset { device } => fake.reset(device)?,
        Command::Inject(inject) => inject.run(&fake)?,
        Command::Clear => fake.clear_faults()?,
        Command::Mig { device, to } => fake.set_mig(device, to == OnOff::On)?,
        Command::Create {
            device,
            profile,
            start,
        } => {
            let (instance, compute) = fake.create_instance(device, &profile, start)?;
            say(&format_args!("{instance}/{compute}"))?;
        }
        Command::Destroy { device, instance } => fake.destroy_instance(device, instance)?,
    }
    Ok(())
}

fn make(order: Install) -> Result<(), Box<dyn Error>> {
    let library = order.library.map_or_else(built_library, Ok)?;
    let mut config = Config::new(order.machine);
    // A path is relative to where the command runs, not to the new folder.
    if let Some(machine) = &mut config.machine
        && (machine.contains('/') || std::path::Path::new(machine).is_file())
    {
        *machine = std::path::absolute(&*machine)?.display().to_string();
    }
    (config.mig, config.product) = (order.mig, order.product);
    // A wrong machine is told before anything is written.
    Fake::open(&config)?;
    config.state = Some("state".into());
    say(&install(&library, &order.folder, &config)?.display())
}

/// Prints an answer.
///
/// # Errors
/// Standard output cannot be written.
fn say(answer: &dyn std::fmt::Display) -> Result<(), Box<dyn Error>> {
    writeln!(std::io::stdout(), "{answer}")
        .map_err(|error| format!("standard output: {error}").into())
}

impl StartProcess {
    fn run(self, fake: &Fake) -> Result<(), Box<dyn Error>> {
        let mut process = if self.while_running {
            Process::running(self.pid)?
        } else {
            Process::new(self.pid)
        };
        process.kind = match self.kind {
            ProcessWord::Compute => ProcessKind::Compute,
            ProcessWord::Graphics => ProcessKind::Graphics,
            ProcessWord::Mps => ProcessKind::Mps,
        };
        process.memory_bytes = self.memory_mib << 20;
        process.instance = self.instance;
        Ok(fake.start_process(self.device, process)?)
    }
}

/// Sets counters by their names in the state.
fn set(fake: &Fake, device: u32, counters: &[String]) -> Result<(), Box<dyn Error>> {
    let devices = &fake.state()?.devices;
    let now = devices.get(device as usize);
    let now = now.ok_or_else(|| format!("device {device}: expected 0 to {}", devices.len() - 1))?;
    let mut values = serde_json::to_value(&now.counters)?;
    for counter in counters {
        let parts = counter.split_once('=');
        let named = parts.and_then(|(name, number)| Some((name, number.parse::<u64>().ok()?)));
        let (name, number) =
            named.ok_or_else(|| format!("`{counter}`: expected COUNTER=NUMBER"))?;
        values[name] = number.into();
    }
    let next = serde_json::from_value(values)?;
    Ok(fake.set_counters(device, |counters| *counters = next)?)
}

impl Inject {
    fn run(self, fake: &Fake) -> Result<(), Box<dyn Error>> {
        let error = self.error.as_deref().map(Code::named).transpose()?;
        let delay = self.delay_ms.unwrap_or(0);
        let mut fault = Fault::delay(self.call, delay);
        (fault.error, fault.device, fault.times) = (error, self.device, self.times);
        Ok(fake.inject(fault)?)
    }
}
