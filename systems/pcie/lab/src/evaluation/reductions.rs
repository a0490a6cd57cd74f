//! Fig. 6 to 9: aggregated job completion times beside the baseline's.

use std::collections::BTreeMap;

use mapa_front::answer::report::Interval as Bounds;
use mapa_sim::{Interval, mean_interval};

use super::claims;
use super::colours::colour;
use super::setting::{
    COMING, FIXED, INSTANCES, LARGE, PcieArrivals, PcieChooser, PcieSetting, PortSharing, SHARES,
};
use super::trials::{PcieResults, PcieTrials};
use mapa_front::Error;
use mapa_lab::claim::{Claim, bounds, mean_pm};
use mapa_lab::picture::{BoxGroup, BoxPlotWords, Heights, NamedCurve, boxes, lines};
use mapa_lab::report::Section;

/// The header of the tables. Times are per job, since the number of jobs is the same for both
/// schedulers.
const HEADER: [&str; 8] = [
    "arrivals, physics",
    "PCIe-bound",
    "first-gpu, s",
    "of it waiting",
    "pcie-aware, s",
    "of it waiting",
    "reduction, %",
    "least and most",
];

/// The row of a setting under [`HEADER`].
fn row(trials: &PcieTrials) -> Vec<String> {
    let times = PcieChooser::ALL.map(|chooser| {
        let completions = trials.per_file(chooser, |trial| trial.completion);
        let waits = trials.per_file(chooser, |trial| trial.waited);
        [completions, waits].map(|values| format!("{:.1}", mean_interval(&values).mean))
    });
    let gains = trials.gains();
    let low = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let high = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let words = [
        trials.setting.variant(),
        format!("{} %", trials.setting.share),
    ];
    let extremes = format!("{low:.1} to {high:.1}");
    words
        .into_iter()
        .chain(times.into_iter().flatten())
        .chain([mean_pm(trials.gain()), extremes])
        .collect()
}

/// Adds the table of a system, with all variants and shares.
fn table(mut section: Section, all: &PcieResults, system: PcieSetting) -> Result<Section, Error> {
    let mut rows = Vec::new();
    for variant in system.variants() {
        for trials in all.shares(variant)? {
            rows.push(row(trials));
            section.insert(trials.setting.id(), bounds(trials.gain()));
        }
    }
    Ok(section.table(HEADER, rows))
}

/// The name of a group of boxes. Only a burst is named, since titles say that Poisson arrivals come
/// first.
fn group_name(share: u8, coming: PcieArrivals) -> String {
    if coming == PcieArrivals::Burst {
        format!("{share} %, burst")
    } else {
        format!("{share} %")
    }
}

/// Draws completion times over the baseline's of the same file: a group for each share and arrival
/// pattern, a box for each physics.
fn normalised(
    all: &PcieResults,
    system: PcieSetting,
    title: &str,
    marked: f64,
) -> Result<String, Error> {
    let mut groups: Vec<BoxGroup> = Vec::new();
    for coming in COMING {
        for share in SHARES {
            let mut group = Vec::new();
            for physics in PortSharing::ALL {
                let trials = all.of(PcieSetting {
                    coming,
                    share,
                    physics,
                    ..system
                })?;
                group.push((
                    physics.name(),
                    trials
                        .gains()
                        .iter()
                        .map(|gain| 1.0 - gain / 100.0)
                        .collect(),
                ));
            }
            groups.push((group_name(share, coming), group));
        }
    }
    let words = BoxPlotWords {
        title,
        y: "JCT / first-gpu's",
        published: vec![(1.0 - marked / 100.0, "paper, 60 %: up to")],
        bottom: 0.5,
        top: 1.2,
        ..BoxPlotWords::default()
    };
    Ok(boxes(&groups, colour, &words))
}

/// Draws seconds from arrival to end by share, under both schedulers, by Eq. 2.
fn seconds(all: &PcieResults) -> Result<String, Error> {
    let mut groups: Vec<BoxGroup> = Vec::new();
    for coming in COMING {
        for share in SHARES {
            let trials = all.of(PcieSetting {
                coming,
                share,
                ..FIXED
            })?;
            let boxes = PcieChooser::ALL.map(|chooser| {
                (
                    chooser.name(),
                    trials.per_file(chooser, |trial| trial.completion),
                )
            });
            groups.push((group_name(share, coming), boxes.into()));
        }
    }
    let values = groups
        .iter()
        .flat_map(|(_, boxes)| boxes.iter().flat_map(|(_, values)| values));
    let top = values.copied().fold(0.0, f64::max);
    let words = BoxPlotWords {
        title: "4 GPUs, Eq. 2, load 0.6 and burst: mean completion time by file",
        y: "s",
        top: (top * 1.15 / 10.0).ceil() * 10.0,
        ..BoxPlotWords::default()
    };
    Ok(boxes(&groups, colour, &words))
}

/// The section on four GPUs: the testbed's figure and the simulator's.
pub(super) fn small(all: &PcieResults, claims: Vec<Claim>) -> Result<Section, Error> {
    let testbed = Claim::new(
        "Fig. 6: JCT on four A100-PCIe-40GB",
        "bars without numbers, up to 18 %",
        &[],
    );
    let correlation = Claim::new(
        "Fig. 7: the paper's simulator correlates with its testbed",
        "0.99",
        &[],
    );
    let section = Section::new("fig-6-7", "Fig. 6 and 7: four GPUs")
        .claims(claims)
        .claims([
            testbed.not_had("needs the testbed"),
            correlation.not_had("needs the testbed; ours is held against real processes below"),
        ])
        .text(
            "Seconds from arrival to end, and of these waiting, are means over a file's 100 jobs. The reduction is that of the aggregated JCT \
             against the baseline's: mean over files ± half the 95 % interval, then the smallest and the largest of a file.",
        );
    Ok(table(section, all, FIXED)?
        .picture(
            "fig-6.svg",
            seconds(all)?,
            "Completion time of a job under both schedulers, a value per file, as Fig. 6",
        )
        .picture(
            "fig-7.svg",
            normalised(all, FIXED, "4 GPUs, load 0.6 and burst: JCT over the baseline's, by file", 18.0)?,
            "JCT over the baseline's on four GPUs by share of PCIe-bound jobs, a value per file, as Fig. 7",
        ))
}

/// The section on sixty GPUs.
pub(super) fn large(all: &PcieResults, claims: Vec<Claim>) -> Result<Section, Error> {
    let section = Section::new("fig-8", "Fig. 8: sixty GPUs, 1,400 jobs")
        .claims(claims)
        .text("Fifteen servers of four GPUs. The columns are as above.");
    Ok(table(section, all, LARGE)?.picture(
        "fig-8.svg",
        normalised(all, LARGE, "60 GPUs, load 0.6 and burst: JCT over the baseline's, by file", 17.0)?,
        "JCT over the baseline's on sixty GPUs by share of PCIe-bound jobs, a value per file, as Fig. 8",
    ))
}

/// The section on more instances of a GPU.
pub(super) fn instances(all: &PcieResults) -> Result<Section, Error> {
    let mut section = Section::new("fig-9", "Fig. 9: more instances of a GPU");
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for variant in FIXED.variants() {
        section = section.claims(claims::of_instances(all, variant)?);
        for share in SHARES {
            let gains = INSTANCES
                .into_iter()
                .map(|instances| {
                    let setting = PcieSetting {
                        instances,
                        share,
                        ..variant
                    };
                    Ok(all.of(setting)?.gain())
                })
                .collect::<Result<Vec<Interval>, Error>>()?;
            let words = [variant.variant(), format!("{share} %")];
            let numbers: BTreeMap<String, Bounds> = INSTANCES
                .iter()
                .zip(&gains)
                .map(|(number, gain)| (number.to_string(), bounds(*gain)))
                .collect();
            section.insert(words.join(", "), numbers);
            rows.push(
                words
                    .into_iter()
                    .chain(gains.iter().map(|gain| mean_pm(*gain)))
                    .collect::<Vec<_>>(),
            );
            if share == FIXED.share {
                let points = INSTANCES
                    .iter()
                    .zip(&gains)
                    .map(|(&number, gain)| (f64::from(number), gain.mean))
                    .collect();
                let name = variant.variant();
                let dashed = variant.coming != FIXED.coming;
                curves.push(NamedCurve {
                    name,
                    colour: colour(variant.physics.name()),
                    dashed,
                    points,
                });
            }
        }
    }
    let ends = (
        f64::from(INSTANCES[0]),
        f64::from(INSTANCES[INSTANCES.len() - 1]),
    );
    let published = vec![(ends.0, 20.0), (ends.1, 20.0)];
    curves.push(NamedCurve {
        name: "paper: up to".to_owned(),
        colour: mapa_lab::picture::PUBLISHED,
        dashed: true,
        points: published,
    });
    let picture = lines(
        curves,
        Heights::Linear,
        "4 GPUs, 60 % PCIe-bound: reduction of JCT",
        "most 1g instances of a GPU",
        "%",
    );
    let header = ["arrivals, physics", "PCIe-bound"].map(str::to_owned);
    Ok(section
        .text(
            "Reduction of the aggregated JCT, %. Hypothetical GPUs have this many slices, always in 1g instances, on the same port. The load \
             counts their slices, so more jobs arrive in the same time.",
        )
        .table(header.into_iter().chain(INSTANCES.map(|number| number.to_string())), rows)
        .picture("fig-9.svg", picture, "Reduction of JCT by the most instances of a GPU, 60 % PCIe-bound, as Fig. 9"))
}
