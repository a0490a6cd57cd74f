//! What `nvidia-smi mig` lists, as it gets pasted, what is refused, and every real sample.

use crate::common;

use std::fs;

use crate::common::dumps::{devices, read_as, warnings};
use mapa_topologies::mig::{Offer, catalogue, named};
use mapa_topologies::{Dump, ErrorKind, HostDetail, Kind, read, recognise};
use proptest::prelude::*;

/// The whole list of an A30 as a new driver prints it.
const A30: &str = "\
+-----------------------------------------------------------------------------+
| GPU instance profiles:                                                      |
| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                              Free/Total   GiB              CE    JPEG  OFA  |
|=============================================================================|
|   0  MIG 1g.6gb        14     4/4        5.81       No     14     1     0   |
|                                                             1     0     0   |
+-----------------------------------------------------------------------------+
|   0  MIG 1g.6gb+me     21     1/1        5.81       No     14     1     0   |
|                                                             1     1     1   |
+-----------------------------------------------------------------------------+
|   0  MIG 2g.12gb        5     2/2        11.69      No     28     2     0   |
|                                                             2     0     0   |
+-----------------------------------------------------------------------------+
|   0  MIG 4g.24gb        0     1/1        23.44      No     56     4     0   |
|                                                             4     1     1   |
+-----------------------------------------------------------------------------+
";

const INSTANCES: &str = "\
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 1g.6gb          14        3          0:1     |
+-------------------------------------------------------+
|   0  MIG 2g.12gb          5        1          2:2     |
+-------------------------------------------------------+
";

fn dump(text: &str) -> Dump {
    let dump = read_as(Kind::NvidiaSmiMig, text);
    assert!(!dump.says.every_device && !dump.says.direct && dump.says.host == HostDetail::Nothing);
    dump
}

fn refused(text: &str, message: &str) {
    assert_eq!(recognise(text).unwrap(), Kind::NvidiaSmiMig, "{text}");
    let error = read(text.as_bytes()).expect_err(text).to_string();
    assert!(error.starts_with(message), "{error}\n{text}");
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
    let Some(data) = common::data("samples_read_to_what_they_show") else {
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

#[test]
fn profiles_of_a_whole_list_are_read() {
    let dump = dump(A30);
    assert_eq!(
        (warnings(&dump.machine), dump.mig_profiles.len()),
        (Vec::new(), 4)
    );
    let profile = &dump.mig_profiles[1];
    assert_eq!(
        (profile.id, profile.name.as_deref()),
        (21, Some("1g.6gb+me"))
    );
    assert_eq!(
        (profile.free_of_total, profile.memory_gib),
        (Some((1, 1)), Some(5.81))
    );
    assert_eq!(
        devices(&dump)[0].mig,
        Some(named("a30").unwrap().model(MEDIA).unwrap())
    );
    assert_eq!(
        dump.machine.notes,
        ["The profiles of GPU 0 are those of an NVIDIA A30 with 24 GB."]
    );
    assert!(
        dump.machine.graph().unwrap().len() > 1,
        "instances that could exist are vertices"
    );
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
fn profiles_that_fit_no_gpu_or_several_leave_the_model_open() {
    let model = |text: &str| devices(&dump(text))[0].mig.clone();
    assert!(model(A30).is_some());
    assert_eq!(
        model(&A30.replace("4/4", "3/3")),
        None,
        "another greatest count"
    );
    assert_eq!(
        model(&A30.replace("4g.24gb ", "4g.28gb ")),
        None,
        "another name"
    );
    assert_eq!(
        model(&A30.replace("23.44", "47.44")),
        None,
        "another memory"
    );
    assert_eq!(
        model(&A30.replace("  14     4/4", "  19     4/4")),
        None,
        "another number"
    );
    assert!(
        model(&A30.replace("23.44", "23.50")).is_some(),
        "drivers differ by some MiB"
    );
    // The smallest profiles of the two with 80 GB, with neither's streaming multiprocessors.
    let open = printed("h100-80gb", 0, |p| p.id == 19).replace(" 16 ", " 15 ");
    assert_eq!(model(&open), None);
    assert_eq!(
        dump(&open).machine.notes,
        ["The profiles of GPU 0 do not identify one known GPU."]
    );
}

#[test]
fn placements_alone_tell_some_gpus() {
    let a30 = "GPU  0 Profile ID 14 Placements: {0,1,2,3}:1\nGPU  0 Profile ID 21 Placements: {0,1,2,3}:1\n\
               GPU  0 Profile ID  5 Placements: {0,2}:2\nGPU  0 Profile ID  0 Placement : {0}:4\n";
    let dump = dump(a30);
    assert_eq!(
        devices(&dump)[0].mig,
        Some(named("a30").unwrap().model(MEDIA).unwrap())
    );
    assert_eq!(dump.mig_profiles[2].placements, Some((vec![0, 2], 2)));
    assert_eq!(warnings(&dump.machine), [""; 0]);
}

#[test]
fn lists_after_each_other_are_one() {
    let placements =
        "GPU  0 Profile ID 14 Placements: {0,1,2,3}:1\nGPU  0 Profile ID  0 Placement : {0}:4\n";
    let text = format!(
        "$ nvidia-smi mig -lgip\n{A30}$ nvidia-smi mig -lgipp\n{placements}$ nvidia-smi mig -lgi\n{INSTANCES}"
    );
    let dump = dump(&text);
    assert_eq!(
        (
            dump.mig_profiles.len(),
            dump.mig_instances.len(),
            warnings(&dump.machine).len()
        ),
        (4, 2, 0)
    );
    let first = &dump.mig_profiles[0];
    assert_eq!(
        (first.name.as_deref(), first.placements.clone()),
        (Some("1g.6gb"), Some((vec![0, 1, 2, 3], 1)))
    );
    assert!(devices(&dump)[0].mig.is_some());
}

#[test]
fn instances_are_read_and_tell_no_model() {
    let dump = dump(INSTANCES);
    let instances: Vec<_> = dump
        .mig_instances
        .iter()
        .map(|i| (i.profile.as_str(), i.profile_id, i.instance_id, i.placement))
        .collect();
    let expected = [
        ("1g.6gb", Some(14), Some(3), Some((0, 1))),
        ("2g.12gb", Some(5), Some(1), Some((2, 2))),
    ];
    assert_eq!(instances, expected);
    assert_eq!(
        (
            devices(&dump)[0].mig.clone(),
            dump.machine.notes.len(),
            warnings(&dump.machine).len()
        ),
        (None, 0, 0)
    );
    let far = self::dump(&INSTANCES.replace("|   0  MIG 2g", "|  11  MIG 2g"));
    assert_eq!(devices(&far)[1].index, Some(11));
}

#[test]
fn squeezed_marked_and_doubled_tables_read_the_same() {
    for plain in [A30, INSTANCES] {
        let expected = dump(plain);
        let same = |text: &str| {
            let dump = dump(text);
            assert_eq!(
                (&dump.mig_profiles, &dump.mig_instances),
                (&expected.mig_profiles, &expected.mig_instances),
                "{text}"
            );
            assert_eq!(
                (devices(&dump), warnings(&dump.machine)),
                (devices(&expected), Vec::new()),
                "{text}"
            );
        };
        same(&plain.replace('\n', "\r\n"));
        same(&plain.replace('\n', "\n\n"));
        same(
            &plain
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
                .collect::<String>(),
        );
        same(
            &plain
                .lines()
                .map(|line| line.replacen('|', "||", 1) + "\n")
                .collect::<String>(),
        );
        same(&format!(
            "user@host:~$ sudo nvidia-smi mig -l\n{plain}\nuser@host:~$ "
        ));
        same(&format!(
            "{plain}| Processes: |\n|  GPU   GI  |\n|====|\n|  0  1  0  58866  C  ./a |\n|  1  2  3  |\n+----+\n"
        ));
        for mark in ["# ", "> ", "    ", "2025/05/21 09:40:05 s114 ", "[rank0]: "] {
            same(
                &plain
                    .lines()
                    .map(|line| format!("{mark}{line}\n"))
                    .collect::<String>(),
            );
        }
    }
}

#[test]
fn tables_that_are_cut_between_rows_are_read_with_a_warning() {
    let lines: Vec<&str> = A30.lines().collect();
    let end = dump(&lines[..lines.len() - 1].join("\n"));
    assert_eq!(
        warnings(&end.machine),
        ["line 16: the end of the table is missing: there may be more rows"]
    );
    let end = dump(&lines[..10].join("\n"));
    assert_eq!(
        warnings(&end.machine).len(),
        2,
        "{:?}",
        warnings(&end.machine)
    );
    let top = dump(&lines[8..].join("\n"));
    assert_eq!(
        warnings(&top.machine),
        ["line 1: the top of the table is missing: there may be more rows"]
    );
    let title = INSTANCES.find("| GPU").unwrap();
    let two = dump(&format!(
        "{}\n{}",
        lines[..lines.len() - 1].join("\n"),
        &INSTANCES[title..]
    ));
    assert_eq!(warnings(&two.machine).len(), 1);
    let compute = "| Compute instances: |\n|====|\n|   0      1       MIG 1c.3g.20gb       0         0     |\n+----+\n";
    let both = dump(&format!("{INSTANCES}{compute}"));
    assert_eq!(
        warnings(&both.machine),
        ["line 12: compute instances are left out: they are parts of GPU instances"]
    );
}

#[test]
fn what_is_cut_or_broken_is_refused_by_line() {
    let lines: Vec<&str> = A30.lines().collect();
    let half = "a profile without its second line: expected one with CE, JPEG and OFA";
    refused(&lines[..6].join("\n"), &format!("line 6: {half}"));
    refused(
        &[lines[..6].join("\n"), lines[7..].join("\n")].join("\n"),
        &format!("line 6: {half}"),
    );
    refused(
        &format!("{}\n|           1     0", lines[..6].join("\n")),
        &format!("line 6: {half}"),
    );
    refused(
        &lines[6..].join("\n"),
        "line 1: the second line of a profile without its first",
    );
    refused(
        &format!(
            "{}\n|   0  MIG 1g.6gb        14     4/4",
            lines[..5].join("\n")
        ),
        "line 6: expected a profile",
    );
    refused(
        &A30.replace("|   0  MIG 4g", "|   0  MIX 4g"),
        "line 15: an unknown row",
    );
    refused(
        &A30.replace("2/2", "3/2"),
        "line 12: 3 of 2 instances are free",
    );
    refused(
        &A30.replace("  21  ", "  14  "),
        "line 9: profile 14 of GPU 0 appears a second time",
    );
    refused(
        &INSTANCES.replace("5        1 ", "5        3 "),
        "line 8: instance 3 of GPU 0 appears a second time",
    );
    refused(
        &INSTANCES.replace("2:2 ", "2:  "),
        "line 8: expected a profile",
    );
    let placement = "GPU  0 Profile ID 14 Placements: {0,1,2,3}:1\n";
    refused(
        &format!("{placement}{placement}"),
        "line 2: the list of placements of profile 14 of GPU 0 appears a second time",
    );
    for cut in [20, 30, 40, 43] {
        refused(
            &format!("{placement}{}", &placement.replace("14", "15")[..cut]),
            "line 2: expected `GPU  0 Profile ID 19",
        );
    }
    let many: String = (0..1025)
        .map(|i| format!("GPU {i} Profile ID 0 Placement : {{0}}:8\n"))
        .collect();
    refused(&many, "line 1025: more than 1024 GPUs");
    refused(
        "| GPU instances: |\n",
        "no MIG profiles and no MIG instances found",
    );
}

#[test]
fn other_texts_are_not_taken_for_mig() {
    let matrix = format!("{A30}\tGPU0\tGPU1\nGPU0\tX\tNV1\nGPU1\tNV1\tX\n");
    assert_eq!(
        recognise(&matrix).unwrap(),
        Kind::NvidiaSmiTopo,
        "a matrix says more"
    );
    let list = "GPU 0: A100 (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n";
    assert_eq!(recognise(list).unwrap(), Kind::NvidiaSmiList);
    for text in [
        "| 0 | 1 |",
        "GPU instances: 3",
        "|   0      1       MIG 1c.3g.20gb       0      0 |",
        "No MIG-supported devices found.",
    ] {
        assert_eq!(
            recognise(text).unwrap_err().kind(),
            ErrorKind::Unknown,
            "{text}"
        );
    }
}

proptest! {
    /// Of a text that ends too early, what is read is a part of the whole.
    #[test]
    fn cut_texts_are_refused_or_are_parts(cut in 0usize..A30.len()) {
        let whole = dump(A30);
        match Kind::NvidiaSmiMig.read(&A30[..cut]) {
            Ok(part) => {
                prop_assert_eq!(&part.mig_profiles[..], &whole.mig_profiles[..part.mig_profiles.len()]);
                prop_assert!(!part.machine.warnings.is_empty() || part.mig_profiles.len() == 4);
            }
            Err(error) => prop_assert!(error.line().is_some() || !A30[..cut].contains(" MIG ")),
        }
    }

    /// A line lost from a table is noticed, unless it is a border, above the rows, or all of the
    /// last.
    #[test]
    fn lost_lines_are_noticed(lost in 5usize..17) {
        let lines: Vec<&str> = A30.lines().collect();
        let text = [&lines[..lost], &lines[lost + 1..]].concat().join("\n");
        match Kind::NvidiaSmiMig.read(&text) {
            Ok(part) => prop_assert!(lines[lost].starts_with('+') && part.mig_profiles.len() == 4),
            Err(error) => prop_assert!(error.line().is_some()),
        }
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "|   0  MIG 1g.6gb        14     4/4        5.81       No     14     1     0   |\n", "| 1 1 0 |\n",
            "|   0  MIG 1g.6gb 14 3 0:1 |\n", "GPU  0 Profile ID 14 Placements: {0,1,2,3}:1\n", "+-----+\n", "|=====|\n",
            "| GPU instance profiles: |\n", "|   1  MIG 4g.24gb 0 1/1 23.44 No 56 4 0 |\n", "| 0 1 MIG 1c.3g.20gb 0 0 |\n",
            "|", "0", "MIG", "\n", "é", "GPU", "Profile ID", "{", "}:", "99999999999",
        ]), 0..30)) {
        let text = words.concat();
        let _ = recognise(&text);
        if let Ok(dump) = Kind::NvidiaSmiMig.read(&text) {
            let n = devices(&dump).len();
            prop_assert!(n > 0 && dump.mig_profiles.iter().all(|profile| profile.device.index() < n));
            prop_assert!(dump.mig_instances.iter().all(|instance| instance.device.index() < n));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in ".{0,200}") {
        let _ = Kind::NvidiaSmiMig.read(&text);
        let _ = read(text.as_bytes());
    }
}
