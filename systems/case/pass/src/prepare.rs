//! Brings a module into the form that the analysis reads.
//!
//! Helpers that reach CUDA calls are inlined, and small ones too: `dim3`'s constructor, `std::max`,
//! arithmetic for sizes. Then each function sees its tasks whole. Variables become values, branches on
//! constants go, loops get a block before them and edges a block of their own, so that a point on an
//! edge is the start of a block.
//!
//! The same passes run at every level of optimisation, first of all, so the placements are the same.

use crate::calls;
use crate::ir::{Module, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Most instructions that a function may grow to by inlining.
const MOST_INSTRUCTIONS: usize = 100_000;
/// Most instructions of a helper without CUDA calls that is inlined.
const SMALL: usize = 80;

const PASSES: &str = "always-inline,function(sroa,early-cse<memssa>,sccp,simplifycfg,jump-threading,sroa,\
                      early-cse<memssa>,simplifycfg,loop-simplify,break-crit-edges)";

/// What each defined function calls.
pub(crate) struct Calls {
    order: Vec<Value>,
    callees: HashMap<Value, Vec<Value>>,
    sizes: HashMap<Value, usize>,
}

impl Calls {
    pub(crate) fn of(module: Module) -> Calls {
        let order: Vec<Value> = module
            .functions()
            .into_iter()
            .filter(|f| !f.is_declaration())
            .collect();
        let mut callees = HashMap::new();
        let mut sizes = HashMap::new();
        for &function in &order {
            let code: Vec<Value> = function
                .blocks()
                .into_iter()
                .flat_map(|b| b.instructions())
                .collect();
            sizes.insert(function, code.len());
            callees.insert(
                function,
                code.into_iter().filter_map(Value::callee).collect(),
            );
        }
        Calls {
            order,
            callees,
            sizes,
        }
    }

    pub(crate) fn callees(&self, function: Value) -> &[Value] {
        self.callees.get(&function).map_or(&[], Vec::as_slice)
    }

    /// Functions with a CUDA call, or that call one of these.
    pub(crate) fn reaching(&self) -> HashSet<Value> {
        let mut found = HashSet::new();
        loop {
            let before = found.len();
            for &function in &self.order {
                let name = function.name();
                if calls::is_stub(&name) || calls::is_registration(&name) {
                    continue;
                }
                if self
                    .callees(function)
                    .iter()
                    .any(|c| found.contains(c) || reaches(*c))
                {
                    found.insert(function);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Everything that a function calls, and what that calls.
    pub(crate) fn below(&self, function: Value) -> HashSet<Value> {
        let mut found = HashSet::new();
        let mut open = vec![function];
        while let Some(f) = open.pop() {
            for &callee in self.callees(f) {
                if found.insert(callee) {
                    open.push(callee);
                }
            }
        }
        found
    }

    fn is_recursive(&self, function: Value) -> bool {
        self.below(function).contains(&function)
    }
}

/// Whether a call of this function is one that the pass must see.
fn reaches(function: Value) -> bool {
    let name = function.name();
    calls::is_stub(&name) || !matches!(calls::call(&name), None | Some(calls::Call::Quiet))
}

/// Prepares the module.
///
/// # Errors
/// What LLVM says about its passes; it never does of these.
pub(crate) fn prepare(module: Module) -> Result<(), String> {
    for function in module.functions() {
        let name = function.name();
        if calls::call(&name).is_some() || calls::is_stub(&name) {
            // The runtime is C: with this, calls in the scope of a destructor or `try` end no block.
            function.add_attribute(module, "nounwind");
        }
    }
    let marked = mark(module);
    let result = module.run_passes(PASSES);
    for function in module.functions() {
        if marked.contains(&function.name()) {
            function.remove_attribute("alwaysinline");
        }
    }
    result
}

/// Marks what is to be inlined. Returns the names.
fn mark(module: Module) -> HashSet<String> {
    let graph = Calls::of(module);
    let reaching = graph.reaching();
    let mut near: HashSet<Value> = HashSet::new();
    for &function in &reaching {
        near.extend(graph.below(function));
    }
    let mut grown: BTreeMap<usize, usize> = BTreeMap::new();
    let place: HashMap<Value, usize> = graph
        .order
        .iter()
        .enumerate()
        .map(|(i, f)| (*f, i))
        .collect();
    let mut chosen = BTreeSet::new();
    for (i, &function) in graph.order.iter().enumerate() {
        let name = function.name();
        let wanted = reaching.contains(&function)
            || (near.contains(&function) && is_small(&graph, function));
        let forbidden = name == "main"
            || calls::is_stub(&name)
            || calls::is_registration(&name)
            || function.has_attribute("optnone")
            || function.has_attribute("returns_twice")
            || graph.is_recursive(function);
        if wanted && !forbidden {
            chosen.insert(i);
        }
    }
    // What inlines too much stays a call.
    let all = chosen.clone();
    for &i in &all {
        if size_after(&graph, &place, &all, &mut grown, i) > MOST_INSTRUCTIONS {
            chosen.remove(&i);
        }
    }
    let mut names = HashSet::new();
    for i in chosen {
        let function = graph.order[i];
        // At -O0 clang marks every function so.
        function.remove_attribute("noinline");
        if !function.has_attribute("alwaysinline") {
            function.add_attribute(module, "alwaysinline");
            names.insert(function.name());
        }
    }
    names
}

fn is_small(graph: &Calls, function: Value) -> bool {
    graph.sizes.get(&function).is_some_and(|&n| n <= SMALL)
}

fn size_after(
    graph: &Calls,
    place: &HashMap<Value, usize>,
    chosen: &BTreeSet<usize>,
    grown: &mut BTreeMap<usize, usize>,
    i: usize,
) -> usize {
    if let Some(&known) = grown.get(&i) {
        return known;
    }
    let function = graph.order[i];
    let mut size = graph.sizes.get(&function).copied().unwrap_or(0);
    for callee in graph.callees(function) {
        if let Some(j) = place.get(callee).filter(|j| chosen.contains(j)) {
            // Chosen functions are not recursive, so this ends.
            size = size.saturating_add(size_after(graph, place, chosen, grown, *j));
        }
    }
    grown.insert(i, size);
    size
}
