//! The files of the results of a whole sweep.

use std::path::{Path, PathBuf};

use mapa_front::answer::sweep::{RowsOf, SweepResults};
use mapa_front::commands::SweepTables;
use mapa_sim::Table;

use mapa_cli::Failure;
use mapa_cli::files::write_whole;

/// Writes the results of a sweep into this folder; returns the files written.
pub(super) fn write(folder: &Path, tables: &SweepTables) -> Result<Vec<PathBuf>, Failure> {
    let mut written = write_table(folder, RowsOf::Cells, &tables.cells)?;
    if let Some(jobs) = &tables.jobs {
        written.extend(write_table(folder, RowsOf::Jobs, jobs)?);
    }
    Ok(written)
}

/// Writes a table in every format that this build has.
fn write_table(folder: &Path, of: RowsOf, table: &Table) -> Result<Vec<PathBuf>, Failure> {
    let about = SweepResults::new(of, table, env!("CARGO_PKG_VERSION"));
    let csv = table.to_csv().map_err(Failure::malformed)?;
    let json = serde_json::to_string(&about).map_err(Failure::malformed)? + "\n";
    let files = [
        ("csv", csv.into_bytes()),
        ("json", json.into_bytes()),
        #[cfg(feature = "parquet")]
        ("parquet", table.to_parquet().map_err(Failure::malformed)?),
    ];
    let mut written = Vec::new();
    for (extension, bytes) in files {
        let path = folder.join(format!("{}.{extension}", of.file_name()));
        // A reader has the old file or the new one, never part of one.
        write_whole(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}
