//! The column `tasks`: what a process does, phase by phase, such as
//! `host 5s; 2GB 300w 10s +1GB at 4s; host 2s`.
//!
//! A phase is time on the host, or a task: memory, warps in flight (0 if left out), seconds. A task
//! may grow: `+` and what it asks for in addition, `at` how many seconds of its work are done then.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mapa_core::{Demand, Pattern, Request};

use crate::workload::numbers;
use crate::workload::submission::{Growth, Submission, TaskPlan};

/// The form that errors show.
const FORM: &str = "phases such as host 5s; 2GB 300w 10s +1GB at 4s; host 2s";

/// The phases of a process: its tasks, each with the host phase before it, and the last host phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phases {
    tasks: Vec<TaskPhase>,
    /// Nanoseconds on the host after the last task.
    after: u64,
}

/// A task. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
struct TaskPhase {
    pause: u64,
    has: TaskPart,
    work: u64,
    grows: Vec<(TaskPart, u64)>,
}

/// What a task asks for at once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TaskPart {
    bytes: u64,
    warps: u32,
}

impl TaskPart {
    fn demand(self) -> Demand {
        let any = Demand::any().shared();
        any.memory(self.bytes).warps(self.warps)
    }

    fn request(self) -> Request {
        Request::new(Pattern::single(self.demand()))
    }

    /// What a request asks for, if that is all it asks for.
    fn of(request: &Request) -> Option<Self> {
        let [demand] = request.pattern.demands() else {
            return None;
        };
        let part = Self {
            bytes: demand.memory_bytes,
            warps: demand.warps,
        };
        (part.request() == *request).then_some(part)
    }

    /// Reads memory and, behind it, warps. Returns how many words these are.
    fn read(words: &[&str]) -> Result<(Self, usize), String> {
        let bytes = numbers::bytes(words.first().copied().unwrap_or_default())?;
        let warps = words.get(1).and_then(|word| word.strip_suffix('w'));
        let Some(digits) = warps else {
            return Ok((Self { bytes, warps: 0 }, 1));
        };
        let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        let warps = digits.parse().ok().filter(|_| are_digits);
        let warps =
            warps.ok_or_else(|| format!("`{digits}w`: expected 0w to {}w warps", u32::MAX))?;
        Ok((Self { bytes, warps }, 2))
    }
}

impl fmt::Display for TaskPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}GB", numbers::seconds(self.bytes))?;
        if self.warps > 0 {
            write!(f, " {}w", self.warps)?;
        }
        Ok(())
    }
}

/// Reads seconds with their unit, as nanoseconds.
fn seconds(word: &str) -> Result<u64, String> {
    let wrong = || format!("`{word}`: expected seconds with their unit, such as 12.5s");
    numbers::nanoseconds(word.strip_suffix('s').ok_or_else(wrong)?)
}

impl TaskPhase {
    fn read(text: &str, pause: u64) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_growth = |word: &&str| word.starts_with('+');
        let own = words.iter().take_while(|word| !is_growth(word)).count();
        let (first, mut rest) = words.split_at(own);
        let (has, read) = TaskPart::read(first)?;
        let [length] = first.get(read..).unwrap_or_default() else {
            return Err(format!("`{text}`: expected a task such as 2GB 300w 10s"));
        };
        let work = seconds(length)?;
        let mut grows: Vec<(TaskPart, u64)> = Vec::new();
        while let Some((first, others)) = rest.split_first() {
            let next = others.iter().take_while(|word| !is_growth(word)).count();
            let mut own = vec![first.trim_start_matches('+')];
            own.extend_from_slice(&others[..next]);
            let (part, read) = TaskPart::read(&own)?;
            let ["at", at] = own[read..] else {
                return Err(format!("`{text}`: expected growth such as +1GB 50w at 4s"));
            };
            let at = seconds(at)?;
            if at > work || grows.last().is_some_and(|(_, before)| at < *before) {
                return Err(format!(
                    "`{text}`: expected growth in order, within the task's seconds"
                ));
            }
            grows.push((part, at));
            rest = &others[next..];
        }
        Ok(Self {
            pause,
            has,
            work,
            grows,
        })
    }

    fn parts(&self) -> impl Iterator<Item = TaskPart> + '_ {
        let more = self.grows.iter().map(|(part, _)| *part);
        std::iter::once(self.has).chain(more)
    }

    fn plan(&self) -> TaskPlan {
        let grows = self.grows.iter().map(|(part, at)| Growth {
            after: Duration::from_nanos(*at),
            request: part.request(),
        });
        TaskPlan {
            pause: Duration::from_nanos(self.pause),
            request: self.has.request(),
            work: Duration::from_nanos(self.work),
            grows: grows.collect(),
        }
    }

    fn of(plan: &TaskPlan) -> Option<Self> {
        if plan.wrong_growth().is_some() {
            return None;
        }
        let nanoseconds = |length: Duration| u64::try_from(length.as_nanos()).ok();
        let grows = plan.grows.iter().map(|grow| {
            let part = TaskPart::of(&grow.request)?;
            Some((part, nanoseconds(grow.after)?))
        });
        Some(Self {
            pause: nanoseconds(plan.pause)?,
            has: TaskPart::of(&plan.request)?,
            work: nanoseconds(plan.work)?,
            grows: grows.collect::<Option<_>>()?,
        })
    }
}

impl fmt::Display for TaskPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pause > 0 {
            write!(f, "host {}s; ", numbers::seconds(self.pause))?;
        }
        write!(f, "{} {}s", self.has, numbers::seconds(self.work))?;
        for (part, at) in &self.grows {
            write!(f, " +{part} at {}s", numbers::seconds(*at))?;
        }
        Ok(())
    }
}

impl Phases {
    /// The phases of a job that has tasks; `None` if this form cannot hold them.
    pub(super) fn of(submission: &Submission) -> Option<Self> {
        let tasks = submission.tasks.iter().map(TaskPhase::of);
        Some(Self {
            tasks: tasks.collect::<Option<_>>()?,
            after: u64::try_from(submission.work.as_nanos()).ok()?,
        })
    }

    /// What the job declares: the most memory and the most warps that it holds at once.
    pub(super) fn demand(&self) -> Demand {
        let most = |of: fn(TaskPart) -> u64| {
            let sums = self
                .tasks
                .iter()
                .map(|task| task.parts().map(of).fold(0, u64::saturating_add));
            sums.max().unwrap_or(0)
        };
        let warps = most(|part| u64::from(part.warps));
        let part = TaskPart {
            bytes: most(|part| part.bytes),
            warps: u32::try_from(warps).unwrap_or(u32::MAX),
        };
        part.demand()
    }

    /// Whether any task asks for more while it holds some.
    pub(super) fn grow(&self) -> bool {
        self.tasks.iter().any(|task| !task.grows.is_empty())
    }

    pub(super) fn plans(&self) -> Vec<TaskPlan> {
        self.tasks.iter().map(TaskPhase::plan).collect()
    }

    /// The last host phase.
    pub(super) fn after(&self) -> Duration {
        Duration::from_nanos(self.after)
    }
}

impl FromStr for Phases {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut tasks = Vec::new();
        let mut host: Option<u64> = None;
        for phase in text.split(';').map(str::trim) {
            let Some(length) = phase.strip_prefix("host") else {
                if phase.is_empty() {
                    return Err(format!("`{text}`: an empty phase: expected {FORM}"));
                }
                tasks.push(TaskPhase::read(phase, host.take().unwrap_or(0))?);
                continue;
            };
            let length = seconds(length.trim())?;
            if host.replace(length).is_some() {
                return Err(format!(
                    "`{text}`: two host phases in a row: expected a task between them"
                ));
            }
        }
        if tasks.is_empty() {
            return Err(format!("`{text}`: no task: expected {FORM}"));
        }
        let all = tasks
            .iter()
            .flat_map(|task: &TaskPhase| [task.pause, task.work]);
        let all = all.chain(host).map(u128::from).sum::<u128>();
        if u64::try_from(all).is_err() {
            return Err(format!(
                "`{text}`: expected phases of at most 18446744073.709551615 s together"
            ));
        }
        let after = host.unwrap_or(0);
        Ok(Self { tasks, after })
    }
}

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, phase) in self.tasks.iter().enumerate() {
            let between = if at == 0 { "" } else { "; " };
            write!(f, "{between}{phase}")?;
        }
        if self.after > 0 {
            write!(f, "; host {}s", numbers::seconds(self.after))?;
        }
        Ok(())
    }
}
