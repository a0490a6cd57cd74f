//! Where a fitted model holds: among what it was fitted to.

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::score::{Census, Tiers};
use crate::topology::LinkClass;

/// How far outside the hull counts may lie, summed over the tiers, to be taken as inside: room for the arithmetic of the
/// linear program. Counts and points are whole numbers, so counts outside lie much farther out, unless there are hundreds.
const TOLERANCE: f64 = 1e-6;

/// What a model was fitted to. Each part that is empty allows everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// The fewest and the most ranks.
    pub ranks: Option<(usize, usize)>,
    /// The classes of link that occurred. A tier takes in classes better than its least one, which nobody may have measured.
    pub classes: Vec<LinkClass>,
    /// The distinct link counts: the model holds in their convex hull.
    pub points: Vec<Census>,
}

impl Domain {
    /// Everywhere: for models that are made by hand.
    #[must_use]
    pub fn anywhere() -> Self {
        Self::default()
    }

    /// Two to five devices, no bond of more than two direct links, nothing but paths through the host besides.
    pub(super) fn paper() -> Self {
        use LinkClass::{Board, Direct, Node, Phb, Pix, Pxb, Sys};
        let classes = vec![Direct(2), Direct(1), Board, Pix, Pxb, Phb, Node, Sys];
        Self { ranks: Some((2, 5)), classes, points: Vec::new() }
    }

    /// What is wrong with it for a model of these tiers.
    pub(super) fn check(&self, tiers: &Tiers) -> Result<(), String> {
        if let Some((fewest, most)) = self.ranks
            && fewest > most
        {
            return Err(format!("ranks from {fewest} to {most}: expected the fewest first"));
        }
        let stray = |point: &Census| point.counts()[tiers.len()..].iter().any(|count| *count > 0);
        match self.points.iter().position(stray) {
            Some(at) => Err(format!("point {at} of the domain counts more than {} tiers", tiers.len())),
            None => Ok(()),
        }
    }

    /// Whether links of this class occurred.
    #[must_use]
    pub fn knows(&self, class: LinkClass) -> bool {
        self.classes.is_empty() || self.classes.contains(&class)
    }

    /// Whether so many ranks are within the range and the counts in the convex hull of the points, to 1e-6 links in all.
    /// One linear program of a variable per point and a row per tier; none where the counts are a point, or farther out
    /// than any.
    #[must_use]
    pub fn holds(&self, census: &Census, ranks: usize) -> bool {
        let in_range = self.ranks.is_none_or(|(fewest, most)| (fewest..=most).contains(&ranks));
        in_range && (self.points.is_empty() || in_hull(&self.points, census))
    }
}

/// Whether the counts are a weighted mean of the points. What no solver could settle is outside.
fn in_hull(points: &[Census], census: &Census) -> bool {
    if points.contains(census) {
        return true;
    }
    let range = |tier: usize| points.iter().map(move |point| point.counts()[tier]);
    let boxed = |tier: usize, count: u32| range(tier).min() <= Some(count) && Some(count) <= range(tier).max();
    let counts = || census.counts().iter().enumerate();
    counts().all(|(tier, &count)| boxed(tier, count))
        && distance(points, census).is_some_and(|distance| distance <= TOLERANCE)
}

/// How far the counts lie from the hull, summed over the tiers.
fn distance(points: &[Census], census: &Census) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let weights: Vec<_> = points.iter().map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect();
    let all: Vec<_> = weights.iter().map(|weight| (*weight, 1.0)).collect();
    problem.add_constraint(&all, ComparisonOp::Eq, 1.0);
    for (tier, &count) in census.counts().iter().enumerate() {
        if points.iter().all(|point| point.counts()[tier] == count) {
            continue;
        }
        let [short, over] = [0; 2].map(|_| problem.add_var(1.0, (0.0, f64::INFINITY)));
        let each = weights.iter().zip(points).map(|(weight, point)| (*weight, f64::from(point.counts()[tier])));
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

    /// In two dimensions: inside iff in some triangle (or on some segment) of points, by signed areas in whole numbers.
    fn in_some_triangle(points: &[(i64, i64)], at: (i64, i64)) -> bool {
        let area = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
        let between = |a: i64, b: i64, v: i64| a.min(b) <= v && v <= a.max(b);
        let on_segment = |a, b| area(a, b, at) == 0 && between(a.0, b.0, at.0) && between(a.1, b.1, at.1);
        let inside = |a, b, c| {
            let signs = [area(a, b, at), area(b, c, at), area(c, a, at)];
            area(a, b, c) != 0 && (signs.iter().all(|s| *s >= 0) || signs.iter().all(|s| *s <= 0))
        };
        let pairs = || points.iter().flat_map(|a| points.iter().map(move |b| (*a, *b)));
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
        assert!(Domain::anywhere().holds(&census, 0) && Domain::anywhere().knows(LinkClass::Network));
        assert!(!Domain::paper().holds(&census, 6) && Domain::paper().holds(&census, 5));
        assert!(!Domain::paper().knows(LinkClass::Direct(3)) && !Domain::paper().knows(LinkClass::Network));
    }
}
