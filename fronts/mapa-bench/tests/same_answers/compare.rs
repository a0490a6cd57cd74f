//! What two outputs differ in, sentences left out.
//!
//! A cell of text (a string of JSON, a cell of a table, a paragraph, the text of a picture) of four
//! words or more is a sentence. Of sentences only the numbers in them are compared, sorted over the
//! whole output. All else is compared byte for byte.

use serde_json::Value;

/// Words from which a text is a sentence.
const SENTENCE: usize = 4;

/// What `old` and `new` differ in, a line each; empty if they say the same.
pub(crate) fn differences(old: &[u8], new: &[u8]) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return vec!["bytes that are no text differ".to_owned()];
    };
    let (old, new) = (Parts::of(old), Parts::of(new));
    let mut found = Vec::new();
    let mut at = 0;
    let longest = old.exact.len().max(new.exact.len());
    while at < longest && found.len() < 5 {
        let (a, b) = (old.exact.get(at), new.exact.get(at));
        if a != b {
            found.push(format!("part {at}: {b:?}, before {a:?}"));
        }
        at += 1;
    }
    if old.numbers != new.numbers {
        let missing: Vec<&String> = minus(&old.numbers, &new.numbers);
        let added: Vec<&String> = minus(&new.numbers, &old.numbers);
        found.push(format!(
            "numbers in sentences: no longer {missing:?}, now {added:?}"
        ));
    }
    found
}

/// The entries of a sorted list that another lacks, each as often as it lacks it.
fn minus<'a>(of: &'a [String], without: &[String]) -> Vec<&'a String> {
    let mut rest = without.to_vec();
    let mut left = Vec::new();
    for entry in of {
        match rest.iter().position(|other| other == entry) {
            Some(at) => drop(rest.swap_remove(at)),
            None => left.push(entry),
        }
    }
    left
}

/// An output taken apart.
#[derive(Default)]
struct Parts {
    /// What must be equal, in order.
    exact: Vec<String>,
    /// The numbers of all sentences, sorted.
    numbers: Vec<String>,
}

impl Parts {
    fn of(text: &str) -> Parts {
        let mut parts = Parts::default();
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            parts.json("", &value);
        } else if text.trim_start().starts_with('<') {
            parts.markup(text);
        } else {
            parts.lines(text);
        }
        parts.numbers.sort();
        parts
    }

    /// A cell: the numbers of a sentence, or itself.
    fn cell(&mut self, place: &str, text: &str) {
        let words = text
            .split_whitespace()
            .filter(|word| word.contains(char::is_alphabetic));
        if words.count() >= SENTENCE {
            let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
            let numbers = numbers.map(|number| number.trim_matches('.'));
            self.numbers.extend(
                numbers
                    .filter(|number| !number.is_empty())
                    .map(str::to_owned),
            );
            self.exact.push(format!("{place}(a sentence)"));
        } else if !text.trim().trim_matches('-').is_empty() {
            // Rulers are left out: they are as wide as the sentences in their column.
            self.exact.push(format!("{place}{}", text.trim()));
        }
    }

    fn json(&mut self, place: &str, value: &Value) {
        match value {
            Value::Object(entries) => {
                // The version of an answer's form is a key that was added.
                for (key, value) in entries.iter().filter(|(key, _)| *key != "schema") {
                    self.json(&format!("{place}/{key}"), value);
                }
            }
            Value::Array(entries) => {
                for (i, value) in entries.iter().enumerate() {
                    self.json(&format!("{place}/{i}"), value);
                }
            }
            Value::String(text) => self.cell(&format!("{place} "), text),
            other => self.exact.push(format!("{place} {other}")),
        }
    }

    /// Tags as they stand, comments and texts between tags as cells.
    fn markup(&mut self, text: &str) {
        for part in text.split('<') {
            let (tag, content) = part.split_once('>').unwrap_or((part, ""));
            if tag.starts_with("!--") {
                self.cell("", tag);
            } else {
                self.exact.push(tag.to_owned());
            }
            self.cell("", content);
        }
    }

    /// Tables cell by cell, paragraphs as one.
    fn lines(&mut self, text: &str) {
        let mut paragraph = String::new();
        for line in text.lines() {
            let line = line.trim();
            let cells = columns(line);
            if cells.len() > 1 || line.is_empty() {
                self.paragraph(&mut paragraph);
                for cell in cells {
                    self.cell("", cell);
                }
            } else {
                paragraph.push(' ');
                paragraph.push_str(line);
            }
        }
        self.paragraph(&mut paragraph);
    }

    /// Ends a paragraph. How many sentences of one paragraph follow each other does not matter.
    fn paragraph(&mut self, text: &mut String) {
        if !text.is_empty() {
            self.cell("", &std::mem::take(text));
        }
    }
}

/// The cells of a line: between bars, commas of a CSV line, or two spaces.
fn columns(line: &str) -> Vec<&str> {
    let bars = ['|', '\u{2502}', '\u{2506}'];
    if line.starts_with(bars) {
        return line.split(bars).collect();
    }
    let csv = line.matches(',').count() > 2 && !line.contains(", ");
    if csv {
        return line.split(',').collect();
    }
    line.split("  ")
        .filter(|cell| !cell.trim().is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn a_reworded_sentence_is_the_same_and_its_numbers_are_compared() {
        let old = r#"{"why": "of the 3 devices nobody has 2", "devices": [1, 2], "fits": "yes"}"#;
        let new = r#"{"why": "2 of 3 devices are free now", "devices": [1, 2], "fits": "yes"}"#;
        assert_eq!(
            differences(old.as_bytes(), new.as_bytes()),
            Vec::<String>::new()
        );
        let wrong = new.replace("of 3", "of 4");
        assert_eq!(
            differences(old.as_bytes(), wrong.as_bytes()),
            ["numbers in sentences: no longer [\"3\"], now [\"4\"]"]
        );
    }

    #[test]
    fn keys_numbers_short_words_and_tags_are_compared() {
        let cases = [
            (r#"{"a": 1}"#, r#"{"b": 1}"#),
            (r#"{"a": 1.0}"#, r#"{"a": 1.01}"#),
            (
                r#"{"verdict": "reproduced"}"#,
                r#"{"verdict": "not reproduced"}"#,
            ),
            (
                "<svg><text x=\"1\">GPU0</text></svg>",
                "<svg><text x=\"2\">GPU0</text></svg>",
            ),
            ("| a | 12.0 |", "| a | 12.1 |"),
            ("devices   GPU1, GPU2", "devices   GPU1, GPU3"),
        ];
        for (old, new) in cases {
            assert_eq!(differences(old.as_bytes(), old.as_bytes()).len(), 0);
            assert_eq!(
                differences(old.as_bytes(), new.as_bytes()).len(),
                1,
                "{old}"
            );
        }
    }
}
