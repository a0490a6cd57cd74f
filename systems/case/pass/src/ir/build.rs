//! New instructions.

use super::{Block, LLVMIntPredicate, LLVMOpcode, Module, Type, Value};
use llvm_plugin::inkwell::llvm_sys::core::*;
use llvm_plugin::inkwell::llvm_sys::prelude::*;
use std::ffi::c_char;

/// Appends instructions at one place.
pub(crate) struct Builder {
    raw: LLVMBuilderRef,
    module: Module,
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: made by `LLVMCreateBuilderInContext`, dropped once.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}

const NONE: *const c_char = c"".as_ptr();

impl Builder {
    /// Before an instruction.
    pub(crate) fn before(module: Module, instruction: Value) -> Builder {
        // SAFETY: the callers give an instruction in a block.
        unsafe {
            let raw = LLVMCreateBuilderInContext(module.context());
            LLVMPositionBuilderBefore(raw, instruction.0);
            Builder { raw, module }
        }
    }

    /// In a new block at the end of `function`.
    pub(crate) fn in_new_block(module: Module, function: Value) -> (Builder, Block) {
        // SAFETY: the callers give a function.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(module.context(), function.0, NONE);
            let raw = LLVMCreateBuilderInContext(module.context());
            LLVMPositionBuilderAtEnd(raw, block);
            (Builder { raw, module }, Block(block))
        }
    }

    pub(crate) fn module(&self) -> Module {
        self.module
    }

    pub(crate) fn call(&self, function: Value, arguments: &[Value]) -> Value {
        let Some(ty) = function.function_type() else {
            return function;
        };
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|v| v.0).collect();
        // SAFETY: the callers pass arguments of the function's parameter types; LLVM copies the list.
        Value(unsafe {
            LLVMBuildCall2(
                self.raw,
                ty.0,
                function.0,
                raw.as_mut_ptr(),
                raw.len() as u32,
                NONE,
            )
        })
    }

    pub(crate) fn binary(&self, op: LLVMOpcode, a: Value, b: Value) -> Value {
        // SAFETY: the callers give a binary operation and two operands of one type.
        Value(unsafe { LLVMBuildBinOp(self.raw, op, a.0, b.0, NONE) })
    }

    pub(crate) fn cast(&self, op: LLVMOpcode, value: Value, ty: Type) -> Value {
        // SAFETY: the callers give a cast that is legal between the types.
        Value(unsafe { LLVMBuildCast(self.raw, op, value.0, ty.0, NONE) })
    }

    /// To another width: zeros are added, high bits dropped.
    pub(crate) fn resize(&self, value: Value, ty: Type) -> Value {
        // SAFETY: both are integers.
        Value(unsafe { LLVMBuildIntCast2(self.raw, value.0, ty.0, 0, NONE) })
    }

    pub(crate) fn compare(&self, predicate: LLVMIntPredicate, a: Value, b: Value) -> Value {
        // SAFETY: both are integers or pointers of one type.
        Value(unsafe { LLVMBuildICmp(self.raw, predicate, a.0, b.0, NONE) })
    }

    pub(crate) fn select(&self, condition: Value, yes: Value, no: Value) -> Value {
        // SAFETY: the condition is an i1, the values have one type.
        Value(unsafe { LLVMBuildSelect(self.raw, condition.0, yes.0, no.0, NONE) })
    }

    pub(crate) fn load(&self, ty: Type, pointer: Value) -> Value {
        // SAFETY: the callers load a first-class type from a pointer.
        Value(unsafe { LLVMBuildLoad2(self.raw, ty.0, pointer.0, NONE) })
    }

    pub(crate) fn store(&self, value: Value, pointer: Value) {
        // SAFETY: as for `load`.
        unsafe { LLVMBuildStore(self.raw, value.0, pointer.0) };
    }

    pub(crate) fn alloca(&self, ty: Type) -> Value {
        // SAFETY: the type is sized.
        Value(unsafe { LLVMBuildAlloca(self.raw, ty.0, NONE) })
    }

    pub(crate) fn offset(&self, pointer: Value, bytes: Value) -> Value {
        let mut index = [bytes.0];
        // SAFETY: an index of i64 into bytes.
        Value(unsafe {
            LLVMBuildGEP2(
                self.raw,
                self.module.int(8).0,
                pointer.0,
                index.as_mut_ptr(),
                1,
                NONE,
            )
        })
    }

    pub(crate) fn branch(&self, condition: Value, yes: Block, no: Block) {
        // SAFETY: the condition is an i1, the blocks are of the same function.
        unsafe { LLVMBuildCondBr(self.raw, condition.0, yes.0, no.0) };
    }

    pub(crate) fn jump(&self, to: Block) {
        // SAFETY: the block is of the same function.
        unsafe { LLVMBuildBr(self.raw, to.0) };
    }

    pub(crate) fn return_void(&self) {
        // SAFETY: the function returns nothing.
        unsafe { LLVMBuildRetVoid(self.raw) };
    }

    /// The same operation on other operands: for calls of pure functions.
    pub(crate) fn call_like(&self, original: Value, arguments: &[Value]) -> Option<Value> {
        original
            .callee()
            .map(|function| self.call(function, arguments))
    }
}
