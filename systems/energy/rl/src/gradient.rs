//! The gradient of a minibatch, on any number of threads to the same bits.

use rayon::prelude::*;

use crate::loss::Loss;
use crate::perceptron::{Perceptron, Trace};
use crate::product::vectorised;
use crate::rollout::Rollout;

/// The samples whose gradients one thread sums up. Sums of chunks are added in the order of chunks,
/// whoever computed them.
const CHUNK: usize = 64;

/// The memory of one chunk.
#[derive(Debug, Default)]
struct Chunk {
    traces: [Trace; 2],
    p: Vec<f32>,
    /// The gradients of the policy's net, and of the value's.
    sums: [Vec<f32>; 2],
}

/// The gradients of both nets, and the memory to compute them.
#[derive(Debug, Default)]
pub(crate) struct Gradient {
    chunks: Vec<Chunk>,
    sums: [Vec<f32>; 2],
}

impl Gradient {
    /// Sums up the gradients of these samples of a rollout, given by their numbers. Advantages are
    /// taken relative to their mean and deviation in the minibatch.
    pub(crate) fn sum(
        &mut self,
        nets: [&Perceptron; 2],
        rollout: &Rollout,
        samples: &[usize],
        loss: Loss,
        pool: Option<&rayon::ThreadPool>,
    ) {
        let scale = scale(rollout, samples);
        let count = samples.len().div_ceil(CHUNK);
        self.chunks
            .resize_with(count.max(self.chunks.len()), Chunk::default);
        let chunks = &mut self.chunks[..count];
        let of = |(chunk, samples): (&mut Chunk, &[usize])| {
            vectorised(|| chunk.sum(nets, rollout, samples, loss, scale));
        };
        match pool {
            None => chunks.iter_mut().zip(samples.chunks(CHUNK)).for_each(of),
            Some(pool) => pool.install(|| {
                chunks
                    .par_iter_mut()
                    .zip(samples.par_chunks(CHUNK))
                    .for_each(of);
            }),
        }
        vectorised(|| add(&mut self.sums, chunks));
    }

    /// The gradients of the parameters, padded, of the policy's net and of the value's.
    pub(crate) fn parts(&self) -> [&[f32]; 2] {
        [&self.sums[0], &self.sums[1]]
    }

    /// The length of both together. It is summed up in eight sums side by side.
    pub(crate) fn length(&self) -> f64 {
        let mut squares = [0.0_f64; 8];
        for part in &self.sums {
            // Padded lists have a multiple of eight numbers.
            for values in part.chunks(8) {
                for (sum, &number) in squares.iter_mut().zip(values) {
                    *sum += f64::from(number) * f64::from(number);
                }
            }
        }
        squares.iter().sum::<f64>().sqrt()
    }
}

/// Adds up the sums of chunks, in their order.
#[inline(always)]
fn add(to: &mut [Vec<f32>; 2], chunks: &[Chunk]) {
    for (net, to) in to.iter_mut().enumerate() {
        to.clear();
        for chunk in chunks {
            let values = &chunk.sums[net];
            if to.is_empty() {
                to.extend_from_slice(values);
                continue;
            }
            for (sum, number) in to.iter_mut().zip(values) {
                *sum += number;
            }
        }
    }
}

/// The mean of advantages, and 1 over their deviation.
fn scale(rollout: &Rollout, samples: &[usize]) -> [f32; 2] {
    let of = || {
        samples
            .iter()
            .map(|&at| f64::from(rollout.taken[at].advantage))
    };
    let count = samples.len() as f64;
    let mean = of().sum::<f64>() / count;
    let squares: f64 = of().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    [mean as f32, (1.0 / (deviation + 1e-8)) as f32]
}

impl Chunk {
    #[inline(always)]
    fn sum(
        &mut self,
        [policy, value]: [&Perceptron; 2],
        rollout: &Rollout,
        samples: &[usize],
        loss: Loss,
        [mean, factor]: [f32; 2],
    ) {
        let Self {
            traces: [of_policy, of_value],
            p,
            sums,
        } = self;
        let [seen, slices] =
            [rollout.seen.len(), rollout.allowed.len()].map(|number| number / rollout.taken.len());
        for trace in [&mut *of_policy, &mut *of_value] {
            let inputs = trace.inputs();
            for &at in samples {
                inputs.extend_from_slice(&rollout.seen[at * seen..(at + 1) * seen]);
            }
        }
        policy.forward(of_policy);
        value.forward(of_value);
        for (sums, net) in sums.iter_mut().zip([policy, value]) {
            sums.clear();
            sums.resize(net.parameters().len(), 0.0);
        }
        let mut gradients = std::mem::take(of_policy.output_gradients());
        for (&at, outputs) in samples
            .iter()
            .zip(of_policy.outputs().chunks_exact(policy.width()))
        {
            let mask = &rollout.allowed[at * slices..(at + 1) * slices];
            let mut taken = rollout.taken[at];
            taken.advantage = (taken.advantage - mean) * factor;
            loss.policy(outputs, mask, &taken, p, &mut gradients);
        }
        *of_policy.output_gradients() = gradients;
        policy.backward(of_policy, &mut sums[0]);
        let mut gradients = std::mem::take(of_value.output_gradients());
        for (&at, outputs) in samples
            .iter()
            .zip(of_value.outputs().chunks_exact(value.width()))
        {
            let row = gradients.len();
            gradients.resize(row + value.width(), 0.0);
            gradients[row] = loss.value(outputs[0], &rollout.taken[at]);
        }
        *of_value.output_gradients() = gradients;
        value.backward(of_value, &mut sums[1]);
    }
}

#[cfg(test)]
mod tests {
    use mapa_sim::stream;

    use super::*;
    use crate::loss::Taken;

    const SIZES: [usize; 4] = [6, 9, 7, 5];

    /// A rollout of 70 samples, two chunks, by a net that was a little different.
    fn rollout() -> Rollout {
        let number = |seed: usize| ((seed * 7919 + 31) % 1009) as f32 / 504.5 - 1.0;
        let samples = 70;
        let mut rollout = Rollout::default();
        rollout.seen.extend((0..samples * 6).map(number));
        for at in 0..samples {
            let mask: [bool; 5] = std::array::from_fn(|slice| (at + slice) % 3 != 0);
            let allowed: Vec<usize> = (0..5).filter(|&slice| mask[slice]).collect();
            rollout.allowed.extend(mask);
            rollout.taken.push(Taken {
                action: allowed[at % allowed.len()],
                probability: 0.3 + 0.1 * number(at + 500),
                advantage: 3.0 * number(at + 900),
                worth: 2.0 * number(at + 100),
            });
        }
        rollout
    }

    /// The outputs of a net by numbers of 64 bits, with parameters without padding.
    fn outputs(sizes: &[usize], parameters: &[f64], inputs: &[f64]) -> Vec<f64> {
        let (mut from, mut at) = (inputs.to_vec(), 0);
        for (layer, values) in sizes.windows(2).enumerate() {
            let mut to: Vec<f64> = (0..values[1])
                .map(|j| {
                    let sum = from
                        .iter()
                        .enumerate()
                        .map(|(i, x)| x * parameters[at + i * values[1] + j]);
                    sum.sum::<f64>() + parameters[at + values[0] * values[1] + j]
                })
                .collect();
            if layer + 2 < sizes.len() {
                to.iter_mut().for_each(|value| *value = value.tanh());
            }
            at += (values[0] + 1) * values[1];
            from = to;
        }
        from
    }

    /// The loss as its definition reads, with numbers of 64 bits: of the policy with entropy, and of
    /// the value.
    fn slow(rollout: &Rollout, loss: Loss, policy: &[f64], value: &[f64]) -> [f64; 2] {
        let samples: Vec<usize> = (0..rollout.taken.len()).collect();
        let count = samples.len() as f64;
        let [mean, factor] = scale(rollout, &samples).map(f64::from);
        let mut sums = [0.0; 2];
        for (at, taken) in rollout.taken.iter().enumerate() {
            let inputs: Vec<f64> = rollout.seen[at * 6..(at + 1) * 6]
                .iter()
                .map(|&value| f64::from(value))
                .collect();
            let z = outputs(&SIZES, policy, &inputs);
            let mask = &rollout.allowed[at * 5..(at + 1) * 5];
            let exps: Vec<f64> = z
                .iter()
                .zip(mask)
                .map(|(z, &is)| if is { z.exp() } else { 0.0 })
                .collect();
            let sum: f64 = exps.iter().sum();
            let p: Vec<f64> = exps.iter().map(|exp| exp / sum).collect();
            let ratio = p[taken.action] / f64::from(taken.probability);
            let advantage = (f64::from(taken.advantage) - mean) * factor;
            let clip = f64::from(loss.clip);
            let gained = (ratio * advantage).min(ratio.clamp(1.0 - clip, 1.0 + clip) * advantage);
            let entropy: f64 = p
                .iter()
                .filter(|value| **value > 0.0)
                .map(|amount| -amount * amount.ln())
                .sum();
            sums[0] -= (gained + f64::from(loss.entropy) * entropy) / count;
            let v = outputs(&[6, 9, 7, 1], value, &inputs)[0];
            sums[1] += 0.5 * (v - f64::from(taken.worth)).powi(2) / count;
        }
        sums
    }

    #[test]
    fn gradients_are_finite_differences_and_the_same_bits_on_any_number_of_threads() {
        let rollout = rollout();
        let mut random = stream(11, "test");
        let policy = Perceptron::new(SIZES.to_vec(), 1.0, &mut random);
        let value = Perceptron::new(vec![6, 9, 7, 1], 1.0, &mut random);
        let samples: Vec<usize> = (0..70).collect();
        let wide = |perceptron: &Perceptron| {
            perceptron
                .unpadded()
                .into_iter()
                .map(f64::from)
                .collect::<Vec<f64>>()
        };
        // The parts of the loss one by one, and together.
        for (clip, entropy) in [(1e9, 0.0), (0.2, 0.0), (0.2, 0.5), (0.0, 3.0)] {
            let loss = Loss {
                clip,
                entropy,
                part: 1.0 / 70.0,
            };
            let mut own = Gradient::default();
            own.sum([&policy, &value], &rollout, &samples, loss, None);
            for threads in [1, 2, 4] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let mut other = Gradient::default();
                other.sum([&policy, &value], &rollout, &samples, loss, Some(&pool));
                assert_eq!(own.parts(), other.parts());
            }
            for (net, base) in [&policy, &value].into_iter().enumerate() {
                // Without padding, as if the gradients were the parameters of such a net.
                let mut shape = base.clone();
                shape.change(|to| to.copy_from_slice(own.parts()[net]));
                let analytic = shape.unpadded();
                let mut worst = 0.0_f64;
                for (at, &analytic) in analytic.iter().enumerate() {
                    let moved = |by: f64| {
                        let mut parameters = [wide(&policy), wide(&value)];
                        parameters[net][at] += by;
                        slow(&rollout, loss, &parameters[0], &parameters[1])[net]
                    };
                    let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    worst = worst.max((difference - f64::from(analytic)).abs());
                }
                assert!(
                    worst < 2e-5,
                    "net {net}, clip {clip}, entropy {entropy}: {worst}"
                );
                let longest = analytic
                    .iter()
                    .fold(0.0_f32, |most, value| most.max(value.abs()));
                assert!(longest > 1e-3, "the gradient is not nothing");
            }
        }
    }
}
