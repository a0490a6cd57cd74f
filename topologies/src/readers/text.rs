//! Cleans lines of pasted text and splits them into words.

use std::borrow::Cow;

/// Removes escape codes and carriage returns from a line. Also removes escape codes that have lost
/// their escape character.
pub(super) fn clean(raw: &str) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(raw);
    // Every escape code has a bracket, even without its escape character.
    if !raw.bytes().any(|b| matches!(b, b'[' | 0x1b | b'\r')) {
        return line;
    }
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
        line = Cow::Owned(
            anstream::adapter::strip_str(&line)
                .to_string()
                .replace('\r', ""),
        );
    }
    line
}

/// The lines of a text, cleaned, each with its number.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.split('\n')
        .enumerate()
        .map(|(i, raw)| (i + 1, clean(raw)))
}

/// The words of a line, each with the character column at which it begins. White space and the
/// marks of tables, comments, lists and quotations separate words.
pub(super) fn words(line: &str) -> Vec<(&str, usize)> {
    let is_gap = |c: char| {
        c.is_whitespace() || matches!(c, '|' | '│' | '#' | '>' | '+' | '*' | '"' | '\'' | '`')
    };
    let mut words = Vec::new();
    let mut start = None;
    for (column, (at, c)) in line.char_indices().enumerate() {
        match (is_gap(c), start) {
            (true, Some((from, column))) => {
                words.push((&line[from..at], column));
                start = None;
            }
            (false, None) => start = Some((at, column)),
            _ => {}
        }
    }
    words.extend(start.map(|(from, column)| (&line[from..], column)));
    words
}

/// The number in a label such as `GPU0`.
pub(super) fn gpu_number(word: &str) -> Option<u32> {
    let number = word.strip_prefix("GPU")?;
    // "GPU+1" would parse too.
    number
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| number.parse().ok())?
}

/// Whether a text may precede the contents of a line: comment marks, time stamps, hosts or prompts,
/// but not prose.
pub(super) fn is_margin(before: &str) -> bool {
    // No margin is long; and a line with a thousand places to look in front of must not take a
    // thousand times as long.
    before.len() <= 200
        && before.split_whitespace().all(|word| {
            let marked = word.ends_with([':', '$', '#', '>', '%', ']', ')']);
            // NVLink-C2C is a link to the processor, with lines of its own that are like those of
            // NVLink.
            let named = marked
                || word == "REM"
                || word.bytes().any(|b| b.is_ascii_digit()) && word != "C2C";
            named || !word.bytes().any(|b| b.is_ascii_alphabetic())
        })
}

/// Whether a line only marks an omission: `[snip]`, `...`.
pub(super) fn is_elision(line: &str) -> bool {
    let line = line.trim();
    if line.len() > 40 {
        return false;
    }
    let letters: String = line
        .chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    match letters.as_str() {
        "" => line.contains("...") || line.contains(['…', '⋮']),
        "snip" | "snipped" | "truncated" | "omitted" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_told_from_prose() {
        for before in [
            "",
            "  # ",
            "//",
            "2025/05/21 09:40:05 s114 ",
            "[rank0]: ",
            "user@host:~$ ",
            "REM ",
            "| ",
            "--",
        ] {
            assert!(is_margin(before), "{before}");
        }
        for before in ["on ", "see node1: the ", "C2C ", "Using "] {
            assert!(!is_margin(before), "{before}");
        }
    }

    #[test]
    fn elisions_are_told_from_text() {
        for line in [
            "...",
            "  [...]",
            "[snip]",
            "\t<snip>",
            "--- snip ---",
            "…",
            "......",
            "# ...",
        ] {
            assert!(is_elision(line), "{line}");
        }
        for line in ["", "Link 0: ...", "---", "GPU 1: ...", "snip it here"] {
            assert!(!is_elision(line), "{line}");
        }
    }
}
