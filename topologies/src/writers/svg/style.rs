//! Colours, widths and dashes. The colours are from Okabe and Ito's palette, which people with any
//! kind of colour vision can tell apart. Widths and dashes show the same without colour.

use mapa_core::{Link, LinkClass};

use super::canvas::number;

pub(super) const INK: &str = "#1f2933";
pub(super) const SOFT: &str = "#52606d";
pub(super) const PAPER: &str = "#ffffff";
/// The colour of lines that the job uses.
pub(super) const ACCENT: &str = "#d55e00";
pub(super) const CARD: &str = "#ffffff";
pub(super) const CARD_EDGE: &str = "#3e4c59";
pub(super) const BUSY: &str = "#dde2e7";
pub(super) const BUSY_EDGE: &str = "#a3aeb9";
pub(super) const BUSY_INK: &str = "#7b8794";
pub(super) const HOST: &str = "#7b8794";
pub(super) const BAR: &str = "#e3edf6";
pub(super) const BAR_EDGE: &str = "#0072b2";
pub(super) const NIC: &str = "#f6f0dc";
pub(super) const NIC_EDGE: &str = "#b8a25a";
/// Fill colours of nested boxes, outermost first.
pub(super) const BOXES: [&str; 4] = ["#f7f9fb", "#eef2f6", "#e5ebf1", "#dce4ec"];
pub(super) const BOX_EDGE: &str = "#9aa5b1";

/// Colours of direct links: sky blue, blue, bluish green, reddish purple, black, yellow.
const COLOURS: [&str; 6] = [
    "#56b4e9", "#0072b2", "#009e73", "#cc79a7", "#000000", "#c9b400",
];
const WIDTHS: [f64; 5] = [2.0, 4.5, 6.5, 8.0, 9.0];

/// The style of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stroke {
    pub(super) colour: &'static str,
    pub(super) width: f64,
    pub(super) dash: Option<&'static str>,
}

impl Stroke {
    pub(super) fn width(&self) -> String {
        number(self.width)
    }
}

/// The style of a link. `kinds` are all kinds of links in the picture, best first. Single links are
/// always the thinnest.
pub(super) fn stroke(link: Link, kinds: &[Link]) -> Stroke {
    if !link.class.is_direct() {
        return Stroke {
            colour: HOST,
            width: 2.5,
            dash: Some(dash(link.class)),
        };
    }
    let direct: Vec<&Link> = kinds
        .iter()
        .rev()
        .filter(|kind| kind.class.is_direct())
        .collect();
    let has_single = direct
        .first()
        .is_some_and(|kind| kind.class == LinkClass::Direct(1));
    let place =
        direct.iter().position(|kind| **kind == link).unwrap_or(0) + usize::from(!has_single);
    let width = WIDTHS[place.min(WIDTHS.len() - 1)];
    let dash = (place >= COLOURS.len()).then_some("14 3");
    Stroke {
        colour: COLOURS[place % COLOURS.len()],
        width,
        dash,
    }
}

/// The dashes of a host path. Longer paths have shorter dashes.
fn dash(class: LinkClass) -> &'static str {
    match class {
        LinkClass::Board => "18 3",
        LinkClass::Pix => "14 4",
        LinkClass::Pxb => "14 4 4 4",
        LinkClass::Phb => "9 4",
        LinkClass::Node => "9 4 3 4",
        _ => "4 4",
    }
}
