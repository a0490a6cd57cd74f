//! Values to be worked out at a begin, and the code that does it.

use crate::ir::{Builder, LLVMIntPredicate as Is, LLVMOpcode as Op, Type, Value};
use std::collections::HashMap;
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
type Kind = u32;

/// The type of this value.
type TypeOf = Value;

pub(crate) fn number(bits: Kind, value: u64) -> Rc<Expr> {
    Rc::new(Expr::Number(bits, value))
}

pub(crate) fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_, n) => *n == 0,
        Expr::Known(v) => v.constant_int() == Some(0),
        _ => false,
    }
}

pub(crate) fn binary(op: Op, a: Rc<Expr>, b: Rc<Expr>) -> Rc<Expr> {
    Rc::new(Expr::Binary(op, a, b))
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

fn emit_new(builder: &Builder, expr: &Rc<Expr>, made: &mut HashMap<*const Expr, Value>) -> Value {
    let mut part = |e: &Rc<Expr>| emit(builder, e, made);
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
