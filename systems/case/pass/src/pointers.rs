//! Which variables hold device pointers, which of them belong together, and which get out of sight.
//!
//! A variable that an allocation is given holds a device pointer. What is stored from it to other
//! variables makes those hold one too, and joins them. An operation joins all variables of which it uses
//! the pointers. A pointer that gets to where the analysis does not follow makes its group lazy, with
//! the reason.

use crate::body::{Body, Root, Slot, callee_name, cuda, is_variable};
use crate::calls::{self, Call};
use crate::ir::{LLVMOpcode as Op, Value};
use crate::operations::{Kind, Operation, Operations};
use crate::summary::Summaries;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most distances from a variable's start that are told apart.
const MOST_OFFSETS: usize = 64;

/// Groups of variables.
#[derive(Default)]
pub(crate) struct Groups {
    parent: HashMap<Value, Value>,
    reasons: HashMap<Value, BTreeMap<usize, String>>,
    mixed: HashSet<Value>,
}

impl Groups {
    pub(crate) fn find(&self, value: Value) -> Value {
        let mut at = value;
        while let Some(&up) = self.parent.get(&at) {
            at = up;
        }
        at
    }

    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        self.parent.insert(b, a);
        let moved = self.reasons.remove(&b).unwrap_or_default();
        self.reasons.entry(a).or_default().extend(moved);
        if self.mixed.remove(&b) {
            self.mixed.insert(a);
        }
    }

    fn refuse(&mut self, value: Value, at: usize, reason: impl Into<String>) {
        let group = self.find(value);
        self.reasons
            .entry(group)
            .or_default()
            .entry(at)
            .or_insert_with(|| reason.into());
    }

    /// Why a group is lazy, the first reason in the order of the program.
    pub(crate) fn reason(&self, group: Value) -> Option<&str> {
        self.reasons
            .get(&self.find(group))?
            .values()
            .next()
            .map(String::as_str)
    }

    /// Whether pointers move between the group's variables, so that a variable does not tell which
    /// allocation it holds.
    pub(crate) fn is_mixed(&self, group: Value) -> bool {
        self.mixed.contains(&self.find(group))
    }
}

/// A device pointer that a call is given, loaded from a variable.
pub(crate) struct Given {
    pub(crate) call: Value,
    pub(crate) pointer: Value,
    pub(crate) base: Value,
}

/// The device pointers of a function.
pub(crate) struct Pointers {
    pub(crate) groups: Groups,
    /// Distances of device pointers from the start of a variable; `None` stands for any.
    slots: HashMap<Value, HashSet<Option<i64>>>,
    pinned: HashSet<Value>,
    /// Calls that no wrapper stands for, with the device pointers that they are given.
    pub(crate) opaque: Vec<Given>,
    /// Group of each operation; `None` for one with pointers from outside alone.
    pub(crate) group_of: HashMap<Value, Option<Value>>,
    /// Stands for launches without any memory, if there are some.
    pub(crate) slotless: Option<Value>,
}

struct Walk<'a> {
    body: &'a Body,
    operations: &'a Operations,
    summaries: &'a Summaries,
    pointers: Pointers,
    todo: Vec<Value>,
    seen: HashSet<Value>,
}

/// Follows every device pointer of a function.
pub(crate) fn follow(body: &Body, operations: &Operations, summaries: &Summaries) -> Pointers {
    let mut walk = Walk {
        body,
        operations,
        summaries,
        pointers: Pointers {
            groups: Groups::default(),
            slots: HashMap::new(),
            pinned: operations.pinned.clone(),
            opaque: Vec::new(),
            group_of: HashMap::new(),
            slotless: None,
        },
        todo: Vec::new(),
        seen: HashSet::new(),
    };
    walk.allocations();
    walk.variables();
    walk.members();
    walk.pointers
}

impl Pointers {
    /// Whether a variable is known to hold a device pointer at this distance.
    fn holds(&self, (base, offset): Slot) -> bool {
        self.slots.get(&base).is_some_and(|known| {
            offset.is_none() || known.contains(&None) || known.contains(&offset)
        })
    }

    /// The group of a pointer, if it is loaded from a variable of one.
    pub(crate) fn group(&self, root: Root) -> Option<Value> {
        match root {
            Root::Slot(slot) if self.holds(slot) => Some(self.groups.find(slot.0)),
            _ => None,
        }
    }

    fn is_outside(&self, root: Root) -> bool {
        match root {
            Root::Host(_) => false,
            Root::Outside(_) => true,
            Root::Slot(slot) => !self.holds(slot) && !self.pinned.contains(&slot.0),
        }
    }
}

impl Walk<'_> {
    fn order(&self, instruction: Value) -> usize {
        self.body
            .site(instruction)
            .map_or(usize::MAX, |s| s.block * 100_000 + s.index)
    }

    fn refuse(&mut self, base: Value, at: Value, reason: impl Into<String>) {
        let order = self.order(at);
        self.pointers.groups.refuse(base, order, reason);
    }

    fn hold(&mut self, (base, offset): Slot) {
        // Copies to and fro at a distance could go on for ever.
        let full = self
            .pointers
            .slots
            .get(&base)
            .is_some_and(|known| known.len() > MOST_OFFSETS);
        let offset = if full { None } else { offset };
        if self.pointers.slots.entry(base).or_default().insert(offset) {
            // A new distance: every use of the variable must be looked at again.
            self.todo.push(base);
        }
    }

    fn allocations(&mut self) {
        for operation in &self.operations.list {
            if !matches!(operation.kind, Kind::Allocate { .. }) {
                continue;
            }
            let Some(target) = operation.call.arguments().first().copied() else {
                continue;
            };
            let slot = self.body.base(target);
            self.hold(slot);
            if slot.0.is_argument() {
                self.refuse(
                    slot.0,
                    operation.call,
                    "the variable of the pointer belongs to the caller",
                );
            } else if !is_variable(slot.0) {
                self.refuse(
                    slot.0,
                    operation.call,
                    "the variable of the pointer is not one of this function",
                );
            } else if slot.0.is_global_variable() && !slot.0.is_internal() {
                self.refuse(
                    slot.0,
                    operation.call,
                    "other files see the global variable of the pointer",
                );
            }
            if slot.1.is_none() {
                self.refuse(
                    slot.0,
                    operation.call,
                    "which element of the array is allocated is known at run time only",
                );
            }
        }
    }

    fn variables(&mut self) {
        while let Some(base) = self.todo.pop() {
            if !is_variable(base) {
                continue;
            }
            self.seen.clear();
            self.address(base, base, Some(0));
        }
    }

    /// Looks at the uses of an address in a variable.
    fn address(&mut self, base: Value, address: Value, offset: Option<i64>) {
        if !self.seen.insert(address) {
            return;
        }
        for user in address.users() {
            if user.is_instruction() && user.function() != Some(self.body.function) {
                continue;
            }
            match user.opcode() {
                Some(Op::LLVMGetElementPtr | Op::LLVMBitCast | Op::LLVMAddrSpaceCast) => {
                    let step = if user.is_op(Op::LLVMGetElementPtr) {
                        self.body.module.constant_offset(user)
                    } else {
                        Some(0)
                    };
                    self.address(base, user, offset.zip(step).map(|(a, b)| a + b));
                }
                Some(Op::LLVMLoad) => self.load(base, user, offset),
                Some(Op::LLVMStore) => self.store(base, address, user, offset),
                Some(Op::LLVMICmp) => {}
                Some(Op::LLVMCall | Op::LLVMInvoke) => {
                    self.address_passed(base, address, user, offset)
                }
                Some(_) => self.refuse(
                    base,
                    user,
                    "the variable of the pointer is used through another pointer",
                ),
                // An initialiser of another global.
                None => self.refuse(
                    base,
                    user,
                    "the address of the pointer's variable is stored",
                ),
            }
        }
    }

    fn load(&mut self, base: Value, load: Value, offset: Option<i64>) {
        if !self.pointers.holds((base, offset)) {
            return;
        }
        // A structure that is copied in parts moves its pointers as numbers of their width.
        if load.ty().is_pointer() || load.ty().bits() == Some(64) {
            self.pointer(base, load);
        } else if self.body.module.size_of(load.ty()) >= 8
            && self.pointers.slots[&base].contains(&offset)
        {
            // What is smaller is another member, at a distance that is not known.
            self.refuse(base, load, "the pointer is read as a number");
        }
    }

    fn store(&mut self, base: Value, address: Value, store: Value, offset: Option<i64>) {
        let Some((value, target)) = store.operand(0).zip(store.operand(1)) else {
            return;
        };
        if value == address {
            let into = self.body.base(target).0;
            if !self.operations.parameter_arrays.contains(&into) {
                self.refuse(
                    base,
                    store,
                    "the address of the pointer's variable is stored",
                );
            }
            return;
        }
        let moved = value.ty().bits() == Some(64) && value.is_op(Op::LLVMLoad);
        if !(value.ty().is_pointer() || moved) || !self.pointers.holds((base, offset)) {
            return;
        }
        for root in self.body.roots(value) {
            match root {
                Root::Slot(slot) if is_variable(slot.0) => {
                    if slot.0 != base {
                        self.pointers.groups.join(base, slot.0);
                    }
                    self.mix(base);
                    self.hold(slot);
                }
                _ => self.refuse(
                    base,
                    store,
                    "the variable is given a pointer that no allocation here made",
                ),
            }
        }
    }

    fn mix(&mut self, base: Value) {
        let group = self.pointers.groups.find(base);
        self.pointers.groups.mixed.insert(group);
    }

    /// The address of a variable is an argument.
    fn address_passed(&mut self, base: Value, address: Value, call: Value, offset: Option<i64>) {
        let name = callee_name(call);
        let arguments = call.arguments();
        let places: Vec<usize> = (0..arguments.len())
            .filter(|&i| arguments[i] == address)
            .collect();
        if places.is_empty() || calls::is_mark(&name) || name.starts_with("llvm.memset.") {
            return;
        }
        if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
            return self.copied(base, call);
        }
        if places.iter().all(|&i| call.is_by_value(i as u32)) {
            return;
        }
        // Pointer, pitch and the like are written by the call, not kept.
        if let Some(Call::Allocate { .. }) = cuda(call) {
            return;
        }
        // A plain variable beside the device pointer in one structure may be handed to the library.
        let holds = self.pointers.holds((base, offset));
        if holds || (offset == Some(0) && !calls::is_plain_library(&name)) {
            let name = if name.is_empty() {
                "a function pointer".to_owned()
            } else {
                name
            };
            self.refuse(
                base,
                call,
                format!("the address of the pointer's variable is passed to {name}"),
            );
        }
    }

    /// A structure is copied whole: what it holds, the copy holds at the same distance.
    fn copied(&mut self, base: Value, call: Value) {
        let ends: Vec<Slot> = call
            .arguments()
            .iter()
            .take(2)
            .map(|a| self.body.base(*a))
            .collect();
        let [(to, to_start), (from, from_start)] = ends[..] else {
            return;
        };
        for (own, own_start, other, other_start) in [
            (to, to_start, from, from_start),
            (from, from_start, to, to_start),
        ] {
            if own != base || other == base {
                continue;
            }
            if !is_variable(other) {
                self.refuse(
                    base,
                    call,
                    "the pointer is copied to memory that is not followed",
                );
                continue;
            }
            let held: Vec<Option<i64>> = self.pointers.slots[&base].iter().copied().collect();
            self.pointers.groups.join(base, other);
            self.mix(base);
            for offset in held {
                let moved = (|| Some(offset? - own_start? + other_start?))();
                self.hold((other, moved));
            }
        }
    }

    /// Looks at the uses of a device pointer.
    fn pointer(&mut self, base: Value, value: Value) {
        if !self.seen.insert(value) {
            return;
        }
        for user in value.users() {
            match user.opcode() {
                Some(
                    Op::LLVMGetElementPtr
                    | Op::LLVMBitCast
                    | Op::LLVMPHI
                    | Op::LLVMSelect
                    | Op::LLVMFreeze
                    | Op::LLVMAddrSpaceCast,
                ) => self.pointer(base, user),
                // Managed memory is read and written by the host.
                Some(Op::LLVMICmp | Op::LLVMLoad) => {}
                Some(Op::LLVMStore) => self.pointer_stored(base, value, user),
                Some(Op::LLVMCall | Op::LLVMInvoke) => self.pointer_passed(base, value, user),
                Some(Op::LLVMRet) => self.refuse(base, user, "the pointer is returned"),
                _ => self.refuse(base, user, "the pointer is used as a number"),
            }
        }
    }

    fn pointer_stored(&mut self, base: Value, value: Value, store: Value) {
        if store.operand(0) != Some(value) {
            return;
        }
        let Some(target) = store.operand(1) else {
            return;
        };
        let slot = self.body.base(target);
        let own =
            slot.0.is_op(Op::LLVMAlloca) || (slot.0.is_global_variable() && slot.0.is_internal());
        if !own {
            return self.refuse(
                base,
                store,
                "the pointer is stored in memory that is not followed",
            );
        }
        self.pointers.groups.join(base, slot.0);
        self.mix(base);
        self.hold(slot);
    }

    fn pointer_passed(&mut self, base: Value, value: Value, call: Value) {
        let name = callee_name(call);
        let known = cuda(call).is_some()
            || calls::is_stub(&name)
            || calls::is_mark(&name)
            || calls::is_plain_library(&name)
            || name.starts_with("llvm.mem")
            || self.operations.list.iter().any(|o| o.call == call);
        if !known || cuda(call) == Some(Call::Touch) {
            self.pointers.opaque.push(Given {
                call,
                pointer: value,
                base,
            });
        }
        if known {
            return;
        }
        let managed = call.callee().and_then(|f| self.summaries.of(f)).is_some();
        let reason = if managed {
            format!("{name} is given the pointer, cannot be inlined, and allocates or frees")
        } else if name.is_empty() {
            "a function pointer is called with the pointer".to_owned()
        } else {
            format!("{name}, of unknown code, is given the pointer")
        };
        self.refuse(base, call, reason);
    }

    /// Joins what operations use together.
    fn members(&mut self) {
        for operation in &self.operations.list {
            let groups = self.member(operation);
            let mut own: Option<Value> = None;
            for group in groups {
                match own {
                    None => own = Some(group),
                    Some(first) => self.pointers.groups.join(first, group),
                }
            }
            self.pointers.group_of.insert(operation.call, own);
        }
        // Groups may have been joined after an operation got its own.
        for group in self.pointers.group_of.values_mut().flatten() {
            *group = self.pointers.groups.find(*group);
        }
        self.globals_of_others();
    }

    fn member(&mut self, operation: &Operation) -> Vec<Value> {
        let mut groups = Vec::new();
        let mut outside = operation.unseen;
        if matches!(operation.kind, Kind::Allocate { .. }) {
            groups.extend(
                operation
                    .call
                    .arguments()
                    .first()
                    .map(|a| self.body.base(*a).0),
            );
        }
        let roots = |pointers: &[Value]| -> Vec<Root> {
            pointers.iter().flat_map(|p| self.body.roots(*p)).collect()
        };
        for root in roots(&operation.device) {
            groups.extend(self.pointers.group(root));
            outside |= self.pointers.group(root).is_none() && !matches!(root, Root::Host(_));
        }
        let either = roots(&operation.either);
        for &root in &either {
            groups.extend(self.pointers.group(root));
        }
        groups.extend(
            operation
                .variables
                .iter()
                .copied()
                .filter(|v| self.pointers.slots.contains_key(v)),
        );
        let launch = matches!(operation.kind, Kind::Launch { .. });
        // Of a copy without direction, one side may be the host's.
        let strangers = either.iter().any(|&r| self.pointers.is_outside(r));
        outside |= strangers && (launch || groups.is_empty());
        if outside {
            for group in &groups {
                self.refuse(
                    *group,
                    operation.call,
                    "an operation also uses a pointer from outside the function",
                );
            }
        }
        if groups.is_empty() && !outside && launch {
            let first = *self.pointers.slotless.get_or_insert(operation.call);
            groups.push(first);
        }
        groups
    }

    /// A global variable that other functions use too must be allocated and freed here.
    fn globals_of_others(&mut self) {
        let globals: Vec<Value> = self
            .pointers
            .slots
            .keys()
            .copied()
            .filter(|b| b.is_global_variable())
            .collect();
        for global in globals {
            let others = used_elsewhere(global, self.body.function);
            let freed = self.operations.list.iter().any(|o| {
                matches!(o.kind, Kind::Free)
                    && o.device
                        .iter()
                        .flat_map(|p| self.body.roots(*p))
                        .any(|r| matches!(r, Root::Slot((b, _)) if b == global))
            });
            if others && !freed {
                self.pointers.groups.refuse(
                    global,
                    0,
                    "other functions use the global variable of the pointer, which is not freed here",
                );
            }
        }
    }
}

/// Whether another function uses a global.
fn used_elsewhere(global: Value, function: Value) -> bool {
    global
        .users()
        .into_iter()
        .any(|user| match user.function() {
            Some(around) => around != function,
            None => user.opcode().is_some() && used_elsewhere(user, function),
        })
}
