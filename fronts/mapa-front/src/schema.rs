//! The JSON Schema of every answer.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::answer::{
    Malformed, Refusal, Versioned, allocate, compare, defrag, machines, mapa, matches, mig, node,
    score, topology,
};
#[cfg(feature = "regress")]
use crate::answer::{fit, measured};
#[cfg(feature = "patterns")]
use crate::answer::{pattern, sensitivity};
#[cfg(feature = "sim")]
use crate::answer::{report, simulate, sweep};
use crate::drive_log::{RecordLine, ReplayedDrive};

/// An answer: the name of its schema, and the schema.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AnswerSchema {
    /// The name of its file in `docs/schema`, or in that folder of its system, without the ending.
    pub name: &'static str,
    make: fn() -> Schema,
}

impl AnswerSchema {
    /// The schema of an answer, with its version.
    #[must_use]
    pub const fn of<T: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            make: closed::<Versioned<T>>,
        }
    }

    /// The schema of a line of a file, which has no version of its own.
    #[must_use]
    pub const fn lines<T: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            make: closed::<T>,
        }
    }

    /// The schema (JSON Schema, 2020-12). It allows no key that it does not name, but for objects
    /// whose keys are data, such as the scores of a placement.
    #[must_use]
    pub fn schema(&self) -> Schema {
        (self.make)()
    }
}

/// Every answer that this build of the crate has, in the order of the alphabet. Those of systems' commands are with these.
pub const ANSWERS: &[AnswerSchema] = &[
    AnswerSchema::of::<allocate::Allocation>("allocate"),
    AnswerSchema::of::<allocate::Line>("allocate-batch"),
    AnswerSchema::of::<compare::Comparison>("compare"),
    AnswerSchema::of::<defrag::Defrag>("defrag"),
    AnswerSchema::lines::<RecordLine>("drive-record"),
    AnswerSchema::of::<ReplayedDrive>("drive-replay"),
    AnswerSchema::of::<Malformed>("error"),
    #[cfg(feature = "regress")]
    AnswerSchema::of::<fit::Fit>("fit"),
    AnswerSchema::of::<machines::Catalogue>("machines"),
    AnswerSchema::of::<mapa::Cordoned>("mapa-cordon"),
    AnswerSchema::of::<mapa::Free>("mapa-free"),
    AnswerSchema::of::<mapa::Audit>("mapa-log"),
    AnswerSchema::of::<mapa::Ps>("mapa-ps"),
    AnswerSchema::of::<mapa::Recovered>("mapa-recover"),
    AnswerSchema::of::<mapa::Released>("mapa-release"),
    AnswerSchema::of::<mapa::RunAnswer>("mapa-run"),
    AnswerSchema::of::<mapa::Tenants>("mapa-tenants"),
    AnswerSchema::of::<mapa::Uncordoned>("mapa-uncordon"),
    AnswerSchema::of::<matches::MatchesOnMachine>("match"),
    AnswerSchema::of::<matches::MatchesInGraph>("match-files"),
    #[cfg(feature = "regress")]
    AnswerSchema::of::<measured::Added>("measured-add"),
    AnswerSchema::of::<mig::Gpus>("mig"),
    AnswerSchema::of::<mig::Fit>("mig-fit"),
    AnswerSchema::of::<mig::Partitions>("mig-gpu"),
    #[cfg(feature = "parted")]
    AnswerSchema::of::<mig::Parted>("mig-parted"),
    AnswerSchema::lines::<node::SocketAnswer>("node-answer"),
    AnswerSchema::lines::<node::Diagnosis>("node-doctor"),
    AnswerSchema::lines::<node::NodeQuery>("node-query"),
    #[cfg(feature = "patterns")]
    AnswerSchema::of::<pattern::Pattern>("pattern"),
    AnswerSchema::of::<machines::Read>("read"),
    AnswerSchema::of::<Refusal>("refusal"),
    #[cfg(feature = "sim")]
    AnswerSchema::of::<report::Report>("reproduce"),
    #[cfg(feature = "sim")]
    AnswerSchema::of::<report::Experiments>("reproduce-list"),
    AnswerSchema::of::<score::Score>("score"),
    #[cfg(feature = "patterns")]
    AnswerSchema::of::<sensitivity::Sensitivity>("sensitivity"),
    #[cfg(feature = "patterns")]
    AnswerSchema::of::<sensitivity::PublishedSensitivity>("sensitivity-published"),
    #[cfg(feature = "sim")]
    AnswerSchema::of::<simulate::Simulate>("simulate"),
    #[cfg(feature = "sim")]
    AnswerSchema::of::<sweep::Sweep>("sweep"),
    #[cfg(feature = "sim")]
    AnswerSchema::of::<sweep::SweepCells>("sweep-list"),
    AnswerSchema::of::<topology::Topology>("topo"),
];

/// The schema of an answer that allows no other keys.
fn closed<T: JsonSchema>() -> Schema {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let mut value = schema.clone().to_value();
    let mut parts = BTreeSet::new();
    composed(&value, &mut parts);
    close(&mut value, &parts);
    // A schema with further keys is a schema still, so the conversion does not fail.
    value.try_into().unwrap_or(schema)
}

/// The keywords under which schemas are composed.
const COMPOSED: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Collects the definitions whose keys stand beside those of another object, since they are
/// flattened into it.
fn composed(schema: &Value, parts: &mut BTreeSet<String>) {
    if let Value::Object(object) = schema
        && object.contains_key("properties")
    {
        let lists = COMPOSED.iter().filter_map(|keyword| object.get(*keyword));
        for part in lists.filter_map(Value::as_array).flatten() {
            if let Some(name) = part.get("$ref").and_then(Value::as_str) {
                parts.insert(name.trim_start_matches("#/$defs/").to_owned());
            }
        }
    }
    match schema {
        Value::Object(object) => object.values().for_each(|value| composed(value, parts)),
        Value::Array(items) => items.iter().for_each(|value| composed(value, parts)),
        _ => {}
    }
}

/// Allows no other keys in any object but in `parts`: there, the object around them counts.
fn close(schema: &mut Value, parts: &BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::Object(definitions) if key == "$defs" => {
                        for (name, value) in definitions {
                            // A definition that is flattened into an object must stay open: it would refuse the keys
                            // of that object.
                            if !parts.contains(name) {
                                close(value, parts);
                            }
                        }
                    }
                    value => close(value, parts),
                }
            }
            if object
                .get("properties")
                .is_some_and(|keys| keys.is_object())
            {
                // `additionalProperties` would refuse the keys of the schemas that are composed with this one.
                object.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|value| close(value, parts)),
        _ => {}
    }
}
