//! The words of rows: operations, devices, sizes, settings.

use mapa_core::{DeviceId, HardwareGraph, HostNetwork, Operation};
use mapa_regress::MeasuredRow;

/// The operation of a row, by its words, and whether its number is of all devices together.
#[must_use]
pub fn operation_of(words: &str) -> Option<(Operation, bool)> {
    // `all-reduce` is `all_reduce`.
    let words = words.trim().to_ascii_lowercase();
    let words = [
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "send-recv",
    ]
    .iter()
    .zip([
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "alltoall",
        "sendrecv",
    ])
    .fold(words, |words, (other, word)| words.replace(other, word));
    let first = words.split([' ', ',', '(']).next().unwrap_or_default();
    // `p2p` is no operation by itself: the word behind it tells which copy is meant.
    if words.starts_with("p2p bidirectional") {
        return Some((Operation::CopyBothWays, false));
    }
    if words.starts_with("p2p unidirectional") {
        return Some((Operation::Copy, false));
    }
    // A copy while another runs the other way is no operation of ours.
    if words.contains("while") {
        return None;
    }
    let operation: Operation = first.parse().ok()?;
    Some((operation, words.contains("copies")))
}

/// Numbers of devices in a text, separated by commas or `and`: `0,1`, `0 and 1`, `0-3`, `GPU0,GPU1`.
fn list(text: &str) -> Option<Vec<u32>> {
    let number = |word: &str| -> Option<u32> {
        let word = word.trim();
        let digits = word.strip_prefix("GPU").or(word.strip_prefix("gpu"));
        digits.unwrap_or(word).trim().parse().ok()
    };
    let text = text.replace(" and ", ",");
    let mut ids = Vec::new();
    for word in text.split(',') {
        match word.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                // More devices than any machine has are no devices.
                if first >= last || last > 4096 {
                    return None;
                }
                ids.extend(first..=last);
            }
            None => ids.push(number(word)?),
        }
    }
    Some(ids)
}

/// The devices of a row in the order of the flows: `0,1`, `0,1,2 at once`, `all (72 ranks)`,
/// `first 4 (assumed)`, `{0,1}->{4,5} two flows`, `two PIX pairs`, `8 GPUs` or `all 8` of eight, `0-3`,
/// `GPU0,GPU1`, `0 and 1`. `None` if they are not told.
pub(super) fn devices(text: &str, graph: &HardwareGraph) -> Option<Vec<DeviceId>> {
    let n = graph.wholes().len();
    let text = text.trim();
    // What is in parentheses or brackets is a remark, as in `all (72 ranks)`.
    let plain = text.split(['(', '[']).next().unwrap_or_default().trim();
    let plain = plain.trim_end_matches("at once").trim();
    let ids = if let Some((from, to)) = text.split_once("->") {
        let inside = |text: &str| {
            let text = text.trim().trim_start_matches('{');
            list(text.split(['}', ' ']).next().unwrap_or_default())
        };
        let (from, to) = (inside(from)?, inside(to)?);
        if from.len() != to.len() {
            return None;
        }
        // Flow i goes from device i on the left to device i on the right.
        from.into_iter().zip(to).flat_map(|(a, b)| [a, b]).collect()
    } else if plain == "all" {
        (0..n as u32).collect()
    } else if let Some(first) = plain.strip_prefix("first ") {
        let first: usize = first.split_whitespace().next()?.parse().ok()?;
        // Compared before the list is made, which any number could fill the memory with.
        if first > n {
            return None;
        }
        (0..first as u32).collect()
    } else if plain.eq_ignore_ascii_case("two pix pairs") {
        pairs_of_switches(graph)?
    } else if plain == "two GPUs" {
        if n < 2 {
            return None;
        }
        // Any two, where all pairs are alike.
        let alike = graph.link(DeviceId(0), DeviceId(1));
        let ids = || graph.wholes().iter().collect::<Vec<_>>().into_iter();
        let differs = |a: DeviceId| ids().any(|b| b != a && graph.link(a, b) != alike);
        if ids().any(differs) {
            return None;
        }
        vec![0, 1]
    } else if let Some(count) = (plain.strip_prefix("all "))
        .or(plain.strip_suffix(" GPUs"))
        .map(|count| count.trim_end_matches("GPUs"))
    {
        let count: usize = count.trim().parse().ok()?;
        // A part of the devices does not tell which ones.
        if count != n {
            return None;
        }
        (0..n as u32).collect()
    } else if let Some(one) = plain.strip_prefix("device ") {
        list(one)?
    } else {
        list(plain)?
    };
    let known = ids.iter().all(|&id| (id as usize) < n);
    known.then(|| ids.into_iter().map(DeviceId).collect())
}

/// Two pairs of devices, each below one switch.
fn pairs_of_switches(graph: &HardwareGraph) -> Option<Vec<u32>> {
    let host = HostNetwork::of(graph);
    let mut left: Vec<DeviceId> = graph.wholes().iter().collect();
    let mut found = Vec::new();
    while found.len() < 4 {
        let a = *left.first()?;
        // A device that shares its switch with no other is passed over.
        left.remove(0);
        if let Some(at) = left.iter().position(|&b| host.share_a_switch(a, b)) {
            found.extend([a.0, left.remove(at).0]);
        }
    }
    Some(found)
}

/// The bytes of a size: `128 MiB`, `1 GB`, `64 MB a copy (p2pmark)`, `up to 12 GiB`; `None` if it is
/// not told.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    // A number and its unit are neighbours; the words around them are left out.
    words.windows(2).find_map(|pair| {
        let unit = pair[1].trim_matches(|c: char| !c.is_ascii_alphabetic());
        let factor = match unit {
            "B" => 1.0,
            "KB" | "kB" => 1e3,
            "KiB" => 1024.0,
            "MB" => 1e6,
            "MiB" => 1024.0 * 1024.0,
            "GB" => 1e9,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        // Of a range the first size.
        let number = pair[0].split('-').next()?;
        let number: f64 = number.parse().ok()?;
        (number > 0.0).then_some((number * factor) as u64)
    })
}

/// How the data of a row can go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ways {
    /// Whether peer access is told to be on or off.
    pub peers: Option<bool>,
    /// Whether only pairs below one switch reach each other: the default of NCCL.
    pub near_only: bool,
    /// The nominal speed of a slot, GB/s per direction.
    pub slot_gbps: Option<f64>,
    /// Whether link switches are told not to reduce.
    pub without_in_switch: bool,
    /// Whether memory is that of the other socket.
    pub far: bool,
}

impl Ways {
    /// What the words of a row say.
    #[must_use]
    pub fn of(row: &MeasuredRow) -> Self {
        let settings = row.settings.as_deref().unwrap_or_default();
        let lower = settings.to_ascii_lowercase();
        let path = row.path.as_deref().unwrap_or_default().to_ascii_lowercase();
        let between =
            operation_of(&row.operation).is_some_and(|(operation, _)| !operation.is_of_host());
        let off = [
            "p2p off",
            "p2p impossible",
            "p2p cannot",
            "p2p_disable=1",
            "no peer access",
            "p2p disabled",
        ];
        let on = [
            "p2p on",
            "p2p by patched",
            "p2p over pcie",
            "p2p, ",
            "p2p_level=sys",
        ];
        let peers = if off.iter().any(|words| lower.contains(words)) {
            Some(false)
        } else if on.iter().any(|words| lower.contains(words)) {
            Some(true)
        // Data between devices that goes through the memory of the host does so because peer access is off.
        } else if between && path.split(' ').any(|word| word == "host") {
            Some(false)
        } else {
            None
        };
        Self {
            peers,
            // Such rows are of NCCL, which goes through shared memory (SHM) between devices of two switches.
            near_only: lower.contains("shm between"),
            slot_gbps: slot(settings),
            without_in_switch: lower.contains("nvls off"),
            far: path.contains("host far") || lower.contains("far socket"),
        }
    }
}

/// The speed of a slot of which settings tell: `Gen5 x16`, `Gen4 x8`.
fn slot(settings: &str) -> Option<f64> {
    let at = settings.find("Gen")?;
    let mut words = settings[at + 3..].split([' ', ',', ';']);
    // GT/s of a lane, by generation of PCIe.
    let rate = match words.next()?.trim() {
        "1" => 2.5,
        "2" => 5.0,
        "3" => 8.0,
        "4" => 16.0,
        "5" => 32.0,
        "6" => 64.0,
        _ => return None,
    };
    let lanes = words.next().and_then(|word| word.strip_prefix('x'));
    // GPUs have sixteen lanes unless the row names another number.
    let lanes = lanes.and_then(|word| word.parse().ok()).unwrap_or(16);
    mapa_topologies::pcie_gbps(rate, lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_rows_are_understood() {
        assert_eq!(
            operation_of("all_reduce (avg)"),
            Some((Operation::AllReduce, false))
        );
        assert_eq!(
            operation_of("alltoall (copies)"),
            Some((Operation::AllToAll, true))
        );
        assert_eq!(
            operation_of("p2p unidirectional, 2 flows"),
            Some((Operation::Copy, false))
        );
        assert_eq!(operation_of("h2d while d2h"), None);
        assert_eq!(bytes("up to 12 GiB"), Some(12 << 30));
        assert_eq!(
            bytes("8 GB (out of place; in place 367.51)"),
            Some(8_000_000_000)
        );
        assert_eq!(
            (bytes("test default"), bytes("1-8 GB")),
            (None, Some(1_000_000_000))
        );
        let graph = mapa_topologies::named("dgx-a100").unwrap().graph().unwrap();
        let ids = |text: &str| {
            devices(text, &graph).map(|ids| ids.into_iter().map(|id| id.0).collect::<Vec<_>>())
        };
        assert_eq!(ids("{0,1}->{4,5} two flows"), Some(vec![0, 4, 1, 5]));
        assert_eq!(ids("4,0"), Some(vec![4, 0]));
        for text in ["0-3", "GPU0,GPU1,GPU2,GPU3", "0,1 and 2-3", "{0,2}->{1,3}"] {
            assert_eq!(ids(text), Some(vec![0, 1, 2, 3]), "{text}");
        }
        for text in ["0-7", "all 8", "all 8 GPUs", "8 GPUs", "all"] {
            assert_eq!(ids(text), Some((0..8).collect()), "{text}");
        }
        for text in ["all 4", "3-1", "0-99999999", "0-", "a and b", "0-8"] {
            assert_eq!(ids(text), None, "{text}");
        }
        let single = mapa_topologies::named("gh200").unwrap().graph().unwrap();
        for text in ["two GPUs", "two PIX pairs", "first 2", "first 4294967297"] {
            assert_eq!(devices(text, &single), None, "{text}");
        }
        assert_eq!(devices("first 1", &single), Some(vec![DeviceId(0)]));
        for (words, operation) in [
            ("all-reduce", Operation::AllReduce),
            ("All-to-all (avg)", Operation::AllToAll),
            ("reduce-scatter", Operation::ReduceScatter),
        ] {
            assert_eq!(operation_of(words), Some((operation, false)), "{words}");
        }
        assert_eq!(ids("first 3 (0,1,2)"), Some(vec![0, 1, 2]));
        assert_eq!(ids("two GPUs (which is not told)"), Some(vec![0, 1]));
        assert_eq!(
            (ids("4 GPUs (which is not said)"), ids("0,8")),
            (None, None)
        );
        assert_eq!(
            slot("P2P on, Gen5 x16; uplink x16"),
            mapa_topologies::pcie_gbps(32.0, 16)
        );
        assert_eq!(
            slot("Gen3 x8, one at x4"),
            mapa_topologies::pcie_gbps(8.0, 8)
        );
    }
}
