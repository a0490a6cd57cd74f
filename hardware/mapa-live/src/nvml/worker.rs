//! The one owner of NVML in this process: a thread that loads the library at the first query, and
//! keeps its handle for the life of the process.
//!
//! Loading NVML and finding all devices takes far longer than a query; drivers have been seen to
//! take seconds. So all callers share one handle. Only the owner's thread calls the library. A call
//! that hangs blocks that thread but no caller, and a hundred callers do not leave a hundred
//! threads behind.
//!
//! If an answer is incomplete because the driver failed, the handle is released, and the next query
//! loads the library anew. After a reset, the driver may have other devices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SendError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::machine::Answers;
use super::processes;
use super::queries;
use crate::found::{DriverSnapshot, GpuReading, NoAnswer};
use crate::host::HostFiles;
use crate::roots::Roots;

/// The owners by the path of their library. A process has one, except where tests load several.
static OWNERS: Mutex<BTreeMap<PathBuf, Sender<NvmlRequest>>> = Mutex::new(BTreeMap::new());

/// A caller's request to the owner.
struct NvmlRequest {
    question: NvmlQuery,
    /// The time at which the caller stops waiting; `None` if the limit lies beyond what the clock can
    /// tell.
    deadline: Option<Instant>,
}

/// What a caller asks, and where the answer goes.
enum NvmlQuery {
    /// All facts that NVML gives about this machine.
    Machine(Roots, Sender<Result<Answers, NoAnswer>>),
    /// Which devices there are now, and who uses them.
    Snapshot(Sender<Result<DriverSnapshot, NoAnswer>>),
    /// What the devices measure.
    Readings(Sender<Result<Vec<GpuReading>, NoAnswer>>),
    /// Something else, which sends its answer itself.
    Do(Box<NvmlTask>),
}

type NvmlTask = dyn FnOnce(Result<&Nvml, NoAnswer>) + Send;

/// All facts that NVML gives about this machine, if it answers within the limit.
pub(super) fn answers(library: &Path, roots: &Roots, limit: Duration) -> Result<Answers, NoAnswer> {
    ask(library, limit, |reply| {
        NvmlQuery::Machine(roots.clone(), reply)
    })
}

/// The devices that there are now and who uses them, if NVML answers within the limit.
pub(super) fn driver_snapshot(library: &Path, limit: Duration) -> Result<DriverSnapshot, NoAnswer> {
    ask(library, limit, NvmlQuery::Snapshot)
}

/// What the devices measure, if NVML answers within the limit.
pub(super) fn readings(library: &Path, limit: Duration) -> Result<Vec<GpuReading>, NoAnswer> {
    ask(library, limit, NvmlQuery::Readings)
}

/// Does something with the library, if its turn comes within the limit, and waits for its end no longer than that.
pub(crate) fn with<T: Send + 'static>(
    library: &Path,
    limit: Duration,
    own: impl FnOnce(&Nvml) -> T + Send + 'static,
) -> Result<T, NoAnswer> {
    ask(library, limit, |reply| {
        NvmlQuery::Do(Box::new(move |nvml| {
            // A caller that no longer waits has dropped its end.
            let _ = reply.send(nvml.map(own));
        }))
    })
}

/// Asks the owner of this library, and waits for the answer.
fn ask<T>(
    library: &Path,
    limit: Duration,
    question: impl FnOnce(Sender<Result<T, NoAnswer>>) -> NvmlQuery,
) -> Result<T, NoAnswer> {
    let (reply, answer) = mpsc::channel();
    send(
        library,
        NvmlRequest {
            question: question(reply),
            deadline: Instant::now().checked_add(limit),
        },
    );
    answer.recv_timeout(limit).map_err(|error| {
        NoAnswer::Failed(match error {
            RecvTimeoutError::Timeout => format!("no answer within {limit:?}"),
            RecvTimeoutError::Disconnected => "the library failed while it was asked".to_owned(),
        })
    })?
}

/// Sends a job to the owner of this library. The first job starts the owner.
fn send(library: &Path, job: NvmlRequest) {
    // Locked until a new owner is listed, so that two callers do not start two.
    let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    let job = match owners.get(library) {
        Some(owner) => match owner.send(job) {
            Ok(()) => return,
            // The owner's thread has panicked. Another takes its place.
            Err(SendError(job)) => job,
        },
        None => job,
    };
    let (owner, jobs) = mpsc::channel();
    let path = library.to_owned();
    thread::spawn(move || own(&path, &jobs));
    // An owner that ends before it has the job drops the reply, which the caller notices.
    let _ = owner.send(job);
    owners.insert(library.to_owned(), owner);
}

/// Runs the owner of a library: answers jobs until the process ends.
fn own(library: &Path, jobs: &Receiver<NvmlRequest>) {
    let mut held = None;
    for job in jobs {
        // After a call that hung, no caller waits for the answers to what it delayed.
        if job
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            continue;
        }
        let handle = match held.take() {
            Some(nvml) => Ok(nvml),
            None => load(library),
        };
        // Releasing a handle may hang too, so the caller has its answer first. A caller that no
        // longer waits has dropped its end.
        held = match (job.question, handle) {
            (NvmlQuery::Machine(roots, reply), Ok(nvml)) => {
                let answers = queries::answers(&nvml, &HostFiles::new(&roots));
                let whole = matches!(&answers, Ok(answers) if answers.failed.is_none());
                let _ = reply.send(answers);
                whole.then_some(nvml)
            }
            (NvmlQuery::Snapshot(reply), Ok(nvml)) => {
                let snapshot = processes::driver_snapshot(&nvml);
                let whole = snapshot.is_ok();
                let _ = reply.send(snapshot);
                whole.then_some(nvml)
            }
            (NvmlQuery::Readings(reply), Ok(nvml)) => {
                let readings = super::gauges::readings(&nvml);
                let whole = readings.is_ok();
                let _ = reply.send(readings);
                whole.then_some(nvml)
            }
            (NvmlQuery::Do(own), Ok(nvml)) => {
                own(Ok(&nvml));
                Some(nvml)
            }
            (NvmlQuery::Do(own), Err(silence)) => {
                own(Err(silence));
                None
            }
            (NvmlQuery::Readings(reply), Err(silence)) => {
                let _ = reply.send(Err(silence));
                None
            }
            (NvmlQuery::Machine(_, reply), Err(silence)) => {
                let _ = reply.send(Err(silence));
                None
            }
            (NvmlQuery::Snapshot(reply), Err(silence)) => {
                let _ = reply.send(Err(silence));
                None
            }
        };
    }
}

pub(super) fn load(library: &Path) -> Result<Nvml, NoAnswer> {
    // The loader would wait for a writer of a FIFO, with a lock that the whole process needs.
    let found = std::fs::metadata(library);
    let is_path = library.components().count() > 1;
    if is_path && found.is_ok_and(|found| !found.is_file()) {
        let what = format!(
            "{}: is no regular file: expected a library",
            library.display()
        );
        return Err(NoAnswer::Failed(what));
    }
    let nvml = Nvml::builder().lib_path(library.as_os_str()).init();
    nvml.map_err(|error| match error {
        NvmlError::LibloadingError(error) => not_loaded(&error.to_string()),
        error => NoAnswer::Failed(error.to_string()),
    })
}

/// The failure to load the library. Only if the loader says that there is no such file, the library
/// is absent; for any other reason it may exist.
fn not_loaded(said: &str) -> NoAnswer {
    let what = format!("cannot be loaded: {said}");
    if said.contains("No such file or directory") {
        NoAnswer::Absent(what)
    } else {
        NoAnswer::Failed(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loader would wait for ever, and nothing in this process could end after that.
    #[test]
    fn a_fifo_in_place_of_the_library_is_refused_and_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("libnvidia-ml.so.1");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let Err(NoAnswer::Failed(said)) = load(&fifo) else {
            panic!("expected a failure");
        };
        assert!(said.contains("is no regular file"), "{said}");
    }
}
