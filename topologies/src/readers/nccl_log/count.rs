//! How many links a bandwidth stands for.
//!
//! NCCL prints what all links between two devices carry together by its own count: 42.0 is two links of 21.
//! What one link counts depends on the GPU and, for the same GPU, on the version: `SM70_NVLINK_BW` and its
//! like in NCCL's `src/graph/topo.h`, `VEGA_XGMI_WIDTH` and its like in RCCL's. The log names neither, but it
//! tells versions apart by the words that it uses, and few figures fit what a device can have.

/// What one link counts in some versions, and how many a device has.
struct Counted {
    gbps: f64,
    versions: [bool; 3],
    /// The most links of a device.
    most: u32,
    /// The numbers of links that join two devices; any if there are none.
    to_peer: &'static [u32],
    /// The numbers of links to a switch; any if there are none.
    to_switch: &'static [u32],
}

/// The versions that a log tells apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Version {
    /// Up to 2.13: `maxWidth`.
    Widths,
    /// 2.14 to 2.20: `maxBw`.
    Plain,
    /// From 2.21 on: `GPU/0-6000`.
    Hosts,
}

/// NVLinks. Of the GPUs with one figure in one version, the row has what any of them may have.
const NVLINKS: [Counted; 8] = [
    // P100: 2.5 on.
    nvlink(18.0, [true, true, true], 4),
    // V100, A100: 2.5 to 2.9.
    nvlink(21.0, [true, false, false], 12),
    // V100, A100: 2.10 to 2.17.
    nvlink(22.0, [true, true, false], 12),
    // V100, A100, and until 2.19 H100.
    nvlink(20.0, [false, true, false], 18),
    // V100, A100. H100 counts 20.6 by now.
    nvlink(20.0, [false, false, true], 12),
    // H100: 2.20 on.
    nvlink(20.6, [false, true, true], 18),
    // RTX 3090, A6000: one bridge, which is four links.
    Counted {
        to_peer: &[4],
        ..nvlink(12.0, [true, true, true], 4)
    },
    // B200: 2.25 to 2.27. All 18 links lead to switches, or 6 to each of three others (GB200 NVL4).
    BLACKWELL,
];

const BLACKWELL: Counted = Counted {
    to_peer: &[6],
    to_switch: &[18],
    ..nvlink(40.0, [false, false, true], 18)
};

/// B200 from 2.27.5 on. So near to [`BLACKWELL`] that both may fit, with the same numbers.
const BLACKWELL_LATER: Counted = Counted {
    gbps: 40.1,
    ..BLACKWELL
};

const fn nvlink(gbps: f64, versions: [bool; 3], most: u32) -> Counted {
    Counted {
        gbps,
        versions,
        most,
        to_peer: &[],
        to_switch: &[],
    }
}

/// XGMI links of all versions.
const XGMI: [Counted; 4] = [
    // MI50, MI60, MI100: one link to each peer.
    xgmi(24.0, &[1]),
    // MI210, MI250: four between the halves of a package.
    xgmi(36.0, &[1, 2, 3, 4]),
    // MI300X, MI350X: one; MI300A: two.
    xgmi(48.0, &[1, 2]),
    // Early versions.
    xgmi(20.0, &[1]),
];

const fn xgmi(gbps: f64, to_peer: &'static [u32]) -> Counted {
    Counted {
        to_peer,
        ..nvlink(gbps, [true, true, true], 8)
    }
}

/// The links of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedBond {
    pub(super) device: usize,
    pub(super) to_switch: bool,
    pub(super) gbps: f64,
}

/// The number of links of each row, and what was assumed.
#[derive(Debug, PartialEq)]
pub(super) struct LinkCounts {
    pub(super) links: Vec<u8>,
    pub(super) note: String,
}

/// The numbers of links that fit all rows of a log. If several fit, those of the older GPU; if none, each row is one link.
///
/// # Complexity
/// O(rows), for each of a dozen figures.
pub(super) fn counts(bonds: &[PrintedBond], xgmi: bool, version: Version) -> LinkCounts {
    let word = if xgmi { "XGMI" } else { "NVLink" };
    let rows: Vec<&Counted> = if xgmi {
        XGMI.iter().collect()
    } else {
        NVLINKS.iter().chain([&BLACKWELL_LATER]).collect()
    };
    let of_version = rows.iter().filter(|row| row.versions[version as usize]);
    let mut fits: Vec<(f64, Vec<u8>)> = of_version
        .filter_map(|row| Some((row.gbps, fit(bonds, row)?)))
        .collect();
    fits.dedup_by(|later, first| later.1 == first.1);
    let each = |(gbps, _): &(f64, Vec<u8>)| format!("{gbps}");
    let note = match &fits[..] {
        [] => format!("No {word} counts so much in NCCL: each row of direct links is one link."),
        [only] => format!("One {word} counts {} GB/s in this log.", each(only)),
        [first, others @ ..] => format!(
            "One {word} counts {} GB/s, which is assumed: {} GB/s fit too.",
            each(first),
            others.iter().map(each).collect::<Vec<_>>().join(", ")
        ),
    };
    let links = fits.into_iter().next().map(|(_, links)| links);
    LinkCounts {
        links: links.unwrap_or_else(|| vec![1; bonds.len()]),
        note,
    }
}

/// The numbers of links if one counts as this row says; none if that fits not all.
fn fit(bonds: &[PrintedBond], row: &Counted) -> Option<Vec<u8>> {
    let mut sums: Vec<u32> = Vec::new();
    let mut links = Vec::with_capacity(bonds.len());
    for bond in bonds {
        let number = (bond.gbps / row.gbps).round();
        // Figures are printed with one digit behind the point.
        let is_multiple = (number * row.gbps - bond.gbps).abs() < 0.051;
        let number = (is_multiple && number >= 1.0 && number <= f64::from(row.most))
            .then_some(number as u32)?;
        let usual = if bond.to_switch {
            row.to_switch
        } else {
            row.to_peer
        };
        (usual.is_empty() || usual.contains(&number)).then_some(())?;
        if sums.len() <= bond.device {
            sums.resize(bond.device + 1, 0);
        }
        sums[bond.device] += number;
        (sums[bond.device] <= row.most).then_some(())?;
        links.push(number as u8);
    }
    Some(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(version: Version, to_switch: bool, gbps: &[f64]) -> (Vec<u8>, bool) {
        let bond = |&gbps: &f64| PrintedBond {
            device: 0,
            to_switch,
            gbps,
        };
        let bonds: Vec<PrintedBond> = gbps.iter().map(bond).collect();
        let counts = counts(&bonds, false, version);
        (counts.links, counts.note.contains("in this log"))
    }

    #[test]
    fn the_numbers_of_links_of_known_machines_are_found() {
        use Version::{Hosts, Plain, Widths};
        for (version, to_switch, gbps, number) in [
            (Widths, false, &[18.0, 36.0][..], &[1, 2][..]), // DGX-1P
            (Widths, false, &[21.0, 42.0], &[1, 2]),         // DGX-1V
            (Widths, true, &[126.0], &[6]),                  // DGX-2
            (Widths, true, &[252.0], &[12]),                 // DGX A100
            (Widths, true, &[264.0], &[12]),
            (Plain, true, &[264.0], &[12]),
            (Plain, true, &[240.0], &[12]),
            (Plain, true, &[360.0], &[18]), // DGX H100
            (Plain, true, &[370.8], &[18]),
            (Hosts, true, &[240.0], &[12]),
            (Hosts, true, &[370.8], &[18]),
            (Hosts, true, &[164.8], &[8]),  // H800
            (Hosts, true, &[720.0], &[18]), // DGX B200
            (Hosts, true, &[721.8], &[18]),
            (Hosts, false, &[80.0, 80.0, 80.0], &[4, 4, 4]), // four A100
            (Hosts, false, &[240.6, 240.6, 240.6], &[6, 6, 6]), // GB200 NVL4
            (Hosts, false, &[48.0], &[4]),                   // two RTX 3090
            (Plain, false, &[88.0], &[4]),
        ] {
            let found = links(version, to_switch, gbps);
            assert_eq!(found, (number.to_vec(), true), "{version:?} {gbps:?}");
        }
    }

    #[test]
    fn what_is_not_certain_is_assumed_and_said() {
        // 10 of 22, or 11 of 20.
        assert_eq!(links(Version::Plain, true, &[220.0]), (vec![10], false));
        // Two of the three peers of a device are not in the job.
        assert_eq!(links(Version::Hosts, false, &[240.0]), (vec![12], false));
        assert_eq!(links(Version::Hosts, true, &[684.0]), (vec![1], false));
        assert_eq!(links(Version::Widths, false, &[24.0]), (vec![1], false));
        assert_eq!(links(Version::Hosts, false, &[0.0]), (vec![1], false));
    }

    #[test]
    fn links_of_amd_are_counted_as_rccl_does() {
        for (gbps, number) in [
            (24.0, 1),
            (36.0, 1),
            (72.0, 2),
            (144.0, 4),
            (48.0, 1),
            (96.0, 2),
        ] {
            let bonds = [PrintedBond {
                device: 0,
                to_switch: false,
                gbps,
            }];
            let found = counts(&bonds, true, Version::Hosts);
            assert_eq!(found.links, [number], "{gbps}");
            assert!(found.note.contains("in this log"), "{gbps}");
        }
    }
}
