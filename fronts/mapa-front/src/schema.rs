//! The JSON Schema of every answer.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::answer::{
    Malformed, Refusal, Versioned, allocate, compare, contention, defrag, fit, machines, matches,
    mig, pattern, profile, report, score, sensitivity, simulate, sweep, topology, workers,
};

/// An answer: the name of its schema, and the schema.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AnswerSchema {
    /// The name of its file in `docs/schema`, without the ending.
    pub name: &'static str,
    make: fn() -> Schema,
}

impl AnswerSchema {
    const fn of<T: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            make: closed::<Versioned<T>>,
        }
    }

    /// The schema (JSON Schema, 2020-12). It allows no key that it does not name, but for objects
    /// whose keys are data, such as the scores of a placement.
    #[must_use]
    pub fn schema(&self) -> Schema {
        (self.make)()
    }
}

/// Every answer, in the order of the alphabet.
pub const ANSWERS: [AnswerSchema; 28] = [
    AnswerSchema::of::<allocate::Allocation>("allocate"),
    AnswerSchema::of::<allocate::Line>("allocate-batch"),
    AnswerSchema::of::<compare::Comparison>("compare"),
    AnswerSchema::of::<contention::Contention>("contention"),
    AnswerSchema::of::<defrag::Defrag>("defrag"),
    AnswerSchema::of::<Malformed>("error"),
    AnswerSchema::of::<fit::Fit>("fit"),
    AnswerSchema::of::<machines::Catalogue>("machines"),
    AnswerSchema::of::<matches::MatchesOnMachine>("match"),
    AnswerSchema::of::<matches::MatchesInGraph>("match-files"),
    AnswerSchema::of::<mig::Gpus>("mig"),
    AnswerSchema::of::<mig::Fit>("mig-fit"),
    AnswerSchema::of::<mig::Partitions>("mig-gpu"),
    AnswerSchema::of::<pattern::Pattern>("pattern"),
    AnswerSchema::of::<profile::Profile>("profile"),
    AnswerSchema::of::<machines::Read>("read"),
    AnswerSchema::of::<Refusal>("refusal"),
    AnswerSchema::of::<report::Report>("reproduce"),
    AnswerSchema::of::<report::Experiments>("reproduce-list"),
    AnswerSchema::of::<score::Score>("score"),
    AnswerSchema::of::<sensitivity::Sensitivity>("sensitivity"),
    AnswerSchema::of::<sensitivity::PublishedSensitivity>("sensitivity-published"),
    AnswerSchema::of::<simulate::Simulate>("simulate"),
    AnswerSchema::of::<sweep::Sweep>("sweep"),
    AnswerSchema::of::<sweep::SweepCells>("sweep-list"),
    AnswerSchema::of::<topology::Topology>("topo"),
    AnswerSchema::of::<workers::Copies>("workers-copy"),
    AnswerSchema::of::<workers::Replay>("workers-replay"),
];

/// The schema of an answer that allows no other keys.
fn closed<T: JsonSchema>() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    // Keys of flattened parts stand beside those of the answer, so they are counted together.
    schema.insert("unevaluatedProperties".to_owned(), false.into());
    schema
}
