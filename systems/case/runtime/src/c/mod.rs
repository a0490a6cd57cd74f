//! What C sees: the functions of `mapa_case.h`.
//!
//! Every `unsafe` of the crate is in this folder. Callers hand over pointers as C does; what each
//! must point to is what CUDA's function of that name expects.
#![allow(
    unsafe_code,
    reason = "C programs call it, and it calls the CUDA runtime that they have loaded"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the header says what C must pass: the arguments of CUDA's function of that name"
)]

mod abi;
mod eager;
mod lazy;
mod lazy_abi;
mod lazy_streams;
mod memory;
mod region;
mod runtime;

pub use abi::{
    CASE_EXIT, CASE_EXIT_ON_REFUSAL, CASE_MAY_EXTEND, CASE_NO_MANAGER, CASE_NO_TASK, CASE_OK,
    CASE_OUT_OF_MEMORY, CASE_REFUSED, CASE_UNKNOWN_WARPS, case_destroy, case_init, case_task_begin,
    case_task_end, case_task_extend,
};
pub use eager::{
    UnusedLease, allocate, end_all, forget, inside, is_bound, is_inside, release, release_all,
    touch,
};
pub use lazy_abi::*;
pub use lazy_streams::*;
pub use memory::{SharedServer, SharedTransport, receive_files, send_files};
pub use runtime::{CaseDim3, MEMORY, NO_DEVICE, NO_RUNTIME, RuntimeFn, Stream};
