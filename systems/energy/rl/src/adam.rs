//! Adam.

/// The optimiser of Kingma and Ba (2015), with the decays 0.9 and 0.999.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adam {
    /// The running means of gradients, and of their squares.
    pub(crate) moments: [Vec<f32>; 2],
    /// The updates so far.
    pub(crate) updates: u64,
    /// The decays to the power of the updates.
    decayed: [f64; 2],
}

const DECAYS: [f64; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-5;

impl Adam {
    /// For this many parameters.
    pub(crate) fn new(parameters: usize) -> Self {
        Self {
            moments: [vec![0.0; parameters], vec![0.0; parameters]],
            updates: 0,
            decayed: [1.0; 2],
        }
    }

    /// Where it stood after these updates.
    pub(crate) fn at(moments: [Vec<f32>; 2], updates: u64) -> Self {
        let mut own = Self {
            moments,
            updates: 0,
            decayed: [1.0; 2],
        };
        (0..updates).for_each(|_| own.count());
        own
    }

    /// One update more. Powers are products one by one, whose bits are defined.
    fn count(&mut self) {
        self.updates += 1;
        self.decayed[0] *= DECAYS[0];
        self.decayed[1] *= DECAYS[1];
    }

    /// Changes the parameters by gradients, in several parts one after the other: the parts of both
    /// lists are `parameters[i]` and `gradients[i]`. Gradients are multiplied by `factor`.
    pub(crate) fn update(&mut self, parts: [(&mut [f32], &[f32]); 2], factor: f32, rate: f32) {
        self.count();
        let [first, second] = self.decayed.map(|decayed| (1.0 / (1.0 - decayed)) as f32);
        let [keep_first, keep_second] = DECAYS.map(|value| value as f32);
        let [mean, square] = &mut self.moments;
        let mut from = 0;
        for (parameters, gradients) in parts {
            let end = from + parameters.len();
            let moments = mean[from..end].iter_mut().zip(&mut square[from..end]);
            from = end;
            for ((value, gradient), (mean, square)) in
                parameters.iter_mut().zip(gradients).zip(moments)
            {
                let gradient = gradient * factor;
                *mean = keep_first * *mean + (1.0 - keep_first) * gradient;
                *square = keep_second * *square + (1.0 - keep_second) * (gradient * gradient);
                *value -= rate * (*mean * first) / ((*square * second).sqrt() + EPSILON);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_update_is_the_rate_against_the_sign_and_updates_are_counted_again() {
        let mut adam = Adam::new(3);
        let (mut a, mut b) = ([1.0_f32, 1.0], [1.0_f32]);
        adam.update([(&mut a, &[5.0, -3.0]), (&mut b, &[0.0])], 2.0, 0.1);
        assert!((a[0] - 0.9).abs() < 1e-5 && (a[1] - 1.1).abs() < 1e-5 && b[0] == 1.0);
        adam.update([(&mut a, &[5.0, -3.0]), (&mut b, &[0.0])], 2.0, 0.1);
        assert_eq!(Adam::at(adam.moments.clone(), 2), adam);
    }
}
