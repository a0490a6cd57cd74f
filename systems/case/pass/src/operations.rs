//! The GPU operations of a function.

use crate::body::{Body, callee_name, cuda};
use crate::calls::{self, Call, Size};
use crate::ir::{LLVMOpcode as Op, Value};
use crate::summary::Summaries;
use mapa_case_placement::{Point, Site};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Grid and block of a launch, as the stub's caller packs them: x and y in one number, then z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: (Value, Value),
    pub(crate) block: (Value, Value),
}

/// What an operation does.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Allocate {
        size: Size,
    },
    Free,
    /// A copy, a set or the like.
    Use,
    /// A kernel; without a shape, warps are not known.
    Launch {
        shape: Option<Shape>,
    },
}

/// On which stream an operation goes on after its call, or waits before it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Neither.
    Neither,
    /// Goes on.
    Goes(Option<Value>),
    /// Returns after all work.
    WaitsAll,
    /// Returns after the work of the default stream.
    WaitsDefault,
}

/// An operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) call: Value,
    pub(crate) site: Site,
    pub(crate) kind: Kind,
    pub(crate) queue: Queue,
    /// Pointers to device memory, for sure.
    pub(crate) device: Vec<Value>,
    /// Pointers to device or host memory.
    pub(crate) either: Vec<Value>,
    /// Variables that are handed over whole.
    pub(crate) variables: Vec<Value>,
    /// Whether there may be other pointers, in memory that is not followed.
    pub(crate) unseen: bool,
}

/// All that a function does to the device.
#[derive(Default)]
pub(crate) struct Operations {
    pub(crate) list: Vec<Operation>,
    /// Synchronisations, with the stream of those that wait for one.
    pub(crate) waits: BTreeMap<Site, Option<Value>>,
    /// Calls that free everything.
    pub(crate) resets: Vec<Site>,
    /// Calls that reach the driver, all but the operations.
    pub(crate) touches: Vec<Site>,
    /// Calls that take device memory in a way which is not followed.
    pub(crate) unknown: Vec<Site>,
    /// Variables of pointers to pinned host memory.
    pub(crate) pinned: HashSet<Value>,
    /// Arrays of pointers to parameters, for launches by `cudaLaunchKernel`.
    pub(crate) parameter_arrays: HashSet<Value>,
}

/// Collects the operations of a function.
pub(crate) fn collect(body: &Body, summaries: &Summaries) -> Operations {
    let mut all = Operations::default();
    let launches = find_launches(body);
    for (site, call) in body.instructions() {
        if !call.is_call() {
            continue;
        }
        if let Some(&configure) = launches.get(&call) {
            all.add_launch(body, call, site, configure);
        } else if let Some(known) = cuda(call) {
            all.add_runtime_call(body, call, site, known, &launches);
        } else if let Some(summary) = call.callee().and_then(|f| summaries.of(f))
            && summary.only_uses()
        {
            let device = call
                .arguments()
                .into_iter()
                .filter(|a| a.ty().is_pointer())
                .collect();
            all.list.push(Operation {
                call,
                site,
                kind: Kind::Launch { shape: None },
                queue: Queue::Goes(None),
                device: Vec::new(),
                either: device,
                variables: summary.globals.clone(),
                unseen: false,
            });
        }
    }
    all
}

impl Operations {
    fn add_launch(&mut self, body: &Body, call: Value, site: Site, configure: Value) {
        let mut device = Vec::new();
        let mut variables = Vec::new();
        for (i, argument) in call.arguments().into_iter().enumerate() {
            if call.is_by_value(i as u32) {
                variables.push(body.base(argument).0);
            } else if argument.ty().is_pointer() {
                device.push(argument);
            }
        }
        let set = configure.arguments();
        let shape = match set[..] {
            [gxy, gz, bxy, bz, ..] => Some(Shape {
                grid: (gxy, gz),
                block: (bxy, bz),
            }),
            _ => None,
        };
        let stream = set.get(5).copied();
        self.list.push(Operation {
            call,
            site,
            kind: Kind::Launch { shape },
            queue: Queue::Goes(stream),
            device: Vec::new(),
            either: device,
            variables,
            unseen: false,
        });
    }

    // Long, since it is one match with an arm for each kind of call: what an arm needs of the arguments stands in it.
    fn add_runtime_call(
        &mut self,
        body: &Body,
        call: Value,
        site: Site,
        known: Call,
        launches: &HashMap<Value, Value>,
    ) {
        let arguments = call.arguments();
        let argument = |i: u32| arguments.get(i as usize).copied();
        let mut operation = Operation {
            call,
            site,
            kind: Kind::Use,
            queue: Queue::Neither,
            device: Vec::new(),
            either: Vec::new(),
            variables: Vec::new(),
            unseen: false,
        };
        match known {
            Call::Quiet => return,
            Call::Configure => {
                // Belongs to the launch that it configures, which is found by its own call.
                if !launches.values().any(|&c| c == call) {
                    self.touches.push(site);
                }
                return;
            }
            Call::Touch => return self.touches.push(site),
            Call::AllocateHost => {
                self.touches.push(site);
                self.pinned.extend(argument(0).map(|a| body.base(a).0));
                return;
            }
            Call::Wait(stream) => {
                self.touches.push(site);
                self.waits.insert(site, stream.and_then(argument));
                return;
            }
            Call::Reset => {
                self.touches.push(site);
                return self.resets.push(site);
            }
            Call::Unknown => {
                self.touches.push(site);
                return self.unknown.push(site);
            }
            Call::Allocate { size, queued } => {
                operation.kind = Kind::Allocate { size };
                operation.queue = queued.map_or(Queue::Neither, |s| Queue::Goes(argument(s)));
            }
            Call::Free { queued } => {
                operation.kind = Kind::Free;
                operation.queue = queued.map_or(Queue::WaitsAll, |s| Queue::Goes(argument(s)));
                operation.device.extend(argument(0));
                // `cudaFree(0)` is the usual way to make a context.
                if argument(0).is_none_or(Value::is_null_like) {
                    return self.touches.push(site);
                }
            }
            Call::Copy {
                target,
                source,
                kind,
                queued,
            } => {
                let symbol = target.is_none() || (source.is_none() && kind.is_some());
                sides(&mut operation, &arguments, target, source, kind, symbol);
                operation.queue = match queued {
                    Some(s) => Queue::Goes(argument(s)),
                    None if calls::is_synchronous_copy(&callee_name(call)) => Queue::WaitsDefault,
                    None => Queue::Neither,
                };
                // Symbols live as long as the module: their copies are no part of a task.
                if symbol && operation.device.is_empty() {
                    self.touches.push(site);
                    if operation.either.is_empty() {
                        return;
                    }
                }
            }
            Call::LaunchDirect {
                grid,
                block,
                arguments: list,
                stream: s,
            } => {
                let array = argument(list).map(|a| body.base(a).0);
                if let Some(array) = array.filter(|a| a.is_op(Op::LLVMAlloca)) {
                    self.parameter_arrays.insert(array);
                    operation.variables = stored_addresses(body, array);
                } else {
                    operation.unseen = true;
                }
                let part = |i: u32| Some((argument(i)?, argument(i + 1)?));
                let shape = part(grid)
                    .zip(part(block))
                    .map(|(grid, block)| Shape { grid, block });
                operation.kind = Kind::Launch { shape };
                operation.queue = Queue::Goes(argument(s));
            }
        }
        self.list.push(operation);
    }
}

/// Which sides of a copy are device memory, by its direction.
fn sides(
    operation: &mut Operation,
    arguments: &[Value],
    target: Option<u32>,
    source: Option<u32>,
    kind: Option<u32>,
    symbol: bool,
) {
    let argument = |i: Option<u32>| i.and_then(|i| arguments.get(i as usize).copied());
    let (target, source) = (argument(target), argument(source));
    // cudaMemcpyKind: host to host 0, host to device 1, device to host 2, device to device 3, default 4.
    let direction = kind.map(|_| argument(kind).and_then(Value::constant_int));
    let (to_device, from_device) = match direction {
        // No direction: a set, or a copy between devices.
        None => (Some(true), Some(true)),
        Some(Some(0)) => (Some(false), Some(false)),
        Some(Some(1)) => (Some(true), Some(false)),
        Some(Some(2)) => (Some(false), Some(true)),
        Some(Some(3)) => (Some(true), Some(true)),
        Some(_) => (None, None),
    };
    for (side, known) in [(target, to_device), (source, from_device)] {
        match (side, known) {
            (Some(pointer), Some(true)) => operation.device.push(pointer),
            (Some(pointer), None) if !symbol => operation.either.push(pointer),
            _ => {}
        }
    }
}

/// Variables of which the address is stored in an array.
fn stored_addresses(body: &Body, array: Value) -> Vec<Value> {
    let mut found = Vec::new();
    for (_, store) in body.instructions().filter(|(_, i)| i.is_op(Op::LLVMStore)) {
        let into = store.operand(1).map(|p| body.base(p).0);
        if into == Some(array) {
            found.extend(store.operand(0).map(|v| body.base(v).0));
        }
    }
    found
}

/// The calls that launch, each with its `__cudaPushCallConfiguration`.
///
/// That is the stub's call after it; for a kernel called through a pointer, the first call through a
/// pointer where the configuration was accepted.
fn find_launches(body: &Body) -> HashMap<Value, Value> {
    let mut configures = Vec::new();
    let mut stubs = Vec::new();
    let mut indirect = Vec::new();
    for (site, call) in body.instructions().filter(|(_, i)| i.is_call()) {
        let name = callee_name(call);
        if cuda(call) == Some(Call::Configure) {
            configures.push((site, call));
        } else if calls::is_stub(&name) {
            stubs.push((site, call));
        } else if call.callee().is_none() {
            indirect.push((site, call));
        }
    }
    let mut found = HashMap::new();
    let mut used = HashSet::new();
    for (site, call) in stubs {
        // The last configuration on the way: among those that dominate the call, the one that all the
        // others dominate.
        let point = Point::from(site);
        let mut best: Option<(Site, Value)> = None;
        for &(s, c) in &configures {
            let later = best.is_none_or(|(b, _)| body.flow.site_dominates(b, Point::from(s)));
            if body.flow.site_dominates(s, point) && later {
                best = Some((s, c));
            }
        }
        if let Some((_, configure)) = best {
            found.insert(call, configure);
            used.insert(configure);
        }
    }
    for (site, configure) in configures {
        if used.contains(&configure) {
            continue;
        }
        let accepted = body.flow.successors(site.block).to_vec();
        let call = indirect.iter().find(|(s, _)| {
            accepted
                .iter()
                .any(|&b| body.flow.predecessors(b).len() == 1 && body.flow.dominates(b, s.block))
        });
        if let Some(&(_, call)) = call {
            found.insert(call, configure);
        }
    }
    found
}
