//! Any text is read or refused; shares that are read are finite, and expectations by them are within
//! their bounds.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use mapa_core::{DeviceSet, Expected, Operation};
use mapa_regress::read_efficiency;

fuzz_target!(|text: &str| {
    let Ok(shares) = read_efficiency(text) else {
        return;
    };
    let graph = mapa_topologies::named("dgx-1v")
        .expect("in the catalogue")
        .graph()
        .expect("a sound machine");
    let model = Expected::new(Operation::AllReduce, Arc::new(shares));
    for k in 2..=8 {
        let Some(own) = model.of(&graph, &DeviceSet::first_n(k)) else {
            continue;
        };
        assert!(own.gbps.is_finite() && own.gbps > 0.0 && own.gbps <= own.nominal_gbps);
        assert!(own.low_gbps <= own.gbps && own.gbps <= own.high_gbps);
    }
});
