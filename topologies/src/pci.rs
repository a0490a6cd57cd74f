//! PCI addresses. Tools print them with domains of four or eight digits, in upper or lower case,
//! and with or without a function.

/// The one spelling of a PCI address, as Linux prints it: `0000:1b:00.0`. The text may be
/// `[domain:]bus:device[.function]`, hexadecimal; `None` if it is no such address.
///
/// # Examples
/// ```
/// use mapa_topologies::pci_address;
///
/// assert_eq!(pci_address("00000000:1B:00.0").as_deref(), Some("0000:1b:00.0"));
/// assert_eq!(pci_address("GPU0"), None);
/// ```
#[must_use]
pub fn normal(text: &str) -> Option<String> {
    let text = text.trim();
    let hex = |digits: &str, most: usize| {
        let fits =
            (1..=most).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if fits {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        }
    };
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = place.rsplit(':');
    let (device, bus, domain) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    let (domain, bus, device, function) = (
        hex(domain, 8)?,
        hex(bus, 2)?,
        hex(device, 2)?,
        hex(function, 1)?,
    );
    parts
        .next()
        .is_none()
        .then(|| format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn one_address_has_one_spelling() {
        for text in [
            "00000000:1B:00.0",
            "0000:1b:00.0",
            "1b:00.0",
            "1B:00",
            "0:1b:0.0",
        ] {
            assert_eq!(normal(text).as_deref(), Some("0000:1b:00.0"), "{text}");
        }
        assert_eq!(normal("00010000:01:00.0").as_deref(), Some("10000:01:00.0"));
        for text in ["", "GPU0", "1b", "1b:00:00:00.0", "1b:zz.0", "+1:00.0"] {
            assert_eq!(normal(text), None, "{text}");
        }
    }
}
