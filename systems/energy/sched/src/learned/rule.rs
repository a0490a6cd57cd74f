//! The rule that a net is.

use super::super::machine::SlicedGpus;
use super::super::rule::Rule;
use super::super::state::{Start, State};
use super::net::Scratch;
use super::observation::Observation;
use super::weights::Weights;
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::Power;

/// A trained net: the head of the queue starts on the free slice of the largest output; of equal
/// ones the lowest by number. Some 5 microseconds a decision for two layers of 128.
#[derive(Clone, Debug)]
pub struct Learned {
    weights: Weights,
    machine: SlicedGpus,
    observation: Observation,
    seen: Vec<f32>,
    scratch: Scratch,
}

impl Learned {
    /// The rule for this machine.
    ///
    /// # Errors
    /// The weights are for GPUs with other layouts.
    pub fn new(weights: Weights, machine: &SlicedGpus) -> Result<Self, Error> {
        let own = Self::of(weights, *machine.power())?;
        own.suits(machine)?;
        Ok(own)
    }

    /// The rule for GPUs of this power in the layouts for which the net was trained.
    ///
    /// # Errors
    /// Layouts that are not sound.
    pub fn of(weights: Weights, power: Power) -> Result<Self, Error> {
        let machine = SlicedGpus::of_layouts(weights.layouts(), power)?;
        Ok(Self {
            observation: Observation::new(weights.formulation(), &machine),
            machine,
            weights,
            seen: Vec::new(),
            scratch: Scratch::default(),
        })
    }

    /// The weights.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }
}

impl Rule for Learned {
    fn name(&self) -> &str {
        "learned"
    }

    /// As [`Learned`] says; nothing on another machine than it was made for.
    fn choose(&mut self, state: &State) -> Option<Start> {
        if state.queue().is_empty() || *state.machine() != self.machine {
            return None;
        }
        self.seen.clear();
        self.observation.append(state, &mut self.seen);
        let outputs = self.weights.net().outputs(&self.seen, &mut self.scratch);
        let slice = best(state, outputs)?;
        Some(Start { waiting: 0, slice })
    }

    fn suits(&self, machine: &SlicedGpus) -> Result<(), Error> {
        if *machine == self.machine {
            return Ok(());
        }
        let what = format!(
            "`layouts`: {}: expected those of the machine, {}",
            self.weights.layouts(),
            machine.layouts()
        );
        Err(ErrorKind::BadWeights(what).into())
    }
}

/// The free slice of the largest output, of equal ones the lowest.
fn best(state: &State, outputs: &[f32]) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    for (slice, &output) in outputs.iter().enumerate() {
        if state.is_free(slice) && best.is_none_or(|(most, _)| output > most) {
            best = Some((output, slice));
        }
    }
    best.map(|(_, slice)| slice)
}
