//! What each fuzz target does with its input, as plain functions: libFuzzer calls them in `fuzz/`, and the test of this crate
//! replays by them what was found. [`TARGETS`] has all.
//!
//! A target panics, hangs or exceeds its memory if what its first line promises does not hold.

pub mod amd_smi_topology;
pub mod amd_smi_xgmi;
#[cfg(feature = "case")]
pub mod case_message;
#[cfg(feature = "case")]
pub mod case_requests;
#[cfg(feature = "case")]
pub mod case_segment;
#[cfg(feature = "case")]
pub mod case_socket;
pub mod coefficient_file;
pub mod copy_tests;
pub mod daemon_files;
pub mod efficiency_file;
#[cfg(feature = "energy")]
pub mod energy_prices;
#[cfg(feature = "energy")]
pub mod energy_weights;
pub mod fleet_snapshot;
mod folder;
pub mod graph_file;
pub mod hwloc;
mod input;
pub mod job_file;
pub mod kfd;
pub mod ledger_histories;
pub mod lspci;
mod machine;
pub mod machine_file;
pub mod measured_rows;
pub mod measurements_csv;
pub mod merge;
pub mod metrics;
pub mod mig_histories;
pub mod mig_parted;
pub mod mig_table;
pub mod nccl_graph;
pub mod nccl_log;
pub mod nccl_log_topology;
pub mod nccl_tests;
pub mod nccl_topology;
pub mod node_protocol;
pub mod nvidia_smi_list;
pub mod nvidia_smi_mig;
pub mod nvidia_smi_nvlink;
pub mod nvidia_smi_p2p;
pub mod nvidia_smi_topo;
pub mod nvlink_counters;
pub mod nvml_state;
pub mod optimum;
pub mod pattern_file;
pub mod pcie_counters;
pub mod policies;
pub mod profiles;
pub mod requests;
pub mod rocm_smi;
mod scanned;
pub mod schedules;
pub mod settings;
#[cfg(feature = "slo")]
pub mod slo_log;
pub mod slurm_gres;
pub mod snapshot;
pub mod source_c;
pub mod source_python;
pub mod source_shell;
mod systems;
pub mod trace;

/// A target: its name, which is that of its file, of its program and of its folders of inputs; and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, by name.
pub const TARGETS: &[Target] = &[
    ("amd_smi_topology", amd_smi_topology::run),
    ("amd_smi_xgmi", amd_smi_xgmi::run),
    #[cfg(feature = "case")]
    ("case_message", case_message::run),
    #[cfg(feature = "case")]
    ("case_requests", case_requests::run),
    #[cfg(feature = "case")]
    ("case_segment", case_segment::run),
    #[cfg(feature = "case")]
    ("case_socket", case_socket::run),
    ("coefficient_file", coefficient_file::run),
    ("copy_tests", copy_tests::run),
    ("daemon_files", daemon_files::run),
    ("efficiency_file", efficiency_file::run),
    #[cfg(feature = "energy")]
    ("energy_prices", energy_prices::run),
    #[cfg(feature = "energy")]
    ("energy_weights", energy_weights::run),
    ("fleet_snapshot", fleet_snapshot::run),
    ("graph_file", graph_file::run),
    ("hwloc", hwloc::run),
    ("job_file", job_file::run),
    ("kfd", kfd::run),
    ("ledger_histories", ledger_histories::run),
    ("lspci", lspci::run),
    ("machine_file", machine_file::run),
    ("measured_rows", measured_rows::run),
    ("measurements_csv", measurements_csv::run),
    ("merge", merge::run),
    ("metrics", metrics::run),
    ("mig_histories", mig_histories::run),
    ("mig_parted", mig_parted::run),
    ("mig_table", mig_table::run),
    ("nccl_graph", nccl_graph::run),
    ("nccl_log", nccl_log::run),
    ("nccl_log_topology", nccl_log_topology::run),
    ("nccl_tests", nccl_tests::run),
    ("nccl_topology", nccl_topology::run),
    ("node_protocol", node_protocol::run),
    ("nvidia_smi_list", nvidia_smi_list::run),
    ("nvidia_smi_mig", nvidia_smi_mig::run),
    ("nvidia_smi_nvlink", nvidia_smi_nvlink::run),
    ("nvidia_smi_p2p", nvidia_smi_p2p::run),
    ("nvidia_smi_topo", nvidia_smi_topo::run),
    ("nvlink_counters", nvlink_counters::run),
    ("nvml_state", nvml_state::run),
    ("optimum", optimum::run),
    ("pattern_file", pattern_file::run),
    ("pcie_counters", pcie_counters::run),
    ("policies", policies::run),
    ("profiles", profiles::run),
    ("requests", requests::run),
    ("rocm_smi", rocm_smi::run),
    ("schedules", schedules::run),
    ("settings", settings::run),
    #[cfg(feature = "slo")]
    ("slo_log", slo_log::run),
    ("slurm_gres", slurm_gres::run),
    ("snapshot", snapshot::run),
    ("source_c", source_c::run),
    ("source_python", source_python::run),
    ("source_shell", source_shell::run),
    ("trace", trace::run),
];
