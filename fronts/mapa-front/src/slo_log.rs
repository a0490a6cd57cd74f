//! The audit log of the controllers of latencies: one JSON object a line. The first line has the
//! settings; each other line is a decision, with all that is needed to make it again.

use mapa_sched::slo::replay::{self, ReplayRecord, ReplaySettings};
use mapa_sched::slo::{Record, Settings, recorded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::slo::{Differs, Replayed};
use crate::error::Error;

/// The version of the form of a log.
pub const LOG_VERSION: u32 = 1;

/// The settings of the controller that wrote a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "controller",
    content = "settings",
    rename_all = "kebab-case",
    deny_unknown_fields
)]
pub enum Controller {
    /// The paper's controller.
    Slo(Settings),
    /// MAPA's controller by replay.
    SloReplay(ReplaySettings),
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "line",
    content = "is",
    rename_all = "kebab-case",
    deny_unknown_fields
)]
pub enum LogLine {
    /// The first line.
    Head(Box<Head>),
    /// A decision of the paper's controller.
    Decision(Box<Record>),
    /// A decision by replay.
    ReplayDecision(Box<ReplayRecord>),
}

/// What a log begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The version of the form: [`LOG_VERSION`].
    pub version: u32,
    /// The controller.
    pub by: Controller,
}

/// A log as it was read: its settings, and its decisions with their lines, from 2.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The controller.
    pub by: Controller,
    /// Each decision with the number of its line and its text.
    decisions: Vec<(usize, LogLine, String)>,
}

impl Log {
    /// The number of decisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }
}

/// Writes a log.
///
/// # Errors
/// A number that JSON cannot write.
pub fn write_log(by: &Controller, decisions: &[LogLine]) -> Result<String, Error> {
    let head = LogLine::Head(Box::new(Head {
        version: LOG_VERSION,
        by: by.clone(),
    }));
    let mut text = String::new();
    for line in std::iter::once(&head).chain(decisions) {
        text += &serde_json::to_string(line).map_err(Error::malformed)?;
        text.push('\n');
    }
    Ok(text)
}

/// Reads a log.
///
/// # Errors
/// The line at fault and what was expected there: no head, another version, settings out of their
/// bounds, a decision of the other controller.
pub fn read_log(text: &str) -> Result<Log, Error> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, own)| !own.trim().is_empty());
    let bad = |at: usize, what: &dyn std::fmt::Display| {
        Error::malformed(format!("line {}: {what}", at + 1))
    };
    let read = |at: usize, own: &str| serde_json::from_str(own).map_err(|error| bad(at, &error));
    let Some((at, first)) = lines.next() else {
        return Err(Error::malformed("an empty log: expected a head"));
    };
    let LogLine::Head(head) = read(at, first)? else {
        return Err(bad(at, &"a decision: expected the head of the log"));
    };
    if head.version != LOG_VERSION {
        return Err(bad(
            at,
            &format!("version {}: expected {LOG_VERSION}", head.version),
        ));
    }
    let by = match head.by {
        Controller::Slo(own) => Controller::Slo(own.checked().map_err(|error| bad(at, &error))?),
        Controller::SloReplay(own) => {
            Controller::SloReplay(own.checked().map_err(|error| bad(at, &error))?)
        }
    };
    let mut decisions = Vec::new();
    for (at, text) in lines {
        let line: LogLine = read(at, text)?;
        let is_own = matches!(
            (&by, &line),
            (Controller::Slo(_), LogLine::Decision(_))
                | (Controller::SloReplay(_), LogLine::ReplayDecision(_))
        );
        if !is_own {
            return Err(bad(
                at,
                &"not a decision of the controller in the head: expected one",
            ));
        }
        decisions.push((at + 1, line, text.trim().to_owned()));
    }
    Ok(Log { by, decisions })
}

/// Makes every decision of a log again, from the state before and the input that it has, and
/// compares the whole line byte by byte.
///
/// # Errors
/// A number that JSON cannot write.
pub fn replay_log(log: &Log) -> Result<Replayed, Error> {
    let mut answer = Replayed {
        decisions: log.len(),
        orders: 0,
        differ: Vec::new(),
    };
    for (line, own, text) in &log.decisions {
        let again = match (&log.by, own) {
            (Controller::Slo(settings), LogLine::Decision(own)) => {
                answer.orders += own.orders.len();
                let mut state = own.before.clone();
                LogLine::Decision(Box::new(recorded(
                    &own.tenant,
                    settings,
                    &mut state,
                    &own.input,
                )))
            }
            (Controller::SloReplay(settings), LogLine::ReplayDecision(own)) => {
                answer.orders += own.orders.len();
                let mut state = own.before.clone();
                let again = replay::recorded(&own.tenant, settings, &mut state, &own.input);
                LogLine::ReplayDecision(Box::new(again))
            }
            _ => continue,
        };
        let written = serde_json::to_string(&again).map_err(Error::malformed)?;
        if written != *text {
            answer.differ.push(Differs {
                line: *line,
                what: what_differs(own, &again),
            });
        }
    }
    Ok(answer)
}

/// In which part two decisions differ.
fn what_differs(told: &LogLine, again: &LogLine) -> String {
    let parts = |own: &LogLine| match own {
        LogLine::Decision(own) => Some((own.orders.clone(), own.rows.clone(), own.reason.clone())),
        LogLine::ReplayDecision(own) => {
            Some((own.orders.clone(), own.rows.clone(), own.reason.clone()))
        }
        LogLine::Head(_) => None,
    };
    let (Some(told), Some(again)) = (parts(told), parts(again)) else {
        return "not a decision".to_owned();
    };
    if told.0 != again.0 {
        return format!("orders: the log has {:?}, again {:?}", told.0, again.0);
    }
    if told.1 != again.1 {
        return format!("rows: the log has {:?}, again {:?}", told.1, again.1);
    }
    if told.2 != again.2 {
        return "the reason is worded otherwise".to_owned();
    }
    "the state after, the tail or the alternatives".to_owned()
}
