//! What a program that asks for memory must keep, checked event by event.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What happens in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleEvent {
    /// Task `task` was granted `bytes`; `thread` asked for them.
    Begin {
        /// Number of the begin in the process.
        task: u64,
        /// Bytes granted.
        bytes: u64,
        /// The thread.
        thread: u64,
    },
    /// Task `task` was granted `bytes` more.
    Extend {
        /// Number of the begin.
        task: u64,
        /// Bytes more.
        bytes: u64,
    },
    /// Task `task` gives back what it has.
    End {
        /// Number of the begin.
        task: u64,
    },
    /// Memory of `bytes` is allocated.
    Allocate {
        /// Bytes allocated.
        bytes: u64,
    },
    /// Memory of `bytes` is freed.
    Free {
        /// Bytes freed.
        bytes: u64,
    },
    /// A kernel is launched on a stream.
    Launch {
        /// The stream, 0 for the default one.
        stream: u64,
    },
    /// Other work is queued on a stream.
    Queue {
        /// The stream, 0 for the default one.
        stream: u64,
    },
    /// The work on a stream is finished; on all of them if none is named.
    Wait {
        /// The stream.
        stream: Option<u64>,
    },
    /// The process ends: whatever follows is clearing up.
    Exit,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// More memory is held than was granted.
    Held {
        /// Bytes held.
        held: u64,
        /// Bytes granted to the open tasks.
        granted: u64,
    },
    /// A kernel is launched while no task is open.
    LaunchOutside,
    /// A task begins inside another of the same thread.
    Nested {
        /// Number of the outer begin.
        outer: u64,
        /// Number of the inner one.
        inner: u64,
    },
    /// A begin has a number that was used before.
    BegunTwice {
        /// The number.
        task: u64,
    },
    /// A task is ended or extended that is not open.
    NotOpen {
        /// The number.
        task: u64,
    },
    /// A task ends while work that was queued may still run.
    Queued {
        /// The number.
        task: u64,
    },
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Held { held, granted } => {
                write!(
                    f,
                    "{held} bytes are held, expected at most the {granted} granted"
                )
            }
            Objection::LaunchOutside => {
                write!(f, "a kernel is launched, expected a task to be open")
            }
            Objection::Nested { outer, inner } => {
                write!(
                    f,
                    "task {inner} begins inside task {outer}, expected that to have ended"
                )
            }
            Objection::BegunTwice { task } => {
                write!(f, "task {task} begins, expected a number that is new")
            }
            Objection::NotOpen { task } => write!(
                f,
                "task {task} is ended or extended, expected it to be open"
            ),
            Objection::Queued { task } => {
                write!(f, "task {task} ends, expected the device to have finished")
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct OracleTask {
    bytes: u64,
    thread: u64,
}

/// The state of one process.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    open: BTreeMap<u64, OracleTask>,
    used: BTreeSet<u64>,
    held: u64,
    /// Streams that may still have work.
    queued: BTreeSet<u64>,
    exiting: bool,
}

impl Oracle {
    /// Takes an event, and answers with what it breaks.
    ///
    /// # Complexity
    /// Time O(t) for t open tasks.
    pub fn take(&mut self, event: OracleEvent) -> Vec<Objection> {
        let mut broken = Vec::new();
        match event {
            OracleEvent::Begin {
                task,
                bytes,
                thread,
            } => {
                if !self.used.insert(task) {
                    broken.push(Objection::BegunTwice { task });
                }
                if let Some((&outer, _)) = self.open.iter().find(|(_, o)| o.thread == thread) {
                    broken.push(Objection::Nested { outer, inner: task });
                }
                self.open.insert(task, OracleTask { bytes, thread });
            }
            OracleEvent::Extend { task, bytes } => match self.open.get_mut(&task) {
                Some(open) => open.bytes = open.bytes.saturating_add(bytes),
                None => broken.push(Objection::NotOpen { task }),
            },
            OracleEvent::End { task } => self.end(task, &mut broken),
            OracleEvent::Allocate { bytes } => {
                self.held = self.held.saturating_add(bytes);
                self.check_held(&mut broken);
            }
            OracleEvent::Free { bytes } => self.held = self.held.saturating_sub(bytes),
            OracleEvent::Launch { stream } => {
                if self.open.is_empty() && !self.exiting {
                    broken.push(Objection::LaunchOutside);
                }
                self.queued.insert(stream);
            }
            OracleEvent::Queue { stream } => {
                self.queued.insert(stream);
            }
            OracleEvent::Wait {
                stream: Some(stream),
            } => {
                self.queued.remove(&stream);
            }
            OracleEvent::Wait { stream: None } => self.queued.clear(),
            OracleEvent::Exit => self.exiting = true,
        }
        broken
    }

    /// Tasks that are open, by the numbers of their begins.
    pub fn open(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.keys().copied()
    }

    fn end(&mut self, task: u64, broken: &mut Vec<Objection>) {
        if self.open.remove(&task).is_none() {
            broken.push(Objection::NotOpen { task });
            return;
        }
        if self.exiting {
            return;
        }
        self.check_held(broken);
        // With other tasks open the queued work may be theirs.
        if self.open.is_empty() && !self.queued.is_empty() {
            broken.push(Objection::Queued { task });
        }
    }

    fn check_held(&self, broken: &mut Vec<Objection>) {
        let granted = self
            .open
            .values()
            .fold(0_u64, |sum, o| sum.saturating_add(o.bytes));
        if self.held > granted && !self.exiting {
            broken.push(Objection::Held {
                held: self.held,
                granted,
            });
        }
    }
}
