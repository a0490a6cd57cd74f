//! The time limit of a command, and the timer that keeps it.
//!
//! A command that may answer with the best so far watches a [`StopFlag`]. The timer sets it a moment before the limit, so
//! that searches end, and there is time left to print what they have. Whatever has not answered 30 ms after the limit
//! is ended: the timer removes drafts of files, prints the refusal and exits with 3. So the limit is kept by work that
//! never looks at the flag, too.
//!
//! An answer is never torn: whoever comes first, the command that begins to print or the timer, is the only one to do so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches};
use indicatif::ProgressBar;
use mapa_core::StopFlag;
use mapa_front::TimeWord;

/// How long after its limit a command is ended.
const GRACE: Duration = Duration::from_millis(30);

/// How long before the limit searches are told to end, at most: a tenth of the limit.
const LEAD: Duration = Duration::from_millis(100);

/// The name of the option.
const OPTION: &str = "time_limit";

/// What a command does at its time limit, and which limit it has where the command line names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// Whether the best so far is an answer, which says that it is not complete. Otherwise the answer is whole, or there
    /// is none: half a simulation would look like a result.
    takes_best: bool,
    default: Option<Duration>,
}

impl TimeLimit {
    /// A person waits for the answer, and the best so far is one.
    pub const BEST: Self = Self {
        takes_best: true,
        default: Some(Duration::from_secs(10)),
    };

    /// A person waits for the answer, which is whole or none.
    pub const WHOLE: Self = Self {
        takes_best: false,
        ..Self::BEST
    };

    /// The command may take hours: it has no limit unless the command line names one. The answer is whole or none.
    pub const LONG: Self = Self {
        takes_best: false,
        default: None,
    };

    /// The option `--time-limit`, which subcommands take too.
    #[must_use]
    pub fn arg(self) -> Arg {
        let at_end = if self.takes_best {
            "Stop searching after this time, and answer with the best so far"
        } else {
            "End without an answer (limit_reached) after this time"
        };
        let default = match self.default {
            Some(limit) => words(limit),
            None => "none".to_owned(),
        };
        Arg::new(OPTION)
            .long("time-limit")
            .value_name("TIME|none")
            .value_parser(clap::value_parser!(TimeWord))
            .global(true)
            .hide_short_help(true)
            .help(format!(
                "{at_end}: 10, 10s, 500ms, 2m, 1h; waiting for input does not count [default: {default}]"
            ))
    }

    /// The limit of a command line; `None` if there is none.
    #[must_use]
    pub fn of(self, matches: &ArgMatches) -> Option<Duration> {
        let given = matches.try_get_one::<TimeWord>(OPTION).ok().flatten();
        given.map_or(self.default, |given| given.0)
    }

    /// Runs a command within this limit. If it has no answer then, `refuse` prints why, and the process ends with 3.
    pub(crate) fn run<T>(
        self,
        limit: Option<Duration>,
        refuse: impl FnOnce(String) + Send + 'static,
        work: impl FnOnce() -> T,
    ) -> T {
        let Some(limit) = limit else { return work() };
        let flag = StopFlag::new();
        *lock() = Some(Timer {
            limit,
            takes_best: self.takes_best,
            flag: flag.clone(),
            clock: TimerClock::Until(Instant::now() + limit),
            is_idle: false,
            is_answered: false,
            ended_by: None,
        });
        // Where the system has no thread left, the flag is all that is missing: the command runs without a limit.
        let _ = thread::Builder::new()
            .name("time limit".to_owned())
            .spawn(move || keep(refuse));
        if self.takes_best {
            flag.watch(work)
        } else {
            work()
        }
    }
}

/// A limit as options write it.
fn words(limit: Duration) -> String {
    let millis = limit.as_millis();
    if millis.is_multiple_of(1000) {
        format!("{}s", millis / 1000)
    } else {
        format!("{millis}ms")
    }
}

/// The command that has a limit. There is one at a time, as there is one standard output.
static TIMER: Mutex<Option<Timer>> = Mutex::new(None);

/// Tells the timer's thread that the clock goes on.
static GOES_ON: Condvar = Condvar::new();

/// Whether the answer of this command has begun, so that nothing has to be asked any more.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Drafts of files that are not in their place yet.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How far the command came, and what is kept of that.
static PROGRESS: Mutex<(Option<(ProgressBar, &'static str)>, String)> =
    Mutex::new((None, String::new()));

/// The timer of a command. Others hold it only to keep it from ending the command meanwhile.
pub(crate) struct Timer {
    limit: Duration,
    takes_best: bool,
    flag: StopFlag,
    clock: TimerClock,
    /// Whether the timer's thread waits for the clock to go on.
    is_idle: bool,
    is_answered: bool,
    /// The timer's thread, once it ends the command.
    ended_by: Option<ThreadId>,
}

#[derive(Clone, Copy)]
enum TimerClock {
    Until(Instant),
    /// With so much time left.
    Paused(Duration),
}

impl Timer {
    /// When searches are told to end.
    fn lead(&self) -> Duration {
        LEAD.min(self.limit / 10)
    }

    fn go_on(&mut self, left: Duration) {
        self.clock = TimerClock::Until(Instant::now() + left);
        if self.is_idle {
            GOES_ON.notify_all();
        }
    }

    fn pause(&mut self) {
        if let TimerClock::Until(end) = self.clock {
            self.clock = TimerClock::Paused(end.saturating_duration_since(Instant::now()));
        }
    }
}

fn lock() -> MutexGuard<'static, Option<Timer>> {
    TIMER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread of the timer.
fn keep(refuse: impl FnOnce(String)) {
    let mut kept = lock();
    loop {
        let Some(timer) = &mut *kept else { return };
        let TimerClock::Until(end) = timer.clock else {
            timer.is_idle = true;
            kept = GOES_ON.wait(kept).unwrap_or_else(PoisonError::into_inner);
            if let Some(timer) = &mut *kept {
                timer.is_idle = false;
            }
            continue;
        };
        let is_told = timer.flag.is_set() || !timer.takes_best;
        let next = if is_told {
            end + GRACE
        } else {
            end - timer.lead()
        };
        let wait = next.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            let waited = GOES_ON.wait_timeout(kept, wait);
            kept = waited.unwrap_or_else(PoisonError::into_inner).0;
        } else if !is_told {
            timer.flag.set();
        } else if timer.is_answered {
            // The next line of a stream has a time of its own.
            timer.pause();
        } else {
            timer.ended_by = Some(thread::current().id());
            let limit = timer.limit;
            // Whoever wants to print or to put a file in its place finds the command ended.
            drop(kept);
            return end_command(limit, refuse);
        }
    }
}

/// Prints the refusal and ends the process.
fn end_command(limit: Duration, refuse: impl FnOnce(String)) {
    let drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
    for draft in &*drafts {
        // It may be in its place already.
        let _ = std::fs::remove_file(draft);
    }
    let (bar, kept) = &*PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    let came = bar.as_ref().map_or(String::new(), |(bar, unit)| {
        let of = bar.length().filter(|&length| length > 0);
        let of = of.map_or(String::new(), |length| format!(" of {length}"));
        format!(", {}{of} {unit} done", bar.position())
    });
    let why = format!(
        "no answer within the time limit of {} (--time-limit){came}{kept}",
        words(limit)
    );
    if let Some((bar, _)) = bar {
        bar.finish_and_clear();
    }
    refuse(why);
    std::process::exit(3);
}

/// Begins the answer: from here on the timer lets the command print. Does not return if the timer ends it.
pub(crate) fn begin_answer() {
    if !IS_ANSWERED.load(Ordering::Relaxed) {
        let mut timer = hold();
        if let Some(timer) = &mut *timer {
            timer.is_answered = true;
        }
        IS_ANSWERED.store(true, Ordering::Relaxed);
    }
}

/// Keeps the timer from ending the command while a file is put in its place. Does not return if it has ended it.
pub(crate) fn hold() -> MutexGuard<'static, Option<Timer>> {
    loop {
        let timer = lock();
        let ended_by = timer.as_ref().and_then(|timer| timer.ended_by);
        if ended_by.is_none_or(|thread| thread == thread::current().id()) {
            return timer;
        }
        drop(timer);
        // The process ends within a moment.
        thread::park();
    }
}

/// Runs `wait` while the clock stands: for input from others, who may take their time.
pub fn unlimited<T>(wait: impl FnOnce() -> T) -> T {
    if let Some(timer) = &mut *hold() {
        timer.pause();
    }
    let done = wait();
    if let Some(timer) = &mut *hold()
        && let TimerClock::Paused(left) = timer.clock
    {
        timer.go_on(left);
    }
    done
}

/// Runs `work` with the whole limit of its own: for the next answer of a stream.
pub fn anew<T>(work: impl FnOnce() -> T) -> T {
    let flag = {
        let mut timer = hold();
        let Some(timer) = &mut *timer else {
            drop(timer);
            return work();
        };
        IS_ANSWERED.store(false, Ordering::Relaxed);
        timer.is_answered = false;
        timer.flag = StopFlag::new();
        timer.go_on(timer.limit);
        timer.flag.clone()
    };
    flag.watch(work)
}

/// Says how far a command comes: as far as this bar, in these units.
pub(crate) fn shows(bar: &ProgressBar, unit: &'static str) {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).0 = Some((bar.clone(), unit));
}

/// Says what is kept if the time limit ends the command, as the end of a sentence.
pub fn keeps(what: impl std::fmt::Display) {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).1 = format!(": {what}");
}

/// A draft, which is removed if the time limit ends the command before it is in its place.
#[derive(Debug)]
pub(crate) struct Draft(PathBuf);

impl Draft {
    pub(crate) fn new(path: &Path) -> Self {
        let mut drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
        drafts.push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let mut drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
        drafts.retain(|path| *path != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_writes_limits_as_they_are_read() {
        for limit in [Duration::from_secs(10), Duration::from_millis(1500)] {
            assert_eq!(words(limit).parse(), Ok(TimeWord(Some(limit))));
        }
    }
}
