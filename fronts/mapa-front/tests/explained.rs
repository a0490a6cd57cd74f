//! Keys of answers that their schemas do not explain. Tests of systems share it.

use serde_json::Value;

/// The paths of all properties below a schema that have no description, and the number of all.
pub(crate) fn unexplained(schema: &Value, path: &str, found: &mut Vec<String>) -> usize {
    let mut all = 0;
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, value) in properties {
            all += 1;
            if value.get("description").is_none() {
                found.push(format!("{path}.{key}"));
            }
        }
    }
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                all += unexplained(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for value in items {
                all += unexplained(value, path, found);
            }
        }
        _ => {}
    }
    all
}
