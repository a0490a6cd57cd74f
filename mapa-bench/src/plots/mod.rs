//! Pictures of results, SVG.

mod fit;
mod pcie;
mod simulation;

pub(crate) use fit::{Plots, ids};
pub(crate) use pcie::{contention, slopes};
pub(crate) use simulation::simulation;

/// The colours of things that are told apart, in order.
const COLOURS: [&str; 7] = ["steelblue", "darkorange", "seagreen", "firebrick", "mediumpurple", "sienna", "dimgray"];
