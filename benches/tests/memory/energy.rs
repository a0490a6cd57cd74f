//! Readers of the energy system.

use crate::{Done, Reader};
use mapa_system_energy::PriceFile;
use mapa_system_energy::learned::Weights;
use mapa_system_energy_sim::Tuning;

pub fn readers() -> Vec<Reader> {
    let name = PriceFile::names().next().expect("a file");
    let prices = PriceFile::named(name)
        .and_then(|file| file.write())
        .expect("prices");
    vec![
        Reader::of_text("prices", &[&prices], |text| Done::of(PriceFile::read(text)))
            .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text("tuning", &["seed = 1\n"], |text| {
            Done::of(Tuning::read(text))
        })
        .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text("weights", &["mapa weights\n"], |text| {
            Done::of(Weights::from_bytes(text.as_bytes()))
        }),
    ]
}
