//! Recognises texts that have no reader, and names what to use instead.

/// A kind of text without a reader.
struct KnownText {
    /// What a text of this kind has: all of one of these.
    has: &'static [&'static [&'static str]],
    what: &'static str,
    instead: &'static str,
}

/// Tables of other vendors, which look like those of `nvidia-smi topo -m`.
const OTHER_VENDORS: [KnownText; 8] = [
    KnownText {
        has: &[&["MetaX System Management"], &["mx-smi"]],
        what: "`mx-smi` of MetaX devices, whose links have no reader",
        instead: "a machine file",
    },
    KnownText {
        has: &[&["npu-smi"], &["HCCS"]],
        what: "`npu-smi` of Ascend devices",
        instead: "a machine file",
    },
    KnownText {
        has: &[&["xpu-smi"], &["GPU 0/0"], &["XeLink"]],
        what: "`xpu-smi` of Intel devices, whose links have no reader",
        instead: "the XML of `lstopo machine.xml`, or a machine file",
    },
    KnownText {
        has: &[&["HL-SMI"], &["hl-smi"]],
        what: "`hl-smi` of Gaudi devices, which does not describe links",
        instead: "the XML of `lstopo machine.xml`, or a machine file",
    },
    KnownText {
        has: &[&["hy-smi"], &["HCU["], &["between two HCUs"]],
        what: "`hy-smi` of Hygon devices, whose links have no reader",
        instead: "the XML of `lstopo machine.xml`, or a machine file",
    },
    KnownText {
        has: &[&["neuron-ls"], &["| NEURON | NEURON |"]],
        what: "`neuron-ls` of AWS Neuron devices, whose links have no reader",
        instead: "a machine file",
    },
    // Its tables are those of any vendor, without the kinds of direct links.
    KnownText {
        has: &[
            &["gpustack-runtime topo"],
            &["| Device 0 |", "NUMA Affinity"],
        ],
        what: "`gpustack-runtime topo`, whose table has no reader",
        instead: "the vendor's own table, such as `nvidia-smi topo -m`, or a machine file",
    },
    KnownText {
        has: &[&["mthreads-gmi"], &["MTLink"]],
        what: "`mthreads-gmi` of Moore Threads devices, whose links have no reader",
        instead: "a machine file",
    },
];

/// All others. The first that fits holds, so errors come before the outputs that contain them.
const KNOWN: [KnownText; 31] = [
    KnownText {
        has: &[
            &["NVIDIA-SMI has failed"],
            &["Failed to initialize NVML"],
            &["couldn't communicate with the NVIDIA driver"],
            &["nvidia-smi: command not found"],
            &["nvidia-smi: not found"],
            &["No devices were found"],
        ],
        what: "an error message of nvidia-smi",
        instead: "its output with a working driver",
    },
    KnownText {
        has: &[
            &["Failed to run topology matrix"],
            &["Failed to retrieve topology"],
        ],
        what: "an error of `nvidia-smi topo -m`, which some virtual machines, containers and drivers for Windows do not offer",
        instead: "its output on the host; or `sudo lspci -vv` and `nvidia-smi -L`; or the XML of `lstopo machine.xml`",
    },
    KnownText {
        has: &[
            &["rocm-smi: command not found"],
            &["amd-smi: command not found"],
            &["ERROR:root:Driver not initialized"],
            &["Unable to detect any GPU devices"],
            &["No AMD GPUs specified"],
        ],
        what: "an error message of rocm-smi or amd-smi",
        instead: "the output of `amd-smi topology` or `rocm-smi --showtopo` with a working driver",
    },
    KnownText {
        has: &[
            &["Bandwidth", "Matrix (GB/s)", "D\\D"],
            &["P2P Connectivity Matrix", "D\\D"],
        ],
        what: "the output of p2pBandwidthLatencyTest, measured bandwidths that `mapa-bench measured add` takes",
        instead: "`nvidia-smi topo -m` for the machine",
    },
    KnownText {
        has: &[&["P2P=", "Latency", "Matrix (us)"]],
        what: "the latency matrix of p2pBandwidthLatencyTest, which does not describe links",
        instead: "`nvidia-smi topo -m` for the machine",
    },
    // Its matrices have the title of those of rocm-bandwidth-test.
    KnownText {
        has: &[&["TransferBench"], &["SRC+EXE\\DST"], &["SRC\\DST"]],
        what: "the output of TransferBench, measured bandwidths without a reader",
        instead: "`rocm-smi --showtopo` or `amd-smi topology` for the machine",
    },
    KnownText {
        has: &[&["peers:true distance:"], &["peers:false distance:"]],
        what: "`rvs` of the ROCm Validation Suite, which numbers devices as the driver does",
        instead: "`rocm-smi --showtopo` or `amd-smi topology`",
    },
    KnownText {
        has: &[
            &["RocmBandwidthTest"],
            &["rocm-bandwidth-test"],
            &["copy peak bandwidth"],
        ],
        what: "the output of rocm-bandwidth-test, measured bandwidths that `mapa-bench measured add` takes",
        instead: "`rocm-smi --showtopo` or `amd-smi topology` for the machine",
    },
    KnownText {
        has: &[&["nvbandwidth Version"], &["memcpy CE"]],
        what: "the output of nvbandwidth, measured bandwidths that `mapa-bench measured add` takes",
        instead: "`nvidia-smi topo -m` for the machine",
    },
    KnownText {
        has: &[
            &["# nThread", "minBytes"],
            &["out-of-place", "algbw", "busbw"],
        ],
        what: "the output of nccl-tests or rccl-tests, measured bandwidths that `mapa-bench measured add` takes",
        instead: "`nvidia-smi topo -m` or `rocm-smi --showtopo` for the machine",
    },
    // One of its lines is AllocTRES, which lists of jobs have too.
    KnownText {
        has: &[
            &["CfgTRES="],
            &["\"gres\": \"gpu"],
            &["NodeName=", "Gres=gpu"],
            &["NODELIST", "GRES", "gpu:"],
        ],
        what: "`scontrol show node` or `sinfo`, which count devices and do not describe links",
        instead: "`slurmd -G` or a `gres.conf` with `Links=`, or `nvidia-smi topo -m`, run on the node",
    },
    KnownText {
        has: &[
            &["AllocTRES"],
            &["sacct "],
            &["JobID", "Elapsed"],
            &["billing=", "gres/gpu"],
        ],
        what: "a list of jobs by Slurm's `sacct`, no machine (`mapa-bench simulate --trace` takes what `sacct --allusers --allocations --parsable2 --format=JobID,Submit,Start,End,Elapsed,AllocTRES,State,Timelimit,JobName` prints)",
        instead: "`nvidia-smi topo -m`, or `slurmd -G` for the machine",
    },
    KnownText {
        has: &[&["NVIDIA-SMI ", "Driver Version"]],
        what: "`nvidia-smi` without options, which does not describe links",
        instead: "`nvidia-smi topo -m`",
    },
    KnownText {
        has: &[
            &["==============NVSMI LOG=============="],
            // A part of it, without the title.
            &["GPU Link Info", "PCIe Generation"],
            &["Product Name  ", "Minor Number  "],
        ],
        what: "`nvidia-smi -q`, which does not describe links",
        instead: "`nvidia-smi topo -m`",
    },
    KnownText {
        has: &[&["<nvidia_smi_log>"]],
        what: "`nvidia-smi -q -x`, which does not describe links",
        instead: "`nvidia-smi topo -m`",
    },
    KnownText {
        has: &[
            &["Topology Information", "CPU Core Affinity"],
            &["dcgmi topo"],
        ],
        what: "`dcgmi topo`, which tells the links of one GPU or a group without their number",
        instead: "`nvidia-smi topo -m`",
    },
    KnownText {
        has: &[&["'C, ", " % |", " MB"], &["PCIe GEN", "Device 0 ["]],
        what: "`gpustat` or `nvtop`, which do not describe links",
        instead: "`nvidia-smi topo -m` or `rocm-smi --showtopo`",
    },
    KnownText {
        has: &[&["-[0000:00]-"]],
        what: "`lspci -t`, a tree without the speeds of links",
        instead: "`sudo lspci -vv`, beside `nvidia-smi topo -m`; or `lstopo machine.xml`",
    },
    KnownText {
        has: &[&["VGA compatible controller"], &["3D controller"]],
        what: "`lspci` without the speeds of links",
        instead: "`sudo lspci -vv`, beside `nvidia-smi topo -m`; or `lstopo machine.xml`",
    },
    KnownText {
        has: &[
            &["ROCm System Management Interface"],
            &["Concise Info"],
            &["ROCM-SMI version"],
        ],
        what: "`rocm-smi` without its topology",
        instead: "`rocm-smi --showtopo`",
    },
    KnownText {
        has: &[&["AMD-SMI ", "amdgpu version"], &["AMDSMI Tool"]],
        what: "`amd-smi` without its topology",
        instead: "`amd-smi topology`",
    },
    KnownText {
        has: &[
            &["HSA Agents"],
            &["HSA System Attributes"],
            &["Marketing Name:", "Vendor Name:"],
        ],
        what: "`rocminfo`, which does not describe links",
        instead: "`rocm-smi --showtopo` or `amd-smi topology`",
    },
    KnownText {
        has: &[&["NUMA node0 CPU(s)"], &["node distances:"]],
        what: "`lscpu` or `numactl --hardware`, which names no devices",
        instead: "`nvidia-smi topo -m`, `rocm-smi --showtopo` or `lstopo machine.xml`",
    },
    KnownText {
        has: &[&["CA 'mlx5_", "Port 1:"], &["hca_id:", "port:"]],
        what: "`ibstat` or `ibv_devinfo`, which name network cards and no accelerators",
        instead: "`nvidia-smi topo -m`, which has both",
    },
    KnownText {
        has: &[&["xgmi_num_links"], &["xgmi_num_hops"]],
        what: "the driver's matrix of XGMI links, which names no devices",
        instead: "`amd-smi topology`, whose bandwidths tell the number of links",
    },
    KnownText {
        has: &[&["gpurun", "Topology", "Cores"]],
        what: "`gpurun -topo`, which has NUMA nodes and no links",
        instead: "`rocm-smi --showtopo` or `amd-smi topology`",
    },
    KnownText {
        has: &[
            &["nvidia.com/gpu"],
            &["amd.com/gpu"],
            &["kubernetes.io/arch=", "Roles:"],
            &["Allocatable:", "Capacity:"],
        ],
        what: "a description of a Kubernetes node, which counts devices and does not describe links",
        instead: "`nvidia-smi topo -m` or `rocm-smi --showtopo`, run on the node",
    },
    KnownText {
        has: &[&["<graphs"], &["<graphml"]],
        what: "a graph without a machine",
        instead: "a machine file, or one of the vendors' outputs",
    },
    KnownText {
        has: &[
            &["num_gpus:", "bandwidth_per_link_mbps"],
            &["pcie_topology:"],
        ],
        what: "a profile of NVIDIA's NVML mock",
        instead: "what the mock prints: `nvidia-smi topo -m`",
    },
    KnownText {
        has: &[
            &["Machine (", "NUMANode"],
            &["Machine (", "Package L#"],
            // A part of it: the tree below a host bridge.
            &["PCIBridge", "PCI "],
        ],
        what: "`lstopo` in text form",
        instead: "its XML: `lstopo machine.xml`",
    },
    KnownText {
        has: &[&["NCCL INFO"], &["RCCL version"]],
        what: "a log of NCCL without the topology tree",
        instead: "one with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=GRAPH; or the file of NCCL_TOPO_DUMP_FILE; or `nvidia-smi topo -m`",
    },
];

/// The kind of a text and what to use instead, if the text is of a known kind without a reader.
pub(super) fn advice(text: &str) -> Option<String> {
    advice_from(&OTHER_VENDORS, text).or_else(|| advice_from(&KNOWN, text))
}

/// The same, for tables of other vendors' devices. These are asked for before the readers of tables, which would take them
/// for damaged ones of their own.
pub(super) fn other_vendor(text: &str) -> Option<String> {
    advice_from(&OTHER_VENDORS, text)
}

fn advice_from(known: &[KnownText], text: &str) -> Option<String> {
    let is = |kind: &&KnownText| {
        let all = |parts: &&[&str]| parts.iter().all(|part| text.contains(part));
        kind.has.iter().any(all)
    };
    let KnownText { what, instead, .. } = known.iter().find(is)?;
    Some(format!("this is {what}: expected {instead}"))
}
