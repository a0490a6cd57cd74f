//! Any text is read or refused; shares that are read are finite, and expectations by them are within
//! their bounds.

use std::sync::Arc;

use mapa_core::{DeviceSet, Expected, Operation};
use mapa_regress::read_efficiency;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
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
}
