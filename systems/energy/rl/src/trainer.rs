//! A training, update by update.

use mapa_sim::stream;
use mapa_system_energy::learned::Weights;
use rand::RngExt;

use crate::adam::Adam;
use crate::batch::{Batch, Source};
use crate::checkpoint;
use crate::config::Config;
use crate::curve::{Point, Progress};
use crate::error::{Error, ErrorKind};
use crate::evaluate::late;
use crate::gradient::Gradient;
use crate::loss::Loss;
use crate::perceptron::Perceptron;
use crate::rollout::Rollout;

/// The updates between two points of a learning curve.
const BETWEEN: u64 = 8;

/// A training. The same configuration and seed give the same bits on every machine, on any number of
/// threads, and after a stop between two updates.
#[derive(Debug)]
pub struct Trainer {
    config: Config,
    seed: u64,
    pool: Option<rayon::ThreadPool>,
    nets: [Perceptron; 2],
    adam: Adam,
    batch: Batch,
    updates: u64,
    curve: Vec<Point>,
    rollout: Rollout,
    gradient: Gradient,
}

impl Trainer {
    /// A training from the beginning, on this many threads.
    ///
    /// # Errors
    /// As [`Config::checked`]; threads that the system does not give.
    pub fn new(config: Config, seed: u64, threads: usize) -> Result<Self, Error> {
        let config = config.checked()?;
        let source = source(&config, seed)?;
        let sizes = sizes(&config, &source);
        let mut random = stream(seed, "energy first weights");
        let [policy, value] = sizes;
        // A small last layer makes all actions about equally probable at first.
        let nets = [
            Perceptron::new(policy, 0.01, &mut random),
            Perceptron::new(value, 1.0, &mut random),
        ];
        Ok(Self {
            adam: Adam::new(nets.iter().map(|net| net.parameters().len()).sum()),
            batch: Batch::new(source, config.days)?,
            pool: pool(threads)?,
            nets,
            updates: 0,
            curve: Vec::new(),
            rollout: Rollout::default(),
            gradient: Gradient::default(),
            config,
            seed,
        })
    }

    /// The training that left this checkpoint, on this many threads.
    ///
    /// # Errors
    /// A checkpoint of another configuration or seed, or a damaged one.
    pub fn resume(config: Config, seed: u64, threads: usize, file: &[u8]) -> Result<Self, Error> {
        let mut own = Self::new(config, seed, threads)?;
        let kept = checkpoint::read(&own.key(), file)?;
        let lengths = [0, 1].map(|net: usize| own.nets[net].unpadded().len());
        let [policy, value, first, second] = kept.numbers;
        if [policy.len(), value.len()] != lengths
            || [first.len(), second.len()] != [own.adam.moments[0].len(); 2]
        {
            let what = "lists of other lengths: expected those of the configuration".to_owned();
            return Err(ErrorKind::BadCheckpoint(what).into());
        }
        let source = source(&own.config, seed)?;
        let [of_policy, of_value] = sizes(&own.config, &source);
        own.nets = [
            Perceptron::padded(of_policy, &policy),
            Perceptron::padded(of_value, &value),
        ];
        own.adam = Adam::at([first, second], kept.gradients);
        own.batch = Batch::at(source, kept.standing)?;
        own.updates = kept.updates;
        own.curve = kept.curve;
        Ok(own)
    }

    /// What a checkpoint must be of: the configuration and the seed in one line.
    fn key(&self) -> String {
        format!("seed {} of {:?}", self.seed, self.config)
    }

    /// What is needed to go on later, as a file.
    #[must_use]
    pub fn checkpoint(&self) -> Vec<u8> {
        let [policy, value] = &self.nets;
        let [first, second] = &self.adam.moments;
        checkpoint::write(
            &self.key(),
            &checkpoint::Kept {
                numbers: [
                    policy.unpadded(),
                    value.unpadded(),
                    first.clone(),
                    second.clone(),
                ],
                gradients: self.adam.updates,
                updates: self.updates,
                standing: self.batch.standing().to_vec(),
                curve: self.curve.clone(),
            },
        )
    }

    /// The updates so far.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The actions so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.updates * self.config.batch() as u64
    }

    /// Whether the training is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.updates >= self.config.updates()
    }

    /// The share of late jobs as it learned: before the first update, after every eighth, and at the
    /// end.
    #[must_use]
    pub fn curve(&self) -> &[Point] {
        &self.curve
    }

    /// The policy's net as it is now. The note names the updates and the learning curve.
    ///
    /// # Errors
    /// Parameters that are not finite: the training diverged.
    pub fn weights(&self) -> Result<Weights, Error> {
        let points = self.curve.iter();
        let points = points.map(|point| format!(" {}: {:.2}", point.steps, 100.0 * point.late));
        let note = format!(
            "{:?} reward, {} steps in {} gradients of {}; late percent by steps:{}",
            self.config.reward,
            self.steps(),
            self.adam.updates,
            self.config.minibatch,
            points.collect::<String>()
        );
        let Config {
            formulation,
            layouts,
            ..
        } = &self.config;
        let net = self.nets[0].net()?;
        Ok(Weights::new(*formulation, layouts, self.seed, &note, net)?)
    }

    /// Acts on the days, and learns from it.
    ///
    /// # Errors
    /// Parameters that are not finite: the training diverged.
    pub fn update(&mut self) -> Result<(), Error> {
        if self.updates == 0 && self.curve.is_empty() {
            self.measure()?;
        }
        let part = self.updates as f64 / self.config.updates() as f64;
        let [rate, entropy] =
            [self.config.rate, self.config.entropy].map(|[from, to]| from + (to - from) * part);
        let (nets, at) = ([&self.nets[0], &self.nets[1]], [self.seed, self.updates]);
        self.rollout.act(&self.config, nets, &mut self.batch, at)?;
        for epoch in 0..self.config.epochs {
            let order = self.order(epoch);
            for samples in order.chunks(self.config.minibatch) {
                let loss = Loss {
                    clip: self.config.clip as f32,
                    entropy: entropy as f32,
                    part: 1.0 / samples.len() as f32,
                };
                self.learn(samples, loss, rate as f32);
            }
        }
        self.updates += 1;
        if self.updates.is_multiple_of(BETWEEN) || self.is_over() {
            self.measure()?;
        }
        Ok(())
    }

    /// All samples of a rollout in random order.
    fn order(&self, epoch: usize) -> Vec<usize> {
        let name = format!("energy order of epoch {epoch} in update {}", self.updates);
        let mut random = stream(self.seed, &name);
        let mut order: Vec<usize> = (0..self.config.batch()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.random_range(0..=last));
        }
        order
    }

    /// One step against a gradient.
    fn learn(&mut self, samples: &[usize], loss: Loss, rate: f32) {
        let [policy, value] = &mut self.nets;
        self.gradient.sum(
            [policy, value],
            &self.rollout,
            samples,
            loss,
            self.pool.as_ref(),
        );
        let length = self.gradient.length();
        let factor = (self.config.longest / (length + 1e-6)).min(1.0) as f32;
        let [of_policy, of_value] = self.gradient.parts();
        let adam = &mut self.adam;
        policy.change(|policy| {
            value.change(|value| {
                let parts = [(policy, of_policy), (value, of_value)];
                crate::product::vectorised(|| adam.update(parts, factor, rate));
            });
        });
    }

    /// Adds a point to the learning curve.
    fn measure(&mut self) -> Result<(), Error> {
        let late = late(self.weights()?, &self.config.draw)?;
        self.curve.push(Point {
            steps: self.steps(),
            late,
        });
        Ok(())
    }
}

fn source(config: &Config, seed: u64) -> Result<Source, Error> {
    let (machine, observation) = config.machine()?;
    Ok(Source {
        machine,
        observation,
        draw: config.draw,
        reward: config.reward,
        seed,
    })
}

/// The sizes of the policy's net and of the value's.
fn sizes(config: &Config, source: &Source) -> [Vec<usize>; 2] {
    [source.observation.slices(), 1].map(|outputs| {
        let inputs = [source.observation.numbers()];
        let all = inputs.iter().chain(&config.layers).chain([&outputs]);
        all.copied().collect()
    })
}

/// A pool for several threads; one needs none.
fn pool(threads: usize) -> Result<Option<rayon::ThreadPool>, Error> {
    if threads <= 1 {
        return Ok(None);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Some)
        .map_err(|error| ErrorKind::Threads(error).into())
}

/// Trains a net to the end.
///
/// # Errors
/// As [`Trainer::new`] and [`Trainer::update`].
pub fn train(
    config: Config,
    seed: u64,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Weights, Error> {
    let mut trainer = Trainer::new(config, seed, threads)?;
    while !trainer.is_over() {
        trainer.update()?;
        progress.updated(
            trainer.updates,
            trainer.config.updates(),
            trainer.curve.last().copied(),
        );
    }
    trainer.weights()
}
