//! What vendors' tools print: said what it is, merged, and written for others.

use crate::real_data::real_data;
use std::fs;
use std::path::Path;

use crate::common::{Folder, answer, command, stdout};
use serde_json::Value;

const TOPO: &str = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\tX\tNV4\t0-7\t0
GPU1\tNV4\tX\t0-7\t0
";

const STATUS: &str =
    "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-00000000000a)
\t Link 0: 14.062 GB/s
\t Link 1: 14.062 GB/s
\t Link 2: 14.062 GB/s
\t Link 3: 14.062 GB/s
GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-00000000000b)
\t Link 0: 14.062 GB/s
\t Link 1: 14.062 GB/s
\t Link 2: 14.062 GB/s
\t Link 3: 14.062 GB/s
";

#[test]
fn dumps_given_together_are_one_machine() {
    let folder = Folder::new();
    folder.write("topo.txt", TOPO);
    folder.write("status.txt", STATUS);
    let machine = folder.answer("topo --machine topo.txt --machine status.txt");
    assert_eq!(
        machine["bandwidth_gbps"][0][1], 56.25,
        "four links of 14.0625, which topo -m does not say"
    );
    assert_eq!(machine["devices"][1]["product"], "NVIDIA GeForce RTX 3090");
    let chosen = folder.text("allocate --machine topo.txt --machine status.txt --gpus 2");
    assert!(chosen.contains("CUDA_VISIBLE_DEVICES=0,1"), "{chosen}");
    let alone = folder.run("topo --machine status.txt");
    assert_eq!(alone.status.code(), Some(2));
    let error = String::from_utf8(alone.stderr).unwrap();
    insta::assert_snapshot!(
        error,
        @"error: status.txt: nvidia-smi nvlink names devices but not what joins them: merge it with another dump of the machine, such as `nvidia-smi topo -m`"
    );
}

#[test]
fn what_dumps_do_not_agree_on_is_said() {
    let folder = Folder::new();
    folder.write("old.txt", TOPO);
    folder.write("new.txt", TOPO.replace("NV4", "NV2"));
    let output = folder.run("topo --machine old.txt --machine new.txt");
    assert!(output.status.success());
    let said = "warning: GPU0 - GPU1, direct links: old says NV4, new says NV2; old is followed\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
}

const INSTANCES: &str = "+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 3g.20gb          9        2          4:4     |
+-------------------------------------------------------+
|   0  MIG 1g.5gb          19        9          2:1     |
+-------------------------------------------------------+
";

#[test]
fn instances_that_exist_are_what_jobs_are_put_on() {
    let folder = Folder::new();
    let toml = folder
        .text("topo --machine dgx-a100 --toml")
        .replace("name = \"GPU0\"", "name = \"GPU0\"\nmig = \"a100-40gb\"");
    folder.write("a100.toml", toml);
    folder.write("lgi.txt", INSTANCES);
    let machine = folder.answer("topo --machine a100.toml --machine lgi.txt");
    assert_eq!(
        machine["devices"][0]["layout"],
        serde_json::json!([{"profile": "1g.5gb", "start": 2}, {"profile": "3g.20gb", "start": 4}])
    );
    let chosen = folder.answer("allocate --machine a100.toml --machine lgi.txt --gpus 1 --slice 3g --pattern independent --policy packed",
    );
    assert_eq!(
        chosen["names"],
        serde_json::json!(["GPU0/3g.20gb@4"]),
        "{chosen}"
    );
}

#[test]
fn what_is_written_for_others_reads_back() {
    let folder = Folder::new();
    for machine in ["dgx-1v", "hgx-h100", "frontier", "a100-pcie-8-bridged"] {
        let census = |of: &str| folder.answer(&format!("topo --machine {of}"))["census"].clone();
        folder.write(
            "nccl.xml",
            folder.text(&format!("topo --machine {machine} --write nccl")),
        );
        let classes = |census: &Value| {
            // NCCL has one host bridge a socket: NODE becomes PHB.
            let link = |row: &Value| row["link"].as_str().unwrap().replace("NODE", "PHB");
            let pair = |row: &Value| (link(row), row["pairs"].clone());
            census
                .as_array()
                .unwrap()
                .iter()
                .map(pair)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            classes(&census("nccl.xml")),
            classes(&census(machine)),
            "{machine}: NCCL keeps the links"
        );
        folder.write(
            "gres.conf",
            folder.text(&format!("topo --machine {machine} --write slurm")),
        );
        let direct = |of: &str| {
            let devices = folder.answer(&format!("topo --machine {of}"))["devices"].clone();
            devices
                .as_array()
                .unwrap()
                .iter()
                .map(|device| device["direct_links"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            direct("gres.conf"),
            direct(machine),
            "{machine}: Slurm keeps the direct links"
        );
    }
}

#[test]
fn read_says_what_files_are() {
    let folder = Folder::new();
    fs::create_dir(folder.at("more")).unwrap();
    folder.write("topo.txt", TOPO);
    folder.write("cut.txt", &TOPO[..TOPO.len() - 12]);
    folder.write("more/status.txt", STATUS);
    folder.write(
        "more/smi.txt",
        "| NVIDIA-SMI 535.54.03  Driver Version: 535.54.03 |",
    );
    folder.write("more/notes.txt", "hello");
    let read = folder.answer("read .");
    let files: Vec<(&str, &str)> = read["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                file["file"].as_str().unwrap(),
                file["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("./cut.txt", "refused"),
        ("./more/notes.txt", "not recognised"),
        ("./more/smi.txt", "known, not read"),
        ("./more/status.txt", "part of a machine"),
        ("./topo.txt", "machine"),
    ];
    assert_eq!(files, expected);
    let text = folder.text("read topo.txt");
    assert!(
        text.contains(
            "| topo.txt | nvidia-smi topo -m |       2 | 4                 | classes | machine |"
        ),
        "{text}"
    );
    let missing = folder.answer("read topo.txt nowhere");
    assert_eq!(
        missing["files"][1]["outcome"], "refused",
        "one file that is not there does not hide the others"
    );
}

#[test]
fn the_table_of_kinds_and_outcomes_is_what_the_command_says() {
    let Some(data) = real_data() else {
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let words = format!("read --summary {}", data.join("samples").display());
    let summary = command(&words).current_dir(here).output().unwrap();
    let said = stdout(&words, summary);
    let page = fs::read_to_string(here.join("../../docs/topology-inputs.md")).unwrap();
    assert!(
        page.contains(&said),
        "docs/topology-inputs.md does not have\n{said}"
    );
}

/// NCCL's topology as cloud providers write it: slots without the devices in them.
const HOST: &str = r#"<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:10:1c.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
    <pci busid="0000:20:1c.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
  </cpu>
</system>
"#;

/// Dumps of several vendors, tools and years, with links that differ.
const TRIED: [&str; 12] = [
    "nvidia_smi_topo/dgx1p_p100_garbled_header.txt",
    "nvidia_smi_topo/v100x8_dgx1v_nic0_numaid.txt",
    "nvidia_smi_topo/oneflow_v100x8_mixed_tabs.txt",
    "nvidia_smi_topo/a100_pcie_x8_nv12_pairs.txt",
    "nvidia_smi_topo/h200nvl_2xnvl4.txt",
    "nvidia_smi_topo/a6000x3_partial_nvlink.txt",
    "nvidia_smi_topo/p40x8_pcie_soc.txt",
    "nvidia_smi_topo/azure_nc96ads_v4_like.txt",
    "nccl_xml/rocm_topo_8p6l.xml",
    "nccl_xml/rocm_topo_4p3l_2h.xml",
    "nccl_xml/rocm_topo_8p_90a.xml",
    "hwloc_xml/flux_sierra.xml",
];

/// Somebody brings a dump and names no policy: no set of free devices carries more rings than the
/// answer, and nothing is said to be withheld.
#[test]
fn the_first_answer_on_a_dump_is_the_best_set() {
    let Some(data) = real_data() else {
        return;
    };
    for name in TRIED {
        let file = data.join("samples").join(name);
        let machine = mapa_topologies::read(&fs::read(&file).unwrap()).unwrap();
        let graph = machine.into_machine().unwrap().graph().unwrap();
        for (size, busy) in [(2, vec![]), (2, vec![0]), (3, vec![0]), (4, vec![1, 2])] {
            let free: Vec<u32> = (0..graph.len() as u32)
                .filter(|id| !busy.contains(id))
                .collect();
            if size > free.len() {
                continue;
            }
            let busy: Vec<String> = busy.iter().map(u32::to_string).collect();
            let busy = match busy.len() {
                0 => String::new(),
                _ => format!(" --busy {}", busy.join(",")),
            };
            let asked = format!("allocate --machine {} --gpus {size}{busy}", file.display());
            let found = answer(&asked);
            let own = found["bandwidth_gbps"].as_f64().unwrap();
            let best = subsets(&free, size)
                .iter()
                .map(|set| packing(&graph, set))
                .fold(0.0, f64::max);
            assert!((own - best).abs() < 1e-9 * best, "{asked}: {own}, {best}");
            assert!(found.get("withheld").is_none_or(Value::is_null), "{found}");
        }
    }
}

fn subsets(of: &[u32], size: usize) -> Vec<Vec<u32>> {
    let Some((&first, rest)) = of.split_first().filter(|_| size > 0) else {
        return if size == 0 { vec![vec![]] } else { vec![] };
    };
    let with = subsets(rest, size - 1).into_iter().map(|mut set| {
        set.insert(0, first);
        set
    });
    with.chain(subsets(rest, size)).collect()
}

/// What rings over these devices carry at the same time, GB/s.
fn packing(graph: &mapa_core::HardwareGraph, set: &[u32]) -> f64 {
    let (all, pattern) = (graph.all(), mapa_core::Pattern::ring(set.len()));
    let placement: Vec<_> = set.iter().copied().map(mapa_core::DeviceId).collect();
    mapa_core::ring_packing_gbps().score(&mapa_core::Candidate {
        view: graph.with_free(&all),
        pattern: &pattern,
        placement: &placement,
    })
}

#[test]
fn a_dump_that_is_silent_on_links_says_which_one_to_add() {
    let folder = Folder::new();
    folder.write("host.xml", HOST);
    let output = folder.run("allocate --machine host.xml --gpus 2");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("`nvidia-smi topo -m`")
            && said.contains("--machine host.xml --machine topo.txt"),
        "{said}"
    );
}
