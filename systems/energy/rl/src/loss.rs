//! What is minimised, and its gradients.

use mapa_system_energy::learned::exp;

/// The weights of the parts of the loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// By how much the probability of an action may change before changing it more gains nothing.
    pub(crate) clip: f32,
    /// The weight of entropy.
    pub(crate) entropy: f32,
    /// The weight of one sample: 1 over the samples of a minibatch.
    pub(crate) part: f32,
}

/// What is known of an action that was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) action: usize,
    /// The probability with which it was taken.
    pub(crate) probability: f32,
    /// How much better it was than expected.
    pub(crate) advantage: f32,
    /// The value of the state by what followed.
    pub(crate) worth: f32,
}

/// Turns the outputs of a net into the probabilities of allowed actions; of others it is 0. Outputs
/// beyond the mask are padding. At least one action must be allowed.
#[inline(always)]
pub(crate) fn probabilities(outputs: &[f32], mask: &[bool], to: &mut Vec<f32>) {
    to.clear();
    let allowed = outputs.iter().zip(mask).filter(|row| *row.1);
    let most = allowed.map(|row| *row.0).fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for (&output, &is_allowed) in outputs.iter().zip(mask) {
        let own = if is_allowed { exp(output - most) } else { 0.0 };
        sum += own;
        to.push(own);
    }
    to.iter_mut().for_each(|value| *value /= sum);
}

impl Loss {
    /// Appends the gradients at the outputs of the policy's net, in a padded row:
    /// `-min(r A, clip(r) A) - entropy`, where r is the new probability of the action over the old
    /// one, and A its advantage.
    #[inline(always)]
    pub(crate) fn policy(
        &self,
        outputs: &[f32],
        mask: &[bool],
        taken: &Taken,
        p: &mut Vec<f32>,
        to: &mut Vec<f32>,
    ) {
        probabilities(outputs, mask, p);
        let ratio = p[taken.action] / taken.probability;
        let is_clipped = if taken.advantage > 0.0 {
            ratio > 1.0 + self.clip
        } else {
            ratio < 1.0 - self.clip
        };
        let pull = if is_clipped {
            0.0
        } else {
            taken.advantage * ratio
        };
        // The logarithm of the sum cancels out of the gradient of entropy.
        let mean: f32 = p.iter().zip(outputs).map(|(p, output)| p * output).sum();
        let row = to.len();
        to.resize(row + outputs.len(), 0.0);
        for (to, (p, output)) in to[row..].iter_mut().zip(p.iter().zip(outputs)) {
            *to = self.part * (pull * p + self.entropy * p * (output - mean));
        }
        to[row + taken.action] -= self.part * pull;
    }

    /// The gradient at the output of the value's net: of half the squared error.
    #[inline(always)]
    pub(crate) fn value(&self, output: f32, taken: &Taken) -> f32 {
        self.part * (output - taken.worth)
    }
}
