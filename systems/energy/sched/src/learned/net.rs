//! Nets.

use super::math::tanh;
use crate::error::{Error, ErrorKind};

/// A fully connected net: the outputs of each layer but the last go through [`tanh`].
///
/// The parameters lie in one list: for each layer its weights by input and then by output, and its
/// biases. A number is summed up in the order of the inputs, after the bias, so the result has the
/// same bits everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Net {
    sizes: Vec<usize>,
    parameters: Vec<f32>,
}

/// Memory for the numbers between the layers of a [`Net`], kept from one use to the next.
#[derive(Clone, Debug, Default)]
pub struct Scratch([Vec<f32>; 2]);

impl Net {
    /// A net with these numbers of inputs, of outputs of each layer between, and of outputs.
    ///
    /// # Errors
    /// Less than two sizes, or one of 0; parameters of another number than
    /// [`parameter_count`](Self::parameter_count) says, or one that is not finite.
    pub fn new(sizes: Vec<usize>, parameters: Vec<f32>) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::from(ErrorKind::BadWeights(what)));
        let Some(count) = Self::parameter_count(&sizes) else {
            return wrong(format!(
                "`layers`: {sizes:?}: expected at least two sizes of 1 or more, such as 88 128 20"
            ));
        };
        if parameters.len() != count {
            return wrong(format!(
                "{} weights for layers of {sizes:?}: expected {count}",
                parameters.len()
            ));
        }
        if let Some(at) = parameters
            .iter()
            .position(|parameter| !parameter.is_finite())
        {
            return wrong(format!(
                "weight {at} is {}: expected a finite number",
                parameters[at]
            ));
        }
        Ok(Self { sizes, parameters })
    }

    /// How many parameters a net of these sizes has; `None` if there is no such net.
    #[must_use]
    pub fn parameter_count(sizes: &[usize]) -> Option<usize> {
        if sizes.len() < 2 || sizes.contains(&0) {
            return None;
        }
        sizes.windows(2).try_fold(0_usize, |sum, pair| {
            let layer = pair[0].checked_add(1)?.checked_mul(pair[1])?;
            sum.checked_add(layer)
        })
    }

    /// The numbers of inputs, of outputs of each layer between, and of outputs.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// All parameters.
    #[must_use]
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The outputs for these inputs. Inputs that lack count as 0.
    ///
    /// # Complexity
    /// O(parameters).
    pub fn outputs<'a>(&self, inputs: &[f32], scratch: &'a mut Scratch) -> &'a [f32] {
        let [from, to] = &mut scratch.0;
        from.clear();
        from.extend_from_slice(inputs);
        let mut rest = self.parameters.as_slice();
        for (layer, values) in self.sizes.windows(2).enumerate() {
            let (weights, after) = rest.split_at(values[0] * values[1]);
            let (biases, after) = after.split_at(values[1]);
            rest = after;
            to.clear();
            to.extend_from_slice(biases);
            for (&input, weights) in from.iter().zip(weights.chunks_exact(values[1])) {
                for (to, &weight) in to.iter_mut().zip(weights) {
                    *to += input * weight;
                }
            }
            if layer + 2 < self.sizes.len() {
                to.iter_mut().for_each(|value| *value = tanh(*value));
            }
            std::mem::swap(from, to);
        }
        from
    }
}
