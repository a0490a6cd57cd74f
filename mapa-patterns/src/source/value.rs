//! The evaluator: the value of an expression for one rank of a job.
//!
//! The evaluator understands
//!
//! - literals;
//! - constants of the same file: `#define`, `const`, `enum`, assignments of a module;
//! - variables of a function: each has the value of the last assignment before its use, if the
//!   conditions around the assignment can be decided for this rank;
//! - variables of loops over ranges;
//! - the rank and the number of ranks, as MPI, NCCL, torch.distributed and launchers provide them;
//! - grids of MPI and their neighbours.
//!
//! Anything else makes the value unknown: parameters of functions, results of other functions,
//! input.

use std::cell::Cell;

use super::expr::{Argument, Expr, Language, Operator};
use super::names::{DEVICE, is_grid, is_split, last};
use super::program::{Binding, CodePlace, FrameKind, SourceProgram};

/// The most steps of an evaluation.
pub(super) const FUEL: u32 = 400_000;
/// The most nested values, such as a variable whose value is another variable.
const DEPTH: u32 = 48;

/// Parameters with these names are the rank, by convention.
const RANKS: [&str; 6] = [
    "rank",
    "my_rank",
    "myrank",
    "world_rank",
    "global_rank",
    "local_rank",
];
/// Parameters with these names are the number of ranks, by convention.
const SIZES: [&str; 10] = [
    "size",
    "world_size",
    "worldsize",
    "nranks",
    "n_ranks",
    "num_ranks",
    "nprocs",
    "num_procs",
    "comm_size",
    "num_gpus",
];

#[derive(Clone, Debug, PartialEq)]
pub(super) enum SourceValue {
    Int(i64),
    Text(String),
    List(Vec<SourceValue>),
    /// A Cartesian grid of MPI: its extents, and by dimension whether the grid is periodic.
    Grid(Vec<i64>, Vec<bool>),
}

impl SourceValue {
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Self::List(values) => values.iter().map(Self::int).collect(),
            _ => None,
        }
    }
}

/// Evaluates expressions for one rank and one iteration of the loops around them.
pub(super) struct Evaluator<'p> {
    pub(super) program: &'p SourceProgram,
    pub(super) rank: Option<i64>,
    /// The number of ranks, if known.
    pub(super) size: Option<i64>,
    /// The frames of loops, with the current values of their variables.
    pub(super) loops: Vec<(usize, i64)>,
    /// The remaining number of evaluation steps.
    pub(super) fuel: Cell<u32>,
}

impl<'p> Evaluator<'p> {
    pub(super) fn new(program: &'p SourceProgram, size: Option<i64>) -> Self {
        Self {
            program,
            rank: None,
            size,
            loops: Vec::new(),
            fuel: Cell::new(FUEL),
        }
    }

    pub(super) fn int(&self, expr: &Expr, place: CodePlace) -> Option<i64> {
        self.value(expr, place, DEPTH)?.int()
    }

    pub(super) fn any(&self, expr: &Expr, place: CodePlace) -> Option<SourceValue> {
        self.value(expr, place, DEPTH)
    }

    fn value(&self, expr: &Expr, place: CodePlace, depth: u32) -> Option<SourceValue> {
        let depth = depth.checked_sub(1)?;
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        match expr {
            Expr::Int(value) => Some(SourceValue::Int(*value)),
            Expr::Text(text) => Some(SourceValue::Text(text.clone())),
            Expr::Rank => self.rank.map(SourceValue::Int),
            Expr::Size => self.size.map(SourceValue::Int),
            Expr::Unknown => None,
            Expr::List(elements) => elements
                .iter()
                .map(|element| self.value(element, place, depth))
                .collect::<Option<_>>()
                .map(SourceValue::List),
            Expr::If(parts) => {
                let holds = self.value(&parts.0, place, depth)?.int()? != 0;
                self.value(if holds { &parts.1 } else { &parts.2 }, place, depth)
            }
            Expr::Unary(operator, value) => {
                let value = self.value(value, place, depth)?.int()?;
                Some(SourceValue::Int(match operator {
                    Operator::Subtract => value.checked_neg()?,
                    Operator::Add => value,
                    Operator::Not => i64::from(value == 0),
                    Operator::Invert => !value,
                    _ => return None,
                }))
            }
            Expr::Binary(operator, sides) => {
                self.binary(*operator, &sides.0, &sides.1, place, depth)
            }
            Expr::Item(sides) => self.item(&sides.0, &sides.1, place, depth),
            Expr::Call(call, arguments) => self.call(call, arguments, place, depth),
            Expr::Name(name) => self.name(name, place, depth),
        }
    }

    fn binary(
        &self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        place: CodePlace,
        depth: u32,
    ) -> Option<SourceValue> {
        let side = |side| self.value(side, place, depth);
        // One known side may decide `a && b` or `a || b`, even if the other is unknown.
        if matches!(operator, Operator::Both | Operator::Either) {
            let decisive = i64::from(operator == Operator::Either);
            let truths = [left, right].map(|s| {
                side(s)
                    .and_then(|value| value.int())
                    .map(|value| i64::from(value != 0))
            });
            return match truths {
                [Some(left), _] if left == decisive => Some(SourceValue::Int(decisive)),
                [_, Some(right)] if right == decisive => Some(SourceValue::Int(decisive)),
                [Some(_), Some(_)] => Some(SourceValue::Int(1 - decisive)),
                _ => None,
            };
        }
        let (left, right) = (side(left)?, side(right)?);
        if let (SourceValue::Text(left), SourceValue::Text(right)) = (&left, &right) {
            return match operator {
                Operator::Equal => Some(SourceValue::Int(i64::from(left == right))),
                Operator::Unequal => Some(SourceValue::Int(i64::from(left != right))),
                _ => None,
            };
        }
        arithmetic(operator, left.int()?, right.int()?, self.program.language).map(SourceValue::Int)
    }

    fn item(&self, list: &Expr, index: &Expr, place: CodePlace, depth: u32) -> Option<SourceValue> {
        if is_environment(list) {
            return match index {
                Expr::Text(name) => self.environment(name),
                _ => None,
            };
        }
        let index = self.value(index, place, depth)?.int()?;
        match list {
            Expr::Call(call, arguments)
                if last(call) == "MPI_Cart_shift" || last(call) == "Shift" =>
            {
                self.shift(call, arguments, index, place, depth)
                    .map(SourceValue::Int)
            }
            _ => match self.value(list, place, depth)? {
                SourceValue::List(values) => {
                    let index = if index < 0 {
                        index.checked_add(values.len() as i64)?
                    } else {
                        index
                    };
                    values.get(usize::try_from(index).ok()?).cloned()
                }
                _ => None,
            },
        }
    }

    /// The peer of this rank in a shift on a grid: the source if `end` is 0, else the destination.
    /// -2, the value used for `MPI_PROC_NULL`, if the shift leaves a grid that is not periodic.
    fn shift(
        &self,
        call: &str,
        arguments: &[Argument],
        end: i64,
        place: CodePlace,
        depth: u32,
    ) -> Option<i64> {
        let (grid, rest) = match call.strip_suffix(".Shift") {
            Some(grid) => (Expr::Name(grid.to_owned()), arguments),
            None => (arguments.first()?.1.clone(), arguments.get(1..)?),
        };
        let SourceValue::Grid(extents, closed) = self.grid(&grid, place, depth)? else {
            return None;
        };
        let number = |index: usize| self.value(&rest.get(index)?.1, place, depth)?.int();
        let (dimension, by) = (usize::try_from(number(0)?).ok()?, number(1)?);
        let by = if end == 0 { by.checked_neg()? } else { by };
        let to = neighbour(&extents, &closed, self.rank?, dimension, by)?;
        Some(to.rank().unwrap_or(-2))
    }

    /// The grid of a communicator; if it is unknown, the only grid in the file.
    fn grid(&self, communicator: &Expr, place: CodePlace, depth: u32) -> Option<SourceValue> {
        if let Some(grid @ SourceValue::Grid(..)) = self.value(communicator, place, depth) {
            return Some(grid);
        }
        let is_grid =
            |binding: &&Binding| matches!(&binding.value, Expr::Call(call, _) if is_grid(call));
        let mut grids = self.program.bindings.values().flatten().filter(is_grid);
        match (grids.next(), grids.next()) {
            (Some(only), None) => self.value(&only.value, only.place, depth),
            _ => None,
        }
    }

    /// The value of a call of a function that is known by name.
    // Long, since it is one match with an arm for each function.
    fn call(
        &self,
        call: &str,
        arguments: &[Argument],
        place: CodePlace,
        depth: u32,
    ) -> Option<SourceValue> {
        let argument = |index: usize, name: &str| {
            let named = arguments
                .iter()
                .find(|(keyword, _)| keyword.as_deref() == Some(name));
            named
                .or_else(|| {
                    arguments
                        .get(index)
                        .filter(|(keyword, _)| keyword.is_none())
                })
                .map(|(_, value)| value)
        };
        let values = |index: usize, name: &str| {
            argument(index, name)
                .and_then(|list| self.value(list, place, depth))
                .and_then(|list| list.ints())
        };
        let of_all = arguments.is_empty();
        match last(call) {
            "int" | "atoi" | "tuple" | "list" => self.value(argument(0, "x")?, place, depth),
            "len" => match self.value(argument(0, "obj")?, place, depth)? {
                SourceValue::List(values) => Some(SourceValue::Int(values.len() as i64)),
                _ => None,
            },
            "getenv" | "get" if call == "getenv" || call == "std.getenv" || is_getter(call) => {
                match argument(0, "key")? {
                    Expr::Text(name) => self.environment(name),
                    _ => None,
                }
            }
            "min" | "max" => {
                let values = arguments
                    .iter()
                    .map(|(_, value)| self.value(value, place, depth)?.int());
                let values = values.collect::<Option<Vec<_>>>()?;
                let best = if last(call) == "min" {
                    values.into_iter().min()
                } else {
                    values.into_iter().max()
                };
                best.map(SourceValue::Int)
            }
            "get_rank" | "Get_rank" | "rank" | "process_index" | "get_global_rank"
                if of_all && self.is_world(call) =>
            {
                self.rank.map(SourceValue::Int)
            }
            "get_world_size" | "Get_size" | "size" | "device_count" | "process_count"
            | "getDeviceCount"
                if of_all && self.is_world(call) =>
            {
                self.size.map(SourceValue::Int)
            }
            "MPI_Cart_create" => {
                let closed = values(3, "")?
                    .into_iter()
                    .map(|closed| closed != 0)
                    .collect();
                Some(SourceValue::Grid(values(2, "")?, closed))
            }
            "Create_cart" => {
                let extents = values(0, "dims")?;
                let closed = match argument(1, "periods") {
                    Some(_) => values(1, "periods")?
                        .into_iter()
                        .map(|closed| closed != 0)
                        .collect(),
                    None => vec![false; extents.len()],
                };
                Some(SourceValue::Grid(extents, closed))
            }
            "MPI_Dims_create" | "Compute_dims" => {
                let nodes = self.value(argument(0, "nnodes")?, place, depth)?.int()?;
                let dims =
                    match argument(1, "dims").and_then(|dims| self.value(dims, place, depth))? {
                        SourceValue::Int(dims) => usize::try_from(dims).ok()?,
                        SourceValue::List(zeros)
                            if zeros.iter().all(|zero| *zero == SourceValue::Int(0)) =>
                        {
                            zeros.len()
                        }
                        _ => return None,
                    };
                balanced(nodes, dims)
                    .map(|dims| SourceValue::List(dims.into_iter().map(SourceValue::Int).collect()))
            }
            _ => None,
        }
    }

    /// Whether a call such as `comm.Get_rank()` concerns all ranks, that is, whether `comm` was not
    /// made by splitting.
    fn is_world(&self, call: &str) -> bool {
        let object = call.rsplit_once('.').map_or("", |(object, _)| object);
        !self
            .program
            .bindings
            .get(object)
            .into_iter()
            .flatten()
            .any(|binding| is_split(&binding.value))
    }

    /// The value of an environment variable that launchers set.
    fn environment(&self, name: &str) -> Option<SourceValue> {
        match name {
            "RANK"
            | "LOCAL_RANK"
            | "OMPI_COMM_WORLD_RANK"
            | "OMPI_COMM_WORLD_LOCAL_RANK"
            | "PMI_RANK"
            | "SLURM_PROCID"
            | "MV2_COMM_WORLD_RANK" => self.rank.map(SourceValue::Int),
            "WORLD_SIZE"
            | "LOCAL_WORLD_SIZE"
            | "OMPI_COMM_WORLD_SIZE"
            | "PMI_SIZE"
            | "SLURM_NTASKS" => self.size.map(SourceValue::Int),
            _ => None,
        }
    }

    /// The value of a variable at a place. Looks it up in the loops around the place, in its
    /// function, in the functions around that, and in the file.
    fn name(&self, name: &str, place: CodePlace, depth: u32) -> Option<SourceValue> {
        for (id, frame) in self.program.frames_around(place.frame) {
            match &frame.what {
                FrameKind::Loop {
                    variable,
                    updated_at,
                    ..
                } if variable == name => {
                    let own = self
                        .loops
                        .iter()
                        .find(|(parameter, _)| *parameter == id)
                        .filter(|_| place.at <= *updated_at);
                    return own.map(|(_, value)| SourceValue::Int(*value));
                }
                FrameKind::Repeat(names) if names.contains(name) => return None,
                _ => {}
            }
        }
        let is_module = place.scope == 0 && self.program.language == Language::Python;
        if is_module || self.program.is_local(place.scope, name) {
            return self.within(name, place, depth);
        }
        let mut scope = place.scope;
        while scope != 0 {
            scope = self.program.scopes.get(scope)?.parent;
            if scope != 0 && self.program.is_local(scope, name) {
                return self
                    .only(self.program.bound_in(scope, name).collect(), depth)
                    .or_else(|| self.custom(scope, name));
            }
        }
        let is_own = |binding: &&Binding| {
            name.contains('.') || !self.program.is_local(binding.place.scope, name)
        };
        let bindings = self.program.bindings.get(name).into_iter().flatten();
        let bindings: Vec<_> = bindings
            .filter(|binding| binding.place.scope == 0 || is_own(binding))
            .collect();
        if bindings.is_empty() {
            self.constant(name)
        } else {
            self.only(bindings, depth)
        }
    }

    /// The value of a name that is assigned exactly once, apart from its initial value, and under
    /// no condition.
    fn only(&self, bindings: Vec<&Binding>, depth: u32) -> Option<SourceValue> {
        let is_replaced = bindings.iter().any(|binding| !binding.is_initial);
        let mut bindings = bindings
            .into_iter()
            .filter(|binding| !(is_replaced && binding.is_initial));
        match (bindings.next(), bindings.next()) {
            (Some(only), None) if only.place.frame.is_none() => {
                self.value(&only.value, only.place, depth)
            }
            _ => None,
        }
    }

    /// The value of a variable at a use in its own function: that of the last assignment before the
    /// use which this rank executes.
    fn within(&self, name: &str, place: CodePlace, depth: u32) -> Option<SourceValue> {
        let around: Vec<usize> = self
            .program
            .frames_around(place.frame)
            .map(|(id, _)| id)
            .collect();
        let is_loop = |id: &usize| {
            let what = self.program.frames.get(*id).map(|frame| &frame.what);
            what.is_some_and(FrameKind::is_loop)
        };
        let loops: Vec<usize> = around.iter().copied().filter(is_loop).collect();
        // A function may assign a `global` variable of the file. When it runs is unknown.
        let mut all = self.program.bindings.get(name).into_iter().flatten();
        let is_elsewhere = |binding: &Binding| {
            binding.place.scope != 0 && !self.program.is_local(binding.place.scope, name)
        };
        if place.scope == 0 && !name.contains('.') && all.any(is_elsewhere) {
            return None;
        }
        let mut bindings: Vec<&Binding> = self.program.bound_in(place.scope, name).collect();
        // The update of a `for` loop runs after the body, but stands before it in the text.
        bindings.sort_by_key(|binding| binding.place.at);
        self.fuel
            .set(self.fuel.get().checked_sub(bindings.len() as u32)?);
        // If a loop contains both the use and a later assignment, that assignment also precedes
        // the use, in the next iteration.
        if bindings.iter().any(|binding| {
            binding.place.at >= place.at
                && self
                    .program
                    .frames_around(binding.place.frame)
                    .any(|(id, _)| loops.contains(&id))
        }) {
            return None;
        }
        for binding in bindings
            .iter()
            .rev()
            .filter(|binding| binding.place.at < place.at)
        {
            self.fuel.set(self.fuel.get().checked_sub(1)?);
            match self.applies(binding, &around)? {
                false => continue,
                true if binding.value.mentions(name) && self.is_repeated(binding) => return None,
                true => return self.value(&binding.value, binding.place, depth),
            }
        }
        if bindings.is_empty()
            || self
                .program
                .scopes
                .get(place.scope)
                .is_some_and(|s| s.parameters.contains(name))
        {
            self.custom(place.scope, name)
                .or_else(|| self.constant(name))
        } else {
            None
        }
    }

    /// Whether an assignment is in a loop.
    fn is_repeated(&self, binding: &Binding) -> bool {
        let mut frames = self.program.frames_around(binding.place.frame);
        frames.any(|(_, frame)| frame.what.is_loop())
    }

    /// Whether the conditions around an assignment hold; none if unknown. Conditions that are also
    /// around the use (`around`) are skipped.
    fn applies(&self, binding: &Binding, around: &[usize]) -> Option<bool> {
        let mut is_known = true;
        for (_, frame) in self
            .program
            .frames_around(binding.place.frame)
            .filter(|(id, _)| !around.contains(id))
        {
            if let FrameKind::Guard {
                condition,
                holds,
                at,
            } = &frame.what
            {
                let place = CodePlace {
                    scope: binding.place.scope,
                    frame: frame.parent,
                    at: *at,
                };
                match self.int(condition, place) {
                    Some(value) if (value != 0) != *holds => return Some(false),
                    Some(_) => {}
                    None => is_known = false,
                }
            } else {
                // The loop may run any number of times, or never.
                is_known = false;
            }
        }
        is_known.then_some(true)
    }

    /// The value of a parameter whose name conventionally means the rank or the number of ranks.
    fn custom(&self, scope: usize, name: &str) -> Option<SourceValue> {
        let parameters = &self.program.scopes.get(scope)?.parameters;
        let has_rank = RANKS.iter().any(|rank| parameters.contains(*rank));
        match name {
            _ if !parameters.contains(name) => None,
            // Without a rank beside it, `size` is more often that of a buffer.
            "size" if !has_rank => None,
            name if RANKS.contains(&name) => self.rank.map(SourceValue::Int),
            name if SIZES.contains(&name) => self.size.map(SourceValue::Int),
            _ => None,
        }
    }

    /// The value of a constant of a library or language.
    fn constant(&self, name: &str) -> Option<SourceValue> {
        match name {
            "MPI_PROC_NULL" | "MPI.PROC_NULL" | "MPI_ANY_SOURCE" | "MPI.ANY_SOURCE" => {
                Some(SourceValue::Int(-2))
            }
            "true" | "True" => Some(SourceValue::Int(1)),
            "false" | "False" | "NULL" | "nullptr" => Some(SourceValue::Int(0)),
            "MPI.COMM_WORLD.rank" => self.rank.map(SourceValue::Int),
            "MPI.COMM_WORLD.size" => self.size.map(SourceValue::Int),
            _ => {
                // mpi4py: `comm.rank`, where `comm` is the world.
                let (object, member) = name.rsplit_once('.')?;
                let world = |binding: &Binding| matches!(binding.value.path(), Some(path) if path.ends_with("COMM_WORLD"));
                let is_world = self
                    .program
                    .bindings
                    .get(object)
                    .into_iter()
                    .flatten()
                    .any(world);
                match member {
                    "rank" if is_world => self.rank.map(SourceValue::Int),
                    "size" if is_world => self.size.map(SourceValue::Int),
                    _ => None,
                }
            }
        }
    }

    /// The device that the last `cudaSetDevice` before this place selects.
    pub(super) fn device(&self, place: CodePlace) -> Option<i64> {
        match self
            .program
            .bound_in(place.scope, DEVICE)
            .any(|binding| binding.place.at < place.at)
        {
            true => self.within(DEVICE, place, DEPTH)?.int(),
            false => None,
        }
    }
}

fn is_environment(list: &Expr) -> bool {
    matches!(list.path(), Some("os.environ" | "environ"))
}

fn is_getter(call: &str) -> bool {
    matches!(call, "os.environ.get" | "environ.get" | "os.getenv")
}

fn arithmetic(operator: Operator, left: i64, right: i64, language: Language) -> Option<i64> {
    // Integer division rounds down in Python, and towards zero in C.
    let is_python = language == Language::Python;
    let shift = || u32::try_from(right).ok().filter(|by| *by < 63);
    let truth = |holds: bool| Some(i64::from(holds));
    match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide if is_python => {
            let (quotient, rest) = (left.checked_div(right)?, left.checked_rem(right)?);
            Some(if rest != 0 && (rest < 0) != (right < 0) {
                quotient - 1
            } else {
                quotient
            })
        }
        Operator::Remainder if is_python => {
            let rest = left.checked_rem(right)?;
            Some(if rest != 0 && (rest < 0) != (right < 0) {
                rest + right
            } else {
                rest
            })
        }
        Operator::Divide => left.checked_div(right),
        Operator::Remainder => left.checked_rem(right),
        Operator::Power => left.checked_pow(u32::try_from(right).ok()?),
        Operator::Xor => Some(left ^ right),
        Operator::And => Some(left & right),
        Operator::Or => Some(left | right),
        Operator::Left => left.checked_mul(1_i64.checked_shl(shift()?)?),
        Operator::Right => left.checked_shr(shift()?),
        Operator::Less => truth(left < right),
        Operator::LessEqual => truth(left <= right),
        Operator::Greater => truth(left > right),
        Operator::GreaterEqual => truth(left >= right),
        Operator::Equal => truth(left == right),
        Operator::Unequal => truth(left != right),
        Operator::Both | Operator::Either | Operator::Not | Operator::Invert => None,
    }
}

/// The result of a step on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GridNeighbour {
    /// A rank; the rank itself if the step goes all the way round a periodic dimension.
    Rank(i64),
    /// No rank: the step leaves a dimension that is not periodic.
    Beyond,
}

impl GridNeighbour {
    /// The rank, if there is one.
    pub(super) fn rank(self) -> Option<i64> {
        match self {
            Self::Rank(rank) => Some(rank),
            Self::Beyond => None,
        }
    }
}

/// The neighbour `by` steps along one dimension of a grid. Ranks are numbered with the last
/// dimension fastest. `closed` says for each dimension whether it is periodic. None if the rank or
/// the dimension does not exist, or if an extent is not positive.
pub(super) fn neighbour(
    extents: &[i64],
    closed: &[bool],
    rank: i64,
    dimension: usize,
    by: i64,
) -> Option<GridNeighbour> {
    let extent = *extents.get(dimension).filter(|extent| **extent > 0)?;
    let stride = extents
        .get(dimension + 1..)?
        .iter()
        .try_fold(1_i64, |all, extent| all.checked_mul(*extent))?;
    let all = extents
        .iter()
        .try_fold(1_i64, |all, extent| all.checked_mul(*extent))?;
    if stride < 1 || !(0..all).contains(&rank) {
        return None;
    }
    let own = rank / stride % extent;
    let to = own.checked_add(by)?;
    let wrapped = if *closed.get(dimension)? {
        to.rem_euclid(extent)
    } else {
        to
    };
    Some(if (0..extent).contains(&wrapped) {
        GridNeighbour::Rank(rank + (wrapped - own) * stride)
    } else {
        GridNeighbour::Beyond
    })
}

/// The extents of a grid of `nodes` nodes with `dims` dimensions: as close to each other as
/// possible, the largest first, as `MPI_Dims_create` must choose them (MPI 4.1, section 8.5.2).
/// None for more than 3 dimensions or 65,536 nodes.
fn balanced(nodes: i64, dims: usize) -> Option<Vec<i64>> {
    if !(1..=1 << 16).contains(&nodes) {
        return None;
    }
    let largest = |nodes: i64, most: i64| (1..=most).rev().find(|factor| nodes % factor == 0);
    match dims {
        1 => Some(vec![nodes]),
        2 => {
            let short = largest(nodes, nodes.isqrt())?;
            Some(vec![nodes / short, short])
        }
        3 => {
            let shorts = (1..=nodes)
                .take_while(|short| short * short * short <= nodes)
                .filter(|s| nodes % s == 0);
            let best = shorts.filter_map(|short| {
                let middle = largest(nodes / short, (nodes / short).isqrt())?;
                Some((
                    nodes / short / middle - short,
                    vec![nodes / short / middle, middle, short],
                ))
            });
            best.min().map(|(_, dims)| dims)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_the_language() {
        let of = |language| arithmetic(Operator::Remainder, -1, 4, language);
        assert_eq!((of(Language::C), of(Language::Python)), (Some(-1), Some(3)));
        assert_eq!(
            arithmetic(Operator::Divide, -1, 4, Language::Python),
            Some(-1)
        );
        assert_eq!(arithmetic(Operator::Divide, 1, 0, Language::C), None);
    }

    #[test]
    fn grids_are_numbered_with_the_last_dimension_fastest() {
        let step = |rank, dimension, by| neighbour(&[2, 4], &[false, true], rank, dimension, by);
        assert_eq!(
            [step(0, 0, 1), step(0, 0, -1), step(0, 1, -1)],
            [
                Some(GridNeighbour::Rank(4)),
                Some(GridNeighbour::Beyond),
                Some(GridNeighbour::Rank(3))
            ]
        );
        assert_eq!(step(8, 0, 1), None);
    }

    #[test]
    fn balanced_grids_are_as_square_as_can_be() {
        assert_eq!(
            [balanced(8, 2), balanced(6, 2)],
            [Some(vec![4, 2]), Some(vec![3, 2])]
        );
        assert_eq!(
            [balanced(8, 3), balanced(12, 3)],
            [Some(vec![2, 2, 2]), Some(vec![3, 2, 2])]
        );
        assert_eq!(balanced(7, 1), Some(vec![7]));
    }
}
