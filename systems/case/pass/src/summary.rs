//! What functions do that could not be inlined.

use crate::body::cuda;
use crate::calls::{self, Call};
use crate::ir::{LLVMOpcode as Op, Module, Value};
use crate::prepare::Calls;
use std::collections::HashMap;

/// What a function does to the device, with all that it calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// Allocates or frees device memory, or hands pointers to code that is not seen.
    pub(crate) manages: bool,
    /// Global variables that it or what it calls reads or writes.
    pub(crate) globals: Vec<Value>,
}

impl Summary {
    /// Launches and copies, but neither allocates nor frees.
    pub(crate) fn only_uses(&self) -> bool {
        !self.manages
    }
}

/// Summaries of the functions that reach the device.
pub(crate) struct Summaries(HashMap<Value, Summary>);

impl Summaries {
    pub(crate) fn of(&self, function: Value) -> Option<&Summary> {
        self.0.get(&function)
    }

    pub(crate) fn new(module: Module) -> Summaries {
        let graph = Calls::of(module);
        let reaching = graph.reaching();
        let mut all = HashMap::new();
        for &function in &reaching {
            let mut summary = Summary::default();
            let below = graph.below(function);
            let mut bodies: Vec<Value> = below
                .iter()
                .copied()
                .filter(|f| reaching.contains(f))
                .collect();
            bodies.push(function);
            bodies.sort_by_key(|f| f.name());
            for body in bodies {
                read(body, &reaching_or_known(&reaching), &mut summary);
            }
            all.insert(function, summary);
        }
        Summaries(all)
    }
}

fn reaching_or_known(reaching: &std::collections::HashSet<Value>) -> impl Fn(Value) -> bool + '_ {
    move |f| {
        let name = f.name();
        reaching.contains(&f)
            || calls::is_stub(&name)
            || calls::call(&name).is_some()
            || calls::is_plain_library(&name)
            || calls::is_mark(&name)
            || name.starts_with("llvm.")
    }
}

fn read(function: Value, known: &impl Fn(Value) -> bool, summary: &mut Summary) {
    for instruction in function.blocks().into_iter().flat_map(|b| b.instructions()) {
        for i in 0..instruction.operand_count() {
            if let Some(global) = instruction.operand(i).filter(|v| v.is_global_variable()) {
                summary.globals.push(global);
            }
        }
        if instruction.is_call() {
            let managing = matches!(
                cuda(instruction),
                Some(Call::Allocate { .. } | Call::Free { .. } | Call::Reset | Call::Unknown)
            );
            // Code that is not seen may manage what it is given.
            let opaque = match instruction.callee() {
                None => false,
                Some(f) => !known(f) && instruction.arguments().iter().any(|a| a.ty().is_pointer()),
            };
            summary.manages |= managing || opaque;
        } else if instruction.is_op(Op::LLVMRet)
            && instruction.operand(0).is_some_and(|v| v.ty().is_pointer())
        {
            summary.manages = true;
        }
    }
}
