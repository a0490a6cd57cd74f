//! Nets that learn.

use mapa_system_energy::learned::{Net, tanh};
use rand::Rng;

use crate::error::Error;
use crate::orthogonal::orthogonal;
use crate::product::{Left, add_product, padded};

/// A net that learns: the net of `mapa-sched`, with outputs of layers padded so that products have
/// whole tiles. Padding is 0, and stays 0: it has no gradient.
#[derive(Clone, Debug)]
pub(crate) struct Perceptron {
    sizes: Vec<usize>,
    layers: Vec<Layer>,
    /// By layer its weights by input and output, then its biases.
    parameters: Vec<f32>,
    /// The weights of each layer but the first, by output and input.
    transposed: Vec<Vec<f32>>,
}

/// Where a layer lies in the list of parameters.
#[derive(Clone, Copy, Debug)]
struct Layer {
    inputs: usize,
    outputs: usize,
    weights: usize,
    biases: usize,
    end: usize,
}

fn layers(sizes: &[usize]) -> Vec<Layer> {
    let mut weights = 0;
    let of = |(at, values): (usize, &[usize])| {
        let inputs = if at == 0 {
            values[0]
        } else {
            padded(values[0])
        };
        let outputs = padded(values[1]);
        let biases = weights + inputs * outputs;
        let layer = Layer {
            inputs,
            outputs,
            weights,
            biases,
            end: biases + outputs,
        };
        weights = layer.end;
        layer
    };
    sizes.windows(2).enumerate().map(of).collect()
}

/// What a net computed for some rows of inputs, and memory for gradients with respect to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// By layer, from the inputs on.
    numbers: Vec<Vec<f32>>,
    /// Gradients at the outputs of a layer, and at its inputs.
    gradients: [Vec<f32>; 2],
}

impl Trace {
    /// For inputs, which are appended: cleared memory.
    pub(crate) fn inputs(&mut self) -> &mut Vec<f32> {
        if self.numbers.is_empty() {
            self.numbers.push(Vec::new());
        }
        self.numbers[0].clear();
        &mut self.numbers[0]
    }

    /// The outputs, in padded rows.
    pub(crate) fn outputs(&self) -> &[f32] {
        self.numbers.last().map_or(&[], Vec::as_slice)
    }

    /// For gradients at the outputs, in padded rows: cleared memory.
    pub(crate) fn output_gradients(&mut self) -> &mut Vec<f32> {
        self.gradients[0].clear();
        &mut self.gradients[0]
    }
}

impl Perceptron {
    /// A net with orthogonal weights, of gain sqrt 2 but for the last layer, and biases of 0.
    pub(crate) fn new(sizes: Vec<usize>, last_gain: f64, random: &mut impl Rng) -> Self {
        let layers = sizes.len().saturating_sub(1);
        let mut parameters = Vec::new();
        for (layer, values) in sizes.windows(2).enumerate() {
            let is_last = layer + 1 == layers;
            let gain = if is_last {
                last_gain
            } else {
                std::f64::consts::SQRT_2
            };
            parameters.extend(orthogonal(values[0], values[1], gain, random));
            parameters.extend(vec![0.0; values[1]]);
        }
        Self::padded(sizes, &parameters)
    }

    /// The net with these parameters, without padding.
    pub(crate) fn padded(sizes: Vec<usize>, parameters: &[f32]) -> Self {
        let layers = layers(&sizes);
        let mut perceptron = Self {
            parameters: vec![0.0; layers.last().map_or(0, |layer| layer.end)],
            transposed: vec![Vec::new(); layers.len()],
            layers,
            sizes,
        };
        let places = perceptron.places();
        for (place, &number) in places.into_iter().zip(parameters) {
            perceptron.parameters[place] = number;
        }
        perceptron.transpose();
        perceptron
    }

    /// Where the parameters that are not padding lie, in order.
    fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        for (values, layer) in self.sizes.windows(2).zip(&self.layers) {
            for input in 0..values[0] {
                let row = layer.weights + input * layer.outputs;
                places.extend(row..row + values[1]);
            }
            places.extend(layer.biases..layer.biases + values[1]);
        }
        places
    }

    /// The parameters without padding.
    pub(crate) fn unpadded(&self) -> Vec<f32> {
        self.places()
            .into_iter()
            .map(|place| self.parameters[place])
            .collect()
    }

    /// The net that `mapa-sched` evaluates.
    pub(crate) fn net(&self) -> Result<Net, Error> {
        Ok(Net::new(self.sizes.clone(), self.unpadded())?)
    }

    /// The parameters, padded.
    pub(crate) fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Changes the parameters. Padding must stay 0.
    pub(crate) fn change(&mut self, by: impl FnOnce(&mut [f32])) {
        by(&mut self.parameters);
        self.transpose();
    }

    fn transpose(&mut self) {
        // The first layer needs none: nobody asks for gradients at its inputs.
        for (layer, to) in self.layers.iter().zip(&mut self.transposed).skip(1) {
            to.resize(layer.inputs * layer.outputs, 0.0);
            let weights = &self.parameters[layer.weights..layer.biases];
            for (input, row) in weights.chunks_exact(layer.outputs).enumerate() {
                for (output, &value) in row.iter().enumerate() {
                    to[output * layer.inputs + input] = value;
                }
            }
        }
    }

    /// How many numbers a row of outputs has, with padding.
    pub(crate) fn width(&self) -> usize {
        self.sizes.last().copied().map_or(0, padded)
    }

    /// Computes the outputs for the [inputs](Trace::inputs): rows without padding.
    #[inline(always)]
    pub(crate) fn forward(&self, trace: &mut Trace) {
        let count = self.layers.len();
        trace.numbers.resize(count + 1, Vec::new());
        for (at, layer) in self.layers.iter().enumerate() {
            let (before, after) = trace.numbers.split_at_mut(at + 1);
            let (from, to) = (&before[at], &mut after[0]);
            let rows = from.len() / layer.inputs;
            to.clear();
            for _ in 0..rows {
                to.extend_from_slice(&self.parameters[layer.biases..layer.end]);
            }
            let left = Left {
                numbers: from,
                by_row: layer.inputs,
                by_column: 1,
            };
            let weights = &self.parameters[layer.weights..layer.biases];
            add_product(to, left, weights, rows, layer.inputs, layer.outputs);
            if at + 1 < count {
                for value in to.iter_mut() {
                    *value = tanh(*value);
                }
            }
        }
    }

    /// Adds the gradients of the parameters to `sums`, by the gradients at the
    /// [outputs](Trace::output_gradients).
    #[inline(always)]
    pub(crate) fn backward(&self, trace: &mut Trace, sums: &mut [f32]) {
        let Trace {
            numbers,
            gradients: [above, below],
        } = trace;
        for (at, layer) in self.layers.iter().enumerate().rev() {
            let from = &numbers[at];
            let rows = from.len() / layer.inputs;
            let left = Left {
                numbers: from,
                by_row: 1,
                by_column: layer.inputs,
            };
            let (weights, biases) =
                sums[layer.weights..layer.end].split_at_mut(layer.biases - layer.weights);
            add_product(weights, left, above, layer.inputs, rows, layer.outputs);
            for row in above.chunks_exact(layer.outputs) {
                for (sum, value) in biases.iter_mut().zip(row) {
                    *sum += value;
                }
            }
            if at == 0 {
                return;
            }
            below.clear();
            below.resize(rows * layer.inputs, 0.0);
            let left = Left {
                numbers: above,
                by_row: layer.outputs,
                by_column: 1,
            };
            let transposed = &self.transposed[at];
            add_product(below, left, transposed, rows, layer.outputs, layer.inputs);
            // The slope of the tangent, by its value.
            for (amount, value) in below.iter_mut().zip(from) {
                *amount *= 1.0 - value * value;
            }
            std::mem::swap(above, below);
        }
    }
}

#[cfg(test)]
mod tests {
    use mapa_system_energy::learned::Scratch;

    use super::*;

    #[test]
    fn outputs_are_those_of_the_net_that_is_evaluated_to_the_bit() {
        let mut random = mapa_sim::stream(5, "test");
        for sizes in [vec![88, 128, 128, 20], vec![3, 5, 2], vec![7, 1]] {
            let own = Perceptron::new(sizes.clone(), 0.7, &mut random);
            let net = own.net().unwrap();
            assert_eq!(
                Perceptron::padded(sizes.clone(), net.parameters()).unpadded(),
                own.unpadded()
            );
            let inputs: Vec<f32> = (0..5 * sizes[0])
                .map(|at| (at % 13) as f32 / 6.0 - 1.0)
                .collect();
            let mut trace = Trace::default();
            trace.inputs().extend(&inputs);
            crate::product::vectorised(|| own.forward(&mut trace));
            let rows = trace.outputs().chunks_exact(own.width());
            assert_eq!(rows.len(), 5);
            for (inputs, outputs) in inputs.chunks_exact(sizes[0]).zip(rows) {
                let (kept, padding) = outputs.split_at(sizes[sizes.len() - 1]);
                assert_eq!(net.outputs(inputs, &mut Scratch::default()), kept);
                assert!(padding.iter().all(|&value| value == 0.0));
            }
        }
    }
}
