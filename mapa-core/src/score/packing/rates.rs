//! What collectives reach of a link's nominal bandwidth.

use super::network::Network;
use crate::error::{Error, ErrorKind};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link, LinkClass, MOST_GBPS};

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
    /// GB/s per direction of a link. What is not a number, or is less than a byte a second, is nothing; nothing is faster than
    /// a link can be.
    pub(crate) fn of(&self, link: Link) -> f64 {
        let rate = if link.class.is_direct() || link.class == LinkClass::SameDevice { self.direct } else { self.host };
        let cap = self.between_sockets.filter(|_| link.class == LinkClass::Sys).unwrap_or(f64::INFINITY);
        let gbps = link.gbps * rate;
        if gbps >= 1e-9 { gbps.min(cap).clamp(0.0, MOST_GBPS) } else { 0.0 }
    }

    /// Every link at its nominal bandwidth.
    pub const NOMINAL: Self = Self { direct: 1.0, host: 1.0, between_sockets: None };

    /// What a measurement of one pair says: the bus bandwidth of an all-reduce between two devices, GB/s, over what their direct
    /// links carry nominally. Paths through the host stay as they are.
    ///
    /// ```
    /// use mapa_core::{Fabric, LinkClass, Rates};
    ///
    /// let mut fabric = Fabric::new();
    /// let ids = [0, 1].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
    /// fabric.link(ids[0], ids[1], LinkClass::Direct(1), 20.0)?;
    /// let rates = Rates::calibrated(&fabric.lower()?, 0.into(), 1.into(), 17.28)?;
    /// assert!((rates.direct - 0.864).abs() < 1e-12);
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// A device that is not there; two devices without direct links; a bandwidth that is not a positive number.
    pub fn calibrated(graph: &HardwareGraph, a: DeviceId, b: DeviceId, measured_gbps: f64) -> Result<Self, Error> {
        if let Some(unknown) = [a, b].into_iter().find(|id| id.index() >= graph.len()) {
            return Err(ErrorKind::UnknownDevice { text: unknown.to_string(), devices: graph.len() }.into());
        }
        let name = |id: DeviceId| graph.device(id).name.clone();
        if !(measured_gbps > 0.0 && measured_gbps <= MOST_GBPS) {
            let place = format!("measured between {} and {}", name(a), name(b));
            return Err(ErrorKind::BadBandwidth { place, gbps: measured_gbps }.into());
        }
        let network = Network::new(graph, &[a, b].into_iter().collect::<DeviceSet>(), &Self::NOMINAL);
        let nominal = if a == b { 0.0 } else { network.alone(0, 1) };
        if nominal <= 0.0 {
            return Err(ErrorKind::NoDirectLinks { a: name(a), b: name(b) }.into());
        }
        Ok(Self { direct: measured_gbps / nominal, ..Self::NOMINAL })
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self::NOMINAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Fabric;

    #[test]
    fn what_is_no_rate_carries_nothing() {
        let link = |class| Link { class, gbps: 25.0 };
        let of = |direct: f64, host: f64| {
            let rates = Rates { direct, host, between_sockets: Some(6.0) };
            [LinkClass::Direct(1), LinkClass::Pix, LinkClass::Sys].map(|class| rates.of(link(class)))
        };
        assert_eq!(of(0.8, 0.5), [20.0, 12.5, 6.0]);
        assert_eq!(of(f64::NAN, -1.0), [0.0; 3]);
        assert_eq!(of(f64::INFINITY, 1e-320), [MOST_GBPS, 0.0, 0.0]);
    }

    #[test]
    fn one_measured_pair_says_what_links_reach_or_why_it_cannot() {
        let mut fabric = Fabric::new();
        let ids = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
        fabric.link(ids[0], ids[1], LinkClass::Direct(2), 50.0).unwrap();
        fabric.link(ids[0], ids[2], LinkClass::Pix, 12.0).unwrap();
        let graph = fabric.lower().unwrap();
        let of = |a: u32, b: u32, gbps: f64| Rates::calibrated(&graph, DeviceId(a), DeviceId(b), gbps);
        assert_eq!(of(1, 0, 40.0).unwrap(), Rates { direct: 0.8, ..Rates::NOMINAL });
        for (refused, words) in [
            (of(0, 7, 40.0), "`7`"),
            (of(0, 2, 40.0), "`GPU0` and `GPU2`"),
            (of(1, 1, 40.0), "`GPU1` and `GPU1`"),
            (of(0, 1, 0.0), "bandwidth 0 GB/s"),
            (of(0, 1, f64::NAN), "bandwidth NaN GB/s"),
            (of(0, 1, 1e10), "at most 1e9"),
        ] {
            let message = refused.unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
