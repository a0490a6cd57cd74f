//! Models of jobs that share PCIe, asked for extreme jobs at extreme places.

use mapa_sim::Workload;
use mapa_system_pcie_sim::{PcieEqualShare, PcieMaxMin};

use crate::shared::{Extreme, values};

values!(PcieEqualShare: f64::values().into_iter().map(PcieEqualShare::new));
values!(PcieMaxMin: Workload::values().iter().map(PcieMaxMin::new));
