//! The pattern file: TOML, versioned. `docs/pattern-file.md` describes it for people who write one.

use std::fmt::{self, Write as _};

use mapa_core::{MAX_DEVICES, MAX_TOML_BYTES, Parallelism, Pattern, check_size};
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::application::{Application, Note};
use crate::error::Error;
use crate::unit::Unit;
use crate::verdict::Verdict;

const FORMAT: &str = "mapa-pattern";
const VERSION: i64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: Spanned<i64>,
    name: Spanned<String>,
    #[serde(default)]
    source: String,
    ranks: Option<Spanned<usize>>,
    unit: Option<Spanned<String>>,
    edges: Option<Spanned<Vec<Spanned<EdgeOfFile>>>>,
    labels: Option<Spanned<Vec<String>>>,
    sensitivity: Option<Spanned<String>>,
    #[serde(default)]
    why: String,
    parallelism: Option<Spanned<String>>,
    bytes: Option<Spanned<String>>,
    #[serde(default)]
    notes: Vec<NoteOfFile>,
}

/// Two ranks, and the traffic between them: 1 if the file does not state it.
struct EdgeOfFile(u16, u16, f64);

/// Written by hand, so that an error names the line of the edge at fault, and so that many edges
/// are read fast.
impl<'de> Deserialize<'de> for EdgeOfFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EdgeVisitor)
    }
}

struct EdgeVisitor;

impl<'de> Visitor<'de> for EdgeVisitor {
    type Value = EdgeOfFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[A, B] or [A, B, TRAFFIC]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut edge: A) -> Result<EdgeOfFile, A::Error> {
        let wrong = |length| A::Error::invalid_length(length, &self);
        let a = edge.next_element()?.ok_or_else(|| wrong(0))?;
        let b = edge.next_element()?.ok_or_else(|| wrong(1))?;
        let traffic = edge.next_element()?.unwrap_or(1.0);
        match edge.next_element::<IgnoredAny>()? {
            None => Ok(EdgeOfFile(a, b, traffic)),
            Some(_) => Err(wrong(4)),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteOfFile {
    kind: Spanned<String>,
    #[serde(default)]
    place: String,
    what: String,
}

/// The text of the file, which gives errors their lines.
struct FileLines<'t>(&'t str);

impl FileLines<'_> {
    fn at<T>(&self, at: &Spanned<T>, what: impl Into<String>) -> Error {
        Error::at(self.line(at.span().start), what)
    }

    fn line(&self, byte: usize) -> usize {
        let before = self.0.as_bytes().get(..byte).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// Parses a word; the default if it is missing.
    fn word<T: std::str::FromStr<Err: std::fmt::Display> + Default>(
        &self,
        word: &Option<Spanned<String>>,
    ) -> Result<T, Error> {
        let parse = |word: &Spanned<String>| {
            word.get_ref()
                .parse()
                .map_err(|error: T::Err| self.at(word, error.to_string()))
        };
        word.as_ref().map_or(Ok(T::default()), parse)
    }

    fn job(&self, file: &File) -> Result<Option<Parallelism>, Error> {
        let Some(degrees) = &file.parallelism else {
            return match &file.bytes {
                Some(bytes) => Err(self.at(
                    bytes,
                    "bytes: expected `parallelism = \"tp=..\"` beside them",
                )),
                None => Ok(None),
            };
        };
        let job: Parallelism = degrees
            .get_ref()
            .parse()
            .map_err(|error: mapa_core::Error| self.at(degrees, error.to_string()))?;
        if job.ranks() > MAX_DEVICES {
            let what = format!(
                "parallelism: {job} has {} ranks: expected at most {MAX_DEVICES}",
                job.ranks()
            );
            return Err(self.at(degrees, what));
        }
        let with_bytes = file.bytes.as_ref().map(|bytes| {
            job.with_bytes_of(bytes.get_ref())
                .map_err(|error| self.at(bytes, error.to_string()))
        });
        with_bytes.unwrap_or(Ok(job)).map(Some)
    }

    fn pattern(&self, file: &File) -> Result<Pattern, Error> {
        let Some(ranks) = &file.ranks else {
            return Err(self.at(
                &file.name,
                "expected `ranks = N`, or `parallelism = \"tp=..\"`, beside the name",
            ));
        };
        let told = file.edges.iter().flat_map(|edges| edges.get_ref());
        // The first edge that is not sound ends the reading, so that the last one taken is the one
        // at fault.
        let mut last = None;
        let edges = told.inspect(|edge| last = Some(*edge)).map(|edge| {
            let EdgeOfFile(a, b, traffic) = *edge.get_ref();
            (a, b, traffic)
        });
        Pattern::from_edges(*ranks.get_ref(), edges).map_err(|error| match last {
            Some(edge) => self.at(edge, error.to_string()),
            None => self.at(ranks, error.to_string()),
        })
    }
}

impl FileLines<'_> {
    fn check_head(&self, file: &File) -> Result<(), Error> {
        if file.format.get_ref() != FORMAT {
            return Err(self.at(
                &file.format,
                format!(
                    "format = \"{}\": expected \"{FORMAT}\"",
                    file.format.get_ref()
                ),
            ));
        }
        if *file.version.get_ref() != VERSION {
            let what = format!("version = {}: expected {VERSION}", file.version.get_ref());
            return Err(self.at(&file.version, what));
        }
        if file.name.get_ref().is_empty() || file.name.get_ref().contains(char::is_control) {
            return Err(self.at(&file.name, "name: expected a name on one line"));
        }
        Ok(())
    }

    /// The labels of so many ranks; none if the file has none.
    fn labels(&self, file: &File, ranks: usize) -> Result<Vec<String>, Error> {
        let Some(labels) = &file.labels else {
            return Ok(Vec::new());
        };
        if labels.get_ref().len() != ranks {
            let what = format!(
                "{} labels for {ranks} ranks: expected one for each",
                labels.get_ref().len()
            );
            return Err(self.at(labels, what));
        }
        Ok(labels.get_ref().clone())
    }
}

/// Reads a pattern file.
///
/// # Errors
/// For more than [`MAX_TOML_BYTES`], and for what is not described in `docs/pattern-file.md`, with the line and what was expected there.
pub fn read_pattern(text: &str) -> Result<Application, Error> {
    let lines = FileLines(text);
    check_size(text.len(), MAX_TOML_BYTES).map_err(Error::new)?;
    let file: File = toml::from_str(text).map_err(|error| {
        let what = error.message().trim().to_owned();
        error.span().map_or_else(
            || Error::new(what.clone()),
            |span| Error::at(lines.line(span.start), what.clone()),
        )
    })?;
    lines.check_head(&file)?;
    let parallelism = lines.job(&file)?;
    let pattern = match (&parallelism, &file.edges) {
        // The degrees determine the edges, so the file must not list them again.
        (Some(_), Some(edges)) => {
            return Err(lines.at(
                edges,
                "edges: they follow from `parallelism`; expected one of them",
            ));
        }
        (Some(job), None) => {
            let pattern = job.pattern();
            match file
                .ranks
                .as_ref()
                .filter(|ranks| *ranks.get_ref() != pattern.len())
            {
                Some(ranks) => {
                    return Err(lines.at(
                        ranks,
                        format!("ranks: expected {}, as {job} has", pattern.len()),
                    ));
                }
                None => pattern,
            }
        }
        (None, _) => lines.pattern(&file)?,
    };
    let labels = lines.labels(&file, pattern.len())?;
    let note = |note: &NoteOfFile| {
        let kind = note
            .kind
            .get_ref()
            .parse()
            .map_err(|error: Error| lines.at(&note.kind, error.to_string()))?;
        Ok(Note {
            kind,
            place: note.place.clone(),
            what: note.what.clone(),
        })
    };
    let unit: Unit = match (&parallelism, &file.unit) {
        (Some(_), None) => Unit::BytesPerStep,
        _ => lines.word(&file.unit)?,
    };
    if let Some(told) = file
        .unit
        .as_ref()
        .filter(|_| parallelism.is_some() && unit != Unit::BytesPerStep)
    {
        return Err(lines.at(
            told,
            format!("unit `{unit}`: expected bytes-per-step, beside `parallelism`"),
        ));
    }
    Ok(Application {
        unit,
        labels,
        parallelism,
        verdict: Verdict {
            sensitivity: lines.word(&file.sensitivity)?,
            why: file.why.clone(),
        },
        notes: file.notes.iter().map(note).collect::<Result<_, Error>>()?,
        ..Application::new(file.name.get_ref().as_str(), file.source.as_str(), pattern)
    })
}

/// Writes a pattern file. Reading it gives the same application, to the last bit of each edge's
/// traffic. The file does not contain what ranks need of their devices ([`Pattern::demands`]):
/// commands and requests add that.
///
/// The file can always be read again, unless it has more ranks than a pattern file may have. To
/// ensure this, control characters of the name become spaces. Labels are left out if there is not
/// one for each rank. Degrees of parallelism are left out if the edges do not follow from them in
/// bytes per step.
#[must_use]
pub fn write_pattern(application: &Application) -> String {
    let Application {
        name,
        source,
        pattern,
        unit,
        labels,
        parallelism,
        verdict,
        notes,
    } = application;
    let parallelism = parallelism
        .filter(|job| job.pattern().edges() == pattern.edges() && job.ranks() == pattern.len());
    let parallelism = parallelism.filter(|_| *unit == Unit::BytesPerStep);
    let mut text = format!(
        "format = {}\nversion = {VERSION}\nname = {}\n",
        quoted(FORMAT),
        quoted(&on_one_line(name))
    );
    // Writing to a string does not fail.
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    let mut said = |key: &str, value: &str| {
        if !value.is_empty() {
            line(format!("{key} = {}", quoted(value)));
        }
    };
    said("source", source);
    said("sensitivity", &verdict.sensitivity.to_string());
    said("why", &verdict.why);
    said("unit", &unit.to_string());
    if !labels.is_empty() && labels.len() == pattern.len() {
        line(format!(
            "labels = [{}]",
            labels
                .iter()
                .map(|label| quoted(label))
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    match parallelism {
        Some(job) => {
            let bytes = job
                .dimensions()
                .map(|dimension| format!("{}={:?}", dimension.letters(), job.bytes(dimension)));
            let bytes = bytes.collect::<Vec<_>>().join(",");
            line(format!(
                "parallelism = {}\nbytes = {}",
                quoted(&job.to_string()),
                quoted(&bytes)
            ));
        }
        None => {
            line(format!("ranks = {}\nedges = [", pattern.len()));
            for edge in pattern.edges() {
                line(format!("    [{}, {}, {:?}],", edge.a, edge.b, edge.traffic));
            }
            line("]".to_owned());
        }
    }
    for note in notes {
        line(format!(
            "\n[[notes]]\nkind = {}",
            quoted(&note.kind.to_string())
        ));
        if !note.place.is_empty() {
            line(format!("place = {}", quoted(&note.place)));
        }
        line(format!("what = {}", quoted(&note.what)));
    }
    text
}

/// The name as a pattern file accepts it: on one line, not empty.
fn on_one_line(name: &str) -> String {
    let name = name.replace(char::is_control, " ");
    if name.is_empty() {
        "pattern".to_owned()
    } else {
        name
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
