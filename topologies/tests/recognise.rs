//! One `read` for everything: each kind is told from all others, and what is not read is named.

use mapa_topologies::{ErrorKind, Kind, MAX_BYTES, named, read, recognise};
use proptest::prelude::*;

/// A small text of each kind.
fn texts() -> Vec<(Kind, String)> {
    let own = |kind, text: &str| (kind, text.to_owned());
    vec![
        (
            Kind::MachineFile,
            named("dgx-1v").unwrap().to_toml().unwrap(),
        ),
        own(
            Kind::NcclTopology,
            "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:06:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"70\"/></pci></cpu></system>",
        ),
        own(
            Kind::NcclGraph,
            "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" nchannels=\"1\" speedintra=\"20\" speedinter=\"20\"><channel><gpu dev=\"0\"/><gpu dev=\"1\"/></channel></graph></graphs>",
        ),
        own(
            Kind::Hwloc,
            "<?xml version=\"1.0\"?><topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\"/></topology>",
        ),
        own(
            Kind::SlurmGres,
            "Name=gpu File=/dev/nvidia0 Links=-1,2\nName=gpu File=/dev/nvidia1 Links=2,-1\n",
        ),
        own(
            Kind::Kfd,
            "/sys/class/kfd/kfd/topology/nodes/0/gpu_id:0\n/sys/class/kfd/kfd/topology/nodes/0/properties:cpu_cores_count 8\n/sys/class/kfd/kfd/topology/nodes/1/gpu_id:777\n/sys/class/kfd/kfd/topology/nodes/1/properties:simd_count 304\n",
        ),
        own(
            Kind::AmdSmiXgmi,
            "LINK METRIC TABLE:\n       bdf          bit_rate max_bandwidth link_type 0000:0c:00.0\nGPU0   0000:0c:00.0 32 Gb/s  512 Gb/s      XGMI\n Read  N/A\n Write N/A\n",
        ),
        own(
            Kind::AmdSmiTopology,
            "ACCESS TABLE:\n             0000:03:00.0\n0000:03:00.0 ENABLED\nLINK TYPE TABLE:\n             0000:03:00.0\n0000:03:00.0 SELF\n",
        ),
        own(
            Kind::RocmSmi,
            "===== ROCm System Management Interface =====\n===== Link Type between two GPUs =====\n       GPU0 GPU1\nGPU0   0    XGMI\nGPU1   XGMI 0\n",
        ),
        own(
            Kind::Lspci,
            "01:00.0 3D controller: NVIDIA Corporation GA100 [A100] (rev a1)\n\tLnkCap: Port #0, Speed 16GT/s, Width x16\n",
        ),
        own(
            Kind::NvidiaSmiMig,
            "GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1\n",
        ),
        own(
            Kind::NvidiaSmiP2p,
            "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n",
        ),
        own(
            Kind::NvidiaSmiNvlink,
            "GPU 0: Tesla V100 (UUID: GPU-01)\n\t Link 0: 25.781 GB/s\n",
        ),
        own(
            Kind::NvidiaSmiList,
            "GPU 0: Tesla V100 (UUID: GPU-01)\nGPU 1: Tesla V100 (UUID: GPU-02)\n",
        ),
        own(
            Kind::NvidiaSmiTopo,
            "\tGPU0\tGPU1\nGPU0\tX\tNV1\nGPU1\tNV1\tX\n",
        ),
    ]
}

#[test]
fn each_kind_is_recognised_and_read() {
    let texts = texts();
    let kinds: Vec<Kind> = texts.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        Kind::all().collect::<Vec<_>>(),
        "an example of every kind"
    );
    for (kind, text) in texts {
        assert_eq!(recognise(&text).unwrap(), kind, "{text}");
        let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(dump.kind, kind);
        let with_mark = format!("\u{feff}{text}");
        assert_eq!(
            read(with_mark.as_bytes()).unwrap(),
            dump,
            "{kind:?}: a byte order mark changes nothing"
        );
        let windows = text.replace('\n', "\r\n");
        assert_eq!(
            read(windows.as_bytes()).unwrap().machine.fabric,
            dump.machine.fabric,
            "{kind:?}: nor do CRLFs"
        );
    }
}

#[test]
fn what_is_known_and_not_read_says_what_to_give_instead() {
    let cases = [
        (
            "| NVIDIA-SMI 535.54.03   Driver Version: 535.54.03   CUDA Version: 12.2 |",
            "nvidia-smi topo -m",
        ),
        (
            "==============NVSMI LOG==============\n\nTimestamp : x",
            "nvidia-smi topo -m",
        ),
        (
            "3b:00.0 3D controller: NVIDIA Corporation GV100GL (rev a1)",
            "lstopo machine.xml",
        ),
        (
            "Machine (126GB total)\n  NUMANode L#0 (P#0 63GB)",
            "lstopo machine.xml",
        ),
        ("HSA Agents\n==========\nAgent 1", "amd-smi topology"),
        (
            "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n</nvidia_smi_log>",
            "nvidia-smi topo -m",
        ),
    ];
    for (text, instead) in cases {
        let error = read(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}: {error}");
        assert!(error.to_string().contains(instead), "{error}");
    }
    for text in [
        "",
        "\n\n",
        "hello",
        "{}",
        "[]",
        "<html></html>",
        "GPU",
        "a,b\n1,2\n",
    ] {
        assert_eq!(
            read(text.as_bytes()).unwrap_err().kind(),
            ErrorKind::Unknown,
            "{text}"
        );
    }
}

#[test]
fn more_than_any_machine_needs_is_refused() {
    let long = "x".repeat(MAX_BYTES + 1);
    assert_eq!(
        read(long.as_bytes()).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
    for kind in Kind::all() {
        assert_eq!(
            kind.read(&long).unwrap_err().kind(),
            ErrorKind::TooLarge,
            "{kind:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_cut_and_any_change_is_answered(
        which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), put in "[ -~\n]{0,3}",
    ) {
        let mut texts = texts();
        let which = which.index(texts.len());
        let (kind, text) = texts.swap_remove(which);
        let chars: Vec<char> = text.chars().collect();
        let short: String = chars[..cut.index(chars.len() + 1)].iter().collect();
        let place = at.index(chars.len());
        let changed: String = chars[..place].iter().copied().chain(put.chars()).chain(chars[place..].iter().copied().skip(1)).collect();
        for text in [short, changed] {
            let _ = read(text.as_bytes());
            if let Ok(dump) = kind.read(&text)
                && let Ok(machine) = dump.into_machine()
            {
                prop_assert!(machine.graph().is_ok());
            }
        }
    }
}
