//! Readers of CASE.

use crate::{Done, Reader};
use mapa_system_case_manager::Instances;

pub fn readers() -> Vec<Reader> {
    let list = "[[instance]]\ncuda_visible_devices = \"MIG-0\"\nmemory = 6000000000\nslices = 1\n\n[[instance]]\ncuda_visible_devices = \"MIG-1\"\nmemory = 6000000000\n";
    vec![
        Reader::of_text("instances of CASE", &[list], |text| {
            Done::of(Instances::parse("file", text))
        })
        .limited(mapa_core::MAX_TOML_BYTES),
    ]
}
