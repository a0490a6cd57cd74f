//! A function as the analysis reads it, and where its pointers come from.

use crate::calls;
use crate::ir::{Block, LLVMOpcode as Op, Module, Value};
use mapa_case_placement::{Flow, Irreducible, Site};
use std::collections::{HashMap, HashSet};

/// A variable that holds a pointer: base and distance, which is `None` if it is not constant.
pub(crate) type Slot = (Value, Option<i64>);

/// Where a pointer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    /// Loaded from this variable.
    Slot(Slot),
    /// The address of a variable, or host memory that this function got from `malloc` or `new`.
    Host(Value),
    /// Argument, result of a call, or loaded from memory of which nothing is known.
    Outside(Value),
}

/// A function with its instructions by number.
pub(crate) struct Body {
    pub(crate) module: Module,
    pub(crate) function: Value,
    pub(crate) code: Vec<Vec<Value>>,
    pub(crate) flow: Flow,
    sites: HashMap<Value, Site>,
    numbers: HashMap<Block, usize>,
}

impl Body {
    pub(crate) fn new(module: Module, function: Value) -> Result<Body, Irreducible> {
        let blocks = function.blocks();
        let numbers: HashMap<Block, usize> =
            blocks.iter().enumerate().map(|(i, b)| (*b, i)).collect();
        let code: Vec<Vec<Value>> = blocks.iter().map(|b| b.instructions()).collect();
        let successors = blocks
            .iter()
            .map(|b| {
                b.successors()
                    .iter()
                    .filter_map(|s| numbers.get(s).copied())
                    .collect()
            })
            .collect();
        let flow = Flow::new(code.iter().map(Vec::len).collect(), successors)?;
        let mut sites = HashMap::new();
        for (block, list) in code.iter().enumerate() {
            for (index, &instruction) in list.iter().enumerate() {
                sites.insert(instruction, Site { block, index });
            }
        }
        Ok(Body {
            module,
            function,
            code,
            flow,
            sites,
            numbers,
        })
    }

    pub(crate) fn site(&self, instruction: Value) -> Option<Site> {
        self.sites.get(&instruction).copied()
    }

    pub(crate) fn number(&self, block: Block) -> Option<usize> {
        self.numbers.get(&block).copied()
    }

    pub(crate) fn at(&self, site: Site) -> Value {
        self.code[site.block][site.index]
    }

    /// Every instruction with its site, in order.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = (Site, Value)> + '_ {
        self.code.iter().enumerate().flat_map(|(block, list)| {
            list.iter()
                .enumerate()
                .map(move |(index, &value)| (Site { block, index }, value))
        })
    }

    /// What a pointer points into: a variable, an argument, or whatever it was computed from, and the
    /// distance from its start.
    pub(crate) fn base(&self, pointer: Value) -> Slot {
        base(self.module, pointer)
    }

    /// Where a pointer may come from. Null is none of it.
    pub(crate) fn roots(&self, pointer: Value) -> Vec<Root> {
        let mut roots = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![pointer];
        while let Some(value) = open.pop() {
            if !seen.insert(value) || value.is_null_like() {
                continue;
            }
            match value.opcode() {
                Some(Op::LLVMPHI) => open.extend(value.incoming().into_iter().map(|(v, _)| v)),
                Some(Op::LLVMSelect) => {
                    open.extend([value.operand(1), value.operand(2)].into_iter().flatten())
                }
                Some(
                    Op::LLVMGetElementPtr
                    | Op::LLVMBitCast
                    | Op::LLVMAddrSpaceCast
                    | Op::LLVMFreeze,
                ) => {
                    open.extend(value.operand(0));
                }
                Some(Op::LLVMLoad) => {
                    let from = value.operand(0).map(|p| self.base(p));
                    roots.push(match from {
                        Some(slot) if is_variable(slot.0) || slot.0.is_argument() => {
                            Root::Slot(slot)
                        }
                        _ => Root::Outside(value),
                    });
                }
                Some(Op::LLVMAlloca) => roots.push(Root::Host(value)),
                Some(Op::LLVMCall | Op::LLVMInvoke) if is_host_allocation(value) => {
                    roots.push(Root::Host(value))
                }
                _ if value.is_global_variable() || value.is_function() => {
                    roots.push(Root::Host(value))
                }
                _ => roots.push(Root::Outside(value)),
            }
        }
        roots.dedup();
        roots
    }
}

/// Base and distance of an address.
pub(crate) fn base(module: Module, pointer: Value) -> Slot {
    let mut at = pointer;
    let mut offset = Some(0);
    loop {
        match at.opcode() {
            Some(Op::LLVMGetElementPtr) => {
                let step = module.constant_offset(at);
                offset = offset.zip(step).map(|(a, b)| a + b);
            }
            Some(Op::LLVMBitCast | Op::LLVMAddrSpaceCast) => {}
            _ => return (at, offset),
        }
        match at.operand(0) {
            Some(next) => at = next,
            None => return (at, offset),
        }
    }
}

/// A local or global variable.
pub(crate) fn is_variable(base: Value) -> bool {
    base.is_op(Op::LLVMAlloca) || base.is_global_variable()
}

/// Fresh host memory, which nothing else points to.
pub(crate) fn is_host_allocation(value: Value) -> bool {
    value.callee().is_some_and(|f| {
        matches!(
            f.name().as_str(),
            "malloc"
                | "calloc"
                | "_Znwm"
                | "_Znam"
                | "aligned_alloc"
                | "strdup"
                | "_ZnwmSt11align_val_t"
        )
    })
}

/// Name of the function that a call calls; empty for a call through a pointer.
pub(crate) fn callee_name(call: Value) -> String {
    call.callee().map(Value::name).unwrap_or_default()
}

/// What a call of the CUDA runtime does.
pub(crate) fn cuda(call: Value) -> Option<calls::Call> {
    calls::call(&callee_name(call))
}
