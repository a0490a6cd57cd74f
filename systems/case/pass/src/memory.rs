//! Which loads may move up to a begin.

use crate::body::{Body, callee_name, cuda, is_host_allocation, is_variable};
use crate::calls::{self, Call};
use crate::ir::{LLVMOpcode as Op, Value};
use mapa_case_placement::{Point, Site};
use std::collections::HashSet;

/// Bytes that a load reads: `range` from the start of `base`, or anywhere in it.
pub(crate) struct Memory {
    pub(crate) base: Value,
    pub(crate) range: Option<(i64, i64)>,
}

/// What happens to memory between a begin and a load.
#[derive(Clone, Copy)]
pub(crate) struct History<'a> {
    pub(crate) body: &'a Body,
    pub(crate) begin: Point,
}

impl History<'_> {
    /// What the last store before a load put there, if it comes after the begin, and nothing writes in
    /// between.
    pub(crate) fn stored_last(&self, load: Value, memory: &Memory, site: Site) -> Option<Value> {
        memory.range?;
        let point = Point::from(site);
        let mut last: Option<(Site, Value)> = None;
        for (at, store) in self
            .body
            .instructions()
            .filter(|(_, i)| i.is_op(Op::LLVMStore))
        {
            let Some((value, target)) = store.operand(0).zip(store.operand(1)) else {
                continue;
            };
            let (base, offset) = self.body.base(target);
            let same = base == memory.base
                && offset == memory.range.map(|r| r.0)
                && value.ty() == load.ty();
            let later = last.is_none_or(|(l, _)| self.body.flow.site_dominates(l, Point::from(at)));
            if same && later && self.body.flow.site_dominates(at, point) {
                last = Some((at, value));
            }
        }
        let (at, value) = last?;
        let from = Point {
            block: at.block,
            index: at.index + 1,
        };
        let begin = Site::from(self.begin);
        let inside = self.body.flow.site_dominates(begin, from);
        (inside && !self.written(from, site, memory)).then_some(value)
    }

    /// Whether `memory` at the begin is there, and what a load at `site` reads.
    pub(crate) fn is_unchanged(&self, memory: &Memory, site: Site) -> bool {
        let safe = is_local(memory.base) || self.surely_runs(site);
        safe && !self.written(self.begin, site, memory)
    }

    /// Whether whatever passes the begin comes to `site`.
    fn surely_runs(&self, site: Site) -> bool {
        let mut block = self.begin.block;
        let mut seen = HashSet::new();
        while block != site.block {
            match self.body.flow.successors(block) {
                [only] if seen.insert(block) => block = *only,
                _ => return false,
            }
        }
        true
    }

    /// Whether an instruction between `from` and `site` may write `memory`. `from` dominates `site`.
    fn written(&self, from: Point, site: Site, memory: &Memory) -> bool {
        let between = self.body.flow.between(from.block, site.block);
        let again = between.contains(&site.block);
        for (at, instruction) in self.body.instructions() {
            let after_start = at.block == from.block && at.index >= from.index;
            let before_load = at.block == site.block && (again || at.index < site.index);
            let counts = if at.block == from.block && site.block == from.block {
                after_start && at.index < site.index
            } else {
                after_start
                    || before_load
                    || (between.contains(&at.block) && at.block != site.block)
            };
            if counts && self.writes(instruction, memory) {
                return true;
            }
        }
        false
    }

    fn writes(&self, instruction: Value, memory: &Memory) -> bool {
        match instruction.opcode() {
            Some(Op::LLVMStore) => {
                let Some((value, target)) = instruction.operand(0).zip(instruction.operand(1))
                else {
                    return true;
                };
                self.touches(target, Some(self.body.module.size_of(value.ty())), memory)
            }
            Some(Op::LLVMCall | Op::LLVMInvoke) => self.call_writes(instruction, memory),
            Some(Op::LLVMAtomicRMW | Op::LLVMAtomicCmpXchg | Op::LLVMFence) => true,
            _ => false,
        }
    }

    /// Whether a write of `size` bytes at `target`, or of any number, may change `memory`.
    fn touches(&self, target: Value, size: Option<u64>, memory: &Memory) -> bool {
        let (base, offset) = self.body.base(target);
        if base == memory.base
            && let (Some(size), Some(offset), Some((start, end))) = (size, offset, memory.range)
        {
            return offset < end && start < offset.saturating_add_unsigned(size);
        }
        self.may_be_same(base, memory.base)
    }

    fn call_writes(&self, call: Value, memory: &Memory) -> bool {
        let base = memory.base;
        let name = callee_name(call);
        if calls::is_mark(&name) {
            return false;
        }
        let known = cuda(call);
        let runtime = known.is_some() || calls::is_stub(&name);
        let plain = calls::is_plain_library(&name) || name.starts_with("llvm.mem");
        if runtime && !is_local(base) && !is_host_allocation(base) {
            // Managed memory: a kernel may have written it.
            return !matches!(known, Some(Call::Configure | Call::Quiet));
        }
        if runtime || plain {
            let mut written: Vec<Value> = (0..)
                .zip(call.arguments())
                .filter(|(i, _)| !call.is_by_value(*i))
                .map(|(_, a)| a)
                .collect();
            // Of a pointer's variable, an allocation writes the pointer alone; and the pitch.
            let size = matches!(known, Some(Call::Allocate { .. })).then_some(8);
            if size.is_some() {
                written.truncate(2);
            }
            return written
                .into_iter()
                .filter(|a| a.ty().is_pointer())
                .any(|a| self.touches(a, size, memory));
        }
        // Code that is not seen writes what it can reach.
        self.is_exposed(base)
            || (base.is_global_variable() && (!base.is_internal() || written_elsewhere(base)))
    }

    fn may_be_same(&self, written: Value, base: Value) -> bool {
        let own = |v: Value| is_local(v) || is_host_allocation(v);
        if written == base {
            return true;
        }
        if written.is_null_like() || (own(written) && own(base)) {
            return false;
        }
        // A pointer from anywhere reaches a variable only if its address was given away.
        if own(base) {
            return self.is_exposed(base) || (base.is_global_variable() && !base.is_internal());
        }
        !own(written) || self.is_exposed(written)
    }

    /// Whether a variable's address was stored or given to code that may keep it.
    fn is_exposed(&self, base: Value) -> bool {
        if !is_local(base) {
            return true;
        }
        exposes(base)
    }
}

/// Memory with a name of its own: a variable, or the callee's copy of an argument.
fn is_local(base: Value) -> bool {
    is_variable(base) || base.is_by_value_parameter()
}

fn written_elsewhere(global: Value) -> bool {
    global.users().into_iter().any(|u| match u.opcode() {
        Some(Op::LLVMLoad) => false,
        Some(Op::LLVMGetElementPtr | Op::LLVMBitCast) => written_elsewhere(u),
        Some(Op::LLVMCall | Op::LLVMInvoke) => !calls::is_mark(&callee_name(u)),
        _ => true,
    })
}

fn exposes(address: Value) -> bool {
    address.users().into_iter().any(|user| match user.opcode() {
        Some(Op::LLVMLoad | Op::LLVMICmp) => false,
        Some(Op::LLVMStore) => user.operand(0) == Some(address),
        Some(Op::LLVMGetElementPtr | Op::LLVMBitCast | Op::LLVMAddrSpaceCast) => exposes(user),
        Some(Op::LLVMCall | Op::LLVMInvoke) => {
            let name = callee_name(user);
            let copied = (0..)
                .zip(user.arguments())
                .all(|(i, a)| a != address || user.is_by_value(i));
            !(copied
                || calls::is_mark(&name)
                || calls::is_plain_library(&name)
                || name.starts_with("llvm.mem")
                || cuda(user).is_some())
        }
        _ => true,
    })
}
