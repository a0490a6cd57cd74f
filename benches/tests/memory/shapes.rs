//! Hostile inputs: one long line, many short ones, deep nesting, wide rows, repeated keys, long words.

/// The bytes of each input.
pub const SIZE: usize = 1 << 17;

/// Texts that need no sample: a part that is repeated, and what stands before it.
const PARTS: [&str; 30] = [
    "x",
    " ",
    "\t",
    ",",
    "|",
    "\"",
    "\\",
    "[",
    "{",
    "(",
    "<a>",
    "<!--",
    "{\"a\":",
    "[[",
    "a.",
    "a=[",
    "1,",
    "1 ",
    "'''\n",
    "\n",
    "a\n",
    "1\n",
    "1 1\n",
    "a,b\n",
    "a=1\n",
    "# a\n",
    "- a:\n",
    "GPU0\n",
    "\u{1b}]52;",
    "\u{202e}",
];

/// A text of [`SIZE`] bytes, about: the part again and again.
fn repeated(part: &str) -> String {
    part.repeat(SIZE / part.len().max(1))
}

/// The part again and again, each time with other numbers in place of its own.
fn numbered(part: &str) -> String {
    let mut text = String::with_capacity(SIZE + part.len());
    let mut number = 0;
    while text.len() < SIZE {
        let mut was_digit = false;
        for char in part.chars() {
            match (char.is_ascii_digit(), was_digit) {
                (true, false) => text.push_str(&(100 + number).to_string()),
                (true, true) => {}
                (false, _) => text.push(char),
            }
            was_digit = char.is_ascii_digit();
        }
        number += 1;
    }
    text
}

/// Where words end: what separates cells, and what opens lists.
fn is_separator(char: char) -> bool {
    char.is_whitespace() || ",;|=:[]{}()<>\"/".contains(char)
}

/// One line made long: its words repeated, nested, replaced by a long one, multiplied by each separator it has.
fn long_lines(line: &str) -> Vec<String> {
    let mut made = Vec::new();
    let middle = line
        .char_indices()
        .nth(line.chars().count() / 2)
        .map_or(0, |at| at.0);
    let (before, after) = line.split_at(middle);
    for part in ["x", "[", "{", "<a>", "\u{1b}[31m", "0"] {
        made.push(format!("{before}{}{after}", repeated(part)));
        made.push(format!("{line}{}", repeated(part)));
    }
    let mut separators: Vec<char> = line.chars().filter(|&char| is_separator(char)).collect();
    separators.sort_unstable();
    separators.dedup();
    for separator in separators {
        let Some((start, rest)) = line.rsplit_once(separator) else {
            continue;
        };
        made.push(format!("{start}{}{rest}", repeated(&separator.to_string())));
        let last = start.rsplit(is_separator).next().unwrap_or_default();
        made.push(format!(
            "{start}{separator}{}{rest}",
            repeated(&format!("{last}{separator}"))
        ));
        made.push(format!(
            "{start}{separator}{}{rest}",
            numbered(&format!("{last}1{separator}"))
        ));
    }
    made
}

/// Texts that need no sample.
pub fn plain() -> impl Iterator<Item = String> {
    PARTS.into_iter().map(repeated)
}

/// Texts made of a sample: each of some lines again and again, with other numbers each time, and made long.
pub fn of_sample(sample: &str) -> Vec<String> {
    let mut made = vec![repeated(sample), numbered(sample)];
    let lines: Vec<&str> = sample.split_inclusive('\n').collect();
    let step = lines.len().div_ceil(6).max(1);
    for at in (0..lines.len()).step_by(step).chain([lines.len() - 1]) {
        let (before, line, after) = (lines[..at].concat(), lines[at], lines[at + 1..].concat());
        let with = |middle: String| format!("{before}{middle}{after}");
        made.push(with(repeated(line)));
        made.push(with(numbered(line)));
        made.extend(
            long_lines(line.trim_end())
                .into_iter()
                .map(|long| with(format!("{long}\n"))),
        );
    }
    made
}
