//! Counters of loops: how they change, the test that ends them, and the last value that passes it.

use crate::body::Body;
use crate::expr::{Expr, binary, number};
use crate::ir::{LLVMIntPredicate as Is, LLVMOpcode as Op, Value};
use mapa_case_placement::Flow;
use std::rc::Rc;

/// A loop's test: the loop goes on while `counter stay bound`.
pub(crate) struct Test {
    pub(crate) stay: Is,
    pub(crate) bound: Value,
    /// Tests the counter of this turn, not that of the next.
    pub(crate) this_turn: bool,
    /// The block that the test ends.
    pub(crate) block: usize,
    /// The block after it where the loop goes on.
    inside: usize,
}

impl Test {
    /// Whether control that is in block `at` has passed the test of this turn.
    pub(crate) fn passed(&self, flow: &Flow, at: usize) -> bool {
        self.this_turn
            && flow.predecessors(self.inside) == [self.block]
            && flow.dominates(self.inside, at)
    }
}

/// The test that every turn of the loop passes, of what begins as `phi` in each and goes on as `next`.
pub(crate) fn test(body: &Body, phi: Value, next: Value, head: usize) -> Option<Test> {
    let flow = &body.flow;
    let turns = flow.loop_blocks(head)?;
    for &block in turns {
        let every_turn = flow
            .predecessors(head)
            .iter()
            .all(|p| !turns.contains(p) || flow.dominates(block, *p));
        let [yes, no] = flow.successors(block)[..] else {
            continue;
        };
        if !every_turn || turns.contains(&yes) == turns.contains(&no) {
            continue;
        }
        let Some(compare) = body.code[block].last().and_then(|i| i.condition()) else {
            continue;
        };
        let (Some(mut is), Some(mut a), Some(mut b)) =
            (compare.predicate(), compare.operand(0), compare.operand(1))
        else {
            continue;
        };
        if b == phi || b == next {
            std::mem::swap(&mut a, &mut b);
            is = swapped(is);
        }
        let goes_on = turns.contains(&yes);
        if a == phi || a == next {
            return Some(Test {
                stay: if goes_on { is } else { inverse(is) },
                bound: b,
                this_turn: a == phi,
                block,
                inside: if goes_on { yes } else { no },
            });
        }
    }
    None
}

/// The last value that passes the test, of a counter that begins at `first`, if that is known, and
/// changes by `by`; if none does, any.
pub(crate) fn last(
    bits: u32,
    first: Option<&Rc<Expr>>,
    by: i64,
    stay: Is,
    bound: Rc<Expr>,
) -> Option<Rc<Expr>> {
    let limit = match (by > 0, stay) {
        (true, Is::LLVMIntSLE | Is::LLVMIntULE) | (false, Is::LLVMIntSGE | Is::LLVMIntUGE) => bound,
        (true, Is::LLVMIntSLT | Is::LLVMIntULT) | (false, Is::LLVMIntSGT | Is::LLVMIntUGT) => {
            after(bits, bound, -by.signum())
        }
        // A counter by larger steps may miss the bound.
        (_, Is::LLVMIntNE) if by.abs() == 1 => after(bits, bound, -by),
        _ => return None,
    };
    let Some(first) = first.filter(|_| by.abs() != 1) else {
        return Some(limit);
    };
    let way = if by > 0 {
        binary(Op::LLVMSub, limit, first.clone())
    } else {
        binary(Op::LLVMSub, first.clone(), limit)
    };
    let width = number(bits, by.unsigned_abs());
    let turns = binary(Op::LLVMSDiv, way, width.clone());
    let moved = binary(Op::LLVMMul, turns, width);
    let op = if by > 0 { Op::LLVMAdd } else { Op::LLVMSub };
    Some(binary(op, first.clone(), moved))
}

/// The value one step on.
pub(crate) fn after(bits: u32, value: Rc<Expr>, by: i64) -> Rc<Expr> {
    binary(Op::LLVMAdd, value, number(bits, by as u64))
}

/// How a turn changes a counter.
pub(crate) enum Step {
    By(i64),
    /// Becomes smaller, by division or shift.
    Shrinks,
}

/// How a turn changes what begins as `phi` and goes on as `next`.
pub(crate) fn step(phi: Value, next: Value) -> Option<Step> {
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
