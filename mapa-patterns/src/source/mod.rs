//! From source code to an application graph: calls that communicate are found in syntax trees.
//! Nothing is executed.
//!
//! The paper (section 3.1) builds an application graph "by combining the graph of all NCCL API
//! calls used in the program", and those of `cudaMemcpyPeer` and MPI. Files are parsed with
//! tree-sitter's grammars. Names in comments, in strings and in code that the preprocessor drops
//! are therefore not taken for calls, but a call within a macro such as `NCCLCHECK(..)` is found.
//!
//! The arguments of each call are evaluated for every rank of the job (`value.rs` lists what is
//! understood). This gives the edges of the call. The union of all edges is the application graph.
//! If a peer cannot be derived, it could be any rank. Then the graph is all-to-all, the only safe
//! one, and a note says so.

mod axis;
mod bind;
mod calls;
mod declare;
mod edges;
mod expr;
mod judge;
mod kinds;
mod launch;
mod loops;
mod names;
mod parse;
mod program;
mod proposal;
mod scan;
mod settings;
mod tree;
mod value;
mod walk;

pub use kinds::{Communication, Library};
pub use proposal::{Decision, Proposal};
pub use scan::{Finding, Source};
