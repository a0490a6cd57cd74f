//! The record of a scheduler's events and actions, in a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

#[cfg(feature = "slo")]
use mapa_front::drive_log::LatencyLine;
use mapa_front::drive_log::{ActionLine, EventLine, RecordHead, RecordLine, TurnLine};
use mapa_sched::{Action, Event, Time};

use super::record_chain::Chain;
use crate::append_file;
use crate::error::Error;

/// Writes turns of the scheduler as lines. Each turn is flushed to the kernel.
#[derive(Debug)]
pub(crate) struct Recorder {
    to: BufWriter<File>,
    name: String,
    now: TurnLine,
    chain: Chain,
}

impl Recorder {
    /// Begins a record at the end of a file. A line that a crash has cut off is taken out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(path: &Path, head: RecordHead) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = append_file::append(path).map_err(|error| Error::at(&name, error))?;
        let chain = Chain::of_end(&file).map_err(|error| Error::at(&name, error))?;
        let mut recorder = Self {
            to: BufWriter::new(file),
            name,
            now: empty(),
            chain,
        };
        recorder.line(&RecordLine::Head(Box::new(head)))?;
        Ok(recorder)
    }

    /// Records an event of this turn.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Error> {
        self.now.events.push(EventLine::of(event)?);
        Ok(())
    }

    /// Records an action of this turn.
    pub(crate) fn action(&mut self, action: &Action) -> Result<(), Error> {
        self.now.actions.push(ActionLine::of(action)?);
        Ok(())
    }

    /// Writes the turn.
    pub(crate) fn settle(&mut self, now: Time) -> Result<(), Error> {
        let mut turn = std::mem::replace(&mut self.now, empty());
        turn.now = now.0;
        self.line(&RecordLine::Turn(turn))
    }

    /// Writes a line of the log of a tenant whose latency is controlled.
    #[cfg(feature = "slo")]
    pub(crate) fn latency(&mut self, line: LatencyLine) -> Result<(), Error> {
        self.line(&RecordLine::Latency(Box::new(line)))
    }

    fn line(&mut self, line: &RecordLine) -> Result<(), Error> {
        let failed = |error| Error::at(&self.name, error);
        let mut text = serde_json::to_string(line).map_err(failed)?;
        text.push('\n');
        let seal = RecordLine::Seal(self.chain.seal(text.as_bytes()));
        text += &serde_json::to_string(&seal).map_err(failed)?;
        text.push('\n');
        // A line and its seal are written together.
        let written = (self.to.write_all(text.as_bytes())).and_then(|()| self.to.flush());
        written.map_err(|error| Error::at(&self.name, error))
    }
}

fn empty() -> TurnLine {
    TurnLine {
        now: 0,
        events: Vec::new(),
        actions: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_that_names_the_record() {
        // The kernel's file on which every write says that the disk is full.
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut recorder = Recorder {
            to: BufWriter::new(full),
            name: "day.jsonl".to_owned(),
            now: empty(),
            chain: Chain::default(),
        };
        recorder.event(&Event::Woken(mapa_sched::Token(7))).unwrap();
        let error = recorder.settle(Time(1)).unwrap_err().to_string();
        assert!(error.contains("day.jsonl"), "{error}");
    }
}
