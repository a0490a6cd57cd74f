#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mapa_fuzz_targets::nccl_log_topology::run(data));
