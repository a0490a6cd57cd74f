//! The edges of one call. Its arguments are evaluated for each rank, and for each iteration of the
//! loops around it.

use std::collections::BTreeSet;

use super::expr::{Expr, Language};
use super::kinds::{Communication, Library, Role, SourceCall};
use super::names::{is_split, last};
use super::program::{Binding, CallSite, CodeFrame, CodePlace, FrameKind, SourceProgram};
use super::value::{self, Evaluator, GridNeighbour, SourceValue, neighbour};
use crate::algorithm::Algorithm;

/// The most iterations of a loop that are evaluated.
const ROUNDS: i64 = 4096;

/// How many assignments in a row are followed from a communicator to the call that made it.
const NAMES: u32 = 8;

pub(super) type EdgeSet = BTreeSet<(u16, u16)>;

/// The contribution of one call to the application graph.
pub(super) enum CallOutcome {
    /// All edges of a shape; the text is its name for people.
    Shape(String, CallShape),
    /// These edges.
    Pairs(EdgeSet),
    /// No edges: the call communicates only with ranks that do not exist, such as this one.
    Outside(i64),
    /// No edges, for this reason.
    Nothing(&'static str),
    /// A receive from any source. The calls that send have its edges.
    Senders,
    /// A call within a group of ranks. Parallel settings may define the group.
    Group,
    /// Replicas of a model. Parallel settings may define their number.
    Copies,
    /// The source does not determine the edges, for this reason.
    Undecided(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallShape {
    AllReduce(Algorithm),
    Ring,
    Chain,
    AllToAll,
    Tree(usize),
    Star(usize),
}

/// One call, and the context in which its edges are derived.
pub(super) struct CallContext<'w> {
    pub(super) program: &'w SourceProgram,
    pub(super) site: &'w CallSite,
    pub(super) ranks: usize,
    pub(super) algorithm: Algorithm,
    /// The remaining number of evaluation steps.
    pub(super) fuel: u32,
}

impl CallContext<'_> {
    pub(super) fn outcome(&mut self, call: &SourceCall) -> CallOutcome {
        match &call.role {
            Role::Collective { root, group } => {
                self.collective(call, root.as_ref(), group.as_ref())
            }
            Role::Peers { peers, group } => self.peers(call, peers, group.as_ref()),
            Role::Devices(from, to) => self.devices(|evaluator, place| {
                Some((evaluator.int(from, place)?, evaluator.int(to, place)?))
            }),
            Role::Access(peer) => self.devices(|evaluator, place| {
                Some((evaluator.device(place)?, evaluator.int(peer, place)?))
            }),
            Role::Grid(grid) => self.grid(grid),
            Role::Unclear(why) => CallOutcome::Undecided((*why).to_owned()),
            Role::Ranks(_) => CallOutcome::Nothing("sets the number of ranks"),
            Role::InGroups => CallOutcome::Group,
            Role::DataParallel => CallOutcome::Copies,
            // `proposal.rs` combines these settings with others.
            Role::Degrees(..) | Role::Mesh { .. } => CallOutcome::Nothing("a setting"),
        }
    }

    fn evaluator(&self) -> Evaluator<'_> {
        let evaluator = Evaluator::new(self.program, Some(self.ranks as i64));
        evaluator.fuel.set(evaluator.fuel.get().min(self.fuel));
        evaluator
    }

    /// Whether the call runs on a communicator with only some of the ranks.
    fn is_group(&self, group: Option<&Expr>, library: Library) -> bool {
        // In PyTorch, a call without a group is one of all ranks. Calls of other libraries always
        // name a communicator.
        if library == Library::Torch {
            return group.is_some();
        }
        let mut values = self
            .site
            .arguments
            .iter()
            .map(|(_, value)| value)
            .chain(group);
        values.any(|value| self.is_of_some(value, NAMES))
    }

    /// Whether a value is a communicator with only some of the ranks: one that was made by
    /// splitting, one that NCCL made for another number of ranks, or a copy of such a one. Follows
    /// at most `names` copies.
    fn is_of_some(&self, value: &Expr, names: u32) -> bool {
        let Some(path) = value.path().filter(|_| names > 0) else {
            return false;
        };
        self.program
            .bindings
            .get(path)
            .into_iter()
            .flatten()
            .any(|binding| {
                is_split(&binding.value)
                    || self.is_small(binding)
                    || self.is_of_some(&binding.value, names - 1)
            })
    }

    /// Whether a binding is an NCCL communicator whose number of ranks is known and differs from
    /// that of the job.
    fn is_small(&self, binding: &Binding) -> bool {
        let Expr::Call(call, arguments) = &binding.value else {
            return false;
        };
        let ranks = arguments
            .get(1)
            .filter(|_| last(call).starts_with("ncclCommInitRank"));
        let ranks = ranks.and_then(|(_, ranks)| self.evaluator().int(ranks, binding.place));
        ranks.is_some_and(|ranks| ranks != self.ranks as i64)
    }

    fn collective(
        &mut self,
        call: &SourceCall,
        root: Option<&Expr>,
        group: Option<&Expr>,
    ) -> CallOutcome {
        if call.kind == Communication::Barrier {
            return CallOutcome::Nothing("carries no data");
        }
        if !self.runs() {
            return CallOutcome::Nothing("never runs");
        }
        if self.is_group(group, call.library) {
            return CallOutcome::Group;
        }
        let root = || {
            let root = self.evaluator().int(root?, self.site.place)?;
            usize::try_from(root).ok().filter(|root| *root < self.ranks)
        };
        // MPI's broadcasts and reductions run on trees, those of other libraries on rings.
        let is_tree = call.library == Library::Mpi;
        let shape = match call.kind {
            Communication::AllReduce => Some(CallShape::AllReduce(self.algorithm)),
            Communication::AllToAll => Some(CallShape::AllToAll),
            Communication::Scan => Some(CallShape::Chain),
            Communication::Broadcast | Communication::Reduce if is_tree => {
                root().map(CallShape::Tree)
            }
            Communication::Gather | Communication::Scatter => root().map(CallShape::Star),
            _ => Some(CallShape::Ring),
        };
        match shape {
            Some(shape) => CallOutcome::Shape(shape.name(), shape),
            None => CallOutcome::Undecided("its root is not known".to_owned()),
        }
    }

    /// Whether any rank runs the call.
    fn runs(&mut self) -> bool {
        let mut runs = false;
        for rank in 0..self.ranks as i64 {
            self.each_round(Some(rank), |_, _| {
                runs = true;
                false
            });
            if runs {
                break;
            }
        }
        runs
    }

    fn peers(&mut self, call: &SourceCall, peers: &[Expr], group: Option<&Expr>) -> CallOutcome {
        // PyTorch numbers peers by their ranks in the whole job, also within a group.
        if call.library != Library::Torch && self.is_group(group, call.library) {
            return CallOutcome::Group;
        }
        let is_any = |peer: &Expr| matches!(peer.path(), Some("MPI_ANY_SOURCE" | "MPI.ANY_SOURCE"));
        let named: Vec<&Expr> = peers.iter().filter(|peer| !is_any(peer)).collect();
        if named.is_empty() {
            return CallOutcome::Senders;
        }
        // An NCCL process with several devices has one communicator for each: `comms[i]` belongs to
        // rank i.
        let expr = match group {
            Some(Expr::Item(sides)) if call.library == Library::Nccl => Some(sides.1.clone()),
            _ => None,
        };
        let mut pairs = EdgeSet::new();
        let (mut runs, mut unknown, mut outside) = (false, false, None);
        let ranks = self.ranks as i64;
        for rank in 0..ranks {
            self.each_round(Some(rank), |evaluator, place| {
                runs = true;
                let own = expr
                    .as_ref()
                    .map_or(Some(rank), |expr| evaluator.int(expr, place));
                for peer in &named {
                    match (own, evaluator.int(peer, place)) {
                        (Some(own), Some(peer)) => {
                            outside = outside.or(Some(peer).filter(|peer| *peer >= ranks));
                            pairs.extend(pair(own, peer, evaluator.size));
                        }
                        _ => unknown = true,
                    }
                }
                !unknown
            });
            if unknown {
                return CallOutcome::Undecided("its peer is not known".to_owned());
            }
        }
        outcome(pairs, runs, outside)
    }

    /// The edges of a call between two devices, which `both` evaluates.
    fn devices(
        &mut self,
        both: impl Fn(&Evaluator<'_>, CodePlace) -> Option<(i64, i64)>,
    ) -> CallOutcome {
        let mut pairs = EdgeSet::new();
        let (mut runs, mut unknown, mut outside) = (false, false, None);
        let all = self.ranks as i64;
        // Most such programs are one process. If the program never reads its rank, evaluation for
        // one rank suffices, because all ranks would give the same edges.
        let reads_rank = self
            .program
            .bindings
            .values()
            .flatten()
            .any(|binding| binding.value == Expr::Rank);
        let is_python = self.program.language == Language::Python;
        let ranks = if reads_rank || is_python {
            self.ranks as i64
        } else {
            1
        };
        for rank in 0..ranks {
            self.each_round(Some(rank), |evaluator, place| {
                runs = true;
                match both(evaluator, place) {
                    Some((from, to)) => {
                        outside = outside.or([from, to].into_iter().find(|device| *device >= all));
                        pairs.extend(pair(from, to, evaluator.size));
                    }
                    None => unknown = true,
                }
                !unknown
            });
            if unknown {
                return CallOutcome::Undecided("its devices are not known".to_owned());
            }
        }
        outcome(pairs, runs, outside)
    }

    fn grid(&mut self, grid: &Expr) -> CallOutcome {
        let value = self.evaluator().any(grid, self.site.place);
        let Some(SourceValue::Grid(extents, closed)) = value else {
            return CallOutcome::Undecided("the extents of its grid are not known".to_owned());
        };
        let ranks = extents
            .iter()
            .try_fold(1_i64, |all, extent| all.checked_mul(*extent));
        if ranks != Some(self.ranks as i64) {
            return CallOutcome::Undecided(format!("its grid is not of {} ranks", self.ranks));
        }
        let mut pairs = EdgeSet::new();
        for rank in 0..self.ranks as i64 {
            for dimension in 0..extents.len() {
                if let Some(GridNeighbour::Rank(next)) =
                    neighbour(&extents, &closed, rank, dimension, 1)
                {
                    pairs.extend(pair(rank, next, Some(self.ranks as i64)));
                }
            }
        }
        CallOutcome::Pairs(pairs)
    }

    /// Calls `round` for each iteration of the loops around the call in which this rank runs it,
    /// until `round` returns false. An unknown condition counts as true.
    fn each_round(
        &mut self,
        rank: Option<i64>,
        mut round: impl FnMut(&Evaluator<'_>, CodePlace) -> bool,
    ) {
        let mut evaluator = self.evaluator();
        evaluator.rank = rank;
        let mut frames: Vec<(usize, &CodeFrame)> =
            self.program.frames_around(self.site.place.frame).collect();
        frames.reverse();
        rounds(&mut evaluator, &frames, self.site.place, &mut round);
        self.fuel = self
            .fuel
            .saturating_sub(value::FUEL.saturating_sub(evaluator.fuel.get()));
    }
}

/// Calls `round` for each iteration of the loops among `frames`, the outermost first. Returns false
/// as soon as `round` does.
fn rounds(
    evaluator: &mut Evaluator<'_>,
    frames: &[(usize, &CodeFrame)],
    place: CodePlace,
    round: &mut impl FnMut(&Evaluator<'_>, CodePlace) -> bool,
) -> bool {
    let Some(((id, frame), rest)) = frames.split_first() else {
        return round(evaluator, place);
    };
    match &frame.what {
        FrameKind::Guard {
            condition,
            holds,
            at,
        } => {
            let place_of_guard = CodePlace {
                scope: place.scope,
                frame: frame.parent,
                at: *at,
            };
            match evaluator.int(condition, place_of_guard) {
                Some(value) if (value != 0) != *holds => true,
                _ => rounds(evaluator, rest, place, round),
            }
        }
        FrameKind::Repeat(_) | FrameKind::While { .. } => rounds(evaluator, rest, place, round),
        FrameKind::Loop { .. } => repeat(evaluator, (*id, frame), rest, place, round),
    }
}

/// Evaluates a loop iteration by iteration. As soon as its variable is unknown, one further
/// iteration with an unknown value stands for all that remain.
fn repeat(
    evaluator: &mut Evaluator<'_>,
    (id, frame): (usize, &CodeFrame),
    rest: &[(usize, &CodeFrame)],
    place: CodePlace,
    round: &mut impl FnMut(&Evaluator<'_>, CodePlace) -> bool,
) -> bool {
    let FrameKind::Loop {
        variable,
        first,
        going,
        next,
        at,
        updated_at,
    } = &frame.what
    else {
        return true;
    };
    let program = evaluator.program;
    // By assignment to the variable in the loop: whether it is the loop's own update. Any other
    // assignment, or a second update, makes the variable unknown.
    let changes: Vec<bool> = program
        .bound_in(place.scope, variable)
        .filter(|binding| program.is_within(binding.place.frame, id))
        .map(|binding| binding.place.at == *updated_at && binding.place.frame == Some(id))
        .collect();
    let is_changed = changes.contains(&false) || changes.len() > 1;
    let before = CodePlace {
        scope: place.scope,
        frame: frame.parent,
        at: *at,
    };
    let within = CodePlace {
        frame: Some(id),
        at: *at,
        ..before
    };
    let mut value = if is_changed {
        None
    } else {
        evaluator.int(first, before)
    };
    for _ in 0..ROUNDS {
        let Some(own) = value else { break };
        evaluator.loops.push((id, own));
        let going = evaluator.int(going, within);
        let goes_on = going.is_none_or(|going| going == 0) || rounds(evaluator, rest, place, round);
        let is_left = going.is_some() && is_left(evaluator, id);
        value = evaluator
            .int(
                next,
                CodePlace {
                    at: *updated_at,
                    ..within
                },
            )
            .filter(|_| going.is_some());
        evaluator.loops.pop();
        if !goes_on || going == Some(0) || is_left {
            return goes_on;
        }
    }
    rounds(evaluator, rest, place, round)
}

/// Whether a `break` or `return` certainly ends the loop in the current iteration.
fn is_left(evaluator: &Evaluator<'_>, id: usize) -> bool {
    let program = evaluator.program;
    let own = |is_continue| {
        let jumps = program
            .jumps
            .iter()
            .filter(move |jump| jump.is_continue == is_continue);
        jumps.filter(|jump| program.is_within(jump.place.frame, id))
    };
    // A `continue` may skip the `break`.
    if own(true).next().is_some() {
        return false;
    }
    own(false).any(|jump| {
        let mut frames = program.frames_around(jump.place.frame);
        let mut holds = true;
        let found = frames.by_ref().find(|(loop_id, frame)| {
            holds &= *loop_id == id || is_met(evaluator, frame, jump.place);
            *loop_id == id
        });
        holds && found.is_some()
    })
}

/// Whether a frame is a condition that is known to hold.
fn is_met(evaluator: &Evaluator<'_>, frame: &CodeFrame, place: CodePlace) -> bool {
    match &frame.what {
        FrameKind::Guard {
            condition,
            holds,
            at,
        } => {
            let value = evaluator.int(
                condition,
                CodePlace {
                    scope: place.scope,
                    frame: frame.parent,
                    at: *at,
                },
            );
            value.is_some_and(|value| (value != 0) == *holds)
        }
        _ => false,
    }
}

/// The outcome for these pairs; another one if the call never runs, or if it has no pairs and names
/// a rank outside the job.
fn outcome(pairs: EdgeSet, runs: bool, outside: Option<i64>) -> CallOutcome {
    match outside.filter(|_| pairs.is_empty()) {
        _ if !runs => CallOutcome::Nothing("never runs"),
        Some(rank) => CallOutcome::Outside(rank),
        None => CallOutcome::Pairs(pairs),
    }
}

/// The edge between two numbers, the smaller first. None if they are equal, or if one of them is
/// not a rank of the job.
fn pair(a: i64, b: i64, size: Option<i64>) -> Option<(u16, u16)> {
    let is_rank = |rank: i64| (0..size.unwrap_or(i64::from(u16::MAX))).contains(&rank);
    let both = (is_rank(a) && is_rank(b) && a != b).then(|| (a.min(b), a.max(b)))?;
    Some((u16::try_from(both.0).ok()?, u16::try_from(both.1).ok()?))
}

impl CallShape {
    pub(super) fn name(self) -> String {
        match self {
            Self::AllReduce(Algorithm::Ring) | Self::Ring => "ring".to_owned(),
            Self::AllReduce(Algorithm::Tree) => "tree".to_owned(),
            Self::AllReduce(Algorithm::Both) => "ring and tree".to_owned(),
            Self::Chain => "chain".to_owned(),
            Self::AllToAll => "all-to-all".to_owned(),
            Self::Tree(root) => format!("tree from {root}"),
            Self::Star(root) => format!("star around {root}"),
        }
    }
}
