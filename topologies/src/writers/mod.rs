//! Writers of machines, one module for each format. Each writer is a method of
//! [`Machine`](crate::Machine).

mod dot;
mod host;
mod json_graph;
mod koordinator;
mod nccl_topology;
mod slurm_gres;
#[cfg(feature = "pictures")]
mod svg;

#[cfg(feature = "pictures")]
pub use svg::Picture;
