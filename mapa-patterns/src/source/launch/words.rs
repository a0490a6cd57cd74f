//! Statements as words, with the values of variables in their places.

use std::collections::BTreeMap;

use super::super::expr::Language;
use super::super::program::{CodePlace, SourceProgram};
use super::super::tree::expression;
use super::super::value::Evaluator;

/// Stands before the name of a variable whose value is not known.
const UNKNOWN: char = '\u{1a}';
/// Stands behind a value that is only a default, `${NAME:-VALUE}`.
const DEFAULT: char = '\u{1d}';
/// The most words of a statement.
const MOST_WORDS: usize = 10_000;
/// The longest value of a variable that is kept, bytes.
const MOST_BYTES: usize = 1 << 14;
/// The most bytes of values that are put into words, in all. Later ones are unknown.
const MOST_IN_ALL: usize = 1 << 25;

/// A word of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptWord {
    /// The word; `$NAME` stands for a value that is not known.
    pub(super) text: String,
    pub(super) is_known: bool,
    /// Whether a part of it is a default, which the environment of the script may replace.
    pub(super) is_default: bool,
}

impl ScriptWord {
    fn of(marked: &str) -> Self {
        Self {
            text: marked.replace(UNKNOWN, "$").replace(DEFAULT, ""),
            is_known: !marked.contains(UNKNOWN),
            is_default: marked.contains(DEFAULT),
        }
    }
}

/// The variables of a script: a value, or the elements of an array.
#[derive(Default)]
pub(super) struct ScriptVariables {
    known: BTreeMap<String, VariableValue>,
    /// The bytes of values that were put into words.
    spent: usize,
}

#[derive(Clone, PartialEq)]
enum VariableValue {
    One(String),
    Many(Vec<String>),
}

impl ScriptVariables {
    /// The words of a text; none if a quote is not closed.
    pub(super) fn words(&mut self, text: &str) -> Option<Vec<ScriptWord>> {
        let words = self.marked(text)?;
        Some(words.iter().map(|word| ScriptWord::of(word)).collect())
    }

    fn marked(&mut self, text: &str) -> Option<Vec<String>> {
        let text = self.substituted(&text.replace([UNKNOWN, DEFAULT], ""));
        let words = shlex::split(&text)?.into_iter();
        let words = words.flat_map(|word| self.expanded(&word));
        Some(words.take(MOST_WORDS).collect())
    }

    /// Sets a variable that the script or Slurm sets, unless it is set.
    pub(super) fn provide(&mut self, name: &str, value: usize) {
        let value = VariableValue::One(value.to_string());
        self.known.entry(name.to_owned()).or_insert(value);
    }

    /// Makes the value of a variable unknown.
    pub(super) fn forget(&mut self, name: &str) {
        let value = VariableValue::One(format!("{UNKNOWN}{name}"));
        self.known.insert(name.to_owned(), value);
    }

    /// The value of a variable as a word; none if the script does not set it.
    pub(super) fn get(&self, name: &str) -> Option<ScriptWord> {
        match self.known.get(name)? {
            VariableValue::One(text) => Some(ScriptWord::of(text)),
            VariableValue::Many(all) => all.first().map(|text| ScriptWord::of(text)),
        }
    }

    /// Carries out `NAME=VALUE` or `NAME+=VALUE`, where `text` is as it is written. Returns whether
    /// it is one.
    ///
    /// Under a condition, a value that is not known does not replace a known one, and of two known
    /// ones none is known.
    pub(super) fn assign(&mut self, text: &str, is_conditional: bool) -> bool {
        let Some((name, adds, value)) = assignment(text) else {
            return false;
        };
        let value = match value.strip_prefix('(') {
            Some(rest) => {
                let inner = rest.rsplit_once(')').map_or(rest, |(inner, _)| inner);
                match self.marked(inner) {
                    Some(elements) => VariableValue::Many(elements),
                    None => return false,
                }
            }
            None => {
                let text = self.substituted(&value.replace([UNKNOWN, DEFAULT], ""));
                // An assignment is not split into words.
                let Some(words) = shlex::split(&text) else {
                    return false;
                };
                VariableValue::One(self.filled(&words.join(" ")))
            }
        };
        let extends = adds || text.matches(name).count() > 1;
        self.set(name, value, (adds, extends, is_conditional));
        true
    }

    /// Carries out the assignments of `export` and the like.
    pub(super) fn declare(&mut self, text: &str, is_conditional: bool) {
        for word in self.marked(text).unwrap_or_default() {
            if let Some((name, adds, value)) = assignment(&word) {
                let value = VariableValue::One(value.to_owned());
                self.set(name, value, (adds, adds, is_conditional));
            }
        }
    }

    fn set(
        &mut self,
        name: &str,
        value: VariableValue,
        (adds, extends, is_conditional): (bool, bool, bool),
    ) {
        let value = match (adds, self.known.get(name), value) {
            (true, Some(VariableValue::One(old)), VariableValue::One(new)) => {
                VariableValue::One(format!("{old}{new}"))
            }
            (true, Some(VariableValue::Many(old)), VariableValue::Many(new)) => {
                VariableValue::Many(old.iter().chain(&new).cloned().collect())
            }
            (_, _, value) => value,
        };
        if value.size() > MOST_BYTES {
            return self.forget(name);
        }
        let old = self.known.get(name).filter(|old| old.is_known());
        match old.filter(|_| is_conditional && !extends) {
            Some(old) if value.is_known() && *old != value => self.forget(name),
            Some(_) => {}
            None => {
                self.known.insert(name.to_owned(), value);
            }
        }
    }

    /// The text with the values of `$((..))`. What commands print (`$(..)`) is not known.
    fn substituted(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '`', '\\']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let (kept, after) = match from {
                from if from.starts_with("$((") => {
                    let (inner, after) = bracketed(from, 3, 2);
                    (self.computed(inner), after)
                }
                from if from.starts_with("$(") => {
                    (format!("{UNKNOWN}(..)"), bracketed(from, 2, 1).1)
                }
                from if from.starts_with('`') => {
                    let end = from.get(1..).and_then(|rest| rest.find('`'));
                    let after = end.and_then(|end| from.get(end + 2..));
                    (format!("{UNKNOWN}(..)"), after.unwrap_or_default())
                }
                from if from.starts_with("\\\n") => {
                    (String::new(), from.get(2..).unwrap_or_default())
                }
                from if from.starts_with("\\\n") => {
                    (String::new(), from.get(2..).unwrap_or_default())
                }
                // An escaped character stays for what splits words.
                from => {
                    let length = if from.starts_with('\\') { 2 } else { 1 };
                    let end = from
                        .char_indices()
                        .nth(length)
                        .map_or(from.len(), |(at, _)| at);
                    let (kept, after) = from.split_at(end);
                    (kept.to_owned(), after)
                }
            };
            out.push_str(&kept);
            rest = after;
        }
        out + rest
    }

    /// The value of an arithmetic expression.
    fn computed(&mut self, inner: &str) -> String {
        let filled = self.filled(inner);
        let mut plain = String::new();
        for part in filled
            .replace(DEFAULT, "")
            .split_inclusive(|c: char| !is_of_name(c))
        {
            let name = part.trim_end_matches(|c: char| !is_of_name(c));
            let value = self.get(name).filter(|_| is_name(name));
            plain.push_str(value.as_ref().map_or(name, |value| &value.text));
            plain.push_str(part.get(name.len()..).unwrap_or_default());
        }
        let is_plain = plain
            .chars()
            .all(|c| c.is_ascii_digit() || " \t+-*/%()".contains(c));
        let program = SourceProgram::new("", Language::C);
        let place = CodePlace {
            scope: 0,
            frame: None,
            at: 0,
        };
        let value = (is_plain && plain.len() < 200)
            .then(|| Evaluator::new(&program, None).int(&expression(&plain, Language::C), place));
        match value.flatten() {
            Some(value) if filled.contains(DEFAULT) => format!("{value}{DEFAULT}"),
            Some(value) => value.to_string(),
            None => format!("{UNKNOWN}((..))"),
        }
    }

    /// The words that a word becomes: those of a variable that is all of it, else one.
    fn expanded(&mut self, word: &str) -> Vec<String> {
        let name = word
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        let name = name.or_else(|| word.strip_prefix('$')).unwrap_or_default();
        let name = name.trim_end_matches("[@]").trim_end_matches("[*]");
        let known = self.known.get(name).filter(|_| is_name(name));
        self.spent = self
            .spent
            .saturating_add(known.map_or(0, VariableValue::size));
        match known.filter(|_| self.spent < MOST_IN_ALL) {
            Some(VariableValue::Many(all)) => all.clone(),
            Some(VariableValue::One(text)) => text.split_whitespace().map(str::to_owned).collect(),
            None => vec![self.filled(word)],
        }
    }

    /// A word with the values of its variables.
    fn filled(&mut self, word: &str) -> String {
        let mut out = String::new();
        let mut rest = word;
        while let Some((before, from)) = rest.split_once('$') {
            out.push_str(before);
            let (value, after) = match from.strip_prefix('{') {
                Some(inner) => {
                    let end = inner.find('}').unwrap_or(inner.len());
                    let after = inner.get(end + 1..).unwrap_or_default();
                    (self.parameter(inner.get(..end).unwrap_or_default()), after)
                }
                None => {
                    let is_digit =
                        from.starts_with(|c: char| c.is_ascii_digit() || "@*#?!".contains(c));
                    let end = match is_digit {
                        true => 1,
                        false => from.find(|c| !is_of_name(c)).unwrap_or(from.len()),
                    };
                    let (name, after) = from.split_at(end);
                    (self.parameter(name), after)
                }
            };
            out.push_str(&value);
            rest = after;
            self.spent = self.spent.saturating_add(value.len());
            if out.len() > MOST_BYTES || self.spent > MOST_IN_ALL {
                return format!("{UNKNOWN}(..)");
            }
        }
        out + rest
    }

    /// The value of `NAME`, `NAME:-DEFAULT`, `#NAME[@]`; marked as unknown if it is.
    fn parameter(&mut self, text: &str) -> String {
        if let Some(array) = text.strip_prefix('#') {
            return match self
                .known
                .get(array.trim_end_matches("[@]").trim_end_matches("[*]"))
            {
                Some(VariableValue::Many(all)) => all.len().to_string(),
                _ => format!("{UNKNOWN}{text}"),
            };
        }
        let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let value = match self.known.get(name) {
            Some(VariableValue::One(text)) => Some(text.clone()),
            Some(VariableValue::Many(all)) => Some(all.join(" ")),
            None => None,
        };
        let fallback = [":-", ":=", "-", "="]
            .iter()
            .find_map(|candidate| rest.strip_prefix(candidate));
        match (value, fallback) {
            (Some(value), _) if rest.is_empty() || fallback.is_some() => value,
            (Some(value), _) if matches!(rest, "[@]" | "[*]") => value,
            (None, Some(fallback)) => {
                let value = format!("{}{DEFAULT}", self.filled(fallback));
                if rest.contains('=') && is_name(name) {
                    self.known
                        .insert(name.to_owned(), VariableValue::One(value.clone()));
                }
                value
            }
            // A lone `$`.
            _ if text.is_empty() => "$".to_owned(),
            _ => format!("{UNKNOWN}{name}"),
        }
    }
}

impl VariableValue {
    fn is_known(&self) -> bool {
        match self {
            Self::One(text) => !text.contains(UNKNOWN),
            Self::Many(all) => all.iter().all(|text| !text.contains(UNKNOWN)),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::One(text) => text.len(),
            Self::Many(all) => all.iter().map(|text| text.len() + 1).sum(),
        }
    }
}

/// The name, whether it adds, and the value of an assignment.
fn assignment(text: &str) -> Option<(&str, bool, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, adds) = name
        .strip_suffix('+')
        .map_or((name, false), |name| (name, true));
    is_name(name).then_some((name, adds, value))
}

/// Whether a word is an assignment.
pub(super) fn is_assignment(word: &str) -> bool {
    assignment(word).is_some()
}

fn is_name(text: &str) -> bool {
    text.chars().all(is_of_name) && text.starts_with(|c: char| !c.is_ascii_digit())
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What stands in brackets, of which `open` bytes begin the text and `close` end it, and the rest.
fn bracketed(text: &str, open: usize, close: usize) -> (&str, &str) {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().skip(open) {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => {
                let inner = text.get(open..at).unwrap_or_default();
                return (inner, text.get(at + close..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (text.get(open..).unwrap_or_default(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &[&str], text: &str) -> Vec<String> {
        let mut variables = ScriptVariables::default();
        for statement in script {
            assert!(variables.assign(statement, false), "{statement}");
        }
        let words = variables.words(text).unwrap();
        words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_have_the_values_of_their_variables() {
        for (script, text, expected) in [
            (
                &["A=8"][..],
                "run $A ${A}x '$B'",
                &["run", "8", "8x", "$B"][..],
            ),
            (
                &["A='--x 1'"],
                "run $A \"a b\"",
                &["run", "--x", "1", "a b"],
            ),
            (
                &["A=(--x 1\n --y)", "A+=(z)"],
                "r ${A[@]} ${#A[@]}",
                &["r", "--x", "1", "--y", "z", "4"],
            ),
            (&["A=2", "B=$((A * ($A + 1)))"], "$B", &["6"]),
            (&["A=$(nproc)"], "$A", &["$(..)"]),
            (&["A=`nproc`"], "$A", &["$(..)"]),
            (
                &["A=${N:-8}", "B=$(( $A*2 ))"],
                "$A $B ${B:-1}",
                &["8", "16", "16"],
            ),
            (&["A=1", "A=\"$A 2\"", "A+=3"], "$A", &["1", "23"]),
            (&[], "$1 ${2:-x} $ a", &["$1", "x", "$", "a"]),
            (&["A=1"], "${A%x} \\$A", &["$A", "1"]),
            (&[], "a \\\n --b\\\nc", &["a", "--bc"]),
        ] {
            assert_eq!(words(script, text), expected, "{script:?} {text}");
        }
        assert_eq!(ScriptVariables::default().words("'a"), None);
    }

    #[test]
    fn values_under_conditions_replace_no_known_ones() {
        let mut variables = ScriptVariables::default();
        variables.assign("A=8", false);
        variables.assign("A=$2", true);
        assert_eq!(variables.get("A").unwrap().text, "8");
        variables.assign("A=8", true);
        assert!(variables.get("A").unwrap().is_known);
        variables.assign("A=4", true);
        assert!(!variables.get("A").unwrap().is_known);
        variables.assign("B=(1)", false);
        variables.assign("B+=(2)", true);
        assert_eq!(variables.words("${B[@]}").unwrap().len(), 2);
        assert!(!variables.assign("a b=c", false) && !variables.assign("1=c", false));
        assert!(variables.words("${N:-3}").unwrap()[0].is_default);
    }
}
