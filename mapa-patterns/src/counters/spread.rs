//! Traffic of which only the sums are known: what each device sent, and what each received.
//!
//! Of all matrices with these row and column sums, the one of greatest entropy assumes the least. Iterative proportional
//! fitting finds it: rows and columns are scaled to their sums in turn, beginning with ones wherever two devices may talk
//! (Deming and Stephan, "On a least squares adjustment of a sampled frequency table", Annals of Mathematical Statistics 11,
//! 1940).

/// Rounds of scaling. Where the sums can be had, far fewer are needed; where they cannot, more would not help.
const ROUNDS: usize = 200;

/// How much each device sent each other: of the matrices with these row sums, and columns in proportion to these sums, that
/// of greatest entropy. Row sums are kept; where columns cannot be had, they are near. A device that may talk to nobody has
/// an empty row. O(n^2) a round.
pub(super) fn spread(sent: &[f64], received: &[f64], may_talk: impl Fn(usize, usize) -> bool) -> Vec<Vec<f64>> {
    let n = sent.len().min(received.len());
    let total = |sums: &[f64]| sums.iter().take(n).sum::<f64>();
    // Two ends are never read at the same instant: what was received is scaled to what was sent.
    let scale = if total(received) > 0.0 { total(sent) / total(received) } else { 0.0 };
    let talks = |from: usize, to: usize| from != to && may_talk(from, to);
    let columns: Vec<f64> = received.iter().map(|own| own * scale).collect();
    let cell = |from: usize, to: usize| {
        let both = talks(from, to) && sent.get(from).is_some_and(|own| *own > 0.0);
        if both && columns.get(to).is_some_and(|own| *own > 0.0) { 1.0 } else { 0.0 }
    };
    let mut matrix: Vec<Vec<f64>> = (0..n).map(|from| (0..n).map(|to| cell(from, to)).collect()).collect();
    for _ in 0..ROUNDS {
        for (to, wanted) in columns.iter().enumerate().take(n) {
            let sum: f64 = matrix.iter().filter_map(|row| row.get(to)).sum();
            let factor = if sum > 0.0 { wanted / sum } else { 0.0 };
            matrix.iter_mut().filter_map(|row| row.get_mut(to)).for_each(|cell| *cell *= factor);
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
    // Where the sums cannot be had, cells shrink round by round, and would stay as edges of nothing.
    let least = 1e-9 * total(sent);
    matrix.iter_mut().flatten().filter(|cell| **cell < least).for_each(|cell| *cell = 0.0);
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
            assert!((row.iter().sum::<f64>() - sent[device]).abs() < 1e-9, "{matrix:?}");
            let column: f64 = matrix.iter().map(|row| row[device]).sum();
            assert!((column - received[device]).abs() < 1e-6, "{matrix:?}");
            assert_eq!(row[device], 0.0);
        }
        let even = spread(&[6.0; 4], &[6.0; 4], |_, _| true);
        assert!(
            even.iter()
                .enumerate()
                .all(|(a, row)| row.iter().enumerate().all(|(b, cell)| a == b || (cell - 2.0).abs() < 1e-9))
        );
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
