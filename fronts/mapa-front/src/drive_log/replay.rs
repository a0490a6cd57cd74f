//! Replays recorded events.

use std::io::{BufRead, Read as _};

use mapa_sched::{Fleet, Scheduler, Time, step};
use mapa_topologies::Machine;
use serde::Serialize;

use super::action::ActionLine;
use super::lines::{RECORD_VERSION, RecordHead, RecordLine, TurnLine};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::machine::Loaded;
use crate::names::Names;
#[cfg(feature = "slo")]
use crate::systems::{Controllers, Replayed};

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedDrive {
    /// How many schedulers were made anew: daemons that had written the record.
    pub daemons: u64,
    /// How many turns were replayed.
    pub turns: u64,
    /// How many events the schedulers received.
    pub events: u64,
    /// How many actions they returned.
    pub actions: u64,
    /// How many turns led to other actions than recorded.
    pub differ: u64,
    /// The first of them.
    pub differs: Vec<Differs>,
    /// Whether the last line is cut off: its writer was killed. It is left out.
    pub is_cut_off: bool,
    /// The last seal, if `mapa-node replay` has checked the record's seals: kept elsewhere, it tells later whether lines
    /// were removed at the end, or all were written anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// The decisions on tenants whose latency is controlled, made again; none if the record has no such tenant.
    #[cfg(feature = "slo")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Replayed>,
}

impl ReplayedDrive {
    /// Whether all actions are as recorded.
    #[must_use]
    pub fn is_same(&self) -> bool {
        #[cfg(feature = "slo")]
        let is_latency_same = (self.latency.iter()).all(|latency| latency.differ.is_empty());
        #[cfg(not(feature = "slo"))]
        let is_latency_same = true;
        self.differ == 0 && is_latency_same
    }
}

/// A turn that led to other actions than recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Differs {
    /// The line of the record, from 1.
    pub line: u64,
    /// The actions as recorded.
    pub recorded: Vec<ActionLine>,
    /// The actions as returned now.
    pub now: Vec<ActionLine>,
}

/// The most differences that are listed.
const LISTED: usize = 10;

/// A fresh scheduler on a fresh fleet, that receives the events of a record.
pub struct Replayer {
    scheduler: Box<dyn Scheduler + Send>,
    fleet: Fleet,
    loaded: Loaded,
}

impl Replayer {
    /// What a record begins with, made anew.
    ///
    /// # Errors
    /// Another version; a machine, scheduler or policy that cannot be made.
    pub fn new(head: &RecordHead, names: &Names, files: &dyn Files) -> Result<Self, Error> {
        if head.version != RECORD_VERSION {
            return Err(Error::malformed(format_args!(
                "version {}: expected {RECORD_VERSION}",
                head.version
            )));
        }
        let machine = Machine::from_toml(&head.machine).map_err(Error::malformed)?;
        // The text has what the daemon's options changed of the machine, but for the layouts of `mig`, which no
        // machine file holds.
        let loaded = head
            .changes
            .complete("the record's machine", machine, &mut |_| {})?;
        let scheduler = head
            .policy
            .scheduler(names, &head.scheduler, &head.execution, files)?;
        // All devices are whole here, as in the fleet with which a daemon begins: the record has their layouts as
        // events.
        let fleet = Fleet::new([loaded.graph().clone()]);
        Ok(Self {
            scheduler,
            fleet,
            loaded,
        })
    }

    /// Gives the scheduler the events of a turn, and returns its actions.
    ///
    /// # Errors
    /// An event that this machine cannot have.
    pub fn turn(&mut self, turn: &TurnLine) -> Result<Vec<ActionLine>, Error> {
        let graph = self.loaded.graph();
        let events: Vec<_> = turn
            .events
            .iter()
            .map(|event| event.event(graph))
            .collect::<Result<_, _>>()?;
        let mut actions = Vec::new();
        // An event that was refused then is refused now: the actions say whether all is as it was.
        let _ = step(
            &mut *self.scheduler,
            &mut self.fleet,
            Time(turn.now),
            events,
            &mut actions,
        );
        actions.iter().map(ActionLine::of).collect()
    }
}

/// The most bytes of a line of a record: as many as a log may have. The first turn of a daemon that restarts names all jobs
/// that wait.
const LINE: u64 = FileKind::Log.most_bytes();

/// Gives the events of a record to fresh schedulers, and compares their actions. Reads line by line:
/// a record may be larger than memory.
///
/// # Errors
/// The line at fault and what was expected there.
pub fn replay(
    mut record: impl BufRead,
    names: &Names,
    files: &dyn Files,
) -> Result<ReplayedDrive, Error> {
    let mut done = ReplayedDrive::default();
    let mut now: Option<Replayer> = None;
    #[cfg(feature = "slo")]
    let mut controllers = Controllers::default();
    let mut text = String::new();
    for line in 1.. {
        // One buffer serves all lines, and keeps its room.
        text.clear();
        let bad =
            |what: &dyn std::fmt::Display| Error::malformed(format_args!("line {line}: {what}"));
        let bounded = record.by_ref().take(LINE).read_line(&mut text);
        if bounded.map_err(|error| bad(&error))? == 0 {
            break;
        }
        if text.len() as u64 == LINE {
            let what = format_args!("it is longer than {} MiB: expected a record", LINE >> 20);
            return Err(bad(&what));
        }
        let read = match serde_json::from_str(&text) {
            Ok(read) => read,
            // A writer that was killed leaves part of a line.
            Err(_) if !text.ends_with('\n') => {
                done.is_cut_off = true;
                break;
            }
            Err(error) => return Err(bad(&error)),
        };
        match read {
            // A daemon that was restarted has added a head, and began with a fresh scheduler.
            RecordLine::Head(head) => {
                let made = Replayer::new(&head, names, files).map_err(|error| bad(&error))?;
                now = Some(made);
                done.daemons += 1;
            }
            RecordLine::Seal(_) => {}
            #[cfg(feature = "slo")]
            RecordLine::Latency(latency) => {
                // These lines need no head of a record before them: the log of each tenant has a head of its own.
                let replayed = done.latency.get_or_insert_default();
                let at = usize::try_from(line).unwrap_or(usize::MAX);
                let decided = controllers.decide(*latency, at, replayed);
                decided.map_err(|error| bad(&error))?;
            }
            RecordLine::Turn(turn) => {
                let Some(now) = &mut now else {
                    return Err(bad(&"a turn: expected the head of the record"));
                };
                let actions = now.turn(&turn).map_err(|error| bad(&error))?;
                done.turns += 1;
                done.events += turn.events.len() as u64;
                done.actions += actions.len() as u64;
                if !same(&actions, &turn.actions)? {
                    done.differ += 1;
                    // The count goes on when the list is full.
                    if done.differs.len() < LISTED {
                        done.differs.push(Differs {
                            line,
                            recorded: turn.actions,
                            now: actions,
                        });
                    }
                }
            }
        }
    }
    // A record that ends within its first line has no head, but nothing else is wrong with it.
    if done.daemons == 0 && !done.is_cut_off {
        return Err(Error::malformed("an empty record: expected a head"));
    }
    Ok(done)
}

/// Whether actions are the same, to the byte.
fn same(a: &[ActionLine], b: &[ActionLine]) -> Result<bool, Error> {
    let text = |actions: &[ActionLine]| serde_json::to_string(actions).map_err(Error::malformed);
    Ok(text(a)? == text(b)?)
}

impl std::fmt::Debug for Replayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replayer")
            .field("scheduler", &self.scheduler.name())
            .finish_non_exhaustive()
    }
}
