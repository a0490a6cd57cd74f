//! The colours of schedulers and of models of PCIe, the same in every picture.

use super::setting::{EQ_2, MAX_MIN};
use mapa_lab::picture::{BLUE, Colour, DARK, GREEN, GREY, ORANGE, VIOLET};

/// The colour of a scheduler or of a model of PCIe by its name.
pub(super) fn colour(name: &str) -> Colour {
    match name {
        "first-gpu" => GREY,
        "pcie-aware" => BLUE,
        "aware-sjf" | EQ_2 => ORANGE,
        "pcie-plan" | MAX_MIN => GREEN,
        "bound" => DARK,
        _ => VIOLET,
    }
}
