//! Whether predictions order the samples as the measurements do. An allocator depends on that
//! order.

use crate::row::Row;

/// The smallest difference of measurements that counts, relative to the lower one. Repetitions of
/// one run differ by up to as much.
const APART: f64 = 0.05;

/// The largest difference of predictions, relative to the larger one, that counts as a tie.
const TIE: f64 = 1e-6;

/// How the predictions order the pairs of samples of equal ranks whose measurements differ by more
/// than 5 % of the lower. Pairs of different sizes do not count: an allocator chooses among sets of
/// one size.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Order {
    /// How many such pairs there are.
    pub pairs: usize,
    /// The pairs that the predictions reverse or tie. The largest difference of measurements is
    /// first; equal ones are in the order of the rows.
    pub misordered: Vec<Misordered>,
}

/// Two samples that the model orders wrongly, as places in [`Fit::rows`](crate::Fit::rows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misordered {
    /// The sample with the higher measurement.
    pub higher: usize,
    /// The sample with the lower measurement.
    pub lower: usize,
    /// Whether both are predicted equal, within 1e-6 of the larger; else the lower is predicted
    /// higher.
    pub tied: bool,
}

impl Order {
    /// The order of these rows. O(N²) for N rows.
    pub(crate) fn of(rows: &[Row]) -> Self {
        let mut order = Self {
            pairs: 0,
            misordered: Vec::new(),
        };
        for second in 0..rows.len() {
            for first in 0..second {
                let Some((higher, lower)) = ranked(rows, first, second) else {
                    continue;
                };
                order.pairs += 1;
                let (up, down) = (rows[higher].predicted, rows[lower].predicted);
                let tied = (up - down).abs() <= TIE * up.abs().max(down.abs());
                if tied || up < down {
                    order.misordered.push(Misordered {
                        higher,
                        lower,
                        tied,
                    });
                }
            }
        }
        let apart =
            |pair: &Misordered| rows[pair.higher].sample.gbps - rows[pair.lower].sample.gbps;
        order.misordered.sort_by(|a, b| {
            apart(b)
                .total_cmp(&apart(a))
                .then_with(|| (a.higher, a.lower).cmp(&(b.higher, b.lower)))
        });
        order
    }
}

/// Two rows in the order of their measurements, the higher first. `None` if their sizes differ, or
/// if the measurements are too close.
fn ranked(rows: &[Row], a: usize, b: usize) -> Option<(usize, usize)> {
    let [first, second] = [a, b].map(|at| &rows[at].sample);
    let (higher, lower) = if first.gbps > second.gbps {
        (a, b)
    } else {
        (b, a)
    };
    let clear = rows[higher].sample.gbps > (1.0 + APART) * rows[lower].sample.gbps;
    (first.ranks == second.ranks && clear).then_some((higher, lower))
}
