//! The coefficient file: TOML, versioned. `docs/calibrate.md` describes it for people who
//! write one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mapa_core::{Census, Domain, LinkClass, LinkModel, MAX_TOML_BYTES, Term, Tiers, check_size};
use serde::Deserialize;
use toml::Spanned;

use crate::error::{Error, ErrorKind};

const FORMAT: &str = "mapa-coefficients";
const VERSION: i64 = 1;
/// What the last tier is called.
const REST: &str = "rest";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: Spanned<i64>,
    name: String,
    #[serde(default)]
    source: String,
    tiers: Spanned<Vec<Spanned<String>>>,
    terms: Vec<TermOfFile>,
    #[serde(default)]
    domain: DomainOfFile,
    #[serde(default)]
    statistics: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TermOfFile {
    of: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    inverse: bool,
    coefficient: Spanned<f64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainOfFile {
    ranks: Option<Spanned<(usize, usize)>>,
    #[serde(default)]
    classes: Vec<Spanned<String>>,
    #[serde(default)]
    points: Vec<Spanned<Vec<u32>>>,
}

/// The text of a file, to find the lines of errors.
struct TextLines<'t>(&'t str);

impl TextLines<'_> {
    fn error<T>(&self, at: &Spanned<T>, what: impl Into<String>) -> Error {
        self.error_at(Some(at.span().start), what)
    }

    fn error_at(&self, byte: Option<usize>, what: impl Into<String>) -> Error {
        let before = byte.and_then(|byte| self.0.as_bytes().get(..byte));
        let line = before.map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
        ErrorKind::BadFile {
            line,
            what: what.into(),
        }
        .into()
    }

    fn class(&self, name: &Spanned<String>) -> Result<LinkClass, Error> {
        name.get_ref()
            .parse()
            .map_err(|error: mapa_core::Error| self.error(name, error.to_string()))
    }

    fn tiers(&self, tiers: &Spanned<Vec<Spanned<String>>>) -> Result<Tiers, Error> {
        let classes = match tiers.get_ref().split_last() {
            Some((last, classes)) if last.get_ref() == REST => classes,
            _ => {
                return Err(self.error(
                    tiers,
                    "tiers: expected link classes from better to worse, then `rest`",
                ));
            }
        };
        let least = classes
            .iter()
            .map(|class| self.class(class))
            .collect::<Result<Vec<_>, _>>()?;
        Tiers::new(&least).map_err(|error| self.error(tiers, error.to_string()))
    }

    fn term(&self, term: &TermOfFile, tiers: &Tiers) -> Result<(Term, f64), Error> {
        let names = tiers.names();
        let mut factors = Vec::new();
        for name in term.of.get_ref() {
            let Some(tier) = names.iter().position(|known| known == name.get_ref()) else {
                let (name_of, known) = (name.get_ref(), names.join(", "));
                let what = format!("no tier is called `{name_of}`: expected one of {known}");
                return Err(self.error(name, what));
            };
            factors.push(tier);
        }
        let made = if term.inverse {
            Term::inverse(&factors)
        } else {
            Term::product(&factors)
        };
        let made = made.map_err(|error| self.error(&term.of, error.to_string()))?;
        let coefficient = *term.coefficient.get_ref();
        if !coefficient.is_finite() {
            let what = format!("coefficient = {coefficient}: expected a finite number");
            return Err(self.error(&term.coefficient, what));
        }
        Ok((made, coefficient))
    }

    fn domain(&self, domain: &DomainOfFile, tiers: &Tiers) -> Result<Domain, Error> {
        if let Some(ranks) = &domain.ranks
            && let (fewest, most) = *ranks.get_ref()
            && fewest > most
        {
            return Err(self.error(
                ranks,
                format!("ranks = [{fewest}, {most}]: expected the fewest first"),
            ));
        }
        let classes = domain.classes.iter().map(|class| self.class(class));
        let classes = classes.collect::<Result<_, _>>()?;
        let mut points = Vec::new();
        for point in &domain.points {
            let counts = point.get_ref();
            if counts.len() != tiers.len() {
                let (counts, tiers) = (counts.len(), tiers.len());
                let what = format!("a point of {counts} counts: expected {tiers}, one per tier");
                return Err(self.error(point, what));
            }
            points.push(Census::from_counts(counts)?);
        }
        Ok(Domain {
            ranks: domain.ranks.as_ref().map(|ranks| *ranks.get_ref()),
            classes,
            points,
        })
    }
}

/// Reads a coefficient file.
///
/// # Errors
/// The text has more than [`MAX_TOML_BYTES`], or is not as `docs/calibrate.md` describes it. The message has the line and what
/// was expected.
pub fn read_model(text: &str) -> Result<LinkModel, Error> {
    let lines = TextLines(text);
    check_size(text.len(), MAX_TOML_BYTES).map_err(|what| lines.error_at(None, what))?;
    let file: File = toml::from_str(text).map_err(|error| {
        lines.error_at(
            error.span().map(|span| span.start),
            error.message().trim().to_owned(),
        )
    })?;
    if file.format.get_ref() != FORMAT {
        return Err(lines.error(
            &file.format,
            format!(
                "format = \"{}\": expected \"{FORMAT}\"",
                file.format.get_ref()
            ),
        ));
    }
    if *file.version.get_ref() != VERSION {
        let what = format!("version = {}: expected {VERSION}", file.version.get_ref());
        return Err(lines.error(&file.version, what));
    }
    let tiers = lines.tiers(&file.tiers)?;
    let terms = file
        .terms
        .iter()
        .map(|term| lines.term(term, &tiers))
        .collect::<Result<Vec<_>, _>>()?;
    let domain = lines.domain(&file.domain, &tiers)?;
    let model = LinkModel::new(file.name, tiers, terms, domain)?;
    Ok(model
        .with_source(file.source)
        .with_statistics(file.statistics))
}

/// Writes a coefficient file: reading it gives the same model, to the last bit of each coefficient.
#[must_use]
pub fn write_model(model: &LinkModel) -> String {
    let names = model.tiers().names();
    let mut text = format!(
        "format = {}\nversion = {VERSION}\nname = {}\n",
        quoted(FORMAT),
        quoted(model.name())
    );
    // A `String` takes all that is written to it.
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    if !model.source().is_empty() {
        line(format!("source = {}", quoted(model.source())));
    }
    line(format!("tiers = {}\n\nterms = [", list(&names)));
    for (term, coefficient) in model.terms() {
        let of: Vec<&String> = term
            .factors()
            .iter()
            .filter_map(|tier| names.get(*tier))
            .collect();
        let inverse = if term.is_inverse() {
            "inverse = true, "
        } else {
            ""
        };
        line(format!(
            "    {{ of = {}, {inverse}coefficient = {coefficient:?} }},",
            list(&of)
        ));
    }
    line("]\n\n[domain]".to_owned());
    let domain = model.domain();
    if let Some((fewest, most)) = domain.ranks {
        line(format!("ranks = [{fewest}, {most}]"));
    }
    if !domain.classes.is_empty() {
        line(format!("classes = {}", list(&domain.classes)));
    }
    if !domain.points.is_empty() {
        line("points = [".to_owned());
        for point in &domain.points {
            line(format!("    {:?},", &point.counts()[..names.len()]));
        }
        line("]".to_owned());
    }
    line("\n[statistics]".to_owned());
    // Names and finite numbers are always TOML.
    text + &toml::to_string(model.statistics()).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(&item.to_string())).collect();
    format!("[{}]", items.join(", "))
}
