//! The domain of a fitted model: the range of the data to which it was fitted.

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::score::{Census, Tiers};
use crate::topology::LinkClass;

/// The distance from the hull, summed over the tiers, up to which counts are taken as inside. It
/// absorbs the rounding of the linear program. Counts and points are whole numbers, so counts
/// outside lie much farther out, unless there are hundreds of links.
const TOLERANCE: f64 = 1e-6;

/// The range of the data to which a model was fitted. An empty field allows everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// The fewest and the most ranks.
    pub ranks: Option<(usize, usize)>,
    /// The classes of links that occurred. A tier also takes classes better than its least one,
    /// which may not have been measured.
    pub classes: Vec<LinkClass>,
    /// The distinct link counts: the model holds in their convex hull.
    pub points: Vec<Census>,
}

impl Domain {
    /// The domain that allows everything, for models that are made by hand.
    #[must_use]
    pub fn anywhere() -> Self {
        Self::default()
    }

    /// The domain of the paper's model: two to five devices, with bonds of one or two direct links
    /// and paths through the host.
    pub(super) fn paper() -> Self {
        use LinkClass::{Board, Direct, Node, Phb, Pix, Pxb, Sys};
        let classes = vec![Direct(2), Direct(1), Board, Pix, Pxb, Phb, Node, Sys];
        Self {
            ranks: Some((2, 5)),
            classes,
            points: Vec::new(),
        }
    }

    /// Checks the domain for a model of these tiers. The error says what is wrong.
    pub(super) fn check(&self, tiers: &Tiers) -> Result<(), String> {
        if let Some((fewest, most)) = self.ranks
            && fewest > most
        {
            return Err(format!(
                "ranks from {fewest} to {most}: expected the fewest first"
            ));
        }
        let stray = (self.points.iter())
            .position(|point| point.counts()[tiers.len()..].iter().any(|count| *count > 0));
        match stray {
            Some(at) => Err(format!(
                "point {at} of the domain counts more than {} tiers",
                tiers.len()
            )),
            None => Ok(()),
        }
    }

    /// Whether links of this class occurred.
    #[must_use]
    pub fn knows(&self, class: LinkClass) -> bool {
        self.classes.is_empty() || self.classes.contains(&class)
    }

    /// Whether the number of ranks is within the range, and the counts are in the convex hull of
    /// the points, up to 1e-6 links in all.
    ///
    /// # Complexity
    ///
    /// One linear program with a variable per point and a row per tier. None is needed if the
    /// counts are one of the points, or lie outside the bounding box of the points.
    #[must_use]
    pub fn holds(&self, census: &Census, ranks: usize) -> bool {
        let in_range = self
            .ranks
            .is_none_or(|(fewest, most)| (fewest..=most).contains(&ranks));
        in_range && (self.points.is_empty() || in_hull(&self.points, census))
    }
}

/// Whether the counts are a weighted mean of the points. If the solver fails, the answer is no.
fn in_hull(points: &[Census], census: &Census) -> bool {
    if points.contains(census) {
        return true;
    }
    for (tier, &count) in census.counts().iter().enumerate() {
        let range = || points.iter().map(|point| point.counts()[tier]);
        if range().min() > Some(count) || range().max() < Some(count) {
            return false;
        }
    }
    distance(points, census).is_some_and(|distance| distance <= TOLERANCE)
}

/// The distance of the counts from the hull, summed over the tiers; none if the solver fails.
fn distance(points: &[Census], census: &Census) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let weights: Vec<_> = points
        .iter()
        .map(|_| problem.add_var(0.0, (0.0, f64::INFINITY)))
        .collect();
    let all: Vec<_> = weights.iter().map(|weight| (*weight, 1.0)).collect();
    problem.add_constraint(&all, ComparisonOp::Eq, 1.0);
    for (tier, &count) in census.counts().iter().enumerate() {
        if points.iter().all(|point| point.counts()[tier] == count) {
            continue;
        }
        // What the weighted mean lacks, and what it has too much; their sum is minimised.
        let [short, over] = [0; 2].map(|_| problem.add_var(1.0, (0.0, f64::INFINITY)));
        let each = weights
            .iter()
            .zip(points)
            .map(|(weight, point)| (*weight, f64::from(point.counts()[tier])));
        let row: Vec<_> = each.chain([(short, 1.0), (over, -1.0)]).collect();
        problem.add_constraint(&row, ComparisonOp::Eq, f64::from(count));
    }
    let solution = problem.solve().ok()?.into_solution().ok()?;
    Some(solution.objective())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// In two dimensions: inside iff in some triangle (or on some segment) of points, by signed
    /// areas in whole numbers.
    fn in_some_triangle(points: &[(i64, i64)], at: (i64, i64)) -> bool {
        let area = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| {
            (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
        };
        let between = |a: i64, b: i64, v: i64| a.min(b) <= v && v <= a.max(b);
        let on_segment =
            |a, b| area(a, b, at) == 0 && between(a.0, b.0, at.0) && between(a.1, b.1, at.1);
        let inside = |a, b, c| {
            let signs = [area(a, b, at), area(b, c, at), area(c, a, at)];
            area(a, b, c) != 0 && (signs.iter().all(|s| *s >= 0) || signs.iter().all(|s| *s <= 0))
        };
        let pairs = || {
            points
                .iter()
                .flat_map(|a| points.iter().map(move |b| (*a, *b)))
        };
        pairs().any(|(a, b)| on_segment(a, b) || points.iter().any(|c| inside(a, b, *c)))
    }

    proptest! {
        #[test]
        fn the_hull_is_that_of_all_triangles(
            points in proptest::collection::vec((0i64..7, 0i64..7), 1..7), at in (0i64..8, 0i64..8)
        ) {
            // On a plane x + y + z = 14, as counts of patterns of one size are.
            let census = |(x, y): (i64, i64)| Census::from_xyz(x as u32, y as u32, (14 - x - y) as u32);
            let domain = Domain { points: points.iter().copied().map(census).collect(), ..Domain::anywhere() };
            prop_assert_eq!(domain.holds(&census(at), 3), in_some_triangle(&points, at));
        }

        #[test]
        fn a_mean_of_points_is_inside_and_what_lies_past_a_plane_is_not(
            points in proptest::collection::vec(proptest::collection::vec(0u32..9, 5), 2..9)
        ) {
            let census = |counts: &[u32]| Census::from_counts(counts).unwrap();
            // Doubled, so that the middle of two points is whole.
            let doubled = points.iter().map(|p| census(&p.iter().map(|c| 2 * c).collect::<Vec<_>>())).collect();
            let domain = Domain { points: doubled, ..Domain::anywhere() };
            let middle: Vec<u32> = points[0].iter().zip(&points[1]).map(|(a, b)| a + b).collect();
            prop_assert!(domain.holds(&census(&middle), 2));
            // The fewest links of all points, less one: past the plane of that many links.
            let fewest = domain.points.iter().map(Census::edges).min().unwrap();
            let mut out = *domain.points.iter().find(|p| p.edges() == fewest).unwrap().counts();
            if let Some(count) = out.iter_mut().find(|count| **count > 0) {
                *count -= 1;
                prop_assert!(!domain.holds(&Census::from_counts(&out).unwrap(), 2));
            }
        }
    }

    #[test]
    fn empty_parts_allow_everything() {
        let census = Census::from_xyz(9, 9, 9);
        assert!(
            Domain::anywhere().holds(&census, 0) && Domain::anywhere().knows(LinkClass::Network)
        );
        assert!(!Domain::paper().holds(&census, 6) && Domain::paper().holds(&census, 5));
        assert!(
            !Domain::paper().knows(LinkClass::Direct(3))
                && !Domain::paper().knows(LinkClass::Network)
        );
    }
}
