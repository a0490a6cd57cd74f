//! Names that several modules of this reader recognise.

use super::expr::Expr;

/// The variable that stands for the device selected by `cudaSetDevice`.
pub(super) const DEVICE: &str = "(current device)";

/// The part of a name after the last dot or colon.
pub(super) fn last(call: &str) -> &str {
    call.rsplit(['.', ':']).next().unwrap_or(call)
}

/// Whether a call creates a Cartesian grid of MPI.
pub(super) fn is_grid(call: &str) -> bool {
    matches!(last(call), "MPI_Cart_create" | "Create_cart")
}

/// Whether a value is a call that creates a communicator or group with some of the ranks.
pub(super) fn is_split(value: &Expr) -> bool {
    const SPLITS: [&str; 12] = [
        "MPI_Comm_split",
        "MPI_Comm_split_type",
        "MPI_Comm_create",
        "MPI_Cart_sub",
        "ncclCommSplit",
        "Split",
        "Split_type",
        "Create",
        "Create_group",
        "Sub",
        "new_group",
        "new_subgroups",
    ];
    matches!(value, Expr::Call(call, _) if SPLITS.contains(&last(call)))
}
