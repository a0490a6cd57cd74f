//! The answer of `pattern`: an application graph as text, JSON, pattern file and Graphviz.

use std::collections::BTreeMap;
use std::path::Path;

use mapa_core::{Edge, Pattern};
use mapa_front::commands::{PatternOutcome, PatternRequest, PatternSource};
use mapa_patterns::{Application, likeness, write_pattern};

use crate::cli::WriteArgs;
use crate::commands::sensitivity;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{rewrite, write};
use mapa_front::text::table;

/// The most edges that the text lists.
const LISTED: usize = 40;

/// The request of a command line.
pub(super) fn request(source: PatternSource, args: &WriteArgs) -> PatternRequest {
    PatternRequest {
        source,
        name: args.name.clone(),
        steps: args.steps,
        sensitivity: args.sensitivity.clone(),
        evidence: sensitivity::request(&args.evidence),
    }
}

/// Prints an application, and writes and draws it as the options say. `more` are further lines of the text.
pub(super) fn answer(
    outcome: &PatternOutcome,
    more: Vec<String>,
    args: &WriteArgs,
    output: &mut Output,
) -> Result<(), Failure> {
    let application = &outcome.application;
    let on_stdout = args.dot.as_deref() == Some("-");
    if on_stdout && output.json {
        return Err(Failure::malformed(
            "--dot - draws in place of the answer: expected a file with --json",
        ));
    }
    if let Some(file) = &args.output {
        // A pattern file may be replaced by itself with more: `pattern show P --fast-seconds ... --output P`.
        rewrite(file, write_pattern(application))?;
    }
    if let Some(file) = args.dot.as_ref().filter(|_| !on_stdout) {
        write(Path::new(file), application.to_dot())?;
    }
    if on_stdout {
        return output.document(application.to_dot().trim_end());
    }
    if output.json {
        return output.object(&outcome.answer());
    }
    print(application, output)?;
    for line in more {
        output.line(line)?;
    }
    if let Some(file) = &args.output {
        output.line(format_args!("written   {}", file.display()))?;
    }
    if let Some(file) = &args.dot {
        output.line(format_args!("drawn     {file}"))?;
    }
    Ok(())
}

fn print(application: &Application, output: &mut Output) -> Result<(), Failure> {
    let pattern = &application.pattern;
    let count = pattern.edges().len();
    let shape = match likeness(pattern) {
        // A single edge is a ring, a chain and a star alike.
        Some(_) if count == 1 => ", a pair".to_owned(),
        shape => shape
            .map(|shape| format!(", the shape of {shape}"))
            .unwrap_or_default(),
    };
    let (name, source) = (&application.name, &application.source);
    let gap = if source.is_empty() { "" } else { ": " };
    output.line(format_args!("pattern   {name}{gap}{source}"))?;
    let edges = if count == 1 { "edge" } else { "edges" };
    output.line(format_args!(
        "ranks     {}, {count} {edges}{shape}",
        pattern.len()
    ))?;
    if !application.labels.is_empty() {
        output.line(format_args!(
            "seen as   {}",
            on_one_line(&application.labels.join(", "))
        ))?;
    }
    output.line(format_args!("verdict   {}", application.verdict))?;
    for note in &application.notes {
        output.line(format_args!("note      {note}"))?;
    }
    if count == 0 {
        return output.line("No two ranks communicate.");
    }
    output.line("")?;
    edges_of(application, output)
}

/// Prints the edges.
fn edges_of(application: &Application, output: &mut Output) -> Result<(), Failure> {
    let edges = alike(&application.pattern);
    let mut rows = table(["edge", "between", "carries"], [2]);
    for (edge, count) in edges.iter().take(LISTED) {
        let [a, b] =
            [edge.a, edge.b].map(|rank| on_one_line(&application.label(usize::from(rank))));
        let carries = application
            .unit
            .print(edge.traffic)
            .unwrap_or_else(|| edge.traffic.to_string());
        let times = match count {
            1 => String::new(),
            2 => " (twice)".to_owned(),
            n => format!(" ({n} times)"),
        };
        rows.add_row([
            format!("{}-{}{times}", edge.a, edge.b),
            format!("{a}, {b}"),
            carries,
        ]);
    }
    output.line(rows)?;
    if edges.iter().any(|(_, count)| *count > 1) {
        output.line("Twice: one edge in each direction, as in a ring of two ranks; the traffic is that of one edge.")?;
    }
    match edges.len().saturating_sub(LISTED) {
        0 => Ok(()),
        rest => output.line(format_args!(
            "and {rest} more: --output or --json lists all"
        )),
    }
}

/// The distinct edges of a pattern in order, and the number of each. Edges are equal if they join
/// the same ranks and carry the same traffic.
fn alike(pattern: &Pattern) -> Vec<(Edge, usize)> {
    // Edges stay in the order in which they appear first. Bits make a number a key.
    let mut places = BTreeMap::new();
    let mut alike: Vec<(Edge, usize)> = Vec::new();
    for edge in pattern.edges() {
        let place = *places
            .entry((edge.a, edge.b, edge.traffic.to_bits()))
            .or_insert(alike.len());
        match alike.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => alike.push((*edge, 1)),
        }
    }
    alike
}

/// A text on one line. A label may contain any characters.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
