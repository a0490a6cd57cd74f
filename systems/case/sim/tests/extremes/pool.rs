//! The model of processes that share instances, asked for extreme jobs at extreme places.

use mapa_system_case_sim::ByWarps;

use crate::shared::{Extreme, values};

values!(ByWarps: f64::values().into_iter().map(ByWarps::new));
