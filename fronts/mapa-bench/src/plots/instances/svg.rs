//! SVG text: elements, escaped, and numbers with one decimal.

use std::fmt::Write;

/// SVG text under construction.
#[derive(Default)]
pub(super) struct Svg(String);

/// The attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let [w, h] = [width, height].map(number);
        let mut picture = Self::default();
        picture.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             font-family=\"Helvetica, Arial, sans-serif\">"
        ));
        picture
    }

    /// Adds a line as it is.
    pub(super) fn raw(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub(super) fn rect(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), more: Attributes<'_>) {
        let [x, y, w, h] = [x, y, w, h].map(number);
        let place = [("x", &*x), ("y", &y), ("width", &w), ("height", &h)];
        self.element("rect", &[&place[..], more].concat(), None);
    }

    pub(super) fn line(&mut self, (x, y): (f64, f64), (x2, y2): (f64, f64), more: Attributes<'_>) {
        let [x, y, x2, y2] = [x, y, x2, y2].map(number);
        let place = [("x1", &*x), ("y1", &y), ("x2", &x2), ("y2", &y2)];
        self.element("line", &[&place[..], more].concat(), None);
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), what: &str, more: Attributes<'_>) {
        let [x, y] = [x, y].map(number);
        let place = [("x", &*x), ("y", &y)];
        self.element("text", &[&place[..], more].concat(), Some(what));
    }

    /// Adds a path; browsers show the title when the pointer is on it.
    pub(super) fn path(&mut self, d: &str, more: Attributes<'_>, title: Option<&str>) {
        let attributes = [&[("d", d)][..], more].concat();
        match title {
            None => self.element("path", &attributes, None),
            Some(title) => {
                self.start("path", &attributes);
                self.raw(&format!("><title>{}</title></path>", escaped(title)));
            }
        }
    }

    fn start(&mut self, name: &str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(name);
        for (key, value) in attributes {
            // Writing to a string cannot fail.
            let _ = write!(self.0, " {key}=\"{}\"", escaped(value));
        }
    }

    fn element(&mut self, name: &str, attributes: Attributes<'_>, text: Option<&str>) {
        self.start(name, attributes);
        match text {
            None => self.raw("/>"),
            Some(text) => self.raw(&format!(">{}</{name}>", escaped(text))),
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.raw("</svg>");
        self.0
    }
}

fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            // XML allows no control characters, not even escaped.
            c if c.is_control() => all.push(' '),
            c => all.push(c),
        }
    }
    all
}

/// A number with at most one decimal.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    // A small number below 0 is rounded to -0.
    if text == "-0" { "0" } else { text }.to_owned()
}
