//! Writes SVG: elements, escaped text, and numbers with one decimal.

use std::fmt::{Display, Write};

/// SVG text under construction. [`close`](Canvas::close) closes the element that was opened last.
#[derive(Default)]
pub(super) struct Canvas {
    text: String,
    open: Vec<&'static str>,
}

/// An attribute and its value.
pub(super) type Attribute<'a> = (&'a str, String);

impl Canvas {
    pub(super) fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name);
    }

    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push_str(">\n");
        }
    }

    /// Adds an element without content.
    pub(super) fn add(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// Adds an element that contains text.
    pub(super) fn say(&mut self, name: &'static str, attributes: &[Attribute<'_>], what: &str) {
        self.start(name, attributes);
        self.text.push('>');
        escape(what, &mut self.text);
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push_str(">\n");
    }

    /// Appends the text of another canvas.
    pub(super) fn raw(&mut self, other: &str) {
        self.text.push_str(other);
    }

    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn start(&mut self, name: &str, attributes: &[Attribute<'_>]) {
        self.indent();
        self.text.push('<');
        self.text.push_str(name);
        for (key, value) in attributes {
            self.text.push(' ');
            self.text.push_str(key);
            self.text.push_str("=\"");
            escape(value, &mut self.text);
            self.text.push('"');
        }
    }

    fn indent(&mut self) {
        for _ in &self.open {
            self.text.push_str("  ");
        }
    }
}

/// Appends `what` to `into`, escaped for XML. Characters that XML 1.0 cannot express, such as most
/// control characters, become a replacement character.
fn escape(what: &str, into: &mut String) {
    for c in what.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\n' | '\r' | '\t' => into.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => into.push('\u{fffd}'),
            c => into.push(c),
        }
    }
}

/// A number with at most one decimal.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// GB/s with at most two decimals.
pub(super) fn gbps(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The `d` attribute of an SVG path, built step by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn start(x: f64, y: f64) -> Self {
        Self::default().step('M', &[x, y])
    }

    pub(super) fn line(self, x: f64, y: f64) -> Self {
        self.step('L', &[x, y])
    }

    pub(super) fn curve(self, [a, b]: [f64; 2], [c, d]: [f64; 2], [x, y]: [f64; 2]) -> Self {
        self.step('C', &[a, b, c, d, x, y])
    }

    /// A rounded corner: a curve to (x, y) with the control point (a, b).
    pub(super) fn turn(self, a: f64, b: f64, x: f64, y: f64) -> Self {
        self.step('Q', &[a, b, x, y])
    }

    fn step(mut self, letter: char, numbers: &[f64]) -> Self {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0.push(letter);
        let numbers: Vec<String> = numbers.iter().map(|&n| number(n)).collect();
        self.0.push_str(&numbers.join(" "));
        self
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The estimated width of a text: an upper bound for common sans-serif fonts and European letters.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | 'I' | ' ' | 'f' | 't'
        | '(' | ')' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        c if c.is_ascii_uppercase() => 0.75,
        c if c.is_ascii() => 0.64,
        '·' => 0.38,
        _ => 1.05,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The text if it fits into `room`, otherwise its beginning with an ellipsis.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&short, size) + size > room {
            short.pop();
            break;
        }
    }
    short + "…"
}

/// Splits a text into lines that fit into `room`. A word that is wider than a line is cut.
pub(super) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = fitted(word, size, room);
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(&word, size) <= room => {
                let _ = write!(line, " {word}");
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Adds a line of text. Its base line begins at `(x, y)`, unless `text-anchor` in `more` says
/// otherwise.
pub(super) fn text(
    canvas: &mut Canvas,
    (x, y): (f64, f64),
    size: f64,
    ink: &str,
    more: &[(&str, &str)],
    what: &str,
) {
    let mut attributes: Vec<Attribute<'_>> = vec![
        ("x", number(x)),
        ("y", number(y)),
        ("font-size", number(size)),
        ("fill", ink.to_owned()),
    ];
    attributes.extend(more.iter().map(|(key, value)| (*key, (*value).to_owned())));
    canvas.say("text", &attributes, what);
}

/// Adds a line along a path.
pub(super) fn line(
    canvas: &mut Canvas,
    path: &Path,
    colour: &str,
    width: &str,
    dash: Option<&str>,
    more: &[Attribute<'_>],
) {
    let mut attributes = more.to_vec();
    attributes.extend([
        ("d", path.to_string()),
        ("fill", "none".to_owned()),
        ("stroke", colour.to_owned()),
        ("stroke-width", width.to_owned()),
    ]);
    attributes.extend(dash.map(|dash| ("stroke-dasharray", dash.to_owned())));
    canvas.add("path", &attributes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_markup() {
        let mut canvas = Canvas::default();
        canvas.say("text", &[("id", "a\"b".to_owned())], "<&>\u{1}\"");
        assert_eq!(
            canvas.finish(),
            "<text id=\"a&quot;b\">&lt;&amp;&gt;\u{fffd}&quot;</text>\n"
        );
    }

    #[test]
    fn text_is_cut_and_wrapped_to_its_room() {
        assert_eq!(fitted("GPU0", 10.0, 100.0), "GPU0");
        assert!(fitted("a name of great length", 10.0, 60.0).ends_with('…'));
        let lines = wrapped("one two three four", 10.0, 60.0);
        assert!(
            lines.len() > 1 && lines.iter().all(|line| width(line, 10.0) <= 60.0),
            "{lines:?}"
        );
        assert_eq!(
            (number(2.0), number(2.25), number(-0.01)),
            ("2".to_owned(), "2.2".to_owned(), "0".to_owned())
        );
        assert_eq!(
            (gbps(25.0), gbps(12.5), gbps(100.0)),
            ("25".to_owned(), "12.5".to_owned(), "100".to_owned())
        );
    }
}
