//! Names with settings.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;

/// The name of a scheduler or of an execution model, and its settings.
///
/// In words it is the name, with settings behind commas: `foresight,depth=4`. In JSON and TOML it is
/// these words, or a table: `{ name = "foresight", depth = 4 }`. It is written as words.
///
/// # Examples
/// ```
/// use mapa_front::SchedulerSpec;
///
/// let spec: SchedulerSpec = "foresight,depth=4".parse()?;
/// assert_eq!((spec.name(), spec.to_string().as_str()), ("foresight", "foresight,depth=4"));
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Named(String);

/// The scheduler of a request: [`Names::scheduler`](super::Names::scheduler) makes it.
pub type SchedulerSpec = Named;

/// The execution model of a request: [`Names::execution`](super::Names::execution) makes it.
pub type ExecutionSpec = Named;

impl Named {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split(',').next().unwrap_or_default()
    }

    /// The name and its settings, in words.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.0
    }

    /// The settings, `key=value` each.
    pub fn settings(&self) -> impl Iterator<Item = &str> {
        self.0.split(',').skip(1)
    }
}

/// That no execution model has this name, where there are these.
pub(super) fn unknown_execution(spec: &ExecutionSpec, hint: &str, mut forms: Vec<String>) -> Error {
    let last = forms.pop().unwrap_or_default();
    Error::malformed(format_args!(
        "no execution model is called `{spec}`{hint}: expected {} or {last}",
        forms.join(", ")
    ))
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Named {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// Every text is taken: whether there is such a name is known to [`Names`](super::Names).
impl FromStr for Named {
    type Err = std::convert::Infallible;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        Ok(words.into())
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Only a format that describes itself can tell words from a table.
        deserializer.deserialize_any(InWords)
    }
}

/// Reads a [`Named`] from words or from a table.
struct InWords;

impl<'de> Visitor<'de> for InWords {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "words such as \"name,key=value\", or a table such as { name = \"...\", key = 1 }",
        )
    }

    fn visit_str<E: serde::de::Error>(self, words: &str) -> Result<Named, E> {
        Ok(words.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Named, A::Error> {
        let (mut name, mut settings) = (None, String::new());
        // The settings keep the table's order. The name comes first wherever it stands.
        while let Some((key, value)) = table.next_entry::<String, Scalar>()? {
            match key.as_str() {
                "name" => name = Some(value.to_string()),
                // A text with a comma becomes several settings, as it does in words.
                key => settings += &format!(",{key}={value}"),
            }
        }
        let name = name.ok_or_else(|| serde::de::Error::missing_field("name"))?;
        Ok(Named(name + &settings))
    }
}

/// The value of a setting in a table.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, a number, true or false")]
enum Scalar {
    // The order counts: as a float, a large integer would lose digits.
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Named {
    fn schema_name() -> Cow<'static, str> {
        "Named".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name with its settings: words such as `name,key=value`, or a table.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                    "additionalProperties": {"type": ["string", "number", "boolean"]},
                },
            ],
        })
    }
}
