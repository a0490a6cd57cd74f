//! The kinds of parallelism, and the names of settings that set their degrees.

/// The kind of parallelism of a degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Axis {
    Tensor,
    Pipeline,
    Data,
    Context,
    Expert,
    /// Not a degree: the number of ranks that a launcher starts.
    Ranks,
}

impl Axis {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tp",
            Self::Pipeline => "pp",
            Self::Data => "dp",
            Self::Context => "cp",
            Self::Expert => "ep",
            Self::Ranks => "ranks",
        }
    }

    /// The axis that a setting with this name sets, such as `tensor_model_parallel_size`; none if
    /// the setting is unknown.
    pub(super) fn of(setting: &str) -> Option<Self> {
        let setting = setting.trim_start_matches('-').replace('-', "_");
        Some(match setting.as_str() {
            "tensor_model_parallel_size"
            | "tensor_parallel_size"
            | "tp_size"
            | "autotp_size"
            | "mp_size"
            | "model_parallel_size" => Self::Tensor,
            "pipeline_model_parallel_size"
            | "pipeline_parallel_size"
            | "pipe_parallel_size"
            | "pp_size"
            | "num_stages" => Self::Pipeline,
            "data_parallel_size" | "dp_size" => Self::Data,
            "context_parallel_size" | "cp_size" => Self::Context,
            "expert_model_parallel_size" | "expert_parallel_size" | "ep_size" => Self::Expert,
            "nproc_per_node" | "num_gpus" | "num_processes" => Self::Ranks,
            _ => return None,
        })
    }
}
