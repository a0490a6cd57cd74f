//! Patterns by their names in files. Jobs of one shape and size share one pattern, and with it the
//! tables that are computed for it.

use std::collections::BTreeMap;

use mapa_core::{Demand, Pattern, Shape};

/// The shape of a pattern's name in job files; `None` for `independent`, ranks that do not
/// communicate.
pub(super) fn shape(word: &str) -> Result<Option<Shape>, String> {
    if word.eq_ignore_ascii_case("independent") {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| {
        let known = Shape::ALL.map(|shape| shape.to_string()).join(", ");
        format!("`{word}`: expected {known} or independent")
    })
}

/// The name of a shape in job files.
pub(super) fn word(shape: Option<Shape>) -> String {
    shape.map_or_else(|| "independent".to_owned(), |shape| shape.to_string())
}

/// The first shape that gives this pattern, and the demand of its ranks. `None` if no shape does.
pub(super) fn shape_of(pattern: &Pattern) -> Option<(Option<Shape>, Demand)> {
    let demand = *pattern.demands().first()?;
    let mut shapes = Shape::ALL.into_iter().map(Some).chain([None]);
    let shape = shapes.find(|&shape| make(shape, pattern.len()).each(demand) == *pattern)?;
    Some((shape, demand))
}

fn make(shape: Option<Shape>, devices: usize) -> Pattern {
    shape.map_or_else(
        || Pattern::independent(devices),
        |shape| shape.pattern(devices),
    )
}

/// The patterns that were made so far.
#[derive(Default)]
pub(super) struct Patterns(BTreeMap<(String, usize, Demand), Pattern>);

impl Patterns {
    /// The pattern of this shape with this many ranks, each on a device of its own.
    pub(super) fn get(&mut self, shape: Option<Shape>, devices: usize) -> Pattern {
        self.with(shape, devices, Demand::default())
    }

    /// The pattern of this shape with this many ranks, each with this demand.
    pub(super) fn with(&mut self, shape: Option<Shape>, devices: usize, demand: Demand) -> Pattern {
        self.0
            .entry((word(shape), devices, demand))
            .or_insert_with(|| make(shape, devices).each(demand))
            .clone()
    }
}
