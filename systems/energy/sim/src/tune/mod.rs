//! Search for prices, and for layouts, that suit given days.
//!
//! Prices are searched by the cross-entropy method: candidates are drawn from a normal
//! distribution, and the best of them say where the next ones are drawn. Layouts are searched by
//! coordinate descent: one GPU after the other gets the layout that is best with all others as they
//! are. No bound says how far the result is from the best there is.
//!
//! [`Tuning`] says what to judge next and is told how good it is. Who judges, on how many threads,
//! is not its business: the same scores lead to the same search. Its state is a text, so that a
//! search that was interrupted goes on where it was.

mod day_features;
mod objective;
mod point;

pub use day_features::seen_on;
pub use objective::{TuneDay, TuneObjective, Yardstick};

use mapa_core::{MAX_TOML_BYTES, check_size};
use mapa_system_energy::{EnergyPlan, Power, Prices, SlotPlacement, TunedMachine};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use self::point::{PLACEMENT, PRICES, SPREAD, point, prices};
use crate::error::{Error, ErrorKind};
use mapa_sim::stream;

/// The most candidates of a round: all are made at once.
const MOST_SAMPLES: u32 = 100_000;

/// What a search does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneSettings {
    /// The rounds of candidates for prices. A search for layouts has as many again, for the layouts
    /// that it found.
    pub rounds: u32,
    /// The candidates of a round.
    pub samples: u32,
    /// How many of them say where the next are drawn.
    pub elite: u32,
    /// How far the first candidates are from the start, relative to the default.
    pub spread: f64,
    /// Whether layouts are searched too.
    pub layouts: bool,
    /// The seed of the candidates.
    pub seed: u64,
}

impl Default for TuneSettings {
    fn default() -> Self {
        Self {
            rounds: 20,
            samples: 30,
            elite: 6,
            spread: 1.0,
            layouts: false,
            seed: 1,
        }
    }
}

/// Prices and GPUs to be judged together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceCandidate {
    /// The prices.
    pub prices: Prices,
    /// The GPUs.
    pub machine: TunedMachine,
}

impl PriceCandidate {
    /// How bad it is on days; less is better. A pure function, which threads can share.
    ///
    /// # Errors
    /// Prices or GPUs that cannot be; as [`run_as`](super::run_as).
    pub fn score(
        &self,
        days: &[TuneDay],
        objective: &TuneObjective,
        yardstick: &Yardstick,
        power: Power,
    ) -> Result<f64, Error> {
        let machine = self.machine.machine(power)?;
        let plan = EnergyPlan::new(self.prices)?;
        let totals = days
            .iter()
            .map(|day| day.under(&machine, &mut plan.clone()));
        let totals: Vec<_> = totals.collect::<Result<_, _>>()?;
        Ok(objective.of(&totals, yardstick))
    }
}

/// A candidate that was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedCandidate {
    /// How bad it is.
    pub score: f64,
    /// The candidate.
    pub candidate: PriceCandidate,
}

/// What is searched next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SearchStep {
    /// A round of prices. The second phase is for layouts that were found.
    Prices { phase: u32, round: u32 },
    /// The layout of a GPU, after this many whose layouts did not change.
    Layouts { gpu: usize, unchanged: usize },
    /// Nothing.
    Done,
}

/// A search that is under way.
///
/// # Examples
/// A search on one morning, with a few candidates.
/// ```
/// use mapa_system_energy::{Power, Prices, TunedMachine};
/// use mapa_system_energy_sim::{
///     PriceCandidate, Draw, TuneObjective, TuneDay, TuneSettings, Tuning, Yardstick,
/// };
///
/// let morning = Draw { from: 540.0, most: 60, ..Draw::default() };
/// let days = [TuneDay::exact(morning.jobs(1)?)];
/// let machine = TunedMachine::Layouts("7 | 4,3".to_owned());
/// let yardstick = Yardstick::of(&days, &machine.machine(Power::A100)?)?;
/// let start = PriceCandidate { prices: Prices::default(), machine };
/// let settings = TuneSettings { rounds: 2, samples: 6, elite: 2, ..TuneSettings::default() };
/// let mut tuning = Tuning::new(start.clone(), settings)?;
/// while !tuning.is_done() {
///     let score = |candidate: &PriceCandidate| candidate.score(&days, &TuneObjective::default(), &yardstick, Power::A100);
///     let scores: Vec<f64> = tuning.candidates().iter().map(score).collect::<Result<_, _>>()?;
///     tuning.advance(&scores)?;
/// }
/// let best = tuning.best().unwrap();
/// assert!(best.score <= start.score(&days, &TuneObjective::default(), &yardstick, Power::A100)?);
/// # Ok::<(), mapa_system_energy_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    settings: TuneSettings,
    step: SearchStep,
    mean: [f64; PRICES],
    spread: [f64; PRICES],
    /// The best score of each step so far.
    history: Vec<f64>,
    machine: TunedMachine,
    best: Option<JudgedCandidate>,
}

impl Tuning {
    /// A search that begins at a candidate.
    ///
    /// # Errors
    /// Prices or GPUs that cannot be; no round, fewer than two candidates in the elite, fewer
    /// samples than that, or more than 100,000; a spread that is not above 0; layouts of GPUs that are repartitioned.
    pub fn new(start: PriceCandidate, settings: TuneSettings) -> Result<Self, Error> {
        let TuneSettings {
            rounds,
            samples,
            elite,
            spread,
            layouts,
            ..
        } = settings;
        if rounds == 0 || elite < 2 || samples < elite {
            return Err(wrong(format!(
                "tune: {rounds} rounds of {samples} samples with an elite of {elite}: expected a round or more, \
                 an elite of 2 or more, and no fewer samples"
            )));
        }
        if samples > MOST_SAMPLES {
            return Err(wrong(format!(
                "tune: {samples} samples: expected at most {MOST_SAMPLES}"
            )));
        }
        if !(spread.is_finite() && spread > 0.0) {
            return Err(wrong(format!(
                "tune: spread {spread}: expected a number above 0"
            )));
        }
        start.prices.checked()?;
        start.machine.machine(Power::A100)?;
        if layouts && gpu_layouts(&start.machine).is_none() {
            let what =
                "tune: layouts of GPUs that are repartitioned: expected GPUs that keep theirs";
            return Err(wrong(what.to_owned()));
        }
        let mut own = SPREAD.map(|value| value * spread);
        if let TunedMachine::Layouts(_) = start.machine {
            // There is nothing to choose by it.
            own[PLACEMENT] = 0.0;
        }
        Ok(Self {
            settings,
            step: SearchStep::Prices { phase: 1, round: 0 },
            mean: point(&start.prices),
            spread: own,
            history: Vec::new(),
            machine: start.machine,
            best: None,
        })
    }

    /// Whether there is nothing left to judge.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.step == SearchStep::Done
    }

    /// What it does.
    #[must_use]
    pub fn settings(&self) -> &TuneSettings {
        &self.settings
    }

    /// The best candidate so far; `None` before the first round.
    #[must_use]
    pub fn best(&self) -> Option<&JudgedCandidate> {
        self.best.as_ref()
    }

    /// The best score of each step so far.
    #[must_use]
    pub fn history(&self) -> &[f64] {
        &self.history
    }

    /// What is searched next, in words.
    #[must_use]
    pub fn doing(&self) -> String {
        match self.step {
            SearchStep::Prices { phase: 1, round } => format!("prices, round {}", round + 1),
            SearchStep::Prices { round, .. } => {
                format!("prices for these layouts, round {}", round + 1)
            }
            SearchStep::Layouts { gpu, .. } => format!("layout of GPU {gpu}"),
            SearchStep::Done => "done".to_owned(),
        }
    }

    /// What to judge next: the candidates of a round, or those for the layout of one GPU. The first
    /// is where the search stands. Empty if it is done.
    #[must_use]
    pub fn candidates(&self) -> Vec<PriceCandidate> {
        match self.step {
            SearchStep::Prices { phase, round } => self
                .points(phase, round)
                .iter()
                .map(|values| self.candidate(prices(values)))
                .collect(),
            SearchStep::Layouts { gpu, .. } => self.layouts(gpu),
            SearchStep::Done => Vec::new(),
        }
    }

    /// Goes on by the scores of [`candidates`](Self::candidates), in their order.
    ///
    /// # Errors
    /// More or fewer scores than candidates; a score that is not finite. Nothing changes then.
    ///
    /// # Complexity
    /// O(s log s) for s scores.
    pub fn advance(&mut self, scores: &[f64]) -> Result<(), Error> {
        let candidates = self.candidates();
        let is_bad = |value: &f64| !value.is_finite();
        if scores.len() != candidates.len() || scores.iter().any(is_bad) {
            return Err(wrong(format!(
                "tune: {} scores of {} candidates: expected as many, all of them finite",
                scores.len(),
                candidates.len()
            )));
        }
        // The first of equal ones: where the search stands comes before a change.
        let order = in_order(scores);
        let Some(&first) = order.first() else {
            return Ok(());
        };
        let (score, candidate) = (scores[first], candidates[first].clone());
        self.history.push(score);
        if self.best.as_ref().is_none_or(|best| score < best.score) {
            self.best = Some(JudgedCandidate { score, candidate });
        }
        self.step = match self.step {
            SearchStep::Prices { phase, round } => {
                let points = self.points(phase, round);
                let elite = self.settings.elite as usize;
                self.narrow(
                    order
                        .iter()
                        .take(elite)
                        .map(|&number| points[number])
                        .collect(),
                );
                self.after_round(phase, round)
            }
            SearchStep::Layouts { gpu, unchanged } => self.after_layout(gpu, unchanged, first > 0),
            SearchStep::Done => SearchStep::Done,
        };
        Ok(())
    }

    /// The search as text, from which [`read`](Self::read) goes on.
    ///
    /// # Errors
    /// A number that TOML cannot write.
    pub fn write(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(|error| wrong(format!("tune: {error}")))
    }

    /// The search of a text.
    ///
    /// # Errors
    /// Text that [`write`](Self::write) does not write: the message names the line and the key.
    pub fn read(text: &str) -> Result<Self, Error> {
        check_size(text.len(), MAX_TOML_BYTES).map_err(|what| wrong(format!("tune: {what}")))?;
        let own: Self = toml::from_str(text).map_err(|error| wrong(format!("tune: {error}")))?;
        let start = PriceCandidate {
            prices: prices(&own.mean),
            machine: own.machine.clone(),
        };
        Self::new(start, own.settings)?;
        let spread = own
            .spread
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0);
        let gpus = own.machine.machine(Power::A100)?.gpu_count();
        let is_gpu = match own.step {
            SearchStep::Layouts { gpu, unchanged } => gpu < gpus && unchanged < gpus,
            SearchStep::Prices { .. } | SearchStep::Done => true,
        };
        if !(spread && is_gpu) {
            let what = "tune: `spread` or `step` of a search: expected numbers that a search has";
            return Err(wrong(what.to_owned()));
        }
        Ok(own)
    }

    fn candidate(&self, prices: Prices) -> PriceCandidate {
        PriceCandidate {
            prices,
            machine: self.machine.clone(),
        }
    }

    /// The points of a round. The first is the mean.
    fn points(&self, phase: u32, round: u32) -> Vec<[f64; PRICES]> {
        let mut draws = stream(self.settings.seed, &format!("energy tune {phase} {round}"));
        let mut one = |sample: u32| {
            let mut values = self.mean;
            for (value, spread) in values.iter_mut().zip(self.spread) {
                let normal: f64 = StandardNormal.sample(&mut draws);
                *value += if sample == 0 { 0.0 } else { normal * spread };
            }
            values
        };
        (0..self.settings.samples).map(&mut one).collect()
    }

    /// Draws the next candidates around these. A part of the spread is kept, so that it does not
    /// vanish by chance.
    fn narrow(&mut self, elite: Vec<[f64; PRICES]>) {
        let n = elite.len() as f64;
        for price in 0..PRICES {
            let mean = elite.iter().map(|values| values[price]).sum::<f64>() / n;
            let square = |values: &[f64; PRICES]| (values[price] - mean).powi(2);
            let spread = (elite.iter().map(square).sum::<f64>() / n).sqrt();
            self.mean[price] = mean;
            self.spread[price] = 0.3 * self.spread[price] + 0.7 * spread;
        }
    }

    fn after_round(&mut self, phase: u32, round: u32) -> SearchStep {
        if round + 1 < self.settings.rounds {
            return SearchStep::Prices {
                phase,
                round: round + 1,
            };
        }
        if !self.settings.layouts || phase > 1 {
            return SearchStep::Done;
        }
        self.restart();
        SearchStep::Layouts {
            gpu: 0,
            unchanged: 0,
        }
    }

    /// Goes to the next GPU, or, after a round of all without a change, back to prices.
    fn after_layout(&mut self, gpu: usize, unchanged: usize, has_changed: bool) -> SearchStep {
        self.restart();
        let gpus = gpu_layouts(&self.machine).map_or(0, |values| values.len());
        let unchanged = if has_changed { 0 } else { unchanged + 1 };
        if unchanged >= gpus {
            return SearchStep::Prices { phase: 2, round: 0 };
        }
        SearchStep::Layouts {
            gpu: (gpu + 1) % gpus,
            unchanged,
        }
    }

    /// Puts the search where the best candidate is.
    fn restart(&mut self) {
        if let Some(best) = &self.best {
            self.mean = point(&best.candidate.prices);
            self.machine = best.candidate.machine.clone();
            self.spread = SPREAD.map(|value| value * self.settings.spread / 2.0);
            self.spread[PLACEMENT] = 0.0;
        }
    }

    /// The best candidate with each layout for one GPU.
    fn layouts(&self, gpu: usize) -> Vec<PriceCandidate> {
        let (Some(best), Some(own)) = (&self.best, gpu_layouts(&self.machine)) else {
            return Vec::new();
        };
        let present = own.get(gpu).cloned().unwrap_or_default();
        let others = SlotPlacement::layouts().into_iter().map(|sizes| {
            let sizes: Vec<String> = sizes.iter().map(u8::to_string).collect();
            sizes.join(",")
        });
        let with = |layout: &String| {
            let mut all = own.clone();
            if let Some(own) = all.get_mut(gpu) {
                own.clone_from(layout);
            }
            PriceCandidate {
                prices: best.candidate.prices,
                machine: TunedMachine::Layouts(all.join(" | ")),
            }
        };
        let others: Vec<String> = others.filter(|other| *other != present).collect();
        std::iter::once(&present).chain(&others).map(with).collect()
    }
}

/// The layouts of GPUs that keep them, a GPU each.
fn gpu_layouts(machine: &TunedMachine) -> Option<Vec<String>> {
    match machine {
        TunedMachine::Layouts(layouts) => {
            let each = layouts.split('|').map(|text| text.trim().to_owned());
            Some(each.collect())
        }
        TunedMachine::Repartitioned { .. } => None,
    }
}

/// The positions of scores, the least first; of equal ones the first.
fn in_order(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    order
}

fn wrong(what: String) -> Error {
    ErrorKind::BadDay(what).into()
}
