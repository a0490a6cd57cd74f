//! Modules and types.

use super::{Module, Type, Value, c_string, text};
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
use llvm_plugin::inkwell::llvm_sys::{LLVMLinkage, LLVMTypeKind};
use llvm_plugin::inkwell::module::Module as InkwellModule;
use std::ffi::CStr;

impl Module {
    /// The module that the pass was called for.
    pub(crate) fn of(module: &mut InkwellModule<'_>) -> Module {
        Module(module.as_mut_ptr())
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

    pub(super) fn context(self) -> LLVMContextRef {
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

    /// Erases instructions that were replaced. No handle to one may be used after.
    pub(crate) fn erase(self, replaced: Vec<Value>) {
        for instruction in replaced {
            // SAFETY: an instruction without uses; each was replaced once, and nothing else erases.
            unsafe { LLVMInstructionEraseFromParent(instruction.0) }
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
    pub(super) fn parameters(self) -> Vec<Type> {
        // SAFETY: the callers have a function type; LLVM fills a list of the length that it gave.
        unsafe {
            let mut raw = vec![std::ptr::null_mut(); LLVMCountParamTypes(self.0) as usize];
            LLVMGetParamTypes(self.0, raw.as_mut_ptr());
            raw.into_iter().map(Type).collect()
        }
    }

    pub(super) fn result(self) -> Type {
        // SAFETY: the callers have a function type.
        Type(unsafe { LLVMGetReturnType(self.0) })
    }
}
