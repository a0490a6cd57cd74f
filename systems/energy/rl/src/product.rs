//! Products of matrices, with a fixed order of summation.

/// The columns of a tile. Rows of matrices on the right are padded to a multiple of this.
pub(crate) const COLUMNS: usize = 16;
/// The rows of a tile.
const ROWS: usize = 4;

/// A number rounded up to a multiple of [`COLUMNS`].
pub(crate) fn padded(size: usize) -> usize {
    size.next_multiple_of(COLUMNS)
}

/// Runs this with the widest vectors that the processor has. The bits do not depend on them:
/// elements are summed in the order of depth, each on its own, and a product and a sum are rounded
/// apart, as Rust never fuses them by itself.
pub(crate) fn vectorised<R>(of: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(of)
}

/// A matrix on the left, as it lies or transposed.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) numbers: &'a [f32],
    /// How far rows lie from each other.
    pub(crate) by_row: usize,
    /// How far columns lie from each other.
    pub(crate) by_column: usize,
}

/// Adds `left x right` to `out`, which has `rows` rows. Rows of `right` and `out` have `columns`
/// numbers, a multiple of [`COLUMNS`]; `right` has `depth` rows.
#[inline(always)]
pub(crate) fn add_product(
    out: &mut [f32],
    left: Left<'_>,
    right: &[f32],
    rows: usize,
    depth: usize,
    columns: usize,
) {
    let right = &right[..depth * columns];
    for column in (0..columns).step_by(COLUMNS) {
        let whole = rows - rows % ROWS;
        for row in (0..whole).step_by(ROWS) {
            tile::<ROWS>(out, left, right, row, column, columns);
        }
        for row in whole..rows {
            tile::<1>(out, left, right, row, column, columns);
        }
    }
}

/// One tile: its sums stay in registers while the depth is walked.
#[inline(always)]
fn tile<const R: usize>(
    out: &mut [f32],
    left: Left<'_>,
    right: &[f32],
    row: usize,
    column: usize,
    columns: usize,
) {
    let mut sums = [[0.0_f32; COLUMNS]; R];
    for (r, sums) in sums.iter_mut().enumerate() {
        let from = (row + r) * columns + column;
        sums.copy_from_slice(&out[from..from + COLUMNS]);
    }
    let rows: [&[f32]; R] = std::array::from_fn(|r| &left.numbers[(row + r) * left.by_row..]);
    for (k, right) in right.chunks_exact(columns).enumerate() {
        let mut values = [0.0_f32; COLUMNS];
        values.copy_from_slice(&right[column..column + COLUMNS]);
        for r in 0..R {
            let factor = rows[r][k * left.by_column];
            for c in 0..COLUMNS {
                sums[r][c] += factor * values[c];
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        let from = (row + r) * columns + column;
        out[from..from + COLUMNS].copy_from_slice(sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_that_of_three_loops_to_the_bit_as_it_lies_and_transposed() {
        let number = |seed: usize| ((seed * 7919) % 1009) as f32 / 504.5 - 1.0;
        for (rows, depth, columns) in [(1, 1, 16), (4, 3, 32), (7, 10, 48), (66, 5, 16)] {
            let a: Vec<f32> = (0..rows * depth).map(number).collect();
            let b: Vec<f32> = (0..depth * columns)
                .map(|index| number(index + 17))
                .collect();
            let start: Vec<f32> = (0..rows * columns).map(|index| number(index + 5)).collect();
            for is_transposed in [false, true] {
                let (by_row, by_column) = if is_transposed { (1, rows) } else { (depth, 1) };
                let mut slow = start.clone();
                for i in 0..rows {
                    for j in 0..columns {
                        for k in 0..depth {
                            slow[i * columns + j] +=
                                a[i * by_row + k * by_column] * b[k * columns + j];
                        }
                    }
                }
                let left = Left {
                    numbers: &a,
                    by_row,
                    by_column,
                };
                let mut plain = start.clone();
                add_product(&mut plain, left, &b, rows, depth, columns);
                let mut wide = start.clone();
                vectorised(|| add_product(&mut wide, left, &b, rows, depth, columns));
                assert!(
                    plain == slow && wide == slow,
                    "{rows} x {depth} x {columns}"
                );
            }
        }
    }
}
