//! Recognises texts that have no reader, and names what to use instead.

/// The kind of a text and what to use instead, if the text is of a known kind without a reader.
pub(super) fn advice(text: &str) -> Option<String> {
    let has = |part: &str| text.contains(part);
    if has("NVIDIA-SMI has failed")
        || has("Failed to initialize NVML")
        || has("nvidia-smi: command not found")
    {
        return Some(
            "this is an error message of nvidia-smi: expected its output with a working driver"
                .to_owned(),
        );
    }
    let (what, instead) = if has("NVIDIA-SMI ") && has("Driver Version") {
        (
            "`nvidia-smi` without options, which does not describe links",
            "`nvidia-smi topo -m`",
        )
    } else if has("==============NVSMI LOG==============") {
        (
            "`nvidia-smi -q`, which does not describe links",
            "`nvidia-smi topo -m`",
        )
    } else if has("VGA compatible controller") || has("3D controller") {
        (
            "`lspci` without the speeds of links",
            "`sudo lspci -vv`, beside `nvidia-smi topo -m`; or `lstopo machine.xml`",
        )
    } else if text.trim_start().starts_with("Machine (") && has("NUMANode") {
        ("`lstopo` in text form", "its XML: `lstopo machine.xml`")
    } else if has("ROCm System Management Interface") || has("Concise Info") {
        ("`rocm-smi` without its topology", "`rocm-smi --showtopo`")
    } else if has("HSA Agents") || has("HSA System Attributes") {
        (
            "`rocminfo`, which does not describe links",
            "`rocm-smi --showtopo` or `amd-smi topology`",
        )
    } else if has("<nvidia_smi_log>") {
        (
            "`nvidia-smi -q -x`, which does not describe links",
            "`nvidia-smi topo -m`",
        )
    } else if has("<graphs") || has("<graphml") {
        (
            "a graph without a machine",
            "a machine file, or one of the vendors' outputs",
        )
    } else if has("num_gpus:") && has("bandwidth_per_link_mbps") || has("pcie_topology:") {
        (
            "a profile of NVIDIA's NVML mock",
            "what the mock prints: `nvidia-smi topo -m`",
        )
    } else if has("npu-smi") || has("HCCS") {
        ("`npu-smi` of Ascend devices", "a machine file")
    } else {
        return None;
    };
    Some(format!("this is {what}: expected {instead}"))
}
