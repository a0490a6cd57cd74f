//! Traffic of which only sums are known: the bytes that each device sent and received.
//!
//! Of all matrices with these row and column sums, the one of maximum entropy assumes the least.
//! Iterative proportional fitting finds it: rows and columns are scaled to their sums in turn,
//! beginning with ones wherever two devices may talk (Deming and Stephan, "On a least squares
//! adjustment of a sampled frequency table", Annals of Mathematical Statistics 11, 1940).

/// The most rounds of scaling. If a matrix with these sums exists, far fewer are needed; if none
/// does, more would not help.
const ROUNDS: usize = 200;

/// The bytes that each device sent to each other: the matrix of maximum entropy with these row
/// sums, and columns in proportion to these column sums. Row sums are exact. Column sums are
/// approximate if no matrix has them. A device without a possible peer has an empty row.
///
/// # Complexity
/// O(n^2) for each of at most 200 rounds, for n devices.
pub(super) fn spread(
    sent: &[f64],
    received: &[f64],
    may_talk: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<f64>> {
    let n = sent.len().min(received.len());
    let total = |sums: &[f64]| sums.iter().take(n).sum::<f64>();
    // The two ends of a link are never read at the same instant, so the bytes received are scaled
    // to the bytes sent.
    let scale = if total(received) > 0.0 {
        total(sent) / total(received)
    } else {
        0.0
    };
    let columns: Vec<f64> = received.iter().map(|received| received * scale).collect();
    // Ones wherever both devices took part and may talk: scaling keeps zeros.
    let mut matrix = vec![vec![0.0; n]; n];
    for ((from, row), sent) in matrix.iter_mut().enumerate().zip(sent) {
        for ((to, cell), received) in row.iter_mut().enumerate().zip(&columns) {
            if from != to && *sent > 0.0 && *received > 0.0 && may_talk(from, to) {
                *cell = 1.0;
            }
        }
    }
    for _ in 0..ROUNDS {
        for (to, wanted) in columns.iter().enumerate().take(n) {
            let sum: f64 = matrix.iter().filter_map(|row| row.get(to)).sum();
            let factor = if sum > 0.0 { wanted / sum } else { 0.0 };
            matrix
                .iter_mut()
                .filter_map(|row| row.get_mut(to))
                .for_each(|cell| *cell *= factor);
        }
        let mut worst: f64 = 0.0;
        for (row, wanted) in matrix.iter_mut().zip(sent) {
            let sum: f64 = row.iter().sum();
            let factor = if sum > 0.0 { wanted / sum } else { 0.0 };
            worst = worst.max((factor - 1.0).abs());
            row.iter_mut().for_each(|cell| *cell *= factor);
        }
        if worst < 1e-12 {
            break;
        }
    }
    // If no matrix has these sums, some cells shrink in every round. They would stay as edges that
    // carry next to nothing.
    let least = 1e-9 * total(sent);
    matrix
        .iter_mut()
        .flatten()
        .filter(|cell| **cell < least)
        .for_each(|cell| *cell = 0.0);
    matrix
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn sums_are_kept_and_the_rest_is_even() {
        let (sent, received) = ([6.0, 3.0, 3.0, 4.0], [4.0, 4.0, 4.0, 4.0]);
        let matrix = spread(&sent, &received, |_, _| true);
        for (device, row) in matrix.iter().enumerate() {
            assert!(
                (row.iter().sum::<f64>() - sent[device]).abs() < 1e-9,
                "{matrix:?}"
            );
            let column: f64 = matrix.iter().map(|row| row[device]).sum();
            assert!((column - received[device]).abs() < 1e-6, "{matrix:?}");
            assert_eq!(row[device], 0.0);
        }
        let even = spread(&[6.0; 4], &[6.0; 4], |_, _| true);
        assert!(even.iter().enumerate().all(|(a, row)| {
            row.iter()
                .enumerate()
                .all(|(b, cell)| a == b || (cell - 2.0).abs() < 1e-9)
        }));
    }

    #[test]
    fn those_who_may_not_talk_do_not() {
        let matrix = spread(&[1.0, 1.0, 5.0], &[1.0, 1.0, 5.0], |a, b| a + b == 1);
        assert_eq!(matrix[2], [0.0; 3]);
        assert!((matrix[0][1] - 1.0).abs() < 1e-9, "{matrix:?}");
        assert!(spread(&[], &[], |_, _| true).is_empty());
        assert_eq!(spread(&[3.0, 0.0], &[0.0, 0.0], |_, _| true), [[0.0; 2]; 2]);
    }
}
