//! Counting the last vertices without placing them.

use super::cursor::Cursor;
use crate::matching::meter::Meter;

/// Scratch memory for counting.
pub(super) struct Tail {
    /// By target vertex, its place in `members`, if that is of it.
    slot: Vec<u32>,
    /// Target vertices that a last vertex can have, with all the last vertices that can.
    members: Vec<(u32, u128)>,
    /// By last vertex, how many target vertices it alone can have.
    own: Vec<u64>,
    /// Target vertices that the same last vertices can have, two or more of them: who, and how many.
    shared: Vec<(u128, u64)>,
}

impl Tail {
    pub(super) fn new(vertices: usize) -> Self {
        Self { slot: vec![0; vertices], members: Vec::new(), own: Vec::new(), shared: Vec::new() }
    }

    /// In how many ways the vertices after the core can be placed, none where another is; saturates. None if `meter` says
    /// stop.
    ///
    /// They are not joined to each other, so only target vertices that several can have matter: vertices without any are
    /// a factor each, and so is each group of vertices that share some.
    pub(super) fn ways(&mut self, cursor: &Cursor<'_>, meter: &mut Meter<'_>) -> Option<u128> {
        let core = cursor.space.core;
        let last = cursor.space.steps.len() - core;
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
        let all = if last == u128::BITS as usize { u128::MAX } else { (1 << last) - 1 };
        product(all, &self.own, &mut self.shared, meter)
    }

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
        self.shared.sort_unstable();
        self.shared.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }
}

/// In how many ways the vertices of `left` get a target vertex each, group by group.
fn product(mut left: u128, own: &[u64], shared: &mut [(u128, u64)], meter: &mut Meter<'_>) -> Option<u128> {
    let mut ways = 1u128;
    while left != 0 && ways != 0 {
        let group = joined(left & left.wrapping_neg(), left, shared);
        ways = ways.saturating_mul(place(group, own, shared, meter)?);
        left &= !group;
    }
    Some(ways)
}

/// All vertices of `among` that share target vertices with these, directly or not.
fn joined(mut group: u128, among: u128, shared: &[(u128, u64)]) -> u128 {
    loop {
        let touching = shared.iter().filter(|(who, size)| who & group != 0 && *size > 0);
        let more = touching.fold(group, |group, (who, _)| group | who & among);
        if more == group {
            return group;
        }
        group = more;
    }
}

/// The same for one group: the lowest of them takes a target vertex of its own, or one of those that it shares with the
/// same others, which are all alike.
fn place(group: u128, own: &[u64], shared: &mut [(u128, u64)], meter: &mut Meter<'_>) -> Option<u128> {
    let first = group & group.wrapping_neg();
    let rest = group & !first;
    let contested = |who: u128| who & rest != 0;
    let uncontested = shared.iter().filter(|(who, _)| who & first != 0 && !contested(*who));
    let free = own[first.trailing_zeros() as usize] + uncontested.map(|(_, size)| size).sum::<u64>();
    let free = u128::from(free);
    if rest == 0 {
        return Some(free);
    }
    if !meter.node() {
        return None;
    }
    let mut ways = if free == 0 { 0 } else { free.saturating_mul(product(rest, own, shared, meter)?) };
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
