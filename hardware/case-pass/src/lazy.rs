//! Replaces calls by the client library's wrappers.

use crate::body::{Body, Root, Slot, base, callee_name, cuda};
use crate::calls::{self, Call};
use crate::ir::{Builder, LLVMOpcode as Op, Module, Value, signature};
use crate::operations::{Kind, Operations};
use crate::plan::Plan;
use crate::pointers::Pointers;
use std::collections::{HashMap, HashSet};

/// Makes the lazy calls of a planned function lazy.
pub(crate) fn rewrite(body: &Body, plan: &Plan, operations: &Operations, pointers: &Pointers) {
    let m = body.module;
    // Pointers that the function uses as device pointers, wherever they come from, and the places in
    // memory from which it reads such.
    let mut device: HashSet<Value> = HashSet::new();
    let mut places: HashSet<Slot> = HashSet::new();
    for operation in operations
        .list
        .iter()
        .filter(|o| plan.lazy.contains(&o.call))
    {
        if let (Kind::Allocate { .. }, Some(target)) =
            (&operation.kind, operation.call.arguments().first())
        {
            places.insert(body.base(*target));
        }
        for pointer in operation.device.iter().chain(&operation.either) {
            for root in body.roots(*pointer) {
                if let Root::Outside(value) = root {
                    device.insert(value);
                    places.extend(place_of(body, value));
                }
            }
        }
    }
    let is_device = |argument: Value| {
        body.roots(argument).into_iter().any(|root| match root {
            Root::Outside(value) => {
                device.contains(&value)
                    || place_of(body, value).is_some_and(|p| places.contains(&p))
            }
            _ => false,
        })
    };
    let resolve = || {
        m.declare(
            "case_lazy_resolve",
            m.function_type(m.pointer(), &[m.pointer()]),
        )
    };
    let mut resolved: HashSet<(Value, Value)> = HashSet::new();
    for &(call, pointer) in &pointers.opaque {
        resolve_argument(m, call, pointer, resolve(), &mut resolved);
    }
    for (_, call) in body.instructions().filter(|(_, i)| i.is_call()) {
        if !is_opaque(call) {
            continue;
        }
        for argument in call
            .arguments()
            .into_iter()
            .filter(|a| a.ty().is_pointer() && is_device(*a))
        {
            resolve_argument(m, call, argument, resolve(), &mut resolved);
        }
    }
    for (_, call) in body.instructions().filter(|(_, i)| plan.lazy.contains(i)) {
        replace(m, call);
    }
}

/// Where in memory a pointer was loaded from.
fn place_of(body: &Body, loaded: Value) -> Option<Slot> {
    let from = loaded
        .is_op(Op::LLVMLoad)
        .then(|| loaded.operand(0))
        .flatten()?;
    Some(body.base(from))
}

/// Code of another file, which may do anything with a device pointer.
fn is_opaque(call: Value) -> bool {
    let name = callee_name(call);
    call.callee().is_some_and(Value::is_declaration)
        && cuda(call).is_none()
        && !calls::is_stub(&name)
        && !calls::is_mark(&name)
        && !calls::is_plain_library(&name)
        && !name.starts_with("llvm.")
}

fn resolve_argument(
    m: Module,
    call: Value,
    pointer: Value,
    resolve: Value,
    done: &mut HashSet<(Value, Value)>,
) {
    if !done.insert((call, pointer)) {
        return;
    }
    let real = Builder::before(m, call).call(resolve, &[pointer]);
    for (i, argument) in call.arguments().into_iter().enumerate() {
        if argument == pointer {
            call.set_operand(i as u32, real);
        }
    }
}

/// Replaces one call of the runtime.
fn replace(m: Module, call: Value) {
    let Some(callee) = call.callee() else { return };
    if let Some(Call::LaunchDirect { .. }) = cuda(call) {
        let sizes = parameter_sizes(m, call);
        return launch(m, call, &sizes);
    }
    if let (Some(name), Some(ty)) = (calls::wrapper(&callee.name()), callee.function_type()) {
        call.set_callee(m.declare(&name, ty));
    }
}

/// Makes these calls lazy.
pub(crate) fn rewrite_calls(m: Module, calls: &[Value]) {
    for &call in calls {
        replace(m, call);
    }
}

/// Makes every call of a function lazy that has a wrapper: for functions that are not analysed.
pub(crate) fn rewrite_all(m: Module, function: Value) {
    let touch = m.declare("case_lazy_touch", m.function_type(m.void(), &[]));
    for call in function
        .blocks()
        .into_iter()
        .flat_map(|b| b.instructions())
        .filter(|i| i.is_call())
    {
        match cuda(call) {
            None | Some(Call::Quiet | Call::Configure) => {}
            Some(Call::Touch | Call::Wait(_) | Call::Reset | Call::Unknown) => {
                Builder::before(m, call).call(touch, &[]);
            }
            Some(_) => replace(m, call),
        }
    }
}

/// Errors that the program asks for may be those of the wrappers.
pub(crate) fn rewrite_errors(m: Module) {
    for name in ["cudaGetLastError", "cudaPeekAtLastError"] {
        let Some(function) = m.function(name) else {
            continue;
        };
        let (Some(wrapper), Some(ty)) = (calls::wrapper(name), function.function_type()) else {
            continue;
        };
        let wrapper = m.declare(&wrapper, ty);
        for call in function
            .users()
            .into_iter()
            .filter(|u| u.callee() == Some(function))
        {
            call.set_callee(wrapper);
        }
    }
}

/// Makes the kernels' stubs translate pointers. A kernel of one file may be launched from lazy code of
/// another, so every stub does.
pub(crate) fn rewrite_stubs(m: Module) {
    for stub in m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration() && calls::is_stub(&f.name()))
    {
        let sizes: Vec<u64> = stub
            .parameters()
            .into_iter()
            .enumerate()
            .map(|(i, p)| m.size_of(stub.by_value_type(i as u32).unwrap_or_else(|| p.ty())))
            .collect();
        for call in stub.blocks().into_iter().flat_map(|b| b.instructions()) {
            if let Some(Call::LaunchDirect { .. }) = cuda(call) {
                launch(m, call, &sizes);
            }
        }
    }
}

/// Replaces `cudaLaunchKernel` by `case_lazy_launch`, which is also told the parameters' sizes.
fn launch(m: Module, call: Value, sizes: &[u64]) {
    let Some((result, mut parameters)) = signature(call) else {
        return;
    };
    let name = callee_name(call);
    let wrapper = match name.strip_prefix("cudaLaunchKernel") {
        Some(suffix @ ("" | "_ptsz")) => format!("case_lazy_launch{suffix}"),
        _ => return,
    };
    parameters.extend([m.int(32), m.pointer()]);
    let function = m.declare(&wrapper, m.function_type(result, &parameters));
    let mut arguments = call.arguments();
    arguments.push(m.constant(m.int(32), sizes.len() as u64));
    arguments.push(m.constant_array("mapa_case_sizes", sizes));
    let builder = Builder::before(m, call);
    let new = builder.call(function, &arguments);
    call.replace_and_erase(new);
}

/// Sizes of the parameters that a program hands to `cudaLaunchKernel` itself, as far as its array of
/// pointers to local variables shows them.
fn parameter_sizes(m: Module, call: Value) -> Vec<u64> {
    let Some(array) = call.arguments().get(5).map(|a| base(m, *a).0) else {
        return Vec::new();
    };
    let Some(function) = call.function() else {
        return Vec::new();
    };
    let mut found: HashMap<i64, u64> = HashMap::new();
    for store in function
        .blocks()
        .into_iter()
        .flat_map(|b| b.instructions())
        .filter(|i| i.is_op(Op::LLVMStore))
    {
        let (Some(value), Some(target)) = (store.operand(0), store.operand(1)) else {
            continue;
        };
        if let ((to, Some(offset)), Some(ty)) = (base(m, target), base(m, value).0.allocated_type())
            && to == array
        {
            found.insert(offset / 8, m.size_of(ty));
        }
    }
    (0..).map_while(|i| found.get(&i).copied()).collect()
}
