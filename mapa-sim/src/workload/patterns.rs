//! Patterns by their words. Jobs of one shape and size share one pattern, and so what is worked out for it.

use std::collections::BTreeMap;

use mapa_core::{Demand, Pattern, Shape};

/// What job files call patterns: [`Shape`]s, and `independent` for ranks that do not talk, which is `None`.
pub(super) fn shape(word: &str) -> Result<Option<Shape>, String> {
    if word.eq_ignore_ascii_case("independent") {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| {
        let known = Shape::ALL.map(|shape| shape.to_string()).join(", ");
        format!("`{word}`: expected {known} or independent")
    })
}

/// The word of a shape.
pub(super) fn word(shape: Option<Shape>) -> String {
    shape.map_or_else(|| "independent".to_owned(), |shape| shape.to_string())
}

/// The first word that means this pattern, if one does, and what all of its ranks need.
pub(super) fn word_of(pattern: &Pattern) -> Option<(String, Demand)> {
    let demand = *pattern.demands().first()?;
    let is = |shape: &Option<Shape>| make(*shape, pattern.len()).each(demand) == *pattern;
    let shapes = Shape::ALL.into_iter().map(Some).chain([None]);
    shapes.into_iter().find(is).map(|shape| (word(shape), demand))
}

fn make(shape: Option<Shape>, devices: usize) -> Pattern {
    shape.map_or_else(|| Pattern::independent(devices), |shape| shape.pattern(devices))
}

/// Patterns that were made already.
#[derive(Default)]
pub(super) struct Patterns(BTreeMap<(String, usize, Demand), Pattern>);

impl Patterns {
    /// The pattern of this shape with so many ranks on devices of their own.
    pub(super) fn get(&mut self, shape: Option<Shape>, devices: usize) -> Pattern {
        self.with(shape, devices, Demand::default())
    }

    /// The same where every rank needs this.
    pub(super) fn with(&mut self, shape: Option<Shape>, devices: usize, demand: Demand) -> Pattern {
        let make = || make(shape, devices).each(demand);
        self.0.entry((word(shape), devices, demand)).or_insert_with(make).clone()
    }
}
