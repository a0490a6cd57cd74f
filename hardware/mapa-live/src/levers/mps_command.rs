//! NVIDIA's MPS control daemon, through its command `nvidia-cuda-mps-control`.
//!
//! The command takes a line on its standard input and prints the daemon's answer. The daemon keeps the old
//! value if one is out of range, and ends with success also if it does not know a command. So each
//! value is read back, and an answer that is no value is an error that quotes it.
//!
//! As the daemon of driver 580 does, a limit is printed in GiB from one on, rounded down, a number without a unit means
//! MiB, and 0 is no limit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::LeverError;
use super::mps::{Mps, MpsControlCommand, MpsScope, MpsServer, PinnedMib};
use crate::command::{self, CommandFailure, CommandInput};

/// How long a daemon is not asked that gave no answer.
const SILENCE: Duration = Duration::from_secs(1);

/// MPS control daemons behind the command.
#[derive(Clone, Debug)]
pub struct MpsCommand {
    /// The command: a path, or a name that is in `PATH` [default: `nvidia-cuda-mps-control`].
    pub command: PathBuf,
    /// How long each call may take [default: 5 seconds]. A daemon that has not answered in this time is not asked for
    /// a second: a plan of many steps would wait for each.
    pub time_limit: Duration,
    /// How long a daemon may take to start or end [default: 30 seconds].
    pub patience: Duration,
    /// Until when daemons that gave no answer are not asked.
    silent: Arc<Mutex<BTreeMap<MpsServer, Instant>>>,
}

impl Default for MpsCommand {
    fn default() -> Self {
        Self {
            command: PathBuf::from("nvidia-cuda-mps-control"),
            time_limit: Duration::from_secs(5),
            patience: Duration::from_secs(30),
            silent: Arc::default(),
        }
    }
}

impl MpsCommand {
    /// Daemons behind the command at this path.
    #[must_use]
    pub fn at(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            ..Self::default()
        }
    }

    /// Tells the daemon a line; the answer is what the command prints.
    fn tell(&self, server: &MpsServer, line: &str) -> Result<String, LeverError> {
        self.call(server, &format!("{line}\n"), self.time_limit)
            .map_err(|failure| self.error(server, line, failure))
    }

    fn call(
        &self,
        server: &MpsServer,
        input: &str,
        limit: Duration,
    ) -> Result<String, CommandFailure> {
        if self
            .silent()
            .get(server)
            .is_some_and(|until| Instant::now() < *until)
        {
            // In the same words, so that a failure that goes on is no news.
            return Err(CommandFailure::Hung(limit));
        }
        let told = CommandInput {
            input: input.as_bytes().to_vec(),
            env: vec![(
                "CUDA_MPS_PIPE_DIRECTORY".into(),
                server.0.clone().into_os_string(),
            )],
        };
        // The command reads lines from standard input; which daemon answers is decided by the folder of its pipes alone.
        let out = command::tell(&self.command, &[], told, limit);
        if matches!(out, Err(CommandFailure::Hung(_))) {
            let until = Instant::now() + SILENCE;
            self.silent().insert(server.clone(), until);
        }
        Ok(String::from_utf8_lossy(&out?).trim().to_owned())
    }

    fn silent(&self) -> MutexGuard<'_, BTreeMap<MpsServer, Instant>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, server: &MpsServer, line: &str, failure: CommandFailure) -> LeverError {
        let what = self.shell(server, line);
        match failure {
            CommandFailure::Missing => {
                LeverError::missing(self.command.display().to_string(), "no such command")
            }
            CommandFailure::Failed(status, said) => {
                let why = format!("{status}: {said}");
                if says_no_daemon(&said) {
                    LeverError::missing(format!("MPS daemon {}", server.0.display()), why)
                } else {
                    LeverError::failed(what, why)
                }
            }
            CommandFailure::Hung(limit) => {
                LeverError::failed(what, format!("no answer within {limit:?}"))
            }
            CommandFailure::System(error) => LeverError::failed(what, error.to_string()),
        }
    }

    fn shell(&self, server: &MpsServer, line: &str) -> String {
        format!(
            "echo {line} | CUDA_MPS_PIPE_DIRECTORY={} {}",
            server.0.display(),
            self.command.display()
        )
    }

    /// Waits until the daemon runs, or no longer does.
    fn wait(&self, server: &MpsServer, running: bool, what: &str) -> Result<(), LeverError> {
        let begin = Instant::now();
        loop {
            let found = self.is_running(server);
            if found
                .as_ref()
                .is_ok_and(|is_running| *is_running == running)
            {
                return Ok(());
            }
            if begin.elapsed() >= self.patience {
                // One that begins or ends may give any answer meanwhile.
                found?;
                let why = if running {
                    "does not answer"
                } else {
                    "still answers"
                };
                return Err(LeverError::failed(
                    self.shell(server, what),
                    format!("the daemon {why} after {:?}", self.patience),
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The command ends with an error if it finds no daemon.
fn says_no_daemon(said: &str) -> bool {
    said.contains("Cannot find MPS control daemon")
}

fn is_no_daemon(failure: &CommandFailure) -> bool {
    matches!(failure, CommandFailure::Failed(_, said) if says_no_daemon(said))
}

fn get_percent(scope: MpsScope) -> String {
    match scope {
        MpsScope::Daemon => "get_default_active_thread_percentage".to_owned(),
        MpsScope::Server { pid } => format!("get_active_thread_percentage {pid}"),
    }
}

fn set_percent(scope: MpsScope, thousandths: u32) -> String {
    let percent = f64::from(thousandths) / 1000.0;
    match scope {
        MpsScope::Daemon => format!("set_default_active_thread_percentage {percent}"),
        MpsScope::Server { pid } => format!("set_active_thread_percentage {pid} {percent}"),
    }
}

fn get_pinned(scope: MpsScope, device: u32) -> String {
    match scope {
        MpsScope::Daemon => format!("get_default_device_pinned_mem_limit {device}"),
        MpsScope::Server { pid } => format!("get_device_pinned_mem_limit {pid} {device}"),
    }
}

fn set_pinned(scope: MpsScope, device: u32, limit: PinnedMib) -> String {
    let size = limit.map_or_else(|| "0".to_owned(), |mib| format!("{mib}M"));
    match scope {
        MpsScope::Daemon => format!("set_default_device_pinned_mem_limit {device} {size}"),
        MpsScope::Server { pid } => format!("set_device_pinned_mem_limit {pid} {device} {size}"),
    }
}

/// Thousandths of a percent in an answer such as `100.0`.
fn percent_of(answer: &str) -> Option<u32> {
    let percent: f64 = answer.parse().ok()?;
    // Rounded to the unit in which MAPA compares shares: the daemon prints a float.
    (0.0..=100.0)
        .contains(&percent)
        .then(|| (percent * 1000.0).round() as u32)
}

/// MiB in an answer such as `3G` or `512M`.
fn mib_of(answer: &str) -> Option<u64> {
    let (number, mib) = match answer.strip_suffix('G') {
        Some(number) => (number, 1024),
        None => (answer.strip_suffix('M').unwrap_or(answer), 1u64),
    };
    number.parse::<u64>().ok()?.checked_mul(mib)
}

impl Mps for MpsCommand {
    fn is_running(&self, server: &MpsServer) -> Result<bool, LeverError> {
        // Sockets of a daemon that has ended stay behind. Only an answer counts.
        let line = get_percent(MpsScope::Daemon);
        match self.call(server, &format!("{line}\n"), self.time_limit) {
            Ok(answer) if percent_of(&answer).is_some() => Ok(true),
            Ok(answer) => {
                Err(self.no_value(server, MpsScope::Daemon, &line, &answer, "a percentage"))
            }
            Err(failure) if is_no_daemon(&failure) => Ok(false),
            Err(failure) => Err(self.error(server, &line, failure)),
        }
    }

    fn scopes(&self, server: &MpsServer) -> Result<Vec<MpsScope>, LeverError> {
        let answer = self.tell(server, "get_server_list")?;
        let mut scopes = vec![MpsScope::Daemon];
        for line in answer
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let pid = line.parse().map_err(|_| {
                LeverError::failed(
                    self.shell(server, "get_server_list"),
                    format!("it says `{}`: expected process ids", start_of(line)),
                )
            })?;
            scopes.push(MpsScope::Server { pid });
        }
        Ok(scopes)
    }

    fn percent(&self, server: &MpsServer, scope: MpsScope) -> Result<u32, LeverError> {
        let line = get_percent(scope);
        let answer = self.tell(server, &line)?;
        percent_of(&answer)
            .ok_or_else(|| self.no_value(server, scope, &line, &answer, "a percentage"))
    }

    fn set_percent(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
        thousandths: u32,
    ) -> Result<(), LeverError> {
        let line = set_percent(scope, thousandths);
        self.tell(server, &line)?;
        let has = self.percent(server, scope)?;
        if has == thousandths {
            return Ok(());
        }
        Err(LeverError::NotApplied {
            what: self.shell(server, &line),
            asked: format!("{} percent", f64::from(thousandths) / 1000.0),
            has: format!("{} percent", f64::from(has) / 1000.0),
        })
    }

    fn pinned(
        &self,
        server: &MpsServer,
        scope: MpsScope,
        device: u32,
    ) -> Result<PinnedMib, LeverError> {
        let line = get_pinned(scope, device);
        let answer = self.tell(server, &line)?;
        // A daemon without a limit has nothing to print.
        if answer.is_empty() {
            return Ok(None);
        }
        let mib = mib_of(&answer)
            .ok_or_else(|| self.no_value(server, scope, &line, &answer, "a size such as 2G"))?;
        Ok(Some(mib))
    }

    fn set_pinned(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
        device: u32,
        limit: PinnedMib,
    ) -> Result<(), LeverError> {
        let line = set_pinned(scope, device, limit);
        self.tell(server, &line)?;
        let has = self.pinned(server, scope, device)?;
        if has == limit {
            return Ok(());
        }
        let print =
            |limit: PinnedMib| limit.map_or("no limit".to_owned(), |mib| format!("{mib} MiB"));
        Err(LeverError::NotApplied {
            what: self.shell(server, &line),
            asked: print(limit),
            has: print(has),
        })
    }

    fn start(&mut self, server: &MpsServer) -> Result<(), LeverError> {
        if self.is_running(server)? {
            return Ok(());
        }
        let words = self.commands(server, &MpsControlCommand::Start);
        std::fs::create_dir_all(&server.0)
            .map_err(|error| LeverError::failed(&words, error.to_string()))?;
        let env = [(
            "CUDA_MPS_PIPE_DIRECTORY".into(),
            server.0.clone().into_os_string(),
        )];
        // The daemon keeps the pipes that it is started with. A reader would wait as long as the
        // daemon runs.
        command::detach(&self.command, &["-d"], &env, self.patience)
            .map_err(|failure| self.error(server, "-d", failure))?;
        self.wait(server, true, "-d")
    }

    fn quit(&mut self, server: &MpsServer) -> Result<(), LeverError> {
        if !self.is_running(server)? {
            return Ok(());
        }
        // It may wait for its clients.
        self.call(server, "quit\n", self.patience)
            .map_err(|failure| self.error(server, "quit", failure))?;
        self.wait(server, false, "quit")
    }

    fn commands(&self, server: &MpsServer, line: &MpsControlCommand) -> String {
        match line {
            MpsControlCommand::Percent(scope, thousandths) => {
                self.shell(server, &set_percent(*scope, *thousandths))
            }
            MpsControlCommand::Pinned(scope, device, limit) => {
                self.shell(server, &set_pinned(*scope, *device, *limit))
            }
            MpsControlCommand::Start => format!(
                "CUDA_MPS_PIPE_DIRECTORY={} {} -d",
                server.0.display(),
                self.command.display()
            ),
            MpsControlCommand::Quit => self.shell(server, "quit"),
        }
    }
}

impl MpsCommand {
    /// An answer that is no value: of a server that has ended, or of a daemon that is not understood.
    fn no_value(
        &self,
        server: &MpsServer,
        scope: MpsScope,
        line: &str,
        answer: &str,
        expected: &str,
    ) -> LeverError {
        let gone = match scope {
            MpsScope::Daemon => false,
            MpsScope::Server { .. } => self
                .scopes(server)
                .is_ok_and(|scopes| !scopes.contains(&scope)),
        };
        if gone {
            return LeverError::missing(format!("MPS {scope:?}"), "the daemon does not list it");
        }
        let why = format!("it says `{}`: expected {expected}", start_of(answer));
        LeverError::failed(self.shell(server, line), why)
    }
}

fn start_of(text: &str) -> String {
    text.chars().take(120).collect()
}
