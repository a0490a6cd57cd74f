//! Writers, one file each; each is a method of [`Machine`](crate::Machine).

mod dot;
mod host;
mod json_graph;
mod koordinator;
mod nccl_topology;
mod slurm_gres;
mod svg;

pub use svg::Picture;
