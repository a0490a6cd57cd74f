//! Many days at once.

use mapa_sim::stream;
use mapa_system_energy::SlicedGpus;
use mapa_system_energy::learned::Observation;
use mapa_system_energy_sim::{Draw, Totals};
use rand::Rng;

use crate::day::Day;
use crate::error::{Error, ErrorKind};
use crate::reward::Reward;

/// What the days are drawn from, and what is told of them.
#[derive(Clone, Debug)]
pub struct Source {
    /// The machine.
    pub machine: SlicedGpus,
    /// What is observed.
    pub observation: Observation,
    /// The jobs.
    pub draw: Draw,
    /// What is rewarded.
    pub reward: Reward,
    /// The seed of the days.
    pub seed: u64,
}

/// Where one of the days of a [`Batch`] stands, in a form that can be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The days that were drawn before the present one.
    pub days: u64,
    /// The actions of the present day.
    pub actions: Vec<u16>,
}

/// Days that go on side by side, each a step at a call. Where one is over, the next is drawn at
/// once. The n-th day of a place has a random stream of its own, so that no place depends on what
/// the others do.
#[derive(Clone, Debug)]
pub struct Batch {
    source: Source,
    days: Vec<Day>,
    standing: Vec<Standing>,
    rewards: Vec<f32>,
    overs: Vec<bool>,
    finished: Vec<Totals>,
}

impl Batch {
    /// This many days, at their first decisions.
    ///
    /// # Errors
    /// Days that cannot be drawn.
    pub fn new(source: Source, days: usize) -> Result<Self, Error> {
        Self::at(source, vec![Standing::default(); days])
    }

    /// Days that stand where others stood, by the same actions again.
    ///
    /// # Errors
    /// Days that cannot be drawn, actions that are not allowed, or that end a day.
    pub fn at(source: Source, standing: Vec<Standing>) -> Result<Self, Error> {
        let mut days = Vec::new();
        for (place, job) in standing.iter().enumerate() {
            let mut day = draw(&source, place, job.days)?;
            for &action in &job.actions {
                day.start(usize::from(action))?;
            }
            if day.is_over() {
                let what = format!(
                    "day {} of place {place} is over: expected one that goes on",
                    job.days
                );
                return Err(ErrorKind::BadDay(what).into());
            }
            days.push(day);
        }
        Ok(Self {
            rewards: vec![0.0; days.len()],
            overs: vec![false; days.len()],
            finished: Vec::new(),
            source,
            days,
            standing,
        })
    }

    /// The present days.
    #[must_use]
    pub fn days(&self) -> &[Day] {
        &self.days
    }

    /// Where the days stand.
    #[must_use]
    pub fn standing(&self) -> &[Standing] {
        &self.standing
    }

    /// Appends the observations of all days.
    pub fn observe(&self, to: &mut Vec<f32>) {
        for day in &self.days {
            self.source.observation.append(day.state(), to);
        }
    }

    /// Appends which slices are free, and so which actions are allowed, of all days.
    pub fn masks(&self, to: &mut Vec<bool>) {
        for day in &self.days {
            let slices = 0..self.source.observation.slices();
            to.extend(slices.map(|slice| day.state().is_free(slice)));
        }
    }

    /// Takes an action for each day: the slice on which the head of its queue starts.
    ///
    /// # Errors
    /// Actions of another number than days, or one that is not allowed. Days before that one have
    /// gone on.
    pub fn step(&mut self, actions: &[usize]) -> Result<(), Error> {
        if actions.len() != self.days.len() {
            let what = format!(
                "{} for {} days: expected one for each",
                actions.len(),
                self.days.len()
            );
            return Err(ErrorKind::BadActions(what).into());
        }
        self.finished.clear();
        for (place, &action) in actions.iter().enumerate() {
            let (day, standing) = (&mut self.days[place], &mut self.standing[place]);
            let passed = day.start(action)?;
            standing.actions.push(action as u16);
            self.rewards[place] = self.source.reward.of(&passed, day.totals()) as f32;
            self.overs[place] = passed.is_over;
            if passed.is_over {
                self.finished.push(*day.totals());
                standing.actions.clear();
                standing.days += 1;
                *day = draw(&self.source, place, standing.days)?;
            }
        }
        Ok(())
    }

    /// The rewards of the last actions, by day.
    #[must_use]
    pub fn rewards(&self) -> &[f32] {
        &self.rewards
    }

    /// Whether the last actions ended their days.
    #[must_use]
    pub fn overs(&self) -> &[bool] {
        &self.overs
    }

    /// What the days came to that the last actions ended.
    #[must_use]
    pub fn finished(&self) -> &[Totals] {
        &self.finished
    }
}

/// The n-th day of a place. A day without jobs is drawn again.
fn draw(source: &Source, place: usize, n: u64) -> Result<Day, Error> {
    let mut seeds = stream(
        source.seed,
        &format!("energy training day {n} of place {place}"),
    );
    for _ in 0..100 {
        let jobs = source.draw.jobs(seeds.next_u64())?;
        if !jobs.is_empty() {
            return Day::new(jobs, source.machine.clone());
        }
    }
    let what = "100 days without a job: expected parameters that give jobs".to_owned();
    Err(ErrorKind::BadDay(what).into())
}
