//! The colours of pictures.

/// The colours that distinguish series, in order, as SVG names them.
pub const COLOURS: [&str; 7] = [
    "steelblue",
    "darkorange",
    "seagreen",
    "firebrick",
    "mediumpurple",
    "sienna",
    "dimgray",
];
