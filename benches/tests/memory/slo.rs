//! Readers of the controllers of latency.

use crate::{Done, Reader};

pub fn readers() -> Vec<Reader> {
    vec![
        Reader::of_text("latency log", &["{}\n"], |text| {
            Done::of(mapa_system_slo_log::read_log(text))
        }),
        Reader::of_text("tenants", &["tenant,role\na,serves\n"], |text| {
            Done::of(mapa_system_slo_sim::read_tenants(text))
        }),
    ]
}
