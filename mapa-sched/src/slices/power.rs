//! What a GPU draws.

use mapa_core::{DeviceId, HardwareGraph};

use crate::error::{Error, ErrorKind};

/// The power of one GPU by how many of its seven compute slices are busy, watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power([f64; 8]);

/// The power of a product, and where the numbers are from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PowerTable {
    /// The product: a word of the vendor's name for it.
    pub product: &'static str,
    /// What one GPU of the product draws, by its busy slices.
    pub power: Power,
    /// Where the numbers are from, and what is not known of them.
    pub status: &'static str,
}

impl PowerTable {
    /// The tables that there are. No table is known for any other product.
    pub const ALL: &'static [Self] = &[Self {
        product: "A100",
        power: Power::A100,
        status: "published with the code of Hisaria et al.; where it was measured, and on which of \
                 the A100s, is not said",
    }];

    /// The table of a whole device: by the name of its MIG profiles, else by that of its product.
    /// `None` for a vertex that the machine does not have.
    #[must_use]
    pub fn of_device(graph: &HardwareGraph, whole: DeviceId) -> Option<&'static Self> {
        let model = graph.model(whole).map(|model| model.name());
        let device = graph.devices().get(whole.index());
        let product = device.and_then(|device| device.product.as_deref());
        model.and_then(Self::of).or(product.and_then(Self::of))
    }

    /// The table of the product with this name, such as `NVIDIA A100-SXM4-40GB` or `a100-40gb`.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.find_map(|word| {
            let mut all = Self::ALL.iter();
            all.find(|table| table.product.eq_ignore_ascii_case(word))
        })
    }
}

impl Power {
    /// An A100 by the published code of Hisaria et al. Where the numbers were measured is not said.
    pub const A100: Self = Self([40.0, 120.0, 160.0, 200.0, 240.0, 250.0, 250.0, 250.0]);

    /// An A100 by the manuscript beside that code.
    pub const A100_MANUSCRIPT: Self = Self([40.0, 119.0, 160.0, 205.3, 243.9, 247.7, 248.5, 248.5]);

    /// The power with 0 to 7 busy slices, watts.
    ///
    /// # Errors
    /// A number that is not finite or below 0, or one below that of fewer busy slices.
    pub fn new(watts: [f64; 8]) -> Result<Self, Error> {
        let good = watts.iter().all(|watts| watts.is_finite() && *watts >= 0.0);
        if !good || watts.windows(2).any(|pair| pair[1] < pair[0]) {
            let what =
                format!("power {watts:?}: expected watts that do not fall from 0 to 7 busy slices");
            return Err(ErrorKind::BadPower(what).into());
        }
        Ok(Self(watts))
    }

    /// The power with this many busy slices, watts; of 7 for more.
    #[must_use]
    pub fn watts(&self, busy: u8) -> f64 {
        self.0[usize::from(busy.min(7))]
    }

    /// How much more is drawn if `size` slices become busy beside `busy`, watts.
    #[must_use]
    pub fn added(&self, busy: u8, size: u8) -> f64 {
        self.watts(busy.saturating_add(size)) - self.watts(busy)
    }

    /// Whether no power lies below the straight line from none to seven busy slices: the condition
    /// of the bound on energy. The power need not be concave.
    #[must_use]
    pub fn is_above_chord(&self) -> bool {
        let step = (self.0[7] - self.0[0]) / 7.0;
        (0..8u8).all(|busy| self.watts(busy) >= self.0[0] + step * f64::from(busy))
    }
}
