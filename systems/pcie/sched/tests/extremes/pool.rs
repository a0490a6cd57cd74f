//! Extreme values of jobs that share PCIe.

use mapa_sched::bound::Solver;
use mapa_system_pcie::*;

use crate::sched_pool::driven;
use crate::shared::{Extreme, values};

values!(PcieAware: [PcieAware::new(), driven(PcieAware::new()), driven(PcieAware::first_gpu()), driven(PcieAware::new().max_gbps(f64::NAN).delay_threshold(f64::NAN))]);
values!(PcieBound: [PcieBound::Prices(0), PcieBound::Prices(10), PcieBound::Solver(Solver { columns: 1000, seconds: Some(1.0) })]);
values!(PciePlan: [PciePlan::new(), driven(PciePlan::new()), driven(PciePlan::new().max_gbps(f64::NAN)), driven(PciePlan::new().max_gbps(0.0).repartition(None))]);
values!(PciePorts: [(0, 0, 0.0), (1, 7, 30.0), (u32::MAX, u8::MAX, f64::MAX), (1, u8::MAX, f64::MIN_POSITIVE), (1, 7, f64::NAN)].into_iter().zip(PortModel::values().into_iter().cycle()).map(|((gpus, slices, gbps), model)| PciePorts { gpus, slices, gbps, model }));
values!(PcieWork: [(0.0, 1.0, 30.0, 1), (f64::NAN, 0.0, -1.0, 0), (0.0, 1.0, 0.0, 2), (0.0, 1.0, 1e-300, u8::MAX), (0.0, f64::MIN_POSITIVE, 1.0, 1), (1e300, 1e300, f64::MAX, 1)].map(|(arrives, seconds, gbps, slices)| PcieWork { arrives, seconds, gbps, slices }));
values!(PortModel: [PortModel::EqualShare, PortModel::MaxMin]);
