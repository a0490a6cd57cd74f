//! XML with care: no entities, no bottomless nesting, and errors that name line and element.

use roxmltree::{Document, Node, ParsingOptions};

use crate::error::{Error, ErrorKind};

/// The deepest nesting that is read; real files have some twenty levels.
const MAX_DEPTH: usize = 128;

/// The most elements, texts and comments that are read.
const MAX_NODES: u32 = 1 << 20;

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
        let Some(at) = rest.find(end) else { return false };
        rest = rest[at + end.len()..].trim_start();
    }
    let Some(rest) = rest.strip_prefix('<') else { return false };
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
    elements.contains(&&rest[..end])
}

/// Parses a document.
///
/// # Errors
/// Malformed XML, with its line; entities; more than [`MAX_DEPTH`] levels or [`MAX_NODES`] nodes.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Error> {
    if let Some(at) = text.find("<!ENTITY") {
        let line = line_at(text, at);
        let what = "entities are not read: expected plain elements and attributes";
        return Err(Error::at(line, what).with_kind(ErrorKind::TooLarge));
    }
    check_depth(text)?;
    // hwloc's files name a DTD, which is not fetched.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => {
            Error::of_kind(ErrorKind::TooLarge, format!("more than {MAX_NODES} elements"))
        }
        error => {
            let what = error.to_string();
            // The position is said by the line number in front.
            let what = what.rsplit_once(" at ").map_or(what.as_str(), |(what, _)| what);
            Error::at(error.pos().row as usize, format!("malformed XML: {what}"))
        }
    })
}

/// Counts how deep tags nest, before the parser, which goes down by recursion, is let in. Quoted `<` do not occur: XML
/// forbids them.
fn check_depth(text: &str) -> Result<(), Error> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(found) = text[at..].find('<') {
        let open = at + found;
        let skip = |end: &str| text[open..].find(end).map_or(text.len(), |end_at| open + end_at + end.len());
        at = if text[open..].starts_with("<!--") {
            skip("-->")
        } else if text[open..].starts_with("<![CDATA[") {
            skip("]]>")
        } else {
            skip(">")
        };
        match bytes.get(open + 1) {
            Some(b'/') => depth = depth.saturating_sub(1),
            Some(b'!' | b'?') | None => {}
            _ if text[open..at].ends_with("/>") => {}
            _ => depth += 1,
        }
        if depth > MAX_DEPTH {
            let what = format!("elements nest more than {MAX_DEPTH} deep");
            return Err(Error::at(line_at(text, open), what).with_kind(ErrorKind::TooLarge));
        }
    }
    Ok(())
}

fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// The line of an element, counted from 1. O(text): for errors only.
pub(super) fn line(node: Node<'_, '_>) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// An element as messages call it: its tag with the first of these attributes that it has.
pub(super) fn name(node: Node<'_, '_>) -> String {
    let telling = ["busid", "pci_busid", "dev", "numaid", "gp_index", "os_index", "name", "target", "id", "type"];
    let attribute = telling.iter().find_map(|name| Some((name, node.attribute(*name)?)));
    let tag = node.tag_name().name();
    attribute.map_or_else(|| format!("<{tag}>"), |(name, value)| format!("<{tag} {name}=\"{value}\">"))
}

/// An error at an element.
pub(super) fn error(node: Node<'_, '_>, what: impl Into<String>) -> Error {
    Error::in_element(Some(line(node)), name(node), what)
}

/// An attribute as a number, if it is there.
///
/// # Errors
/// It is there and no such number.
pub(super) fn number<T: std::str::FromStr>(node: Node<'_, '_>, attribute: &str) -> Result<Option<T>, Error> {
    let read =
        |text: &str| text.trim().parse().map_err(|_| error(node, format!("{attribute}=\"{text}\": expected a number")));
    node.attribute(attribute).map(read).transpose()
}

/// The same, which must be there.
///
/// # Errors
/// It is missing, or no such number.
pub(super) fn required<T: std::str::FromStr>(node: Node<'_, '_>, attribute: &str) -> Result<T, Error> {
    number(node, attribute)?.ok_or_else(|| error(node, format!("no attribute `{attribute}`: expected a number")))
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
        assert_eq!(parse(&format!("<b>{wide}</b>")).unwrap_err().kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn the_first_element_is_found_behind_prologue_and_comments() {
        assert!(begins_with(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc.dtd\">\n<topology>",
            &["topology"]
        ));
        assert!(begins_with("<!-- <x> -->\n<system version=\"1\">", &["system"]));
        assert!(!begins_with("<systems>", &["system"]));
        assert!(!begins_with("no <system>", &["system"]));
    }

    #[test]
    fn errors_name_line_and_element() {
        let document = parse("<system>\n <gpu dev=\"x\"/>\n</system>").unwrap();
        let gpu = document.root_element().first_element_child().unwrap();
        let error = number::<u32>(gpu, "dev").unwrap_err();
        assert_eq!(error.to_string(), "line 2: <gpu dev=\"x\">: dev=\"x\": expected a number");
        assert_eq!(parse("<a>\n<b>\n</a>").unwrap_err().line(), Some(3));
    }
}
