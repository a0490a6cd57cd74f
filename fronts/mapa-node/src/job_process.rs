//! The job as a process: started, signalled, waited for with all that it starts.
//!
//! A program that is killed just after it has started a command must not leave a command of which
//! the ledger knows nothing. So the command's process waits at a gate until the ledger has its
//! process id, and only then becomes the command. If this program ends before, the gate closes, and
//! the process ends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mapa_live::{Identity, Processes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, set_child_subreaper, wait,
};
use signal_hook::consts::signal::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::flag::register_usize;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::error::Error;
use crate::ledger::since_boot;
use crate::memory::{GateReport, block_signals, gate, real_time_signals, send_signal, stop_self};

/// Signals that are passed on to the job, with those of real time.
const PASSED: [i32; 14] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGALRM,
    SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ,
];

/// Whether a signal ends a program that does not handle it: a waiting job leaves the queue.
fn is_ending(number: i32) -> bool {
    !matches!(number, SIGWINCH | SIGCONT | SIGTSTP | SIGCHLD)
}

/// How long processes may take to end after SIGTERM.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// What happens to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEvent {
    /// A signal came. The kernel sends those of a terminal to the whole group, so the job has it.
    Signal {
        /// Its number.
        number: i32,
        /// Whether only this process got it.
        alone: bool,
    },
    /// A child changed.
    Child,
    /// A wake-up has come.
    Wakeup,
}

impl RunEvent {
    fn of(origin: Origin) -> Self {
        if origin.signal == SIGCHLD {
            return Self::Child;
        }
        Self::Signal {
            number: origin.signal,
            alone: !matches!(origin.cause, Cause::Kernel),
        }
    }
}

/// What happens to this program, one at a time. The thread that asks is the one that waits: a job that waits has no other.
#[derive(Debug)]
pub(crate) struct RunEvents {
    /// The signals that are caught.
    caught: Vec<i32>,
    /// The last signal that came and [ends](is_ending) programs, 0 if none did: its handler writes it, so whoever was interrupted by the
    /// signal sees it at once.
    last: Arc<AtomicUsize>,
    signals: RefCell<SignalDelivery<UnixStream, WithOrigin>>,
    /// What has come and was not asked for yet.
    came: RefCell<VecDeque<RunEvent>>,
    /// Where wake-ups come, if any may.
    wakeups: RefCell<Option<OwnedFd>>,
}

impl RunEvents {
    /// Begins to catch signals. Those that whoever started this program has it ignore stay ignored.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(processes: &Processes) -> Result<Self, Error> {
        let ignored = processes.ignored();
        // Bit n - 1 stands for signal n, as in `SigIgn` of /proc/self/status. A signal that `nohup` or a shell
        // has set to be ignored must stay ignored, by the command too.
        let heeded = PASSED
            .into_iter()
            .chain(real_time_signals())
            .filter(|number| ignored >> (number - 1) & 1 == 0);
        let caught: Vec<i32> = heeded.chain([SIGCHLD]).collect();
        let failed = |error| Error::at("signals", error);
        let last = Arc::new(AtomicUsize::new(0));
        // A handler may do little more than store a number. These are registered first: whoever learns of a signal by the
        // pipe below finds the number too.
        for &number in caught.iter().filter(|number| is_ending(**number)) {
            register_usize(number, last.clone(), number as usize).map_err(failed)?;
        }
        let (read, write) = UnixStream::pair().map_err(failed)?;
        let signals = SignalDelivery::with_pipe(read, write, WithOrigin::default(), &caught);
        Ok(Self {
            caught,
            last,
            signals: RefCell::new(signals.map_err(failed)?),
            came: RefCell::default(),
            wakeups: RefCell::default(),
        })
    }

    /// Has [`RunEvent::Wakeup`] come whenever something can be read here, and from nowhere else. Whoever gets it reads.
    pub(crate) fn wake_by(&self, socket: Option<OwnedFd>) {
        *self.wakeups.borrow_mut() = socket;
    }

    /// The next thing that happens, if any does before the time is up.
    #[must_use]
    pub(crate) fn next(&self, within: Duration) -> Option<RunEvent> {
        let begun = Instant::now();
        loop {
            if let Some(event) = self.came.borrow_mut().pop_front() {
                return Some(event);
            }
            let left = within.saturating_sub(begun.elapsed());
            let (is_signal, is_wakeup) = self.poll(left);
            if is_signal {
                let found = self.signals.borrow_mut().pending();
                self.came.borrow_mut().extend(found.map(RunEvent::of));
            }
            if is_wakeup {
                self.came.borrow_mut().push_back(RunEvent::Wakeup);
            }
            if left.is_zero() && self.came.borrow().is_empty() {
                return None;
            }
        }
    }

    /// Waits until a signal or a wake-up has come, or the time is up.
    fn poll(&self, within: Duration) -> (bool, bool) {
        let (signals, wakeups) = (self.signals.borrow(), self.wakeups.borrow());
        let mut sources = vec![PollFd::new(signals.get_read(), PollFlags::IN)];
        sources.extend((wakeups.as_ref()).map(|socket| PollFd::new(socket, PollFlags::IN)));
        let timeout = Timespec {
            tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: within.subsec_nanos().into(),
        };
        // A signal interrupts this, and its byte is in the pipe then.
        let _ = poll(&mut sources, Some(&timeout));
        let came = |at: usize| sources.get(at).is_some_and(|one| !one.revents().is_empty());
        (came(0), came(1))
    }

    /// The signal that ends this program before its job runs, if one has come.
    fn ended(&self) -> Option<i32> {
        let last = self.last.load(Ordering::SeqCst);
        i32::try_from(last).ok().filter(|&number| number != 0)
    }

    /// The signal that ends this program while it waits in the queue, if this is one.
    #[must_use]
    pub(crate) fn ends(happening: RunEvent) -> Option<i32> {
        match happening {
            RunEvent::Signal { number, .. } if is_ending(number) => Some(number),
            _ => None,
        }
    }

    /// Waits for a wake-up, or until the time is up. A signal that ends programs ends the wait.
    pub(crate) fn pause(&self, pause: Duration) -> Option<i32> {
        loop {
            let event = match self.next(pause) {
                None | Some(RunEvent::Wakeup) => return None,
                Some(event) => event,
            };
            if matches!(
                event,
                RunEvent::Signal {
                    number: SIGTSTP,
                    ..
                }
            ) {
                stop_self();
            }
            if let Some(signal) = Self::ends(event) {
                return Some(signal);
            }
        }
    }
}

/// A job that runs.
#[derive(Debug)]
pub(crate) struct Job {
    pid: Pid,
    /// Names the process itself, whatever becomes of its number.
    handle: Option<OwnedFd>,
}

/// What became of a job that was to start.
#[derive(Debug)]
pub(crate) enum StartResult {
    /// It runs, or has ended already. With what could not be had, and why.
    Runs(Job, Option<String>),
    /// The command does not exist or cannot be run: what the system says.
    Not(io::Error),
    /// A signal came before.
    Signal(i32),
}

impl Job {
    /// Starts a job, once `note` has noted its process, and whether this is in the group that was made for it. It takes
    /// memory of these NUMA nodes alone, if any is named. From now on whatever it starts and leaves behind becomes a
    /// child of this program.
    ///
    /// # Errors
    /// The system starts no process; the process cannot be noted.
    pub(crate) fn start(
        mut command: Command,
        (memory, group): (&[u32], Option<BorrowedFd<'_>>),
        (processes, happenings): (&Processes, &RunEvents),
        note: impl FnOnce(&Identity, bool) -> Result<(), Error>,
    ) -> Result<StartResult, Error> {
        // A process of the command whose parent ends would become a child of init, and `wait` below would not
        // see it.
        let own_pid = Pid::from_raw(std::process::id() as i32);
        set_child_subreaper(own_pid).map_err(|error| Error::at("subreaper", error))?;
        let failed = |error: io::Error| Error::at("the command's process", error);
        let group = group.map(|folder| folder.as_raw_fd());
        let caught = happenings.caught.clone();
        let ours = gate(&mut command, memory, caught, group).map_err(failed)?;
        let caught = &happenings.caught;
        let (told, spawned) = thread::scope(|scope| {
            // Spawning ends when the process has become the command, or has ended.
            let spawn = move || block_signals(caught).and_then(|()| command.spawn());
            let spawned = thread::Builder::new().spawn_scoped(scope, spawn)?;
            // `spawn` returns only after `exec`, and `exec` waits for the gate: so the gate is served by this
            // thread, and the command is spawned by another.
            let told = let_in(&ours, processes, happenings, note);
            let spawned = spawned.join();
            Ok((
                told,
                spawned.map_err(|_| io::Error::other("a thread panicked"))?,
            ))
        })
        .map_err(failed)?;
        let arrival = match told? {
            GateResult::Opened(arrival) => Some(arrival),
            GateResult::Gone => None,
            GateResult::Signal(number) => return Ok(StartResult::Signal(number)),
        };
        // Dropping the standard library's handle neither waits nor kills; `wait` below reaps. A process that was
        // born in its group is another one than that of the handle.
        let pid = match (spawned, &arrival) {
            (Ok(_), Some(arrival)) => arrival.pid,
            (Ok(child), None) => child.id() as i32,
            // The gate was opened, and `exec` failed: there is no such command, or it cannot be run.
            (Err(error), Some(_)) => return Ok(StartResult::Not(error)),
            // Nobody has come to the gate.
            (Err(error), None) => return Err(failed(error)),
        };
        let pid = Pid::from_raw(pid).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
        let job = Self {
            pid,
            handle: pidfd_open(pid, PidfdFlags::empty()).ok(),
        };
        let unbound = arrival.and_then(|arrival| arrival.unbound);
        let note = unbound.map(|error| format!("the command's memory is not bound: {error}"));
        Ok(StartResult::Runs(job, note))
    }

    /// Sends the job a signal. Nothing happens if it has ended.
    fn signal(&self, number: i32) {
        // Kernels before 5.3 give no handle. The number is the job's until this program reaps it.
        let handle = self.handle.as_ref().map(OwnedFd::as_fd);
        send_signal(self.pid.as_raw_pid(), handle, number);
    }

    /// Waits until the job has ended, and all that it started. Passes signals on. When the time is
    /// up, nanoseconds since the boot, the job is ended. Calls `on_wakeup` at each wake-up. Returns its status, and
    /// whether the time was up.
    pub(crate) fn wait(
        self,
        happenings: &RunEvents,
        processes: &Processes,
        until: Option<i64>,
        on_wakeup: &mut dyn FnMut(),
    ) -> (JobExit, bool) {
        let mut status = None;
        let mut late = false;
        loop {
            // Reap in each round, whatever ended the last wait: several children that end at once may raise one
            // SIGCHLD, and orphans come here too.
            let children = reap(self.pid, &mut status);
            if let Some(status) = status {
                if children {
                    clear(processes, self.pid);
                }
                return (status, late);
            }
            let left_until = |moment: i64| {
                let left = moment.saturating_sub(since_boot()).max(0);
                Duration::from_nanos(left.unsigned_abs())
            };
            let left = until.map(left_until);
            if left.is_some_and(|left| left.is_zero()) && !late {
                late = true;
                // SIGTERM goes to the command alone, which may end its own children in its own order.
                self.signal(SIGTERM);
                continue;
            }
            // A job that ignores SIGTERM at its limit is killed with all that it started.
            let grace = GRACE.as_nanos() as i64;
            let kill = until.map(|until| left_until(until.saturating_add(grace)));
            if late && kill.is_some_and(|left| left.is_zero()) {
                end(processes, Signal::KILL);
            }
            let within = match (left, kill) {
                // The clock of this wait stands while the machine is suspended, and that of the time does not.
                (Some(left), _) if !late => left.min(Duration::from_secs(60)),
                // After the second deadline `kill` is zero. Without a floor this loop would spin while the
                // kernel takes the processes down.
                (_, Some(kill)) => kill.max(Duration::from_millis(100)),
                _ => Duration::from_secs(3600),
            };
            // A child that has changed needs no arm here: it has ended this wait, and the loop reaps. Signals
            // of a terminal are not passed on, because the job is in the same process group.
            match happenings.next(within) {
                Some(RunEvent::Signal { number, alone }) => {
                    if alone {
                        self.signal(number);
                    }
                    if number == SIGTSTP {
                        stop_self();
                    }
                }
                Some(RunEvent::Wakeup) => on_wakeup(),
                Some(RunEvent::Child) | None => {}
            }
        }
    }
}

/// What happened at the gate of a command.
enum GateResult {
    /// The process was noted, and becomes the command.
    Opened(GateReport),
    /// The process has ended before it came: waiting for it tells how.
    Gone,
    /// A signal that ends this program came first, so the process ends.
    Signal(i32),
}

/// Waits for the process of a command at its gate, has it noted, and lets it in. Unless it may go in, the
/// gate closes.
fn let_in(
    mut gate: &UnixStream,
    processes: &Processes,
    happenings: &RunEvents,
    note: impl FnOnce(&Identity, bool) -> Result<(), Error>,
) -> Result<GateResult, Error> {
    let Ok(arrival) = GateReport::wait(gate) else {
        return Ok(GateResult::Gone);
    };
    // What the ledger would not know does not begin: it has ended, or `/proc` does not show it.
    let Some(process) = processes.identity(arrival.pid) else {
        let _ = gate.shutdown(Shutdown::Both);
        return Ok(GateResult::Gone);
    };
    // The ledger has the process before the gate opens. If this program dies between the two, recovery finds a
    // child that is gone or never becomes the command.
    let noted = note(&process, arrival.is_grouped);
    // What came until now was for this program: the process catches no signal, and dies of those that the
    // whole group gets.
    let signal = happenings.ended();
    if noted.is_err() || signal.is_some() {
        let _ = gate.shutdown(Shutdown::Both);
    }
    noted?;
    if let Some(number) = signal {
        return Ok(GateResult::Signal(number));
    }
    // A process that has ended meanwhile needs no opening.
    let _ = gate.write_all(b"!");
    Ok(GateResult::Opened(arrival))
}

/// Reaps every child that has ended. Returns whether any is left; the job's own status, once it has
/// ended, is put into `status`.
fn reap(job: Pid, status: &mut Option<JobExit>) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, ended))) => {
                if pid == job {
                    *status = Some(JobExit::of(ended));
                }
            }
            // Children are left, and no other of them has ended.
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            // ECHILD: there is no child.
            Err(_) => return false,
        }
    }
}

/// Ends all that a job has left behind: first politely, then not. The devices are not free before.
fn clear(processes: &Processes, job: Pid) {
    end(processes, Signal::TERM);
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    while reap(job, &mut None) {
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
        if begun.elapsed() > GRACE {
            // What starts others faster than it is killed is killed again.
            end(processes, Signal::KILL);
        }
    }
}

/// Sends a signal to all processes below this one.
fn end(processes: &Processes, signal: Signal) {
    for identity in processes.below(std::process::id() as i32) {
        // One of another user ends by itself.
        let _ = processes.signal(&identity, signal);
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobExit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

impl JobExit {
    fn of(status: WaitStatus) -> Self {
        match status.terminating_signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Status(status.exit_status().unwrap_or_default()),
        }
    }

    /// The exit status that says so, as shells say it: 128 and the number for a signal.
    #[must_use]
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Self::Status(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            Self::Signal(number) => u8::try_from(128 + number).unwrap_or(u8::MAX),
        }
    }
}

impl std::fmt::Display for JobExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(code) => write!(f, "ended with status {code}"),
            Self::Signal(number) => write!(f, "was ended by signal {number}"),
        }
    }
}
