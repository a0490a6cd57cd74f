//! An application graph with all that is known of it.

use std::fmt;
use std::str::FromStr;

use mapa_core::{Demand, Dimension, Edge, Parallelism, Pattern};

use crate::error::Error;
use crate::sensitivity::Verdict;

/// Who talks to whom in a job, how much, and how far that is known: a [`Pattern`] with what people and other commands need
/// beside it.
///
/// Readers make one each; [`write_pattern`](crate::write_pattern) and [`read_pattern`](crate::read_pattern) keep it in a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Application {
    /// What it is called, on one line.
    pub name: String,
    /// What it was made from, for people.
    pub source: String,
    /// Ranks and edges. Each edge carries, per direction, what [`Application::unit`] counts.
    pub pattern: Pattern,
    /// What the traffic of edges counts.
    pub unit: Unit,
    /// What each rank was called where it was seen, such as `GPU5`; empty if ranks have only their numbers.
    pub labels: Vec<String>,
    /// The degrees of parallelism that the pattern follows from, if it does.
    pub parallelism: Option<Parallelism>,
    /// Whether its speed depends on the links it gets.
    pub verdict: Verdict,
    /// What was assumed where nothing was known, and what is not in the pattern though it was seen.
    pub notes: Vec<Note>,
}

impl Application {
    /// An application of which nothing else is known: traffic without a unit, ranks without names, sensitivity unknown.
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Into<String>, pattern: Pattern) -> Self {
        let (name, source) = (name.into(), source.into());
        let (unit, labels, parallelism, verdict, notes) = Default::default();
        Self { name, source, pattern, unit, labels, parallelism, verdict, notes }
    }

    /// What a rank is called: its label, or its number.
    #[must_use]
    pub fn label(&self, rank: usize) -> String {
        self.labels.get(rank).cloned().unwrap_or_else(|| rank.to_string())
    }

    /// The same without the edges that carry less than this share of what the busiest does, as control messages and first exchanges
    /// do, and with a note of what is left out. Policies that count all edges alike would make as much of them as of the others.
    ///
    /// # Errors
    /// A share that is not from 0 to below 1.
    pub fn without_noise(mut self, share: f64) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&share) {
            return Err(Error::new(format!("noise of {} %: expected from 0 to below 100 %", 100.0 * share)));
        }
        let busiest = self.pattern.edges().iter().map(|edge| edge.traffic).fold(0.0, f64::max);
        let is_kept = |edge: &&Edge| edge.traffic >= share * busiest;
        let (kept, left): (Vec<&Edge>, Vec<&Edge>) = self.pattern.edges().iter().partition(is_kept);
        let most = left.iter().map(|edge| edge.traffic).fold(0.0, f64::max);
        if left.is_empty() {
            return Ok(self);
        }
        let what = format!(
            "{} edge{} below {} % of the busiest, {} at most",
            left.len(),
            if left.len() == 1 { "" } else { "s" },
            100.0 * share,
            self.unit.print(most).unwrap_or_else(|| most.to_string()),
        );
        self.pattern = self.of_edges(kept.into_iter().map(|edge| (edge.a, edge.b, edge.traffic)))?;
        self.notes.push(Note::left_out(what));
        self.parallelism = None;
        Ok(self)
    }

    /// The same in bytes a step, where bytes were counted over so many steps.
    ///
    /// # Errors
    /// Edges that do not carry bytes; no positive number of steps.
    pub fn over_steps(mut self, steps: f64) -> Result<Self, Error> {
        if self.unit != Unit::Bytes {
            return Err(Error::new(format!("steps: expected edges that carry bytes, not {}", self.unit)));
        }
        if !(steps.is_finite() && steps > 0.0) {
            return Err(Error::new(format!("{steps} steps: expected a positive number")));
        }
        let edges = self.pattern.edges().iter();
        self.pattern = self.of_edges(edges.map(|edge| (edge.a, edge.b, edge.traffic / steps)))?;
        self.unit = Unit::BytesPerStep;
        Ok(self)
    }

    /// Its pattern with other edges.
    fn of_edges(&self, edges: impl Iterator<Item = (u16, u16, f64)>) -> Result<Pattern, Error> {
        let plain = Pattern::from_edges(self.pattern.len(), edges)?;
        let demands = self.pattern.demands().iter().enumerate();
        let is_other = |(_, demand): &(usize, &Demand)| **demand != Demand::whole();
        Ok(demands.filter(is_other).fold(plain, |own, (rank, demand)| own.with_demand(rank, *demand)))
    }

    /// What the busiest edge carries in a step, bytes; of a job of several dimensions of parallelism, the sum of what an edge of
    /// each carries, as their phases follow one another, or a rank sends to all of its group. None if edges do not carry bytes
    /// per step.
    #[must_use]
    pub fn step_bytes(&self) -> Option<f64> {
        let of_phases = |job: Parallelism| {
            let phases = Dimension::ALL.into_iter().filter(|dimension| job.group_size(*dimension) > 1);
            let sent = |own: Dimension| if job.is_all_to_all(own) { (job.group_size(own) - 1) as f64 } else { 1.0 };
            phases.map(|own| sent(own) * job.traffic(own)).sum()
        };
        let busiest = || self.pattern.edges().iter().map(|edge| edge.traffic).fold(0.0, f64::max);
        (self.unit == Unit::BytesPerStep).then(|| self.parallelism.map_or_else(busiest, of_phases))
    }
}

/// A training job by its degrees: bytes a step.
impl From<Parallelism> for Application {
    fn from(job: Parallelism) -> Self {
        let new = Self::new(job.to_string(), "degrees of parallelism", job.pattern());
        Self { unit: Unit::BytesPerStep, parallelism: Some(job), ..new }
    }
}

/// What the traffic of an application's edges counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Nothing: that two ranks talk is all that is known, and every edge counts 1.
    #[default]
    Unknown,
    /// Bytes in the busier direction, over the time that was watched.
    Bytes,
    /// Bytes in the busier direction, in one step or iteration of the program.
    BytesPerStep,
    /// Channels of a communication library.
    Channels,
}

impl Unit {
    /// All, in the order in which they are declared.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Bytes, Self::BytesPerStep, Self::Channels];

    /// Whether edges carry bytes, so that times can be worked out from them.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::BytesPerStep)
    }
}

/// `unknown`, `bytes`, `bytes-per-step`, `channels`.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Bytes => "bytes",
            Self::BytesPerStep => "bytes-per-step",
            Self::Channels => "channels",
        })
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|unit| unit.to_string() == word);
        let all = Self::ALL.map(|unit| unit.to_string()).join(", ");
        known.ok_or_else(|| Error::new(format!("unit `{word}`: expected one of {all}")))
    }
}

/// Something about an application that its pattern does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What kind of thing.
    pub kind: NoteKind,
    /// Where it was seen: `train.py:12`, `line 7`; empty if it is of the whole.
    pub place: String,
    /// What it is.
    pub what: String,
}

impl Note {
    /// What stands in for something that is not known.
    #[must_use]
    pub fn assumed(what: impl Into<String>) -> Self {
        Self { kind: NoteKind::Assumed, place: String::new(), what: what.into() }
    }

    /// What could not be decided.
    #[must_use]
    pub fn undecided(what: impl Into<String>) -> Self {
        Self { kind: NoteKind::Undecided, ..Self::assumed(what) }
    }

    /// What was seen and is not in the pattern.
    #[must_use]
    pub fn left_out(what: impl Into<String>) -> Self {
        Self { kind: NoteKind::LeftOut, ..Self::assumed(what) }
    }

    /// The same, seen at this place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: place.into(), ..self }
    }
}

/// `assumed: train.py:12: what`.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}: {}{gap}{}", self.kind, self.place, self.what)
    }
}

/// What kind of thing a note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// Something stands in for what is not known: mostly all-to-all.
    Assumed,
    /// Something could not be decided, and the pattern may lack it.
    Undecided,
    /// Something was seen and is not in the pattern, such as traffic below a threshold.
    LeftOut,
}

impl NoteKind {
    /// All, in the order in which they are declared.
    pub const ALL: [Self; 3] = [Self::Assumed, Self::Undecided, Self::LeftOut];
}

/// `assumed`, `undecided`, `left-out`.
impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assumed => "assumed",
            Self::Undecided => "undecided",
            Self::LeftOut => "left-out",
        })
    }
}

impl FromStr for NoteKind {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|kind| kind.to_string() == word);
        let all = Self::ALL.map(|kind| kind.to_string()).join(", ");
        known.ok_or_else(|| Error::new(format!("note of the kind `{word}`: expected one of {all}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(edges: &[(u16, u16, f64)]) -> Application {
        let pattern = Pattern::from_edges(3, edges.iter().copied()).unwrap().with_demand(2, Demand::any());
        Application { unit: Unit::Bytes, ..Application::new("job", "", pattern) }
    }

    #[test]
    fn noise_is_left_out_and_told() {
        let all = job(&[(0, 1, 1e9), (1, 2, 2e7), (0, 2, 9e6)]);
        let own = all.clone().without_noise(0.01).unwrap();
        assert_eq!(own.pattern.edges().len(), 2);
        assert_eq!(own.pattern.demands(), all.pattern.demands());
        assert_eq!(own.notes[0].to_string(), "left-out: 1 edge below 1 % of the busiest, 9.0 MB at most");
        assert_eq!(all.clone().without_noise(0.0).unwrap(), all);
        assert_eq!(job(&[]).without_noise(0.5).unwrap(), job(&[]));
        for share in [-0.1, 1.0, f64::NAN] {
            assert!(all.clone().without_noise(share).is_err(), "{share}");
        }
    }

    #[test]
    fn bytes_over_steps_are_bytes_a_step() {
        let own = job(&[(0, 1, 1e9)]).over_steps(4.0).unwrap();
        assert_eq!((own.unit, own.pattern.edges()[0].traffic), (Unit::BytesPerStep, 2.5e8));
        assert_eq!(own.step_bytes(), Some(2.5e8));
        assert!(own.over_steps(2.0).is_err(), "a second time");
        for steps in [0.0, -1.0, f64::INFINITY] {
            assert!(job(&[(0, 1, 1e9)]).over_steps(steps).is_err(), "{steps}");
        }
    }

    #[test]
    fn a_step_of_a_job_that_shares_sequences_sends_gradients_too() {
        let job: Parallelism = "sp=2".parse().unwrap();
        let phases = [Dimension::Data, Dimension::Sequence].map(|own| job.traffic(own));
        assert!(phases.iter().all(|bytes| *bytes > 0.0));
        assert_eq!(Application::from(job).step_bytes(), Some(phases.iter().sum()));
    }

    #[test]
    fn a_rank_sends_to_all_others_in_an_all_to_all() {
        let job = "dp=8,ep=8".parse::<Parallelism>().and_then(|job| job.with_bytes_of("ep=1e9,dp=0"));
        assert_eq!(Application::from(job.unwrap()).step_bytes(), Some(8.75e8));
    }
}
