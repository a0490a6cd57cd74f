#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mapa_fuzz_targets::pcie_counters::run(data));
