#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mapa_fuzz_targets::nvidia_smi_topo::run(data));
