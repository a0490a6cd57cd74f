//! What collectives reach of a link's nominal bandwidth.

/// What part of the nominal bandwidth of a link a collective reaches on it. The tables of NCCL and RCCL by generation are in
/// `mapa-topologies`; a measured pair gives it for one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of direct links and ports of link switches: a fraction of the nominal GB/s.
    pub direct: f64,
    /// Of paths through the host: a fraction of the nominal GB/s.
    pub host: f64,
    /// The most that a path between sockets carries, GB/s per direction, where that is known.
    pub between_sockets: Option<f64>,
}

impl Rates {
    /// Every link at its nominal bandwidth.
    pub const NOMINAL: Self = Self { direct: 1.0, host: 1.0, between_sockets: None };
}

impl Default for Rates {
    fn default() -> Self {
        Self::NOMINAL
    }
}
