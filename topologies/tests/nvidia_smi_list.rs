//! What `nvidia-smi -L` prints, as it gets pasted, and what is refused.

use crate::common::dumps::{devices, read_as, warnings};
use mapa_topologies::{Dump, ErrorKind, HostDetail, Kind, read, recognise};
use proptest::prelude::*;

const PLAIN: &str = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-0000000000a0)
  MIG 3g.20gb     Device  0: (UUID: MIG-00000000-0000-5000-8000-000000000001)
  MIG 1g.5gb+me   Device  1: (UUID: MIG-00000000-0000-5000-8000-000000000002)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-0000000000a1)
";

fn dump(text: &str) -> Dump {
    read_as(Kind::NvidiaSmiList, text)
}

fn refused(text: &str, message: &str) {
    assert_eq!(
        Kind::NvidiaSmiList.read(text).expect_err(text).to_string(),
        message,
        "{text}"
    );
}

#[test]
fn names_uuids_and_mig_devices_are_read() {
    let dump = dump(PLAIN);
    assert!(dump.says.every_device && !dump.says.direct && dump.says.host == HostDetail::Nothing);
    assert!(dump.machine.warnings.is_empty() && dump.machine.notes.is_empty());
    let [a, b] = &devices(&dump)[..] else {
        panic!("two devices")
    };
    assert_eq!(a.product.as_deref(), Some("NVIDIA A100-SXM4-40GB"));
    assert_eq!(
        a.uuid.as_deref(),
        Some("GPU-00000000-0000-0000-0000-0000000000a0")
    );
    assert_eq!(
        b.uuid.as_deref(),
        Some("GPU-00000000-0000-0000-0000-0000000000a1")
    );
    assert_eq!(
        (a.index, a.memory_bytes, a.mig.as_ref()),
        (None, None, None),
        "nothing is inferred from the name"
    );
    let mig: Vec<_> = dump
        .mig_instances
        .iter()
        .map(|mig| (mig.device.0, mig.profile.as_str(), mig.instance_id))
        .collect();
    assert_eq!(mig, [(0, "3g.20gb", None), (0, "1g.5gb+me", None)]);
    assert_eq!(
        dump.mig_instances[1].uuid.as_deref(),
        Some("MIG-00000000-0000-5000-8000-000000000002")
    );
    assert_eq!(
        dump.into_machine().unwrap_err().kind(),
        ErrorKind::Incomplete
    );
}

#[test]
fn uuids_of_the_first_drivers_have_the_number_of_the_instance() {
    let uuid = "MIG-GPU-0069414c-9f30-41f9-d5d8-87890423f0c4/7/0";
    let text = format!(
        "GPU 0: A100-PCIE-40GB (UUID: GPU-0069414c-9f30)\n  MIG 1c.3g.20gb Device 0: (UUID: {uuid})\n"
    );
    let dump = dump(&text);
    let mig = &dump.mig_instances[0];
    assert_eq!(
        (mig.profile.as_str(), mig.instance_id, mig.uuid.as_deref()),
        ("1c.3g.20gb", Some(7), Some(uuid))
    );
    let bare = dump_of_bare_mig();
    assert!(bare.mig_instances.is_empty());
    assert_eq!(
        warnings(&bare.machine),
        ["line 2: a MIG device without its profile, as the first drivers print it: left out"]
    );
}

fn dump_of_bare_mig() -> Dump {
    dump(
        "GPU 0: Graphics Device (UUID: GPU-b8ea3855)\n  MIG Device 0: (UUID: MIG-GPU-b8ea3855/1/0)\n",
    )
}

#[test]
fn prompts_marks_line_ends_and_prose_around_it() {
    let plain = dump(PLAIN);
    let same = |text: &str| {
        let dump = dump(text);
        assert_eq!(
            (devices(&dump), &dump.mig_instances),
            (devices(&plain), &plain.mig_instances),
            "{text}"
        );
        assert_eq!(warnings(&dump.machine), [""; 0]);
    };
    same(&PLAIN.replace('\n', "\r\n"));
    same(&format!(
        "user@gpu01:~$ nvidia-smi -L\n{PLAIN}\nuser@gpu01:~$ "
    ));
    same(&format!("the GPU 0: fine\n{PLAIN}"));
    for mark in [
        "# ",
        "> ",
        "// ",
        "    ",
        "2025/05/21 09:40:05 s114 ",
        "[rank0]: ",
    ] {
        same(
            &PLAIN
                .lines()
                .map(|line| format!("{mark}{line}\n"))
                .collect::<String>(),
        );
    }
}

#[test]
fn what_is_hidden_or_missing_is_a_warning() {
    let hidden = "GPU 0: Tesla T4 (UUID: GPU-xxxxxxxx)\nGPU 1: Tesla T4 (UUID: GPU-xxxxxxxx)\n  MIG 1g.5gb Device 0: (UUID: MIG-锟)\n";
    let dump = dump(hidden);
    assert!(devices(&dump).iter().all(|device| device.uuid.is_none()));
    assert_eq!(
        (
            dump.says.every_device,
            dump.machine.warnings.len(),
            &dump.mig_instances[0].uuid
        ),
        (true, 3, &None)
    );
    let holes = self::dump("GPU 1: A (UUID: GPU-1)\nGPU 5: A (UUID: GPU-5)\n");
    assert!(!holes.says.every_device);
    assert_eq!(
        warnings(&holes.machine),
        ["line 2: GPU 0, GPU 2 to 4 missing: the machine has more devices than are listed"]
    );
    assert_eq!(
        devices(&holes)
            .iter()
            .map(|device| device.index)
            .collect::<Vec<_>>(),
        [Some(1), Some(5)]
    );
    let cut = self::dump(&format!("{PLAIN}...\n"));
    assert!(!cut.says.every_device);
    assert_eq!(
        warnings(&cut.machine),
        ["line 5: something is left out here: the machine has more devices than are listed"]
    );
}

#[test]
fn what_is_cut_or_broken_is_refused_by_line() {
    let end = "the UUID does not end: expected `(UUID: GPU-...)`";
    refused("GPU 0: Tesla T4 (UUID: GPU-01", &format!("line 1: {end}"));
    refused(
        "GPU 0: Tesla T4 (UUID: GPU-01)\nGPU 1: Tesla",
        "line 2: GPU 1 has no UUID, but others have: expected `(UUID: GPU-...)`",
    );
    refused(
        "GPU 0: T4 (UUID: GPU-01)\nGPU 0: T4 (UUID: GPU-02)\n",
        "line 2: GPU 0 appears a second time, after line 1: expected the output of one command on one machine",
    );
    refused(
        "GPU 0: T4 (UUID: GPU-01)\nGPU 1: T4 (UUID: GPU-01)\n",
        "line 2: `GPU1` has UUID gpu-01, as another component has: expected one of its own",
    );
    refused(
        "  MIG 3g.20gb     Device  0: (UUID: MIG-01)\n",
        "line 1: a MIG device of a GPU that is not named: expected a line `GPU 0: NAME (UUID: GPU-...)` before it",
    );
    let form = "expected a MIG device such as `MIG 3g.20gb     Device  0: (UUID: MIG-...)`";
    for mig in [
        "MIG 3g.20gb",
        "MIG 3g.20gb Dev",
        "MIG 3g.20gb Device  0:",
        "MIG Device x: (UUID: MIG-1)",
        "MIG  ",
    ] {
        refused(
            &format!("GPU 0: T4 (UUID: GPU-01)\n  {mig}\n"),
            &format!("line 2: {form}"),
        );
    }
    refused(
        "GPU 0: T4 (UUID: GPU-01)\n  MIG 3g.20gb Device  0: (UUID: MIG-",
        &format!("line 2: {end}"),
    );
    refused(
        "GPU 0: T4 (UUID: GPU-01)\n MIG 1g.5gb Device 0: (UUID: MIG-1)\n MIG 1g.5gb Device 1: (UUID: MIG-1)\n",
        "line 3: a second MIG device is called MIG-1, after line 2: expected each once",
    );
    refused(
        "",
        "no devices found: expected lines such as `GPU 0: NAME (UUID: GPU-...)`",
    );
    let many: String = (0..1025)
        .map(|i| format!("GPU {i}: T4 (UUID: GPU-{i:x})\n"))
        .collect();
    refused(
        &many,
        "line 1025: more than 1024 GPUs: expected those of one machine",
    );
}

#[test]
fn other_texts_are_not_taken_for_lists() {
    let matrix = format!("{PLAIN}\n\tGPU0\tGPU1\nGPU0\tX\tNV1\nGPU1\tNV1\tX\n");
    assert_eq!(
        recognise(&matrix).unwrap(),
        Kind::NvidiaSmiTopo,
        "a matrix says more"
    );
    assert_eq!(
        recognise("GPU 0: T4 (UUID: GPU-1)\n\t Link 0: 25 GB/s\n").unwrap(),
        Kind::NvidiaSmiNvlink
    );
    for text in [
        "GPU 0: Tesla T4\n",
        "GPU 00000000:1B:00.0 (UUID: x)",
        "on GPU 0: all is well (UUID: GPU-1)",
    ] {
        assert_eq!(
            recognise(text).unwrap_err().kind(),
            ErrorKind::Unknown,
            "{text}"
        );
    }
}

proptest! {
    /// Any list the tool could print reads back to itself.
    #[test]
    fn printed_lists_read_back(names in proptest::collection::vec("[A-Z][A-Za-z0-9 -]{0,20}[A-Za-z0-9]", 1..9), crlf in any::<bool>()) {
        let line = |(i, name): (usize, &String)| format!("GPU {i}: {name} (UUID: GPU-{i:08x})\n");
        let mut text: String = names.iter().enumerate().map(line).collect();
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let dump = dump(&text);
        prop_assert!(dump.says.every_device);
        let read: Vec<String> = devices(&dump).into_iter().map(|device| device.product.unwrap()).collect();
        prop_assert_eq!(read, names);
    }

    /// Of a text that ends too early only whole lines are read, but for a first line without UUID.
    #[test]
    fn cut_texts_are_refused_or_have_whole_lines(cut in 0usize..PLAIN.len()) {
        let (text, plain) = (&PLAIN[..cut], dump(PLAIN));
        match Kind::NvidiaSmiList.read(text) {
            Ok(cut) if cut.mig_instances.is_empty() && devices(&cut)[0].uuid.is_none() => {
                prop_assert!(!text.contains("(UUID:"));
            }
            Ok(cut) => {
                let (devices, all) = (devices(&cut), devices(&plain));
                prop_assert_eq!(&devices[..], &all[..devices.len()]);
                prop_assert_eq!(&cut.mig_instances[..], &plain.mig_instances[..cut.mig_instances.len()]);
            }
            Err(error) => prop_assert!(error.line().is_some() || cut < 7, "{} in {}", error, text),
        }
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "GPU 0: T4", "GPU 1: T4 (UUID: GPU-1)", "GPU", "2", ":", "(UUID: GPU-2)", "(UUID:", ")", "MIG", "3g.20gb",
            "Device", "0:", "(UUID: MIG-1)", "\n", "\n", "...", "é", "99999999999:",
        ]), 0..30)) {
        let text = words.join(" ");
        let _ = recognise(&text);
        if let Ok(dump) = Kind::NvidiaSmiList.read(&text) {
            let n = dump.machine.fabric.device_count();
            prop_assert!(n > 0 && dump.mig_instances.iter().all(|mig| mig.device.index() < n));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in ".{0,200}") {
        let _ = Kind::NvidiaSmiList.read(&text);
        let _ = read(text.as_bytes());
    }
}
