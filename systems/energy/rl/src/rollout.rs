//! What was seen, done and gained between two updates.

use mapa_sim::stream;
use rand::Rng;

use crate::batch::Batch;
use crate::config::Config;
use crate::error::Error;
use crate::loss::{Taken, probabilities};
use crate::perceptron::{Perceptron, Trace};
use crate::product::vectorised;

/// The actions between two updates, step by step, and of each step by day.
#[derive(Debug, Default)]
pub(crate) struct Rollout {
    /// What was seen, a row each.
    pub(crate) seen: Vec<f32>,
    /// What was allowed, a row each.
    pub(crate) allowed: Vec<bool>,
    pub(crate) taken: Vec<Taken>,
    rewards: Vec<f32>,
    overs: Vec<bool>,
    /// What the value's net said of the state before.
    values: Vec<f32>,
}

/// A draw from these probabilities by a number from 0 to 1: the first action whose sum passes it.
fn draw(p: &[f32], uniform: f32) -> usize {
    let mut sum = 0.0;
    let mut last = 0;
    for (action, &value) in p.iter().enumerate() {
        sum += value;
        if value > 0.0 {
            last = action;
            if uniform < sum {
                break;
            }
        }
    }
    last
}

/// The first numbers of the rows of outputs.
fn firsts(trace: &Trace, net: &Perceptron) -> impl Iterator<Item = f32> {
    trace.outputs().chunks_exact(net.width()).map(|row| row[0])
}

impl Rollout {
    /// Lets the policy act on the days.
    pub(crate) fn act(
        &mut self,
        config: &Config,
        [policy, value]: [&Perceptron; 2],
        batch: &mut Batch,
        [seed, update]: [u64; 2],
    ) -> Result<(), Error> {
        *self = Self::default();
        let mut draws: Vec<_> = (0..config.days)
            .map(|day| {
                stream(
                    seed,
                    &format!("energy actions of day {day} in update {update}"),
                )
            })
            .collect();
        let [mut of_policy, mut of_value] = [Trace::default(), Trace::default()];
        let (mut p, mut actions) = (Vec::new(), Vec::new());
        for _ in 0..config.horizon {
            let (seen, allowed) = (self.seen.len(), self.allowed.len());
            batch.observe(&mut self.seen);
            batch.masks(&mut self.allowed);
            for trace in [&mut of_policy, &mut of_value] {
                trace.inputs().extend_from_slice(&self.seen[seen..]);
            }
            vectorised(|| {
                policy.forward(&mut of_policy);
                value.forward(&mut of_value);
            });
            actions.clear();
            let masks =
                self.allowed[allowed..].chunks_exact((self.allowed.len() - allowed) / config.days);
            let outputs = of_policy.outputs().chunks_exact(policy.width());
            for ((outputs, mask), random) in outputs.zip(masks).zip(&mut draws) {
                probabilities(outputs, mask, &mut p);
                // 24 bits are what a number of 32 has.
                let uniform = (random.next_u64() >> 40) as f32 / 16_777_216.0;
                let action = draw(&p, uniform);
                actions.push(action);
                self.taken.push(Taken {
                    action,
                    probability: p[action],
                    advantage: 0.0,
                    worth: 0.0,
                });
            }
            self.values.extend(firsts(&of_value, value));
            batch.step(&actions)?;
            self.rewards.extend(batch.rewards());
            self.overs.extend(batch.overs());
        }
        batch.observe(of_value.inputs());
        vectorised(|| value.forward(&mut of_value));
        let ahead: Vec<f32> = firsts(&of_value, value).collect();
        self.judge(config, ahead);
        Ok(())
    }

    /// By how much each action was better than expected, by generalised advantage estimation
    /// (Schulman et al., 2016), where `ahead` are the values of the states after the last step.
    fn judge(&mut self, config: &Config, mut ahead: Vec<f32>) {
        let discount = config.discount as f32;
        let decay = (config.discount * config.smoothing) as f32;
        let mut advantages = vec![0.0_f32; config.days];
        for step in (0..config.horizon).rev() {
            for day in 0..config.days {
                let at = step * config.days + day;
                // Nothing follows the last action of a day.
                let goes_on = if self.overs[at] { 0.0 } else { 1.0 };
                let value = self.values[at];
                let better = self.rewards[at] + discount * ahead[day] * goes_on - value;
                advantages[day] = better + decay * goes_on * advantages[day];
                ahead[day] = value;
                self.taken[at].advantage = advantages[day];
                self.taken[at].worth = advantages[day] + value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_takes_each_action_as_often_as_its_probability_and_never_one_of_0() {
        let p = [0.0, 0.25, 0.0, 0.75, 0.0];
        let drawn = |uniform| draw(&p, uniform);
        assert_eq!([0.0, 0.2, 0.25, 0.9, 1.0].map(drawn), [1, 1, 3, 3, 3]);
    }

    #[test]
    fn advantages_are_sums_of_what_follows_and_stop_at_the_end_of_a_day() {
        let config = Config {
            days: 1,
            horizon: 4,
            discount: 0.5,
            smoothing: 0.5,
            ..Config::ours()
        };
        let taken = Taken {
            action: 0,
            probability: 1.0,
            advantage: 0.0,
            worth: 0.0,
        };
        let mut own = Rollout {
            taken: vec![taken; 4],
            rewards: vec![1.0, 2.0, 3.0, 4.0],
            overs: vec![false, true, false, false],
            values: vec![10.0, 20.0, 30.0, 40.0],
            ..Rollout::default()
        };
        own.judge(&config, vec![50.0]);
        // Each step: reward + discounted next value - value, then a quarter of the next advantage.
        let last = 4.0 + 25.0 - 40.0;
        let third = 3.0 + 20.0 - 30.0 + 0.25 * last;
        let second = 2.0 - 20.0;
        let first = 1.0 + 10.0 - 10.0 + 0.25 * second;
        let advantages: Vec<f32> = own.taken.iter().map(|step| step.advantage).collect();
        assert_eq!(advantages, [first, second, third, last]);
        assert_eq!(own.taken[2].worth, third + 30.0);
    }
}
