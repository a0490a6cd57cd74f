//! SVG pictures of results.

mod fit;
mod instances;
mod simulation;

pub(crate) use fit::Plots;
pub(crate) use instances::{Shown, draw, is_for};
pub(crate) use simulation::simulation;
