//! LLVM's C API with types: the only folder that is unsafe.
//!
//! A handle ([`Value`], [`Block`], [`Type`], [`Module`]) is a pointer into the module that the compiler
//! gave to the pass. Three rules make the calls below sound, and the pass keeps them:
//!
//! 1. Handles live only while the pass runs, on one thread, on one module.
//! 2. Nothing is erased while a handle to it may be used. [`Module::run_passes`] erases, so every analysis
//!    starts after it. After that the pass adds instructions and replaces operands; an instruction that
//!    is replaced whole stays until [`Module::erase`], when the pass has done with every function.
//! 3. A function that needs a certain kind of value asks for the kind first and answers `None` else.
#![allow(unsafe_code)]

mod build;
mod module;
mod value;

pub(crate) use build::Builder;
use llvm_plugin::inkwell::llvm_sys::prelude::{
    LLVMBasicBlockRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef,
};
pub(crate) use llvm_plugin::inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use std::ffi::{CString, c_char};

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
