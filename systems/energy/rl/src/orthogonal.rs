//! Orthogonal starts.

use rand::Rng;

/// A number of mean 0 and variance 1, near enough to normal: the sum of twelve uniform ones. It
/// needs no logarithm, whose bits differ between systems.
fn number(random: &mut impl Rng) -> f64 {
    let uniform = |_| (random.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0;
    (0..12).map(uniform).sum::<f64>() - 6.0
}

/// A matrix with these rows and columns, row by row, whose rows or columns, whichever are fewer, are
/// orthogonal and of length `gain`. By Gram and Schmidt, twice for the precision.
///
/// # Complexity
/// O(rows x columns x the fewer of both).
pub(crate) fn orthogonal(
    rows: usize,
    columns: usize,
    gain: f64,
    random: &mut impl Rng,
) -> Vec<f32> {
    let (few, many) = (rows.min(columns), rows.max(columns));
    let mut all: Vec<Vec<f64>> = Vec::with_capacity(few);
    while all.len() < few {
        let mut own: Vec<f64> = (0..many).map(|_| number(random)).collect();
        for _ in 0..2 {
            for other in &all {
                let along: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
        }
        let length = own.iter().map(|a| a * a).sum::<f64>().sqrt();
        // Shorter only if the draw lay in the span of the others, which it practically never does.
        if length > 1e-3 {
            own.iter_mut().for_each(|a| *a /= length);
            all.push(own);
        }
    }
    let at = |row: usize, column: usize| {
        if rows <= columns {
            all[row][column]
        } else {
            all[column][row]
        }
    };
    let each = (0..rows * columns).map(|place| at(place / columns, place % columns) * gain);
    each.map(|value| value as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_or_columns_are_orthogonal_and_of_the_length_of_the_gain() {
        for (rows, columns) in [(1, 5), (5, 1), (8, 8), (20, 7), (7, 20)] {
            let own = orthogonal(rows, columns, 1.5, &mut mapa_sim::stream(3, "test"));
            let of = |a: usize, b: usize, k: usize| {
                let at = |i: usize| {
                    let place = if rows <= columns {
                        i * columns + k
                    } else {
                        k * columns + i
                    };
                    f64::from(own[place])
                };
                at(a) * at(b)
            };
            for a in 0..rows.min(columns) {
                for b in 0..=a {
                    let sum: f64 = (0..rows.max(columns)).map(|k| of(a, b, k)).sum();
                    let expected = if a == b { 2.25 } else { 0.0 };
                    assert!((sum - expected).abs() < 1e-5, "{rows} x {columns}: {sum}");
                }
            }
        }
    }
}
