//! The audit log of the controllers of latencies: one JSON object a line. The first line has the
//! settings; each other line is a decision, with all that is needed to make it again. A program that
//! is started again adds a head, and its decisions.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

use std::collections::BTreeMap;

use mapa_system_slo::replay::{self, ReplayRecord, ReplaySettings};
use mapa_system_slo::{DecisionRecord, Settings, recorded};
use serde::{Deserialize, Serialize};

/// The version of the form of a log.
pub const LOG_VERSION: u32 = 2;

/// The settings of the controller that wrote a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    Decision(Box<DecisionRecord>),
    /// A decision by replay.
    ReplayDecision(Box<ReplayRecord>),
}

/// A line of the log of one tenant, among those of others: in the record of a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatencyLine {
    /// The tenant.
    pub tenant: String,
    /// The line.
    pub log: LogLine,
}

/// What a log begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The version of the form: [`LOG_VERSION`].
    pub version: u32,
    /// The controller.
    pub by: Controller,
}

/// What is wrong with a log: the line at fault, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LogError(String);

fn malformed(what: impl std::fmt::Display) -> LogError {
    LogError(what.to_string())
}

/// A log as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    runs: Vec<Run>,
    /// Whether the last line is cut off: its writer was killed. It is left out.
    is_cut_off: bool,
}

/// A head, and the decisions that follow it.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    by: Controller,
    /// Each decision with the number of its line, from 1, and its text.
    decisions: Vec<(usize, LogLine, String)>,
}

impl Log {
    /// The number of decisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.decisions.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What became of a log whose decisions were made again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replayed {
    /// The decisions.
    pub decisions: usize,
    /// The orders in them.
    pub orders: usize,
    /// The decisions that are not the same, bit for bit.
    pub differ: Vec<Differs>,
    /// Whether the last line is cut off: its writer was killed. It is left out.
    pub is_cut_off: bool,
}

/// A decision that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Differs {
    /// The line of the log.
    pub line: usize,
    /// In what.
    pub what: String,
}

/// Writes a log.
///
/// # Errors
/// A number that JSON cannot write.
pub fn write_log(by: &Controller, decisions: &[LogLine]) -> Result<String, LogError> {
    let head = LogLine::Head(Box::new(Head {
        version: LOG_VERSION,
        by: by.clone(),
    }));
    let mut text = String::new();
    for line in std::iter::once(&head).chain(decisions) {
        text += &serde_json::to_string(line).map_err(malformed)?;
        text.push('\n');
    }
    Ok(text)
}

/// Reads a log.
///
/// # Errors
/// The line at fault and what was expected there: no head, another version, settings out of their
/// bounds, a decision of the other controller.
pub fn read_log(text: &str) -> Result<Log, LogError> {
    let mut runs: Vec<Run> = Vec::new();
    let mut is_cut_off = false;
    for (at, text) in (1..).zip(text.split_inclusive('\n')) {
        let bad = |what: &dyn std::fmt::Display| malformed(format!("line {at}: {what}"));
        let own = text.trim();
        if own.is_empty() {
            continue;
        }
        let line: LogLine = match serde_json::from_str(own) {
            Ok(line) => line,
            // A writer that was killed leaves part of a line.
            Err(_) if !text.ends_with('\n') && !runs.is_empty() => {
                is_cut_off = true;
                break;
            }
            Err(error) => return Err(bad(&error)),
        };
        match (line, runs.last_mut()) {
            (LogLine::Head(head), _) => runs.push(Run {
                by: head.controller().map_err(|error| bad(&error))?,
                decisions: Vec::new(),
            }),
            (line @ LogLine::Decision(_), Some(run)) if matches!(run.by, Controller::Slo(_)) => {
                // The text is kept beside what was read from it: `replay_log` compares bytes.
                run.decisions.push((at, line, own.to_owned()));
            }
            (line @ LogLine::ReplayDecision(_), Some(run))
                if matches!(run.by, Controller::SloReplay(_)) =>
            {
                run.decisions.push((at, line, own.to_owned()));
            }
            (_, Some(_)) => {
                return Err(bad(
                    &"not a decision of the controller in the head: expected one",
                ));
            }
            (_, None) => return Err(bad(&"a decision: expected the head of the log")),
        }
    }
    if runs.is_empty() {
        return Err(malformed("an empty log: expected a head"));
    }
    Ok(Log { runs, is_cut_off })
}

impl Head {
    /// The controller that it names.
    ///
    /// # Errors
    /// Another version; settings out of their bounds.
    pub fn controller(self) -> Result<Controller, LogError> {
        if self.version != LOG_VERSION {
            return Err(malformed(format!(
                "version {}: expected {LOG_VERSION}",
                self.version
            )));
        }
        Ok(match self.by {
            Controller::Slo(settings) => Controller::Slo(settings.checked().map_err(malformed)?),
            Controller::SloReplay(settings) => {
                Controller::SloReplay(settings.checked().map_err(malformed)?)
            }
        })
    }
}

impl Controller {
    /// Makes a decision again, from the state before and the input that it has. `None` if it is not one of this
    /// controller.
    fn again(&self, decision: &LogLine) -> Option<LogLine> {
        // Each decision begins with the state that is recorded in it, so one that differs does not make later ones
        // differ.
        Some(match (self, decision) {
            (Self::Slo(settings), LogLine::Decision(own)) => {
                let mut state = own.before.clone();
                let again = recorded(&own.tenant, settings, &mut state, &own.input);
                LogLine::Decision(Box::new(again))
            }
            (Self::SloReplay(settings), LogLine::ReplayDecision(own)) => {
                let mut state = own.before.clone();
                let again = replay::recorded(&own.tenant, settings, &mut state, &own.input);
                LogLine::ReplayDecision(Box::new(again))
            }
            _ => return None,
        })
    }
}

impl LogLine {
    /// How many orders a decision has.
    fn orders(&self) -> usize {
        match self {
            Self::Head(_) => 0,
            Self::Decision(own) => own.orders.len(),
            Self::ReplayDecision(own) => own.orders.len(),
        }
    }
}

/// Makes every decision of a log again, from the state before and the input that it has, and
/// compares the whole line byte by byte.
///
/// # Errors
/// A number that JSON cannot write.
pub fn replay_log(log: &Log) -> Result<Replayed, LogError> {
    let mut answer = Replayed {
        decisions: log.len(),
        orders: 0,
        differ: Vec::new(),
        is_cut_off: log.is_cut_off,
    };
    let decisions = log.runs.iter().flat_map(|run| {
        let own = run.decisions.iter();
        own.map(|(line, candidate, text)| (&run.by, line, candidate, text))
    });
    for (by, line, candidate, text) in decisions {
        let Some(again) = by.again(candidate) else {
            continue;
        };
        answer.orders += candidate.orders();
        let written = serde_json::to_string(&again).map_err(malformed)?;
        if written != *text {
            answer.differ.push(Differs {
                line: *line,
                what: what_differs(candidate, &again),
            });
        }
    }
    Ok(answer)
}

/// The controllers of tenants whose lines are read one by one, each with the settings of the last head.
#[derive(Clone, Debug, Default)]
pub struct Controllers(BTreeMap<String, Controller>);

impl Controllers {
    /// Makes a decision on a tenant again, from the state and the input that it has, and counts it; a head names the
    /// tenant's controller. `at` is the number of the line.
    ///
    /// # Errors
    /// A decision without a head before it or of another controller; another version; settings out of their bounds.
    pub fn decide(
        &mut self,
        line: LatencyLine,
        at: usize,
        replayed: &mut Replayed,
    ) -> Result<(), LogError> {
        let LatencyLine { tenant, log } = line;
        if let LogLine::Head(head) = log {
            // A daemon that was restarted writes this head again, maybe with other settings. The last one counts.
            self.0.insert(tenant, head.controller()?);
            return Ok(());
        }
        // The decision is made from the state that was recorded with it, and not from the one before. So a decision that
        // differs does not make the following ones differ.
        let by = self.0.get(&tenant);
        let Some(again) = by.and_then(|by| by.again(&log)) else {
            return Err(malformed(format_args!(
                "a decision on `{tenant}`: expected the head of its controller before it"
            )));
        };
        replayed.decisions += 1;
        replayed.orders += log.orders();
        let text = |line: &LogLine| serde_json::to_string(line).map_err(malformed);
        if text(&again)? != text(&log)? {
            replayed.differ.push(Differs {
                line: at,
                what: what_differs(&log, &again),
            });
        }
        Ok(())
    }
}

/// In which part two decisions differ.
fn what_differs(told: &LogLine, again: &LogLine) -> String {
    let parts = |line: &LogLine| match line {
        LogLine::Decision(own) => Some((own.orders.clone(), own.rows.clone(), own.reason.clone())),
        LogLine::ReplayDecision(own) => {
            Some((own.orders.clone(), own.rows.clone(), own.reason.clone()))
        }
        LogLine::Head(_) => None,
    };
    let (Some(told), Some(again)) = (parts(told), parts(again)) else {
        return "not a decision".to_owned();
    };
    // What was done to the machine comes first, then what the decision rests on, and last its wording.
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

#[cfg(test)]
mod tests {
    use mapa_system_slo::{ControllerCommand, ControllerState, EnabledLevers, TickInput};

    use super::*;

    #[test]
    fn a_log_of_several_runs_is_read_and_part_of_a_last_line_is_left_out() {
        let settings = Settings::of_one_profile(EnabledLevers::NONE);
        let mut state = ControllerState::new(mapa_system_slo::TenantSetup::at(0), &settings);
        let input = TickInput {
            tick: 1,
            command: Some(ControllerCommand::Stop),
            ..TickInput::default()
        };
        let decision = LogLine::Decision(Box::new(recorded("api", &settings, &mut state, &input)));
        let run = write_log(&Controller::Slo(settings), &[decision]).unwrap();
        let twice = format!("{run}{run}");
        let whole = read_log(&twice).unwrap();
        assert_eq!((whole.len(), whole.is_cut_off), (2, false));
        let again = replay_log(&whole).unwrap();
        assert!(again.differ.is_empty() && !again.is_cut_off, "{again:?}");
        let cut = read_log(&twice[..twice.len() - 9]).unwrap();
        assert_eq!((cut.len(), cut.is_cut_off), (1, true));
        // In the midst a line must be whole.
        let broken = format!("{}\n{run}", &run[..run.len() - 9]);
        let error = read_log(&broken).unwrap_err().to_string();
        assert!(error.contains("line 2: "), "{error}");
    }
}
