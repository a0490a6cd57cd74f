//! SVG pictures of results.

#[cfg(feature = "fit")]
mod fit;
mod instances;
mod simulation;

#[cfg(feature = "fit")]
pub(crate) use fit::Plots;
pub(crate) use instances::{ShownOccupancy, draw, is_for};
pub(crate) use simulation::simulation;
