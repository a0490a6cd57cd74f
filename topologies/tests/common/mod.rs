//! What several tests share: how descriptions are read.

pub(crate) mod dumps;
pub(crate) mod isomorphism;
mod real_data;
pub(crate) mod told;

pub(crate) use real_data::real_data;

/// The rows of a table of facts, cell by cell, without comments and header.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').collect())
}
