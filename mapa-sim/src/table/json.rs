//! Tables as JSON.

use serde_json::{Map, Value, json};

use super::{Column, Table};

impl Table {
    /// As an array of objects, one a row. Empty cells are null, and so are numbers that JSON has no word for: NaN and infinities.
    /// O(cells x log(columns)).
    #[must_use]
    pub fn to_json(&self) -> Value {
        let object = |row| -> Map<String, Value> {
            self.columns.iter().map(|(name, column)| (name.clone(), cell(column, row))).collect()
        };
        Value::Array((0..self.rows()).map(|row| Value::Object(object(row))).collect())
    }
}

fn cell(column: &Column, row: usize) -> Value {
    match column {
        Column::Integers(cells) => json!(cells[row]),
        Column::Numbers(cells) => json!(cells[row]),
        Column::Texts(cells) => json!(cells[row]),
        Column::Flags(cells) => json!(cells[row]),
    }
}
