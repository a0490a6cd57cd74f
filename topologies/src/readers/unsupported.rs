//! Texts that are known and not read, with what to give instead.

/// What this text is and what to give instead, if it is one of those that are known and not read.
pub(super) fn advice(text: &str) -> Option<String> {
    let has = |part: &str| text.contains(part);
    if has("NVIDIA-SMI has failed") || has("Failed to initialize NVML") || has("nvidia-smi: command not found") {
        return Some(
            "this is an error message of nvidia-smi, not its output: expected that of a working driver".to_owned(),
        );
    }
    let (what, instead) = if has("NVIDIA-SMI ") && has("Driver Version") {
        ("`nvidia-smi` without options, which says nothing of links", "`nvidia-smi topo -m`")
    } else if has("==============NVSMI LOG==============") {
        ("`nvidia-smi -q`, which says nothing of links", "`nvidia-smi topo -m`")
    } else if has("VGA compatible controller") || has("3D controller") {
        ("`lspci`, which says nothing of direct links", "`nvidia-smi topo -m`, or `lstopo machine.xml`")
    } else if text.trim_start().starts_with("Machine (") && has("NUMANode") {
        ("`lstopo` in text form", "its XML: `lstopo machine.xml`")
    } else if has("ROCm System Management Interface") || has("Concise Info") {
        ("`rocm-smi` without its topology", "`rocm-smi --showtopo`")
    } else if has("HSA Agents") || has("HSA System Attributes") {
        ("`rocminfo`, which says nothing of links", "`rocm-smi --showtopo` or `amd-smi topology`")
    } else if has("<nvidia_smi_log>") {
        ("`nvidia-smi -q -x`, which says nothing of links", "`nvidia-smi topo -m`")
    } else if has("<graphs") || has("<graphml") {
        ("a graph without a machine", "a machine file, or one of the vendors' outputs")
    } else if has("num_gpus:") && has("bandwidth_per_link_mbps") || has("pcie_topology:") {
        ("a profile of NVIDIA's NVML mock", "what the mock prints: `nvidia-smi topo -m`")
    } else if has("npu-smi") || has("HCCS") {
        ("`npu-smi` of Ascend devices", "a machine file")
    } else {
        return None;
    };
    Some(format!("this is {what}: expected {instead}"))
}
