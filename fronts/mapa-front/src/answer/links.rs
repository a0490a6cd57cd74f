//! Small parts of several answers.

use mapa_core::Census;
use schemars::JsonSchema;
use serde::Serialize;

/// The numbers of links that a job uses, by kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Links {
    /// Pairs of ranks joined by two links or more, or within one device.
    pub double: u32,
    /// Pairs joined by one direct link.
    pub single: u32,
    /// Pairs joined through the host.
    pub pcie: u32,
}

impl Links {
    /// The numbers of a census.
    #[must_use]
    pub fn new(census: &Census) -> Self {
        let (double, single, pcie) = census.xyz();
        Self {
            double,
            single,
            pcie,
        }
    }
}

/// The devices of a job on one of several servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Server {
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// The vendor's numbers for them, in the form of `CUDA_VISIBLE_DEVICES`.
    pub numbers: String,
}
