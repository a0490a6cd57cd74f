//! Bytes and warps, worked out where the task begins.
//!
//! Arithmetic is cloned to the begin. A load may move up past code that surely does not write what it
//! reads. Where a value differs from path to path or from turn to turn, the largest is taken.

use crate::body::{Body, callee_name, cuda, is_host_allocation, is_variable};
use crate::calls::{self, Call, Size};
use crate::ir::{Builder, LLVMIntPredicate as Is, LLVMOpcode as Op, Type, Value};
use crate::operations::Shape;
use mapa_case_placement::{Point, Site};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A value to be worked out at a begin.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// A value that is there.
    Known(Value),
    Number(Kind, u64),
    Binary(Op, Rc<Expr>, Rc<Expr>),
    Cast(Op, Rc<Expr>, TypeOf),
    Compare(Is, Rc<Expr>, Rc<Expr>),
    Select(Rc<Expr>, Rc<Expr>, Rc<Expr>),
    Load(Value, Rc<Expr>),
    Offset(Rc<Expr>, i64),
    Call(Value, Vec<Rc<Expr>>),
    /// The larger, as signed numbers.
    Larger(Rc<Expr>, Rc<Expr>),
    Smaller(Rc<Expr>, Rc<Expr>),
}

/// Width of a number.
pub(crate) type Kind = u32;

/// The type of this value.
pub(crate) type TypeOf = Value;

type Found = Option<Rc<Expr>>;

/// Works out values at one point.
pub(crate) struct Sizes<'a> {
    body: &'a Body,
    begin: Point,
    /// Phis on the way, so that a loop without bound ends the search.
    open: HashSet<(Value, bool)>,
    exact: HashMap<Value, Found>,
}

impl<'a> Sizes<'a> {
    pub(crate) fn new(body: &'a Body, begin: Point) -> Sizes<'a> {
        Sizes {
            body,
            begin,
            open: HashSet::new(),
            exact: HashMap::new(),
        }
    }

    /// Bytes of an allocation, as 64 bits.
    pub(crate) fn bytes(&mut self, call: Value, size: Size) -> Found {
        let arguments = call.arguments();
        match size {
            Size::Bytes(i) => self.upper(*arguments.get(i as usize)?),
            Size::Pitched { width, height } => {
                let width = self.upper(*arguments.get(width as usize)?)?;
                let height = self.upper(*arguments.get(height as usize)?)?;
                // CUDA's pitch is a multiple of 512 bytes at most.
                let up = binary(Op::LLVMAdd, width, number(64, 511));
                let pitch = binary(Op::LLVMAnd, up, number(64, !511));
                Some(binary(Op::LLVMMul, pitch, height))
            }
        }
    }

    /// Warps of a launch, as 64 bits: blocks times warps of a block, each rounded up to 32 threads.
    pub(crate) fn warps(&mut self, shape: &Shape) -> Found {
        let blocks = self.volume(shape.grid)?;
        let threads = self.volume(shape.block)?;
        let up = binary(Op::LLVMAdd, threads, number(64, 31));
        Some(binary(
            Op::LLVMMul,
            blocks,
            binary(Op::LLVMLShr, up, number(64, 5)),
        ))
    }

    fn volume(&mut self, (xy, z): (Value, Value)) -> Found {
        let x = self.half(xy, false)?;
        let y = self.half(xy, true)?;
        let z = self.upper(z)?;
        let wide = |e: Rc<Expr>| Rc::new(Expr::Cast(Op::LLVMZExt, e, xy));
        Some(binary(
            Op::LLVMMul,
            binary(Op::LLVMMul, wide(x), wide(y)),
            wide(z),
        ))
    }

    /// The largest value of the low or high half of a packed pair, as 32 bits.
    fn half(&mut self, pair: Value, high: bool) -> Found {
        if let Some(constant) = pair.constant_int() {
            let bits = constant as u64;
            return Some(number(
                32,
                if high { bits >> 32 } else { bits & 0xffff_ffff },
            ));
        }
        match pair.opcode() {
            Some(Op::LLVMOr | Op::LLVMAdd) => {
                let a = self.half(pair.operand(0)?, high)?;
                let b = self.half(pair.operand(1)?, high)?;
                // The two halves are put together: one of the parts is zero.
                Some(if is_zero(&a) {
                    b
                } else if is_zero(&b) {
                    a
                } else {
                    binary(Op::LLVMOr, a, b)
                })
            }
            Some(Op::LLVMZExt) if pair.operand(0)?.ty().bits() == Some(32) => {
                if high {
                    Some(number(32, 0))
                } else {
                    self.upper(pair.operand(0)?)
                }
            }
            Some(Op::LLVMShl) if pair.operand(1)?.constant_int() == Some(32) => {
                if high {
                    self.half(pair.operand(0)?, false)
                } else {
                    Some(number(32, 0))
                }
            }
            Some(Op::LLVMAnd) => {
                let mask = pair.operand(1)?.constant_int()? as u64;
                let part = if high { mask >> 32 } else { mask & 0xffff_ffff };
                match part {
                    0 => Some(number(32, 0)),
                    0xffff_ffff => self.half(pair.operand(0)?, high),
                    _ => None,
                }
            }
            Some(Op::LLVMPHI | Op::LLVMSelect) => {
                if let Some(exact) = self.exact(pair) {
                    return Some(self.split(exact, pair, high));
                }
                if !self.open.insert((pair, high)) {
                    return None;
                }
                let parts: Vec<Value> = if pair.is_op(Op::LLVMPHI) {
                    pair.incoming()
                        .into_iter()
                        .map(|(v, _)| v)
                        .filter(|v| *v != pair)
                        .collect()
                } else {
                    vec![pair.operand(1)?, pair.operand(2)?]
                };
                let result = self.largest(&parts, |me, v| me.half(v, high));
                self.open.remove(&(pair, high));
                result
            }
            _ => {
                let exact = self.exact(pair)?;
                Some(self.split(exact, pair, high))
            }
        }
    }

    fn split(&self, pair: Rc<Expr>, of: Value, high: bool) -> Rc<Expr> {
        let part = if high {
            binary(Op::LLVMLShr, pair, number(64, 32))
        } else {
            pair
        };
        debug_assert_eq!(of.ty().bits(), Some(64));
        Rc::new(Expr::Binary(Op::LLVMTrunc, part, number(32, 0)))
    }

    fn largest(
        &mut self,
        values: &[Value],
        mut of: impl FnMut(&mut Self, Value) -> Found,
    ) -> Found {
        let mut best: Found = None;
        for &value in values {
            let next = of(self, value)?;
            best = Some(match best {
                None => next,
                Some(old) => Rc::new(Expr::Larger(old, next)),
            });
        }
        best
    }

    /// The value itself, at the begin.
    fn exact(&mut self, value: Value) -> Found {
        if let Some(known) = self.exact.get(&value) {
            return known.clone();
        }
        // A cycle of values runs through a phi, which is exact only if it is there already.
        let found = self.exact_new(value);
        self.exact.insert(value, found.clone());
        found
    }

    fn exact_new(&mut self, value: Value) -> Found {
        if !value.is_instruction() {
            return Some(Rc::new(Expr::Known(value)));
        }
        let site = self.body.site(value)?;
        if self.body.flow.site_dominates(site, self.begin) {
            return Some(Rc::new(Expr::Known(value)));
        }
        let op = value.opcode()?;
        match op {
            Op::LLVMLoad => self.load(value, site),
            Op::LLVMSelect => {
                let parts = [value.operand(0)?, value.operand(1)?, value.operand(2)?];
                let [c, a, b] = [
                    self.exact(parts[0])?,
                    self.exact(parts[1])?,
                    self.exact(parts[2])?,
                ];
                Some(Rc::new(Expr::Select(c, a, b)))
            }
            Op::LLVMICmp => {
                let (a, b) = (
                    self.exact(value.operand(0)?)?,
                    self.exact(value.operand(1)?)?,
                );
                Some(Rc::new(Expr::Compare(value.predicate()?, a, b)))
            }
            Op::LLVMFreeze => self.exact(value.operand(0)?),
            Op::LLVMCall if calls::is_arithmetic(&callee_name(value)) => {
                let arguments: Option<Vec<_>> = value
                    .arguments()
                    .into_iter()
                    .map(|a| self.exact(a))
                    .collect();
                Some(Rc::new(Expr::Call(value, arguments?)))
            }
            op if is_cast(op) => {
                let inner = self.exact(value.operand(0)?)?;
                Some(Rc::new(Expr::Cast(op, inner, value)))
            }
            op if is_binary(op) => {
                let (a, b) = (
                    self.exact(value.operand(0)?)?,
                    self.exact(value.operand(1)?)?,
                );
                Some(binary(op, a, b))
            }
            _ => None,
        }
    }

    /// The largest value that `value` takes in the task.
    pub(crate) fn upper(&mut self, value: Value) -> Found {
        self.bound(value, true)
    }

    fn bound(&mut self, value: Value, up: bool) -> Found {
        if let Some(exact) = self.exact(value) {
            return Some(exact);
        }
        if !self.open.insert((value, up)) {
            return None;
        }
        let found = self.bound_new(value, up);
        self.open.remove(&(value, up));
        found
    }

    fn bound_new(&mut self, value: Value, up: bool) -> Found {
        let op = value.opcode()?;
        let (a, b) = (value.operand(0), value.operand(1));
        match op {
            Op::LLVMPHI => self.phi(value, up),
            Op::LLVMSelect => {
                let arms = [value.operand(1)?, value.operand(2)?];
                self.extreme(&arms, up)
            }
            Op::LLVMAdd | Op::LLVMMul | Op::LLVMFAdd | Op::LLVMFMul => {
                Some(binary(op, self.bound(a?, up)?, self.bound(b?, up)?))
            }
            Op::LLVMSub | Op::LLVMFSub | Op::LLVMUDiv | Op::LLVMSDiv | Op::LLVMFDiv => {
                Some(binary(op, self.bound(a?, up)?, self.bound(b?, !up)?))
            }
            Op::LLVMShl => Some(binary(op, self.bound(a?, up)?, self.bound(b?, up)?)),
            Op::LLVMLShr | Op::LLVMAShr => {
                Some(binary(op, self.bound(a?, up)?, self.bound(b?, !up)?))
            }
            Op::LLVMFreeze => self.bound(a?, up),
            Op::LLVMCall if is_rising(&callee_name(value)) => {
                let arguments: Option<Vec<_>> = value
                    .arguments()
                    .into_iter()
                    .map(|v| self.bound(v, up))
                    .collect();
                Some(Rc::new(Expr::Call(value, arguments?)))
            }
            op if is_cast(op) => {
                let inner = self.bound(a?, up)?;
                Some(Rc::new(Expr::Cast(op, inner, value)))
            }
            _ => None,
        }
    }

    fn extreme(&mut self, values: &[Value], up: bool) -> Found {
        let mut best: Found = None;
        for &value in values {
            let next = self.bound(value, up)?;
            best = Some(match best {
                None => next,
                Some(old) if up => Rc::new(Expr::Larger(old, next)),
                Some(old) => Rc::new(Expr::Smaller(old, next)),
            });
        }
        best
    }

    /// A value that depends on the way: the largest of its ways, or of a loop's turns.
    fn phi(&mut self, phi: Value, up: bool) -> Found {
        phi.ty().bits()?;
        let block = self.body.site(phi)?.block;
        let turns = self.body.flow.loop_blocks(block).cloned();
        let Some(turns) = turns else {
            let ways: Vec<Value> = phi
                .incoming()
                .into_iter()
                .map(|(v, _)| v)
                .filter(|v| *v != phi)
                .collect();
            return self.extreme(&ways, up);
        };
        let mut first = None;
        let mut next = None;
        for (value, from) in phi.incoming() {
            let slot = if turns.contains(&self.body.number(from)?) {
                &mut next
            } else {
                &mut first
            };
            if slot.replace(value).is_some_and(|old| old != value) {
                return None;
            }
        }
        self.counter(phi, first?, next?, block, up)
    }

    /// A loop's counter: from `first`, changed to `next` each turn, tested against a bound.
    fn counter(&mut self, phi: Value, first: Value, next: Value, head: usize, up: bool) -> Found {
        let rises = match step(phi, next)? {
            Step::By(0) => return self.bound(first, up),
            Step::By(n) => n > 0,
            Step::Shrinks => false,
        };
        let test = self.test(phi, next, head);
        // Nothing runs in a loop whose first test fails: then the counter adds nothing.
        let guard = match &test {
            Some(t) if t.before => {
                let bound = self.bound(t.bound, true)?;
                Some(Rc::new(Expr::Compare(
                    t.stay,
                    self.bound(first, up)?,
                    bound,
                )))
            }
            _ => None,
        };
        let extreme = if rises == up {
            let t = test?;
            let Some(Step::By(by)) = step(phi, next) else {
                return None;
            };
            self.last(phi, first, by, &t, up)?
        } else {
            self.bound(first, up)?
        };
        let zero = number(phi.ty().bits()?, 0);
        Some(match guard {
            Some(guard) if up => Rc::new(Expr::Select(guard, extreme, zero)),
            _ => extreme,
        })
    }

    /// The counter's last value: `first + by * turns` for the last turn whose test holds.
    fn last(&mut self, phi: Value, first: Value, by: i64, test: &Test, up: bool) -> Found {
        let bits = phi.ty().bits()?;
        let bound = self.bound(test.bound, up)?;
        let start = self.bound(first, up)?;
        // The last value that may still be, by the test: `bound` itself or its neighbour.
        let inclusive = matches!(
            test.stay,
            Is::LLVMIntSLE | Is::LLVMIntULE | Is::LLVMIntSGE | Is::LLVMIntUGE
        );
        let strict = matches!(
            test.stay,
            Is::LLVMIntSLT | Is::LLVMIntULT | Is::LLVMIntSGT | Is::LLVMIntUGT | Is::LLVMIntNE
        );
        if test.stay == Is::LLVMIntNE && by.abs() != 1 {
            return None;
        }
        let limit = match (inclusive, strict) {
            (true, _) => bound,
            (_, true) if by > 0 => binary(Op::LLVMSub, bound, number(bits, 1)),
            (_, true) => binary(Op::LLVMAdd, bound, number(bits, 1)),
            _ => return None,
        };
        let reached = if by.abs() == 1 {
            limit
        } else {
            let way = if by > 0 {
                binary(Op::LLVMSub, limit, start.clone())
            } else {
                binary(Op::LLVMSub, start.clone(), limit)
            };
            let width = number(bits, by.unsigned_abs());
            let turns = binary(Op::LLVMSDiv, way, width.clone());
            let moved = binary(Op::LLVMMul, turns, width);
            let op = if by > 0 { Op::LLVMAdd } else { Op::LLVMSub };
            binary(op, start.clone(), moved)
        };
        // A loop that is tested at its end runs once in any case.
        Some(match (test.before, by > 0) {
            (true, _) => reached,
            (false, true) => Rc::new(Expr::Larger(start, reached)),
            (false, false) => Rc::new(Expr::Smaller(start, reached)),
        })
    }

    /// The test that keeps a loop going.
    fn test(&self, phi: Value, next: Value, head: usize) -> Option<Test> {
        let turns = self.body.flow.loop_blocks(head)?;
        for &block in turns {
            let outside: Vec<bool> = self
                .body
                .flow
                .successors(block)
                .iter()
                .map(|s| !turns.contains(s))
                .collect();
            let [yes, no] = outside[..] else { continue };
            if yes == no {
                continue;
            }
            let compare = self.body.code[block].last()?.condition()?;
            let (Some(mut is), Some(mut a), Some(mut b)) =
                (compare.predicate(), compare.operand(0), compare.operand(1))
            else {
                continue;
            };
            if b == phi || b == next {
                std::mem::swap(&mut a, &mut b);
                is = swapped(is);
            }
            if yes {
                is = inverse(is);
            }
            let head_tests = block == head;
            // The head tests the counter before a turn, a later block what it will be in the next.
            if (a == phi && head_tests)
                || (a == next && !head_tests)
                || (a == next && turns.len() == 1)
            {
                return Some(Test {
                    stay: is,
                    bound: b,
                    before: a == phi,
                });
            }
        }
        None
    }

    /// A load, if nothing on the way from the begin writes what it reads, or what was stored last.
    fn load(&mut self, load: Value, site: Site) -> Found {
        if load.is_volatile() {
            return None;
        }
        let pointer = load.operand(0)?;
        let (base, offset) = self.body.base(pointer);
        let size = self.body.module.size_of(load.ty());
        let memory = Memory {
            base,
            range: offset.map(|o| (o, o.saturating_add_unsigned(size))),
        };
        if let Some(stored) = self.stored_last(load, &memory, site) {
            return self.exact(stored);
        }
        let offset = offset?;
        let start = self.exact(base)?;
        let address = if offset == 0 {
            start
        } else {
            Rc::new(Expr::Offset(start, offset))
        };
        let safe = is_local(base) || self.surely_runs(site);
        (safe && !self.written(self.begin, site, &memory))
            .then(|| Rc::new(Expr::Load(load, address)))
    }

    /// What the last store before a load put there, if it comes after the begin, and nothing writes in
    /// between.
    fn stored_last(&self, load: Value, memory: &Memory, site: Site) -> Option<Value> {
        memory.range?;
        let point = Point {
            block: site.block,
            index: site.index,
        };
        let mut last: Option<(Site, Value)> = None;
        for (at, store) in self
            .body
            .instructions()
            .filter(|(_, i)| i.is_op(Op::LLVMStore))
        {
            let Some((value, target)) = store.operand(0).zip(store.operand(1)) else {
                continue;
            };
            let (base, offset) = self.body.base(target);
            let same = base == memory.base
                && offset == memory.range.map(|r| r.0)
                && value.ty() == load.ty();
            let later = last.is_none_or(|(l, _)| {
                self.body.flow.site_dominates(
                    l,
                    Point {
                        block: at.block,
                        index: at.index,
                    },
                )
            });
            if same && later && self.body.flow.site_dominates(at, point) {
                last = Some((at, value));
            }
        }
        let (at, value) = last?;
        let from = Point {
            block: at.block,
            index: at.index + 1,
        };
        let begin = Site {
            block: self.begin.block,
            index: self.begin.index,
        };
        let inside = self.body.flow.site_dominates(begin, from);
        (inside && !self.written(from, site, memory)).then_some(value)
    }

    /// Whether whatever passes the begin comes to `site`.
    fn surely_runs(&self, site: Site) -> bool {
        let mut block = self.begin.block;
        let mut seen = HashSet::new();
        while block != site.block {
            match self.body.flow.successors(block) {
                [only] if seen.insert(block) => block = *only,
                _ => return false,
            }
        }
        true
    }

    /// Whether an instruction between `from` and `site` may write `memory`. `from` dominates `site`.
    fn written(&self, from: Point, site: Site, memory: &Memory) -> bool {
        let between = self.body.flow.between(from.block, site.block);
        let again = between.contains(&site.block);
        for (at, instruction) in self.body.instructions() {
            let after_start = at.block == from.block && at.index >= from.index;
            let before_load = at.block == site.block && (again || at.index < site.index);
            let counts = if at.block == from.block && site.block == from.block {
                after_start && at.index < site.index
            } else {
                after_start
                    || before_load
                    || (between.contains(&at.block) && at.block != site.block)
            };
            if counts && self.writes(instruction, memory) {
                return true;
            }
        }
        false
    }

    fn writes(&self, instruction: Value, memory: &Memory) -> bool {
        match instruction.opcode() {
            Some(Op::LLVMStore) => {
                let Some((value, target)) = instruction.operand(0).zip(instruction.operand(1))
                else {
                    return true;
                };
                self.touches(target, Some(self.body.module.size_of(value.ty())), memory)
            }
            Some(Op::LLVMCall | Op::LLVMInvoke) => self.call_writes(instruction, memory),
            Some(Op::LLVMAtomicRMW | Op::LLVMAtomicCmpXchg | Op::LLVMFence) => true,
            _ => false,
        }
    }

    /// Whether a write of `size` bytes at `target`, or of any number, may change `memory`.
    fn touches(&self, target: Value, size: Option<u64>, memory: &Memory) -> bool {
        let (base, offset) = self.body.base(target);
        if base == memory.base
            && let (Some(size), Some(offset), Some((start, end))) = (size, offset, memory.range)
        {
            return offset < end && start < offset.saturating_add_unsigned(size);
        }
        self.may_be_same(base, memory.base)
    }

    fn call_writes(&self, call: Value, memory: &Memory) -> bool {
        let base = memory.base;
        let name = callee_name(call);
        if calls::is_mark(&name) {
            return false;
        }
        let known = cuda(call);
        let runtime = known.is_some() || calls::is_stub(&name);
        let plain = calls::is_plain_library(&name) || name.starts_with("llvm.mem");
        if runtime && !is_local(base) && !is_host_allocation(base) {
            // Managed memory: a kernel may have written it.
            return !matches!(known, Some(Call::Configure | Call::Quiet));
        }
        if runtime || plain {
            let mut written: Vec<Value> = (0..)
                .zip(call.arguments())
                .filter(|(i, _)| !call.is_by_value(*i))
                .map(|(_, a)| a)
                .collect();
            // Of a pointer's variable, an allocation writes the pointer alone; and the pitch.
            let size = matches!(known, Some(Call::Allocate { .. })).then_some(8);
            if size.is_some() {
                written.truncate(2);
            }
            return written
                .into_iter()
                .filter(|a| a.ty().is_pointer())
                .any(|a| self.touches(a, size, memory));
        }
        // Code that is not seen writes what it can reach.
        self.is_exposed(base)
            || (base.is_global_variable() && (!base.is_internal() || written_elsewhere(base)))
    }

    fn may_be_same(&self, written: Value, base: Value) -> bool {
        let own = |v: Value| is_local(v) || is_host_allocation(v);
        if written == base {
            return true;
        }
        if written.is_null_like() || (own(written) && own(base)) {
            return false;
        }
        // A pointer from anywhere reaches a variable only if its address was given away.
        if own(base) {
            return self.is_exposed(base) || (base.is_global_variable() && !base.is_internal());
        }
        !own(written) || self.is_exposed(written)
    }

    /// Whether a variable's address was stored or given to code that may keep it.
    fn is_exposed(&self, base: Value) -> bool {
        if !is_local(base) {
            return true;
        }
        exposes(base)
    }

    /// Works the expression out before an instruction, as 64 bits.
    pub(crate) fn emit(
        builder: &Builder,
        expr: &Rc<Expr>,
        made: &mut HashMap<*const Expr, Value>,
    ) -> Value {
        let key = Rc::as_ptr(expr);
        if let Some(&known) = made.get(&key) {
            return known;
        }
        let value = emit_new(builder, expr, made);
        made.insert(key, value);
        value
    }
}

/// Bytes that a load reads: `range` from the start of `base`, or anywhere in it.
struct Memory {
    base: Value,
    range: Option<(i64, i64)>,
}

/// A loop's test: the loop goes on while `counter stay bound`.
struct Test {
    stay: Is,
    bound: Value,
    /// Tested before the turn, not after it.
    before: bool,
}

enum Step {
    By(i64),
    /// Becomes smaller, by division or shift.
    Shrinks,
}

fn step(phi: Value, next: Value) -> Option<Step> {
    if next == phi {
        return Some(Step::By(0));
    }
    let (a, b) = (next.operand(0)?, next.operand(1)?);
    let by = b.constant_int();
    match next.opcode()? {
        Op::LLVMAdd if a == phi => Some(Step::By(by?)),
        Op::LLVMAdd if b == phi => Some(Step::By(a.constant_int()?)),
        Op::LLVMSub if a == phi => Some(Step::By(-by?)),
        Op::LLVMSDiv | Op::LLVMUDiv if a == phi && by? >= 1 => Some(Step::Shrinks),
        Op::LLVMLShr | Op::LLVMAShr if a == phi => Some(Step::Shrinks),
        _ => None,
    }
}

fn swapped(is: Is) -> Is {
    match is {
        Is::LLVMIntSLT => Is::LLVMIntSGT,
        Is::LLVMIntSGT => Is::LLVMIntSLT,
        Is::LLVMIntSLE => Is::LLVMIntSGE,
        Is::LLVMIntSGE => Is::LLVMIntSLE,
        Is::LLVMIntULT => Is::LLVMIntUGT,
        Is::LLVMIntUGT => Is::LLVMIntULT,
        Is::LLVMIntULE => Is::LLVMIntUGE,
        Is::LLVMIntUGE => Is::LLVMIntULE,
        same => same,
    }
}

fn inverse(is: Is) -> Is {
    match is {
        Is::LLVMIntSLT => Is::LLVMIntSGE,
        Is::LLVMIntSGE => Is::LLVMIntSLT,
        Is::LLVMIntSGT => Is::LLVMIntSLE,
        Is::LLVMIntSLE => Is::LLVMIntSGT,
        Is::LLVMIntULT => Is::LLVMIntUGE,
        Is::LLVMIntUGE => Is::LLVMIntULT,
        Is::LLVMIntUGT => Is::LLVMIntULE,
        Is::LLVMIntULE => Is::LLVMIntUGT,
        Is::LLVMIntEQ => Is::LLVMIntNE,
        Is::LLVMIntNE => Is::LLVMIntEQ,
    }
}

fn is_cast(op: Op) -> bool {
    matches!(
        op,
        Op::LLVMTrunc
            | Op::LLVMZExt
            | Op::LLVMSExt
            | Op::LLVMFPToUI
            | Op::LLVMFPToSI
            | Op::LLVMUIToFP
            | Op::LLVMSIToFP
            | Op::LLVMFPTrunc
            | Op::LLVMFPExt
    )
}

fn is_binary(op: Op) -> bool {
    matches!(
        op,
        Op::LLVMAdd
            | Op::LLVMSub
            | Op::LLVMMul
            | Op::LLVMUDiv
            | Op::LLVMSDiv
            | Op::LLVMURem
            | Op::LLVMSRem
            | Op::LLVMShl
            | Op::LLVMLShr
            | Op::LLVMAShr
            | Op::LLVMAnd
            | Op::LLVMOr
            | Op::LLVMXor
            | Op::LLVMFAdd
            | Op::LLVMFSub
            | Op::LLVMFMul
            | Op::LLVMFDiv
    )
}

/// Functions that grow with their arguments.
fn is_rising(name: &str) -> bool {
    [
        "ceil",
        "floor",
        "round",
        "trunc",
        "sqrt",
        "fmax",
        "fmin",
        "llvm.ceil",
        "llvm.floor",
        "llvm.sqrt",
        "llvm.smax",
        "llvm.smin",
        "llvm.umax",
        "llvm.umin",
        "llvm.maxnum",
        "llvm.minnum",
    ]
    .iter()
    .any(|n| name.strip_suffix('f').unwrap_or(name) == *n || name.starts_with(&format!("{n}.")))
}

fn number(bits: Kind, value: u64) -> Rc<Expr> {
    Rc::new(Expr::Number(bits, value))
}

fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_, n) => *n == 0,
        Expr::Known(v) => v.constant_int() == Some(0),
        _ => false,
    }
}

fn binary(op: Op, a: Rc<Expr>, b: Rc<Expr>) -> Rc<Expr> {
    Rc::new(Expr::Binary(op, a, b))
}

/// Memory with a name of its own: a variable, or the callee's copy of an argument.
fn is_local(base: Value) -> bool {
    is_variable(base) || base.is_by_value_parameter()
}

fn written_elsewhere(global: Value) -> bool {
    global.users().into_iter().any(|u| match u.opcode() {
        Some(Op::LLVMLoad) => false,
        Some(Op::LLVMGetElementPtr | Op::LLVMBitCast) => written_elsewhere(u),
        Some(Op::LLVMCall | Op::LLVMInvoke) => !calls::is_mark(&callee_name(u)),
        _ => true,
    })
}

fn exposes(address: Value) -> bool {
    address.users().into_iter().any(|user| match user.opcode() {
        Some(Op::LLVMLoad | Op::LLVMICmp) => false,
        Some(Op::LLVMStore) => user.operand(0) == Some(address),
        Some(Op::LLVMGetElementPtr | Op::LLVMBitCast | Op::LLVMAddrSpaceCast) => exposes(user),
        Some(Op::LLVMCall | Op::LLVMInvoke) => {
            let name = callee_name(user);
            let copied = (0..)
                .zip(user.arguments())
                .all(|(i, a)| a != address || user.is_by_value(i));
            !(copied
                || calls::is_mark(&name)
                || calls::is_plain_library(&name)
                || name.starts_with("llvm.mem")
                || cuda(user).is_some())
        }
        _ => true,
    })
}

fn emit_new(builder: &Builder, expr: &Rc<Expr>, made: &mut HashMap<*const Expr, Value>) -> Value {
    let mut part = |e: &Rc<Expr>| Sizes::emit(builder, e, made);
    match &**expr {
        Expr::Known(value) => *value,
        Expr::Number(bits, n) => builder.module().constant(builder.module().int(*bits), *n),
        Expr::Binary(Op::LLVMTrunc, a, b) => {
            let to = part(b).ty();
            builder.resize(part(a), to)
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (part(a), part(b));
            divide(builder, *op, a, b)
        }
        Expr::Cast(op, a, like) => {
            let a = part(a);
            if a.ty() == like.ty() {
                a
            } else {
                builder.cast(*op, a, like.ty())
            }
        }
        Expr::Compare(is, a, b) => {
            let (a, b) = (part(a), part(b));
            builder.compare(*is, a, b)
        }
        Expr::Select(c, a, b) => {
            let (c, a, b) = (part(c), part(a), part(b));
            builder.select(c, a, b)
        }
        Expr::Load(like, address) => {
            let address = part(address);
            builder.load(like.ty(), address)
        }
        Expr::Offset(start, bytes) => {
            let start = part(start);
            let bytes = builder
                .module()
                .constant(builder.module().int(64), *bytes as u64);
            builder.offset(start, bytes)
        }
        Expr::Call(like, arguments) => {
            let arguments: Vec<Value> = arguments.iter().map(part).collect();
            builder.call_like(*like, &arguments).unwrap_or(*like)
        }
        Expr::Larger(a, b) => {
            let (a, b) = (part(a), part(b));
            larger(builder, a, b)
        }
        Expr::Smaller(a, b) => {
            let (a, b) = (part(a), part(b));
            let less = builder.compare(Is::LLVMIntSLT, a, b);
            builder.select(less, a, b)
        }
    }
}

/// The larger of two signed numbers.
pub(crate) fn larger(builder: &Builder, a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let more = builder.compare(Is::LLVMIntSGT, a, b);
    builder.select(more, a, b)
}

/// A binary operation. A division that the program may never come to must not trap at the begin.
fn divide(builder: &Builder, op: Op, a: Value, b: Value) -> Value {
    let divides = matches!(
        op,
        Op::LLVMUDiv | Op::LLVMSDiv | Op::LLVMURem | Op::LLVMSRem
    );
    let harmless = b.constant_int().is_some_and(|n| n != 0 && n != -1);
    if !divides || harmless {
        return builder.binary(op, a, b);
    }
    let ty: Type = b.ty();
    let one = builder.module().constant(ty, 1);
    let mut bad = builder.compare(Is::LLVMIntEQ, b, ty.null());
    if matches!(op, Op::LLVMSDiv | Op::LLVMSRem) {
        // The least number by -1 traps too.
        let all_ones = builder.module().constant(ty, u64::MAX);
        let minus = builder.compare(Is::LLVMIntEQ, b, all_ones);
        let least = builder
            .module()
            .constant(ty, 1_u64 << (ty.bits().unwrap_or(64).min(64) - 1));
        let lowest = builder.compare(Is::LLVMIntEQ, a, least);
        let traps = builder.binary(Op::LLVMAnd, minus, lowest);
        bad = builder.binary(Op::LLVMOr, bad, traps);
    }
    let divisor = builder.select(bad, one, b);
    builder.binary(op, a, divisor)
}
