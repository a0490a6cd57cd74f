//! Text from outside, as a terminal can bear it.

use std::borrow::Cow;
use std::fmt::Write;

/// The most characters of a message that are shown.
pub const MOST_OF_A_MESSAGE: usize = 4000;

/// The text with each character that a terminal would obey written as Rust writes it (`\u{1b}`): controls but for ends of lines and
/// tabs, and what changes the direction of writing. Programs pass every line through this before they print it, so
/// that no name in a file can move the cursor, change the title of the window, or hide a part of the answer.
///
/// # Examples
/// ```
/// use mapa_io::printable;
///
/// assert_eq!(printable("GPU0\tGPU1\n"), "GPU0\tGPU1\n");
/// assert_eq!(printable("\x1b]0;mine\x07"), r"\u{1b}]0;mine\u{7}");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'), rust)
}

/// As [`printable`], and ends of lines and tabs too: for names, so that none looks like a line of its own.
///
/// # Examples
/// ```
/// assert_eq!(mapa_io::word("job\nrefused   busy"), r"job\nrefused   busy");
/// ```
#[must_use]
pub fn word(name: &str) -> Cow<'_, str> {
    escaped(name, is_obeyed, rust)
}

/// A JSON text with these characters written as JSON writes them (`\u202e`), so that it means the same. `serde_json` escapes those below
/// U+0020 only.
///
/// # Examples
/// ```
/// assert_eq!(mapa_io::printable_json("{\"name\":\"\u{202e}\"}"), r#"{"name":"\u202e"}"#);
/// ```
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // All of them are below U+10000, so one escape is enough. They can only stand in strings.
    escaped(
        json,
        |c| is_obeyed(c) && !matches!(c, '\n' | '\t' | '\r'),
        |c, into| {
            let _ = write!(into, "\\u{:04x}", u32::from(c));
        },
    )
}

/// A message that may quote what is in a file: as [`printable`], with at most [`MOST_OF_A_MESSAGE`] characters of it.
/// The rest is counted.
///
/// # Examples
/// ```
/// let text = "x".repeat(5000);
/// let long = mapa_io::message(&text);
/// assert!(long.ends_with("xx... (1000 characters more)"));
/// ```
#[must_use]
pub fn message(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    match text.char_indices().nth(MOST_OF_A_MESSAGE) {
        None => text,
        Some((end, _)) => {
            let more = text[end..].chars().count();
            Cow::Owned(format!("{}... ({more} characters more)", &text[..end]))
        }
    }
}

/// Whether a terminal obeys a character rather than shows it: control characters (C0, DEL, C1), Unicode's controls of
/// direction (`Bidi_Control`), and its separators of lines and paragraphs.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn rust(c: char, into: &mut String) {
    // `\n` and `\t` have short forms; the others are written by their numbers.
    let _ = match c {
        '\n' | '\t' | '\r' => write!(into, "{}", c.escape_default()),
        _ => write!(into, "{}", c.escape_unicode()),
    };
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else {
        return Cow::Borrowed(text);
    };
    let mut whole = String::with_capacity(text.len() + 16);
    whole.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_escaped(c) {
            escape(c, &mut whole);
        } else {
            whole.push(c);
        }
    }
    Cow::Owned(whole)
}
