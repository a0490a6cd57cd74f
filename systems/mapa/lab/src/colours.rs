//! The colours of policies, the same in every picture.

use mapa_lab::picture::{BLUE, Colour, GREEN, GREY, ORANGE, PINK, VIOLET};

/// The colour of a policy by its name.
pub(crate) fn colour(policy: &str) -> Colour {
    match policy {
        "lowest-id" => GREY,
        "topo-aware" | "topo-aware-released" => ORANGE,
        "greedy" => GREEN,
        "preserve" | "preserve-released" => BLUE,
        "max-bandwidth" => PINK,
        _ => VIOLET,
    }
}
