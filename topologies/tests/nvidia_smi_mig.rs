//! `nvidia-smi mig`: what no single text of the corpus shows, and every real sample.

use std::fs;

use crate::common::dumps::{devices, read_as, warnings};
use crate::common::real_data;
use crate::corpus::text;
use mapa_topologies::mig::{Offer, catalogue, named};
use mapa_topologies::{Dump, Kind};
use proptest::prelude::*;

fn dump(text: &str) -> Dump {
    read_as(Kind::NvidiaSmiMig, text)
}

struct Expected {
    name: &'static str,
    gpu: u32,
    /// The profiles' numbers, in order.
    profiles: &'static [u32],
    model: Option<(&'static str, Offer)>,
    warnings: &'static [&'static str],
}

const MEDIA: Offer = Offer {
    media: true,
    double_memory: false,
};
const NO_TOP: &str = "line 1: the top of the table is missing";
const NO_END: &str = "line 6: no profile of the whole GPU";

const SAMPLES: [Expected; 10] = [
    Expected {
        name: "lgip_a100_tail.txt",
        gpu: 0,
        profiles: &[14, 9, 5, 0],
        model: Some(("a100-40gb", Offer::PLAIN)),
        warnings: &[NO_TOP],
    },
    Expected {
        name: "lgip_b200_partial.txt",
        gpu: 0,
        profiles: &[19, 20, 15, 14],
        model: Some(("b200", Offer::ALL)),
        warnings: &[NO_END],
    },
    Expected {
        name: "lgip_gb200_partial.txt",
        gpu: 0,
        profiles: &[19, 20, 15],
        model: Some(("gb200", Offer::ALL)),
        warnings: &[NO_END],
    },
    Expected {
        name: "lgip_gh200_144_partial.txt",
        gpu: 0,
        profiles: &[19, 20, 15, 14],
        model: Some(("gh200", Offer::ALL)),
        warnings: &[NO_END],
    },
    Expected {
        name: "lgip_h100nvl_tail.txt",
        gpu: 0,
        profiles: &[9, 5, 0],
        model: Some(("h100-94gb", Offer::PLAIN)),
        warnings: &[NO_TOP],
    },
    Expected {
        name: "lgip_h200_partial.txt",
        gpu: 6,
        profiles: &[19, 20, 15, 14, 9, 5],
        model: Some(("h200", Offer::ALL)),
        warnings: &[NO_END],
    },
    Expected {
        name: "lgip_rtxpro6000_partial.txt",
        gpu: 0,
        profiles: &[14, 21, 47],
        model: Some(("rtx-pro-6000", MEDIA)),
        warnings: &[NO_END],
    },
    Expected {
        name: "lgipp_a100.txt",
        gpu: 0,
        profiles: &[19, 20, 15, 14, 9, 5, 0],
        model: None,
        warnings: &[],
    },
    Expected {
        name: "lgipp_a100_old_driver.txt",
        gpu: 0,
        profiles: &[19, 14, 9, 5, 0],
        model: None,
        warnings: &[],
    },
    Expected {
        name: "lgipp_a100_r470.txt",
        gpu: 0,
        profiles: &[19, 20, 14, 9, 5, 0],
        model: None,
        warnings: &[],
    },
];

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let rows = manifest
        .lines()
        .filter(|row| row.split('\t').nth(1) == Some("nvidia_smi_mig"));
    let paths: Vec<&str> = rows.map(|row| row.split('\t').next().unwrap()).collect();
    assert_eq!(
        paths.len(),
        SAMPLES.len(),
        "as many as the manifest had when this was written"
    );
    for path in paths {
        let expected = SAMPLES
            .iter()
            .find(|sample| path.ends_with(sample.name))
            .expect(path);
        let text = fs::read_to_string(data.join("samples").join(path)).unwrap();
        let dump = dump(&text);
        let [device] = &devices(&dump)[..] else {
            panic!("{path}: one device")
        };
        assert_eq!(device.index.unwrap_or(0), expected.gpu, "{path}");
        let profiles: Vec<u32> = dump.mig_profiles.iter().map(|profile| profile.id).collect();
        assert_eq!(profiles, expected.profiles, "{path}");
        let told = dump
            .mig_profiles
            .iter()
            .all(|profile| match path.contains("lgipp") {
                true => profile.placements.is_some() && profile.name.is_none(),
                false => {
                    profile.placements.is_none()
                        && profile.name.is_some()
                        && profile.memory_gib.is_some()
                }
            });
        assert!(told, "{path}");
        let model = expected
            .model
            .map(|(name, offer)| named(name).unwrap().model(offer).unwrap());
        assert_eq!(device.mig, model, "{path}: {:?}", dump.machine.notes);
        let warnings = warnings(&dump.machine);
        assert_eq!(
            warnings.len(),
            expected.warnings.len(),
            "{path}: {warnings:?}"
        );
        assert!(
            warnings
                .iter()
                .zip(expected.warnings)
                .all(|(w, start)| w.starts_with(start)),
            "{path}: {warnings:?}"
        );
    }
}

/// Text as the tool prints it for a GPU of the catalogue.
fn printed(
    name: &str,
    gpu: usize,
    of: impl Fn(&mapa_topologies::mig::ProfileFacts) -> bool,
) -> String {
    let mut text = String::from("| GPU instance profiles:    |\n|===========|\n");
    for p in named(name).unwrap().profiles.iter().filter(|p| of(p)) {
        let (id, total, memory, sms) = (p.id, p.max_instances, p.memory_gib, p.sms.unwrap_or(1));
        text += &format!(
            "|  {gpu}  MIG {}   {id}  0/{total}   {memory:.2}   No   {sms}  {}  {}  |\n",
            p.name, p.decoders, p.encoders
        );
        text += &format!(
            "|        {}  {}  {}  |\n+------+\n",
            p.copy_engines, p.jpeg, p.ofa
        );
    }
    text
}

#[test]
fn every_gpu_of_the_catalogue_is_known_by_what_is_printed_of_it() {
    for entry in catalogue() {
        let dump = dump(&printed(entry.name, 0, |_| true));
        let mig = devices(&dump)[0]
            .mig
            .clone()
            .unwrap_or_else(|| panic!("{}", entry.name));
        assert_eq!(mig.name(), entry.name);
        assert_eq!(
            mig.profiles().len(),
            entry.gpu().unwrap().profiles.len(),
            "all that is printed is offered"
        );
    }
    let two = dump(&(printed("a100-80gb", 0, |_| true) + &printed("h100-80gb", 1, |_| true)));
    let names: Vec<String> = devices(&two)
        .iter()
        .map(|device| device.mig.as_ref().unwrap().name().to_owned())
        .collect();
    assert_eq!(
        names,
        ["a100-80gb", "h100-80gb"],
        "alike but for their streaming multiprocessors"
    );
}

#[test]
fn more_gpus_than_any_machine_has_are_refused() {
    let line = |gpu| format!("GPU {gpu} Profile ID 0 Placement : {{0}}:8\n");
    let many: String = (0..1025).map(line).collect();
    let error = Kind::NvidiaSmiMig.read(&many).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 1025: more than 1024 GPUs: expected those of one machine"
    );
}

proptest! {
    /// Of a text that ends too early, what is read is a part of the whole.
    #[test]
    fn cut_texts_are_refused_or_are_parts(cut in any::<prop::sample::Index>()) {
        let plain = text("nvidia_smi_mig/plain.txt");
        let (whole, text) = (dump(&plain), &plain[..cut.index(plain.len())]);
        match Kind::NvidiaSmiMig.read(text) {
            Ok(part) => {
                prop_assert_eq!(&part.mig_profiles[..], &whole.mig_profiles[..part.mig_profiles.len()]);
                prop_assert!(!part.machine.warnings.is_empty() || part.mig_profiles.len() == 4);
            }
            Err(error) => prop_assert!(error.line().is_some() || !text.contains(" MIG ")),
        }
    }

    /// A line lost from a table is noticed, unless it is a border, above the rows, or all of the
    /// last.
    #[test]
    fn lost_lines_are_noticed(lost in 5usize..17) {
        let plain = text("nvidia_smi_mig/plain.txt");
        let lines: Vec<&str> = plain.lines().collect();
        let text = [&lines[..lost], &lines[lost + 1..]].concat().join("\n");
        match Kind::NvidiaSmiMig.read(&text) {
            Ok(part) => prop_assert!(lines[lost].starts_with('+') && part.mig_profiles.len() == 4),
            Err(error) => prop_assert!(error.line().is_some()),
        }
    }
}
