//! Replaces calls by the client library's wrappers.

use crate::body::{Body, Root, Slot, base, callee_name, cuda};
use crate::calls::{self, Call};
use crate::ir::{Builder, LLVMOpcode as Op, Module, Value};
use crate::operations::{Kind, Operations};
use crate::plan::Plan;
use crate::pointers::Pointers;
use std::collections::{HashMap, HashSet};

/// Replaces the calls of a module.
pub(crate) struct Rewriter {
    module: Module,
    /// Calls that others stand for now. Plans name them, and code is put before them, so they are erased
    /// when every function is done.
    replaced: Vec<Value>,
    /// Calls and their arguments that were made real pointers.
    resolved: HashSet<(Value, Value)>,
}

impl Rewriter {
    pub(crate) fn new(module: Module) -> Rewriter {
        Rewriter {
            module,
            replaced: Vec::new(),
            resolved: HashSet::new(),
        }
    }

    /// Makes the lazy calls of a planned function lazy.
    ///
    /// # Errors
    /// Names a call that cannot be lazy.
    pub(crate) fn rewrite(
        &mut self,
        body: &Body,
        plan: &Plan,
        operations: &Operations,
        pointers: &Pointers,
    ) -> Result<(), String> {
        // Pointers that the function uses as device pointers, wherever they come from, and the places
        // in memory from which it reads such.
        let mut device: HashSet<Value> = HashSet::new();
        let mut places: HashSet<Slot> = HashSet::new();
        let mut groups: HashSet<Value> = HashSet::new();
        for operation in operations
            .list
            .iter()
            .filter(|o| plan.lazy.contains(&o.call))
        {
            groups.extend(pointers.group_of.get(&operation.call).copied().flatten());
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
        for given in &pointers.opaque {
            if groups.contains(&pointers.groups.find(given.base)) {
                self.resolve(given.call, given.pointer);
            }
        }
        for (_, call) in body.instructions().filter(|(_, i)| i.is_call()) {
            if !is_opaque(call) && cuda(call) != Some(Call::Touch) {
                continue;
            }
            for argument in call
                .arguments()
                .into_iter()
                .filter(|a| a.ty().is_pointer() && is_device(*a))
            {
                self.resolve(call, argument);
            }
        }
        for (_, call) in body.instructions().filter(|(_, i)| plan.lazy.contains(i)) {
            self.replace(call)?;
        }
        Ok(())
    }

    /// Gives a call the real pointer in place of one that may be a placeholder.
    fn resolve(&mut self, call: Value, pointer: Value) {
        if !self.resolved.insert((call, pointer)) {
            return;
        }
        let m = self.module;
        let resolve = m.declare(
            "case_lazy_resolve",
            m.function_type(m.pointer(), &[m.pointer()]),
        );
        let real = Builder::before(m, call).call(resolve, &[pointer]);
        for (i, argument) in call.arguments().into_iter().enumerate() {
            if argument == pointer {
                call.set_operand(i as u32, real);
            }
        }
    }

    /// Makes one call of the runtime lazy.
    fn replace(&mut self, call: Value) -> Result<(), String> {
        let Some(callee) = call.callee() else {
            return Ok(());
        };
        let name = callee.name();
        let wrapper = calls::wrapper(&name);
        match (cuda(call), wrapper, callee.function_type()) {
            (Some(Call::LaunchDirect { .. }), Some(wrapper), _) => {
                let sizes = parameter_sizes(self.module, call);
                self.launch(call, &wrapper, &sizes);
            }
            (_, Some(wrapper), Some(ty)) => call.set_callee(self.module.declare(&wrapper, ty)),
            // A copy needs no more of its own than real pointers.
            (Some(Call::Copy { target, source, .. }), ..) => {
                let arguments = call.arguments();
                for side in [target, source].into_iter().flatten() {
                    if let Some(&pointer) = arguments.get(side as usize) {
                        self.resolve(call, pointer);
                    }
                }
            }
            (Some(_), ..) => {
                let around = call.function().map(Value::name).unwrap_or_default();
                return Err(format!(
                    "{around}: {name} cannot be lazy: expected it in a static task (--explain says why \
                     this is none), or a call that can"
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes these calls lazy.
    ///
    /// # Errors
    /// Names a call that cannot be lazy.
    pub(crate) fn rewrite_calls(&mut self, calls: &[Value]) -> Result<(), String> {
        calls.iter().try_for_each(|&call| self.replace(call))
    }

    /// Makes every call of a function lazy: for functions that are not analysed.
    ///
    /// # Errors
    /// Names a call that cannot be lazy.
    pub(crate) fn rewrite_all(&mut self, function: Value) -> Result<(), String> {
        let m = self.module;
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
                Some(_) => self.replace(call)?,
            }
        }
        Ok(())
    }

    /// Makes the kernels' stubs translate pointers. A kernel of one file may be launched from lazy code of
    /// another, so every stub does.
    pub(crate) fn rewrite_stubs(&mut self) {
        let m = self.module;
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
                if let (Some(Call::LaunchDirect { .. }), Some(wrapper)) =
                    (cuda(call), calls::wrapper(&callee_name(call)))
                {
                    self.launch(call, &wrapper, &sizes);
                }
            }
        }
    }

    /// Replaces `cudaLaunchKernel` by `case_lazy_launch`, which is also told the parameters' sizes.
    fn launch(&mut self, call: Value, wrapper: &str, sizes: &[u64]) {
        let m = self.module;
        let Some((result, mut parameters)) = call.signature() else {
            return;
        };
        parameters.extend([m.int(32), m.pointer()]);
        let function = m.declare(wrapper, m.function_type(result, &parameters));
        let mut arguments = call.arguments();
        arguments.push(m.constant(m.int(32), sizes.len() as u64));
        arguments.push(m.constant_array("mapa_case_sizes", sizes));
        let new = Builder::before(m, call).call(function, &arguments);
        call.replace_uses(new);
        self.replaced.push(call);
    }

    /// Erases what was replaced. No plan is of use after.
    pub(crate) fn finish(self) {
        self.module.erase(self.replaced);
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
