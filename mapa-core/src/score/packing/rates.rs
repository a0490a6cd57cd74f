//! The part of a link's nominal bandwidth that collectives reach.

use crate::topology::{Link, LinkClass, MOST_GBPS};

/// The part of a link's nominal bandwidth that a collective reaches on it. The tables of NCCL and
/// RCCL by generation are in `mapa-topologies`; a measured pair gives the part for one machine
/// ([`Rates::calibrated`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// For direct links and ports of link switches: a fraction of the nominal GB/s.
    pub direct: f64,
    /// For paths through the host: a fraction of the nominal GB/s.
    pub host: f64,
    /// The most that a path between sockets carries, GB/s per direction, where that is known.
    pub between_sockets: Option<f64>,
}

impl Rates {
    /// The GB/s per direction that a link reaches: rate x nominal, for a path between sockets at
    /// most [`Rates::between_sockets`]. A product that is not a number, or is less than a byte per
    /// second, counts as 0. A product above the fastest possible link counts as that link.
    pub(crate) fn of(&self, link: Link) -> f64 {
        let rate = if link.class.is_direct() || link.class == LinkClass::SameDevice {
            self.direct
        } else {
            self.host
        };
        let cap = self
            .between_sockets
            .filter(|_| link.class == LinkClass::Sys)
            .unwrap_or(f64::INFINITY);
        let gbps = link.gbps * rate;
        if gbps >= 1e-9 {
            gbps.min(cap).clamp(0.0, MOST_GBPS)
        } else {
            0.0
        }
    }

    /// Every link at its nominal bandwidth.
    pub const NOMINAL: Self = Self {
        direct: 1.0,
        host: 1.0,
        between_sockets: None,
    };
}

impl Default for Rates {
    fn default() -> Self {
        Self::NOMINAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rate_carries_nothing() {
        let link = |class| Link { class, gbps: 25.0 };
        let of = |direct: f64, host: f64| {
            let rates = Rates {
                direct,
                host,
                between_sockets: Some(6.0),
            };
            [LinkClass::Direct(1), LinkClass::Pix, LinkClass::Sys]
                .map(|class| rates.of(link(class)))
        };
        assert_eq!(of(0.8, 0.5), [20.0, 12.5, 6.0]);
        assert_eq!(of(f64::NAN, -1.0), [0.0; 3]);
        assert_eq!(of(f64::INFINITY, 1e-320), [MOST_GBPS, 0.0, 0.0]);
    }
}
