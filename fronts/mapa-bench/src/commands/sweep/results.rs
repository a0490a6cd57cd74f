//! The files of the results of a whole sweep.

use std::io::Write;
use std::path::{Path, PathBuf};

use mapa_front::answer::sweep::{RowsOf, SweepResults};
use mapa_front::answer::table::record;
#[cfg(feature = "parquet")]
use mapa_sim::ParquetWriter;
use mapa_sim::Table;

use mapa_cli::Failure;
use mapa_cli::files::WholeFile;

/// Writes tables below one another into a file of each format that this build has; returns the files written.
///
/// There may be a row for each job of a thousand cells: the tables are asked for one by one, and none is held.
pub(super) fn write(
    folder: &Path,
    of: RowsOf,
    tables: impl Iterator<Item = Result<Table, Failure>>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files: Option<ResultFiles> = None;
    for table in tables {
        let table = table?;
        match &mut files {
            Some(files) => files.append(&table)?,
            None => files = Some(ResultFiles::new(folder, of, &table)?),
        }
    }
    match files {
        Some(files) => files.finish(),
        // A sweep has a cell, so this is not reached; without a table there are no columns to name.
        None => Ok(Vec::new()),
    }
}

/// The drafts of the files of one kind of rows.
struct ResultFiles {
    csv: WholeFile,
    json: WholeFile,
    /// Whether the list of the JSON file has an element.
    has_rows: bool,
    #[cfg(feature = "parquet")]
    parquet: (PathBuf, ParquetWriter<WholeFile>),
}

impl ResultFiles {
    /// Drafts that begin with this table.
    fn new(folder: &Path, of: RowsOf, first: &Table) -> Result<Self, Failure> {
        let path = |extension: &str| folder.join(format!("{}.{extension}", of.file_name()));
        let (csv, mut json) = (WholeFile::at(&path("csv"))?, WholeFile::at(&path("json"))?);
        let head = json_head(of)?;
        put(&mut json, head.as_bytes())?;
        let mut files = Self {
            csv,
            json,
            has_rows: false,
            #[cfg(feature = "parquet")]
            parquet: parquet(path("parquet"), first)?,
        };
        first
            .write_csv(&mut files.csv)
            .map_err(|error| Failure::at(files.csv.path().display(), error))?;
        files.append_to_others(first)?;
        Ok(files)
    }

    /// Adds the rows of a table with the same columns.
    fn append(&mut self, table: &Table) -> Result<(), Failure> {
        table
            .write_csv_rows(&mut self.csv)
            .map_err(|error| Failure::at(self.csv.path().display(), error))?;
        self.append_to_others(table)
    }

    /// Adds the rows to the formats whose files begin alike whatever the columns are.
    fn append_to_others(&mut self, table: &Table) -> Result<(), Failure> {
        for row in 0..table.rows() {
            if self.has_rows {
                put(&mut self.json, b",")?;
            }
            self.has_rows = true;
            serde_json::to_writer(&mut self.json, &record(table, row))
                .map_err(|error| Failure::at(self.json.path().display(), error))?;
        }
        #[cfg(feature = "parquet")]
        {
            let (path, parquet) = &mut self.parquet;
            parquet
                .append(table)
                .map_err(|error| Failure::at(path.display(), error))?;
        }
        Ok(())
    }

    /// Puts the drafts in the places of the files, which a reader has as they were until then, or whole.
    fn finish(self) -> Result<Vec<PathBuf>, Failure> {
        let Self { csv, mut json, .. } = self;
        put(&mut json, b"]}\n")?;
        let files = [
            csv,
            json,
            #[cfg(feature = "parquet")]
            {
                let (path, parquet) = self.parquet;
                parquet
                    .finish()
                    .map_err(|error| Failure::at(path.display(), error))?
            },
        ];
        let mut written = Vec::new();
        for file in files {
            let path = file.path().to_owned();
            file.finish()?;
            written.push(path);
        }
        Ok(written)
    }
}

#[cfg(feature = "parquet")]
fn parquet(path: PathBuf, columns: &Table) -> Result<(PathBuf, ParquetWriter<WholeFile>), Failure> {
    let writer = ParquetWriter::new(WholeFile::at(&path)?, columns);
    let writer = writer.map_err(|error| Failure::at(path.display(), error))?;
    Ok((path, writer))
}

/// The JSON file up to its rows, which are the last of its keys.
fn json_head(of: RowsOf) -> Result<String, Failure> {
    let empty = SweepResults::new(of, &Table::default(), env!("CARGO_PKG_VERSION"));
    let mut text = serde_json::to_string(&empty).map_err(Failure::malformed)?;
    // The end of the empty list and of the object: `finish` writes it behind the rows.
    text.truncate(text.len().saturating_sub("]}".len()));
    Ok(text)
}

fn put(file: &mut WholeFile, bytes: &[u8]) -> Result<(), Failure> {
    let written = file.write_all(bytes);
    written.map_err(|error| Failure::at(file.path().display(), error))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use mapa_sim::Column;

    use super::*;

    fn rows(from: i64) -> Table {
        let cells = (from..from + 10).map(Some).collect();
        Table::new([("cell", Column::Integers(cells))]).unwrap()
    }

    #[test]
    fn a_table_is_written_before_the_next_is_made_and_the_old_file_stays_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rows.csv"), "old").unwrap();
        let longest_draft = || {
            let drafts = fs::read_dir(folder.path()).unwrap();
            let drafts = drafts.map(|entry| entry.unwrap().path());
            let drafts = drafts.filter(|path| path.extension().is_some_and(|end| end == "draft"));
            let lines = drafts.map(|path| fs::read(path).unwrap());
            let lines = lines.map(|bytes| bytes.iter().filter(|&&byte| byte == b'\n').count());
            lines.max().unwrap_or_default()
        };
        let tables = (0..50).map(|piece| {
            if piece > 0 {
                assert_eq!(longest_draft(), 1 + 10 * piece as usize, "before {piece}");
            }
            let old = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
            assert_eq!(old, "old");
            Ok(rows(10 * piece))
        });
        let written = write(folder.path(), RowsOf::Jobs, tables).unwrap();
        let mut whole = Table::default();
        (0..50).for_each(|piece| whole.append(&rows(10 * piece)).unwrap());
        let json = SweepResults::new(RowsOf::Jobs, &whole, env!("CARGO_PKG_VERSION"));
        let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(read("rows.csv"), whole.to_csv().unwrap());
        assert_eq!(
            read("rows.json"),
            serde_json::to_string(&json).unwrap() + "\n"
        );
        #[cfg(feature = "parquet")]
        assert_eq!(
            fs::read(folder.path().join("rows.parquet")).unwrap(),
            whole.to_parquet().unwrap()
        );
        // No draft is left beside the files.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), written.len());
    }
}
