//! What pasted text goes through on its way.

use std::borrow::Cow;

/// A line without escape codes, also those that have lost their escape character on the way, and carriage returns.
pub(super) fn clean(raw: &str) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(raw);
    for lost in ["^[[", "\\033[", "\\e[", "\\x1b[", "\u{241b}["] {
        if line.contains(lost) {
            line = Cow::Owned(line.replace(lost, "\u{1b}["));
        }
    }
    // "[4m" and "[0m" are the ones that nvidia-smi prints.
    for bare in ["[4m", "[0m"] {
        if line.contains(bare) {
            line = Cow::Owned(line.replace(bare, "").replace('\u{1b}', ""));
        }
    }
    if line.bytes().any(|b| b == 0x1b || b == b'\r') {
        line = Cow::Owned(anstream::adapter::strip_str(&line).to_string().replace('\r', ""));
    }
    line
}

/// The lines of a text, cleaned, each with its number.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.split('\n').enumerate().map(|(i, raw)| (i + 1, clean(raw)))
}
