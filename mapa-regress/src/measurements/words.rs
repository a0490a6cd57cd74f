//! Readers of words and numbers that all outputs of the benchmarks share.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// An error of a text, on this line if there is one.
pub(super) fn refused(line: impl Into<Option<usize>>, what: impl fmt::Display) -> Error {
    ErrorKind::BadFile {
        line: line.into(),
        what: what.to_string(),
    }
    .into()
}

/// Checks that a count of wrong results is 0; `N/A` stands for results that were not checked.
pub(super) fn none_wrong(count: &str) -> Result<(), String> {
    if matches!(count, "0" | "N/A" | "n/a") || count.parse::<f64>() == Ok(0.0) {
        return Ok(());
    }
    Err(format!("{count} wrong results: expected 0"))
}

/// A bus bandwidth in GB/s: `scale` times what is written; `None` for `N/A`.
pub(super) fn gbps(text: &str, scale: f64) -> Result<Option<f64>, String> {
    if text.eq_ignore_ascii_case("n/a") {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value * scale)),
        _ => Err(format!("`{text}`: expected a number of GB/s, not negative")),
    }
}

/// The collective that a program or a word means: `all_reduce` for `./build/all_reduce_perf`.
pub(super) fn collective(word: &str) -> String {
    let name = word
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(word)
        .to_ascii_lowercase();
    let name = ["_mpi", "_perf", "_test"]
        .iter()
        .fold(name.as_str(), |name, end| {
            name.strip_suffix(end).unwrap_or(name)
        });
    // rccl-tests call it by the name of the function.
    match name {
        "allreduce" => "all_reduce",
        "allgather" => "all_gather",
        "reducescatter" => "reduce_scatter",
        "alltoall" | "all_to_all" => "alltoall",
        name => name,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_called_by_their_collective() {
        let names = [
            "./build/all_reduce_perf",
            "all_reduce_perf_mpi",
            "AllReduce",
            "sendrecv_perf",
            "all_reduce_test",
        ];
        assert_eq!(
            names.map(collective),
            [
                "all_reduce",
                "all_reduce",
                "all_reduce",
                "sendrecv",
                "all_reduce"
            ]
        );
    }
}
