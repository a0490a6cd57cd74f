//! The keeper of a lease: a process that ends an expired lease if its `mapa run` was killed. If the keeper is killed too,
//! the daemon ends the lease, or the next `mapa` of the same user or of root.

use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use mapa_live::Processes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::acquire::wake_head;
use crate::error::Error;
use crate::job_process::GRACE;
use crate::ledger::{Durability, Lease, Ledger, since_boot};
use crate::mark::MARK;
use crate::memory::detach;
use crate::memory::user;
use crate::recover::{PATIENCE, recover};

/// How often it looks whether the lease has ended without it.
const INTERVAL: Duration = Duration::from_secs(5);

/// How often it looks once the time is up.
const LATE_INTERVAL: Duration = Duration::from_millis(200);

/// The keeper of one lease. It learns that this program has ended from the end of a pipe.
#[derive(Debug)]
pub(crate) struct Keeper {
    _alive: PipeWriter,
}

impl Keeper {
    /// Starts the keeper of a lease that has a deadline. It is no child of this program.
    ///
    /// # Errors
    /// The system starts no process.
    pub(crate) fn start(ledger: &Ledger, lease: i64) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg("--ledger")
            .arg(ledger.path())
            .args(["keep", &lease.to_string()])
            .env_remove(MARK)
            .stdin(Stdio::from(reader))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/");
        detach(&mut command);
        // The process that is spawned ends at once; the keeper is its child.
        command.spawn()?.wait()?;
        Ok(Self { _alive: writer })
    }
}

/// Waits until the `mapa run` of a lease has ended, and ends the lease's processes once it has expired.
///
/// # Errors
/// The ledger cannot be used.
pub(crate) fn keep(ledger: &mut Ledger, id: i64) -> Result<(), Error> {
    let (processes, owner) = (Processes::new()?, user());
    let find = |ledger: &mut Ledger| {
        let leases = ledger.read(|books| books.leases())?;
        let own = leases.into_iter().find(|lease| lease.id == id);
        Ok::<Option<(Lease, i64)>, Error>(own.and_then(|lease| {
            let deadline = lease.deadline?;
            Some((lease, deadline))
        }))
    };
    let Some((_, deadline)) = find(ledger)? else {
        return Ok(());
    };
    await_end_of_input(deadline);
    loop {
        let left = deadline.saturating_sub(since_boot());
        if left > 0 {
            // A look now and then ends this process soon after the lease.
            thread::sleep(INTERVAL.min(Duration::from_nanos(left.unsigned_abs())));
        }
        match find(ledger) {
            Ok(None) => return Ok(()),
            Ok(Some(_)) if left <= 0 => {}
            Ok(Some(_)) => continue,
            // A ledger that was busy for a minute may be free again.
            Err(_) => {
                thread::sleep(INTERVAL);
                continue;
            }
        }
        let done = ledger.change(Durability::Boot, |books| recover(books, &processes, &owner));
        if done.is_ok_and(|done| !done.released.is_empty()) {
            let _ = wake_head(ledger);
        }
        // A process that SIGKILL does not end soon hangs in a driver, or belongs to another user.
        let is_late = Duration::from_nanos(left.unsigned_abs()) > 3 * GRACE;
        thread::sleep(if is_late { INTERVAL } else { LATE_INTERVAL });
    }
}

/// Waits until the other end of standard input is closed. Not longer than the program of a lease may take to end it: it
/// may be stopped.
fn await_end_of_input(deadline: i64) {
    let input = io::stdin();
    let last = deadline.saturating_add(PATIENCE.as_nanos() as i64);
    loop {
        let left = last.saturating_sub(since_boot());
        if left <= 0 {
            return;
        }
        // The clock of `poll` stands while the machine is suspended.
        let pause = INTERVAL
            .as_secs()
            .saturating_mul(12)
            .min(left.unsigned_abs() / 1_000_000_000 + 1);
        let timeout = Timespec {
            tv_sec: pause as i64,
            tv_nsec: 0,
        };
        let mut inputs = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        match poll(&mut inputs, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}
