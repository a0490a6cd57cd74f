//! Whether the process may ask for memory while it holds some.
//!
//! The manager must know before the first task: of the tasks that may grow, it lets one onto an instance,
//! for two would wait for each other. A lazy task may. So may a static one if, while it is open, code is
//! called that may have tasks of its own; if its memory is left and other tasks come later; or if threads
//! have tasks beside each other.

use crate::body::{Body, callee_name, cuda};
use crate::calls;
use crate::ir::{Module, Value};
use crate::operations::Operations;
use crate::plan::Plan;
use crate::prepare::Calls;
use mapa_case_placement::{Held, Placement, Point, is_open_at};
use std::collections::HashSet;

/// What is known of a module.
pub(crate) struct Growth {
    graph: Calls,
    /// Functions with a call of code that is not seen.
    unseen: HashSet<Value>,
    /// Functions with tasks.
    begin: HashSet<Value>,
    /// Functions that are called while a task is open.
    called: HashSet<Value>,
    /// Whether one reason was found already.
    grows: bool,
}

impl Growth {
    /// To be made before calls are replaced.
    pub(crate) fn new(module: Module) -> Growth {
        let is_caller = |f: &Value| {
            let name = f.name();
            !calls::is_stub(&name) && !calls::is_registration(&name)
        };
        let unseen = module
            .functions()
            .into_iter()
            .filter(is_caller)
            .filter(|f| {
                let mut code = f.blocks().into_iter().flat_map(|b| b.instructions());
                code.any(|i| i.is_call() && is_unseen(i))
            })
            .collect();
        Growth {
            graph: Calls::of(module),
            unseen,
            begin: HashSet::new(),
            called: HashSet::new(),
            grows: starts_threads(module),
        }
    }

    /// Takes in a function's static tasks.
    pub(crate) fn add(&mut self, body: &Body, operations: &Operations, plan: &Plan) {
        if plan.tasks.is_empty() {
            return;
        }
        self.begin.insert(body.function);
        let open: Vec<Placement> = plan.tasks.iter().map(|t| left(&t.placement)).collect();
        for (site, call) in body.instructions().filter(|(_, i)| i.is_call()) {
            let is_open = |p: &Placement| is_open_at(&body.flow, p, Point::from(site));
            if !open.iter().any(is_open) {
                continue;
            }
            match call.callee() {
                Some(callee) if !callee.is_declaration() => {
                    self.called.insert(callee);
                }
                // A kernel that is called through a pointer begins nothing.
                _ if operations.list.iter().any(|o| o.call == call) => {}
                _ => self.grows |= is_unseen(call),
            }
        }
        let is_main = body.function.name() == "main";
        for (number, placement) in open.iter().enumerate() {
            let stays = placement.ends.iter().any(|(_, held)| *held != Held::No);
            // The same task again, or whatever comes after this function.
            let again = body.flow.loop_head(placement.begin.block).is_some();
            let mut others = open.iter().enumerate().filter(|(i, _)| *i != number);
            self.grows |= stays && (again || !is_main)
                || others.any(|(_, o)| is_open_at(&body.flow, placement, o.begin));
        }
    }

    /// Whether static tasks may grow.
    pub(crate) fn grows(&self) -> bool {
        let may_begin = |f: &Value| self.begin.contains(f) || self.unseen.contains(f);
        self.grows
            || self
                .called
                .iter()
                .any(|f| may_begin(f) || self.graph.below(*f).iter().any(may_begin))
    }
}

/// The placement without the ends that a count of what is held may skip.
fn left(placement: &Placement) -> Placement {
    let mut left = placement.clone();
    for (_, held) in &mut left.ends {
        if *held == Held::Maybe {
            *held = Held::Surely;
        }
    }
    left
}

/// A call of code that may have tasks: of another file, or through a pointer.
fn is_unseen(call: Value) -> bool {
    let name = callee_name(call);
    match call.callee() {
        None => !call.is_assembly(),
        Some(callee) => {
            callee.is_declaration()
                && cuda(call).is_none()
                && !calls::is_stub(&name)
                && !calls::is_runtime(&name)
        }
    }
}

/// Whether the module starts threads.
pub(crate) fn starts_threads(module: Module) -> bool {
    module.functions().into_iter().any(|f| {
        let name = f.name();
        let starts = ["pthread_create", "thrd_create", "__kmpc_fork_call"].contains(&name.as_str())
            || name.starts_with("_ZNSt6thread15_M_start_thread");
        starts && !f.users().is_empty()
    })
}
