//! Small dense targets: filters remove next to nothing there, and the engine for machines counts
//! faster.

use super::domains::domains;
use super::plan::GraphMatcher;
use crate::graph::Graph;
use crate::matching::bits::put;
use crate::matching::engine::{Cursor, LeafWalk, PlainGraph};
use crate::matching::limits::{Limits, SearchStats, StopReason};
use crate::matching::meter::Meter;
use crate::matching::plan::Matcher;

/// The most vertices of such a target.
const MOST: usize = 256;

/// Whether the engine for machines counts: the target is small, and at least a quarter of all pairs
/// are joined.
fn is_dense(target: &Graph) -> bool {
    let n = target.len();
    n <= MOST && 8 * target.edge_count() >= n * n.saturating_sub(1)
}

/// The count; none if the target is sparse or the pattern is not small.
pub(super) fn count<'m>(
    matcher: &GraphMatcher,
    target: &Graph,
    limits: Limits,
    meter: &dyn Fn() -> Meter<'m>,
) -> Option<SearchStats> {
    let own = matcher.dense().filter(|_| is_dense(target))?;
    let Some(domains) = domains(&matcher.pattern, target, matcher.induced) else {
        return Some(SearchStats::default());
    };
    Some(match target.len() {
        0..=64 => counted::<1>(own, target, &domains, limits, meter),
        65..=128 => counted::<2>(own, target, &domains, limits, meter),
        _ => counted::<4>(own, target, &domains, limits, meter),
    })
}

/// The count at one width of sets.
fn counted<'m, const W: usize>(
    matcher: &Matcher,
    target: &Graph,
    domains: &[Vec<u32>],
    limits: Limits,
    meter: &dyn Fn() -> Meter<'m>,
) -> SearchStats {
    let row = |ids: &[u32]| {
        let mut row = [0; W];
        ids.iter().for_each(|&id| put(&mut row, id));
        row
    };
    let ground = PlainGraph {
        joined: (0..target.len() as u32)
            .map(|v| row(target.neighbours(v)))
            .collect(),
        domains: domains.iter().map(|domain| row(domain)).collect(),
    };
    // Filters look at labels and degrees, which automorphisms keep: ranks of one orbit have equal
    // domains. So each distinct match stands for as many raw ones as there are automorphisms.
    if let Some(class) = matcher
        .of_each_class
        .as_ref()
        .filter(|_| limits.matches == Limits::NONE.matches)
    {
        let mut meter = meter();
        Cursor::new(class, &ground).count(&mut meter);
        let stats = meter.stats();
        if stats.complete() {
            let order = u64::try_from(matcher.symmetries()).ok();
            return match order.and_then(|order| stats.matches.checked_mul(order)) {
                Some(matches) => SearchStats { matches, ..stats },
                None if stats.matches == 0 => stats,
                None => SearchStats {
                    matches: u64::MAX,
                    stopped: StopReason::MatchLimit,
                    ..stats
                },
            };
        }
    }
    let mut meter = meter();
    Cursor::new(&matcher.program, &ground).count(&mut meter);
    meter.stats()
}
