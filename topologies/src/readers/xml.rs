//! Parses XML with limits: no entities, limited nesting, and errors that name line and element.

use std::collections::HashMap;

use roxmltree::{Document, Node, ParsingOptions};

use crate::error::{Error, ErrorKind};
use crate::machine::Warning;

/// The deepest nesting that is read; real files have some twenty levels.
const MAX_DEPTH: usize = 128;

/// The most elements, texts and comments that are read. hwloc's file of a large server has some 5,000.
const MAX_NODES: u32 = 100_000;

/// The most attributes of all elements. hwloc's file of a large server has some 50,000.
const MAX_ALL_ATTRIBUTES: usize = 500_000;

/// Whether the first element of a text is one of these.
pub(super) fn begins_with(text: &str, elements: &[&str]) -> bool {
    let mut rest = text.trim_start();
    loop {
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") || rest.starts_with("<!") {
            ">"
        } else {
            break;
        };
        let Some(at) = rest.find(end) else {
            return false;
        };
        rest = rest[at + end.len()..].trim_start();
    }
    let Some(rest) = rest.strip_prefix('<') else {
        return false;
    };
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(rest.len());
    elements.contains(&&rest[..end])
}

/// The most attributes of one element; NCCL's have some twenty. The parser compares each with all
/// before it.
const MAX_ATTRIBUTES: usize = 256;

/// Checks the numbers of `<` and `=`: for each, the parser reserves room before it reads.
fn check_counts(text: &str) -> Result<(), Error> {
    let count = |byte: u8| text.bytes().filter(|&other| other == byte).count();
    for (byte, most, what) in [
        (b'<', MAX_NODES as usize, "elements"),
        (b'=', MAX_ALL_ATTRIBUTES, "attributes"),
    ] {
        if count(byte) > most {
            let what = format!("more than {most} {what}");
            return Err(Error::of_kind(ErrorKind::TooLarge, what));
        }
    }
    Ok(())
}

/// Parses a document.
///
/// # Errors
/// Malformed XML, with its line; entities, namespaces or a DTD of its own; more than [`MAX_DEPTH`]
/// levels, [`MAX_ATTRIBUTES`] attributes of one element, [`MAX_ALL_ATTRIBUTES`] of all, or [`MAX_NODES`] nodes.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Error> {
    check(text)?;
    check_counts(text)?;
    // hwloc's files name a DTD, which is not fetched.
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => Error::of_kind(
            ErrorKind::TooLarge,
            format!("more than {MAX_NODES} elements"),
        ),
        // The parser gives no place for these.
        roxmltree::Error::UnclosedRootNode
        | roxmltree::Error::UnexpectedEndOfStream
        | roxmltree::Error::NoRootNode => {
            let what = "malformed XML: the text ends within an element: is it cut?";
            Error::at(line_at(text, text.trim_end().len()), what)
        }
        error => {
            let what = error.to_string();
            // The position is said by the line number in front.
            let what = what
                .rsplit_once(" at ")
                .map_or(what.as_str(), |(what, _)| what);
            Error::at(error.pos().row as usize, format!("malformed XML: {what}"))
        }
    })
}

/// Scans the tags before the parser runs, in one pass. Rejects what would make the parser slow or
/// its recursion deep: levels, attributes of one element, entities, and namespaces, which the
/// parser copies from parent to child.
fn check(text: &str) -> Result<(), Error> {
    let bytes = text.as_bytes();
    let too_large = |at: usize, what: String| {
        Err(Error::at(line_at(text, at), what).with_kind(ErrorKind::TooLarge))
    };
    let (mut depth, mut at) = (0usize, 0);
    while let Some(found) = text[at..].find('<') {
        let open = at + found;
        let tag = &text[open..];
        let past = |end: &str, from: usize| {
            tag.get(from..)
                .and_then(|rest| rest.find(end))
                .map(|at| from + at + end.len())
        };
        if tag.starts_with("<!ENTITY") {
            return too_large(
                open,
                "entities are not read: expected plain elements and attributes".to_owned(),
            );
        }
        let end = if tag.starts_with("<!--") {
            past("-->", 4)
        } else if tag.starts_with("<![CDATA[") {
            past("]]>", 9)
        } else if tag.starts_with("<?") {
            past("?>", 2)
        } else {
            let tag = Tag::scan(&bytes[open..]);
            if tag.attributes > MAX_ATTRIBUTES {
                return too_large(
                    open,
                    format!("more than {MAX_ATTRIBUTES} attributes in one element"),
                );
            }
            if tag.namespaces {
                return too_large(
                    open,
                    "namespaces are not read: expected plain elements and attributes".to_owned(),
                );
            }
            match bytes.get(open + 1) {
                Some(b'/') => depth = depth.saturating_sub(1),
                Some(b'!') if tag.brackets => {
                    return too_large(
                        open,
                        "a DTD within the file is not read: expected at most its name".to_owned(),
                    );
                }
                Some(b'!') | None => {}
                Some(_) if tag.empty => {}
                Some(_) => depth += 1,
            }
            tag.length
        };
        if depth > MAX_DEPTH {
            return too_large(open, format!("elements nest more than {MAX_DEPTH} deep"));
        }
        let Some(end) = end else { break };
        at = open + end;
    }
    Ok(())
}

/// The text between `<` and `>`. A `>` in quotes does not end it.
struct Tag {
    /// The length of the tag. `None` if the tag does not end.
    length: Option<usize>,
    attributes: usize,
    namespaces: bool,
    brackets: bool,
    empty: bool,
}

impl Tag {
    fn scan(bytes: &[u8]) -> Self {
        let mut tag = Self {
            length: None,
            attributes: 0,
            namespaces: false,
            brackets: false,
            empty: false,
        };
        let mut quote = None;
        for (i, &byte) in bytes.iter().enumerate() {
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => tag.attributes += 1,
                (None, b'[') => tag.brackets = true,
                (None, b'x') if bytes[i..].starts_with(b"xmlns") => tag.namespaces = true,
                (None, b'>') => {
                    tag.length = Some(i + 1);
                    tag.empty = i > 0 && bytes[i - 1] == b'/';
                    break;
                }
                _ => {}
            }
        }
        tag
    }
}

fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
        + 1
}

/// The offsets of line beginnings, to find the lines of many elements.
pub(super) struct XmlLines(Vec<u32>);

impl XmlLines {
    pub(super) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(breaks.map(|(at, _)| at as u32).collect())
    }

    /// The line of an element, counted from 1. O(log text).
    pub(super) fn of(&self, node: Node<'_, '_>) -> usize {
        self.0
            .partition_point(|&at| (at as usize) < node.range().start)
            + 1
    }

    /// A warning about an element.
    pub(super) fn warning(&self, node: Node<'_, '_>, what: impl std::fmt::Display) -> Warning {
        Warning {
            line: Some(self.of(node)),
            what: format!("{}: {what}", name(node)),
        }
    }
}

/// The elements directly below one.
pub(super) fn elements<'a, 'input>(
    node: Node<'a, 'input>,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(Node::is_element)
}

/// The tag of an element.
pub(super) fn tag<'a>(node: Node<'a, '_>) -> &'a str {
    node.tag_name().name()
}

/// A source of unique names: the wanted name, with a number appended if it is taken.
#[derive(Default)]
pub(super) struct UniqueNames(HashMap<String, usize>);

impl UniqueNames {
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut candidate = if name.trim().is_empty() {
            "unnamed".to_owned()
        } else {
            name.to_owned()
        };
        while let Some(seen) = self.0.get_mut(&candidate) {
            *seen += 1;
            candidate = format!("{candidate}#{seen}");
        }
        self.0.insert(candidate.clone(), 1);
        candidate
    }
}

/// The line of an element, counted from 1. O(text): for errors only.
pub(super) fn line(node: Node<'_, '_>) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// The name of an element in messages: its tag with the first identifying attribute that it has.
pub(super) fn name(node: Node<'_, '_>) -> String {
    let telling = [
        "busid",
        "pci_busid",
        "dev",
        "numaid",
        "gp_index",
        "os_index",
        "name",
        "target",
        "id",
        "type",
    ];
    let attribute = telling
        .iter()
        .find_map(|name| Some((name, node.attribute(*name)?)));
    let tag = node.tag_name().name();
    attribute.map_or_else(
        || format!("<{tag}>"),
        |(name, value)| format!("<{tag} {name}=\"{value}\">"),
    )
}

/// An error at an element.
pub(super) fn error(node: Node<'_, '_>, what: impl Into<String>) -> Error {
    Error::in_element(Some(line(node)), name(node), what)
}

/// An attribute as a number. `None` if the attribute is missing.
///
/// # Errors
/// An attribute that is not a number of this type.
pub(super) fn number<T: std::str::FromStr>(
    node: Node<'_, '_>,
    attribute: &str,
) -> Result<Option<T>, Error> {
    let read = |text: &str| {
        text.trim()
            .parse()
            .map_err(|_| error(node, format!("{attribute}=\"{text}\": expected a number")))
    };
    node.attribute(attribute).map(read).transpose()
}

/// An attribute as a number, which must be present.
///
/// # Errors
/// An attribute that is missing, or is not a number of this type.
pub(super) fn required<T: std::str::FromStr>(
    node: Node<'_, '_>,
    attribute: &str,
) -> Result<T, Error> {
    number(node, attribute)?.ok_or_else(|| {
        error(
            node,
            format!("no attribute `{attribute}`: expected a number"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_refused() {
        let deep = "<a>".repeat(1_000_000);
        assert_eq!(parse(&deep).unwrap_err().kind(), ErrorKind::TooLarge);
        let entities = "<!DOCTYPE a [<!ENTITY x \"y\"><!ENTITY z \"&x;&x;\">]><a>&z;</a>";
        assert_eq!(parse(entities).unwrap_err().kind(), ErrorKind::TooLarge);
        let wide = "<a/>".repeat(2_000_000);
        assert_eq!(
            parse(&format!("<b>{wide}</b>")).unwrap_err().kind(),
            ErrorKind::TooLarge
        );
        let attributes: String = (0..1000).map(|i| format!(" a{i}='>'")).collect();
        assert_eq!(
            parse(&format!("<b{attributes}/>")).unwrap_err().kind(),
            ErrorKind::TooLarge
        );
        assert_eq!(
            parse("<a xmlns:b='c'><b:d xmlns:e='f'/></a>")
                .unwrap_err()
                .kind(),
            ErrorKind::TooLarge
        );
        assert_eq!(
            parse("<!DOCTYPE a [<!ELEMENT a (b)>]><a/>")
                .unwrap_err()
                .kind(),
            ErrorKind::TooLarge
        );
    }

    #[test]
    fn depth_cannot_be_hidden_in_quotes_comments_or_the_document_type() {
        let deep = "<a>".repeat(1000);
        let quoted = "<a b='/>'>".repeat(1000);
        for text in [
            quoted,
            format!("<!DOCTYPE a SYSTEM \"> <!-- \">{deep}"),
            format!("<?x > <!-- ?>{deep}"),
            format!("<!-- > <![CDATA[ -->{deep}"),
        ] {
            assert_eq!(
                parse(&text).unwrap_err().kind(),
                ErrorKind::TooLarge,
                "{}",
                &text[..40]
            );
        }
    }

    #[test]
    fn the_largest_text_is_parsed_or_refused_in_time() {
        let size = crate::readers::MAX_BYTES;
        let filled = |part: &str| part.repeat(size / part.len());
        let start = std::time::Instant::now();
        for text in [
            format!("<a b=\"{}\"/>", filled("x")),
            format!("<a {}/>", filled("b='c' ")),
            format!("<a>{}</a>", filled("<![CDATA[x]]>y")),
            format!("<a>{}</a>", filled("&lt;")),
            filled("<"),
            filled("<!--"),
            filled("<a b='"),
            filled("<?"),
        ] {
            let _ = parse(&text);
        }
        assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    }

    #[test]
    fn lines_are_those_of_the_parser() {
        let text = "<a>\n\n<b/><c/>\r\n  <d/></a>";
        let document = parse(text).unwrap();
        let lines = XmlLines::new(text);
        for node in document.descendants().filter(Node::is_element) {
            assert_eq!(lines.of(node), line(node), "{}", name(node));
        }
    }

    #[test]
    fn names_are_given_once() {
        let mut names = UniqueNames::default();
        let given: Vec<String> = ["a", "a", "a#2", "a", ""]
            .iter()
            .map(|name| names.unique(name))
            .collect();
        let distinct: std::collections::HashSet<&String> = given.iter().collect();
        assert_eq!(
            (distinct.len(), given[0].as_str(), given[1].as_str()),
            (5, "a", "a#2")
        );
    }

    #[test]
    fn the_first_element_is_found_behind_prologue_and_comments() {
        assert!(begins_with(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc.dtd\">\n<topology>",
            &["topology"]
        ));
        assert!(begins_with(
            "<!-- <x> -->\n<system version=\"1\">",
            &["system"]
        ));
        assert!(!begins_with("<systems>", &["system"]));
        assert!(!begins_with("no <system>", &["system"]));
    }

    #[test]
    fn errors_name_line_and_element() {
        let document = parse("<system>\n <gpu dev=\"x\"/>\n</system>").unwrap();
        let gpu = document.root_element().first_element_child().unwrap();
        let error = number::<u32>(gpu, "dev").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: <gpu dev=\"x\">: dev=\"x\": expected a number"
        );
        assert_eq!(parse("<a>\n<b>\n</a>").unwrap_err().line(), Some(3));
        for cut in ["<a>\n<b/>\n", "<a>\n<b", "<a>\n<b c='", "\n", "<a>\n<!-- "] {
            let lines = cut.trim_end().matches('\n').count() + 1;
            assert_eq!(parse(cut).unwrap_err().line(), Some(lines), "{cut}");
        }
    }
}
