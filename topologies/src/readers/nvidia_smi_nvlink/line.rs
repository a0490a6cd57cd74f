//! Parses one line of `nvidia-smi nvlink`: the number of a link, and a fact about it.

use crate::dump::Counter;
use crate::links;
use crate::pci;
use crate::readers::text;

/// The fact that a line states about a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LinkFact {
    /// `-s`: the link is up, with this data bandwidth in GB/s per direction.
    Rate(f64),
    /// `-s`: whether the link is up, without a rate.
    Active(bool),
    /// `-R`: the PCI address of the other end, and the link's number there. `-p`: the address
    /// alone.
    Remote(String, Option<u32>),
    /// `-c`: whether the link supports peer access between devices.
    PeerToPeer(bool),
    /// `-g`, `-gt`: bytes counted so far.
    Traffic {
        sent: Option<u64>,
        received: Option<u64>,
    },
    /// Any other known fact: other capabilities, error counts, connected cables.
    Other,
}

/// A line about a link. `fact` is `None` if the rest of the line has no known form.
#[derive(Debug, PartialEq)]
pub(super) struct LinkLine {
    pub(super) link: u32,
    pub(super) fact: Option<LinkFact>,
}

/// Parses a line, if it is about a link.
pub(super) fn parse(text: &str) -> Option<LinkLine> {
    let own = text
        .match_indices("Link ")
        .find_map(|(at, word)| numbered(&text[..at], &text[at + word.len()..]));
    own.map(|(link, rest)| LinkLine {
        link,
        fact: fact(rest.trim_end_matches(['|', '`', ' ', '\t'])),
    })
}

/// Whether a line ends like one about a link, but does not begin like one.
pub(super) fn has_lost_its_beginning(text: &str) -> bool {
    if text.contains("C2C") || parse(text).is_some() {
        return false;
    }
    let value = text.rsplit_once(": ").map(|(_, value)| value);
    text.contains("Remote Device ") || value.is_some_and(|value| rate(value).is_some())
}

/// Whether a line states that a device has no links, or that they cannot be read.
pub(super) fn is_verdict(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("unable to retrieve nvlink information")
        || lower.contains("does not have or support nvlink")
}

/// The number of the link, and the text after it.
fn numbered<'a>(before: &str, rest: &'a str) -> Option<(u32, &'a str)> {
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = rest.split_at(end);
    let said = rest.strip_prefix([':', ',']).or_else(|| {
        rest.strip_prefix(" is ")
            .filter(|state| active(state).is_some())
    });
    let apart = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
    if number.len() > 4 || !apart || !text::is_margin(before) {
        return None;
    }
    Some((number.parse().ok()?, said?.trim()))
}

fn fact(rest: &str) -> Option<LinkFact> {
    if let Some(active) = active(rest) {
        return Some(LinkFact::Active(active));
    }
    if let Some(rate) = rate(rest) {
        return Some(LinkFact::Rate(links::nvlink_gbps_of_printed(rate)));
    }
    if let Some(remote) = rest.strip_prefix("Remote Device ") {
        let (address, link) = remote.split_once(": Link ")?;
        return Some(LinkFact::Remote(
            address_of(address)?,
            Some(count(link)?.try_into().ok()?),
        ));
    }
    if let Some(address) = address_of(rest) {
        return Some(LinkFact::Remote(address, None));
    }
    capability(rest)
        .or_else(|| traffic(rest))
        .or_else(|| is_counter(rest).then_some(LinkFact::Other))
}

fn active(text: &str) -> Option<bool> {
    let word = text
        .trim()
        .trim_start_matches('<')
        .trim_end_matches(['>', '.']);
    match word
        .strip_prefix("is ")
        .unwrap_or(word)
        .to_ascii_lowercase()
        .as_str()
    {
        "inactive" => Some(false),
        "active" => Some(true),
        _ => None,
    }
}

/// `25.781 GB/s`.
fn rate(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix("GB/s")?.trim_end();
    let plain =
        (1..=12).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    number
        .parse()
        .ok()
        .filter(|rate: &f64| plain && (0.001..=1e6).contains(rate))
}

/// A complete PCI address, including the function. A cut address could equal another device's.
fn address_of(text: &str) -> Option<String> {
    let (_, function) = text.trim().rsplit_once('.')?;
    pci::normal(text).filter(|_| function.len() == 1)
}

/// Parses `P2P is supported: true`, and other capabilities in the same form.
fn capability(text: &str) -> Option<LinkFact> {
    let (name, value) = text.rsplit_once(':')?;
    let value = match value.trim() {
        "true" => true,
        "false" => false,
        _ => return None,
    };
    if name == "P2P is supported" {
        return Some(LinkFact::PeerToPeer(value));
    }
    name.ends_with("supported").then_some(LinkFact::Other)
}

/// Parses `Rx0: 12 KBytes, Tx0: 3 KBytes`, `Data Tx: 1234 KiB` or `Raw Rx: N/A`.
fn traffic(text: &str) -> Option<LinkFact> {
    let (mut sent, mut received) = (None, None);
    let mut bytes_only = true;
    for part in text.split(", ") {
        let (name, value) = part.split_once(':')?;
        let name = name
            .strip_prefix("Data ")
            .or_else(|| name.strip_prefix("Raw "))
            .unwrap_or(name);
        let counter = match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "Tx" => &mut sent,
            "Rx" => &mut received,
            _ => return None,
        };
        match bytes(value.trim())? {
            TrafficCount::Bytes(bytes) => *counter = Some(bytes),
            TrafficCount::NoBytes => bytes_only = false,
        }
    }
    Some(if bytes_only {
        LinkFact::Traffic { sent, received }
    } else {
        LinkFact::Other
    })
}

/// The counter that a line of bytes belongs to. `Rx0` and `Tx1` belong to counter sets 0 and 1;
/// `Data Tx` and `Raw Rx` to no set.
pub(super) fn counter(text: &str) -> Option<Counter> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(':'));
    words.into_iter().find_map(|word| match word {
        "Data" => Some(Counter::Data),
        "Raw" => Some(Counter::Raw),
        _ => {
            let set = word
                .strip_prefix("Rx")
                .or_else(|| word.strip_prefix("Tx"))?;
            // A tool that prints no number has one set.
            if set.is_empty() {
                Some(Counter::Set(0))
            } else {
                set.parse().ok().map(Counter::Set)
            }
        }
    })
}

/// The value of a traffic counter.
enum TrafficCount {
    /// A number of bytes.
    Bytes(u64),
    /// `N/A`, or a count of packets or cycles.
    NoBytes,
}

/// Parses the value of a traffic counter. Returns `None` if it is cut or has an unknown unit.
fn bytes(text: &str) -> Option<TrafficCount> {
    if text == "N/A" {
        return Some(TrafficCount::NoBytes);
    }
    let (number, unit) = text.split_once(char::is_whitespace)?;
    let shift = match unit.trim() {
        "B" | "Bytes" => 0,
        // NVML counts in units of 1024 bytes, whatever they are called.
        "KiB" | "KBytes" => 10,
        "MiB" | "MBytes" => 20,
        "GiB" | "GBytes" => 30,
        "Packets" | "packets" | "Cycles" | "cycles" => {
            return count(number).map(|_| TrafficCount::NoBytes);
        }
        _ => return None,
    };
    count(number)?
        .checked_mul(1 << shift)
        .map(TrafficCount::Bytes)
}

/// Whether a text is another known counter or state: `Replay Errors: 0`, `Lane 0: 0`, `Connected`,
/// or with the number first, `0 FEC correctable errors`.
fn is_counter(text: &str) -> bool {
    if matches!(text, "Connected" | "Disconnected") {
        return true;
    }
    if let Some((number, words)) = text.split_once(' ')
        && count(number).is_some()
    {
        return words.split_whitespace().count() > 1
            && words.ends_with(|c: char| c.is_ascii_alphabetic());
    }
    let Some((name, value)) = text.rsplit_once(": ") else {
        return false;
    };
    // The counters of `-g` and `-gt` have a unit, so they are not matched here.
    let others = !["Tx", "Rx", "Remote Device"]
        .iter()
        .any(|end| name.ends_with(end));
    let value = value.trim();
    others
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (value == "N/A" || count(value).is_some())
}

fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> (u32, LinkFact) {
        let line = parse(text).unwrap_or_else(|| panic!("{text}"));
        (line.link, line.fact.unwrap_or_else(|| panic!("{text}")))
    }

    #[test]
    fn every_form_of_every_option_reads() {
        let remote = |link| LinkFact::Remote("0000:08:00.0".to_owned(), link);
        let traffic = |sent, received| LinkFact::Traffic { sent, received };
        for (text, link, fact) in [
            ("\t Link 0: 25.781 GB/s", 0, LinkFact::Rate(25.0)),
            ("Link 1: 14.062 GB/s", 1, LinkFact::Rate(14.0625)),
            ("    Link 3: 50 GB/s", 3, LinkFact::Rate(50.0)),
            ("Link 2: 7.5 GB/s", 2, LinkFact::Rate(7.5)),
            ("Link 4: <inactive>", 4, LinkFact::Active(false)),
            ("Link 4: <Inactive>", 4, LinkFact::Active(false)),
            ("Link 5 is inactive", 5, LinkFact::Active(false)),
            ("Link 5: is inactive", 5, LinkFact::Active(false)),
            ("Link 6: Active", 6, LinkFact::Active(true)),
            (
                "Link 7: Remote Device 00000000:08:00.0: Link 51",
                7,
                remote(Some(51)),
            ),
            ("Link 7: 00000000:08:00.0", 7, remote(None)),
            (
                "Link 8, P2P is supported: true",
                8,
                LinkFact::PeerToPeer(true),
            ),
            (
                "Link 8, P2P is supported: false",
                8,
                LinkFact::PeerToPeer(false),
            ),
            ("Link 8, P2P atomics supported: true", 8, LinkFact::Other),
            (
                "Link 8, Access to system memory is supported: false",
                8,
                LinkFact::Other,
            ),
            (
                "Link 0: Rx0: 12 KBytes, Tx0: 3 KBytes",
                0,
                traffic(Some(3 << 10), Some(12 << 10)),
            ),
            (
                "Link 0: Rx1: 12 Packets, Tx1: 3 Packets",
                0,
                LinkFact::Other,
            ),
            (
                "Link 0: Data Tx: 19241022 KiB",
                0,
                traffic(Some(19_241_022 << 10), None),
            ),
            ("Link 0: Raw Rx: 2 MiB", 0, traffic(None, Some(2 << 20))),
            ("Link 0, Raw Tx: 5 B", 0, traffic(Some(5), None)),
            ("Link 0: Data Tx: N/A", 0, LinkFact::Other),
            ("Link 9: Replay Errors: 0", 9, LinkFact::Other),
            ("Link 9: Data Tx Errors: 12", 9, LinkFact::Other),
            ("Link 9: CRC Errors: N/A", 9, LinkFact::Other),
            ("Link 9: Lane 0: 0", 9, LinkFact::Other),
            ("Link 9: 0 FEC correctable errors", 9, LinkFact::Other),
            ("Link 9: Disconnected", 9, LinkFact::Other),
            ("# Link 17: 26.562 GB/s |", 17, LinkFact::Rate(25.0)),
            (
                "2025/05/21 09:40:05 s114  Link 1: 25 GB/s",
                1,
                LinkFact::Rate(25.0),
            ),
        ] {
            assert_eq!(said(text), (link, fact), "{text}");
        }
    }

    #[test]
    fn cut_and_broken_lines_have_no_fact() {
        for text in [
            "Link 0: 25.781 GB",
            "Link 0: 25.781",
            "Link 0: 50 GB",
            "Link 0:",
            "Link 0: <inact",
            "Link 0: Remote Device 00000000:08:00.0",
            "Link 0: Remote Device 00000000:08:00.0: Link",
            "Link 0: Remote Device 00000000:08:00.0: Lin",
            "Link 0: Remote Device 00000000:08",
            "Link 0, P2P is supp",
            "Link 0, P2P is supported: tru",
            "Link 0: Data Tx: 1234",
            "Link 0: Data Tx: 1234 K",
            "Link 0: Data Tx: 99999999999999999999 KiB",
            "Link 0: Data Tx: 18446744073709551615 GiB",
            "Link 0: Rx0: 12 KBytes, Tx0: ",
            "Link 0: Replay Errors",
            "Link 0: 0 GB/s",
            "Link 0: -1 GB/s",
            "Link 0: inf GB/s",
        ] {
            assert_eq!(parse(text).unwrap().fact, None, "{text}");
        }
    }

    #[test]
    fn other_lines_are_about_no_link() {
        for text in [
            "",
            "C2C Link 0: 44.712 GB/s",
            "the Link 0: is down",
            "Link",
            "Link 0",
            "Link up",
            "12 links (each 25GB/s), 600 GB/s total",
        ] {
            assert_eq!(parse(text), None, "{text}");
            assert!(!has_lost_its_beginning(text), "{text}");
        }
        for text in [
            "nk 3: 25.781 GB/s",
            "3: Remote Device 00000000:08:00.0: Link 51",
        ] {
            assert!(has_lost_its_beginning(text), "{text}");
        }
    }
}
