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

/// The most edges of all patterns of a file together. One of a thousand ranks that all send to all has half a million, so
/// that a short file could name more than there is memory for.
const MOST_EDGES: usize = 4_000_000;

/// The patterns that were made so far.
#[derive(Default)]
pub(super) struct Patterns {
    made: BTreeMap<(String, usize, Demand), Pattern>,
    edges: usize,
}

impl Patterns {
    /// The pattern of this shape with this many ranks, each on a device of its own.
    ///
    /// # Errors
    /// The patterns of the file have too many edges.
    pub(super) fn get(&mut self, shape: Option<Shape>, devices: usize) -> Result<Pattern, String> {
        self.with(shape, devices, Demand::default())
    }

    /// The pattern of this shape with this many ranks, each with this demand.
    ///
    /// # Errors
    /// The patterns of the file have too many edges.
    pub(super) fn with(
        &mut self,
        shape: Option<Shape>,
        devices: usize,
        demand: Demand,
    ) -> Result<Pattern, String> {
        let key = (word(shape), devices, demand);
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        let pattern = make(shape, devices).each(demand);
        self.edges += pattern.edges().len();
        if self.edges > MOST_EDGES {
            return Err(format!(
                "the patterns up to here have {} edges: expected at most {MOST_EDGES}, of fewer sizes",
                self.edges
            ));
        }
        self.made.insert(key, pattern.clone());
        Ok(pattern)
    }
}
