//! Tables as JSON.

use serde_json::{Map, Value};

use super::{Column, Table};

impl Table {
    /// The table as an array of objects, one for each row. Empty cells are null. NaN and infinities
    /// are null too, as JSON cannot write them. O(cells x log(columns)).
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut rows = Vec::with_capacity(self.rows());
        for row in 0..self.rows() {
            let columns = self.columns.iter();
            let object: Map<String, Value> = columns
                .map(|(name, column)| (name.clone(), cell(column, row)))
                .collect();
            rows.push(Value::Object(object));
        }
        Value::Array(rows)
    }
}

fn cell(column: &Column, row: usize) -> Value {
    match column {
        Column::Integers(cells) => cells[row].into(),
        Column::Numbers(cells) => cells[row].into(),
        Column::Texts(cells) => cells[row].clone().into(),
        Column::Flags(cells) => cells[row].into(),
    }
}
