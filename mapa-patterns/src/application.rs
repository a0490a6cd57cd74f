//! An application graph, with everything known about it.

use std::fmt;
use std::str::FromStr;

use mapa_core::{Demand, Dimension, Edge, Parallelism, Pattern};

use crate::error::Error;
use crate::unit::Unit;
use crate::verdict::Verdict;

/// An application graph: a [`Pattern`] with its unit, its labels, its sensitivity, and notes about
/// what was assumed or left out.
///
/// Each reader of this crate returns one. [`write_pattern`](crate::write_pattern) and
/// [`read_pattern`](crate::read_pattern) keep it in a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Application {
    /// The name, on one line.
    pub name: String,
    /// The source of the pattern, for people.
    pub source: String,
    /// Ranks and edges. The traffic of an edge is that of its busier direction, in
    /// [`Application::unit`].
    pub pattern: Pattern,
    /// The unit of the traffic of edges.
    pub unit: Unit,
    /// The name of each rank in the source, such as `GPU5`; empty if ranks have numbers only.
    pub labels: Vec<String>,
    /// The degrees of parallelism, if the pattern follows from them.
    pub parallelism: Option<Parallelism>,
    /// Whether the speed of the job depends on its links.
    pub verdict: Verdict,
    /// Assumptions where nothing was known, and findings that are not in the pattern.
    pub notes: Vec<Note>,
}

impl Application {
    /// An application about which nothing else is known: traffic without a unit, ranks without
    /// labels, unknown sensitivity.
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Into<String>, pattern: Pattern) -> Self {
        let (name, source) = (name.into(), source.into());
        let (unit, labels, parallelism, verdict, notes) = Default::default();
        Self {
            name,
            source,
            pattern,
            unit,
            labels,
            parallelism,
            verdict,
            notes,
        }
    }

    /// The label of a rank, or its number if it has none.
    #[must_use]
    pub fn label(&self, rank: usize) -> String {
        self.labels
            .get(rank)
            .cloned()
            .unwrap_or_else(|| rank.to_string())
    }

    /// Removes the edges that carry less than this share of the busiest edge's traffic, and notes
    /// how many they are. Control messages and first exchanges make such edges, and policies that
    /// weigh all edges equally would count them like the others.
    ///
    /// # Errors
    /// A share below 0, or of 1 and more.
    pub fn without_noise(mut self, share: f64) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&share) {
            return Err(Error::new(format!(
                "noise of {} %: expected from 0 to below 100 %",
                100.0 * share
            )));
        }
        let busiest = self.busiest();
        let edges = self.pattern.edges().iter();
        let (kept, left): (Vec<&Edge>, Vec<&Edge>) =
            edges.partition(|edge| edge.traffic >= share * busiest);
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
        self.pattern =
            self.of_edges(kept.into_iter().map(|edge| (edge.a, edge.b, edge.traffic)))?;
        self.notes.push(Note::left_out(what));
        self.parallelism = None;
        Ok(self)
    }

    /// Converts bytes that were counted over a number of steps to bytes per step.
    ///
    /// # Errors
    /// Edges that do not carry bytes; a number of steps that is not positive.
    pub fn over_steps(mut self, steps: f64) -> Result<Self, Error> {
        if self.unit != Unit::Bytes {
            return Err(Error::new(format!(
                "steps: expected edges that carry bytes, not {}",
                self.unit
            )));
        }
        if !(steps.is_finite() && steps > 0.0) {
            return Err(Error::new(format!(
                "{steps} steps: expected a positive number"
            )));
        }
        let edges = self.pattern.edges().iter();
        self.pattern = self.of_edges(edges.map(|edge| (edge.a, edge.b, edge.traffic / steps)))?;
        self.unit = Unit::BytesPerStep;
        Ok(self)
    }

    /// The pattern with other edges, and the same demands of ranks.
    fn of_edges(&self, edges: impl Iterator<Item = (u16, u16, f64)>) -> Result<Pattern, Error> {
        let plain = Pattern::from_edges(self.pattern.len(), edges)?;
        let demands = self.pattern.demands().iter().enumerate();
        Ok(demands
            .filter(|(_, demand)| **demand != Demand::whole())
            .fold(plain, |pattern, (rank, demand)| {
                pattern.with_demand(rank, *demand)
            }))
    }

    /// The bytes that the busiest edge carries in a step; none if edges do not carry bytes per
    /// step.
    ///
    /// For a job with several dimensions of parallelism, the sum over the dimensions, because their
    /// phases follow one another: the bytes of an edge of the dimension, or all that a rank sends
    /// to its group in an all-to-all.
    #[must_use]
    pub fn step_bytes(&self) -> Option<f64> {
        if self.unit != Unit::BytesPerStep {
            return None;
        }
        Some(self.parallelism.map_or_else(|| self.busiest(), step_bytes))
    }

    /// The traffic of the busiest edge.
    fn busiest(&self) -> f64 {
        let edges = self.pattern.edges().iter();
        edges.map(|edge| edge.traffic).fold(0.0, f64::max)
    }
}

/// The bytes that an edge of each dimension carries in a step, summed over the dimensions.
fn step_bytes(job: Parallelism) -> f64 {
    let mut sum = 0.0;
    for dimension in Dimension::ALL {
        if job.group_size(dimension) <= 1 {
            continue;
        }
        // In an all-to-all each rank sends to every other rank of its group.
        let edges = if job.is_all_to_all(dimension) {
            (job.group_size(dimension) - 1) as f64
        } else {
            1.0
        };
        sum += edges * job.traffic(dimension);
    }
    sum
}

/// The application graph of a training job, from its degrees of parallelism: bytes per step.
impl From<Parallelism> for Application {
    fn from(job: Parallelism) -> Self {
        let new = Self::new(job.to_string(), "degrees of parallelism", job.pattern());
        Self {
            unit: Unit::BytesPerStep,
            parallelism: Some(job),
            ..new
        }
    }
}

/// A statement about an application that its pattern does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The kind of statement.
    pub kind: NoteKind,
    /// The place in the source: `train.py:12`, `line 7`; empty if it concerns the whole.
    pub place: String,
    /// The statement.
    pub what: String,
}

impl Note {
    /// A note about an assumption in place of something unknown.
    #[must_use]
    pub fn assumed(what: impl Into<String>) -> Self {
        Self {
            kind: NoteKind::Assumed,
            place: String::new(),
            what: what.into(),
        }
    }

    /// A note about something that could not be decided.
    #[must_use]
    pub fn undecided(what: impl Into<String>) -> Self {
        Self {
            kind: NoteKind::Undecided,
            ..Self::assumed(what)
        }
    }

    /// A note about something that was seen and is not in the pattern.
    #[must_use]
    pub fn left_out(what: impl Into<String>) -> Self {
        Self {
            kind: NoteKind::LeftOut,
            ..Self::assumed(what)
        }
    }

    /// Sets the place of the note.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            ..self
        }
    }
}

/// `assumed: train.py:12: what`.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}: {}{gap}{}", self.kind, self.place, self.what)
    }
}

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// An assumption replaces something unknown; mostly it is all-to-all.
    Assumed,
    /// Something could not be decided, and the pattern may lack it.
    Undecided,
    /// Something was seen and is not in the pattern, such as traffic below a threshold.
    LeftOut,
}

impl NoteKind {
    /// All kinds, in the order of their declaration.
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
        let pattern = Pattern::from_edges(3, edges.iter().copied())
            .unwrap()
            .with_demand(2, Demand::any());
        Application {
            unit: Unit::Bytes,
            ..Application::new("job", "", pattern)
        }
    }

    #[test]
    fn noise_is_left_out_and_told() {
        let all = job(&[(0, 1, 1e9), (1, 2, 2e7), (0, 2, 9e6)]);
        let application = all.clone().without_noise(0.01).unwrap();
        assert_eq!(application.pattern.edges().len(), 2);
        assert_eq!(application.pattern.demands(), all.pattern.demands());
        assert_eq!(
            application.notes[0].to_string(),
            "left-out: 1 edge below 1 % of the busiest, 9.0 MB at most"
        );
        assert_eq!(all.clone().without_noise(0.0).unwrap(), all);
        assert_eq!(job(&[]).without_noise(0.5).unwrap(), job(&[]));
        for share in [-0.1, 1.0, f64::NAN] {
            assert!(all.clone().without_noise(share).is_err(), "{share}");
        }
    }

    #[test]
    fn bytes_over_steps_are_bytes_a_step() {
        let over_step = job(&[(0, 1, 1e9)]).over_steps(4.0).unwrap();
        assert_eq!(
            (over_step.unit, over_step.pattern.edges()[0].traffic),
            (Unit::BytesPerStep, 2.5e8)
        );
        assert_eq!(over_step.step_bytes(), Some(2.5e8));
        assert!(over_step.over_steps(2.0).is_err(), "a second time");
        for steps in [0.0, -1.0, f64::INFINITY] {
            assert!(job(&[(0, 1, 1e9)]).over_steps(steps).is_err(), "{steps}");
        }
    }

    #[test]
    fn a_step_of_a_job_that_shares_sequences_sends_gradients_too() {
        let job: Parallelism = "sp=2".parse().unwrap();
        let phases = [Dimension::Data, Dimension::Sequence].map(|dimension| job.traffic(dimension));
        assert!(phases.iter().all(|bytes| *bytes > 0.0));
        assert_eq!(
            Application::from(job).step_bytes(),
            Some(phases.iter().sum())
        );
    }

    #[test]
    fn a_rank_sends_to_all_others_in_an_all_to_all() {
        let job = "dp=8,ep=8"
            .parse::<Parallelism>()
            .and_then(|job| job.with_bytes_of("ep=1e9,dp=0"));
        assert_eq!(Application::from(job.unwrap()).step_bytes(), Some(8.75e8));
    }
}
