//! SVG pictures of results.

mod fit;
mod instances;
mod pcie;
mod simulation;
mod tenant;

pub(crate) use fit::Plots;
pub(crate) use instances::{Shown, draw, is_for};
pub(crate) use pcie::{Contended, Slope, contention, slopes};
pub(crate) use simulation::simulation;
pub(crate) use tenant::tenant;

/// The colours that distinguish series, in order.
const COLOURS: [&str; 7] = [
    "steelblue",
    "darkorange",
    "seagreen",
    "firebrick",
    "mediumpurple",
    "sienna",
    "dimgray",
];
