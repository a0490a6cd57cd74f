//! Puts begins and ends into the code.
//!
//! Most ends are a plain call. Two are not: where a task may or may not hold memory, a count of its
//! allocations decides, and memory that is left is given back at the end of the process; where paths
//! from inside and outside the task come together, as in a landing pad, a flag tells whether it is open.

use crate::body::Body;
use crate::expr::{self, larger};
use crate::ir::{Builder, LLVMIntPredicate as Is, LLVMOpcode as Op, Module, Value};
use crate::plan::{Bytes, Plan, Planned};
use mapa_case_placement::{Held, Site, Where};
use std::collections::{BTreeMap, HashMap};

/// Flags of `case_task_begin`.
const UNKNOWN_WARPS: u64 = 2;
const EXIT_ON_REFUSAL: u64 = 4;

/// The functions of the client library.
pub(crate) struct Library {
    module: Module,
}

impl Library {
    pub(crate) fn new(module: Module) -> Library {
        Library { module }
    }

    fn begin(&self) -> Value {
        let m = self.module;
        let (long, int) = (m.int(64), m.int(32));
        m.declare(
            "case_task_begin",
            m.function_type(int, &[long, long, long, int]),
        )
    }

    fn end(&self) -> Value {
        let m = self.module;
        m.declare("case_task_end", m.function_type(m.int(32), &[m.int(64)]))
    }

    fn touch(&self) -> Value {
        let m = self.module;
        m.declare("case_lazy_touch", m.function_type(m.void(), &[]))
    }

    fn wait(&self) -> Value {
        let m = self.module;
        m.declare("cudaDeviceSynchronize", m.function_type(m.int(32), &[]))
    }

    /// `void mapa_case_end_if(i64 task, i1 close, i1 wait)`.
    fn end_if(&self) -> Value {
        const NAME: &str = "mapa_case_end_if";
        let m = self.module;
        if let Some(made) = m.function(NAME) {
            return made;
        }
        let ty = m.function_type(m.void(), &[m.int(64), m.int(1), m.int(1)]);
        let function = m.declare(NAME, ty);
        function.make_internal();
        function.add_attribute(m, "nounwind");
        let parameters = function.parameters();
        let (entry, _) = Builder::in_new_block(m, function);
        let (close, close_block) = Builder::in_new_block(m, function);
        let (wait, wait_block) = Builder::in_new_block(m, function);
        let (end, end_block) = Builder::in_new_block(m, function);
        let (out, out_block) = Builder::in_new_block(m, function);
        entry.branch(parameters[1], close_block, out_block);
        close.branch(parameters[2], wait_block, end_block);
        wait.call(self.wait(), &[]);
        wait.jump(end_block);
        end.call(self.end(), &[parameters[0]]);
        end.jump(out_block);
        out.return_void();
        function
    }

    /// Runs `case_init` before `main`: the largest task of which the size is constant, and whether
    /// something here asks for more while it holds memory.
    pub(crate) fn add_init(&self, largest: u64, grows: bool) {
        let m = self.module;
        let init = m.declare(
            "case_init",
            m.function_type(m.int(32), &[m.int(64), m.int(32)]),
        );
        let function = m.declare("mapa_case_module_init", m.function_type(m.void(), &[]));
        function.make_internal();
        let (builder, _) = Builder::in_new_block(m, function);
        builder.call(
            init,
            &[
                m.constant(m.int(64), largest),
                m.constant(m.int(32), u64::from(grows)),
            ],
        );
        builder.return_void();
        m.add_constructor(function);
    }
}

/// Variables of a task.
#[derive(Clone, Copy, Default)]
struct Variables {
    count: Option<Value>,
    open: Option<Value>,
}

/// An end to be put in.
struct End {
    task: usize,
    held: Held,
    wait: bool,
    /// Other paths come to the same place.
    shared: bool,
}

/// Puts in the tasks of a function, numbered from `first`. Returns the bytes of the largest of which
/// the size is constant.
pub(crate) fn emit(body: &Body, plan: &Plan, library: &Library, numbers: &[u64]) -> u64 {
    let mut ends: BTreeMap<Site, Vec<End>> = BTreeMap::new();
    for (task, planned) in plan.tasks.iter().enumerate() {
        collect_ends(body, task, planned, &mut ends);
    }
    let mut variables = Vec::new();
    for task in 0..plan.tasks.len() {
        let all = || ends.values().flatten().filter(|e| e.task == task);
        let counted = all().any(|e| e.held == Held::Maybe);
        let flagged = all().any(|e| e.shared);
        variables.push(declare(body, counted, flagged));
    }
    for (planned, v) in plan.tasks.iter().zip(&variables) {
        if let Some(count) = v.count {
            keep_count(body, planned, count);
        }
    }
    for (site, list) in &ends {
        for end in list {
            emit_end(
                body,
                *site,
                end,
                numbers[end.task],
                variables[end.task],
                library,
            );
        }
    }
    for &touch in &plan.touches {
        Builder::before(body.module, body.at(touch)).call(library.touch(), &[]);
    }
    let mut largest = 0;
    for ((planned, v), &number) in plan.tasks.iter().zip(&variables).zip(numbers) {
        largest = largest.max(emit_begin(body, planned, number, *v, library));
    }
    largest
}

/// The instructions before which ends go.
fn collect_ends(body: &Body, task: usize, planned: &Planned, ends: &mut BTreeMap<Site, Vec<End>>) {
    let mut add = |site: Site, held: Held, wait: bool, shared: bool| {
        let list = ends.entry(site).or_default();
        if let Some(same) = list.iter_mut().find(|e| e.task == task) {
            // Two edges to one block.
            same.held = if same.held == held { held } else { Held::Maybe };
            same.wait |= wait;
            same.shared |= shared;
        } else {
            list.push(End {
                task,
                held,
                wait,
                shared,
            });
        }
    };
    for (&(place, held), &wait) in planned.placement.ends.iter().zip(&planned.waits) {
        if held == Held::Surely {
            continue;
        }
        match place {
            Where::After(site) if site.index + 1 < body.code[site.block].len() => {
                add(
                    Site {
                        block: site.block,
                        index: site.index + 1,
                    },
                    held,
                    wait,
                    false,
                );
            }
            // A call that ends its block, since it may throw: both ways go on.
            Where::After(site) => {
                for &to in body.flow.successors(site.block) {
                    add(
                        start_of(body, to),
                        held,
                        wait,
                        body.flow.predecessors(to).len() > 1,
                    );
                }
            }
            Where::Edge(_, to) => add(
                start_of(body, to),
                held,
                wait,
                body.flow.predecessors(to).len() > 1,
            ),
        }
    }
}

/// The first instruction of a block that others may stand before.
fn start_of(body: &Body, block: usize) -> Site {
    let index = body.code[block]
        .iter()
        .position(|i| !matches!(i.opcode(), Some(Op::LLVMPHI | Op::LLVMLandingPad)))
        .unwrap_or(0);
    Site { block, index }
}

fn declare(body: &Body, counted: bool, flagged: bool) -> Variables {
    let builder = Builder::before(body.module, body.code[0][0]);
    let make = |bits: u32| {
        let ty = body.module.int(bits);
        let variable = builder.alloca(ty);
        builder.store(ty.null(), variable);
        variable
    };
    Variables {
        count: counted.then(|| make(64)),
        open: flagged.then(|| make(1)),
    }
}

/// Counts the task's allocations up and down.
fn keep_count(body: &Body, planned: &Planned, count: Value) {
    let long = body.module.int(64);
    let change = |builder: &Builder, op: Op, condition: Value| {
        let by = builder.cast(Op::LLVMZExt, condition, long);
        let old = builder.load(long, count);
        builder.store(builder.binary(op, old, by), count);
    };
    let after = |call: Value| {
        let site = body.site(call)?;
        let next = body.code[site.block].get(site.index + 1)?;
        Some(Builder::before(body.module, *next))
    };
    for &call in &planned.allocates {
        if let Some(builder) = after(call) {
            let done = builder.compare(Is::LLVMIntEQ, call, call.ty().null());
            change(&builder, Op::LLVMAdd, done);
        }
    }
    for &call in &planned.frees {
        if let (Some(builder), Some(&pointer)) = (after(call), call.arguments().first()) {
            let done = builder.compare(Is::LLVMIntEQ, call, call.ty().null());
            let some = builder.compare(Is::LLVMIntNE, pointer, pointer.ty().null());
            change(
                &builder,
                Op::LLVMSub,
                builder.binary(Op::LLVMAnd, done, some),
            );
        }
    }
    for &site in &planned.resets {
        if let Some(builder) = after(body.at(site)) {
            builder.store(long.null(), count);
        }
    }
}

fn emit_end(body: &Body, site: Site, end: &End, number: u64, v: Variables, library: &Library) {
    let m = body.module;
    let builder = Builder::before(m, body.at(site));
    let task = m.constant(m.int(64), number);
    let empty = (end.held == Held::Maybe)
        .then_some(v.count)
        .flatten()
        .map(|count| {
            let left = builder.load(m.int(64), count);
            builder.compare(Is::LLVMIntEQ, left, m.int(64).null())
        });
    let open = end
        .shared
        .then_some(v.open)
        .flatten()
        .map(|open| builder.load(m.int(1), open));
    let condition = match (empty, open) {
        (Some(a), Some(b)) => Some(builder.binary(Op::LLVMAnd, a, b)),
        (a, b) => a.or(b),
    };
    match condition {
        Some(close) => {
            builder.call(
                library.end_if(),
                &[task, close, m.constant(m.int(1), u64::from(end.wait))],
            );
        }
        None => {
            if end.wait {
                builder.call(library.wait(), &[]);
            }
            builder.call(library.end(), &[task]);
        }
    }
    if let Some(open) = v.open {
        builder.store(m.int(1).null(), open);
    }
}

fn emit_begin(body: &Body, planned: &Planned, number: u64, v: Variables, library: &Library) -> u64 {
    let m = body.module;
    let begin = planned.placement.begin;
    let builder = Builder::before(m, body.at(Site::from(begin)));
    let mut made = HashMap::new();
    let zero = m.int(64).null();
    let sizes: Vec<Value> = planned
        .bytes
        .sizes
        .iter()
        // An allocation of less than nothing fails, and takes nothing from the others.
        .map(|e| larger(&builder, expr::emit(&builder, e, &mut made), zero))
        .collect();
    let bytes = total(&builder, &planned.bytes, &sizes);
    let mut warps = zero;
    for expr in &planned.warps {
        warps = larger(&builder, expr::emit(&builder, expr, &mut made), warps);
    }
    let flags = EXIT_ON_REFUSAL
        | if planned.warps_known {
            0
        } else {
            UNKNOWN_WARPS
        };
    let arguments = [
        m.constant(m.int(64), number),
        bytes,
        warps,
        m.constant(m.int(32), flags),
    ];
    builder.call(library.begin(), &arguments);
    if let Some(count) = v.count {
        builder.store(m.int(64).null(), count);
    }
    if let Some(open) = v.open {
        builder.store(m.constant(m.int(1), 1), open);
    }
    bytes.constant_int().map_or(0, |n| n.max(0) as u64)
}

/// The bytes of the path that allocates most: allocations that exclude each other do not add up.
fn total(builder: &Builder, bytes: &Bytes, sizes: &[Value]) -> Value {
    let mut done: HashMap<usize, Value> = HashMap::new();
    let mut best = builder.module().int(64).null();
    // Of allocations that follow each other in both orders, the first stands for all.
    let leader = |i: usize| {
        (0..sizes.len())
            .find(|&j| j == i || (bytes.after[i].contains(&j) && bytes.after[j].contains(&i)))
            .unwrap_or(i)
    };
    for i in 0..sizes.len() {
        let from = from(builder, bytes, sizes, leader(i), &leader, &mut done);
        best = larger(builder, from, best);
    }
    best
}

/// Bytes of the allocations from `i` on.
fn from(
    builder: &Builder,
    bytes: &Bytes,
    sizes: &[Value],
    i: usize,
    leader: &impl Fn(usize) -> usize,
    done: &mut HashMap<usize, Value>,
) -> Value {
    if let Some(&known) = done.get(&i) {
        return known;
    }
    let mut own = sizes[i];
    for j in (0..sizes.len()).filter(|&j| j != i && leader(j) == i) {
        own = builder.binary(Op::LLVMAdd, own, sizes[j]);
    }
    let later: Vec<usize> = bytes.after[i]
        .iter()
        .copied()
        .filter(|&j| leader(j) == j && j != i)
        .collect();
    // Only the next ones: what follows one of them is counted there.
    let next = later
        .iter()
        .copied()
        .filter(|&j| !later.iter().any(|&k| k != j && bytes.after[k].contains(&j)));
    let mut best: Option<Value> = None;
    for j in next.collect::<Vec<_>>() {
        let value = from(builder, bytes, sizes, j, leader, done);
        best = Some(best.map_or(value, |b| larger(builder, b, value)));
    }
    let sum = best.map_or(own, |b| builder.binary(Op::LLVMAdd, own, b));
    done.insert(i, sum);
    sum
}
