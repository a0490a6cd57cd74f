//! Places on PCI, as benchmarks and machines write them.

use std::fmt;

/// Where a device is on PCI. Older benchmarks name the bus alone, or leave the function out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciPlace {
    /// The domain, if the source names it.
    pub domain: Option<u32>,
    /// The bus.
    pub bus: u32,
    /// The device on the bus, if the source names it.
    pub device: Option<u32>,
}

impl PciPlace {
    /// Reads `0x07`, `07:00` or `0000:07:00`, with or without a function behind a point.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let hex = |digits: &str| {
            u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| !digits.starts_with('+'))
        };
        if let Some(bus) = text.strip_prefix("0x") {
            return Some(Self {
                domain: None,
                bus: hex(bus)?,
                device: None,
            });
        }
        let place = text.split_once('.').map_or(text, |(place, _)| place);
        let parts: Vec<&str> = place.splitn(4, ':').collect();
        match parts[..] {
            [bus, device] => Some(Self {
                domain: None,
                bus: hex(bus)?,
                device: Some(hex(device)?),
            }),
            [domain, bus, device] => Some(Self {
                domain: Some(hex(domain)?),
                bus: hex(bus)?,
                device: Some(hex(device)?),
            }),
            _ => None,
        }
    }

    /// Whether `other`, a full address, agrees with all that this place names.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same =
            |told: Option<u32>, full: Option<u32>| told.is_none_or(|told| Some(told) == full);
        self.bus == other.bus && same(self.domain, other.domain) && same(self.device, other.device)
    }

    /// The place of a device's address. A domain that is not written is 0.
    pub(crate) fn of_device(address: &str) -> Option<Self> {
        Self::parse(address.trim()).map(|place| Self {
            domain: Some(place.domain.unwrap_or(0)),
            ..place
        })
    }
}

impl fmt::Display for PciPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.domain, self.device) {
            (Some(domain), Some(device)) => write!(f, "{domain:04x}:{:02x}:{device:02x}", self.bus),
            (_, Some(device)) => write!(f, "{:02x}:{device:02x}", self.bus),
            _ => write!(f, "bus 0x{:02x}", self.bus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_on_pci_are_read_in_every_form() {
        let place =
            |text| PciPlace::parse(text).map(|place| (place.domain, place.bus, place.device));
        assert_eq!(place("0x07"), Some((None, 7, None)));
        assert_eq!(place("0000:2f:00.0"), Some((Some(0), 0x2f, Some(0))));
        assert_eq!(place("0009:01:00"), Some((Some(9), 1, Some(0))));
        assert_eq!(place("b7:00"), Some((None, 0xb7, Some(0))));
        assert_eq!(
            (place("GPU"), place(""), place("1:2:3:4"), place("+7:00")),
            (None, None, None, None)
        );
        let full = PciPlace::of_device("00000000:07:00.0").unwrap();
        assert!(
            PciPlace::parse("0x07").unwrap().is(&full)
                && PciPlace::parse("0000:07:00").unwrap().is(&full)
        );
        assert!(
            !PciPlace::parse("0001:07:00").unwrap().is(&full)
                && !PciPlace::parse("0x08").unwrap().is(&full)
        );
    }
}
