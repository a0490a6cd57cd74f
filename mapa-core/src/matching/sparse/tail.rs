//! Counting the ways to place the last vertices without placing them.
//!
//! The last vertices are not joined to each other, so only one condition is left between them: no
//! two lie on the same target vertex. Their number of placements is thus the permanent of a matrix
//! of candidates. It is computed by groups: vertices that share no candidate are independent.

use super::cursor::SparseCursor;
use crate::matching::meter::Meter;

/// Scratch memory for counting.
pub(super) struct TailScratch {
    /// By target vertex, its place in `members`. The entry is valid only if `members` names the
    /// vertex there, so that nothing needs to be cleared.
    slot: Vec<u32>,
    /// Each target vertex that some last vertex can have, with the set of last vertices that can.
    members: Vec<(u32, u128)>,
    /// By last vertex, how many target vertices only it can have.
    own: Vec<u64>,
    /// Target vertices that two or more last vertices can have, by the set of these: the set, and
    /// how many such target vertices there are.
    shared: Vec<(u128, u64)>,
}

impl TailScratch {
    pub(super) fn new(vertices: usize) -> Self {
        Self {
            slot: vec![0; vertices],
            members: Vec::new(),
            own: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// The number of ways to place the vertices after the core on different target vertices;
    /// saturates. None if `meter` reached a limit.
    ///
    /// # Complexity
    ///
    /// Exponential in the size of the largest group of vertices that share candidates; a vertex
    /// that shares none is a factor.
    pub(super) fn ways(
        &mut self,
        cursor: &SparseCursor<'_>,
        meter: &mut Meter<'_>,
    ) -> Option<u128> {
        let core = cursor.space.core;
        let last = cursor.space.steps.len() - core;
        // A single vertex shares with none: its candidates are counted.
        if last == 1 {
            let mut ways = 0;
            cursor.candidates(core, |_| ways += 1);
            return Some(ways);
        }
        self.members.clear();
        for i in 0..last {
            let mut any = false;
            cursor.candidates(core + i, |v| {
                any = true;
                self.put(v, i);
            });
            if !any {
                return Some(0);
            }
        }
        self.group(last);
        let all = if last == u128::BITS as usize {
            u128::MAX
        } else {
            (1 << last) - 1
        };
        product(all, &self.own, &mut self.shared, meter)
    }

    /// Notes that the last vertex `i` can have `v`.
    fn put(&mut self, v: u32, i: usize) {
        let slot = self.slot[v as usize] as usize;
        match self.members.get_mut(slot) {
            Some((of, who)) if *of == v => *who |= 1 << i,
            _ => {
                self.slot[v as usize] = self.members.len() as u32;
                self.members.push((v, 1 << i));
            }
        }
    }

    /// Counts target vertices by the set of last vertices that can have them. Target vertices with
    /// equal sets are interchangeable.
    fn group(&mut self, last: usize) {
        self.own.clear();
        self.own.resize(last, 0);
        self.shared.clear();
        for &(_, who) in &self.members {
            if who.is_power_of_two() {
                self.own[who.trailing_zeros() as usize] += 1;
            } else {
                self.shared.push((who, 1));
            }
        }
        // Merge target vertices with equal sets, and add up how many there are.
        self.shared.sort_unstable();
        self.shared.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }
}

/// The number of ways to give each vertex of `left` a target vertex: the product over groups that
/// share no target vertex with each other.
fn product(
    mut left: u128,
    own: &[u64],
    shared: &mut [(u128, u64)],
    meter: &mut Meter<'_>,
) -> Option<u128> {
    let mut ways = 1u128;
    while left != 0 && ways != 0 {
        let group = joined(left & left.wrapping_neg(), left, shared);
        ways = ways.saturating_mul(place(group, own, shared, meter)?);
        left &= !group;
    }
    Some(ways)
}

/// All vertices of `among` that share target vertices with these, directly or through others.
fn joined(mut group: u128, among: u128, shared: &[(u128, u64)]) -> u128 {
    loop {
        let touching = shared
            .iter()
            .filter(|(who, size)| who & group != 0 && *size > 0);
        let more = touching.fold(group, |group, (who, _)| group | who & among);
        if more == group {
            return group;
        }
        group = more;
    }
}

/// The number of ways to give each vertex of one group a target vertex. The lowest vertex takes
/// one that no other of the group can have, or one of those that it shares with certain others;
/// target vertices shared by the same set are alike, so one of each set is tried.
fn place(
    group: u128,
    own: &[u64],
    shared: &mut [(u128, u64)],
    meter: &mut Meter<'_>,
) -> Option<u128> {
    let first = group & group.wrapping_neg();
    let rest = group & !first;
    // Target vertices that the rest of the group can have too must be taken away from it if `first`
    // takes one; the others are a factor.
    let contested = |who: u128| who & rest != 0;
    let uncontested = shared
        .iter()
        .filter(|(who, _)| who & first != 0 && !contested(*who));
    let free =
        own[first.trailing_zeros() as usize] + uncontested.map(|(_, size)| size).sum::<u64>();
    let free = u128::from(free);
    if rest == 0 {
        return Some(free);
    }
    if !meter.node() {
        return None;
    }
    let mut ways = if free == 0 {
        0
    } else {
        free.saturating_mul(product(rest, own, shared, meter)?)
    };
    // Take one target vertex of a set away, count the rest, and put it back.
    for i in 0..shared.len() {
        let (who, size) = shared[i];
        if who & first == 0 || !contested(who) || size == 0 {
            continue;
        }
        shared[i].1 -= 1;
        let others = product(rest, own, shared, meter);
        shared[i].1 += 1;
        ways = ways.saturating_add(others?.saturating_mul(size.into()));
    }
    Some(ways)
}
