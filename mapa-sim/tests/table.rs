//! Tables, and what becomes of them in files.

use bytes::Bytes;
use mapa_sim::{Column, ParquetWriter, Table};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;

fn example() -> Table {
    Table::new([
        (
            "job",
            Column::Integers(vec![Some(-1), None, Some(i64::MAX)]),
        ),
        (
            "wait_s",
            Column::Numbers(vec![Some(0.1), Some(1e300), None]),
        ),
        (
            "task",
            Column::Texts(vec![
                Some("a, \"b\"\nc".to_owned()),
                None,
                Some("ü".to_owned()),
            ]),
        ),
        (
            "sensitive",
            Column::Flags(vec![None, Some(true), Some(false)]),
        ),
    ])
    .unwrap()
}

#[test]
fn csv_has_a_line_of_names_and_quotes_what_needs_it() {
    let lines = "job,wait_s,task,sensitive\n-1,0.1,\"a, \"\"b\"\"\nc\",\n,1e300,,true\n9223372036854775807,,ü,false\n";
    assert_eq!(example().to_csv().unwrap(), lines);
}

#[test]
fn json_is_an_object_a_row_with_null_for_what_is_not_there() {
    let table = example()
        .with(
            "odd",
            Column::Numbers(vec![Some(f64::NAN), Some(f64::INFINITY), Some(-0.5)]),
        )
        .unwrap();
    let expected = serde_json::json!([
        { "job": -1, "wait_s": 0.1, "task": "a, \"b\"\nc", "sensitive": null, "odd": null },
        { "job": null, "wait_s": 1e300, "task": null, "sensitive": true, "odd": null },
        { "job": i64::MAX, "wait_s": null, "task": "ü", "sensitive": false, "odd": -0.5 },
    ]);
    assert_eq!(table.to_json(), expected);
}

/// The cells of a Parquet file, row by row, as the library reads them.
fn read(bytes: Vec<u8>) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().into_columns())
        .collect()
}

fn fields(table: &Table) -> Vec<Vec<(String, Field)>> {
    let cell = |column: &Column, row: usize| match column {
        Column::Integers(cells) => cells[row].map_or(Field::Null, Field::Long),
        Column::Numbers(cells) => cells[row].map_or(Field::Null, Field::Double),
        Column::Texts(cells) => cells[row].clone().map_or(Field::Null, Field::Str),
        Column::Flags(cells) => cells[row].map_or(Field::Null, Field::Bool),
        _ => unreachable!("no further kinds"),
    };
    let row = |row| {
        table
            .columns()
            .iter()
            .map(|(name, column)| (name.clone(), cell(column, row)))
            .collect()
    };
    (0..table.rows()).map(row).collect()
}

#[test]
fn parquet_reads_back_to_the_same_cells_and_the_same_table_gives_the_same_bytes() {
    let bytes = example().to_parquet().unwrap();
    assert_eq!(read(bytes.clone()), fields(&example()));
    assert_eq!(bytes, example().to_parquet().unwrap());
}

/// Numbered rows, with a text that needs quotes now and then.
fn numbered(rows: std::ops::Range<usize>) -> Table {
    let texts = rows.clone().map(|row| match row % 3 {
        0 => None,
        1 => Some(format!("a, \"{row}\"")),
        _ => Some(row.to_string()),
    });
    Table::new([
        (
            "job",
            Column::Integers(rows.map(|row| Some(row as i64)).collect()),
        ),
        ("task", Column::Texts(texts.collect())),
    ])
    .unwrap()
}

#[test]
fn pieces_below_one_another_are_the_file_of_the_whole() {
    let pieces = [
        numbered(0..0),
        numbered(0..2),
        numbered(2..2),
        numbered(2..7),
    ];
    let mut csv = Vec::new();
    let mut parquet = ParquetWriter::new(Vec::new(), &pieces[1]).unwrap();
    for (at, piece) in pieces.iter().enumerate() {
        if at == 0 {
            piece.write_csv(&mut csv).unwrap();
        } else {
            piece.write_csv_rows(&mut csv).unwrap();
        }
        parquet.append(piece).unwrap();
    }
    let whole = numbered(0..7);
    assert_eq!(String::from_utf8(csv).unwrap(), whole.to_csv().unwrap());
    assert_eq!(parquet.finish().unwrap(), whole.to_parquet().unwrap());
    // Without rows, too.
    let none = ParquetWriter::new(Vec::new(), &whole).unwrap();
    assert_eq!(none.finish().unwrap(), numbered(0..0).to_parquet().unwrap());
    let mut other = ParquetWriter::new(Vec::new(), &whole).unwrap();
    assert!(other.append(&example()).is_err());
}

#[test]
fn a_long_parquet_file_has_several_groups_and_all_rows() {
    let rows = ParquetWriter::<Vec<u8>>::ROWS;
    let mut parquet = ParquetWriter::new(Vec::new(), &numbered(0..0)).unwrap();
    // The first piece lacks a row for a group.
    for piece in [0..rows - 1, rows - 1..2 * rows, 2 * rows..2 * rows + 2] {
        parquet.append(&numbered(piece)).unwrap();
    }
    let bytes = parquet.finish().unwrap();
    let reader = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    let groups = reader.metadata().row_groups().iter();
    let groups: Vec<i64> = groups.map(|group| group.num_rows()).collect();
    assert_eq!(groups, [2 * rows as i64, 2]);
    assert_eq!(read(bytes), fields(&numbered(0..2 * rows + 2)));
}

#[test]
fn tables_without_rows_or_columns_are_files_too() {
    let none = Table::default();
    assert_eq!(
        (none.rows(), none.to_csv().unwrap(), none.to_json()),
        (0, String::new(), serde_json::json!([]))
    );
    let empty = Table::new([
        ("a", Column::Texts(Vec::new())),
        ("b", Column::Flags(Vec::new())),
    ])
    .unwrap();
    assert_eq!(
        (empty.rows(), empty.to_csv().unwrap()),
        (0, "a,b\n".to_owned())
    );
    for table in [none, empty] {
        assert_eq!(read(table.to_parquet().unwrap()).len(), 0);
    }
}

#[test]
fn columns_of_other_lengths_and_names_that_are_there_are_refused() {
    let table = Table::new([("a", Column::Flags(vec![None, None]))]).unwrap();
    let shorter = table
        .clone()
        .with("b", Column::Integers(vec![Some(1)]))
        .unwrap_err();
    assert_eq!(
        shorter.to_string(),
        "table: column `b` has 1 cells: expected 2, as the columns before it"
    );
    let again = table
        .with("a", Column::Flags(vec![None, None]))
        .unwrap_err();
    assert_eq!(
        again.to_string(),
        "table: column `a` occurs twice: expected different names"
    );
}

#[test]
fn rows_are_added_below_if_the_columns_are_the_same() {
    let mut twice = Table::default();
    twice.append(&example()).unwrap();
    twice.append(&example()).unwrap();
    assert_eq!(twice.rows(), 6);
    assert_eq!(fields(&twice)[3..], fields(&example()));
    let kept = twice.clone();
    let other = Table::new([("job", Column::Texts(vec![None]))]).unwrap();
    let message = twice.append(&other).unwrap_err().to_string();
    let expected = "table: rows of other columns: expected job (integers), wait_s (numbers), task (texts), \
                    sensitive (flags), got job (texts)";
    assert_eq!(message, expected);
    assert_eq!(twice, kept);
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

proptest! {
    #[test]
    fn numbers_read_back_to_the_same_bits(numbers in prop::collection::vec(prop::option::of(prop::num::f64::ANY), 1..20)) {
        let beside = Column::Flags(vec![None; numbers.len()]);
        let table = Table::new([("x", Column::Numbers(numbers.clone())), ("y", beside)]).unwrap();
        let text = table.to_csv().unwrap();
        for (line, number) in text.lines().skip(1).zip(&numbers) {
            let cell = line.strip_suffix(',').unwrap();
            match number {
                None => prop_assert_eq!(cell, ""),
                Some(number) => prop_assert!(same(cell.parse().unwrap(), *number), "{cell} {number:?}"),
            }
        }
        for (row, number) in read(table.to_parquet().unwrap()).iter().zip(&numbers) {
            match (&row[0].1, number) {
                (Field::Null, None) => {}
                (Field::Double(cell), Some(number)) => prop_assert!(same(*cell, *number)),
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn texts_of_any_kind_stay_one_cell_of_a_csv(texts in prop::collection::vec(any::<String>(), 1..20)) {
        let cells = Column::Texts(texts.iter().cloned().map(Some).collect());
        let table = Table::new([("text", cells), ("n", Column::Integers(vec![Some(7); texts.len()]))]).unwrap();
        let text = table.to_csv().unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let read: Vec<String> = reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
        prop_assert_eq!(read, texts);
    }
}
