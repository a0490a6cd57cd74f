//! LLVM's C API with types: the only file that is unsafe.
//!
//! A handle ([`Value`], [`Block`], [`Type`], [`Module`]) is a pointer into the module that the compiler
//! gave to the pass. Three rules make the calls below sound, and the pass keeps them:
//!
//! 1. Handles live only while the pass runs, on one thread, on one module.
//! 2. Nothing is erased while a handle to it is kept: [`Module::run_passes`] erases, so every analysis
//!    starts after it; after that the pass adds instructions and replaces operands, and erases none.
//! 3. A function that needs a certain kind of value asks for the kind first and answers `None` else.
#![allow(unsafe_code)]

use llvm_plugin::inkwell::llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_plugin::inkwell::llvm_sys::core::*;
use llvm_plugin::inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_plugin::inkwell::llvm_sys::prelude::*;
use llvm_plugin::inkwell::llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement,
};
use llvm_plugin::inkwell::llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
};
use llvm_plugin::inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMTypeKind};
pub(crate) use llvm_plugin::inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use std::ffi::{CStr, CString, c_char};
use std::fmt;

/// A module.
#[derive(Clone, Copy)]
pub(crate) struct Module(LLVMModuleRef);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type(LLVMTypeRef);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Block(LLVMBasicBlockRef);

/// An instruction, constant, global, function or argument. Ordered by address: never let the order
/// show in what the pass does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(LLVMValueRef);

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

/// `text` up to its first NUL, for C.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// # Safety
/// `start` must point to `length` readable bytes.
unsafe fn text(start: *const c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

impl Module {
    /// # Safety
    /// `raw` must be the module that the pass was called for.
    pub(crate) unsafe fn from_raw(raw: LLVMModuleRef) -> Module {
        Module(raw)
    }

    pub(crate) fn target(self) -> String {
        // SAFETY: the module is alive; the string is NUL-terminated and copied at once.
        unsafe { CStr::from_ptr(LLVMGetTarget(self.0)) }
            .to_string_lossy()
            .into_owned()
    }

    pub(crate) fn source(self) -> String {
        let mut length = 0;
        // SAFETY: the module is alive; LLVM gives the length of the string.
        unsafe {
            let start = LLVMGetSourceFileName(self.0, &mut length);
            text(start, length)
        }
    }

    /// Every function, declarations too, in the module's order.
    pub(crate) fn functions(self) -> Vec<Value> {
        // SAFETY: the module is alive; the list ends with null.
        let mut at = unsafe { LLVMGetFirstFunction(self.0) };
        let mut all = Vec::new();
        while !at.is_null() {
            all.push(Value(at));
            // SAFETY: `at` is a function of the module.
            at = unsafe { LLVMGetNextFunction(at) };
        }
        all
    }

    pub(crate) fn function(self, name: &str) -> Option<Value> {
        let name = c_string(name);
        // SAFETY: the module is alive, the name NUL-terminated.
        let found = unsafe { LLVMGetNamedFunction(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(Value(found))
    }

    /// The function of this name, declared if it is not there yet.
    pub(crate) fn declare(self, name: &str, function_type: Type) -> Value {
        self.function(name).unwrap_or_else(|| {
            let name = c_string(name);
            // SAFETY: the type is a function type of the module's context.
            Value(unsafe { LLVMAddFunction(self.0, name.as_ptr(), function_type.0) })
        })
    }

    fn context(self) -> LLVMContextRef {
        // SAFETY: the module is alive.
        unsafe { LLVMGetModuleContext(self.0) }
    }

    pub(crate) fn int(self, bits: u32) -> Type {
        // SAFETY: the context lives as long as the module.
        Type(unsafe { LLVMIntTypeInContext(self.context(), bits) })
    }

    pub(crate) fn pointer(self) -> Type {
        // SAFETY: as above.
        Type(unsafe { LLVMPointerTypeInContext(self.context(), 0) })
    }

    pub(crate) fn void(self) -> Type {
        // SAFETY: as above.
        Type(unsafe { LLVMVoidTypeInContext(self.context()) })
    }

    pub(crate) fn function_type(self, result: Type, parameters: &[Type]) -> Type {
        let mut raw: Vec<LLVMTypeRef> = parameters.iter().map(|t| t.0).collect();
        // SAFETY: LLVM copies the list, whose length is given.
        Type(unsafe { LLVMFunctionType(result.0, raw.as_mut_ptr(), raw.len() as u32, 0) })
    }

    pub(crate) fn constant(self, ty: Type, value: u64) -> Value {
        // SAFETY: the callers give an integer type.
        Value(unsafe { LLVMConstInt(ty.0, value, 0) })
    }

    /// A private constant array of 64-bit numbers.
    pub(crate) fn constant_array(self, name: &str, numbers: &[u64]) -> Value {
        let mut raw: Vec<LLVMValueRef> = numbers
            .iter()
            .map(|&n| self.constant(self.int(64), n).0)
            .collect();
        let name = c_string(name);
        // SAFETY: types and values are of the module's context; LLVM copies the list.
        unsafe {
            let array = LLVMConstArray(self.int(64).0, raw.as_mut_ptr(), raw.len() as u32);
            let global = LLVMAddGlobal(self.0, LLVMTypeOf(array), name.as_ptr());
            LLVMSetInitializer(global, array);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            Value(global)
        }
    }

    /// Appends `constructor` to those that run before `main`.
    pub(crate) fn add_constructor(self, constructor: Value) {
        const NAME: &CStr = c"llvm.global_ctors";
        // SAFETY: `llvm.global_ctors` is by LLVM's rule an array of { i32, ptr, ptr }. The old array has
        // no user but itself and is replaced by the longer one under the same name.
        unsafe {
            let mut fields = [
                LLVMConstInt(self.int(32).0, 65535, 0),
                constructor.0,
                LLVMConstPointerNull(self.pointer().0),
            ];
            let entry = LLVMConstStructInContext(self.context(), fields.as_mut_ptr(), 3, 0);
            let mut entries = Vec::new();
            let old = LLVMGetNamedGlobal(self.0, NAME.as_ptr());
            if !old.is_null() {
                let list = LLVMGetInitializer(old);
                for i in 0..LLVMGetArrayLength(LLVMTypeOf(list)) {
                    entries.push(LLVMGetAggregateElement(list, i));
                }
                LLVMDeleteGlobal(old);
            }
            entries.push(entry);
            let list = LLVMConstArray(
                LLVMTypeOf(entry),
                entries.as_mut_ptr(),
                entries.len() as u32,
            );
            let new = LLVMAddGlobal(self.0, LLVMTypeOf(list), NAME.as_ptr());
            LLVMSetInitializer(new, list);
            LLVMSetLinkage(new, LLVMLinkage::LLVMAppendingLinkage);
        }
    }

    /// Runs passes of LLVM by their names in `opt`.
    pub(crate) fn run_passes(self, passes: &str) -> Result<(), String> {
        let names = c_string(passes);
        // SAFETY: the module is alive; no target machine is needed by passes without a cost model; the
        // options are disposed of, the message is copied and disposed of.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.0, names.as_ptr(), std::ptr::null_mut(), options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let message = LLVMGetErrorMessage(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(message);
            Err(format!("passes {passes:?}: {text}"))
        }
    }

    /// What LLVM's verifier finds wrong.
    pub(crate) fn verify(self) -> Result<(), String> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the module is alive; the message is copied and disposed of.
        unsafe {
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.0, action, &mut message) != 0;
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeMessage(message);
            if broken { Err(text) } else { Ok(()) }
        }
    }

    /// Size of a type in memory.
    pub(crate) fn size_of(self, ty: Type) -> u64 {
        // SAFETY: the data layout lives as long as the module; `ty` has a size, since it is loaded,
        // stored, passed or indexed in the module.
        unsafe { LLVMABISizeOfType(LLVMGetModuleDataLayout(self.0), ty.0) }
    }

    /// The distance in bytes that a `getelementptr`, instruction or constant, adds: `None` if it
    /// depends on a value.
    pub(crate) fn constant_offset(self, gep: Value) -> Option<i64> {
        // SAFETY: the caller has a getelementptr, so it has a source type and index operands, and each
        // index matches the type it walks through.
        unsafe {
            let layout = LLVMGetModuleDataLayout(self.0);
            let mut ty = LLVMGetGEPSourceElementType(gep.0);
            let mut offset = 0_i64;
            for i in 1..gep.operand_count() {
                let index = gep.operand(i)?.constant_int()?;
                if i == 1 {
                    offset += index * LLVMABISizeOfType(layout, ty) as i64;
                    continue;
                }
                match LLVMGetTypeKind(ty) {
                    LLVMTypeKind::LLVMStructTypeKind => {
                        offset += LLVMOffsetOfElement(layout, ty, index as u32) as i64;
                        ty = LLVMStructGetTypeAtIndex(ty, index as u32);
                    }
                    LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                        ty = LLVMGetElementType(ty);
                        offset += index * LLVMABISizeOfType(layout, ty) as i64;
                    }
                    _ => return None,
                }
            }
            Some(offset)
        }
    }
}

impl Type {
    pub(crate) fn is_pointer(self) -> bool {
        // SAFETY: types live as long as the context.
        unsafe { LLVMGetTypeKind(self.0) == LLVMTypeKind::LLVMPointerTypeKind }
    }

    /// Width of an integer type.
    pub(crate) fn bits(self) -> Option<u32> {
        // SAFETY: the kind is asked for first.
        unsafe {
            (LLVMGetTypeKind(self.0) == LLVMTypeKind::LLVMIntegerTypeKind)
                .then(|| LLVMGetIntTypeWidth(self.0))
        }
    }

    pub(crate) fn null(self) -> Value {
        // SAFETY: every first-class type has a null.
        Value(unsafe { LLVMConstNull(self.0) })
    }

    /// A function type's parameters.
    fn parameters(self) -> Vec<Type> {
        // SAFETY: the callers have a function type; LLVM fills a list of the length that it gave.
        unsafe {
            let mut raw = vec![std::ptr::null_mut(); LLVMCountParamTypes(self.0) as usize];
            LLVMGetParamTypes(self.0, raw.as_mut_ptr());
            raw.into_iter().map(Type).collect()
        }
    }

    fn result(self) -> Type {
        // SAFETY: the callers have a function type.
        Type(unsafe { LLVMGetReturnType(self.0) })
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

    /// Puts another value in the place of a call, and erases the call.
    pub(crate) fn replace_and_erase(self, by: Value) {
        // SAFETY: both have one type; the caller keeps no handle to this one.
        unsafe {
            LLVMReplaceAllUsesWith(self.0, by.0);
            LLVMInstructionEraseFromParent(self.0);
        }
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

/// Parameters and result of the function type of a value.
pub(crate) fn signature(function: Value) -> Option<(Type, Vec<Type>)> {
    function
        .function_type()
        .map(|t| (t.result(), t.parameters()))
}
