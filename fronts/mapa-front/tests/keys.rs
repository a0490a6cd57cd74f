//! Keys of answers: each is explained in its schema, and tables keep the kinds of their cells.

use mapa_front::answer::table::records;
use mapa_front::answer::{defrag, fit, nccl, pattern, sensitivity, simulate, sweep};
use mapa_sim::{Column, Table};
use schemars::schema_for;
use serde_json::{Value, json};

use crate::explained::unexplained;

#[test]
fn every_key_of_an_answer_is_explained_in_its_schema() {
    let schemas = [
        schema_for!(defrag::Defrag),
        schema_for!(fit::Fit),
        schema_for!(nccl::NcclPattern),
        schema_for!(pattern::Pattern),
        schema_for!(sensitivity::PublishedSensitivity),
        schema_for!(sensitivity::Sensitivity),
        schema_for!(simulate::Simulate),
        schema_for!(sweep::Sweep),
        schema_for!(sweep::SweepCells),
        schema_for!(sweep::SweepResults),
    ];
    let mut found = Vec::new();
    for schema in &schemas {
        let title = schema.get("title").and_then(Value::as_str).unwrap();
        assert!(
            unexplained(schema.as_value(), title, &mut found) > 1,
            "{title}"
        );
    }
    assert_eq!(found, Vec::<String>::new());
    let bare = json!({ "properties": { "gbps": { "type": "number" } } });
    unexplained(&bare, "planted", &mut found);
    assert_eq!(found, ["planted.gbps"]);
}

#[test]
fn rows_keep_integers_and_have_null_where_there_is_no_finite_number() {
    let table = Table::new([
        (
            "wait_s",
            Column::Numbers(vec![Some(1.0), Some(f64::NAN), None]),
        ),
        ("job", Column::Integers(vec![Some(1), None, Some(3)])),
        ("task", Column::Texts(vec![Some("bert".into()), None, None])),
        ("sensitive", Column::Flags(vec![Some(true), None, None])),
    ])
    .unwrap();
    let rows = serde_json::to_string(&records(&table)).unwrap();
    assert_eq!(
        rows,
        r#"[{"job":1,"sensitive":true,"task":"bert","wait_s":1.0},{"job":null,"sensitive":null,"task":null,"wait_s":null},{"job":3,"sensitive":null,"task":null,"wait_s":null}]"#
    );
    assert_eq!(
        serde_json::to_value(records(&table)).unwrap(),
        table.to_json()
    );
}
