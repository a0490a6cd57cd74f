//! Bytes and warps, worked out where the task begins.
//!
//! Arithmetic is cloned to the begin. A load may move up past code that surely does not write what it
//! reads. Where a value differs from path to path or from turn to turn, the largest is taken.

use crate::body::{Body, callee_name};
use crate::calls::{self, Size};
use crate::counter::{Step, after, last, step, test};
use crate::expr::{Expr, binary, is_zero, number};
use crate::ir::{LLVMOpcode as Op, Value};
use crate::memory::{History, Memory};
use crate::operations::Shape;
use mapa_case_placement::{Point, Site};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

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
        let at = self.body.site(call)?.block;
        let arguments = call.arguments();
        match size {
            Size::Bytes(i) => self.upper(*arguments.get(i as usize)?, at),
            Size::Pitched { width, height } => {
                let width = self.upper(*arguments.get(width as usize)?, at)?;
                let height = self.upper(*arguments.get(height as usize)?, at)?;
                // CUDA does not say what rows are padded to. On every device that alpaka's authors tried
                // it was the property `textureAlignment`, 512 bytes (alpaka's pull request 2566).
                let up = binary(Op::LLVMAdd, width, number(64, 511));
                let pitch = binary(Op::LLVMAnd, up, number(64, !511));
                Some(binary(Op::LLVMMul, pitch, height))
            }
        }
    }

    /// Warps of a launch in block `at`, as 64 bits: blocks times warps of a block, each rounded up to 32
    /// threads.
    pub(crate) fn warps(&mut self, shape: &Shape, at: usize) -> Found {
        let blocks = self.volume(shape.grid, at)?;
        let threads = self.volume(shape.block, at)?;
        let up = binary(Op::LLVMAdd, threads, number(64, 31));
        Some(binary(
            Op::LLVMMul,
            blocks,
            binary(Op::LLVMLShr, up, number(64, 5)),
        ))
    }

    fn volume(&mut self, (xy, z): (Value, Value), at: usize) -> Found {
        let x = self.half(xy, false, at)?;
        let y = self.half(xy, true, at)?;
        let z = self.upper(z, at)?;
        let wide = |e: Rc<Expr>| Rc::new(Expr::Cast(Op::LLVMZExt, e, xy));
        Some(binary(
            Op::LLVMMul,
            binary(Op::LLVMMul, wide(x), wide(y)),
            wide(z),
        ))
    }

    /// The largest value of the low or high half of a packed pair, as 32 bits.
    fn half(&mut self, pair: Value, high: bool, at: usize) -> Found {
        if let Some(constant) = pair.constant_int() {
            let bits = constant as u64;
            return Some(number(
                32,
                if high { bits >> 32 } else { bits & 0xffff_ffff },
            ));
        }
        match pair.opcode() {
            Some(Op::LLVMOr | Op::LLVMAdd) => {
                let a = self.half(pair.operand(0)?, high, at)?;
                let b = self.half(pair.operand(1)?, high, at)?;
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
                    self.upper(pair.operand(0)?, at)
                }
            }
            Some(Op::LLVMShl) if pair.operand(1)?.constant_int() == Some(32) => {
                if high {
                    self.half(pair.operand(0)?, false, at)
                } else {
                    Some(number(32, 0))
                }
            }
            Some(Op::LLVMAnd) => {
                let mask = pair.operand(1)?.constant_int()? as u64;
                let part = if high { mask >> 32 } else { mask & 0xffff_ffff };
                match part {
                    0 => Some(number(32, 0)),
                    0xffff_ffff => self.half(pair.operand(0)?, high, at),
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
                let parts = if pair.is_op(Op::LLVMPHI) {
                    self.ways(pair)?
                } else {
                    vec![(pair.operand(1)?, at), (pair.operand(2)?, at)]
                };
                let result = self.extreme(&parts, true, |me, v, at| me.half(v, high, at));
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

    /// The largest of values, each in its block, or the smallest.
    fn extreme(
        &mut self,
        values: &[(Value, usize)],
        up: bool,
        mut of: impl FnMut(&mut Self, Value, usize) -> Found,
    ) -> Found {
        let mut best: Found = None;
        for &(value, at) in values {
            let next = of(self, value, at)?;
            best = Some(match best {
                None => next,
                Some(old) => further(up, old, next),
            });
        }
        best
    }

    /// A phi's values, each with the block at the end of which it has it.
    fn ways(&self, phi: Value) -> Option<Vec<(Value, usize)>> {
        phi.incoming()
            .into_iter()
            .filter(|(v, _)| *v != phi)
            .map(|(v, from)| Some((v, self.body.number(from)?)))
            .collect()
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

    /// The largest value that `value` has in block `at`, in any turn of the loops there.
    fn upper(&mut self, value: Value, at: usize) -> Found {
        self.bound(value, true, at)
    }

    /// The largest value, or the smallest. Factors and divisors are taken for positive.
    fn bound(&mut self, value: Value, up: bool, at: usize) -> Found {
        if let Some(exact) = self.exact(value) {
            return Some(exact);
        }
        if !self.open.insert((value, up)) {
            return None;
        }
        let found = self.bound_new(value, up, at);
        self.open.remove(&(value, up));
        found
    }

    fn bound_new(&mut self, value: Value, up: bool, at: usize) -> Found {
        let op = value.opcode()?;
        let (a, b) = (value.operand(0), value.operand(1));
        let scales = matches!(
            op,
            Op::LLVMMul | Op::LLVMFMul | Op::LLVMUDiv | Op::LLVMSDiv | Op::LLVMFDiv
        );
        if scales && [a?, b?].into_iter().any(Value::is_negative) {
            return None;
        }
        match op {
            Op::LLVMPHI => self.phi(value, up, at),
            Op::LLVMSelect => {
                let arms = [(value.operand(1)?, at), (value.operand(2)?, at)];
                self.extreme(&arms, up, |me, v, at| me.bound(v, up, at))
            }
            Op::LLVMAdd | Op::LLVMMul | Op::LLVMShl | Op::LLVMFAdd | Op::LLVMFMul => {
                Some(binary(op, self.bound(a?, up, at)?, self.bound(b?, up, at)?))
            }
            Op::LLVMSub
            | Op::LLVMFSub
            | Op::LLVMUDiv
            | Op::LLVMSDiv
            | Op::LLVMFDiv
            | Op::LLVMLShr
            | Op::LLVMAShr => Some(binary(
                op,
                self.bound(a?, up, at)?,
                self.bound(b?, !up, at)?,
            )),
            Op::LLVMFreeze => self.bound(a?, up, at),
            Op::LLVMCall if is_rising(&callee_name(value)) => {
                let arguments: Option<Vec<_>> = value
                    .arguments()
                    .into_iter()
                    .map(|v| self.bound(v, up, at))
                    .collect();
                Some(Rc::new(Expr::Call(value, arguments?)))
            }
            op if is_cast(op) => {
                let inner = self.bound(a?, up, at)?;
                Some(Rc::new(Expr::Cast(op, inner, value)))
            }
            _ => None,
        }
    }

    /// A value that depends on the way: the largest of its ways, or of a loop's turns.
    fn phi(&mut self, phi: Value, up: bool, at: usize) -> Found {
        phi.ty().bits()?;
        let block = self.body.site(phi)?.block;
        let ways = self.ways(phi)?;
        let Some(turns) = self.body.flow.loop_blocks(block) else {
            return self.extreme(&ways, up, |me, v, at| me.bound(v, up, at));
        };
        let mut first = None;
        let mut next = None;
        for &(value, from) in &ways {
            let slot = if turns.contains(&from) {
                &mut next
            } else {
                &mut first
            };
            if slot
                .replace((value, from))
                .is_some_and(|(old, _)| old != value)
            {
                return None;
            }
        }
        let (first, entry) = first?;
        let Some((next, _)) = next else {
            // No turn changes it.
            return self.bound(first, up, entry);
        };
        let bits = phi.ty().bits()?;
        let by = match step(phi, next)? {
            Step::By(0) => return self.bound(first, up, entry),
            Step::By(n) => Some(n),
            Step::Shrinks => None,
        };
        let test = test(self.body, phi, next, block);
        let start = self.bound(first, up, entry)?;
        let exact = self.exact(first);
        // Whether the first turn begins, where that is known at the begin.
        let guard = match (&test, &exact) {
            (Some(t), Some(first)) if t.this_turn => self
                .exact(t.bound)
                .map(|bound| Rc::new(Expr::Compare(t.stay, first.clone(), bound))),
            _ => None,
        };
        let inside = test.as_ref().is_some_and(|t| t.passed(&self.body.flow, at));
        let extreme = if by.is_some_and(|n| n > 0) == up {
            let (by, t) = (by?, test?);
            let bound = self.bound(t.bound, up, t.block)?;
            let last = last(bits, exact.as_ref(), by, t.stay, bound)?;
            match (&guard, t.this_turn) {
                _ if inside => last,
                // Before the test, and behind the loop, the counter may be one step further.
                (Some(guard), true) => {
                    Rc::new(Expr::Select(guard.clone(), after(bits, last, by), start))
                }
                (None, true) => further(up, start, after(bits, last, by)),
                // A loop that is tested at its end runs once in any case.
                (_, false) => further(up, start, last),
            }
        } else {
            start
        };
        Some(match guard {
            // Nothing runs in a loop whose first test fails: there the counter adds nothing.
            Some(guard) if up && inside => Rc::new(Expr::Select(guard, extreme, number(bits, 0))),
            _ => extreme,
        })
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
        let history = History {
            body: self.body,
            begin: self.begin,
        };
        if let Some(stored) = history.stored_last(load, &memory, site) {
            return self.exact(stored);
        }
        let offset = offset?;
        let start = self.exact(base)?;
        let address = if offset == 0 {
            start
        } else {
            Rc::new(Expr::Offset(start, offset))
        };
        history
            .is_unchanged(&memory, site)
            .then(|| Rc::new(Expr::Load(load, address)))
    }
}

/// The larger of two, or the smaller.
fn further(up: bool, a: Rc<Expr>, b: Rc<Expr>) -> Rc<Expr> {
    Rc::new(if up {
        Expr::Larger(a, b)
    } else {
        Expr::Smaller(a, b)
    })
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
