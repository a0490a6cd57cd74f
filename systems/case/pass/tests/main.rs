//! Tests of the pass: programs are compiled with it and run against a CUDA runtime without GPU.
//!
//! They need the pass, built by `cargo build --release`, Debian's clang-16 and llvm-16, and the program
//! `mapa-case` of the main workspace, which they build.

mod program;

mod code;
mod docs;
mod placements;
mod random;
mod refused;
mod shared;
