//! CASE's compiler pass: asks a manager for GPU memory before a CUDA program allocates it.
//!
//! CASE lets processes share MIG instances. It must know what a process takes before it takes it. This
//! LLVM plug-in reads the host side of a CUDA program, finds the *tasks*, the sets of GPU operations
//! that share memory, and puts `case_task_begin(task, bytes, warps)` before each and `case_task_end`
//! behind it. What it cannot place is made *lazy*: calls of the CUDA runtime are replaced by wrappers
//! that ask when the memory is first used.
//!
//! A module goes through these steps:
//!
//! 1. `prepare` inlines what reaches CUDA calls and brings control flow into a simple form;
//! 2. `operations` collects the CUDA calls of a function, with the help of `calls` and `summary`;
//! 3. `pointers` finds the variables of device pointers, and which operations share them;
//! 4. `plan` places the tasks by `mapa-system-case-placement`, works out `sizes`, and decides what is lazy;
//! 5. `emit` and `lazy` change the code, and `growth` tells whether tasks may begin inside others.
//!
//! With `MAPA_CASE_REMARKS` in the environment, the pass tells on standard error what it decided.

mod body;
mod calls;
mod counter;
mod emit;
mod expr;
mod growth;
mod ir;
mod lazy;
mod memory;
mod operations;
mod plan;
mod pointers;
mod prepare;
mod sizes;
mod summary;

use body::Body;
use ir::{Module, Value};
use llvm_plugin::inkwell::module::Module as InkwellModule;
use llvm_plugin::{
    LlvmModulePass, ModuleAnalysisManager, PassBuilder, PipelineParsing, PreservedAnalyses,
};
use std::collections::HashSet;
use std::io::Write as _;

#[llvm_plugin::plugin(name = "mapa-case", version = "0.1")]
fn register(builder: &mut PassBuilder) {
    // First of all passes, at every level: what the analysis sees does not depend on the level.
    builder.add_pipeline_start_ep_callback(|manager, _| manager.add_pass(CasePass));
    builder.add_module_pipeline_parsing_callback(|name, manager| {
        if name == "mapa-case" {
            manager.add_pass(CasePass);
            PipelineParsing::Parsed
        } else {
            PipelineParsing::NotParsed
        }
    });
}

struct CasePass;

impl LlvmModulePass for CasePass {
    fn run_pass(
        &self,
        module: &mut InkwellModule<'_>,
        _: &ModuleAnalysisManager,
    ) -> PreservedAnalyses {
        let module = Module::of(module);
        // The device's side of the same file comes by too.
        if module.target().starts_with("nvptx")
            || module.function("mapa_case_module_init").is_some()
        {
            return PreservedAnalyses::All;
        }
        if let Err(message) = run(module) {
            say(format_args!("{}: {message}", module.source()));
            // A program that may take memory unasked must not be built.
            std::process::exit(1);
        }
        PreservedAnalyses::None
    }
}

/// Prints a message to standard error. The compiler goes on if it cannot be written, as it does with its own messages.
fn say(what: std::fmt::Arguments<'_>) {
    drop(writeln!(std::io::stderr(), "mapa-case: {what}"));
}

/// Instruments a module.
fn run(module: Module) -> Result<(), String> {
    let uses_cuda = module.functions().iter().any(|f| {
        let name = f.name();
        calls::call(&name).is_some() || calls::is_stub(&name)
    });
    if !uses_cuda {
        // The threads may run what other files have.
        if growth::starts_threads(module) {
            emit::Library::new(module).add_init(0, true);
        }
        return Ok(());
    }
    let remarks = std::env::var_os("MAPA_CASE_REMARKS").is_some();
    prepare::prepare(module)?;
    let summaries = summary::Summaries::new(module);
    let library = emit::Library::new(module);
    let mut state = State {
        next: 1,
        largest: 0,
        growth: growth::Growth::new(module),
        rewriter: lazy::Rewriter::new(module),
        lazy: false,
        in_static: HashSet::new(),
        users: Vec::new(),
    };
    for function in module.functions() {
        let name = function.name();
        let own = calls::is_stub(&name)
            || calls::is_registration(&name)
            || name.starts_with("mapa_case_");
        if function.is_declaration() || own || summaries.of(function).is_none() {
            continue;
        }
        let found = instrument(module, function, &summaries, &library, &mut state)?;
        if remarks {
            for remark in found {
                say(format_args!("{}: {name}: {remark}", module.source()));
            }
        }
    }
    for remark in state.rewrite_users()? {
        if remarks {
            say(format_args!("{}: {remark}", module.source()));
        }
    }
    state.rewriter.rewrite_stubs();
    if state.lazy {
        lazy::rewrite_errors(module);
    }
    state.rewriter.finish();
    library.add_init(state.largest, state.lazy || state.growth.grows());
    module
        .verify()
        .map_err(|message| format!("the pass made code that LLVM refuses: {message}"))
}

/// What the functions of a module have in common.
struct State {
    next: u64,
    largest: u64,
    growth: growth::Growth,
    rewriter: lazy::Rewriter,
    lazy: bool,
    /// Calls of functions that could not be inlined, inside static tasks.
    in_static: HashSet<Value>,
    /// Functions that only use pointers from outside: lazy unless every call is in a static task.
    users: Vec<(Value, Vec<Value>)>,
}

impl State {
    /// Decides on functions that only use pointers from outside; tells of each, for people.
    fn rewrite_users(&mut self) -> Result<Vec<String>, String> {
        let mut told = Vec::new();
        for (function, calls) in std::mem::take(&mut self.users) {
            let all_static = function.is_internal()
                && function.users().into_iter().all(|call| {
                    call.callee() == Some(function)
                        && (self.in_static.contains(&call) || call.function() == Some(function))
                });
            let name = function.name();
            if all_static {
                told.push(format!("{name}: static: inside tasks of its callers"));
            } else {
                self.lazy = true;
                self.rewriter.rewrite_calls(&calls)?;
                told.push(format!(
                    "{name}: lazy: operations whose pointers come from outside the function"
                ));
            }
        }
        Ok(told)
    }
}

/// Instruments a function; returns what was decided.
///
/// # Errors
/// Names a call that cannot be lazy and is in no static task.
fn instrument(
    module: Module,
    function: Value,
    summaries: &summary::Summaries,
    library: &emit::Library,
    state: &mut State,
) -> Result<Vec<String>, String> {
    let body = if function.has_attribute("optnone") {
        Err(
            "lazy: the function must not be optimised (compile with -Xclang -disable-O0-optnone)"
                .to_owned(),
        )
    } else {
        Body::new(module, function).map_err(|e| format!("lazy: {e}"))
    };
    let body = match body {
        Ok(body) => body,
        Err(remark) => {
            state.lazy = true;
            state.rewriter.rewrite_all(function)?;
            return Ok(vec![remark]);
        }
    };
    let operations = operations::collect(&body, summaries);
    let pointers = pointers::follow(&body, &operations, summaries);
    let plan = plan::plan(&body, &operations, &pointers);
    let file = file_number(&module.source());
    let numbers: Vec<u64> = (state.next..)
        .take(plan.tasks.len())
        .map(|n| file << 16 | n)
        .collect();
    state.next += plan.tasks.len() as u64;
    state.in_static.extend(&plan.in_static);
    state.growth.add(&body, &operations, &plan);
    state.largest = state
        .largest
        .max(emit::emit(&body, &plan, library, &numbers));
    let only_uses = summaries
        .of(function)
        .is_some_and(summary::Summary::only_uses);
    let is_user = only_uses && plan.tasks.is_empty() && !plan.lazy.is_empty();
    if is_user {
        // Whether it is lazy depends on its callers.
        let calls = body
            .instructions()
            .map(|(_, i)| i)
            .filter(|i| plan.lazy.contains(i))
            .collect();
        state.users.push((function, calls));
    } else if !plan.lazy.is_empty() {
        state.lazy = true;
        state
            .rewriter
            .rewrite(&body, &plan, &operations, &pointers)?;
    }
    Ok(if is_user { Vec::new() } else { plan.remarks })
}

/// A number for the file, so that tasks of two files differ: FNV-1a of its name, in 47 bits.
fn file_number(source: &str) -> u64 {
    let hash = source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    });
    hash >> 17
}
