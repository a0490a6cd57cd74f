//! From operations to tasks: what is static and where, and what is lazy and why.

use crate::body::{Body, Root, Slot};
use crate::expr::Expr;
use crate::ir::{LLVMOpcode as Op, Value};
use crate::operations::{Kind, Operation, Operations, Queue};
use crate::pointers::Pointers;
use crate::sizes::Sizes;
use mapa_case_placement::{
    Effect, Held, MAX_SLOTS, Placement, Point, Site, Task, Where, frees_surely, held, is_open_at,
    merge, pending, place, waits_of,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A static task.
pub(crate) struct Planned {
    pub(crate) placement: Placement,
    /// For each end, whether the device may still be at work there.
    pub(crate) waits: Vec<bool>,
    pub(crate) bytes: Bytes,
    pub(crate) warps: Vec<Rc<Expr>>,
    pub(crate) warps_known: bool,
    /// Calls that allocate and that free, for the count of what is held.
    pub(crate) allocates: Vec<Value>,
    pub(crate) frees: Vec<Value>,
    pub(crate) resets: Vec<Site>,
}

/// Sizes of allocations, and of which a path may pass after which.
pub(crate) struct Bytes {
    pub(crate) sizes: Vec<Rc<Expr>>,
    /// `after[i]` holds the numbers of allocations that may follow allocation i.
    pub(crate) after: Vec<BTreeSet<usize>>,
}

/// What to do with a function.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) tasks: Vec<Planned>,
    /// Calls that become lazy.
    pub(crate) lazy: HashSet<Value>,
    /// Calls of operations of static tasks.
    pub(crate) in_static: HashSet<Value>,
    /// Calls that may be the first to reach the driver.
    pub(crate) touches: Vec<Site>,
    /// What was decided, for people.
    pub(crate) remarks: Vec<String>,
}

struct Numbers {
    slots: HashMap<Slot, usize>,
    streams: HashMap<StreamKey, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum StreamKey {
    Default,
    Slot(Slot),
    Value(Value),
}

/// A group of operations before it is placed.
struct Group {
    key: Value,
    task: Task,
    members: Vec<usize>,
}

/// Decides for one function.
pub(crate) fn plan(body: &Body, operations: &Operations, pointers: &Pointers) -> Plan {
    let mut plan = Plan::default();
    let mut numbers = Numbers {
        slots: HashMap::new(),
        streams: HashMap::from([(StreamKey::Default, 0)]),
    };
    let mut groups = group(body, operations, pointers, &mut numbers);
    let too_many = numbers.slots.len() > MAX_SLOTS;
    if too_many {
        plan.remarks.push(format!(
            "lazy: more than {MAX_SLOTS} allocations in one function"
        ));
        plan.lazy.extend(operations.list.iter().map(|o| o.call));
        plan.touches = operations.touches.clone();
        return plan;
    }
    for group in &mut groups {
        forget_empty_frees(body, &mut group.task);
    }
    take_waits(body, operations, &mut groups, &mut numbers);
    take_resets(body, operations, &mut groups);
    let merged = merge(&body.flow, groups.iter().map(|g| g.task.clone()).collect());
    let mut first = true;
    let others: Vec<Placement> = merged.iter().map(|(_, _, p)| p.clone()).collect();
    for (position, (parts, task, placement)) in merged.into_iter().enumerate() {
        let members: Vec<&Operation> = parts
            .iter()
            .flat_map(|&p| &groups[p].members)
            .map(|&m| &operations.list[m])
            .collect();
        let keys: Vec<Value> = parts.iter().map(|&p| groups[p].key).collect();
        let mut rest = others.clone();
        rest.remove(position);
        let attempt = Attempt {
            body,
            operations,
            pointers,
            members: &members,
            task: &task,
        };
        match attempt.make(&keys, placement, first, &rest) {
            Ok(planned) => {
                plan.in_static.extend(members.iter().map(|o| o.call));
                plan.remarks.push(format!(
                    "static: {} allocations, {} ends{}",
                    planned.allocates.len(),
                    planned.placement.ends.len(),
                    if planned.warps_known {
                        ""
                    } else {
                        ", warps unknown"
                    }
                ));
                plan.tasks.push(planned);
            }
            Err(reason) => {
                plan.lazy.extend(members.iter().map(|o| o.call));
                plan.remarks.push(format!("lazy: {reason}"));
            }
        }
        first = false;
    }
    plan.leave_outside(operations, pointers);
    let begins: Vec<Point> = plan.tasks.iter().map(|t| t.placement.begin).collect();
    for &touch in &operations.touches {
        let covered = begins.iter().any(|b| {
            body.flow.dominates(b.block, touch.block)
                && (b.block != touch.block || b.index <= touch.index)
        });
        if !covered {
            plan.touches.push(touch);
        }
    }
    plan
}

impl Plan {
    /// Leaves operations to the run time whose pointers come from outside the function.
    fn leave_outside(&mut self, operations: &Operations, pointers: &Pointers) {
        let mut outside = false;
        for operation in &operations.list {
            if pointers
                .group_of
                .get(&operation.call)
                .copied()
                .flatten()
                .is_none()
            {
                self.lazy.insert(operation.call);
                outside = true;
            }
        }
        if outside {
            self.remarks
                .push("lazy: operations whose pointers come from outside the function".to_owned());
        }
    }
}

/// Groups of operations in the order of the program.
fn group(
    body: &Body,
    operations: &Operations,
    pointers: &Pointers,
    numbers: &mut Numbers,
) -> Vec<Group> {
    for operation in &operations.list {
        if let (Kind::Allocate { .. }, Some(&target)) =
            (&operation.kind, operation.call.arguments().first())
        {
            let next = numbers.slots.len();
            numbers.slots.entry(body.base(target)).or_insert(next);
        }
    }
    if numbers.slots.len() > MAX_SLOTS {
        return Vec::new();
    }
    let mut groups: Vec<Group> = Vec::new();
    for (number, operation) in operations.list.iter().enumerate() {
        let Some(key) = pointers.group_of.get(&operation.call).copied().flatten() else {
            continue;
        };
        let position = groups.iter().position(|g| g.key == key).unwrap_or_else(|| {
            groups.push(Group {
                key,
                task: Task::default(),
                members: Vec::new(),
            });
            groups.len() - 1
        });
        let effects = effects(body, operation, pointers, numbers);
        let group = &mut groups[position];
        group.members.push(number);
        group.task.add(operation.site, effects);
        if let Kind::Launch { .. } = operation.kind
            && let Some(site) = configuration(body, operation)
        {
            group.task.add(site, []);
        }
        if let Kind::Allocate { .. } = operation.kind
            && let Some(&target) = operation.call.arguments().first()
        {
            let slot = numbers.slots[&body.base(target)];
            for edge in failing_edges(body, operation.call) {
                group.task.failed.entry(edge).or_default().push(slot);
            }
        }
    }
    groups
}

/// Where a launch's grid is set: an operation too, for the launch begins there.
fn configuration(body: &Body, launch: &Operation) -> Option<Site> {
    let Kind::Launch { shape: Some(shape) } = &launch.kind else {
        return None;
    };
    body.instructions()
        .filter(|(site, i)| {
            crate::body::cuda(*i) == Some(crate::calls::Call::Configure)
                && i.arguments().first() == Some(&shape.grid.0)
                && body.flow.site_dominates(*site, Point::from(launch.site))
        })
        .map(|(site, _)| site)
        .last()
}

fn effects(
    body: &Body,
    operation: &Operation,
    pointers: &Pointers,
    numbers: &mut Numbers,
) -> Vec<Effect> {
    let mut effects = Vec::new();
    match operation.kind {
        Kind::Allocate { .. } => {
            if let Some(&target) = operation.call.arguments().first() {
                effects.push(Effect::Allocate(numbers.slots[&body.base(target)]));
            }
        }
        Kind::Free => effects.push(Effect::Free(freed(body, operation, pointers, numbers))),
        Kind::Use | Kind::Launch { .. } => {}
    }
    match operation.queue {
        Queue::Neither => {}
        Queue::Goes(stream) => effects.push(Effect::Queue(numbers.stream(body, stream))),
        Queue::WaitsAll => effects.push(Effect::Wait(None)),
        Queue::WaitsDefault => effects.push(Effect::Wait(Some(0))),
    }
    effects
}

/// Which allocations a call may free.
fn freed(body: &Body, operation: &Operation, pointers: &Pointers, numbers: &Numbers) -> Vec<usize> {
    let mut slots = BTreeSet::new();
    for root in operation.device.iter().flat_map(|p| body.roots(*p)) {
        let Some(group) = pointers.group(root) else {
            continue;
        };
        let mixed = pointers.groups.is_mixed(group);
        for (&(base, offset), &number) in &numbers.slots {
            let same = match root {
                Root::Slot((b, o)) => b == base && (o == offset || o.is_none() || offset.is_none()),
                _ => false,
            };
            if same || (mixed && pointers.groups.find(base) == group) {
                slots.insert(number);
            }
        }
    }
    slots.into_iter().collect()
}

impl Numbers {
    fn stream(&mut self, body: &Body, stream: Option<Value>) -> usize {
        let key = match stream {
            None => StreamKey::Default,
            Some(value) if value.is_null_like() => StreamKey::Default,
            Some(value) => match body.roots(value)[..] {
                [Root::Slot(slot)] => StreamKey::Slot(slot),
                _ => StreamKey::Value(value),
            },
        };
        let next = self.streams.len();
        *self.streams.entry(key).or_insert(next)
    }
}

/// Edges that are taken if the call's result is not `cudaSuccess`.
fn failing_edges(body: &Body, call: Value) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for compare in call.users() {
        let other = [compare.operand(0), compare.operand(1)]
            .into_iter()
            .flatten()
            .find(|v| *v != call);
        let equal = match compare.predicate() {
            Some(crate::ir::LLVMIntPredicate::LLVMIntEQ) => true,
            Some(crate::ir::LLVMIntPredicate::LLVMIntNE) => false,
            _ => continue,
        };
        if other.and_then(Value::constant_int) != Some(0) {
            continue;
        }
        for branch in compare.users().into_iter().filter(|b| b.is_op(Op::LLVMBr)) {
            let Some(block) = branch.block().and_then(|b| body.number(b)) else {
                continue;
            };
            if let [yes, no] = body.flow.successors(block)[..] {
                edges.push((block, if equal { no } else { yes }));
            }
        }
    }
    edges
}

/// Of calls that free, those wait for the device that surely have something to free.
fn forget_empty_frees(body: &Body, task: &mut Task) {
    let Some(placement) = place(&body.flow, task, &[]) else {
        return;
    };
    let sure = frees_surely(&body.flow, task, placement.begin);
    for (site, effects) in &mut task.effects {
        if effects.iter().any(|e| matches!(e, Effect::Free(_))) && !sure.contains(site) {
            effects.retain(|e| *e != Effect::Wait(None));
        }
    }
}

/// A task takes over the synchronisations that its queued work needs.
fn take_waits(body: &Body, operations: &Operations, groups: &mut [Group], numbers: &mut Numbers) {
    let waits: BTreeMap<Site, Effect> = operations
        .waits
        .iter()
        .map(|(site, stream)| {
            (
                *site,
                Effect::Wait(stream.map(|s| numbers.stream(body, Some(s)))),
            )
        })
        .collect();
    for i in 0..groups.len() {
        let others: BTreeSet<Site> = groups
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .flat_map(|(_, g)| g.task.sites.iter().copied())
            .filter(|s| !waits.contains_key(s))
            .collect();
        for site in waits_of(&body.flow, &groups[i].task, &waits, &others) {
            groups[i].task.add(site, [waits[&site].clone()]);
        }
    }
}

/// A reset of the device belongs to every task that may hold memory there.
fn take_resets(body: &Body, operations: &Operations, groups: &mut [Group]) {
    for group in groups {
        for &site in &operations.resets {
            let Some(placement) = place(&body.flow, &group.task, &[]) else {
                continue;
            };
            let states = held(
                &body.flow,
                &group.task,
                placement.begin,
                &[Where::After(site)],
            );
            if states.first().is_some_and(|h| *h != Held::No) {
                group.task.add(site, [Effect::FreeAll]);
            }
        }
    }
}

struct Attempt<'a> {
    body: &'a Body,
    operations: &'a Operations,
    pointers: &'a Pointers,
    members: &'a [&'a Operation],
    task: &'a Task,
}

impl Attempt<'_> {
    /// The static task, or why it is lazy.
    fn make(
        &self,
        keys: &[Value],
        placement: Placement,
        first: bool,
        others: &[Placement],
    ) -> Result<Planned, String> {
        if let Some(reason) = keys.iter().find_map(|k| self.pointers.groups.reason(*k)) {
            return Err(reason.to_owned());
        }
        if let Some(site) = self
            .operations
            .unknown
            .iter()
            .find(|s| is_open_at(&self.body.flow, &placement, Point::from(**s)))
        {
            let name = crate::body::callee_name(self.body.at(*site));
            return Err(format!(
                "{name} takes memory of unknown size inside the task"
            ));
        }
        self.allocated_once(placement.begin)?;
        let planned = self.at(placement)?;
        if !first {
            return Ok(planned);
        }
        Ok(self.earlier(&planned, others).unwrap_or(planned))
    }

    /// No allocation may be repeated before its memory is freed.
    fn allocated_once(&self, begin: Point) -> Result<(), String> {
        for operation in self
            .members
            .iter()
            .filter(|o| matches!(o.kind, Kind::Allocate { .. }))
        {
            let slots: Vec<usize> = self.task.effects[&operation.site]
                .iter()
                .filter_map(|e| {
                    if let Effect::Allocate(s) = e {
                        Some(*s)
                    } else {
                        None
                    }
                })
                .collect();
            let frees = |site: Site| {
                self.task
                    .effects
                    .get(&site)
                    .into_iter()
                    .flatten()
                    .any(|e| match e {
                        Effect::Free(freed) => slots.iter().any(|s| freed.contains(s)),
                        Effect::FreeAll => true,
                        _ => false,
                    })
            };
            if self.comes_back(operation.site, begin, frees) {
                return Err("memory is allocated again before it is freed".to_owned());
            }
        }
        Ok(())
    }

    /// Whether control can get from `site` to itself without passing the begin or a site that frees.
    fn comes_back(&self, site: Site, begin: Point, frees: impl Fn(Site) -> bool) -> bool {
        let stops = |block: usize, from: usize, to: usize| {
            (begin.block == block && from <= begin.index && begin.index <= to)
                || self
                    .task
                    .sites
                    .iter()
                    .any(|s| s.block == block && from <= s.index && s.index <= to && frees(*s))
        };
        if stops(site.block, site.index + 1, usize::MAX) {
            return false;
        }
        let mut seen = HashSet::new();
        let mut open = self.body.flow.successors(site.block).to_vec();
        while let Some(block) = open.pop() {
            if block == site.block {
                if !stops(block, 0, site.index) {
                    return true;
                }
                continue;
            }
            if seen.insert(block) && !stops(block, 0, usize::MAX) {
                open.extend(self.body.flow.successors(block));
            }
        }
        false
    }

    /// The task with this placement, if its sizes are known at the begin.
    fn at(&self, placement: Placement) -> Result<Planned, String> {
        let mut sizes = Sizes::new(self.body, placement.begin);
        let mut bytes = Vec::new();
        let mut sites = Vec::new();
        let mut warps = Vec::new();
        let mut warps_known = true;
        let mut allocates = Vec::new();
        let mut frees = Vec::new();
        for operation in self.members {
            match &operation.kind {
                Kind::Allocate { size } => {
                    let size = sizes
                        .bytes(operation.call, *size)
                        .ok_or("a size is not known where the task begins")?;
                    bytes.push(size);
                    sites.push(operation.site);
                    allocates.push(operation.call);
                }
                Kind::Free => frees.push(operation.call),
                Kind::Launch { shape } => match shape
                    .as_ref()
                    .and_then(|s| sizes.warps(s, operation.site.block))
                {
                    Some(number) => warps.push(number),
                    None => warps_known = false,
                },
                Kind::Use => {}
            }
        }
        let after = sites
            .iter()
            .map(|&a| {
                let follows = |b: Site| self.body.flow.reaches(a, b, placement.begin);
                sites
                    .iter()
                    .enumerate()
                    .filter(|(_, b)| follows(**b))
                    .map(|(i, _)| i)
                    .collect()
            })
            .collect();
        let places: Vec<Where> = placement.ends.iter().map(|(w, _)| *w).collect();
        let waits = pending(&self.body.flow, self.task, &places);
        let resets = self
            .operations
            .resets
            .iter()
            .copied()
            .filter(|s| self.task.sites.contains(s))
            .collect();
        Ok(Planned {
            placement,
            waits,
            bytes: Bytes {
                sizes: bytes,
                after,
            },
            warps,
            warps_known,
            allocates,
            frees,
            resets,
        })
    }

    /// The task with its begin before the first call that reaches the driver, if there is one before
    /// the begin, and sizes are known there, and no other task gets inside.
    fn earlier(&self, planned: &Planned, others: &[Placement]) -> Option<Planned> {
        let flow = &self.body.flow;
        let begin = planned.placement.begin;
        let target = Site::from(begin);
        let nowhere = Point {
            block: usize::MAX,
            index: 0,
        };
        let early: Vec<Point> = self
            .operations
            .touches
            .iter()
            .filter(|t| !self.task.sites.contains(t))
            .filter(|t| {
                !flow.dominates(begin.block, t.block)
                    || (t.block == begin.block && t.index < begin.index)
            })
            .filter(|t| flow.reaches(**t, target, nowhere))
            .copied()
            .map(Point::from)
            .collect();
        if early.is_empty() {
            return None;
        }
        let placement = place(flow, self.task, &early)?;
        // Out of a loop, one task a turn would become one task around the loop.
        if flow.loop_head(placement.begin.block) != flow.loop_head(begin.block) {
            return None;
        }
        let nests = others
            .iter()
            .any(|o| is_open_at(flow, &placement, o.begin) || is_open_at(flow, o, placement.begin));
        if nests || self.allocated_once(placement.begin).is_err() {
            return None;
        }
        self.at(placement).ok()
    }
}
