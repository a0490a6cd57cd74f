//! Values and blocks.

use super::{Block, LLVMIntPredicate, LLVMOpcode, Module, Type, Value, text};
use llvm_plugin::inkwell::llvm_sys::core::*;
use llvm_plugin::inkwell::llvm_sys::prelude::*;
use llvm_plugin::inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage};
use std::ffi::CStr;
use std::fmt;

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the value is alive (rule 2); the message is copied and given back.
        unsafe {
            let text = LLVMPrintValueToString(self.0);
            write!(f, "{}", CStr::from_ptr(text).to_string_lossy())?;
            LLVMDisposeMessage(text);
        }
        Ok(())
    }
}

impl Block {
    pub(crate) fn instructions(self) -> Vec<Value> {
        let mut all = Vec::new();
        // SAFETY: the block is alive; the list ends with null.
        let mut at = unsafe { LLVMGetFirstInstruction(self.0) };
        while !at.is_null() {
            all.push(Value(at));
            // SAFETY: `at` is an instruction of the block.
            at = unsafe { LLVMGetNextInstruction(at) };
        }
        all
    }

    pub(crate) fn successors(self) -> Vec<Block> {
        // SAFETY: a block of a valid function has a terminator, whose successors are numbered from 0.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(self.0);
            if end.is_null() {
                return Vec::new();
            }
            (0..LLVMGetNumSuccessors(end))
                .map(|i| Block(LLVMGetSuccessor(end, i)))
                .collect()
        }
    }
}

impl Value {
    fn is(self, test: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef) -> bool {
        // SAFETY: LLVM's `LLVMIsA...` take any value.
        unsafe { !test(self.0).is_null() }
    }

    pub(crate) fn name(self) -> String {
        let mut length = 0;
        // SAFETY: any value has a name, maybe empty, of the length given.
        unsafe {
            let start = LLVMGetValueName2(self.0, &mut length);
            text(start, length)
        }
    }

    pub(crate) fn ty(self) -> Type {
        // SAFETY: any value has a type.
        Type(unsafe { LLVMTypeOf(self.0) })
    }

    pub(crate) fn is_function(self) -> bool {
        self.is(LLVMIsAFunction)
    }

    pub(crate) fn is_global_variable(self) -> bool {
        self.is(LLVMIsAGlobalVariable)
    }

    pub(crate) fn is_argument(self) -> bool {
        self.is(LLVMIsAArgument)
    }

    pub(crate) fn is_constant(self) -> bool {
        self.is(LLVMIsAConstant)
    }

    pub(crate) fn is_instruction(self) -> bool {
        self.is(LLVMIsAInstruction)
    }

    /// Null pointer, undef or poison: points to no memory.
    pub(crate) fn is_null_like(self) -> bool {
        // SAFETY: both take any constant.
        self.is_constant() && unsafe { LLVMIsNull(self.0) != 0 || LLVMIsUndef(self.0) != 0 }
    }

    /// The value of an integer constant of at most 64 bits, with its sign.
    pub(crate) fn constant_int(self) -> Option<i64> {
        let fits = self.ty().bits().is_some_and(|b| b <= 64);
        // SAFETY: it is an integer constant of at most 64 bits.
        (self.is(LLVMIsAConstantInt) && fits).then(|| unsafe { LLVMConstIntGetSExtValue(self.0) })
    }

    /// Whether this is a constant number below zero.
    pub(crate) fn is_negative(self) -> bool {
        let mut loses = 0;
        // SAFETY: it is a floating-point constant.
        let mut is_real_below = || unsafe { LLVMConstRealGetDouble(self.0, &mut loses) < 0.0 };
        if self.is(LLVMIsAConstantFP) {
            is_real_below()
        } else {
            self.constant_int().is_some_and(|n| n < 0)
        }
    }

    /// The operation of an instruction or of a constant expression.
    pub(crate) fn opcode(self) -> Option<LLVMOpcode> {
        if self.is_instruction() {
            // SAFETY: it is an instruction.
            return Some(unsafe { LLVMGetInstructionOpcode(self.0) });
        }
        // SAFETY: it is a constant expression.
        self.is(LLVMIsAConstantExpr)
            .then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }

    pub(crate) fn is_op(self, opcode: LLVMOpcode) -> bool {
        self.opcode() == Some(opcode)
    }

    pub(crate) fn operand_count(self) -> u32 {
        // SAFETY: any user has operands; what is no user is asked by no caller, or answers 0 or less.
        unsafe { LLVMGetNumOperands(self.0).max(0) as u32 }
    }

    pub(crate) fn operand(self, i: u32) -> Option<Value> {
        // SAFETY: the number is below the number of operands.
        let found = (i < self.operand_count()).then(|| unsafe { LLVMGetOperand(self.0, i) })?;
        (!found.is_null()).then_some(Value(found))
    }

    pub(crate) fn set_operand(self, i: u32, value: Value) {
        // SAFETY: the callers replace an operand by a value of the same type.
        unsafe { LLVMSetOperand(self.0, i, value.0) }
    }

    /// Every instruction and constant that uses this value, once a use.
    pub(crate) fn users(self) -> Vec<Value> {
        let mut all = Vec::new();
        // SAFETY: the list of uses ends with null.
        unsafe {
            let mut at = LLVMGetFirstUse(self.0);
            while !at.is_null() {
                all.push(Value(LLVMGetUser(at)));
                at = LLVMGetNextUse(at);
            }
        }
        all
    }

    /// The block of an instruction.
    pub(crate) fn block(self) -> Option<Block> {
        // SAFETY: it is an instruction.
        let found = self
            .is_instruction()
            .then(|| unsafe { LLVMGetInstructionParent(self.0) })?;
        (!found.is_null()).then_some(Block(found))
    }

    /// The function around an instruction.
    pub(crate) fn function(self) -> Option<Value> {
        // SAFETY: the block is alive.
        self.block()
            .map(|b| Value(unsafe { LLVMGetBasicBlockParent(b.0) }))
    }

    pub(crate) fn is_call(self) -> bool {
        self.is(LLVMIsACallInst) || self.is(LLVMIsAInvokeInst)
    }

    /// The function that a call calls by name, or else nothing.
    pub(crate) fn callee(self) -> Option<Value> {
        // SAFETY: it is a call or invoke.
        let called = self
            .is_call()
            .then(|| unsafe { LLVMGetCalledValue(self.0) })?;
        Value(called).is_function().then_some(Value(called))
    }

    /// Whether a call is of assembly in the source.
    pub(crate) fn is_assembly(self) -> bool {
        // SAFETY: it is a call or invoke.
        self.is_call() && Value(unsafe { LLVMGetCalledValue(self.0) }).is(LLVMIsAInlineAsm)
    }

    pub(crate) fn arguments(self) -> Vec<Value> {
        if !self.is_call() {
            return Vec::new();
        }
        // SAFETY: it is a call or invoke, whose arguments are its first operands.
        unsafe {
            (0..LLVMGetNumArgOperands(self.0))
                .map(|i| Value(LLVMGetOperand(self.0, i)))
                .collect()
        }
    }

    /// Replaces the called function by one with the same type.
    pub(crate) fn set_callee(self, function: Value) {
        self.set_operand(self.operand_count() - 1, function);
    }

    /// Puts another value in the place of an instruction wherever it is used. It is then to be erased
    /// by [`Module::erase`].
    pub(crate) fn replace_uses(self, by: Value) {
        // SAFETY: both are alive and have one type.
        unsafe { LLVMReplaceAllUsesWith(self.0, by.0) }
    }

    /// Whether argument `i` of a call is a copy of what it points to.
    pub(crate) fn is_by_value(self, i: u32) -> bool {
        // SAFETY: it is a call; attributes of arguments count from 1.
        self.is_call()
            && unsafe { !LLVMGetCallSiteEnumAttribute(self.0, i + 1, kind("byval")).is_null() }
    }

    /// A function's type, or that of the function which a call calls.
    pub(crate) fn function_type(self) -> Option<Type> {
        if self.is_function() {
            // SAFETY: it is a function.
            return Some(Type(unsafe { LLVMGlobalGetValueType(self.0) }));
        }
        // SAFETY: it is a call or invoke.
        self.is_call()
            .then(|| Type(unsafe { LLVMGetCalledFunctionType(self.0) }))
    }

    /// Result and parameters of a function, or of that which a call calls.
    pub(crate) fn signature(self) -> Option<(Type, Vec<Type>)> {
        self.function_type().map(|t| (t.result(), t.parameters()))
    }

    pub(crate) fn blocks(self) -> Vec<Block> {
        let mut all = Vec::new();
        // SAFETY: the callers have a function; the list ends with null.
        unsafe {
            let mut at = LLVMGetFirstBasicBlock(self.0);
            while !at.is_null() {
                all.push(Block(at));
                at = LLVMGetNextBasicBlock(at);
            }
        }
        all
    }

    pub(crate) fn parameters(self) -> Vec<Value> {
        // SAFETY: the callers have a function.
        unsafe {
            (0..LLVMCountParams(self.0))
                .map(|i| Value(LLVMGetParam(self.0, i)))
                .collect()
        }
    }

    /// The type that a `byval` parameter points to.
    pub(crate) fn by_value_type(self, parameter: u32) -> Option<Type> {
        // SAFETY: the callers have a function; attributes of parameters count from 1.
        unsafe {
            let found = LLVMGetEnumAttributeAtIndex(self.0, parameter + 1, kind("byval"));
            (!found.is_null()).then(|| Type(LLVMGetTypeAttributeValue(found)))
        }
    }

    /// Whether this is a parameter that points to a copy of the caller's argument.
    pub(crate) fn is_by_value_parameter(self) -> bool {
        if !self.is_argument() {
            return false;
        }
        // SAFETY: it is a parameter.
        let function = Value(unsafe { LLVMGetParamParent(self.0) });
        let number = function.parameters().iter().position(|p| *p == self);
        number.is_some_and(|i| function.by_value_type(i as u32).is_some())
    }

    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: the callers have a global.
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    /// Whether no other file can see a global.
    pub(crate) fn is_internal(self) -> bool {
        // SAFETY: the callers have a global.
        let linkage = unsafe { LLVMGetLinkage(self.0) };
        matches!(
            linkage,
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        )
    }

    pub(crate) fn make_internal(self) {
        // SAFETY: the callers have a function with a body.
        unsafe { LLVMSetLinkage(self.0, LLVMLinkage::LLVMInternalLinkage) }
    }

    pub(crate) fn has_attribute(self, name: &str) -> bool {
        // SAFETY: the callers have a function.
        unsafe {
            !LLVMGetEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, kind(name)).is_null()
        }
    }

    pub(crate) fn add_attribute(self, module: Module, name: &str) {
        // SAFETY: the callers have a function; the attribute takes no value.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(module.context(), kind(name), 0);
            LLVMAddAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, attribute);
        }
    }

    pub(crate) fn remove_attribute(self, name: &str) {
        // SAFETY: the callers have a function; removing what is not there does nothing.
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, kind(name)) }
    }

    /// The predicate of a comparison of integers.
    pub(crate) fn predicate(self) -> Option<LLVMIntPredicate> {
        // SAFETY: it is an icmp.
        self.is(LLVMIsAICmpInst)
            .then(|| unsafe { LLVMGetICmpPredicate(self.0) })
    }

    /// A phi's values with the blocks they come from.
    pub(crate) fn incoming(self) -> Vec<(Value, Block)> {
        if !self.is(LLVMIsAPHINode) {
            return Vec::new();
        }
        // SAFETY: it is a phi.
        unsafe {
            (0..LLVMCountIncoming(self.0))
                .map(|i| {
                    (
                        Value(LLVMGetIncomingValue(self.0, i)),
                        Block(LLVMGetIncomingBlock(self.0, i)),
                    )
                })
                .collect()
        }
    }

    /// A branch's condition.
    pub(crate) fn condition(self) -> Option<Value> {
        // SAFETY: it is a branch, and a conditional one.
        unsafe {
            (self.is(LLVMIsABranchInst) && LLVMIsConditional(self.0) != 0)
                .then(|| Value(LLVMGetCondition(self.0)))
        }
    }

    pub(crate) fn is_volatile(self) -> bool {
        // SAFETY: loads and stores have the flag.
        (self.is(LLVMIsALoadInst) || self.is(LLVMIsAStoreInst))
            && unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    /// The type that an alloca allocates.
    pub(crate) fn allocated_type(self) -> Option<Type> {
        // SAFETY: it is an alloca.
        self.is(LLVMIsAAllocaInst)
            .then(|| Type(unsafe { LLVMGetAllocatedType(self.0) }))
    }
}

fn kind(name: &str) -> u32 {
    // SAFETY: the name is given with its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}
