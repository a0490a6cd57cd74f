//! The walk through the tree of partial matches.
//!
//! Placing a vertex narrows the candidates of all later neighbours at once (forward checking). Each
//! later step keeps several sets side by side: the candidates that its first placed neighbour
//! leaves, those that its first two leave, and so on. So nothing needs to be restored when the walk
//! goes back.
//!
//! If a step has no candidate left and no match was found below it, the walk goes back to the
//! latest step that contributed to the failure, not just to the step before (conflict-directed
//! backjumping, Prosser 1993).

use super::space::{Rows, Space, SparseStep};
use crate::graph::Graph;
use crate::matching::meter::Meter;

const NOTHING: u32 = u32::MAX;

/// The state of one search.
pub(super) struct SparseCursor<'a> {
    pub(super) space: Space,
    target: &'a Graph,
    induced: bool,
    /// See [`SparseStep::prefixes`].
    prefixes: Vec<u64>,
    frames: Vec<SparseFrame>,
    /// By step, the steps that contributed to its failures, as bits.
    blame: Vec<u64>,
    blame_width: usize,
    /// By target vertex, the step placed there, or [`NOTHING`].
    owner: Vec<u32>,
    /// By target vertex, how many placed steps lie on its neighbours; only for induced matching.
    near_placed: Vec<u32>,
    depth: usize,
    hits: u64,
    over: bool,
}

/// The candidates of a step that were not tried yet.
#[derive(Clone)]
struct SparseFrame {
    /// The target vertex on which the step is placed, or [`NOTHING`].
    now: u32,
    /// The index of the word of candidates in progress; the next field has the bits that are left
    /// of it.
    word: usize,
    open: u64,
    /// The candidates that symmetry conditions leave, as a range of places in the domain.
    range: (usize, usize),
    /// How many matches were found when the step was entered.
    hits: u64,
}

/// Where the walk goes next.
enum CursorMove {
    Down,
    Up,
    Stop,
}

impl<'a> SparseCursor<'a> {
    pub(super) fn new(space: Space, target: &'a Graph, induced: bool) -> Self {
        let n = space.steps.len();
        let blame_width = n.div_ceil(64);
        let frame = SparseFrame {
            now: NOTHING,
            word: 0,
            open: 0,
            range: (0, 0),
            hits: 0,
        };
        let mut prefixes = vec![0; space.prefix_words];
        for step in &space.steps {
            let all = &mut prefixes[step.prefixes..step.prefixes + step.width];
            all.fill(u64::MAX);
            if step.domain.len() % 64 > 0 {
                all[step.width - 1] = (1 << (step.domain.len() % 64)) - 1;
            }
        }
        let mut cursor = Self {
            target,
            induced,
            prefixes,
            frames: vec![frame; n],
            blame: vec![0; n * blame_width],
            blame_width,
            owner: vec![NOTHING; target.len()],
            near_placed: if induced {
                vec![0; target.len()]
            } else {
                Vec::new()
            },
            depth: 0,
            hits: 0,
            over: n == 0,
            space,
        };
        if n > 0 {
            cursor.enter(0);
        }
        cursor
    }

    /// Goes on to the next placement of the first `floor` steps. Returns false if there is none, or
    /// if the meter reached a limit.
    pub(super) fn next(&mut self, floor: usize, meter: &mut Meter<'_>) -> bool {
        if floor == 0 {
            return !std::mem::replace(&mut self.over, true);
        }
        if self.depth == floor {
            self.depth -= 1;
        }
        while !self.over {
            match self.place(meter) {
                CursorMove::Down => {
                    self.depth += 1;
                    if self.depth == floor {
                        self.hits += 1;
                        return true;
                    }
                    self.enter(self.depth);
                }
                CursorMove::Up => self.retreat(),
                CursorMove::Stop => self.over = true,
            }
        }
        false
    }

    /// Writes the target vertex of each pattern vertex into `images`.
    pub(super) fn fill(&self, images: &mut [u32]) {
        for (step, frame) in self.space.steps.iter().zip(&self.frames) {
            images[step.vertex as usize] = frame.now;
        }
    }

    /// Calls `f` with every target vertex that step `i` can have now.
    pub(super) fn candidates(&self, i: usize, mut f: impl FnMut(u32)) {
        let step = &self.space.steps[i];
        let range = self.range(step);
        let at = step.last_prefix();
        for (word, &bits) in self.prefixes[at..at + step.width].iter().enumerate() {
            let mut open = bits & between(range, word);
            while open != 0 {
                let v = step.domain[word * 64 + open.trailing_zeros() as usize];
                open &= open - 1;
                if self.fits(step, v) {
                    f(v);
                }
            }
        }
    }

    /// Prepares a step whose earlier steps are placed.
    fn enter(&mut self, depth: usize) {
        let step = &self.space.steps[depth];
        let range = self.range(step);
        let open = self.prefixes[step.last_prefix()] & between(range, 0);
        self.frames[depth] = SparseFrame {
            now: NOTHING,
            word: 0,
            open,
            range,
            hits: self.hits,
        };
        // Its earlier neighbours and the steps it is compared with narrowed its candidates, so they
        // share in every failure.
        let blame = &mut self.blame[depth * self.blame_width..][..self.blame_width];
        blame.fill(0);
        for &u in step.near.iter().chain(&step.above).chain(&step.below) {
            set(blame, u);
        }
    }

    /// The candidates that symmetry conditions leave. Domains are ascending, so they are a range.
    fn range(&self, step: &SparseStep) -> (usize, usize) {
        let at = |u: &u32| self.frames[*u as usize].now;
        let first = step
            .above
            .iter()
            .map(at)
            .max()
            .map_or(0, |low| step.domain.partition_point(|&v| v <= low));
        let end = step.below.iter().map(at).min();
        (
            first,
            end.map_or(step.domain.len(), |high| {
                step.domain.partition_point(|&v| v < high)
            }),
        )
    }

    /// Tries candidates of the present step until one leaves every later neighbour a candidate.
    fn place(&mut self, meter: &mut Meter<'_>) -> CursorMove {
        let depth = self.depth;
        self.lift(depth);
        while let Some(i) = self.pop(depth) {
            let step = &self.space.steps[depth];
            let v = step.domain[i];
            if !self.fits(step, v) {
                self.blame_for(depth, v);
                continue;
            }
            if !meter.node() {
                return CursorMove::Stop;
            }
            if self.forward(depth, i) {
                self.put(depth, v);
                return CursorMove::Down;
            }
        }
        CursorMove::Up
    }

    /// Takes the next candidate of a step: its place in the domain.
    fn pop(&mut self, depth: usize) -> Option<usize> {
        let step = &self.space.steps[depth];
        let frame = &mut self.frames[depth];
        while frame.open == 0 {
            frame.word += 1;
            if frame.word >= step.width {
                return None;
            }
            frame.open =
                self.prefixes[step.last_prefix() + frame.word] & between(frame.range, frame.word);
        }
        let bit = frame.open.trailing_zeros() as usize;
        frame.open &= frame.open - 1;
        Some(frame.word * 64 + bit)
    }

    /// Whether a target vertex is free and, for induced matching, next to no more placed steps than
    /// the pattern vertex. It is next to all of these already, so the numbers decide.
    fn fits(&self, step: &SparseStep, v: u32) -> bool {
        self.owner[v as usize] == NOTHING
            && (!self.induced || self.near_placed[v as usize] as usize == step.near.len())
    }

    /// Narrows the candidates of later neighbours; false if one of them has none left.
    fn forward(&mut self, depth: usize, i: usize) -> bool {
        for forward in &self.space.steps[depth].forward {
            let later = &self.space.steps[forward.to as usize];
            let width = later.width;
            let from = later.prefixes + forward.nth as usize * width;
            let (before, after) = self.prefixes[from..from + 2 * width].split_at_mut(width);
            let any = match forward.rows {
                Rows::Bits(first) => and(
                    before,
                    &self.space.rows[first + i * width..][..width],
                    after,
                ),
                Rows::Lists(first) => {
                    let ends = &self.space.list_starts[first + i..][..2];
                    pick(before, &self.space.lists[ends[0]..ends[1]], after)
                }
            };
            if !any {
                // The neighbours placed before narrowed the later step too, so they share the
                // blame.
                let blame = &mut self.blame[depth * self.blame_width..][..self.blame_width];
                later.near[..forward.nth as usize]
                    .iter()
                    .for_each(|&u| set(blame, u));
                return false;
            }
        }
        true
    }

    /// Places a step.
    fn put(&mut self, depth: usize, v: u32) {
        self.frames[depth].now = v;
        self.owner[v as usize] = depth as u32;
        if self.induced {
            self.target
                .neighbours(v)
                .iter()
                .for_each(|&w| self.near_placed[w as usize] += 1);
        }
    }

    /// Takes a step off its target vertex, if it is placed.
    fn lift(&mut self, depth: usize) {
        let v = std::mem::replace(&mut self.frames[depth].now, NOTHING);
        if v == NOTHING {
            return;
        }
        self.owner[v as usize] = NOTHING;
        if self.induced {
            self.target
                .neighbours(v)
                .iter()
                .for_each(|&w| self.near_placed[w as usize] -= 1);
        }
    }

    /// Notes the steps because of which this step does not fit on `v`: the one placed there, or,
    /// for induced matching, those placed next to it.
    fn blame_for(&mut self, depth: usize, v: u32) {
        let blame = &mut self.blame[depth * self.blame_width..][..self.blame_width];
        let owner = self.owner[v as usize];
        if owner != NOTHING {
            set(blame, owner);
            return;
        }
        for &w in self.target.neighbours(v) {
            let owner = self.owner[w as usize];
            if owner != NOTHING {
                set(blame, owner);
            }
        }
    }

    /// Goes back from a step without candidates.
    fn retreat(&mut self) {
        let failed = self.depth;
        // Below a match no step is to blame: other candidates of the step before may match as well.
        let back = if self.hits > self.frames[failed].hits {
            failed.checked_sub(1)
        } else {
            self.latest(failed)
        };
        let Some(back) = back else {
            self.over = true;
            return;
        };
        for depth in back + 1..failed {
            self.lift(depth);
        }
        // The step gone back to inherits the blame: if it fails too, the same earlier steps are
        // why.
        let (earlier, own) = self.blame.split_at_mut(failed * self.blame_width);
        let heir = &mut earlier[back * self.blame_width..][..self.blame_width];
        heir.iter_mut()
            .zip(own)
            .for_each(|(heir, bits)| *heir |= *bits);
        heir[back / 64] &= !(1 << (back % 64));
        self.depth = back;
    }

    /// The latest step to blame for the failure of this one.
    fn latest(&self, failed: usize) -> Option<usize> {
        let blame = &self.blame[failed * self.blame_width..][..self.blame_width];
        let word = blame.iter().rposition(|&word| word != 0)?;
        Some(word * 64 + blame[word].ilog2() as usize)
    }
}

/// Writes `before & row` into `after`; true if anything is left.
fn and(before: &[u64], row: &[u64], after: &mut [u64]) -> bool {
    let mut any = 0;
    for ((after, before), row) in after.iter_mut().zip(before).zip(row) {
        *after = before & row;
        any |= *after;
    }
    any != 0
}

/// Does what [`and`] does, for a row that is a list of places.
fn pick(before: &[u64], row: &[u32], after: &mut [u64]) -> bool {
    let mut any = false;
    after.fill(0);
    for &i in row
        .iter()
        .filter(|&&i| before[i as usize / 64] >> (i % 64) & 1 == 1)
    {
        set(after, i);
        any = true;
    }
    any
}

fn set(bits: &mut [u64], i: u32) {
    bits[i as usize / 64] |= 1 << (i % 64);
}

/// The bits of a word whose places lie in a range.
fn between((first, end): (usize, usize), word: usize) -> u64 {
    let below = |i: usize| match i.saturating_sub(word * 64) {
        n @ 0..64 => (1u64 << n) - 1,
        _ => u64::MAX,
    };
    below(end) & !below(first)
}
